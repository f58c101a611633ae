"""JUnit XML, as CI systems read it."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from ...results.checks import CheckSummary
from .. import Style, renders
from ..checks import headline

FORBIDDEN = dict.fromkeys({*range(32), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF} - {9, 10})


@renders()
def render_checksummary(result: CheckSummary, style: Style) -> str:
    """Return one test case per check; inconclusive ones count as skipped."""
    suite = ElementTree.Element(
        "testsuite",
        name="gradcheck",
        tests=str(len(result.checks)),
        failures=str(result.count("fail")),
        errors=str(result.count("error")),
        skipped=str(result.count("inconclusive")),
        time=f"{result.seconds:.3f}",
    )
    for check in result.checks:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=printable(check.file or "gradcheck"),
            name=printable(check.name),
            time=f"{check.seconds:.3f}",
        )
        if check.file:
            case.set("file", printable(check.file))
        if check.line:
            case.set("line", str(check.line))
        tag = {"fail": "failure", "error": "error", "inconclusive": "skipped"}.get(check.verdict)
        if tag is not None:
            part = ElementTree.SubElement(case, tag, message=printable(headline(check)))
            part.text = printable("\n".join([*(finding.text for finding in check.diagnosis), check.trace]).rstrip())
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def printable(text: str) -> str:
    """Return text without the control characters that XML forbids."""
    return text.translate(FORBIDDEN)
