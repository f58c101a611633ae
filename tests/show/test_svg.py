"""Graphs are drawn in layers: operands below, boxes apart, few crossings, long edges between the boxes."""

import re
from itertools import pairwise

import pytest

from gradcli.analysis.graph import graph_program
from gradcli.claims.open import load_program
from gradcli.program.target import Target
from gradcli.request import Request
from gradcli.results.formats import Style
from gradcli.show.svg import BETWEEN, NEIGHBOUR_GAP, draw_layers, order_rows, svg_of_graph, turn_drawing

BELOW = {"sum": ["mul", "x"], "mul": ["sin", "y"], "sin": ["x"]}
WIDTHS = {"sum": 80.0, "mul": 60.0, "sin": 60.0, "y": 100.0, "x": 60.0}


def test_operands_are_below_their_results_and_boxes_do_not_touch():
    drawing = draw_layers(WIDTHS, BELOW, height=50)
    levels = {node: round((y - NEIGHBOUR_GAP - 25) / (50 + BETWEEN)) for node, (_, y, _) in drawing.boxes.items()}
    assert levels == {"sum": 0, "mul": 1, "sin": 2, "y": 2, "x": 3}
    (x, _, width), (other, _, wide) = sorted([drawing.boxes["sin"], drawing.boxes["y"]])
    assert other - x >= (width + wide) / 2 + NEIGHBOUR_GAP
    assert drawing.size[0] > max(x + width / 2 for x, _, width in drawing.boxes.values())
    assert drawing.size[1] == 4 * (50 + BETWEEN) + NEIGHBOUR_GAP


def test_edges_go_from_the_bottom_of_a_box_to_the_top_of_another():
    drawing = draw_layers(WIDTHS, BELOW, height=50)
    assert set(drawing.edges) == {(top, bottom) for top, operands in BELOW.items() for bottom in operands}
    for (top, bottom), (start, curves) in drawing.edges.items():
        assert start == pytest.approx((drawing.boxes[top][0], drawing.boxes[top][1] + 25))
        assert curves[-1][-1] == pytest.approx((drawing.boxes[bottom][0], drawing.boxes[bottom][1] - 25))
    through = drawing.edges["sum", "x"].curves
    assert len(through) == 5  # two layers lie between
    assert all(abs(through[2][-1][0] - drawing.boxes[n][0]) > drawing.boxes[n][2] / 2 for n in ("sin", "y"))


def crossings(rows, links):
    place = {node: i for row in rows for i, node in enumerate(row)}
    ends = [(place[a], place[b]) for a, b in links]
    return sum((a - c) * (b - d) < 0 for i, (a, b) in enumerate(ends) for c, d in ends[:i])


def test_layers_are_sorted_until_edges_do_not_cross():
    rows, links = [["a", "b", "c"], ["p", "q", "r"]], [("a", "r"), ("b", "q"), ("c", "p")]
    assert crossings(rows, links) == 3
    order_rows(rows, links)
    assert crossings(rows, links) == 0


def test_a_turned_drawing_has_operands_on_the_left():
    drawing = draw_layers(dict.fromkeys(WIDTHS, 40.0), BELOW, height=100)
    turned = turn_drawing(drawing, 100)
    assert (turned.size, turned.height) == (drawing.size[::-1], 40.0)
    assert all(width == 100 for _, _, width in turned.boxes.values())
    order = [turned.boxes[node][0] for node in ("x", "sin", "mul", "sum")]
    assert all(left < right for left, right in pairwise(order))


def test_an_empty_graph_is_an_empty_drawing():
    assert draw_layers({}, {}).boxes == {}


def places(text, names, direction):
    """Return the positions of the boxes of leaves in a drawing."""
    result = graph_program(load_program(Target(text, inline=True)), dict.fromkeys(names, 2.0), Request())
    drawn = svg_of_graph(result._replace(direction=direction), Style()).decode()
    found = {name: (float(x), float(y)) for x, y, name in re.findall(r'<text x="(.*?)" y="(.*?)".*?>(.*?)<', drawn)}
    return [found[name] for name in names]


def test_leaves_are_in_the_order_of_the_program():
    for text in ("x * y", "x * y + z", "sin(x) + sin(y) + sin(z)"):
        names = [name for name in "xyz" if name in text]
        upright, lying = (places(text, names, direction) for direction in ("BT", "LR"))
        assert [x for x, _ in upright] == sorted(x for x, _ in upright)
        assert [y for _, y in lying] == sorted(y for _, y in lying)
