"""Mutants as a table and as a picture: which wrong gradients the tests notice."""

from __future__ import annotations

import math
from typing import Any
from xml.sax.saxutils import escape

from rich.console import Group
from rich.table import Column
from rich.text import Text

from ..errors import visible
from ..results.mutants import Mutation
from . import Style, renders
from .arrays import plain_table

ROW, LEFT, WIDTH, HEAD = 18, 420, 300, 56
"""Sizes in the picture: the height of a row, the width of names and of the axis, and where rows begin."""
LEAST = -13.0
"""The exponent at the left end of the axis."""


def summary_of(result: Mutation) -> str:
    """Return how many were noticed, and the smallest error."""
    smallest = result.smallest_noticed
    noticed = "no factor" if smallest is None else f"errors of a factor from {smallest:.0e} on"
    equal = f"; {result.equal} left out that change nothing or always raise" if result.equal else ""
    return f"{result.killed} of {len(result.mutants)} mutants killed ({result.score:.0%}), {noticed} noticed{equal}"


def advice_of(result: Mutation) -> str:
    """Return what survives, and tests that would kill it."""
    if not result.survivors:
        return ""
    if not result.calls:
        return "the tests never call it"
    count = len(result.survivors)
    head = f"{count} larger than {result.at_least:g} survive{'s' if count == 1 else ''}"
    tests: dict[str, list[str]] = {}
    for run in result.survivors:
        tests.setdefault(run.test or "", []).append(run.name)
    shown = max(tests.items(), key=lambda item: (bool(item[0]), len(item[1])))
    function = result.target.partition(".py:")[2]
    if not shown[0]:
        return (
            f"{head}; a test that kills them compares with numeric derivatives: "
            f"assert gradcli.check_gradient(f, {function}, at={{...}}), where f is the function whose gradient it is"
        )
    return f"{head}; a test that kills {', '.join(shown[1])}:\n{shown[0].rstrip()}"


@renders(form="table")
def render_mutation(result: Mutation, style: Style) -> Group:
    """Return a row per mutant, and a summary."""
    numeric = (Column(heading, justify="right", overflow="fold") for heading in ("relative error", "seconds"))
    table = plain_table("mutant", *numeric, Column())
    for run in result.mutants:
        wanted = run in result.survivors
        word = "killed" if run.killed else "survived"
        colour = "green" if run.killed else "bold red" if wanted else "yellow"
        word += " (too slow)" if run.timed_out else ""
        size = "" if run.relative_error is None else f"{run.relative_error:.2g}"
        table.add_row(visible(run.name), size, f"{run.seconds:.2f}", Text(word, style=colour))
    parts: list[Any] = [table, Text(summary_of(result), style="bold red" if result.survivors else "bold green")]
    if advice := advice_of(result):
        parts.append(Text(advice))
    return Group(*parts)


@renders(form="image_file")
def render_picture(result: Mutation, style: Style) -> bytes:
    """Return a picture: a row per mutant, its error on a logarithmic axis, filled where it was noticed."""

    def place(error: float | None) -> float:
        exponent = 1.0 if not error else min(max(math.log10(error), LEAST), 1.0)
        return LEFT + WIDTH * (exponent - LEAST) / (1.0 - LEAST)

    height = HEAD + ROW * len(result.mutants) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 120}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="10" y="20" font-size="15">{escape(visible(result.target))}</text>',
        f'<text x="10" y="40">{escape(summary_of(result))}</text>',
    ]
    bottom = HEAD + ROW * len(result.mutants)
    for exponent in range(-12, 1, 3):
        x = place(10.0**exponent)
        parts.append(f'<path d="M{x:.1f} {HEAD}V{bottom}" stroke="#ccc"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">1e{exponent}</text>')
    limit = place(result.at_least)
    parts.append(f'<path d="M{limit:.1f} {HEAD}V{bottom}" stroke="#555" stroke-dasharray="4 3"/>')
    parts.append(f'<text x="{LEFT}" y="{bottom + 34}">relative error; dashed: --at-least {result.at_least:g}</text>')
    for k, run in enumerate(result.mutants):
        y = HEAD + ROW * k + ROW / 2
        colour = "#1a7f37" if run.killed else "#cf222e" if run in result.survivors else "#bf8700"
        fill = colour if run.killed else "white"
        name = escape(visible(run.name))
        parts.append(f'<text x="{LEFT - 12}" y="{y + 4:.1f}" text-anchor="end">{name}</text>')
        parts.append(
            f'<circle cx="{place(run.relative_error):.1f}" cy="{y:.1f}" r="5" fill="{fill}" stroke="{colour}" '
            f'stroke-width="2"><title>{name}</title></circle>'
        )
        word = "killed" if run.killed else "survived"
        parts.append(f'<text x="{LEFT + WIDTH + 16}" y="{y + 4:.1f}" fill="{colour}">{word}</text>')
    return ("\n".join([*parts, "</svg>"]) + "\n").encode()
