"""What a declared check may not ask for, an error of that check and of no other; and what a check loads."""

import numpy as np

from gradcli.check.declare import check_gradient


def test_good_arguments_are_taken():
    at = {"x": (np.int64(2), 3)}
    report = check_gradient(
        lambda x: np.sum(x * x), lambda x: 2 * x, at, seed=np.int64(3), samples=np.int64(2), wrt=("x",), order=1
    )
    assert report.verdict == "pass"
    assert check_gradient(lambda x: x * x, lambda x: 2 * x, 2.0, rtol=np.float32(1e-3), atol=0, eps=1e-6)


def test_a_backward_that_changes_its_cotangent_is_an_error():
    def clamp_backward(g, x):
        g[x < 0] = 0
        return g

    report = check_gradient(lambda x: np.maximum(x, 0), vjp=clamp_backward, at={"x": np.array([-1.0, 2.0])})
    assert report.verdict == "error"
    assert report.message is not None
    assert "changes its cotangent in place" in report.message
