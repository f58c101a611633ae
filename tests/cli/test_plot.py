"""The drawings of gradcli plot; tests/cases/analysis/plot.txt tests its numbers."""

import sys

import pytest

from gradcli.cli.main import main


def drawn(capsys, monkeypatch, columns: int, lines: int, *words: str) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("LINES", str(lines))
    assert main([*words, "-f", "table"]) == 0
    return capsys.readouterr().out.splitlines()


CURVE, MAP = ("tan(x)", "--over", "x=-3:3"), ("x + log(y)", "--over", "x=0:1", "--over", "y=-1:1")


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize(
    ("size", "words", "marks"),  # the marks on an ASCII terminal, and on any other
    [
        *((size, CURVE, ("*", "⡇")) for size in [(40, 16), (80, 24), (120, 50), (200, 60), (20, 5)]),
        *((size, MAP, ("^>", "↑↗")) for size in [(40, 16), (80, 24), (200, 60)]),
    ],
)
def test_a_plot_fits_into_the_terminal(size, words, marks, plain, capsys, monkeypatch):
    monkeypatch.setenv("LC_ALL", "C" if plain else "C.UTF-8")
    lines = drawn(capsys, monkeypatch, *size, "plot", *words)
    picture = "".join(lines)
    assert max(map(len, lines)) <= size[0]
    assert words == MAP or len(lines) <= max(size[1], 16)
    assert plain == picture.isascii()
    assert set(marks[0] if plain else marks[1]) & set(picture)
    assert words == CURVE or "?" in picture  # where the logarithm is undefined


def test_a_missing_matplotlib_is_reported(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["plot", "x^2", "--over", "x=0:1", "-o", str(tmp_path / "f.png")]) == 2
    err = capsys.readouterr().err
    assert "matplotlib" in err and "pip install matplotlib (the extra gradcli[plot])" in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words",
    [
        ("x*1e308*10", "--over", "x=-1:1"),
        ("x*1e308", "--over", "x=-1:1"),
        ("x", "--over", "x=-1e300:1e300"),
        ("where(x > 0, 1e308, sin(x)*0.01)", "--over", "x=-1:1"),
        ("x*y*1e308*10", "--over", "x=-1:1", "--over", "y=-1:1"),
        ("x*y*1e308", "--over", "x=-1:1", "--over", "y=-1:1"),
    ],
)
def test_values_near_the_largest_float_are_drawn_or_left_out(capsys, words):
    assert main(["plot", *words, "-f", "table"]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 8
