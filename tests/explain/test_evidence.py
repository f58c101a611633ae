"""When a hypothesis or a statement is confirmed, and the other points at which it is tried."""

from types import SimpleNamespace

import numpy as np
import pytest

from gradcli import check_gradient
from gradcli.explain.block import InputBlock
from gradcli.explain.evidence import MOST_POINTS, DiagnosisEvidence, DiagnosisStatement, Hypothesis, multiplied_input

RIGHT = np.array([1.0, -2.0, 0.5])


def block(times):
    """Return a block with a claim that is this multiple of the derivative; nan if the derivative is not known."""
    known = np.isfinite(times)
    flat = SimpleNamespace(claim=SimpleNamespace(wrt=["x"], at={}), arrays=[RIGHT], parts=[RIGHT], f0=np.zeros(1))
    flat.claim_unit = 1e-16
    numbers = (RIGHT[None], np.full((1, 3), 1e-9)) if known else (np.full((1, 3), np.nan), np.full((1, 3), np.inf))
    return InputBlock(flat, 0, (times if known else 2) * RIGHT[None], numbers)


def confirmed(hypothesis, *others):
    """Report whether a hypothesis about a doubled gradient is confirmed by other points."""
    here = block(2)
    return DiagnosisEvidence([here], None, {0: [block(times) for times in others]}).confirms(here, hypothesis)


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([2], True),
        ([2, 2], True),
        ([2, 3], False),
        ([3], False),
        ([2, np.nan], True),
        ([np.nan], False),
        ([], False),
        ([0], False),  # there, the corrected claim is 0, too
    ],
)
def test_a_hypothesis_must_hold_at_another_point_and_must_not_fail_at_any(others, expected):
    assert confirmed(Hypothesis("factor", "", lambda at: at.a / 2), *others) is expected
    assert not confirmed(Hypothesis("factor", "", lambda at: at.a / 3), *others)


@pytest.mark.parametrize(("fitted", "others", "expected"), [(1, 1, False), (1, 2, True), (2, 1, True), (0, 1, True)])
def test_a_constant_fitted_to_few_numbers_needs_more_points(fitted, others, expected):
    hypothesis = Hypothesis("factor", "", lambda at: at.a / 2, fitted=fitted)
    assert confirmed(hypothesis, *[2] * others) is expected


@pytest.mark.parametrize(("made", "outputs"), [(10, 1), (10, 2), (5000, 2)])
def test_calls_are_left_for_other_points(made, outputs):
    """A check of one output makes no more calls than the contract allows, whatever is left to explain."""
    claim = SimpleNamespace(budget=SimpleNamespace(made=made, left=np.inf))
    place = SimpleNamespace(flat=SimpleNamespace(claim=claim, f0=np.zeros(outputs)))
    evidence = DiagnosisEvidence([block(2)] * 4, place)
    for here in evidence.here:
        here.wrong[:] = True
    assert evidence.left() >= MOST_POINTS * evidence.cost


def test_a_wrong_sign_is_confirmed_by_the_only_other_point_at_which_the_function_has_a_value():
    f = lambda x: np.sin(x) if 2.9 < x < 3.03 else np.nan  # noqa: E731
    assert check_gradient(f, np.cos, {"x": 3.0}).verdict == "pass"
    (finding,) = check_gradient(f, lambda x: -np.cos(x), {"x": 3.0}).diagnosis
    assert finding.kind == "sign"


def test_a_point_where_the_claim_is_right_confirms_nothing():
    fixed = Hypothesis("factor", "", lambda at: np.broadcast_to(RIGHT, at.a.shape))
    assert confirmed(fixed, 3)
    assert not confirmed(fixed, 1)


def test_conditions_and_statements_need_a_point_with_the_elements_in_another_order():
    assert not confirmed(Hypothesis("mask", "", lambda at: at.a / 2, by_value=True), 2, 2)
    assert not confirmed(DiagnosisStatement("mask", "", lambda at: True), 2, 2)


def test_an_input_of_zeros_moves_when_it_is_multiplied():
    np.testing.assert_array_equal(multiplied_input(np.array([2.0, 0, -4]), 0.125), [0.25, 0.5, -0.5])
    np.testing.assert_array_equal(multiplied_input(np.zeros(2), -1.0), [-1, -1])
    assert multiplied_input(np.zeros(2, np.float32), -1.0).dtype == np.float32


@pytest.mark.parametrize(("jitter", "free"), [((), ["x", "strain"]), (("x",), ["x"])])
def test_only_inputs_that_may_move_do(jitter, free):
    claim = SimpleNamespace(jitter=jitter, budget=SimpleNamespace(made=0))
    place = SimpleNamespace(flat=SimpleNamespace(claim=claim, f0=np.zeros(1)))
    assert [*DiagnosisEvidence([], place).free({"x": RIGHT, "strain": RIGHT})] == free
