"""Checks for CI and editors: GitHub annotations, GitLab code quality, JUnit XML, SARIF 2.1.0, concise lines."""

from __future__ import annotations

import hashlib
import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .. import __version__
from ..errors import lines_of_file, visible
from ..results.causes import causes
from ..results.checks import CheckList, CheckReport, CheckSummary
from ..results.formats import Style
from ..results.patches import Patch
from ..results.repairs import FixReport
from .checks import SEVERITIES, reasons, summary_line
from .data import json_line, write_tsv


def escape_command(text: str, everything: bool = False) -> str:
    text = visible(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))
    return text.replace(":", "%3A").replace(",", "%2C") if everything else text


def annotate_check(check: CheckReport, style: Style) -> str:
    if check.verdict not in SEVERITIES:
        return ""
    file, line = check.wrong_at
    place = f"file={escape_command(os.path.normpath(file), True)}," if file else ""
    place += f"line={line}," if line else ""
    lines = [*reasons(check, style.precision), *([check.blame] if check.blame else [])]
    lines += [*(check.trace or "").splitlines(), *([check.found.text] if check.found else [])]
    title = escape_command("gradcheck " + check.name, True)
    return f"::{SEVERITIES[check.verdict]} {place}title={title}::{escape_command(chr(10).join(lines))}\n"


def annotate_checks(result: CheckSummary, style: Style) -> str:
    counts = "" if result.shown else summary_line(result) + "\n"
    return "".join(annotate_check(check, style) for check in result.not_shown) + counts


def write_concise(check: CheckReport, style: Style) -> str:
    """Return FILE:LINE:COLUMN: error: TEXT [RULE], as compilers do; "" for a check that passed."""
    if check.verdict not in SEVERITIES:
        return ""
    place = check.name
    file, line = check.wrong_at
    if file:
        start = "".join(lines_of_file(file)[(line or 1) - 1 :][:1])
        place = f"{file}:{line or 1}:{len(start) - len(start.lstrip()) + 1}"
    text = visible(f"{place}: {SEVERITIES[check.verdict]}: {check_line(check, style)}")
    return text + "\n" if f"[{check.rule}]" in text else f"{text} [{check.rule}]\n"


def write_concise_lines(result: CheckSummary, style: Style) -> str:
    return "".join(write_concise(check, style) for check in result.not_shown)


def check_line(check: CheckReport, style: Style) -> str:
    """Return the name of a check, the reason for its verdict, and its findings."""
    first, *others = reasons(check, style.precision)
    parts = [first, *(check.blame or "").splitlines()[:1], *others]
    return " ".join(f"{check.name}: {'; '.join(parts)}".split())


def write_gitlab(result: CheckSummary, style: Style) -> str:
    issues = [
        {
            "description": check_line(check, style),
            "check_name": f"gradient/{check.rule}",
            "fingerprint": fingerprint_of(check),
            "severity": "major" if SEVERITIES[check.verdict] == "error" else "minor",
            "location": {
                "path": relative_path(check.wrong_at[0] or check.name),
                "lines": {"begin": check.wrong_at[1] or 1},
            },
        }
        for check in result.checks
        if check.verdict in SEVERITIES
    ]
    return json_line(issues)


def relative_path(file: str) -> str:
    """Return a path relative to the current folder if it is inside, else an absolute one."""
    path = Path(os.path.abspath(file))
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def fingerprint_of(check: CheckReport) -> str:
    """Return an id that is the same in each run: it depends on the file and the name, not on the line."""
    return hashlib.sha256(f"{check.file or ''}\0{check.name}".encode(errors="backslashreplace")).hexdigest()[:32]


FORBIDDEN = dict.fromkeys({*range(32), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF} - {9, 10})


def write_junit(result: CheckSummary, style: Style) -> str:
    """Return one test case per check; inconclusive ones count as skipped."""
    skipped = result.count("inconclusive") + result.count("skipped")
    counts = {"tests": len(result.checks), "failures": result.count("fail"), "errors": result.count("error")}
    texts = {name: str(count) for name, count in {**counts, "skipped": skipped}.items()}
    suite = ElementTree.Element("testsuite", {"name": "gradcheck", **texts, "time": f"{result.seconds:.3f}"})
    for check in result.checks:
        facts = {"classname": xml_text(check.file or "gradcheck"), "name": xml_text(check.name)}
        case = ElementTree.SubElement(suite, "testcase", {**facts, "time": f"{check.seconds:.3f}"})
        file, line = check.wrong_at
        if file:
            case.set("file", xml_text(file))
        if line:
            case.set("line", str(line))
        tag = {"fail": "failure", "error": "error", "inconclusive": "skipped", "skipped": "skipped"}.get(check.verdict)
        if tag is not None:
            first, *others = reasons(check)
            part = ElementTree.SubElement(case, tag, message=xml_text(first))
            if tag in ("failure", "error"):
                part.set("type", check.rule)
            part.text = xml_text("\n".join([*others, check.blame or "", check.trace or ""]).strip())
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def xml_text(text: str) -> str:
    return text.translate(FORBIDDEN)


SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def write_sarif(result: CheckSummary, style: Style) -> str:
    reported = [check for check in result.checks if check.verdict in SEVERITIES]
    rules = sorted({check.rule for check in reported})
    described = [sarif_rule(rule) for rule in rules]
    driver = {"name": "gradcli", "version": __version__, "rules": described}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"uri": Path.cwd().as_uri() + "/"}},
        "results": [result_of(check, rules) for check in reported],
    }
    return json_line({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]})


def sarif_rule(rule: str) -> dict[str, Any]:
    page = causes().get(rule)
    if page is None:
        return {"id": f"gradient/{rule}", "shortDescription": {"text": "The check raised an error."}}
    return {"id": f"gradient/{rule}", "shortDescription": {"text": page.title}, "help": {"text": page.page}}


def result_of(check: CheckReport, rules: list[str]) -> dict[str, Any]:
    first, *others = reasons(check)
    lines = [f"{check.name}: {first}", *others, *([check.blame] if check.blame else [])]
    if check.replay:
        lines.append(f"repeat with: {check.replay}")
    result: dict[str, Any] = {
        "ruleId": f"gradient/{check.rule}",
        "ruleIndex": rules.index(check.rule),
        "level": SEVERITIES[check.verdict],
        "message": {"text": "\n".join(dict.fromkeys(lines))},
        "partialFingerprints": {"gradcliCheck/v1": fingerprint_of(check)},
    }
    file, line = check.wrong_at
    if file:
        place: dict[str, Any] = {"artifactLocation": address_of(file)}
        if line:
            place["region"] = {"startLine": line}
        result["locations"] = [{"physicalLocation": place}]
    if check.patch is not None:
        result["fixes"] = [fix_of(check.patch)]
    return result


def address_of(file: str) -> dict[str, str]:
    """Return the place of a file: relative, as code scanning expects, if it is inside the current folder."""
    path = Path(relative_path(file))
    return {"uri": path.as_uri()} if path.is_absolute() else {"uri": quote(bytes(path)), "uriBaseId": "SRCROOT"}


def fix_of(patch: Patch) -> dict[str, Any]:
    replacements = [
        {
            "deletedRegion": {
                "startLine": r.line, "startColumn": r.column, "endLine": r.end_line, "endColumn": r.end_column
            },
            "insertedContent": {"text": r.text},
        }
        for r in patch.replacements
    ]  # fmt: skip
    change = {"artifactLocation": address_of(patch.path), "replacements": replacements}
    return {"description": {"text": patch.summary}, "artifactChanges": [change]}


def write_diff(result: FixReport, style: Style) -> str:
    return result.diff


WRITERS = {
    "diff": {FixReport: write_diff},
    "github": {CheckReport: annotate_check, CheckSummary: annotate_checks, CheckList: write_tsv},
    "sarif": {CheckSummary: write_sarif, CheckList: write_tsv},
    "junit": {CheckSummary: write_junit},
    "concise": {CheckReport: write_concise, CheckSummary: write_concise_lines, CheckList: write_tsv},
    "gitlab": {CheckSummary: write_gitlab, CheckList: write_tsv},
}
