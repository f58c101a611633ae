"""A backward of our own Functions that uses what another call left behind."""

import numpy as np
import pytest

from gradcli.check.declare import check_gradient
from tests.tape.build import function

X = np.array([0.3, -1.2, 2.1])


@pytest.mark.parametrize("keeps", [True, False])
def test_what_is_kept_in_the_class_is_stale(keeps):
    @function(lambda ctx, g: 2 * g * (ctx.saved_tensors[0] if keeps else square.kept))
    def square(ctx, x):
        square.kept = x.detach()
        ctx.save_for_backward(x)
        return x**2

    report = check_gradient(square.apply, at={"x": X})
    assert report.verdict == ("pass" if keeps else "fail")
    assert [finding.kind for finding in report.diagnosis] == ([] if keeps else ["unsteady"])


def test_a_function_that_is_not_defined_elsewhere_is_not_accused():
    def f(x):
        if (x.detach().numpy() > 2.2).any():
            raise ValueError("out of range")
        return x**2

    assert check_gradient(f, at={"x": X}).verdict == "pass"


@pytest.mark.parametrize("options", [{}, {"fast": True}, {"calls": 100}])
def test_a_gradient_that_adds_up_over_calls_fails_by_elements_and_along_directions(options):
    total = np.zeros(3)

    def gradient(x):
        total[:] += 2 * x
        return total.copy()

    report = check_gradient(lambda x: x @ x, at={"x": np.array([1.0, 2, 4])}, grad=gradient, **options)
    assert report.verdict == "fail"
    assert report.diagnosis[0].kind == "accumulated"
