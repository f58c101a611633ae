"""SARIF 2.1.0, as code scanning reads it: a rule per kind of mistake, a result per check that did not pass."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from ... import __version__
from ...results.checks import CheckReport, CheckSummary
from .. import Style, renders
from ..checks import LEVELS, headline
from ..json_document import json_line
from .tsv import render_checklist

renders("sarif")(render_checklist)
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


@renders()
def render_checksummary(result: CheckSummary, style: Style) -> str:
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
    """Return what is said of a check, at the line of its function."""
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
