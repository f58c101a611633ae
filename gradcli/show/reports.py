"""Checks as CI reads them: annotations of GitHub Actions, JUnit XML, SARIF 2.1.0."""

from __future__ import annotations

import hashlib
import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import visible
from . import Style
from .check_results import CheckList, CheckReport, CheckSummary
from .checks import LEVELS, headline, summary_line
from .data import json_line, write_tsv


def escape_command(text: str, everything: bool = False) -> str:
    text = visible(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))
    return text.replace(":", "%3A").replace(",", "%2C") if everything else text


def annotate_check(check: CheckReport, style: Style) -> str:
    if check.verdict not in LEVELS:
        return ""
    place = f"file={escape_command(os.path.normpath(check.file), True)}," if check.file else ""
    place += f"line={check.line}," if check.line else ""
    lines = [
        headline(check, style.precision),
        *(finding.text for finding in check.diagnosis),
        *check.trace.splitlines(),
    ]
    lines += [f"found: {check.found.line}"] if check.found else []
    title = escape_command("gradcheck " + check.name, True)
    return f"::{LEVELS[check.verdict]} {place}title={title}::{escape_command(chr(10).join(lines))}\n"


def annotate_checks(result: CheckSummary, style: Style) -> str:
    return "".join(annotate_check(check, style) for check in result.untold) + summary_line(result) + "\n"


FORBIDDEN = dict.fromkeys({*range(32), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF} - {9, 10})


def write_junit(result: CheckSummary, style: Style) -> str:
    """Return one test case per check; inconclusive ones count as skipped, too."""
    suite = ElementTree.Element(
        "testsuite",
        name="gradcheck",
        tests=str(len(result.checks)),
        failures=str(result.count("fail")),
        errors=str(result.count("error")),
        skipped=str(result.count("inconclusive") + result.count("skipped")),
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
        tag = {"fail": "failure", "error": "error", "inconclusive": "skipped", "skipped": "skipped"}.get(check.verdict)
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


SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def write_sarif(result: CheckSummary, style: Style) -> str:
    reported = [check for check in result.checks if check.verdict in LEVELS]
    rules = sorted({rule_of(check) for check in reported})
    driver = {"name": "gradcli", "version": __version__, "rules": [describe_rule(rule) for rule in rules]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"uri": Path.cwd().as_uri() + "/"}},
        "results": [result_of(check, rules) for check in reported],
    }
    return json_line({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def rule_of(check: CheckReport) -> str:
    """Return the stable name of what is wrong: the first diagnosis, else the verdict."""
    kind = check.diagnosis[0].kind if check.diagnosis else check.verdict
    return "gradient/" + kind.replace(" ", "-")


def describe_rule(rule: str) -> dict[str, Any]:
    kind = rule.partition("/")[2].replace("-", " ")
    text = {
        "fail": "The derivative is wrong.",
        "error": "The check raised an error.",
        "inconclusive": "The check could not decide.",
    }.get(kind, f"The derivative is wrong: {kind}.")
    return {"id": rule, "shortDescription": {"text": text}}


def result_of(check: CheckReport, rules: list[str]) -> dict[str, Any]:
    rule = rule_of(check)
    lines = [f"{check.name}: {headline(check)}", *(finding.text for finding in check.diagnosis)]
    if check.replay:
        lines.append(f"repeat with: {check.replay}")
    name = f"{check.file or ''}\0{check.name}".encode(errors="backslashreplace")
    result: dict[str, Any] = {
        "ruleId": rule,
        "ruleIndex": rules.index(rule),
        "level": LEVELS[check.verdict],
        "message": {"text": "\n".join(dict.fromkeys(lines))},
        "partialFingerprints": {"gradcliCheck/v1": hashlib.sha256(name).hexdigest()[:32]},
    }
    if check.file:
        place: dict[str, Any] = {"artifactLocation": artifact(check.file)}
        if check.line:
            place["region"] = {"startLine": check.line}
        result["locations"] = [{"physicalLocation": place}]
    return result


def artifact(file: str) -> dict[str, str]:
    """Return a file's address: below the current folder relative to it, as code scanning wants it."""
    from urllib.parse import quote

    path = Path(file).absolute()
    if path.is_relative_to(Path.cwd()):
        return {"uri": quote(bytes(path.relative_to(Path.cwd()))), "uriBaseId": "SRCROOT"}
    return {"uri": path.as_uri()}


WRITERS = {
    "github": {CheckReport: annotate_check, CheckSummary: annotate_checks, CheckList: write_tsv},
    "sarif": {CheckSummary: write_sarif, CheckList: write_tsv},
    "junit": {CheckSummary: write_junit},
}
