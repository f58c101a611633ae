"""Mistakes in PyTorch and JAX rules that show only when programs call them, and their right twins."""

import numpy as np
import pytest

from gradcli.check.check import Check
from gradcli.claims.adapters.framework import framework_call

X = np.array([[0.3, -1.2, 2.1], [0.5, 0.6, 0.7]])


def found_in(function, at=X, **others):
    """Return the rule of each difference that as_called reports."""
    call = framework_call("torch", function, {"x": at, **others}, "rule")
    return [difference.rule for difference in call.as_called()]


def function(forward, backward):
    import torch

    rule = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Rule", (torch.autograd.Function,), rule)


def saved(ctx, x):
    ctx.save_for_backward(x)
    return x**3


def slope(ctx):
    return 3 * ctx.saved_tensors[0] ** 2


def read_in_order(g, x):
    """Return what a kernel reads if it assumes that its argument is contiguous."""
    import torch

    memory = torch.empty(0, dtype=g.dtype).set_(g.untyped_storage())[g.storage_offset() :]
    read = torch.zeros(x.numel(), dtype=g.dtype)
    read[: len(memory)] = memory[: x.numel()]
    return read.reshape(x.shape)


BACKWARDS = {
    "right": (lambda ctx, g: g * slope(ctx), []),
    "contiguous": (lambda ctx, g: g.contiguous().view(-1).view(g.shape) * slope(ctx), []),
    "clone": (lambda ctx, g: g.clone().mul_(slope(ctx)), []),
    "view": (lambda ctx, g: g.view(-1).view(g.shape) * slope(ctx), ["layout"]),
    "memory": (lambda ctx, g: read_in_order(g, g) * slope(ctx), ["layout"]),
    "memory of a contiguous copy": (lambda ctx, g: read_in_order(g.contiguous(), g) * slope(ctx), []),
    "gradient in place": (lambda ctx, g: g.mul_(slope(ctx)), ["writes-into"]),
    "input in place": (lambda ctx, g: g * 3 * ctx.saved_tensors[0].data.square_(), ["writes-into"]),
}


@pytest.mark.framework("torch")
@pytest.mark.parametrize("name", BACKWARDS)
def test_a_backward_must_take_any_layout_and_not_write_into_its_arguments(name):
    backward, rules = BACKWARDS[name]
    assert found_in(function(saved, backward)) == rules


@pytest.mark.framework("torch")
def test_a_constant_gradient_that_cancels_is_not_a_difference():
    def softmax(ctx, x):
        y = x.softmax(-1)
        ctx.save_for_backward(y)
        return y

    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return y * (g - (g * y).sum(-1, keepdim=True))

    assert found_in(function(softmax, backward), np.linspace(-3, 3, 32).reshape(4, 8)) == []


@pytest.mark.framework("torch")
def test_forward_may_change_its_input_if_it_says_so():
    def marked(ctx, x):
        ctx.mark_dirty(x)
        ctx.save_for_backward(x.exp_())
        return x

    def hidden(ctx, x):
        y = x.exp()
        x.data.copy_(y)
        ctx.save_for_backward(y)
        return y.clone()

    def statistics(ctx, x, mean):
        mean.mul_(0.9).add_(x.mean(0))
        return x - x.mean(0)

    times_saved = lambda ctx, g: g * ctx.saved_tensors[0]  # noqa: E731
    assert found_in(function(marked, times_saved)) == []
    assert found_in(function(hidden, times_saved)) == ["writes-into"]
    assert found_in(function(statistics, lambda ctx, g: (g - g.mean(0), None)), mean=np.zeros(3)) == []


@pytest.mark.framework("torch")
def test_unused_outputs_and_a_second_backward():
    import torch

    def both(ctx, x):
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x)
        return x.sin(), x.cos()

    def right(ctx, a, b):
        (x,) = ctx.saved_tensors
        return (0 if a is None else a * x.cos()) - (0 if b is None else b * x.sin())

    def raises(ctx, a, b):
        (x,) = ctx.saved_tensors
        return a * x.cos() - b * x.sin()

    def wrong(ctx, a, b):
        (x,) = ctx.saved_tensors
        return 1.1 * a * x.cos() if b is None else right(ctx, a, b)

    def deletes(ctx, g):
        x = ctx.x
        del ctx.x
        return g * x.cos()

    def consumes(ctx, g):
        return g * ctx.x.cos_()

    def kept(ctx, x):
        ctx.x = x.detach().clone()
        return x.sin()

    assert [found_in(function(both, b)) for b in (right, raises, wrong)] == [[], ["unused-output"], ["unused-output"]]
    assert [found_in(function(kept, b)) for b in (deletes, consumes)] == [["second-backward"]] * 2
    report = Check.of(function(kept, deletes), {"x": X}, name="rule").run()
    assert (report.verdict, report.diagnosis[0].kind) == ("fail", "second-backward")
    assert torch.is_grad_enabled()


@pytest.mark.framework("torch")
def test_views_sparse_gradients_ties_and_indices_are_not_reported():
    import torch

    def ordered(ctx, x):
        values, places = x.sort(-1)
        numbers = places.double()
        ctx.mark_non_differentiable(places, numbers)
        ctx.save_for_backward(places)
        return values, places, numbers

    def unordered(ctx, g, *_):
        return torch.zeros_like(g).scatter(-1, ctx.saved_tensors[0], g)

    def rows(ctx, x):
        ctx.shape = x.shape
        return x[[0, 0]]

    def sparse(ctx, g):
        return torch.sparse_coo_tensor(torch.tensor([[0, 0]]), g, ctx.shape, check_invariants=False)

    once = torch.autograd.function.once_differentiable
    assert found_in(function(ordered, unordered), np.linspace(-1, 1, 640).reshape(32, 20)[:, ::-1]) == []
    assert found_in(function(rows, sparse)) == []
    assert found_in(function(lambda ctx, x: x.view_as(x), once(lambda ctx, g: -g))) == []


@pytest.mark.framework("torch")
def test_inputs_of_operators_are_named_by_their_schema():
    import torch

    @torch.library.custom_op("as_called::scale", mutates_args=())
    def scale(x: torch.Tensor, alpha: float, n: int = 2) -> torch.Tensor:
        return alpha * x**n

    def keep(ctx, inputs, output):
        ctx.inputs = inputs

    def backward(ctx, g):
        x, alpha, n = ctx.inputs
        return g * alpha * n * x ** (n - 1), None, None

    scale.register_autograd(backward, setup_context=keep)
    packet = torch.ops.as_called.scale
    for operator in (scale, packet, packet.default):
        call = framework_call("torch", operator, {"x": X, "alpha": 2.0, "n": 3}, "scale")
        assert (call.wrt, call.goes_forward(), [*call.as_called()]) == (["x"], False, [])
        np.testing.assert_allclose(call.pull(call.at, np.ones(X.shape))["x"], 6 * X**2)
    scale.register_autograd(lambda ctx, g: (read_in_order(g, g) * 4 * ctx.inputs[0], None, None), setup_context=keep)
    assert found_in(lambda x: scale(x, 2.0)) == ["layout"]


@pytest.mark.framework("jax")
@pytest.mark.parametrize(("factor", "rules"), [(1.0, []), (1.1, ["unused-output"])])
def test_a_rule_with_symbolic_zeros(factor, rules):
    import jax
    import jax.numpy as jnp

    @jax.custom_vjp
    def both(x):
        return jnp.sin(x), jnp.cos(x)

    def backward(x, g):
        a, b = (None if isinstance(c, jax.custom_derivatives.SymbolicZero) else c for c in g)
        if b is None:
            return (factor * a * jnp.cos(x),)
        return ((0 if a is None else a * jnp.cos(x)) - b * jnp.sin(x),)

    both.defvjp(lambda x: ((jnp.sin(x.value), jnp.cos(x.value)), x.value), backward, symbolic_zeros=True)
    call = framework_call("jax", both, {"x": X}, "both")
    call.value_here()
    assert [difference.rule for difference in call.as_called()] == rules


@pytest.mark.framework("jax")
@pytest.mark.parametrize("name", ["vjp", "vjp inside", "jvp of an integer input", "jvp of an integer output"])
def test_a_rule_that_uses_the_gradient_of_an_integer_fails(name):
    import jax
    import jax.numpy as jnp

    def rules(right):
        def backward(places, g):
            extra = 0.0 if right else jnp.sum(g[1])
            return (jnp.zeros_like(g[0]).at[places].set(g[0] + extra),)

        def along_power(primals, tangents):
            (x, n), (dx, dn) = primals, tangents
            return x**n, n * x ** (n - 1) * dx + (0 if right else x**n * dn)

        def along_sorted(primals, tangents):
            places = jnp.argsort(primals[0])
            none = np.zeros(places.shape, jax.dtypes.float0) if right else jnp.zeros_like(places)
            return (primals[0][places], places), (tangents[0][places], none)

        def ordered(x):
            places = jnp.argsort(x)
            return x[places], places

        pulled, pushed, power = jax.custom_vjp(ordered), jax.custom_jvp(ordered), jax.custom_jvp(lambda x, n: x**n)
        pulled.defvjp(lambda x: (ordered(x), jnp.argsort(x)), backward)
        pushed.defjvp(along_sorted)
        power.defjvp(along_power)
        inside = jax.jit(lambda x: jnp.sum(jnp.arange(3.0) * pulled(x)[0] ** 2))
        return {
            "vjp": pulled,
            "vjp inside": inside,
            "jvp of an integer input": lambda x: power(x, 3),
            "jvp of an integer output": pushed,
        }

    reports = [Check.of(rules(right)[name], {"x": X[0]}, name="f", engine="jax").run() for right in (True, False)]
    assert [report.verdict for report in reports] == ["pass", "fail"], reports
    assert reports[1].diagnosis[0].kind == "unused-output"


@pytest.mark.framework("jax")
def test_a_string_in_the_output_is_ignored():
    import jax
    import jax.numpy as jnp

    ordered = jax.custom_vjp(lambda x: (jnp.sort(x), jnp.argsort(x)))
    ordered.defvjp(
        lambda x: ((jnp.sort(x), jnp.argsort(x)), jnp.argsort(x)),
        lambda places, g: (jnp.zeros_like(g[0]).at[places].set(g[0]),),
    )
    report = Check.of(lambda x: {"result": ordered(x), "unit": "m"}, {"x": X[0]}, name="f", engine="jax").run()
    assert report.passed, report.message


@pytest.mark.framework("jax")
def test_an_exception_in_a_rule_with_an_integer_output_is_an_error():
    import jax
    import jax.numpy as jnp

    def unfinished(places, g):
        raise NotImplementedError("later")

    ordered = jax.custom_vjp(lambda x: (jnp.sort(x), jnp.argsort(x)))
    ordered.defvjp(lambda x: ((jnp.sort(x), jnp.argsort(x)), None), unfinished)
    assert Check.of(ordered, {"x": X[0]}, name="f", engine="jax").run().verdict == "error"


@pytest.mark.framework("torch")
def test_random_differences_are_not_reported():
    """The first calls agree, as they may by chance."""
    import torch

    def rule(first_other):
        calls = iter(range(1000))

        def backward(ctx, *grads):
            noise = 1.0 if next(calls) < first_other else 1 + np.random.default_rng().uniform(0.1, 1)
            return 3 * noise * slope(ctx) * sum(g.contiguous() for g in grads)

        return function(lambda ctx, x: (saved(ctx, x), x**3), backward)

    assert all(found_in(rule(first_other)) == [] for first_other in range(1, 12))
    layouts = iter(range(1000))

    def forward(ctx, x):
        noise = 1.0 if next(layouts) < 1 else 1 + np.random.default_rng().uniform(0.1, 1)
        return saved(ctx, x) * noise

    assert found_in(function(forward, lambda ctx, g: g * slope(ctx))) == []
    assert torch.is_grad_enabled()
