"""Every element of a check: as rows of values, and as lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..errors import visible
from ..results.checks import CheckReport, InputCheck
from ..results.labels import label
from . import Style
from .numbers import number

SHORT = {"": "", "re": "Re ", "im": "Im "}


class ElementRow(NamedTuple):
    """One element: the index and part of output and input, claimed, numeric, its error, and what it is."""

    output: tuple[int | str, ...]
    output_part: str
    place: tuple[int, ...]
    part: str
    claimed: Any
    numeric: Any
    error: Any
    verdict: str

    @property
    def ratio(self) -> float | None:
        """Claimed over numeric, where that is known not to be zero."""
        known = np.isfinite(self.numeric) and abs(self.numeric) > self.error
        return float(self.claimed / self.numeric) if known else None

    def numbers(self, precision: int | None) -> list[str]:
        """Return claimed, numeric, error and ratio as text; nothing for a ratio that is not known."""
        values = (self.claimed, self.numeric, self.error, self.ratio)
        return ["" if x is None else number(x, precision) for x in values]

    def name(self, of: str) -> str:
        """Return what the element is called, with the output's where that is no plain number."""
        place = SHORT[self.part] + label(of, self.place)
        if not (self.output or self.output_part):
            return place
        return f"d {SHORT[self.output_part]}{label('out', self.output)}/d {place}"


def rows_of(item: InputCheck) -> Iterator[ElementRow]:
    """Yield all elements of an input, the input's fastest."""
    elements = item.elements
    if elements is not None:
        for j, row in enumerate(elements.rows):
            for i, column in enumerate(elements.columns):
                numbers = (elements.claimed[j, i], elements.numeric[j, i], elements.error[j, i])
                yield ElementRow(*row, *column, *numbers, str(elements.verdicts[j, i]))


def element_lines(check: CheckReport, style: Style) -> str:
    """Return a line per element: the word element, check, element, claimed, numeric, error, ratio, verdict."""
    name = " ".join(check.name.split())
    lines = [
        "\t".join(["element", name, row.name(item.name), *row.numbers(style.precision), row.verdict]) + "\n"
        for item in check.inputs
        for row in rows_of(item)
    ]
    return visible("".join(lines))
