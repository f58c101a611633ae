"""Arrays on a terminal: elided in the middle, aligned, and never cut within a number."""

import numpy as np
import pytest
from rich.text import Text

from gradcli.results.base import ResultBlock
from gradcli.results.formats import Style
from gradcli.show.arrays import (
    Shown,
    ShownRow,
    array_summary,
    array_text,
    elide_to_width,
    label_matrix,
    matrix,
    shade,
    shown_positions,
    table_of_arrays,
    text_heat_map,
)

from .reports import printed

STYLE = Style()


def plain(array, edge=None, width=None, style=STYLE):
    return array_text(np.asarray(array) if array is not None else None, style, False, edge, width).plain


@pytest.mark.parametrize(
    ("length", "edge", "shown"),
    [
        (0, None, []),
        (8, None, [0, 1, 2, 3, 4, 5, 6, 7]),
        (9, None, [0, 1, 2, None, 6, 7, 8]),
        (5, 2, [0, 1, 2, 3, 4]),  # dots would take as much room as the element
        (6, 2, [0, 1, None, 4, 5]),
        (4, 1, [0, None, 3]),
    ],
)
def test_the_ends_of_a_long_axis_are_shown(length, edge, shown):
    assert shown_positions(length, edge) == shown


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (None, "none"),
        (2.0, "2"),
        ([1.0, 2.5], "[1, 2.5]"),
        ([], "empty"),
        (np.zeros((2, 0)), "empty"),
        ([[1.0, -10.0], [100.0, 2.0]], "[  1  -10]\n[100    2]"),
        ([[[1.0]], [[2.0]]], "[1]\n\n[2]"),
        ([1 + 2j], "[1+2j]"),
        ([1 / 3, np.nan, -0.0], "[0.333333, nan, 0]"),
        (range(20), "[" + ", ".join(map(str, range(20))) + "]"),  # up to 20 elements are never elided
        (range(21), "[0, 1, 2, …, 18, 19, 20]"),
        (np.arange(200).reshape(20, 10), None),
    ],
)
def test_arrays_as_text(array, text):
    if text is None:
        lines = plain(array).splitlines()
        assert lines[0] == "[  0    1    2  …    7    8    9]" and lines[3] == "…" and len(lines) == 7
    else:
        assert plain(array) == text


def test_a_file_has_all_elements_and_ascii_output_has_three_dots():
    assert plain(np.arange(30.0), style=STYLE._replace(whole=True)).count(",") == 29
    assert plain(np.arange(30), style=STYLE._replace(unicode=False)) == "[0, 1, 2, ..., 27, 28, 29]"
    assert plain(1 / 3, style=STYLE._replace(precision=2)) == "0.33"


@pytest.mark.parametrize("width", [10, 14, 30, 60])
def test_long_lines_are_wrapped_between_numbers(width):
    x = np.arange(100, 115)
    lines = plain(x, width=width).splitlines()
    assert max(map(len, lines)) <= width
    assert [float(part) for line in lines for part in line.strip("[] ,").split(", ")] == x.tolist()


@pytest.mark.parametrize(("width", "ends"), [(15, 1), (26, 1), (27, 2), (38, 2), (39, 3), (80, 3)])
def test_an_array_is_elided_until_it_fits(width, ends):
    text = elide_to_width(np.arange(1000, 1050).reshape(5, 10), STYLE, False, width).plain
    first = text.splitlines()[0].strip("[]").split()
    assert max(map(len, text.splitlines())) <= width
    assert first == [*map(str, range(1000, 1000 + ends)), "…", *map(str, range(1010 - ends, 1010))]


def test_colours_follow_sign_and_size():
    assert [shade(x, 1.0) for x in (0.0, 1.0, 0.1, 0.001)] == ["dim", "bold color(28)", "color(28)", "dim color(28)"]
    assert shade(-1.0, 1.0) == "bold color(63)" and shade(1j, 1.0) == "color(30)"
    assert shade(np.nan, 1.0) == shade(-np.inf, 1.0) == "bold reverse red"
    assert shade(-2.0, 0.0) == "bold color(63)"  # without a largest value


def rows(count):
    arrays = [Shown(np.arange(float(count))), Shown(None, True)]
    return [ShownRow(Text("x"), (count,), arrays), ShownRow(Text("k"), (), [None, Shown(np.array(7.0), True)])]


def test_named_arrays_form_a_table():
    heads = ("input", "shape", "value", "gradient")
    assert printed(*table_of_arrays(heads, rows(3), STYLE)) == [
        "input  shape   value      gradient",
        "x      3       [0, 1, 2]  none",
        "k      scalar             7",
    ]


def test_arrays_too_wide_for_a_table_are_below_their_names():
    style = STYLE._replace(size=(30, 24))
    lines = printed(*table_of_arrays(("input", "shape", "value", "gradient"), rows(15), style), width=30)
    assert lines[0] == "x  15" and lines[1].startswith("  value") and "14]" in "".join(lines)
    assert max(map(len, lines)) <= 30
    assert lines[-2:] == ["k  scalar", "  gradient  7"]


def test_errors_follow_numbers():
    error = np.array([1e-9, np.inf])
    row = ShownRow(Text("x"), (2,), [Shown(np.array([1.5, np.nan]), True, error)])
    assert printed(*table_of_arrays(("input", "shape", "gradient"), [row], STYLE))[1].endswith("[1.5 ± 1e-09, unknown]")
    block = ResultBlock("x", "", np.array([[2.0, 20.0]]), (("y", (1,)), ("x", (2,))), np.array([[0.25, 3e-8]]))
    assert printed(matrix(block, "∂y/∂x", STYLE))[-1] == "y[0]  2 ± 0.25  20 ± 3e-08"
    plain = STYLE._replace(unicode=False)
    assert array_text(np.array(2.0), plain, False, None, error=np.array(0.5)).plain == "2 +- 0.5"


def test_a_matrix_has_labels_and_keeps_its_numbers():
    block = ResultBlock("x", "", np.array([[1.0, 20.0], [3.0, 4.0]]), (("y", (2,)), ("x", (2,))))
    lines = printed(matrix(block, "∂y/∂x", STYLE))
    assert lines == ["∂y/∂x   2 by 2", "      x[0]  x[1]", "y[0]     1    20", "y[1]     3     4"]
    empty = ResultBlock("x", "", np.zeros((2, 0)), (("y", (2,)), ("x", (0,))))
    assert printed(matrix(empty, "∂y/∂x", STYLE)) == ["∂y/∂x   2 by 0", "empty"]


def test_columns_that_do_not_fit_are_elided_or_wrapped():
    wide, names = np.arange(36.0).reshape(2, 18), [f"x[{i}]" for i in range(18)]
    elided = label_matrix(wide, ["a", "b"], names, STYLE._replace(size=(43, 24))).plain.splitlines()
    assert elided[0].split() == ["x[0]", "x[1]", "x[2]", "…", "x[15]", "x[16]", "x[17]"]
    assert elided[2].split() == ["b", "18", "19", "20", "…", "33", "34", "35"]
    small = label_matrix(wide[:1], ["a"], names, STYLE._replace(size=(40, 24))).plain  # 18 elements: all are shown
    parts = [part.split("\n") for part in small.split("\n\n")]
    assert max(map(len, small.splitlines())) <= 40
    assert [name for heads, _ in parts for name in heads.split()] == names
    assert [float(x) for _, line in parts for x in line.removeprefix("a").split()] == wide[0].tolist()


def test_a_summary_has_rank_norm_and_density():
    low = np.outer([1.0, 2.0, 0.0], [3.0, 4.0, 0.0])
    text = array_summary(low, STYLE).plain
    assert text.startswith(f"rank 1, norm {np.linalg.norm(low):.6g}, 44.4% of 9 elements are not 0")
    assert array_summary(np.array([[np.nan, 1.0]]), STYLE).plain.startswith("rank ?, norm nan, 100.0% of 2")


def test_a_heat_map_shows_sizes_and_nan():
    x = np.zeros((12, 36))
    x[0, 0], x[1, 1], x[2, 2], x[11, 35] = 4.0, 0.01, np.nan, -4.0
    lines = text_heat_map(x, STYLE._replace(unicode=False)).plain.splitlines()
    cells = [line.strip().strip("|") for line in lines]
    assert (len(cells), {len(line) for line in cells}) == (12, {36})
    assert cells[0][0] == cells[11][35] != cells[1][1] != cells[5][5] == " " and cells[2][2] == "?"
    large = np.zeros((100, 100))
    large[99, 0] = 1.0  # each cell shows the largest of its elements
    assert text_heat_map(large, STYLE._replace(unicode=False)).plain.splitlines()[-1].strip()[1] == cells[0][0]
