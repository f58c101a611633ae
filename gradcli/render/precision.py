"""Right digits of value and gradient, as a terminal shows them."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Group
from rich.table import Table
from rich.text import Text

from ..results.precision import Loss, Precision
from . import Style, renders
from .arrays import plain_table

BARS, BARS_PLAIN = "▁▂▃▄▅▆▇█", "01234567"
"""What stands for no digits up to all of them."""
SHARE = 0.75
"""Of the digits of the type: with fewer, a point is called bad."""
MOST_PLACES = 3


@renders(form="table")
def render_precision(result: Precision, style: Style) -> Group:
    """Return the fewest digits and where, a line of bars along the input, and what loses them."""
    low, high = (f"{x:.3g}" for x in (result.x[0], result.x[-1]))
    head = Text().append(result.output or result.target, "bold")
    head.append(
        f"   {result.name} from {low} to {high}, {len(result.x)} points, {result.full:.1f} digits are all", "dim"
    )
    parts: list[Any] = [head, Text(""), summary(result, style)]
    if result.losses:
        parts += [Text(""), Text("\n".join(loss_texts(result)))]
    return Group(*parts)


def summary(result: Precision, style: Style) -> Table:
    """Return a table: of value and gradients the fewest digits, where, and bars from one end to the other."""
    bad = SHARE * result.full
    table = plain_table("digits", "least", f"at {result.name}", "median", f"below {bad:.0f} at", "from left to right")
    for name, digits in result.columns.items():
        if not np.isfinite(digits).any():
            table.add_row(name, "none")
            continue
        least = int(np.nanargmin(digits))
        places = bad_places(result.x, digits < bad)
        table.add_row(
            Text(name, style="bold"),
            Text(f"{digits[least]:.1f}", style="bold red" if places else "green"),
            f"{result.x[least]:.3g}",
            f"{np.nanmedian(digits):.1f}",
            places,
            Text(bars(digits, result.full, style, 50), style="cyan", no_wrap=True),
        )
    return table


def bad_places(x: np.ndarray, bad: np.ndarray) -> str:
    """Return the ranges of neighbouring points that are bad."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], bad, [False]]).astype(int)))
    runs = [(x[i], x[j - 1]) for i, j in edges.reshape(-1, 2).tolist()]
    texts = [f"{a:.3g}" if a == b else f"{a:.3g} to {b:.3g}" for a, b in runs]
    more = [f"{len(texts) - MOST_PLACES} more"] if len(texts) > MOST_PLACES else []
    return ", ".join(texts[:MOST_PLACES] + more)


def bars(digits: np.ndarray, full: float, style: Style, width: int) -> str:
    """Return a character for each point, of neighbouring ones the worst where there is no room; a blank for none."""
    marks = BARS if style.unicode else BARS_PLAIN
    text = ""
    for part in np.array_split(digits, min(len(digits), width)):
        known = part[np.isfinite(part)]
        text += marks[min(int(known.min() / full * len(marks)), len(marks) - 1)] if known.size else " "
    return text


def loss_texts(result: Precision) -> list[str]:
    """Return in words where digits are lost, an operation once."""
    told: dict[tuple, str] = {}
    for loss in result.losses:
        of = "value" if loss.of == "value" else f"d/d{loss.of}"
        key = (loss.formula, loss.kind, loss.at)
        told[key] = f"{told[key]} and {of}" if key in told else of
    return [
        f"{told.pop(key)}: {loss_text(loss, result.name)}"
        for loss in result.losses
        if (key := (loss.formula, loss.kind, loss.at)) in told
    ]


def loss_text(loss: Loss, name: str) -> str:
    """Return what loses digits, how many, and what comes out instead of what."""
    place = f"at {name}={loss.at:.3g}"
    counts = f"{loss.after:.1f} of {loss.before:.1f} digits"
    formula = f"{loss.formula} (line {loss.line})" if loss.line else loss.formula
    if loss.kind == "sum":
        ways = ", ".join(dict.fromkeys(loss.ways))
        text = f"{place} the gradients that reach {formula} through {ways} cancel: {counts} are left"
        numbers = " + ".join(f"{x:.6g}" for x in loss.parts) + " gives"
    else:
        text = f"{'the derivative of ' if loss.kind == 'backward' else ''}{formula} keeps {counts} {place}"
        numbers = f"from {' and '.join(f'{x:.6g}' for x in loss.parts)} comes"
    if not loss.parts:
        return text
    known = "it is beyond the type" if f"{loss.result:.6g}" == f"{loss.right:.6g}" else f"right is {loss.right:.6g}"
    if f"{loss.result:.6g}" == f"{loss.right:.6g}" and np.isfinite(loss.result) and loss.result:
        return f"{text}; {numbers} {loss.result:.17g}; right is {loss.right:.17g}"
    return f"{text}; {numbers} {loss.result:.6g}; {known}"
