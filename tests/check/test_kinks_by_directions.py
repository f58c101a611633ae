"""Kinks, jumps and flat places along directions: what a budget of calls may say of them."""

from typing import Any

import numpy as np
import pytest

from gradcli import check_gradient
from gradcli.show.checks import agreement

BUDGETS = (11, 12, 14, 20, 30, 40, 60, 100, 150, 200, 400, 1000)


def hinges(x: np.ndarray) -> float:
    return np.maximum(x, 0).sum() + x @ x


def hinges_gradient(x: np.ndarray, at_zero: float = 0.0) -> np.ndarray:
    return np.where(x == 0, at_zero, x > 0) + 2 * x


def peak(x: np.ndarray) -> float:
    return np.abs(x - 1).sum() + (x**3).sum()


MANY = np.where(np.arange(41) == 20, 1.0, np.linspace(0.2, 0.8, 41))
RIGHT = {
    "hinges": (hinges, hinges_gradient, [-1, 0, 2, 0.7]),
    "one hinge": (hinges, hinges_gradient, [0]),
    "two hinges": (hinges, hinges_gradient, [0, 1]),
    "largest of two": (np.max, lambda x: 1.0 * (np.arange(3) == 1), [1, 2, 2]),
    "absolute values": (lambda x: np.abs(x).sum(), np.sign, [-1, 0, 2]),
    "one kink among many": (peak, lambda x: np.sign(x - 1) + 3 * x**2, MANY),
    "one side of it": (peak, lambda x: np.where(x < 1, -1, 1) + 3 * x**2, MANY),
    "a jump beside the point": (lambda x: (np.mod(x, 1) ** 2).sum(), lambda x: 2 * np.mod(x, 1), [0.3, 2.9, -1.2]),
    "a kink beside the point": (
        lambda x: np.interp(x, [0, 1, 2, 4], [0, 1, 4, 2]).sum(),
        lambda x: np.where(x < 1, 1, np.where(x < 2, 3, -1.0)),
        [0.3, 1.5, 2.2, 3.999],
    ),
}


def judged(case: tuple, calls: int, seed: int = 0, grad: Any = None) -> Any:
    """Return the report on a function at its point within a budget."""
    f, right, x = case
    return check_gradient(f, at={"x": np.array(x, float)}, grad=grad or right, calls=calls, seed=seed)


@pytest.mark.parametrize("case", RIGHT.values(), ids=RIGHT)
def test_a_right_derivative_never_fails_and_passes_with_enough_calls(case):
    verdicts = {calls: {judged(case, calls, seed).verdict for seed in range(3)} for calls in BUDGETS}
    assert all("fail" not in found and "error" not in found for found in verdicts.values()), verdicts
    assert verdicts[1000] == {"pass"}


@pytest.mark.parametrize("claimed, verdict", [(0, "pass"), (0.5, "pass"), (1, "pass"), (-0.1, "fail"), (1.2, "fail")])
def test_a_claim_at_a_kink_is_held_against_both_sides(claimed, verdict):
    report = judged(RIGHT["hinges"], 200, grad=lambda x: hinges_gradient(x, claimed))
    assert report.verdict == verdict
    if verdict == "fail":
        worst = report.inputs[0].worst
        assert worst.place == (1,) and worst.sides == pytest.approx((0, 1))
        assert [finding.kind for finding in report.diagnosis] == ["single element"]


def test_a_claim_beyond_both_sides_is_found_along_directions():
    f, right, x = RIGHT["one side of it"]
    report = check_gradient(f, lambda x: right(x) + (x == 1), at={"x": x}, fast=True)
    assert (report.verdict, report.inputs[0].worst.place) == ("fail", (20,))


def test_a_kink_hides_no_other_wrong_element():
    wrong = lambda x: hinges_gradient(x) * (1 + 0.01 * (x == 2))  # noqa: E731
    report = judged(RIGHT["hinges"], 400, grad=wrong)
    assert report.verdict == "fail" and report.inputs[0].worst.place == (2,)


@pytest.mark.parametrize("calls", [12, 50, 400])
def test_zeros_at_a_minimum_pass_and_say_so(calls):
    f, zeros = lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum(), np.zeros_like
    report = judged((f, zeros, np.ones(6)), calls)
    assert report.verdict == "pass"
    assert agreement(report) == "the derivative is zero along random directions"
    assert judged((f, zeros, np.ones(6) + 1e-4), calls).verdict == ("inconclusive" if calls == 12 else "fail")


def test_a_budget_that_was_averaged_away_promises_no_number():
    report = judged((lambda x: (np.floor(x) + x**2).sum(), lambda x: 2 * x, [0.5, 3.0001, -1.7]), 3000)
    assert report.verdict == "inconclusive" and report.evidence.needed is None
