"""Parts of what a terminal shows: a head, blocks, and what checks and formulas add."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.cells import cell_len
from rich.text import Text

from ..errors import visible
from . import Style
from .arrays import elide_to_width
from .check_results import CheckReport, InputCheck
from .checks import ElementRow, basis, headline, rows_of, taylor_lines
from .formulas import agreements


def head_of(result: Any, style: Style) -> list[Any]:
    """Return the value of the output, its lines under each other beside the name, and an empty line."""
    output = result.output or "value"
    left = cell_len(output) + 1
    value = elide_to_width(result.value, style, False, style.size[0] - left)
    lines = [Text(" " * left) + line if i else line for i, line in enumerate(value.split("\n", allow_blank=True))]
    return [Text(f"{output} ", style="bold") + Text("\n").join(lines), Text("")]


def blocks_of(items: list[Any]) -> list[Any]:
    return [part for i, item in enumerate(items) for part in ([Text(""), item] if i else [item])]


def more_of(result: Any, style: Style) -> list[Any]:
    symbolic = getattr(result, "symbolic", ())
    parts: list[Any] = [agreements(symbolic)] if symbolic else []
    for report in getattr(result, "witnesses", ()):
        parts += [Text(""), check_text(report, style)]
    return parts


MARKS = {"pass": ("✓", "+", "green"), "fail": ("✗", "x", "bold red"), "inconclusive": ("?", "?", "yellow")}


def check_text(check: CheckReport, style: Style) -> Text:
    """Return one check: its verdict and reason, and what is known of a fail."""
    mark, plain, colour = MARKS.get(check.verdict, ("!", "!", "bold magenta"))
    text = Text().append(f"{mark if style.unicode else plain} {check.verdict:<12} ", colour)
    text.append(visible(check.name), "bold")
    if check.file and check.line:
        text.append(f"  {visible(check.file)}:{check.line}", "dim")
    indent = "\n    "
    reason = headline(check, style.precision)
    reason = reason if style.unicode else reason.replace("±", "+-")
    text.append(indent + visible(reason).replace("\n", indent), "dim" if check.verdict == "pass" else "")
    if check.verdict == "pass" and basis(check):
        text.append(indent + basis(check), "dim")
    for finding in (f for f in check.diagnosis if f.text != reason):
        text.append(indent + finding.text, "yellow")
    for line in taylor_lines(check.taylor) if check.taylor is not None else ():
        text.append(indent + line, "dim")
    if len(check.witnesses) > 1:
        words = [f"{name} {digits:.1f}" for name, digits in check.witnesses]
        text.append(indent + "digits that agree with reverse mode: " + ", ".join(words), "dim")
    for note in (n for n in check.notes if n not in reason):
        text.append(indent + "note: " + note, "dim")
    if check.found is not None:
        text.append(indent + "found: " + visible(check.found.line), "bold")
    if check.hint:
        text.append(indent + "hint: " + visible(check.hint), "cyan")
    if check.trace:
        text.append(indent + visible(check.trace).replace("\n", indent))
    if check.blame:
        text.append(indent + check.blame.replace("\n", indent))
    return text


def again_text(check: CheckReport) -> list[Text]:
    """Return the command that repeats a check that failed, in one line however long: it is to be copied."""
    if not check.replay or check.verdict != "fail":
        return []
    return [Text(f"    again: {visible(check.replay)}", "cyan", no_wrap=True, overflow="ignore")]


COLOURS = {"fail": "bold red", "inconclusive": "yellow", "hidden": "dim", "pass": ""}
WORDS = {"pass": "ok", "fail": "FAIL", "inconclusive": "inconclusive", "hidden": "not decidable"}


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
