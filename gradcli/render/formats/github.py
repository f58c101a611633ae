"""GitHub Actions: one annotation per check that did not pass."""

from __future__ import annotations

from ...errors import visible
from ...results.checks import CheckReport, CheckSummary, CheckTotal
from .. import Style, renders
from ..checks import LEVELS, headline, summary_line
from .tsv import render_checklist

renders("github")(render_checklist)


def escape_command(text: str, everything: bool = False) -> str:
    """Return text as workflow commands want it."""
    text = visible(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))
    return text.replace(":", "%3A").replace(",", "%2C") if everything else text


@renders()
def render_checkreport(check: CheckReport, style: Style) -> str:
    """Return the annotation of one check, where it has one."""
    if check.verdict not in LEVELS:
        return ""
    place = f"file={escape_command(check.file, True)}," if check.file else ""
    place += f"line={check.line}," if check.line else ""
    lines = [
        headline(check, style.precision),
        *(finding.text for finding in check.diagnosis),
        *check.trace.splitlines(),
    ]
    lines += [f"found: {check.found.line}"] if check.found else []
    title = escape_command("gradcheck " + check.name, True)
    return f"::{LEVELS[check.verdict]} {place}title={title}::{escape_command(chr(10).join(lines))}\n"


@renders()
def render_checksummary(result: CheckSummary, style: Style) -> str:
    reports = "".join(render_checkreport(check, style) for check in result.checks)
    return reports + render_checktotal(CheckTotal(result), style)


@renders()
def render_checktotal(result: CheckTotal, style: Style) -> str:
    return summary_line(result.summary) + "\n"
