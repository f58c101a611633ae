"""Parts of what a terminal shows: a head, blocks, and what checks and formulas add."""

from __future__ import annotations

from typing import Any

from rich.cells import cell_len
from rich.text import Text

from ..errors import visible
from ..results.checks import CheckReport
from . import Style
from .arrays import fitting
from .checks import basis, headline, taylor_lines
from .formulas import agreements


def head_of(result: Any, style: Style) -> list[Any]:
    """Return the value of the output, its lines under each other beside the name, and an empty line."""
    output = result.output or "value"
    left = cell_len(output) + 1
    value = fitting(result.value, style, False, style.size[0] - left)
    lines = [Text(" " * left) + line if i else line for i, line in enumerate(value.split("\n", allow_blank=True))]
    return [Text(f"{output} ", style="bold") + Text("\n").join(lines), Text("")]


def blocks_of(items: list[Any]) -> list[Any]:
    return [part for i, item in enumerate(items) for part in ([Text(""), item] if i else [item])]


def more_of(result: Any, style: Style) -> list[Any]:
    """Return what formulas and other answers say of a result, where that was asked for."""
    symbolic = getattr(result, "symbolic", ())
    found: list[Any] = [agreements(symbolic)] if symbolic else []
    for report in getattr(result, "witnesses", ()):
        found += [Text(""), check_text(report, style)]
    return found


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
