"""The elements that are decided only after a fail follow the same rules as the others."""

import numpy as np
import pytest

from gradcli import check_gradient
from gradcli.claims.hand_written import HandWritten
from gradcli.explain.rest import estimate_rest
from gradcli.numeric.flat import Flat
from gradcli.numeric.rows import MOST_ROWS, ClaimedRows
from gradcli.numeric.sampler import Sampler
from gradcli.numeric.verdict import OPEN, PASS, Entries


@pytest.mark.parametrize(("strict", "wrong"), [(False, 1), (True, 2)])
def test_small_differences_beside_a_wrong_element_pass_unless_strict(strict, wrong):
    errors = np.ones(20)
    errors[3], errors[7] = 2.0, 1 + 1e-8
    x = np.linspace(0.1, 1.2, 20)
    report = check_gradient(np.sin, lambda x: np.diag(errors * np.cos(x)), at={"x": x}, strict=strict)
    counts = report.inputs[0].counts
    assert (report.verdict, counts.wrong, counts.undecided, counts.of) == ("fail", wrong, 0, 20)
    assert any("differs by 1e-08" in note for note in report.notes) is not strict


def test_an_element_on_a_staircase_stays_undecided_beside_a_wrong_one():
    def f(x):
        return np.where(np.arange(2) == 0, np.sin(x), np.round(x, 3))

    report = check_gradient(f, lambda x: np.diag([2 * np.cos(x[0]), 1.0]), at={"x": np.array([0.7, 1.3])})
    counts = report.inputs[0].counts
    assert (report.verdict, counts.wrong, counts.undecided) == ("fail", 1, 1)


@pytest.mark.parametrize("count", [2, MOST_ROWS + 1])
def test_all_elements_are_estimated_for_a_report(count):
    """Many outputs are combined: the rows are then weights times the Jacobian."""
    weights = np.random.default_rng(2).normal(size=(count, 3))
    x = np.array([0.4, -1.2, 2.0])
    jacobian = np.cos(weights * x) * weights
    f = lambda x: np.sin(weights * x).sum(axis=1)  # noqa: E731
    flat = Flat(HandWritten(f, {"x": x}, vjp=lambda g, x: g @ jacobian))
    entries = Entries(flat, Sampler(flat), ClaimedRows(flat, np.random.default_rng(0)))
    entries.state[0, 0] = PASS
    entries.value[0, 1] = 7.0
    estimate_rest(entries)
    assert entries.rows.single is (count == 2)
    combined = entries.rows.combine(jacobian.T).T
    known = np.ones(combined.shape, bool)
    known[0, 1] = False
    np.testing.assert_allclose(entries.value[known], combined[known], rtol=1e-6, atol=1e-8)
    assert entries.value[0, 1] == 7.0
    assert (entries.state[known] == PASS).all() and entries.state[0, 1] in (OPEN, PASS)
