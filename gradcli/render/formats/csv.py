"""Comma-separated lines with a heading: an element a line, its name quoted where it holds a comma."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Any

from ...results import Gradients, Value
from ...results.checks import CheckList, CheckReport, CheckSummary
from ...results.exact import LongNumbers
from ...results.plots import Curve, Surface
from ...results.transforms import Hessian, Jacobian, Products
from .. import Style, renders
from ..check_elements import rows_of
from ..exact import formulas_by_element, long_elements
from ..numbers import elements, number
from . import tsv


def rows_as_csv(heading: tuple[str, ...], rows: Iterable[Iterable[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heading)
    writer.writerows(rows)
    return text.getvalue()


@renders()
def render_gradients(result: Gradients, style: Style) -> str:
    """Return the columns name and value, and formula where formulas were asked for."""
    formulas = formulas_by_element(result, "grad")
    if not formulas:
        return named_rows(tsv.gradient_arrays(result), style)
    lines = (line.split("\t") for line in tsv.render_gradients(result, style).splitlines())
    return rows_as_csv(("name", "value", "formula"), lines)


@renders()
def render_value(result: Value, style: Style) -> str:
    return named_rows([("value", result.value)], style)


def named_rows(arrays: Iterable[tuple[str, Any]], style: Style) -> str:
    rows = ((name, number(x, style.precision)) for key, array in arrays for name, x in elements(key, array))
    return rows_as_csv(("name", "value"), rows)


@renders()
def render_jacobian(result: Jacobian, style: Style) -> str:
    return pair_rows(("output", "input", "value"), tsv.render_jacobian(result, style))


@renders()
def render_hessian(result: Hessian, style: Style) -> str:
    return pair_rows(("first", "second", "value"), tsv.render_hessian(result, style))


def pair_rows(heading: tuple[str, ...], lines: str) -> str:
    """Return lines whose elements have two names, with a column for each, and one for formulas that are there."""
    rows = [(*name.split("/"), *more) for name, *more in (line.split("\t") for line in lines.splitlines())]
    return rows_as_csv(heading if not rows or len(rows[0]) == len(heading) else (*heading, "formula"), rows)


@renders()
def render_products(result: Products, style: Style) -> str:
    return named_rows(result.parts.items(), style)


@renders()
def render_longnumbers(result: LongNumbers, style: Style) -> str:
    return rows_as_csv(("name", "value"), long_elements(result, result.with_value))


@renders()
def render_curve(result: Curve, style: Style) -> str:
    return table_rows((result.name, "value", f"d_{result.name}"), tsv.render_curve(result, style))


@renders()
def render_surface(result: Surface, style: Style) -> str:
    heading = (*result.names, "value", *(f"d_{name}" for name in result.names))
    return table_rows(heading, tsv.render_surface(result, style))


def table_rows(heading: tuple[str, ...], lines: str) -> str:
    """Return tab-separated columns with commas and a heading."""
    return rows_as_csv(heading, (line.split("\t") for line in lines.splitlines()))


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
