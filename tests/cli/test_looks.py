"""What tables look like on narrow and wide terminals, with and without colour and Unicode."""

import os
import pty
import re
import subprocess
import sys

import click
import pytest

from gradcli.cli.main import COMMANDS, cli, main

NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]\d+)?")
WIDE = ["grad", "sum(A @ x * 1e-7)", "A=reshape(arange(60.), (5, 12)) / 7", "x=linspace(-1, 1, 12)"]
LONG = ["grad", "sum(a_rather_long_name * y)", "a_rather_long_name=linspace(-1000, 1, 20)", "y=123456.789"]
SQUARE = ["jacobian", "softmax(x)", "x=linspace(-1, 1, 12)"]
GRAPH = ["graph", "u = x * y; z = sin(u) + u", "x=2", "y=3", "--values"]
SYMBOLIC = ["symbolic", "x**2 * sin(y) * exp(-x*y) / (1 + x**2 + y**2)"]
CHECK = ["gradcheck", "x**2 * sin(y)", "x=2", "y=3"]
HESSIAN = ["hessian", "sum(x**3) * y", "x=[1, 2, 3]", "y=2"]
JVP = ["jvp", "A @ x", "A=reshape(arange(9.), (3, 3)) / 7", "x=[1, 2, 3]", "--tangent", "x=[1, 0, 0]"]
EVERY = {words[0] + str(i): words for i, words in enumerate([WIDE, LONG, SQUARE, GRAPH, SYMBOLIC, CHECK, HESSIAN, JVP])}


def shown(capsys, monkeypatch, words, width: int, plain: bool = False, color: str = "never") -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("LC_ALL", "C" if plain else "C.UTF-8")
    assert main([*words, "-f", "table", "--color", color]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("name", EVERY)
def test_tables_fit_and_numbers_are_not_cut(name, width, capsys, monkeypatch):
    words = EVERY[name]
    text = shown(capsys, monkeypatch, words, width)
    assert max(map(len, text.splitlines())) <= width
    numbers = set(NUMBER.findall(shown(capsys, monkeypatch, words, 1000)))
    if words[0] not in ("gradcheck", "symbolic"):
        assert set(NUMBER.findall(text)) <= numbers | {"2"}  # may be elided, but never cut
    plain = shown(capsys, monkeypatch, words, width, plain=True)
    assert plain.isascii() and "\\u" not in plain
    assert max(map(len, plain.splitlines())) <= width


@pytest.mark.parametrize("name", EVERY)
def test_colour_changes_nothing_else(name, capsys, monkeypatch):
    coloured = shown(capsys, monkeypatch, EVERY[name], 60, color="always")
    assert "\x1b[" in coloured
    steady = re.compile(r" in \d+\.\d+ s|± \S+|\x1b\[[\d;]*m")
    plain = steady.sub("", shown(capsys, monkeypatch, EVERY[name], 60))
    assert [line.rstrip() for line in steady.sub("", coloured).splitlines()] == plain.splitlines()


def seen_on_terminal(words: list, stream: str, **settings: str) -> str:
    """Return what a command writes to a standard stream that is a terminal."""
    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "TERM")} | settings
    ours, theirs = pty.openpty()
    with open(ours, "rb", buffering=0) as terminal, open(theirs, "wb", buffering=0) as end:
        streams = {"stdout": subprocess.DEVNULL, stream: end}
        subprocess.run([sys.executable, "-m", "gradcli", *words], env=environment, check=True, **streams)
        end.write(b"end")
        return terminal.read(65536).decode()


@pytest.mark.parametrize(
    ("settings", "coloured"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "dumb"}, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, True),
    ],
    ids=str,
)
def test_colour_on_a_terminal(settings, coloured):
    seen = seen_on_terminal(["grad", "x**2", "x=3"], "stdout", **settings)
    assert "gradient" in seen
    assert ("\x1b[" in seen) == coloured


@pytest.mark.parametrize(("term", "bar"), [("dumb", False), ("xterm", True)])
def test_progress_is_shown_only_on_terminals_that_support_it(term, bar, tmp_path):
    check = "@gradcli.check(at={'x': 1.0})\ndef f%d(x): return x**2\n"
    (tmp_path / "c.py").write_text("import gradcli\n" + "".join(check % i for i in range(6)))
    seen = seen_on_terminal(["gradcheck", tmp_path / "c.py", "-f", "tsv"], "stderr", TERM=term)
    assert ("checking" in seen) == bar


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_80_columns_and_has_examples(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    main([name, "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    command = cli.get_command(click.Context(cli), name)
    assert command is not None and command.epilog and command.epilog.startswith(("Example", "Examples"))
    assert all(text.startswith(("gradcli", "eval")) for text in command.epilog.partition(": ")[2].split("; "))
