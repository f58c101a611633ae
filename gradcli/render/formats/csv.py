"""Comma-separated lines with a heading: those of `tsv`, an element a line, its name quoted where it holds a comma."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable
from typing import Any

from ...errors import visible
from ...results import Gradients, Value
from ...results.checks import CheckList, CheckReport, CheckSummary
from ...results.exact import LongNumbers
from ...results.plots import Curve, Surface
from ...results.transforms import Hessian, Jacobian, Products
from .. import RENDERERS, Style, renders
from ..check_elements import rows_of
from . import tsv  # noqa: F401 - it registers what is written here with commas

HEADINGS: dict[str, Callable[[Any], Iterable[str]]] = {
    "Jacobian": lambda result: ("output", "input", "value"),
    "Hessian": lambda result: ("first", "second", "value"),
    "Curve": lambda result: (result.name, "value", f"d_{result.name}"),
    "Surface": lambda result: (*result.names, "value", *(f"d_{name}" for name in result.names)),
}
"""The columns of results whose lines are not name and value."""


def rows_as_csv(heading: tuple[str, ...], rows: Iterable[Iterable[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heading)
    writer.writerows([visible(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return text.getvalue()


@renders()
def render_elements(
    result: Gradients | Value | Jacobian | Hessian | Products | LongNumbers | Curve | Surface, style: Style
) -> str:
    """Return the lines of `tsv`; names of two parts have a column for each, and formulas one where there are any."""
    kind = type(result).__name__
    heading = tuple(HEADINGS.get(kind, lambda _: ("name", "value"))(result))
    rows = [line.split("\t") for line in RENDERERS["tsv", kind](result, style).splitlines()]
    if kind in ("Jacobian", "Hessian"):
        rows = [[*name.split("/"), *more] for name, *more in rows]
    return rows_as_csv(heading if not rows or len(rows[0]) == len(heading) else (*heading, "formula"), rows)


ELEMENT = "check file line output output_part input index part claimed numeric error ratio verdict message"
"""The columns of checks."""


@renders()
def render_checksummary(result: CheckSummary, style: Style) -> str:
    """Return every element of every check; one line for a check without any."""
    return rows_as_csv(tuple(ELEMENT.split()), (row for check in result.checks for row in element_rows(check, style)))


def element_rows(check: CheckReport, style: Style) -> list[list[Any]]:
    """Return the rows of a check. Indices are numbers with blanks between."""
    head, rows = [check.name, check.file or "", check.line or ""], []
    for item in check.inputs:
        for row in rows_of(item):
            output, index = (" ".join(map(str, place)) for place in (row.output, row.place))
            numbers = row.numbers(style.precision)
            rows.append([*head, output, row.output_part, item.name, index, row.part, *numbers, row.verdict, ""])
    return rows or [[*head, *[""] * 9, check.verdict, check.message]]


@renders()
def render_checklist(result: CheckList, style: Style) -> str:
    return rows_as_csv(
        ("check", "file", "line"), ((name, file or "", line or "") for name, file, line in result.checks)
    )
