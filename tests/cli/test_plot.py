"""gradcli plot and jacobian --plot: the numbers, the drawing, the pictures."""

import json
import sys

import numpy as np
import pytest

from gradcli.cli.main import main
from gradcli.show import Style
from gradcli.show.plot import Canvas, clip_line, extent, render_sampled, ticks
from gradcli.show.results import Sampled

SCRIPT = """
import gradcli
x = gradcli.tensor(2.0, requires_grad=True)
print("it runs")
y = x ** 3
y
"""
FUNCTION = """
def f(x, a=2.0):
    print("it runs")
    return x ** 2 if x > 0 else a * x
"""


def numbers(capsys, *words: str) -> np.ndarray:
    assert main(["plot", *words, "-f", "tsv"]) == 0
    return np.array([[float(x) for x in line.split("\t")] for line in capsys.readouterr().out.splitlines()])


CURVES = {
    "sin(x) * a": (["a=2"], lambda x: (2 * np.sin(x), 2 * np.cos(x))),
    "k = zeros(2); k[0] = x; sum(k) * 3": ([], lambda x: (3 * x, 3 + 0 * x)),
    "x**2 if x > 0 else -x": ([], lambda x: (np.where(x > 0, x * x, -x), np.where(x > 0, 2 * x, -1))),
    "A = [[x, 1], [2, 3]]; det(A)": ([], lambda x: (3 * x - 2, 3 + 0 * x)),
    "sum(v * x)": (["v=[1, 2]"], lambda x: (3 * x, 3 + 0 * x)),
}


@pytest.mark.parametrize("text", CURVES)
def test_curve(text, capsys):
    words, expected = CURVES[text]
    x, value, slope = numbers(capsys, text, "--over", "x=-1:1", "--points", "7", *words).T
    np.testing.assert_allclose(x, np.linspace(-1, 1, 7))
    np.testing.assert_allclose([value, slope], expected(x), atol=1e-14)


@pytest.mark.parametrize(
    ("name", "source", "target"), [("s.py", SCRIPT, "s.py"), ("f.py", FUNCTION, "f.py:f")], ids=["script", "function"]
)
def test_python_runs_point_by_point_and_prints_once(name, source, target, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(source)
    assert main(["plot", target, "--over", "x=-1:2", "--points", "4", "-f", "tsv"]) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == "it runs"
    x, value, slope = np.array([line.split("\t") for line in lines], float).T
    if name == "s.py":
        np.testing.assert_allclose([value, slope], [x**3, 3 * x**2])
    else:
        np.testing.assert_allclose([value, slope], [[-2, 0, 1, 4], [2, 2, 2, 4]])


def test_grid(capsys):
    words = ["x**2 * y", "--over", "x=0:2", "--over", "y=1:2", "--points", "3"]
    x, y, value, dx, dy = numbers(capsys, *words).T
    np.testing.assert_allclose([value, dx, dy], [x**2 * y, 2 * x * y, x**2])
    assert main(["plot", *words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["over"] == {"x": [0.0, 1.0, 2.0], "y": [1.0, 1.5, 2.0]}
    assert document["value"][2] == [4.0, 6.0, 8.0]
    assert document["derivative"]["y"][2] == [4.0, 4.0, 4.0]


def test_gaps_are_gaps(capsys):
    assert main(["plot", "log(x)", "--over", "x=-1:1", "--points", "3", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["value"] == ["nan", "-inf", 0.0]
    assert document["derivative"]["x"] == ["nan", "inf", 1.0]


ERRORS = {
    "x": "a range of one input or two",
    "5+0*a --over x=-1:1 a=2": "no input 'x'",
    "x --over x=0": "write NAME=FROM:TO",
    "x --over x=1:0": "less than the second",
    "x --over x=0:inf": "finite numbers",
    "x --over x=0:1 x=2": "a value and a range",
    "x --over x=0:1 x=0:2": "two ranges",
    "x*y*z x=0:1 y=0:1 z=0:1": "3 inputs have a range; two may",
    "x+z --over x=0:1": "no value for 'z'",
    "[x,x] --over x=0:1": "only a real number can be plotted",
    "x*2j --over x=0:1": "only a real number can be plotted",
    "x --over x=0:1 --points 1": "--points",
    "x --over x=0:1 -o f.npz": "does not write .npz",
}


@pytest.mark.parametrize("line", ERRORS)
def test_errors(line, capsys):
    assert main(["plot", *line.split()]) == 2
    assert ERRORS[line] in capsys.readouterr().err


def drawn(capsys, monkeypatch, columns: int, lines: int, *words: str) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("LINES", str(lines))
    assert main([*words, "-f", "table"]) == 0
    return capsys.readouterr().out.splitlines()


PARABOLA = """\
x^2
 4 +**                        **
   | ***                    ***
 2 +   ***                ***
   |     *****        *****
   |         **********
   ++-------------+------------+ x
    -2            0            2
d/dx
   |                        ****
   |                 ********
 0 +----------********----------
   |   ********
   |****
   ++-------------+------------+ x
    -2            0            2
"""


def test_curve_snapshot(capsys, monkeypatch):
    monkeypatch.setenv("LC_ALL", "C")
    assert drawn(capsys, monkeypatch, 34, 18, "plot", "x^2", "--over", "x=-2:2") == PARABOLA.splitlines()


CURVE, MAP = ("tan(x)", "--over", "x=-3:3"), ("x + log(y)", "--over", "x=0:1", "--over", "y=-1:1")


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize(
    ("size", "words", "marks"),  # the marks of a plain terminal, and those of any other
    [
        *((size, CURVE, ("*", "⡇")) for size in [(40, 16), (80, 24), (120, 50), (200, 60), (20, 5)]),
        *((size, MAP, ("^>", "↑↗")) for size in [(40, 16), (80, 24), (200, 60)]),
    ],
)
def test_a_picture_fills_the_terminal_and_no_more(size, words, marks, plain, capsys, monkeypatch):
    monkeypatch.setenv("LC_ALL", "C" if plain else "C.UTF-8")
    lines = drawn(capsys, monkeypatch, *size, "plot", *words)
    picture = "".join(lines)
    assert max(map(len, lines)) <= size[0]
    assert words == MAP or len(lines) <= max(size[1], 16)
    assert plain == picture.isascii()
    assert set(marks[0] if plain else marks[1]) & set(picture)
    assert words == CURVE or "?" in picture  # where there is no logarithm


def test_arrows_point_uphill():
    x = y = np.linspace(-1, 1, 41)
    grid = np.meshgrid(x, y, indexing="ij")
    for sign, arrow in ((1, "→"), (-1, "←")):
        result = Sampled("f", {"x": x, "y": y}, sign * grid[0], (sign + 0 * grid[0], 0 * grid[0]))
        text = "\n".join(str(part) for part in render_sampled(result, Style()).renderables)
        assert arrow in text
        assert text.count(arrow) > 10
        assert not set("→←↑↓") - {arrow} & set(text)


def test_function_and_derivative_have_their_colours(capsys):
    assert main(["plot", "x^2", "--over", "x=0:1", "-f", "table", "--color", "always"]) == 0
    out = capsys.readouterr().out
    assert "\x1b[1;36m" in out and "\x1b[1;33m" in out


def test_canvas_and_axes():
    canvas = Canvas(2, 1, True)
    canvas.line((0, 0), (1, 1))
    assert canvas.rows() == ["⡠⠊"]
    canvas = Canvas(3, 3, False)
    canvas.line((0, 0), (1, 1))
    assert canvas.rows() == ["  *", " * ", "*  "]
    canvas.line((0, -5), (0, -1))
    assert canvas.rows()[2] == "*  "
    assert clip_line((0, -1), (1, 1)) == (0.5, 1.0)
    assert ticks(-1, 1, 4) == ([-1.0, -0.5, 0.0, 0.5, 1.0], ["-1", "-0.5", "0", "0.5", "1"])
    assert ticks(1e9, 1e9 + 2, 2)[1] == ["1000000000", "1000000001", "1000000002"]
    low, high = extent(1 / np.linspace(-1, 1, 200))
    assert -100 < low < -5 and 5 < high < 100
    assert extent(np.array([2.0, 2.0])) == (1.0, 3.0)
    assert extent(np.array([np.nan])) == (-1.0, 1.0)


def test_jacobian_as_heat_maps(capsys, monkeypatch):
    lines = drawn(capsys, monkeypatch, 80, 24, "jacobian", "x * y", "x=arange(1, 7)", "y=2", "--plot")
    assert any("∂out/∂x   6 by 6" in line for line in lines)
    assert "  │█     │" in lines and "  │     █│" in lines
    assert main(["jacobian", "x * y", "x=[1, 2]", "y=2", "--plot"]) == 0
    assert "∂out/∂x   2 by 2" in capsys.readouterr().out
    assert main(["jacobian", "x * y", "x=[1, 2]", "y=2", "--plot", "--sparse"]) == 2


def test_without_matplotlib(tmp_path, capsys, monkeypatch):
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
def test_values_near_the_largest_number_are_drawn_or_left_out(capsys, words):
    assert main(["plot", *words, "-f", "table"]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 8
