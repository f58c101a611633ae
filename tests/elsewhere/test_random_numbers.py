"""Functions that draw random numbers with a key of JAX: in another type, they would draw other ones."""

import numpy as np
import pytest

from gradcli import check_gradient

jax = pytest.importorskip("jax")


@pytest.mark.parametrize("factor", [1.0, 1.1])
def test_random_numbers_are_those_of_the_run(factor):
    def highest(x, key):
        return (x + 0.5 * jax.random.normal(key, (20, 3))).max(axis=1).mean()

    def rule(primals, tangents):
        x, key = primals
        chosen = jax.nn.one_hot((x + 0.5 * jax.random.normal(key, (20, 3))).argmax(axis=1), 3)
        return highest(x, key), factor * (chosen @ tangents[0]).mean()

    function = jax.custom_jvp(highest)
    function.defjvp(rule)
    at = {"x": np.array([0.4, 1.2, 2.3], np.float32), "key": np.asarray(jax.random.PRNGKey(3))}
    report = check_gradient(function, at=at, wrt="x", engine="jax")
    assert (report.verdict == "fail") == (factor > 1), report
    assert "JAX in float32: random numbers in float64 would be different ones" in report.notes
