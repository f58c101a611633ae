"""Functions that compute in float16 or bfloat16: rounding is not taken for a mistake, and mistakes are still found."""

from __future__ import annotations

import numpy as np
import pytest

from gradcli.check.declare import check_gradient

STEEP = [np.random.default_rng(seed).standard_normal((2, 4)) for seed in range(3)]
POINTS = [*(pytest.param(x, marks=pytest.mark.nightly) for x in STEEP[:2]), STEEP[2], np.array([[2.3, -2.4]])]


@pytest.fixture(scope="module")
def torch_functions():
    torch = pytest.importorskip("torch")

    def through(factor):
        class Tanh(torch.autograd.Function):
            """The graph does not show the types used inside."""

            @staticmethod
            def forward(ctx, x):
                y = torch.tanh(x.bfloat16())
                ctx.save_for_backward(y)
                return y.float()

            @staticmethod
            def backward(ctx, g):
                (y,) = ctx.saved_tensors
                return (g.bfloat16() * factor * (1 - y * y)).float()

        return lambda x: Tanh.apply(x * 1)

    return {
        "bfloat16": lambda x: torch.tanh(x.bfloat16()).float().sum(),
        "float16": lambda x: torch.tanh(x.half()).float(),
        "a bfloat16 output": lambda x: torch.tanh(x.bfloat16()),
        "hidden": through(1),
        "wrong": through(2),
    }


@pytest.fixture(scope="module")
def jax_functions():
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    return {
        "bfloat16": lambda x: jnp.tanh(x.astype(jnp.bfloat16)).astype(jnp.float32).sum(),
        "float16": lambda x: jnp.tanh(x.astype(jnp.float16)).astype(jnp.float32),
        "a bfloat16 output": lambda x: jnp.tanh(x.astype(jnp.bfloat16)),
        "hidden": jax.jit(lambda x: jnp.tanh(x.astype(jnp.bfloat16)).astype(jnp.float32).sum()),
    }


@pytest.mark.parametrize("x", POINTS)
@pytest.mark.parametrize("name", ["bfloat16", "float16", "a bfloat16 output", "hidden"])
@pytest.mark.parametrize("engine", [pytest.param(e, marks=pytest.mark.framework(e)) for e in ("torch", "jax")])
def test_rounding_to_a_short_type_does_not_fail(engine, name, x, request):
    report = check_gradient(request.getfixturevalue(f"{engine}_functions")[name], at={"x": x})
    assert report.verdict in ("pass", "inconclusive"), report
    assert any("float16, which has" in note for note in report.notes)


@pytest.mark.framework("torch")
@pytest.mark.parametrize("x", POINTS[:3])
def test_a_wrong_factor_in_a_short_type_is_found(torch_functions, x):
    assert check_gradient(torch_functions["wrong"], at={"x": x}).verdict == "fail"


@pytest.mark.parametrize("x", POINTS)
def test_rounding_of_cotangents_is_not_called_nonlinear(x):
    def product(g, x):
        return 2 * x * np.asarray(g, np.float16)

    report = check_gradient(lambda x: x**2, at={"x": x}, vjp=product)
    assert "nonlinear" not in [finding.kind for finding in report.diagnosis]


@pytest.mark.parametrize("bend", [lambda g: g + 0.003 * g * np.abs(g), lambda g: np.clip(g, -4, 4), np.sign])
def test_distortion_of_cotangents_is_called_nonlinear(bend):
    report = check_gradient(lambda x: x**2, at={"x": STEEP[0]}, vjp=lambda g, x: 2 * x * bend(g))
    assert "nonlinear" in [finding.kind for finding in report.diagnosis]
