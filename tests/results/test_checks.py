"""What a report says about a check: the worst element, the reason in one line, the location, and rows."""

import pytest

from gradcli.results.base import document_of
from gradcli.results.checks import CheckList, CheckSummary, Direction, Evidence, Finding, ListedCheck, Taylor, TaylorRow
from tests.show.reports import FAILED, PASSED, RAISED, SIGN, SKIPPED, UNDECIDED, WRONG, checked, element, report


def test_a_check_cannot_pass_if_an_input_did_not():
    with pytest.raises(ValueError, match="an input did not"):
        report("pass", inputs=(checked(), WRONG))


def test_only_a_pass_is_true():
    assert [bool(x) for x in (PASSED, FAILED, UNDECIDED, RAISED, SKIPPED)] == [True, False, False, False, False]


ALONG = Evidence(10**6, 0, 23, (Direction(1.0, 1.0, 1e-9),))
ZERO = checked(worst=element(0.0, 0.0, 1e-12), resolution=None, max_rel_error=0.0)


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (report("pass", inputs=(checked(),)), "9.0 digits agree; a relative error above 1e-08 would have been seen"),
        (
            report("pass", inputs=(checked(resolution=1e-5, digits=5.0), checked("y"))),
            "5.0 digits agree; a relative error above 1e-05 would have been seen",  # of the least accurate input
        ),
        (
            report("pass", inputs=(checked(resolution=1e-3, of_largest=1e-7),)),
            "9.0 digits agree; errors above 1e-07 of the largest slope would have been seen; "
            "in the smallest elements, relative errors above 0.001",
        ),
        (
            report("pass", inputs=(checked(),), evidence=ALONG),
            "9.0 digits agree along random directions; "
            "in any element, an error above 1e-08 of the largest slope would have been seen",
        ),
        (report("pass", inputs=(ZERO,)), "the derivative is zero to within 1e-12"),
        (
            report("pass", inputs=(ZERO,), notes=("a kink: 0 lies between the slopes",)),
            "a kink: 0 lies between the slopes",
        ),
        (report("pass", inputs=(ZERO,), evidence=ALONG), "the derivative is zero along random directions"),
        (report("pass"), "nothing to check: there are no elements"),
        (report("pass", inputs=(checked(),), message="twice"), None),
    ],
)
def test_the_headline_of_a_pass(made, text):
    assert made.headline() == (text or f"{made.agreement()}; twice")


WHOLE = Finding("nonlinear", "the backward is not linear")


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (FAILED, "x[1]: claimed -4, numeric 2 ± 1e-09 (relative error 3)"),
        (report(inputs=(checked("y"), WRONG)), "x[1]: claimed -4, numeric 2 ± 1e-09 (relative error 3)"),
        (
            report(inputs=(checked("x", "fail"), checked("y", "fail", element(20.0)))),
            "y: claimed 20, numeric 2 ± 1e-09 (relative error 9)",  # the input that is off by more
        ),
        (
            report(inputs=(checked("x", "fail", element(4.0, 1e-9, 1e-9)),)),
            "x: claimed 4, numeric 1e-09 ± 1e-09",  # no relative error, since it may be 0
        ),
        (report(inputs=(checked(),), diagnosis=(WHOLE,), message="b(0) is not 0"), "b(0) is not 0"),
        (UNDECIDED, "noise of 1% hides the derivative"),
        (report("inconclusive"), "no reason was given"),
        (RAISED, "ValueError: bad\nvalue"),
    ],
)
def test_the_reason_for_a_verdict(made, text):
    assert made.headline() == text


@pytest.mark.parametrize(
    ("made", "rule"),
    [
        (FAILED, "sign"),
        (report(), "wrong-derivative"),
        (UNDECIDED, "undecided"),
        (RAISED, "error"),
        (report(diagnosis=(Finding("missing 1/N", ""), SIGN)), "missing-mean"),
        (report(diagnosis=(Finding("modes disagree", ""),)), "modes-disagree"),
    ],
)
def test_the_rule_of_a_check(made, rule):
    assert made.rule == rule


def test_the_location_is_that_of_the_wrong_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    claimed = {"claimed_at": (str(tmp_path / "g.py"), 7)}
    assert FAILED.wrong_at == ("f.py", 3)
    assert report(**claimed).wrong_at == ("g.py", 7)
    assert report("inconclusive", **claimed).wrong_at == ("f.py", 3)  # nothing is known to be wrong there
    blamed = report(**claimed, blame=f"the backward of Op: {tmp_path}/sub/op.py:12\nmore")
    assert blamed.wrong_at == ("sub/op.py", 12)


def test_lines_and_rows_of_a_check():
    taylor = Taylor((TaylorRow(0.1, 0.5, None, False), TaylorRow(0.01, 1e-17, 2.0, True)), 2.0)
    (head, *steps) = report(inputs=(WRONG,), taylor=taylor).lines()
    assert head[:5] == ("fail", "f", "f.py", "3", "0.250") and head[5](2).startswith("x[1]: claimed -4")
    assert steps == [("taylor", "f", "0.1", "0.5", ""), ("taylor", "f", "0.01", "1e-17", "rounding")]
    summary = CheckSummary("f.py", (FAILED, UNDECIDED), 1.0)
    rows = list(summary.rows())
    assert {len(row) for row in rows} == {len(summary.columns)}
    assert rows[1] == ("h", "f.py", "9", *[""] * 9, "inconclusive", "noise of 1% hides the derivative")


def test_a_summary_counts_each_verdict():
    every = (PASSED, FAILED, FAILED, UNDECIDED, RAISED, SKIPPED)
    summary = CheckSummary("t", every, 1.23456)
    assert summary.summary == {
        "passed": 1,
        "failed": 2,
        "inconclusive": 1,
        "errors": 1,
        "accepted": 0,
        "skipped": 1,
        "seconds": 1.2346,
    }
    assert summary.not_shown == every and summary._replace(shown=True).not_shown == ()
    assert list(summary._replace(shown=True).lines()) == [] and len(list(summary._replace(shown=True).rows())) == 6


def test_the_document_of_a_report():
    document = document_of(report(inputs=(WRONG,), diagnosis=(SIGN,), cross_checks=(("forward mode", 15.678),)))
    assert (document["verdict"], document["seconds"]) == ("fail", 0.25)
    assert document["cross_checks"] == {"forward mode": 15.68}
    assert "taylor" not in document and "found" not in document and document["hint"] is None
    assert document_of(document["inputs"]["x"])["counts"].wrong == 2
    assert document_of(SIGN) == {"rule": "sign", "kind": "sign", "text": SIGN.text, "input": "x"}
    assert document_of(WRONG.worst) == {
        "output": (),
        "index": (1,),
        "claimed": -4.0,
        "numeric": 2.0,
        "numeric_error": 1e-9,
    }


def test_a_list_of_checks_has_locations_that_editors_understand():
    listed = CheckList("t", (ListedCheck("f", "f.py", 3), ListedCheck("x**2", None, None)))
    assert list(listed.lines()) == [("f.py:3", "f"), ("x**2",)]
    assert list(listed.rows()) == [("f", "f.py", "3"), ("x**2", "", "")]
