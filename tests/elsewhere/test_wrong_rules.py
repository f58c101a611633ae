"""Custom rules of PyTorch, JAX and HIPS autograd: every wrong one fails, and the right ones pass."""

import numpy as np
import pytest

from gradcli.check.check import Check
from gradcli.check.declare import check_gradient
from gradcli.user.frameworks import without_filtered_tracebacks

X = np.array([0.7, -1.3, 2.1])
A = np.array([[1.0, 2.0, -1.0], [0.5, -3.0, 2.0], [4.0, 1.0, 1.5]])

RULES = {
    "right": lambda np, x, g: g * 3 * x**2,
    "sign": lambda np, x, g: -g * 3 * x**2,
    "factor 1.01": lambda np, x, g: 1.01 * g * 3 * x**2,
    "factor 2": lambda np, x, g: 6 * g * x**2,
    "power": lambda np, x, g: g * 3 * x,
    "forgotten inner term": lambda np, x, g: g * x**2,
    "ignored cotangent": lambda np, x, g: 3 * x**2,
    "cotangent summed": lambda np, x, g: g.sum() * 3 * x**2,
    "added constant": lambda np, x, g: g * 3 * x**2 + 0.01,
    "cotangent squared": lambda np, x, g: g * abs(g) * 3 * x**2,
    "zero": lambda np, x, g: 0 * g,
    "reversed": lambda np, x, g: g * 3 * np.flip(x, (0,)) ** 2,
}
MATRIX = {
    "right": lambda a, x, g: (g[:, None] * x, a.T @ g),
    "transposed": lambda a, x, g: (g[:, None] * x, a @ g),
    "outer transposed": lambda a, x, g: (x[:, None] * g, a.T @ g),
    "forgotten input": lambda a, x, g: (g[:, None] * x, 0 * x),
    "swapped sign": lambda a, x, g: (-g[:, None] * x, a.T @ g),
}


def torch_rule(forward, backward):
    """Return the `apply` of a Function whose backward pass is backward(*operands, cotangent)."""
    import torch

    class Rule(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *operands):
            ctx.save_for_backward(*operands)
            return forward(*operands)

        @staticmethod
        def backward(ctx, g):
            return backward(*ctx.saved_tensors, g)

    return Rule.apply


def torch_power(rule):
    import torch

    return torch_rule(lambda x: x**3, lambda x, g: rule(torch, x, g))


def jax_rule(forward, backward):
    import jax
    import jax.numpy as jnp

    f = jax.custom_vjp(forward)
    f.defvjp(lambda *operands: (forward(*operands), operands), lambda operands, g: backward(*operands, g))
    return lambda *operands: f(*map(jnp.asarray, operands))


def jax_power(rule):
    import jax.numpy as jnp

    return jax_rule(lambda x: x**3, lambda x, g: (rule(jnp, x, g),))


def autograd_power(rule):
    import autograd.numpy as anp
    from autograd.extend import defvjp, primitive

    f = primitive(lambda x: x**3)
    defvjp(f, lambda ans, x: lambda g: rule(anp, x, g))
    return lambda x: f(x) + anp.zeros(3)


POWERS = {"torch": torch_power, "jax": jax_power, "autograd": autograd_power}
PRODUCTS = {"torch": torch_rule, "jax": jax_rule}


ALIKE = {"factor 2", "power", "forgotten inner term", "outer transposed", "swapped sign", -1.0}
"""Mistakes that are much like others, and therefore nightly."""


def cases(engine):
    return pytest.param(engine, marks=pytest.mark.framework(engine))


def mistakes(names):
    return [pytest.param(name, marks=[pytest.mark.nightly] if name in ALIKE else []) for name in names]


@pytest.mark.parametrize("engine", [*map(cases, POWERS)])
@pytest.mark.parametrize("name", mistakes(RULES))
def test_rules_of_a_power(engine, name):
    report = check_gradient(POWERS[engine](RULES[name]), at={"x": X}, engine=engine)
    assert report.verdict == ("pass" if name == "right" else "fail"), report
    if name in ("ignored cotangent", "added constant", "cotangent squared"):
        assert "nonlinear" in [finding.kind for finding in report.diagnosis]


@pytest.mark.parametrize("engine", [*map(cases, PRODUCTS)])
@pytest.mark.parametrize("name", mistakes(MATRIX))
def test_rules_of_a_matrix_product(engine, name):
    report = check_gradient(PRODUCTS[engine](lambda a, x: a @ x, MATRIX[name]), at={"a": A, "x": X}, engine=engine)
    assert report.verdict == ("pass" if name == "right" else "fail"), report


@pytest.mark.framework("torch")
def test_a_stale_context_fails():
    kept = {}

    def forward(x):
        kept["x"] = x.detach()
        return x**2

    stale = torch_rule(forward, lambda x, g: 2 * g * kept["x"])
    report = check_gradient(stale, at={"x": X})
    assert report.verdict == "fail"
    assert "stale context" in report.diagnosis[0].text
    assert check_gradient(lambda x: stale(x) + stale(2 * x), at={"x": X}).verdict == "fail"


@pytest.mark.framework("torch")
def test_modules_that_count_their_calls_are_not_stale():
    import torch

    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Tanh())
    assert check_gradient(module, at={"input": np.random.default_rng(0).normal(size=(5, 3))}).verdict == "pass"


@pytest.mark.framework("torch")
@pytest.mark.parametrize(
    "f",
    [
        lambda x: (x * x.detach()).sum(),
        lambda x: x.sin() * x.exp().detach(),
        lambda x: __import__("torch").tensor(x.tolist()) * x,
    ],
)
def test_a_detached_factor_fails(f):
    assert check_gradient(f, at={"x": X}, engine="torch").verdict == "fail"


@pytest.mark.framework("jax")
@pytest.mark.parametrize("factor", mistakes([1.0, 1.01, -1.0]))
def test_a_custom_jvp(factor):
    import jax
    import jax.numpy as jnp

    f = jax.custom_jvp(jnp.sin)
    f.defjvp(lambda primals, tangents: (jnp.sin(*primals), factor * jnp.cos(*primals) * tangents[0]))
    assert check_gradient(f, at={"x": X}).verdict == ("pass" if factor == 1 else "fail")


@pytest.mark.framework("torch")
@pytest.mark.parametrize("factor", [1.0, 1.01])
def test_forward_mode_that_contradicts_reverse_mode_fails(factor):
    import torch

    class Sin(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x.sin()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0].cos()

        @staticmethod
        def jvp(ctx, t):
            return factor * t * ctx.saved_tensors[0].cos()

    report = check_gradient(Sin, at={"x": X})
    assert report.verdict == ("pass" if factor == 1 else "fail"), report
    if factor != 1:
        assert "forward mode (jvp) is wrong" in report.message


@pytest.mark.framework("torch")
def test_blame_names_the_function_and_the_module():
    import torch

    wrong, right = torch_power(RULES["factor 1.01"]), torch_power(RULES["right"])

    class Layer(torch.nn.Module):
        def __init__(self, f):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3))
            self.f = f

        def forward(self, x):
            return self.f(self.weight * x)

    net = torch.nn.Sequential(Layer(right), Layer(wrong))
    report = check_gradient(net, at={"input": X})
    assert report.verdict == "fail"
    assert "RuleBackward" in report.blame
    assert "test_wrong_rules.py" in report.blame
    detached = torch.nn.Sequential(torch.nn.Tanh(), Layer(lambda x: x * x.detach()))
    report = check_gradient(detached, at={"input": X})
    assert report.verdict == "fail"
    assert "1 (Layer)" in report.blame


@pytest.mark.framework("torch")
def test_blame_shows_a_backward_of_one_line():
    import torch

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g): return g * ctx.saved_tensors[0] ** 2  # fmt: skip

    report = check_gradient(lambda x: Cube.apply(x).sum(), at={"x": X})
    assert report.blame.splitlines()[1].strip().startswith("def backward")


@pytest.mark.framework("torch")
def test_dropout_is_inconclusive_in_training_and_passes_in_evaluation():
    import torch

    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Dropout(0.5))
    assert check_gradient(net, at={"input": np.ones((40, 3))}).verdict == "inconclusive"
    assert check_gradient(net.eval(), at={"input": np.ones((4, 3))}).verdict == "pass"


@pytest.mark.framework("jax")
def test_nested_arguments_are_named_by_path():
    import jax
    import jax.numpy as jnp

    def f(params, x, power):
        return jnp.tanh(params["w"][0] @ x).sum() ** power * params["b"]

    at = {"params": {"w": [A], "b": 2.0}, "x": X, "power": 2}
    report = check_gradient(f, at=at)
    assert [item.name for item in report.inputs] == ["params.w[0]", "params.b", "x"]
    assert report.verdict == "pass"
    by_hand = check_gradient(f, jax.grad(f, argnums=(0, 1)), at=at)
    assert by_hand.verdict == "pass", by_hand
    wrong = check_gradient(f, lambda *a: jax.tree.map(lambda g: 1.01 * g, jax.grad(f, argnums=(0, 1))(*a)), at=at)
    assert wrong.verdict == "fail"


@pytest.mark.framework("torch")
def test_float32_is_checked_with_values_in_float64():
    import torch

    def f(x):
        return torch.sin(x).sum()

    report = Check.of(f, {"x": X}, dtype="float32").run()
    assert report.verdict == "pass"
    assert "float32" in report.notes[0]
    wrong = torch_power(RULES["factor 1.01"])
    assert Check.of(lambda x: wrong(x).sum(), {"x": X}, dtype="float32").run().verdict == "fail"


@pytest.mark.framework("torch")
def test_a_rule_that_is_a_default_value_is_recognized():
    for rule, verdict in (("right", "pass"), ("factor 1.01", "fail")):
        power = torch_power(RULES[rule])
        assert check_gradient(lambda x, power=power: power(x), at={"x": X}, wrt="x").verdict == verdict


@pytest.mark.framework("jax")
def test_functions_that_cannot_be_compiled_are_checked_as_written():
    drawn = np.random.default_rng(0)

    def branches(x):
        import jax.numpy as jnp
        from jax.core import Tracer

        first = x[0] if isinstance(x, Tracer) else float(x[0])
        return jnp.sum(x**2) if isinstance(first, Tracer) or first > 0 else jnp.sum(x)

    assert check_gradient(branches, at={"x": abs(X) + 0.1}, engine="jax").verdict == "pass"
    report = check_gradient(lambda x: (x**2).sum() + drawn.random(), at={"x": X}, engine="jax")
    assert "non-deterministic" in report.message


@pytest.mark.framework("jax")
def test_a_search_for_an_edit_lets_errors_in_rules_be_cheap_and_restores_the_tracebacks():
    import jax

    rule = jax.custom_vjp(lambda x: x)
    rule.defvjp(lambda x: (x, None), lambda saved, g: 1 // 0)

    def causes():
        with pytest.raises(ZeroDivisionError) as caught:
            jax.grad(rule)(1.0)
        return type(caught.value.__cause__).__name__

    with without_filtered_tracebacks():
        assert causes() == "NoneType"
    assert causes() == "JaxStackTraceBeforeTransformation" and jax.config.jax_traceback_filtering != "off"
