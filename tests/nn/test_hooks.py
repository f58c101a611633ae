"""Hooks on modules: what they see, what they may replace, and in which order they run (worked out by hand)."""

import warnings
from operator import matmul

import numpy as np
import pytest

import gradcli
from gradcli import nn
from gradcli.nn import module as everywhere
from gradcli.nn.functional import mse_loss

from ..tape.build import leaf


def linear(weight, bias):
    made = nn.Linear(4, 1)
    nn.init.constant_(made.weight, weight)
    nn.init.constant_(made.bias, bias)
    return made


class Apply(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args, **kwargs):
        return self.function(*args, **kwargs)


def times(factor):
    return Apply(lambda x: factor * x)


def product_and_multiple(x, y, scale=1.0):
    return x * y, x * scale


def numbers(values):
    return [None if x is None else x.tolist() for x in values]


def with_old_hook(module, *args, change=None):
    """Register a hook of the old kind and call; return the result and the list of what the hook sees."""
    seen = []

    def hook(_, grad_input, grad_output):
        seen.append((numbers(grad_input), numbers(grad_output)))
        if change is not None:
            return tuple(g + c for g, c in zip(grad_input, change, strict=True))
        return None

    module.register_backward_hook(hook)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return module(*args), seen


# -- before and after forward ---------------------------------------------------------------------


def test_forward_pre_hook_replaces_the_input():
    module, x = times(3.0), leaf(1, 2)
    seen = []
    handle = module.register_forward_pre_hook(lambda m, args: seen.append((m, args)))
    assert module(x).tolist() == [3, 6]
    assert seen == [(module, (x,))]
    handle.remove()
    module.register_forward_pre_hook(lambda m, args: args[0] * 10)  # a single value stands for a tuple
    module.register_forward_pre_hook(lambda m, args: (args[0] + 1,))
    out = module(x)
    assert out.tolist() == [33, 63]
    out.sum().backward()
    assert x.grad.tolist() == [30, 30]
    assert len(seen) == 1


def test_forward_hook_replaces_the_output():
    module, x = times(3.0), leaf(1, 2)
    order = []
    module.register_forward_hook(lambda m, args, out: order.append((m is module, numbers(args), out.tolist())))
    module.register_forward_hook(lambda m, args, out: out * 2)
    module.register_forward_hook(lambda m, args, out: order.append(out.tolist()))
    module.register_forward_hook(lambda m, args, out: order.append("first"), prepend=True)
    assert module(x).tolist() == [6, 12]
    assert order == ["first", (True, [[1, 2]], [3, 6]), [6, 12]]


def test_always_called_hooks_run_after_an_error():
    def fail(x):
        raise ZeroDivisionError

    module, seen = Apply(fail), []
    module.register_forward_hook(lambda *given: seen.append("usual"))
    module.register_forward_hook(lambda m, args, out: seen.append(out), always_call=True)
    with pytest.raises(ZeroDivisionError):
        module(leaf(1))
    assert seen == [None]


def test_an_always_called_hook_runs_once_and_its_own_error_is_told():
    def fail(*given):
        raise ZeroDivisionError

    module, seen = Apply(lambda x: 2 * x), []
    module.register_forward_hook(lambda m, args, out: seen.append(out.tolist()), always_call=True)
    module.register_forward_hook(fail, always_call=True)
    with pytest.raises(ZeroDivisionError):
        module(leaf(1))
    assert seen == [[2]]
    module = Apply(lambda x: x.nothing)
    module.register_forward_hook(fail, always_call=True)
    with pytest.warns(UserWarning, match="'fail' of Apply raised ZeroDivisionError"), pytest.raises(AttributeError):
        module(leaf(1))


# -- full backward hooks --------------------------------------------------------------------------


def test_full_hook_sees_all_inputs_and_outputs():
    module, x, y, seen = Apply(product_and_multiple), leaf(2, 3), leaf(4, 5), []
    module.register_full_backward_hook(lambda m, gi, go: seen.append((m is module, numbers(gi), numbers(go))))
    product, multiple = module(x, y, 7.0)
    (product.sum() * 10 + multiple.sum()).backward()
    assert seen == [(True, [[47, 57], [20, 30], None], [[10, 10], [1, 1]])]
    assert (x.grad.tolist(), y.grad.tolist()) == ([47, 57], [20, 30])


@pytest.mark.parametrize("through_grad", [False, True])
def test_full_hooks_replace_gradients(through_grad):
    module, x = Apply(lambda t: 3 * t.exp().log()), leaf(1, 2)
    order = []
    module.register_full_backward_pre_hook(lambda m, go: (go[0] * 10,))
    module.register_full_backward_pre_hook(lambda m, go: order.append(go[0].tolist()))
    module.register_full_backward_pre_hook(lambda m, go: order.append("first"), prepend=True)
    module.register_full_backward_hook(lambda m, gi, go: (gi[0] + 1,))
    module.register_full_backward_hook(lambda m, gi, go: order.append((gi[0].round(decimals=9).tolist(), numbers(go))))
    loss = module(x).sum()
    if through_grad:
        (found,) = gradcli.autograd.grad(loss, x)
    else:
        loss.backward()
        found = x.grad
    np.testing.assert_allclose(found.numpy(), [31, 31])
    assert order == ["first", [10, 10], ([31, 31], [[10, 10]])]


def test_full_hooks_take_part_in_second_derivatives():
    module, x = Apply(lambda t: t**3), leaf(2)
    module.register_full_backward_hook(lambda m, gi, go: (gi[0] * x,))
    (first,) = gradcli.autograd.grad(module(x).sum(), x, create_graph=True)
    (second,) = gradcli.autograd.grad(first.sum(), x)
    assert (first.tolist(), second.tolist()) == ([24], [36])  # 3 x^3 and 9 x^2


def test_full_hooks_survive_changes_in_place():
    module, x, seen = nn.Sequential(times(2.0), nn.ReLU(inplace=True), times(3.0)), leaf(-1, 2), []
    for part in module:
        part.register_full_backward_hook(lambda m, gi, go: seen.append(gi[0].tolist()))
    out = module(x)
    out.mul_(5)
    out.sum().backward()
    assert x.grad.tolist() == [0, 30]
    assert seen == [[15, 15], [0, 15], [0, 30]]


def test_full_hook_of_a_module_whose_inputs_want_no_gradient():
    module, seen = nn.Linear(2, 1), []
    module.register_full_backward_hook(lambda m, gi, go: seen.append((gi, numbers(go))))
    module(gradcli.ones(2)).sum().backward()
    assert seen == [((None,), [[1]])]
    assert module.weight.grad.tolist() == [[1, 1]]


def test_removed_hooks_and_unrecorded_calls_are_quiet():
    module, x, seen = times(2.0), leaf(1), []
    handle = module.register_full_backward_hook(lambda *given: seen.append(1))
    with gradcli.no_grad():
        assert not module(x).requires_grad
    handle.remove()
    module(x).backward()
    assert not seen


# -- hooks of the old kind ------------------------------------------------------------------------

X, Y, Z = (2.0, 3.0), (6.0, 4.0), (1.0, 5.0)
OLD = {
    "as it is": (None, [[16, -12], [24, -18], [-40, 30]]),
    "changed": ((888888.0, -777777.0), [[1777792, 1777764], [2666688, 2666646], [-3888925, -3888855]]),
}


@pytest.mark.parametrize(("change", "wanted"), OLD.values(), ids=OLD)
def test_old_hook_sees_the_last_operation_only(change, wanted):
    """2x + 3y - 5z: the last operation is the difference."""
    module, inputs, target = Apply(lambda x, y, z: 2 * x + 3 * y - 5 * z), (leaf(*X), leaf(*Y), leaf(*Z)), leaf(9, -1)
    out, seen = with_old_hook(module, *inputs, change=change)
    loss = mse_loss(out, target)
    assert loss.item() == 50
    loss.backward()
    assert seen == [([[8, -6], [-8, 6]], [[8, -6]])]
    assert [x.grad.tolist() for x in inputs] == wanted
    assert target.grad.tolist() == [-8, 6]


@pytest.mark.parametrize(
    ("change", "wanted"), [(None, ([16, 12], [24, 18])), ((1000.0, -2000.0), ([2016, 2012], [-5976, -5982]))]
)
def test_old_hook_changes_both_terms(change, wanted):
    x, y, target = leaf(*X), leaf(*Y), leaf(14, 12)
    out, seen = with_old_hook(Apply(lambda x, y: 2 * x + 3 * y), x, y, change=change)
    mse_loss(out, target).backward()
    assert seen == [([[8, 6], [8, 6]], [[8, 6]])]
    assert (x.grad.tolist(), y.grad.tolist(), target.grad.tolist()) == (*wanted, [-8, -6])


LINEAR = {
    "linear, then / 4": (lambda f: lambda t: f(t) / 4, 20.5, [0.25], 2, 0.25, [0.25]),
    "/ 4, then linear": (lambda f: lambda t: f(t / 4), 22, [[1]], 2, 0.25, [1]),
    "/ 4, linear, / 4": (lambda f: lambda t: f(t / 4) / 4, 5.5, [0.25], 0.5, 0.0625, [0.25]),
}


@pytest.mark.parametrize(("around", "value", "first", "dx", "dw", "db"), LINEAR.values(), ids=LINEAR)
def test_old_hook_on_a_linear_layer_between_quotients(around, value, first, dx, dw, db):
    """Weight 8 and bias 2 on (1, 2, 3, 4)."""
    layer, x = linear(8.0, 2.0), leaf(1, 2, 3, 4)
    out, seen = with_old_hook(Apply(around(layer)), x)
    out.backward()
    assert out.tolist() == [value]
    assert (seen[0][0][0], seen[0][1]) == (first, [[1]])
    assert x.grad.tolist() == [dx] * 4
    assert layer.weight.grad.tolist() == [[dw, 2 * dw, 3 * dw, 4 * dw]]
    assert layer.bias.grad.tolist() == db


@pytest.mark.parametrize(("factor", "wanted"), [(0.0, [[1, 2, 3, 4]]), (10.0, [[11, 22, 33, 44]])])
def test_old_hook_on_a_linear_layer_sees_and_changes_bias_rows_and_the_transposed_weight(factor, wanted):
    layer, x = linear(8.0, 2.0), leaf([[1.0, 2, 3, 4]])
    out, seen = with_old_hook(layer, x, change=(0.0, 0.0, factor * x.detach().t()))
    out.sum().backward()
    assert seen == [([[1], [[8, 8, 8, 8]], [[1], [2], [3], [4]]], [[[1]]])]
    assert layer.weight.grad.tolist() == wanted


OPERATIONS = {
    "power": (lambda x: x**2, [[2, 4, 6]]),
    "difference": (lambda x: 1 - x, [[-1, -1, -1]]),
    "product": (lambda x: 3 * x, [[3, 3, 3], None]),
    "choice": (lambda x: gradcli.where(x > 1, x, 2 * x), [[0, 1, 1], [1, 0, 0]]),
    "mask": (lambda x: x.masked_fill(x > 2, 0.0), [[1, 1, 0]]),
    "clamp": (lambda x: x.clamp(0, 2.5), [[1, 1, 0]]),
}


@pytest.mark.parametrize(("step", "wanted"), OPERATIONS.values(), ids=OPERATIONS)
def test_old_hook_sees_the_operands_that_pytorch_has(step, wanted):
    """What PyTorch 2.13 shows."""
    out, seen = with_old_hook(Apply(step), leaf(1, 2, 3))
    out.sum().backward()
    assert seen == [(wanted, [[1, 1, 1]])]


PLAIN, AFFINE = nn.Linear(4, 2, bias=False), nn.Linear(4, 2)
# name -> (module, shapes of its inputs, the one shape that PyTorch 2.13 shows)
VIEWS = {
    "a vector through Linear without bias": (Apply(PLAIN), [(4,)], (1, 2)),
    "a row of unbind through Linear without bias": (Apply(lambda x: PLAIN(x.unbind(0)[1])), [(3, 4)], (1, 2)),
    "a stack through Linear": (Apply(AFFINE), [(2, 3, 4)], (6, 2)),
    "vector and matrix": (Apply(matmul), [(3,), (3, 2)], (1, 2)),
    "Flatten after Linear": (nn.Sequential(AFFINE, nn.Flatten(0)), [(3, 4)], (3, 2)),
    "transposed": (Apply(lambda x: AFFINE(x).t()), [(3, 4)], (3, 2)),
}


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize(("module", "shapes", "shown"), VIEWS.values(), ids=VIEWS)
def test_old_hook_after_a_view_sees_what_it_was_taken_of(module, shapes, shown):
    """What the hook returns goes on backward from there."""
    inputs, seen = [gradcli.ones(shape, requires_grad=True) for shape in shapes], []
    (plain,) = gradcli.autograd.grad(module(*inputs).sum(), inputs[0])

    def hook(_module, grads, outs):
        seen.append([g.shape for g in grads])
        return (grads[0] * 3,)

    module.register_backward_hook(hook)
    (changed,) = gradcli.autograd.grad(module(*inputs).sum(), inputs[0])
    assert seen == [[shown]]
    assert gradcli.allclose(changed, 3 * plain)


def test_old_hook_warns_once():
    module = Apply(lambda x, y: 2 * x + 3 * y)
    module.register_backward_hook(lambda *given: None)
    with pytest.warns(FutureWarning, match="register_full_backward_hook"):
        module(leaf(1), leaf(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module(leaf(1), leaf(2))


# -- all modules, and errors ----------------------------------------------------------------------


def test_hooks_on_all_modules_come_first():
    net, order = nn.Sequential(times(2.0)), []
    net[0].register_forward_hook(lambda m, args, out: order.append("own"))
    handles = [
        everywhere.register_module_forward_pre_hook(lambda m, args: order.append(f"pre {type(m).__name__}")),
        everywhere.register_module_forward_hook(lambda m, args, out: order.append(f"post {type(m).__name__}")),
        everywhere.register_module_full_backward_pre_hook(lambda m, go: order.append(f"in {type(m).__name__}")),
        everywhere.register_module_full_backward_hook(lambda m, gi, go: order.append(f"out {type(m).__name__}")),
    ]
    try:
        net(leaf(1)).backward()
    finally:
        for handle in handles:
            handle.remove()
    forth = ["pre Sequential", "pre Apply", "post Apply", "own", "post Sequential"]
    assert order == [*forth, "in Sequential", "in Apply", "out Apply", "out Sequential"]
    net(leaf(1))
    assert order[len(forth) + 4 :] == ["own"]


WRONG = {
    "count of grad_input": ("full_backward_hook", lambda m, gi, go: (gi[0], gi[0]), "number of values .got 2"),
    "count of grad_output": ("full_backward_pre_hook", lambda m, go: (), "number of values .got 0"),
    "shape": ("full_backward_hook", lambda m, gi, go: (gi[0].sum(),), "changed the size"),
}


@pytest.mark.parametrize(("kind", "hook", "message"), WRONG.values(), ids=WRONG)
def test_unfit_results_are_refused(kind, hook, message):
    module = times(2.0)
    getattr(module, f"register_{kind}")(hook)
    with pytest.raises(RuntimeError, match=message):
        module(leaf(1, 2)).sum().backward()


@pytest.mark.parametrize("kind", ["forward_pre_hook", "forward_hook", "full_backward_hook", "full_backward_pre_hook"])
def test_errors_name_hook_and_module(kind):
    def careless(*given):
        raise KeyError("lost")

    module = times(2.0)
    getattr(module, f"register_{kind}")(careless)
    with pytest.raises(KeyError) as caught:
        module(leaf(1)).backward()
    assert any("'careless' of Apply" in note for note in caught.value.__notes__)


def test_kinds_cannot_be_mixed_and_hooks_are_callable():
    module = times(2.0)
    module.register_full_backward_hook(lambda *given: None)
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full backward hooks"):
        module.register_backward_hook(lambda *given: None)
    with pytest.raises(TypeError, match="callable"):
        module.register_forward_hook(3)
