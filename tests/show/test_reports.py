"""Formats of checks for CI and editors: what they say about each verdict, and what they escape."""

import json
import xml.etree.ElementTree as ElementTree

import pytest

from gradcli.results.checks import CheckSummary
from gradcli.results.formats import Style, render
from gradcli.show.reports import escape_command, fingerprint_of, relative_path

from .reports import FAILED, PASSED, RAISED, SIGN, SKIPPED, UNDECIDED, WRONG, report

EVERY = CheckSummary("t", (PASSED, FAILED, UNDECIDED, RAISED, SKIPPED), 1.5)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "f.py").write_text("\n\n    def f(x):\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shown(result, form):
    return render(result, form, Style())


REASON = "x[1]: claimed -4, numeric 2 ± 1e-09 (relative error 3)"


def test_github_marks_the_line_of_each_problem():
    first, second, third, counts = shown(EVERY, "github").splitlines()
    assert first == (f"::error file=f.py,line=3,title=gradcheck f::{REASON}%0Athe sign is wrong in all elements [sign]")
    assert second == "::warning file=f.py,line=9,title=gradcheck h::noise of 1%25 hides the derivative"
    assert third == '::error title=gradcheck k::ValueError: bad%0Avalue%0AFile "k.py", line 7'
    assert counts == "1 passed, 1 failed, 1 inconclusive, 1 error, 1 skipped in 1.50 s"
    assert shown(EVERY._replace(shown=True), "github") == ""


def test_github_commands_are_escaped():
    """As in actions/toolkit: % and line breaks in text, and in properties also colons and commas."""
    assert escape_command("50%\r\na,b:c") == "50%25%0D%0Aa,b:c"
    assert escape_command("50%\na,b:c", everything=True) == "50%25%0Aa%2Cb%3Ac"
    assert shown(report(name="x,y::z"), "github").startswith("::error file=f.py,line=3,title=gradcheck x%2Cy%3A%3Az::")


def test_concise_looks_like_messages_of_compilers():
    assert shown(EVERY, "concise").splitlines() == [
        f"f.py:3:5: error: f: {REASON}; the sign is wrong in all elements [sign]",  # column 5: after the blanks
        "f.py:9:1: warning: h: noise of 1% hides the derivative [undecided]",
        "k: error: k: ValueError: bad value [error]",
    ]
    assert shown(PASSED, "concise") == ""


def test_gitlab_has_an_issue_for_each_problem(folder):
    issues = json.loads(shown(EVERY, "gitlab"))
    assert [(x["check_name"], x["severity"], x["location"]) for x in issues] == [
        ("gradient/sign", "major", {"path": "f.py", "lines": {"begin": 3}}),
        ("gradient/undecided", "minor", {"path": "f.py", "lines": {"begin": 9}}),
        ("gradient/error", "major", {"path": "k", "lines": {"begin": 1}}),
    ]
    assert len({x["fingerprint"] for x in issues}) == 3


def test_a_fingerprint_does_not_depend_on_the_line():
    assert fingerprint_of(report(line=3)) == fingerprint_of(report("pass", line=99))
    others = [report(name="g"), report(file="g.py"), report(file=None)]
    assert len({fingerprint_of(x) for x in [report(), *others]}) == 4


def test_paths_are_relative_inside_the_folder(folder):
    assert (
        relative_path(str(folder / "sub/f.py"))
        == relative_path("sub/f.py")
        == relative_path("./sub/f.py")
        == "sub/f.py"
    )
    assert relative_path("../f.py") == str(folder.parent / "f.py")


def test_junit_has_a_case_for_each_check():
    (suite,) = ElementTree.fromstring(shown(EVERY, "junit").split("\n", 1)[1])
    counts = {"tests": "5", "failures": "1", "errors": "1", "skipped": "2", "time": "1.500"}
    assert counts.items() <= suite.attrib.items()
    kinds = {case.get("name"): [(part.tag, part.get("type")) for part in case] for case in suite}
    assert kinds == {
        **{"g": [], "f": [("failure", "sign")], "h": [("skipped", None)], "k": [("error", "error")]},
        "s": [("skipped", None)],
    }
    (failure,) = suite[1]
    assert (failure.get("message"), failure.text) == (REASON, "the sign is wrong in all elements [sign]")
    assert [case.get("line") for case in suite] == ["3", "3", "9", None, "3"]


def test_junit_has_no_characters_that_xml_forbids():
    odd = report("error", "a<b>\x00\x1b&\ud800", message="\x08\ufffe", trace="a\n\tb ]]>")
    text = shown(CheckSummary("t", (odd,), 0.0), "junit")
    ((case,),) = ElementTree.fromstring(text.encode().split(b"\n", 1)[1])
    assert (case.get("name"), case[0].get("message"), case[0].text) == ("a<b>&", "", "a\n\tb ]]>")


def test_sarif_has_rules_and_results(folder):
    log = json.loads(shown(EVERY, "sarif"))
    (run,) = log["runs"]
    assert log["version"] == "2.1.0"
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == ["gradient/error", "gradient/sign", "gradient/undecided"]
    assert [(x["level"], rules[x["ruleIndex"]]) for x in run["results"]] == [
        ("error", "gradient/sign"),
        ("warning", "gradient/undecided"),
        ("error", "gradient/error"),
    ]
    assert all(rules[x["ruleIndex"]] == x["ruleId"] for x in run["results"])
    first, _, raised = run["results"]
    assert first["locations"][0]["physicalLocation"] == {
        **{"artifactLocation": {"uri": "f.py", "uriBaseId": "SRCROOT"}, "region": {"startLine": 3}}
    }
    assert first["message"]["text"].splitlines()[-1] == "repeat with: gradcli gradcheck f.py:f x=1"
    assert "locations" not in raised
    assert run["originalUriBaseIds"]["SRCROOT"]["uri"] == folder.as_uri() + "/"


@pytest.mark.parametrize(
    ("file", "uri"), [("a b.py", "a%20b.py"), ("é.py", "%C3%A9.py"), ("/else/f.py", "file:///else/f.py")]
)
def test_locations_in_sarif_are_uris(file, uri):
    (result,) = json.loads(shown(CheckSummary("t", (report(file=file),), 0.0), "sarif"))["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


def test_a_repeated_finding_is_named_once():
    found = report(inputs=(WRONG,), diagnosis=(SIGN, SIGN))
    assert shown(found, "concise").count("[sign]") == 1
