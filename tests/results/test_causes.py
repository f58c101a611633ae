"""Names of findings: each has a page, and formats include the name and the location."""

import ast
import json
import re
import shlex
from pathlib import Path

import pytest

import gradcli
from gradcli.results.causes import causes
from gradcli.results.checks import Finding
from tests.command import gradcli as command

PACKAGE = Path(gradcli.__file__).parent
FOLDERS = ("check", "numeric", "explain", "guard")
MODULES = [
    *(path for folder in FOLDERS for path in PACKAGE.glob(f"{folder}/*.py")),
    PACKAGE / "claims/as_called.py",
    PACKAGE / "claims/adapters/torch_calls.py",
]
MAKERS = {"Finding": 0, "Observation": 0, "Hypothesis": 0, "moved": 0, "Difference": 0, "undecided": 2}
"""Functions that take the kind of a finding, with the position of this argument."""


def rule_of(kind):
    return Finding(kind, "").rule


def strings_in(path):
    """Yield each string in a module, and whether it is certainly the kind of a finding."""
    kinds = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            place = MAKERS.get(getattr(node.func, "id", getattr(node.func, "attr", "")), len(node.args))
            kinds.update(map(id, node.args[place : place + 1]))
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value, id(node) in kinds


def test_every_finding_has_a_page_and_every_page_a_finding():
    strings = [found for path in MODULES for found in strings_in(path)]
    certain = {rule_of(text) for text, is_kind in strings if is_kind}
    possible = certain | {rule_of(text) for text, _ in strings if re.fullmatch("[a-zA-Z1/ -]+", text)}
    pages = {name for name, page in causes().items() if page.group == "gradcheck"}
    assert len(certain) > 25
    assert certain <= pages
    assert pages - {rule_of("wrong derivative")} <= possible  # the name if no finding explains the mismatch


def test_pages_are_complete():
    for name, page in causes().items():
        assert re.fullmatch("[a-z0-9-]+", name)
        assert page.title and page.meaning and page.fix and page.wrong and page.right
        assert name in page.page and not page.fix.endswith(".")


PAGES = [page for name, page in causes().items() if name == page.name]
FORMULAS = [page for page in PAGES if page.wrong.startswith("gradcli gradcheck '")]


@pytest.mark.parametrize("page", FORMULAS, ids=lambda page: page.name)
def test_commands_on_pages_have_the_finding_and_are_corrected(page, tmp_path):
    wrong, right = (command(*shlex.split(line)[1:], "-f", "table", cwd=tmp_path) for line in (page.wrong, page.right))
    assert wrong.returncode in (1, 4) and any(f"[{name}]" in wrong.stdout for name in (page.name, *page.also))
    assert right.returncode == 0, right.stdout + right.stderr


def test_help_prints_pages_and_the_list(tmp_path):
    assert command("help", "reversed", cwd=tmp_path).stdout == causes()["rolled"].page
    listed = command("help", "findings", cwd=tmp_path).stdout.splitlines()
    assert command("help", "rules", cwd=tmp_path).stdout.splitlines() == listed  # as in earlier versions
    assert {line.split("\t")[0] for line in listed} == set(causes())


WRONG = """import numpy as np

def f(x):
    return (x**2).sum()

def g(x):
    return 2 * np.roll(x, 1)
"""


def test_formats_include_the_name_and_the_line_of_the_derivative(tmp_path):
    (tmp_path / "w.py").write_text(WRONG)

    def printed(format):
        return command("gradcheck", "w.py:f", "--grad", "g", "x=[1,2,4]", "-f", format, cwd=tmp_path).stdout

    (check,) = json.loads(printed("json"))["checks"]
    assert check["diagnosis"][0]["rule"] == "rolled" == check["diagnosis"][0]["kind"]
    assert "is the derivative for x[i-1] [rolled]" in printed("table")
    assert printed("concise").startswith("w.py:6:1: error: f: ") and printed("concise").endswith("[rolled]\n")
    assert printed("github").startswith("::error file=w.py,line=6,") and "[rolled]" in printed("github")
    (issue,) = json.loads(printed("gitlab"))
    assert issue["check_name"] == "gradient/rolled" and issue["location"]["lines"] == {"begin": 6}
    (log,) = json.loads(printed("sarif"))["runs"]
    (rule,) = log["tool"]["driver"]["rules"]
    assert rule["id"] == log["results"][0]["ruleId"] == "gradient/rolled" and "Fix: " in rule["help"]["text"]
    command("gradcheck", "w.py:f", "--grad", "g", "x=[1,2,4]", "--junit", "report.xml", cwd=tmp_path)
    assert 'line="6"' in (tmp_path / "report.xml").read_text()
    assert 'type="rolled"' in (tmp_path / "report.xml").read_text()
