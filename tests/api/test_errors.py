"""Wrong arguments raise what they raise in PyTorch."""

import numpy as np
import pytest

import gradcli as gc
from gradcli import ones, tensor
from gradcli.autograd import backward, grad


def x():
    return tensor([1.0, 2.0], requires_grad=True)


REFUSED = {
    "add": lambda: x() + ones(3),
    "reflected": lambda: np.ones(3) * x(),
    "where": lambda: gc.where(ones(3) > 0, x(), x()),
    "matmul": lambda: x() @ ones(3),
    "matmul_2d": lambda: gc.matmul(ones(2, 3), ones(2, 3)),
    "matmul_reflected": lambda: np.ones((2, 3)) @ x(),
    "mul_": lambda: gc.zeros(3).mul_(x()),
    "copy_": lambda: gc.zeros(3).copy_(x()),
    "ones": lambda: ones(-1),
    "repeated": lambda: x().sum((0, -1)),
    "permute": lambda: ones(2, 3).permute(0, 0),
    "diagonal": lambda: ones(2, 2).diagonal(0, 0, 0),
    "einsum": lambda: gc.einsum("ij->i", x()),
    "max": lambda: ones(0).max(),
    "cat": lambda: gc.cat([x(), ones(2, 2)]),
    "cat_sizes": lambda: gc.cat([ones(2, 2), ones(2, 3)]),
    "chunk": lambda: gc.chunk(x(), 0),
    "split": lambda: gc.split(x(), 0),
    "split_negative": lambda: gc.split(x(), -1),
    "arange": lambda: gc.arange(0, 1, 0),
    "arange_sign": lambda: gc.arange(1, 0),
    "narrow": lambda: x().narrow(0, 1, 5),
    "roll": lambda: x().roll((1, 2), 0),
    "grad_inputs": lambda: grad(x().sum(), "x"),
    "backward_inputs": lambda: x().sum().backward(inputs=["a"]),
    "own_grad": lambda: (lambda t: setattr(t, "grad", t))(x()),
    "requires_grad": lambda: setattr(x(), "requires_grad", "a"),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_runtime_errors(call):
    with pytest.raises(RuntimeError):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: ones(0).argmax(0),
        lambda: ones(0).argmax(),
        lambda: ones(0, 2).max(0),
        lambda: ones(2).sum(5),
        lambda: ones(2).transpose(0, 2),
    ],
)
def test_index_errors(call):
    with pytest.raises(IndexError):
        call()


@pytest.mark.parametrize("call", [lambda: grad(3.0, x()), lambda: backward(3.0), lambda: x().requires_grad_("a")])
def test_type_errors(call):
    with pytest.raises(TypeError):
        call()


def test_sizes_that_do_not_fit_are_named():
    with pytest.raises(RuntimeError, match=r"tensor a \(2\) must match the size of tensor b \(3\).*dimension 0"):
        x() + ones(3)
    with pytest.raises(RuntimeError, match=r"tensor a \(2\) must match the size of tensor b \(3\).*dimension 1"):
        ones(2, 2) * ones(3)


@pytest.mark.parametrize(
    ("register", "error"),
    [
        (lambda y: y.register_hook(lambda g: 5), TypeError),
        (lambda y: y.register_hook(lambda g: ones(3)), RuntimeError),
        (lambda y: y.grad_fn.register_hook(lambda a, b: 5), TypeError),
        (lambda y: y.grad_fn.register_hook(lambda a, b: (None, None, None)), RuntimeError),
        (lambda y: y.grad_fn.register_prehook(lambda b: 5), TypeError),
    ],
)
def test_what_hooks_may_not_return(register, error):
    y = x() * 2
    register(y)
    with pytest.raises(error):
        y.sum().backward()
