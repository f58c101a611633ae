"""--save: what the terminal shows, as a picture or a page."""

import html
import re
import xml.etree.ElementTree as ElementTree

import pytest

from gradcli.cli.main import main


def text_of(path) -> str:
    source = path.read_text()
    if path.suffix == ".svg":
        root = ElementTree.fromstring(source)
        words = [t.text or "" for t in root.iter("{http://www.w3.org/2000/svg}text")]
        return "\n".join(words).replace("\xa0", " ")
    return html.unescape(re.sub(r"<[^>]+>", "", source))


COMMANDS = {
    "grad": (["x**2 * y", "x=2", "y=3"], "gradient"),
    "jacobian": (["[x, 2*x]", "x=3"], "∂out/∂x"),
    "hessian": (["x**2", "x=3"], "∂²out/∂x∂x"),
    "vjp": (["x**2", "x=3"], "vjp"),
    "gradcheck": (["x**2", "x=3"], "1 passed"),
    "symbolic": (["x**2"], "d/dx"),
    "graph": (["x**2", "x=3"], "leaf"),
    "trace": (["x**2", "x=3"], "gradient in"),
    "ops": (["tanh"], "Hyperbolic tangent."),
    "plot": (["x**2", "--over", "x=0:1"], "┤"),
}


@pytest.mark.parametrize("ending", ["svg", "html"])
@pytest.mark.parametrize("command", COMMANDS)
def test_saves_the_look_besides_the_output(command, ending, tmp_path, capsys):
    words, expected = COMMANDS[command]
    assert main([command, *words, "-f", "json"]) == 0
    alone = capsys.readouterr().out
    path = tmp_path / f"look.{ending}"
    assert main([command, *words, "-f", "json", "--save", str(path)]) == 0
    steady = re.compile(r'"seconds": [\d.]+|± \S+')
    assert steady.sub("", capsys.readouterr().out) == steady.sub("", alone)
    assert expected in text_of(path)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_colours_unless_unwanted(tmp_path, monkeypatch):
    path = tmp_path / "a.html"
    words = ["grad", "x**2", "x=2", "-f", "tsv", "--save", str(path)]
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert main(words) == 0
    assert "color: #008000" in path.read_text()
    assert main([*words, "--color", "never"]) == 0
    assert "color: #008000" not in path.read_text()
    monkeypatch.setenv("NO_COLOR", "1")
    assert main(words) == 0
    assert "color: #008000" not in path.read_text()


def test_it_is_what_the_terminal_shows(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    path = tmp_path / "a.html"
    assert main(["grad", "sum(x**2)", "x=linspace(0, 1, 30)", "-f", "table", "--save", str(path)]) == 0
    shown = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    saved = [line.rstrip() for line in text_of(path).splitlines()]
    assert "\n".join(shown) in "\n".join(saved)


def test_nothing_is_fetched(tmp_path):
    path = tmp_path / "a.svg"
    assert main(["grad", "x**2", "x=2", "-f", "tsv", "--save", str(path)]) == 0
    assert "url(" not in path.read_text().replace("url(#", "")


@pytest.mark.parametrize("name", ["a.txt", "a", "no/folder/a.svg"])
def test_refused_before_anything_is_computed(name, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["grad", "x**2", "x=2", "--save", name]) == 2
    out, err = capsys.readouterr()
    assert not out and "error:" in err
    assert not list(tmp_path.iterdir())


def test_a_failed_run_leaves_the_file_alone(tmp_path):
    path = tmp_path / "a.svg"
    path.write_text("before")
    assert main(["grad", "x**2 + y", "x=2", "--save", str(path)]) == 2
    assert path.read_text() == "before"
