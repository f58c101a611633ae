"""The chart of Taylor remainders: an SVG with points where the numbers are."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from gradcli.results.checks import CheckReport, CheckSummary, Taylor, TaylorRow
from gradcli.results.formats import Style
from gradcli.show.chart import CHART_BOTTOM, CHART_LEFT, CHART_RIGHT, CHART_TOP, Curve, chart_scale, draw, render_taylor

NAME = "{http://www.w3.org/2000/svg}"


def elements(text, name):
    return list(ElementTree.fromstring(text).iter(NAME + name))


def test_powers_of_ten_have_equal_distances():
    scale = chart_scale(np.array([1e-6, 1e-2]), 0.0, 100.0)
    places = [scale.place(10.0**k) for k in (-6, -4, -2)]
    assert places[1] - places[0] == pytest.approx(places[2] - places[1]) and 0 < places[0] < places[2] < 100
    assert scale.ticks == [-6, -5, -4, -3, -2]
    assert len(chart_scale(np.array([1e-200, 1.0]), 0.0, 1.0).ticks) <= 8


def test_points_are_where_their_numbers_are():
    x, y = np.array([1e-1, 1e-2, 1e-3]), np.array([1e-2, 1e-4, 1e-6])
    text = draw([Curve(x, y, "a < b", "red", "", "o"), Curve(x, y, "", "red", None, "x")], "h", "r")
    places = [(float(e.get("cx")), float(e.get("cy"))) for e in elements(text, "circle")]
    assert all(CHART_LEFT < a < CHART_RIGHT and CHART_TOP < b < CHART_BOTTOM for a, b in places)
    (first, second), (a, b), _ = places
    assert (first - a) == pytest.approx(a - places[2][0], abs=0.2) and b - second == pytest.approx(
        places[2][1] - b, abs=0.2
    )
    assert "a < b" in [e.text for e in elements(text, "text")]


def summary(*taylors):
    reports = [CheckReport(f"f{k}", None, None, "pass", 0.0, taylor=taylor) for k, taylor in enumerate(taylors)]
    return CheckSummary("target", tuple(reports), 0.0)


def test_taylor_remainders_with_zeros_and_without_rows():
    rows = (TaylorRow(0.1, 0.01, None, False), TaylorRow(0.01, 1e-4, 2.0, False), TaylorRow(1e-3, 0.0, None, True))
    text = render_taylor(summary(Taylor(rows, 2.0), Taylor(rows[2:], None)), Style(form="svg")).decode()
    words = [e.text for e in elements(text, "text")]
    assert {"f0: rate 2.00", "f1: rounding", "slope 2: right", "slope 1: wrong"} <= set(words)
    assert len(elements(text, "circle")) == 2
    assert elements(render_taylor(summary(), Style(form="svg")).decode(), "circle") == []
