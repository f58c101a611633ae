"""SVG and PNG pictures: plots by matplotlib, graphs by Graphviz or, as SVG without it, by our own layout.

Taylor remainders as SVG are our own, too (`chart`).
"""

from __future__ import annotations

import io
import shutil
from typing import Any

import numpy as np

from ..errors import GradcliError, visible
from ..results.base import Jacobian, label
from ..results.checks import CheckSummary
from ..results.formats import Style
from ..results.graphs import Graph, Sampled
from ..results.studies import Precision
from .chart import render_taylor
from .data import number
from .dot import run_graphviz
from .plot import LARGEST_SHOWN, extent, notes_on_breaks, with_breaks
from .svg import svg_of_graph as render_svg

MOST_LABELS = 12
"""The most labels along a side of a Jacobian; its cells show numbers if neither side is longer."""
UNDATED: dict[str, Any] = {"svg": {"Date": None}}


def figure(size: tuple[float, float] = (7.0, 5.0)) -> Any:
    """Return an empty figure. size: in inches. Raises GradcliError if matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise GradcliError(
            "drawing pictures needs matplotlib, which is not installed",
            hint="pip install matplotlib (the extra gradcli[plot])",
        ) from None
    return Figure(size, layout="constrained")


def save_figure(picture: Any, kind: str) -> bytes:
    buffer = io.BytesIO()
    picture.savefig(buffer, format=kind, metadata=UNDATED.get(kind))
    return buffer.getvalue()


def picture_of_graph(result: Graph, style: Style) -> bytes:
    if program := shutil.which("dot"):
        return run_graphviz(program, result, style, style.form)
    if style.form == "svg":
        return render_svg(result, style)
    raise GradcliError(
        "a graph as PNG needs Graphviz (its program 'dot'), which is not installed",
        hint="write an SVG file, which needs no other program: -o graph.svg; or install the package graphviz",
    )


def plain_text(text: str) -> str:
    """Escape $, which would start a formula in matplotlib."""
    return visible(text).replace("$", r"\$")


def picture_of_samples(result: Sampled, style: Style) -> bytes:
    picture = figure()
    (draw_curves if len(result.axes) == 1 else contours)(picture, result, plain_text(result.output or result.target))
    return save_figure(picture, style.form)


def draw_curves(picture: Any, result: Sampled, title: str) -> None:
    ((name, _),), (slopes,) = result.axes.items(), result.slopes
    x, value, slope = with_breaks(result)
    upper, lower = picture.subplots(2, sharex=True)
    derivative = plain_text(f"∂/∂{name}")
    kinks = [(each.at, each.sides[0][1]) for each in result.breaks if each.kind == "kink"]
    for axes, y, heights, text, colour in (
        (upper, value, extent(result.value), title, "C0"),
        (lower, slope, extent(slopes), derivative, "C1"),
    ):
        axes.plot(x, np.where(abs(y) < LARGEST_SHOWN, y, np.nan), color=colour, label=text)
        low, high = heights
        axes.set(xlim=(x[0], x[-1]), ylim=(low - (high - low) / 20, high + (high - low) / 20))
        axes.grid(alpha=0.3)
        axes.legend()
    if kinks:
        upper.plot(*zip(*kinks, strict=True), "D", color="C3")
    lower.set_xlabel("\n".join([plain_text(name), *map(plain_text, notes_on_breaks(result))]))


def contours(picture: Any, result: Sampled, title: str) -> None:
    (name, x), (other, y) = result.axes.items()
    axes = picture.subplots()
    picture.colorbar(axes.contourf(x, y, np.ma.masked_invalid(result.value.T), 20))
    i, j = (np.linspace(0, len(side) - 1, min(len(side), 16) + 2).astype(int)[1:-1] for side in (x, y))
    right, up = (slope[np.ix_(i, j)].T for slope in result.slopes)
    axes.quiver(x[i], y[j], right, up, color="white", angles="xy")
    axes.set(title=title, xlabel=plain_text(name), ylabel=plain_text(other))


def picture_of_taylor(result: CheckSummary, style: Style) -> bytes:
    if style.form == "svg":
        return render_taylor(result, style)
    picture = figure()
    axes = picture.subplots()
    drawn = [(check, check.taylor) for check in result.checks if check.taylor is not None]
    for k, (check, taylor) in enumerate(drawn):
        steps, sizes = np.array([row.step for row in taylor.rows]), np.array([row.remainder for row in taylor.rows])
        spoilt = np.array([row.spoilt for row in taylor.rows])
        rate = "rounding" if taylor.rate is None else f"rate {taylor.rate:.2f}"
        axes.loglog(steps[~spoilt], sizes[~spoilt], "o-", color=f"C{k}", label=plain_text(f"{check.name}: {rate}"))
        axes.loglog(steps[spoilt], np.maximum(sizes[spoilt], 1e-300), "x", color=f"C{k}", alpha=0.4)
        if not spoilt.all():
            for power, look, means in ((2, ":", "right"), (1, "--", "wrong")):
                ideal = sizes[~spoilt][0] * (steps / steps[~spoilt][0]) ** power
                legend = None if k else f"slope {power}: {means}"
                axes.loglog(steps, ideal, look, color="gray", alpha=0.6, label=legend)
    axes.set(xlabel="step h", ylabel=plain_text("|f(x + h d) - f(x) - h g.d|"))
    axes.grid(alpha=0.3)
    if drawn:
        axes.legend()
    return save_figure(picture, style.form)


def picture_of_jacobian(jacobian: Jacobian, style: Style) -> bytes:
    blocks = {name: x for name, x in jacobian.blocks.items() if x.size}
    picture = figure((4.5 * max(len(blocks), 1), 4.0))
    places = picture.subplots(1, max(len(blocks), 1), squeeze=False)[0]
    for axes, (name, x) in zip(places, blocks.items(), strict=False):
        flat = np.real(x).reshape(jacobian.value.size, -1)
        largest = np.abs(flat[np.isfinite(flat)]).max(initial=0) or 1.0
        shown = axes.imshow(flat, cmap="RdBu_r", vmin=-largest, vmax=largest, aspect="auto", interpolation="nearest")
        axes.set_title(plain_text(f"∂{jacobian.output or 'out'}/∂{name}"))
        names = [(jacobian.output or "out", jacobian.value.shape), (name, x.shape[jacobian.value.ndim :])]
        for side, (of, shape), count in zip((axes.yaxis, axes.xaxis), names, flat.shape, strict=True):
            places = np.unique(np.linspace(0, count - 1, min(count, MOST_LABELS)).astype(int))
            texts = [plain_text(label(of, tuple(map(int, np.unravel_index(i, shape))))) for i in places]
            side.set_ticks(places, texts)
        axes.tick_params(axis="x", labelrotation=90 if flat.shape[1] > 4 else 0)
        for i, j in np.ndindex(flat.shape) if max(flat.shape) <= MOST_LABELS else ():
            ink = "white" if abs(flat[i, j]) > 0.6 * largest else "black"
            axes.text(j, i, number(flat[i, j], style.precision or 3), color=ink, ha="center", va="center")
        picture.colorbar(shown, ax=axes)
    return save_figure(picture, style.form)


def picture_of_precision(result: Precision, style: Style) -> bytes:
    picture = figure()
    axes = picture.subplots()
    for name, digits in result.curves.items():
        axes.plot(result.x, digits, label=plain_text(name), marker=".")
    grows = result.x[0] > 0 and result.x[-1] > 100 * result.x[0]
    axes.set(
        title=plain_text(result.output or result.target),
        xlabel=plain_text(result.name),
        ylabel="right digits",
        ylim=(-0.5, result.full + 0.5),
        xscale="log" if grows else "symlog" if result.x[0] <= 0 <= result.x[-1] else "linear",
    )
    axes.grid(alpha=0.3)
    axes.legend()
    return save_figure(picture, style.form)


PICTURES = {
    Graph: picture_of_graph,
    Sampled: picture_of_samples,
    CheckSummary: picture_of_taylor,
    Jacobian: picture_of_jacobian,
    Precision: picture_of_precision,
}
WRITERS = {"svg": PICTURES, "png": PICTURES}
