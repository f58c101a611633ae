"""The elements that are decided only after a fail follow the same rules as the others."""

import numpy as np
import pytest

from gradcli import check_gradient


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
