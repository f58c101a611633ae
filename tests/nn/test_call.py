"""Old-style backward hooks, which see a module's last operation, and observers; hooks.txt has the other hooks."""

import warnings
from operator import matmul

import pytest

import gradcli
from gradcli import nn
from gradcli.nn.functional import mse_loss
from gradcli.tape.modes import Observer, observing

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


def numbers(values):
    return [None if x is None else x.tolist() for x in values]


def with_old_hook(module, *args, change=None):
    """Register an old-style hook and call the module; return the result and a list of what the hook will see."""
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


X, Y, Z = (2.0, 3.0), (6.0, 4.0), (1.0, 5.0)
OLD = {
    "unchanged": (None, [[16, -12], [24, -18], [-40, 30]]),
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
def test_old_hook_on_a_linear_layer_sees_and_changes_all_three_gradients(factor, wanted):
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
def test_old_hook_sees_the_same_operands_as_in_pytorch(step, wanted):
    """Compare with what PyTorch 2.13 shows."""
    out, seen = with_old_hook(Apply(step), leaf(1, 2, 3))
    out.sum().backward()
    assert seen == [(wanted, [[1, 1, 1]])]


PLAIN, AFFINE = nn.Linear(4, 2, bias=False), nn.Linear(4, 2)
# name -> (module, shapes of its inputs, the only shape that PyTorch 2.13 shows)
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
def test_old_hook_after_a_view_sees_its_base(module, shapes, shown):
    """Backward continues from there with what the hook returns."""
    inputs, seen = [gradcli.ones(shape, requires_grad=True) for shape in shapes], []
    (plain,) = gradcli.autograd.grad(module(*inputs).sum(), inputs[0])

    def hook(_module, grads, outs):
        seen.append([g.shape for g in grads])
        return (grads[0] * 3,)

    module.register_backward_hook(hook)
    (changed,) = gradcli.autograd.grad(module(*inputs).sum(), inputs[0])
    assert seen == [[shown]]
    assert gradcli.allclose(changed, 3 * plain)


class Modules(Observer):
    """An observer that records when modules are entered and left."""

    def __init__(self):
        self.seen = []

    def enter_module(self, module):
        self.seen.append(("enter", module))

    def leave_module(self, module):
        self.seen.append(("leave", module))


def test_observers_see_modules_even_if_forward_fails():
    fails, works = Apply(lambda x: 1 / 0), Apply(lambda x: x)
    observer = Modules()
    with observing(observer):
        works(leaf(1))
        with pytest.raises(ZeroDivisionError):
            fails(leaf(1))
    assert observer.seen == [("enter", works), ("leave", works), ("enter", fails), ("leave", fails)]


def test_a_module_without_super_init_works_under_an_observer():
    class Bare(nn.Module):
        def __init__(self):
            pass

        def forward(self, x):
            return 2 * x

    with observing(Observer()):
        assert Bare()(leaf(1)).tolist() == [2]
