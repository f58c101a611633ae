"""Pictures drawn by matplotlib show the numbers."""

import io
import shutil

import numpy as np
import pytest

from gradcli.cli.main import main

pytestmark = pytest.mark.framework("matplotlib")
COMMANDS = {
    "curve": ("plot", "sin(x)/x", "--over", "x=-10:10"),
    "surface": ("plot", "x*exp(-x^2-y^2)", "--over", "x=-2:2", "--over", "y=-2:2"),
    "jacobian": ("jacobian", "stack([x[0], 2*x[1], -3*x[2]])", "x=[1, 2, 3]"),
    "precision": ("precision", "exp(x)-1", "x=1e-9:1"),
    "taylor": ("gradcheck", "x^3", "x=2", "--taylor"),
    "gaps": ("plot", "sqrt(x)", "--over", "x=-1:1"),
    "graph": ("graph", "u = x * y; z = sin(u) + u", "x=2", "y=3", "--values"),
}
BEGINNINGS = {"svg": b"<?xml", "png": b"\x89PNG"}


def pixels(content: bytes) -> np.ndarray:
    """Return the colours of a PNG, of shape (rows, columns, 3)."""
    from matplotlib.image import imread

    return imread(io.BytesIO(content))[..., :3]


@pytest.mark.parametrize(
    ("what", "ending"),
    [
        pytest.param(a, b, marks=[pytest.mark.nightly] if (i + k) % 2 else [])
        for i, a in enumerate(COMMANDS)
        for k, b in enumerate(BEGINNINGS)
    ],
)
def test_every_command_that_draws_writes_a_picture(what, ending, tmp_path):
    if (what, ending) == ("graph", "png") and shutil.which("dot") is None:
        pytest.skip("graphs as PNG need Graphviz")
    path = tmp_path / f"f.{ending}"
    assert main([*COMMANDS[what], "-o", str(path)]) == 0
    assert path.read_bytes().lstrip().startswith(BEGINNINGS[ending])
    if ending == "svg":
        assert b"<svg" in path.read_bytes()
    elif ending == "png":
        picture = pixels(path.read_bytes())
        assert min(picture.shape[:2]) > 300
        assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 10


def test_a_heat_map_shows_signs_and_zeros(tmp_path):
    path = tmp_path / "f.png"
    assert main([*COMMANDS["jacobian"], "-o", str(path)]) == 0
    picture = pixels(path.read_bytes())
    red, blue = picture[..., 0] - picture[..., 2] > 0.3, picture[..., 2] - picture[..., 0] > 0.3
    white = picture.min(axis=-1) > 0.95
    assert min(red.sum(), blue.sum()) > 1000
    assert white.mean() > 0.3


def test_a_constant_curve_is_level(tmp_path):
    path = tmp_path / "f.png"
    assert main(["plot", "0*x + 3", "--over", "x=0:1", "-o", str(path)]) == 0
    picture = pixels(path.read_bytes())
    drawn = np.abs(picture - np.array([31, 119, 180]) / 255).max(axis=-1) < 0.02  # matplotlib's first colour
    rows = np.flatnonzero(drawn.sum(axis=1) > 300)
    assert 0 < len(rows) < 5


def runs_of(row: np.ndarray) -> int:
    return int((np.diff(row.astype(int), prepend=0) == 1).sum())


def test_poles_are_gaps_and_all_branches_end_at_the_same_height(tmp_path):
    path = tmp_path / "f.png"
    assert main(["plot", "tan(x)", "--over", "x=-3:3", "-o", str(path)]) == 0
    picture = pixels(path.read_bytes())
    drawn = np.abs(picture - np.array([31, 119, 180]) / 255).max(axis=-1) < 0.1
    top, bottom = np.flatnonzero(drawn.any(axis=1))[[0, -1]]
    assert [runs_of(drawn[row]) for row in (top + 3, bottom - 3)] == [2, 2]
    assert bottom - top > 150


def test_kinks_are_marked(tmp_path):
    path = tmp_path / "f.png"
    for text, marked in (("abs(x)", True), ("x^2", False)):
        assert main(["plot", text, "--over", "x=-1:1", "-o", str(path)]) == 0
        red = np.abs(pixels(path.read_bytes()) - np.array([214, 39, 40]) / 255).max(axis=-1) < 0.02
        assert (red.sum() > 20) == marked


def test_a_taylor_plot_has_both_slopes(tmp_path):
    path = tmp_path / "f.svg"
    assert main([*COMMANDS["taylor"], "-o", str(path)]) == 0
    assert all(f"slope {k}" in path.read_text() for k in (1, 2))


def test_a_jacobian_has_labels_and_numbers(tmp_path):
    path = tmp_path / "f.svg"
    assert main(["jacobian", "[x[0]*7, x[1] - x[0]]", "x=[1, 2]", "-o", str(path)]) == 0
    drawn = path.read_text()
    for text in ("out[0]", "x[1]", "7", "−1" if "−1" in drawn else "-1"):
        assert f"<!-- {text} -->" in drawn


@pytest.mark.skipif(shutil.which("dot") is None, reason="graphs as PNG need Graphviz")
def test_a_graph_is_turned_by_direction(tmp_path):
    for direction, wide in (("BT", False), ("LR", True)):
        path = tmp_path / f"{direction}.png"
        assert main([*COMMANDS["graph"], "-o", str(path), "--direction", direction]) == 0
        rows, columns, _ = pixels(path.read_bytes()).shape
        assert (columns > rows) is wide
