"""The names of findings: what the code can produce has a page, and formats carry the name and the place."""

import ast
import json
import re
from pathlib import Path

import gradcli
from gradcli.check import run
from gradcli.show.causes import causes
from gradcli.show.check_results import Finding
from tests.command import gradcli as command

CHECK = Path(gradcli.__file__).parent / "check"


def kinds_in(path):
    """Yield the kinds of findings that a module names: in calls of Finding, and as the first of a pair with words."""
    for node in ast.walk(ast.parse(path.read_text())):
        made = isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("Finding", "Quantity")
        if made and isinstance(node.args[0], ast.Constant) and node.func.id == "Finding":
            yield node.args[0].value
        if made and node.func.id == "Quantity" and len(node.args) > 2 and isinstance(node.args[2], ast.Constant):
            yield node.args[2].value
        pair = node.value if isinstance(node, ast.Return | ast.Yield) else None
        in_patterns = path.name in ("diagnose.py", "factors.py")
        if in_patterns and isinstance(pair, ast.Tuple) and isinstance(pair.elts[0], ast.Constant):
            yield pair.elts[0].value


def test_every_finding_has_a_page_and_every_page_a_finding():
    kinds = {kind for path in CHECK.glob("*.py") for kind in kinds_in(path) if isinstance(kind, str)}
    kinds |= {*run.REASONS.values(), "nan", "infinite", "undecided", "wrong derivative"} - {"product"}
    rules = {Finding(kind, "").rule for kind in kinds if re.fullmatch(r"[a-zA-Z1/ -]+", kind)}
    pages = {name for name, page in causes().items() if page.group == "gradcheck"}
    assert rules - {"product"} == pages


def test_pages_are_complete():
    for name, page in causes().items():
        assert re.fullmatch("[a-z0-9-]+", name)
        assert page.title and page.meaning and page.fix and page.wrong and page.right
        assert name in page.page and not page.fix.endswith(".")


def test_help_prints_pages_and_the_list(tmp_path):
    assert command("help", "reversed", cwd=tmp_path).stdout == causes()["rolled"].page
    listed = command("help", "rules", cwd=tmp_path).stdout.splitlines()
    assert {line.split("\t")[0] for line in listed} == set(causes())


WRONG = """import numpy as np

def f(x):
    return (x**2).sum()

def g(x):
    return 2 * np.roll(x, 1)
"""


def test_formats_carry_the_name_and_the_line_of_the_derivative(tmp_path):
    (tmp_path / "w.py").write_text(WRONG)

    def printed(format):
        return command("gradcheck", "w.py:f", "--grad", "g", "x=[1,2,4]", "-f", format, cwd=tmp_path).stdout

    (check,) = json.loads(printed("json"))["checks"]
    assert check["diagnosis"][0]["rule"] == "rolled" == check["diagnosis"][0]["kind"]
    assert "along axis 0 [rolled]" in printed("table")
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
