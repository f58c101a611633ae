"""Comma-separated lines with a heading: an element a line, its name quoted where it holds a comma."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Any

from ..results import Gradients, Value
from ..results.transforms import Jacobian
from . import Style
from .numbers import elements, number
from .tsv import gradient_arrays
from .tsv import render_jacobian as lines_of_jacobian


def rows_as_csv(heading: tuple[str, ...], rows: Iterable[Iterable[Any]]) -> str:
    """Return a heading and rows as text."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heading)
    writer.writerows(rows)
    return text.getvalue()


def render_gradients(result: Gradients, style: Style) -> str:
    """Return the columns name and value."""
    return named_rows(gradient_arrays(result), style)


def render_value(result: Value, style: Style) -> str:
    """Return the columns name and value."""
    return named_rows([("value", result.value)], style)


def named_rows(arrays: Iterable[tuple[str, Any]], style: Style) -> str:
    """Return the name and the value of every element of arrays."""
    rows = ((name, number(x, style.precision)) for key, array in arrays for name, x in elements(key, array))
    return rows_as_csv(("name", "value"), rows)


def render_jacobian(result: Jacobian, style: Style) -> str:
    """Return the columns output, input and value."""
    rows = (line.replace("\t", "/").split("/") for line in lines_of_jacobian(result, style).splitlines())
    return rows_as_csv(("output", "input", "value"), rows)
