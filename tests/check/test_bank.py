"""The verdict on the bank: wrong gradients are caught, right ones are never accused."""

import pytest

from gradcli.check.run import Place, run_check
from gradcli.program.hand_written import HandWritten

from .bank import RIGHT_WITHIN, WRONG_FROM, coupled, elementwise, mistakes

RIGHT = [*elementwise(), *coupled()]
NAMED = {
    "sign": {"sign"},
    "factor": {"factor"},
    "zero": {"zero"},
    "rolled": {"rolled", "permuted", "swapped"},
    "nan": {"nan"},
}


def judge(case, grad):
    return run_check(lambda: HandWritten(case.f, {"x": case.x}, grad=grad), Place(case.name))


@pytest.fixture(scope="module")
def right():
    """Return reports on right gradients."""
    return [judge(case, case.grad) for case in RIGHT]


@pytest.fixture(scope="module")
def wrong():
    """Return (what, report) on every fourth mistake of every case, each kind as often."""
    chosen = [(c, *m) for k, c in enumerate(RIGHT) for j, m in enumerate(mistakes(c)) if (k + j) % 4 == 0]
    # rolled zeros and the like are no mistake
    return [(what, judge(c, grad)) for c, what, grad in chosen if c.relative_error(grad) >= WRONG_FROM]


@pytest.mark.parametrize("case", RIGHT, ids=lambda c: c.name)
def test_labels_of_right_gradients_are_proven(case):
    assert case.relative_error(case.grad) <= RIGHT_WITHIN


def test_the_bank_is_large(right, wrong):
    assert min(len(right), len(wrong)) >= 100


def test_no_right_gradient_is_called_wrong_and_hardly_any_is_left_open(right):
    others = [report for report in right if report.verdict != "pass"]
    assert {report.verdict for report in others} <= {"inconclusive"}, others
    assert len(others) <= 0.03 * len(right), others


def test_wrong_gradients_are_caught(wrong):
    missed = [(what, report) for what, report in wrong if report.verdict != "fail"]
    assert len(missed) <= 0.01 * len(wrong), missed


def test_the_mistake_is_named(wrong):
    caught = [(what, report) for what, report in wrong if what in NAMED and report.verdict == "fail"]
    unnamed = [(what, r) for what, r in caught if not {finding.kind for finding in r.diagnosis} & NAMED[what]]
    assert len(unnamed) <= 0.1 * len(caught), unnamed
