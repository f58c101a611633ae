"""What a pass promises: an error above the stated resolution is called wrong."""

import numpy as np
import pytest

from gradcli.check.options import Options
from gradcli.check.run import Place, run_check
from gradcli.check.subjects.hand_written import HandWritten

FUNCTIONS = [
    (lambda x: (x * x).sum(), lambda x: 2 * x, [1.0, 2.0], None),
    (lambda x: np.sin(3 * x).sum(), lambda x: 3 * np.cos(3 * x), [0.3, 2.0], None),
    (lambda x: np.exp(50 * x).sum(), lambda x: 50 * np.exp(50 * x), [0.3], None),
    (lambda x: (1e8 + x**3).sum(), lambda x: 3 * x**2, [1.5], None),
    (lambda x: (x**3).sum(), lambda x: 3 * x**2, [1.0, -4.0], (None, 0.0, 0.5)),
]


def report(f, grad, x, tolerances):
    return run_check(
        lambda: HandWritten(f, {"x": np.array(x)}, grad=grad), Place("f"), Options(tolerances=tolerances)
    )


@pytest.mark.parametrize(("f", "grad", "x", "tolerances"), FUNCTIONS)
def test_the_stated_resolution_is_true(f, grad, x, tolerances):
    right = report(f, grad, x, tolerances)
    seen = max(item.resolution for item in right.inputs)
    assert right.verdict == "pass"
    assert report(f, lambda x: grad(x) * (1 + 2 * seen), x, tolerances).verdict == "fail"


def test_small_errors_of_simple_functions_are_seen():
    f, grad, x, tolerances = FUNCTIONS[0]
    assert max(item.resolution for item in report(f, grad, x, tolerances).inputs) < 5e-10
    assert report(f, lambda x: grad(x) * (1 + 1e-9), x, tolerances).verdict == "fail"
