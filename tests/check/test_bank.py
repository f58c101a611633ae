"""Verdicts on the bank and on random functions: wrong gradients fail, right ones never do."""

import mpmath as mp
import numpy as np
import pytest

from gradcli import check_gradient
from gradcli.check.claim_check import Place, run_check
from gradcli.claims.hand_written import HandWritten

from ..bank.atoms import ATOMS
from ..bank.functions import RIGHT_WITHIN, WRONG_FROM, coupled, elementwise, mistakes
from ..bank.hunt import ABSURD, NAMES, Function, claims, is_honest, passes, relative_gap

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


@pytest.fixture(scope="module", params=[18, pytest.param(4, marks=pytest.mark.nightly)])
def wrong(request):
    """Return (mistake, report) for every param-th mistake of all cases, with all kinds equally frequent."""
    chosen = [(c, *m) for k, c in enumerate(RIGHT) for j, m in enumerate(mistakes(c)) if (k + j) % request.param == 0]
    # some are right after all, such as rolled zeros
    return [(what, judge(c, grad)) for c, what, grad in chosen if c.relative_error(grad) >= WRONG_FROM]


@pytest.mark.parametrize("case", RIGHT, ids=lambda c: c.name)
def test_right_gradients_match_high_precision(case):
    assert case.relative_error(case.grad) <= RIGHT_WITHIN


def test_right_gradients_never_fail_and_nearly_all_pass(right):
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


FUNCTIONS, CHUNKS = 500, 80


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_of_the_atoms_match_mpmath(name):
    atom = ATOMS[name]
    low, high = atom.span
    for part in (0.03, 0.21, 0.48, 0.77, 0.98):
        t = low + part * (high - low)
        with mp.workdps(40):
            true = mp.diff(atom.exact or atom.value, mp.mpf(t), h=mp.mpf(10) ** -15)
        steep = 1.0 if name == "wave" else 0.0  # 30 * t is rounded
        assert abs(float(atom.slope(t)) - float(true)) <= 4e-14 * max(abs(float(true)), 10 * steep), t


def report(function, claimed):
    return run_check(lambda: HandWritten(function.value, {"x": function.x}, grad=lambda x: claimed), Place("f"))


@pytest.mark.parametrize("chunk", [0, 1, *(pytest.param(k, marks=pytest.mark.nightly) for k in range(2, CHUNKS))])
def test_verdicts_on_random_functions(chunk):
    for k in range(chunk, FUNCTIONS, CHUNKS):
        rng = np.random.default_rng([16, k])
        function = Function(rng)
        with np.errstate(all="ignore"):
            found = claims(function, rng)
        right = found.pop("right")
        assert report(function, right).verdict != "fail", (k, function)
        what = list(found)[k % len(found)]
        checked = report(function, found[what])
        if checked.verdict == "pass":
            honest = is_honest(checked, relative_gap(found[what], right))
            assert what not in ABSURD[:4] and honest, (k, what, function)


@pytest.mark.parametrize("chunk", [0, *(pytest.param(k, marks=pytest.mark.nightly) for k in range(1, CHUNKS))])
def test_verdicts_on_backward_passes_of_random_functions(chunk):
    for k in range(chunk, FUNCTIONS, CHUNKS):
        function = Function(np.random.default_rng([17, k]))
        with np.errstate(all="ignore"):
            found = passes(function)
        for what, (label, claim) in found.items():
            report = check_gradient(function.value, at={"x": function.x}, **claim)
            passed = report.verdict == "pass" and not is_honest(report, np.inf)
            assert report.verdict != "fail" if label == "right" else not passed, (k, what, function)
