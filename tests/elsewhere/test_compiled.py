"""JAX functions with loops, which are compiled once: the verdicts are the same as without compiling."""

import numpy as np
import pytest

from gradcli.check.declare import check_gradient

pytestmark = pytest.mark.framework("jax")
X = np.array([0.7, -1.3, 2.1])


def nightly(case):
    return pytest.param(case, marks=pytest.mark.nightly)


def looped(backward, runs=None):
    """Return a function with a loop and a sine whose backward pass is backward(x, cotangent)."""
    import jax
    import jax.numpy as jnp

    sine = jax.custom_vjp(jnp.sin)
    sine.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (backward(x, g),))

    def function(x):
        if runs is not None:
            runs.append(x)
        return jax.lax.fori_loop(0, 2, lambda i, y: y * x, sine(x)).sum()

    return function


def rules():
    import jax.numpy as jnp

    counter = iter(range(1000))
    return {
        "right": lambda x, g: g * jnp.cos(x),
        "wrong": lambda x, g: 1.01 * g * jnp.cos(x),
        "right, by NumPy": lambda x, g: jnp.asarray(np.asarray(g) * np.cos(np.asarray(x))),
        "wrong, by NumPy": lambda x, g: jnp.asarray(1.01 * np.asarray(g) * np.cos(np.asarray(x))),
        "depends on the sign of the cotangent": lambda x, g: (1 if float(g[0]) > 0 else 2) * g * jnp.cos(x),
        "changes with each call": lambda x, g: g * jnp.cos(x) * (1 + 0.01 * next(counter)),
    }


@pytest.mark.parametrize("name", ["right", "wrong", "right, by NumPy", nightly("wrong, by NumPy")])
def test_rules_before_a_loop(name):
    report = check_gradient(looped(rules()[name]), at={"x": X}, engine="jax")
    assert report.verdict == name.partition(",")[0].replace("right", "pass").replace("wrong", "fail"), report


@pytest.mark.parametrize("name", ["depends on the sign of the cotangent", nightly("changes with each call")])
def test_mistakes_that_tracing_would_hide_fail(name):
    assert check_gradient(looped(rules()[name]), at={"x": X[:1]}, engine="jax").verdict == "fail"


def test_a_stale_context_before_a_loop_fails():
    import jax
    import jax.numpy as jnp

    kept = {}

    def forward(x):
        kept["x"] = x
        return jnp.sin(x), None

    sine = jax.custom_vjp(lambda x: forward(x)[0])
    sine.defvjp(forward, lambda _, g: (g * jnp.cos(kept["x"]),))
    report = check_gradient(lambda x: jax.lax.cond(True, jnp.sum, jnp.prod, sine(x)), at={"x": X}, engine="jax")
    assert report.verdict == "fail"
    assert "stale context" in report.diagnosis[0].text


@pytest.mark.parametrize("name", ["right", "wrong"])
def test_the_python_body_runs_only_a_few_times(name):
    from gradcli.claims.adapters.jax import CALLS_AS_WRITTEN, COMPARISON

    runs = []
    report = check_gradient(looped(rules()[name], runs), at={"x": X}, engine="jax")
    assert report.verdict == ("pass" if name == "right" else "fail")
    assert len(runs) <= CALLS_AS_WRITTEN + 3 * COMPARISON + 10


def test_values_are_compiled_once():
    """Otherwise JAX compiles a lax loop anew in each call, which takes a quarter of a second."""
    from jax import lax

    from gradcli.claims.adapters.jax import CALLS_AS_WRITTEN, COMPARISON, Adapter

    runs = []

    def cubes(x):
        runs.append(x)
        return lax.fori_loop(0, 2, lambda i, c: c * x, x).sum()

    call = Adapter.of(cubes, {"x": X}, "cubes", False)
    for k in range(30):
        assert call.value({"x": X + k}) == pytest.approx(((X + k) ** 3).sum(), rel=1e-14)
    assert len(runs) == CALLS_AS_WRITTEN + COMPARISON + 1  # one more to trace its types


def test_a_compiled_function_with_other_values_is_not_used():
    import jax
    from jax.core import Tracer

    from gradcli.claims.adapters.jax import Adapter

    def differs(x):
        y = jax.lax.fori_loop(0, 2, lambda i, c: c * x, x).sum()
        return 2 * y if isinstance(x, Tracer) else y

    call = Adapter.of(differs, {"x": X}, "differs", False)
    for k in range(12):
        assert call.value({"x": X + k}) == pytest.approx(((X + k) ** 3).sum(), rel=1e-14)


@pytest.mark.parametrize("period", [1, nightly(2), nightly(3)])
def test_a_counter_in_the_function_is_not_frozen(period):
    import jax

    from gradcli.claims.adapters.jax import Adapter

    calls = iter(range(1000))

    def counts(x):
        return jax.lax.fori_loop(0, 2, lambda i, c: c * x, x).sum() + next(calls) // period

    call = Adapter.of(counts, {"x": X}, "counts", False)
    assert len({float(call.value({"x": X})) for _ in range(30)}) >= 30 // period
    assert "non-deterministic" in check_gradient(counts, at={"x": X}, engine="jax").message


@pytest.mark.parametrize("calls", [12, 400])
def test_comparisons_stay_within_the_call_budget(calls):
    runs = []
    check_gradient(looped(rules()["right"], runs), at={"x": X}, engine="jax", calls=calls)
    assert len(runs) <= calls + 4  # plus tracing for types and loops
