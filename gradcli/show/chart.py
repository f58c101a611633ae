"""Charts with logarithmic axes, as SVG: the Taylor remainders of `gradcheck --taylor -o FILE.svg`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..results.checks import CheckSummary
from ..results.formats import Style
from .svg import escape_markup, tag

CHART_WIDTH, CHART_HEIGHT = 640, 440
CHART_LEFT, CHART_TOP, CHART_RIGHT, CHART_BOTTOM = 84, 20, CHART_WIDTH - 20, CHART_HEIGHT - 56
LINE_COLOURS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#17becf")
MOST_TICKS = 8
LEAST_REMAINDER = 1e-300  # smaller remainders, and 0, are drawn at this height at most


class Curve(NamedTuple):
    """Points of a chart. name: in the legend, "" for none. dashes: of the line, None for points alone."""

    x: np.ndarray
    y: np.ndarray
    name: str
    colour: str
    dashes: str | None = ""
    mark: str = ""


class Scale(NamedTuple):
    """A logarithmic axis: powers of ten as pixels."""

    low: float
    high: float
    first: float
    last: float

    def place(self, x: float) -> float:
        share = (math.log10(x) - self.low) / (self.high - self.low)
        return self.first + share * (self.last - self.first)

    @property
    def ticks(self) -> list[int]:
        """Whole powers of ten, at most MOST_TICKS of them."""
        powers = range(math.ceil(self.low), math.floor(self.high) + 1)
        return list(powers[:: max(1, -(-len(powers) // MOST_TICKS))])


def chart_scale(numbers: np.ndarray, first: float, last: float) -> Scale:
    positive = np.log10(numbers[numbers > 0])
    low, high = (positive.min(), positive.max()) if positive.size else (-1.0, 0.0)
    pad = max(0.05 * (high - low), 0.1)
    return Scale(float(low - pad), float(high + pad), first, last)


def draw(curves: Sequence[Curve], x_label: str, y_label: str) -> str:
    """Return a chart of curves. Heights that are 0 are left out."""
    shown = [curve for curve in curves if curve.x.size]
    own = [curve for curve in shown if curve.mark]  # guides do not stretch the axes
    across = chart_scale(np.concatenate([curve.x for curve in own] or [np.ones(1)]), CHART_LEFT, CHART_RIGHT)
    up = chart_scale(np.concatenate([curve.y for curve in own] or [np.ones(1)]), CHART_BOTTOM, CHART_TOP)
    frame: dict[str, Any] = {
        "x": CHART_LEFT,
        "y": CHART_TOP,
        "width": CHART_RIGHT - CHART_LEFT,
        "height": CHART_BOTTOM - CHART_TOP,
    }
    inside = tag("svg", "".join(part for curve in shown for part in curve_parts(curve, across, up)), **frame,
                 viewBox=f"{CHART_LEFT} {CHART_TOP} {CHART_RIGHT - CHART_LEFT} {CHART_BOTTOM - CHART_TOP}")  # fmt: skip
    parts = [
        tag("rect", width="100%", height="100%", fill="white"),
        *axis_parts(across, up),
        tag("rect", **frame, fill="none", stroke="#333"),
        inside,
        *legend_parts([curve for curve in curves if curve.name]),
        tag(
            "text", escape_markup(x_label), x=(CHART_LEFT + CHART_RIGHT) / 2, y=CHART_HEIGHT - 14, text_anchor="middle"
        ),
        tag(
            "text",
            escape_markup(y_label),
            text_anchor="middle",
            transform=f"translate(18 {(CHART_TOP + CHART_BOTTOM) / 2}) rotate(-90)",
        ),
    ]
    size = {"width": CHART_WIDTH, "height": CHART_HEIGHT, "viewBox": f"0 0 {CHART_WIDTH} {CHART_HEIGHT}"}
    font = {"font_family": "sans-serif", "font_size": 13}
    picture = tag("svg", "\n".join(["", *parts, ""]), xmlns="http://www.w3.org/2000/svg", **size, **font)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{picture}\n'


def axis_parts(across: Scale, up: Scale) -> list[str]:
    parts = []
    for power in across.ticks:
        x = across.place(10.0**power)
        parts.append(tag("path", d=f"M{x:.1f} {CHART_TOP}V{CHART_BOTTOM}", stroke="#ddd"))
        parts.append(tag("text", power_of_ten(power), x=x, y=CHART_BOTTOM + 18, text_anchor="middle"))
    for power in up.ticks:
        y = up.place(10.0**power)
        parts.append(tag("path", d=f"M{CHART_LEFT} {y:.1f}H{CHART_RIGHT}", stroke="#ddd"))
        parts.append(tag("text", power_of_ten(power), x=CHART_LEFT - 6, y=y + 4, text_anchor="end"))
    return parts


def power_of_ten(power: int) -> str:
    return f"1e{power}"


def curve_parts(curve: Curve, across: Scale, up: Scale) -> list[str]:
    places = [
        (across.place(x), up.place(max(y, LEAST_REMAINDER))) for x, y in zip(curve.x, curve.y, strict=True) if x > 0
    ]
    parts = []
    if curve.dashes is not None:
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        look = {"stroke_dasharray": curve.dashes} if curve.dashes else {}
        parts.append(tag("path", d=f"M{path}", fill="none", stroke=curve.colour, stroke_width=1.5, **look))
    if curve.mark == "o":
        parts += [tag("circle", cx=x, cy=y, r=3.5, fill=curve.colour) for x, y in places]
    if curve.mark == "x":
        crosses = "".join(f"M{x - 4:.1f} {y - 4:.1f}l8 8m-8 0l8 -8" for x, y in places)
        parts.append(tag("path", d=crosses, stroke=curve.colour, stroke_opacity="0.5", stroke_width=1.5))
    return parts


def legend_parts(curves: Sequence[Curve]) -> list[str]:
    parts = []
    for k, curve in enumerate(curves):
        y = CHART_BOTTOM - 14 - 18 * (len(curves) - 1 - k)
        look = {"stroke_dasharray": curve.dashes} if curve.dashes else {}
        parts.append(tag("path", d=f"M{CHART_RIGHT - 250} {y}h26", stroke=curve.colour, stroke_width=2, **look))
        parts.append(tag("text", escape_markup(curve.name), x=CHART_RIGHT - 218, y=y + 4))
    return parts


GUIDES = ((2, "2 4", "slope 2: right"), (1, "7 4", "slope 1: wrong"))


def render_taylor(result: CheckSummary, style: Style) -> bytes:
    """Return the Taylor remainders of all checks by step, with the slopes that a right and a wrong derivative give."""
    curves: list[Curve] = []
    drawn = [(check.name, check.taylor) for check in result.checks if check.taylor is not None]
    for k, (name, taylor) in enumerate(drawn):
        colour = LINE_COLOURS[k % len(LINE_COLOURS)]
        steps, sizes = (np.array([getattr(row, field) for row in taylor.rows]) for field in ("step", "remainder"))
        spoilt = np.array([row.spoilt for row in taylor.rows], bool)
        rate = "rounding" if taylor.rate is None else f"rate {taylor.rate:.2f}"
        curves.append(Curve(steps[~spoilt], sizes[~spoilt], f"{name}: {rate}", colour, "", "o"))
        curves.append(Curve(steps[spoilt], sizes[spoilt], "", colour, None, "x"))
        if not spoilt.all():
            first, top = steps[~spoilt][0], sizes[~spoilt][0]
            guides = ((top * (steps / first) ** power, dashes, text) for power, dashes, text in GUIDES)
            curves += [Curve(steps, y, "" if k else text, "#999", dashes) for y, dashes, text in guides]
    return draw(curves, "step h", "|f(x + h d) - f(x) - h g.d|").encode()
