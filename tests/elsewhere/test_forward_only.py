"""JAX functions that reverse mode cannot differentiate: their forward mode is checked."""

from __future__ import annotations

import numpy as np
import pytest

from gradcli.check.declare import check_gradient

pytestmark = pytest.mark.framework("jax")
X = np.array([1.1, 0.8])


@pytest.fixture(scope="module")
def loops():
    jax = pytest.importorskip("jax")

    def repeated(step):
        return lambda x: jax.lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, step(s[1], x)), (0, x))[1]

    cube = jax.custom_jvp(repeated(lambda y, x: y * x))
    cube.defjvp(lambda x, t: (cube(*x), 4 * x[0] ** 3 * t[0]))
    square = jax.custom_jvp(lambda y: y**2)
    square.defjvp(lambda x, t: (square(*x), 3 * x[0] * t[0]))
    return {
        "power": repeated(lambda y, x: y * x),
        "reciprocal": repeated(lambda y, x: y * (2 - x * y)),
        "reverse mode through a custom_jvp": cube,
        "wrong inside": repeated(lambda y, x: square(y)),
    }


@pytest.mark.parametrize(
    "name", ["power", pytest.param("reciprocal", marks=pytest.mark.nightly), "reverse mode through a custom_jvp"]
)
def test_forward_mode_of_a_while_loop_passes(loops, name):
    assert check_gradient(loops[name], at={"x": X}, engine="jax").verdict == "pass"


def test_a_wrong_rule_inside_a_while_loop_is_found(loops):
    assert check_gradient(loops["wrong inside"], at={"x": X[:1]}, engine="jax").verdict == "fail"


def test_second_derivatives_are_an_error_that_says_why(loops):
    report = check_gradient(loops["power"], at={"x": X}, engine="jax", order=2)
    assert report.verdict == "error"
    assert "second derivatives need reverse mode" in report.message


@pytest.mark.parametrize(
    ("calls", "verdict"), [(8, "inconclusive"), pytest.param(20, "pass", marks=pytest.mark.nightly)]
)
def test_products_count_towards_the_call_budget(loops, calls, verdict):
    runs = []
    report = check_gradient(lambda x: runs.append(x) or loops["power"](x), at={"x": X}, engine="jax", calls=calls)
    assert report.verdict == verdict
    assert len(runs) <= calls + 4  # plus tracing for types and loops
