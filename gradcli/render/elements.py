"""Every element of a check: as rows of values, as an aligned table, as lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from rich.text import Text

from ..errors import visible
from ..results.checks import CheckReport, InputCheck
from ..results.labels import label
from . import Style
from .numbers import number

COLOURS = {"fail": "bold red", "inconclusive": "yellow", "hidden": "dim", "pass": ""}
WORDS = {"pass": "ok", "fail": "FAIL", "inconclusive": "inconclusive", "hidden": "not decidable"}
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
    found = item.elements
    if found is not None:
        for j, row in enumerate(found.rows):
            for i, column in enumerate(found.columns):
                numbers = (found.claimed[j, i], found.numeric[j, i], found.error[j, i])
                yield ElementRow(*row, *column, *numbers, str(found.verdicts[j, i]))


def tally(item: InputCheck) -> str:
    """Return an input with how many of its elements are wrong or open: pi FAIL 1/3, A ok."""
    if item.elements is None or item.verdict == "pass":
        return f"{item.name} {WORDS[item.verdict]}"
    count = int((item.elements.verdicts == item.verdict).sum())
    return f"{item.name} {WORDS[item.verdict]} {count}/{item.elements.verdicts.size}"


def element_table(check: CheckReport, style: Style) -> Text:
    """Return the tally of the inputs and an aligned table of all elements, as wide as the terminal at most."""
    text = Text("    " + ", ".join(map(tally, check.inputs)), "bold")
    rows = [(row, row.name(item.name)) for item in check.inputs for row in rows_of(item)]
    for digits, headings in looks(style):
        shown = [f"± {h}" if h == "error" and style.unicode else h for h in headings]
        cells = [tuple(shown), *(cells_of(row, name, digits, headings) for row, name in rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        if 4 + sum(widths) + 2 * (len(widths) - 1) <= style.size[0]:
            break
    for cell, (row, _) in zip(cells, [(None, ""), *rows], strict=True):
        parts = [cell[0].ljust(widths[0])]
        parts += [part.rjust(width) for part, width in zip(cell[1:-1], widths[1:-1], strict=True)]
        text.append("\n    " + "  ".join([*parts, cell[-1]]).rstrip(), COLOURS[row.verdict] if row else "dim")
    return text


HEADINGS = ("element", "claimed", "numeric", "error", "ratio", "")


def looks(style: Style) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield digits and columns to try in turn: a table has as many digits as fit, and then fewer columns."""
    for dropped in ((), ("ratio",), ("ratio", "error")):
        for digits in (style.precision,) if style.precision else range(12, 2, -1):
            yield digits, tuple(heading for heading in HEADINGS if heading not in dropped)


def cells_of(row: ElementRow, name: str, digits: int, headings: tuple[str, ...]) -> tuple[str, ...]:
    cells = {
        "element": name,
        "claimed": f"{row.claimed:.{digits}g}",
        "numeric": f"{row.numeric:.{digits}g}",
        "error": f"{row.error:.2g}" if np.isfinite(row.error) else "unknown",
        "ratio": "" if row.ratio is None else f"{row.ratio:.{min(digits, 6)}g}",
        "": "" if row.verdict == "pass" else WORDS[row.verdict],
    }
    return tuple(cells[heading] for heading in headings)


def element_lines(check: CheckReport, style: Style) -> str:
    """Return a line per element: the word element, check, element, claimed, numeric, error, ratio, verdict."""
    name = " ".join(check.name.split())
    lines = [
        "\t".join(["element", name, row.name(item.name), *row.numbers(style.precision), row.verdict]) + "\n"
        for item in check.inputs
        for row in rows_of(item)
    ]
    return visible("".join(lines))
