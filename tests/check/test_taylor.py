"""The rate of the Taylor remainder; tests/cases/taylor.txt has the command."""

import numpy as np
import pytest

from gradcli import check_gradient

X = np.linspace(0.1, 1, 30)


def judged(factor, noise=0.0, x=X):
    """Return the report on a sum of exponentials whose gradient is off by a factor, and how often it was called."""
    made, rng = [], np.random.default_rng(0)

    def f(x):
        made.append(x)
        return np.exp(x).sum() * (1 + noise * rng.uniform(-1, 1))

    return check_gradient(f, lambda x: factor * np.exp(x), at={"x": x}, taylor=True), len(made)


def test_a_right_gradient_has_rate_two_for_eighteen_calls():
    report, calls = judged(1.0)
    assert (report.verdict, calls) == ("pass", 18)
    assert report.taylor.rate == pytest.approx(2, abs=0.01)
    rows = report.taylor.rows
    assert len(rows) == 8 and not any(row.spoilt for row in rows[:6])
    # the remainder of exp is h^2/2 sum(d^2 exp(x)) + O(h^3), so that it falls by 16 from step to step
    assert [rows[k].remainder / rows[k + 1].remainder for k in range(2, 5)] == pytest.approx([16] * 3, rel=0.02)


@pytest.mark.parametrize("factor", [1.01, -1.0, 0.0])
def test_a_wrong_gradient_has_rate_one_and_its_element_is_named(factor):
    report, _ = judged(factor)
    assert report.verdict == "fail"
    assert report.taylor.rate == pytest.approx(1, abs=0.15)
    assert report.inputs[0].worst.analytic == pytest.approx(factor * report.inputs[0].worst.numeric)


def test_rows_that_noise_spoils_are_left_out():
    report, _ = judged(1.0, noise=1e-8)
    rows = report.taylor.rows
    assert [row.spoilt for row in rows[:2]] == [False, False]
    assert all(row.spoilt and row.rate is None for row in rows[-3:])
    assert report.taylor.rate == pytest.approx(2, abs=0.1)


def test_a_linear_function_leaves_nothing_but_rounding():
    report = check_gradient(lambda x: 3 * x.sum(), lambda x: np.full_like(x, 3), at={"x": X}, taylor=True)
    assert (report.verdict, report.taylor.rate) == ("pass", None)
    assert all(row.spoilt for row in report.taylor.rows)
