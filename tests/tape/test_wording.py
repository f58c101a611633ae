"""What is said of wrong uses: the words that PyTorch's users look for."""

import numpy as np
import pytest

import gradcli
from gradcli.func.mapping import loops
from gradcli.nn import functional as F

X = gradcli.tensor([1.0, 2.0, 3.0])
M = gradcli.ones(2, 3)


@pytest.mark.parametrize(
    ("use", "kind", "text"),
    [
        (lambda: int(X), ValueError, "only one element tensors can be converted to Python scalars"),
        (lambda: bool(gradcli.zeros(0)), RuntimeError, "Boolean value of Tensor with no values is ambiguous"),
        (lambda: float(gradcli.tensor([1 + 2j])), RuntimeError, "value cannot be converted to type double"),
        (lambda: gradcli.cat([]), ValueError, "expected a non-empty list of Tensors"),
        (lambda: gradcli.arange(3).softmax(0), NotImplementedError, "softmax_lastdim_kernel_impl"),
        (lambda: gradcli.arange(3).norm(), RuntimeError, "Expected a floating point or complex tensor"),
        (lambda: F.linear(X, gradcli.ones(2, 2)), RuntimeError, r"cannot be multiplied \(1x3 and 2x2\)"),
        (lambda: gradcli.mv(M, X[:2]), RuntimeError, r"size mismatch, got input \(2\), mat \(2x3\), vec \(2\)"),
        (
            lambda: M.gather(1, gradcli.tensor([[7]])),
            RuntimeError,
            "index 7 is out of bounds for dimension 1 with size 3",
        ),
        (lambda: gradcli.ones(2, -1), RuntimeError, r"negative dimension -1: \[2, -1\]"),
        (lambda: gradcli.zeros(0).max(), RuntimeError, r"max\(\): Expected reduction dim to be specified"),
        (lambda: gradcli.zeros(2, 0).argmax(1), IndexError, r"argmax\(\): Expected reduction dim 1 to have non-zero"),
        (lambda: X.permute(1, 0), RuntimeError, r"input.dim\(\) = 1 is not equal to len\(dims\) = 2"),
        (lambda: X.masked_fill(gradcli.tensor([1, 0, 1]), 0.0), RuntimeError, "only supports boolean masks"),
        (lambda: M[gradcli.tensor([True, False, True])], IndexError, r"shape of the mask \[3\] at index 0"),
        (lambda: gradcli.einsum("i->ij", X), RuntimeError, "output subscript j does not appear"),
        (lambda: gradcli.einsum("ij,jk->ik", M, M), RuntimeError, "subscript j has size 2 for operand 1"),
        (lambda: gradcli.linalg.inv(np.ones((3, 2, 2))), RuntimeError, r"Batch element 0\): The diagonal element 2"),
        (lambda: gradcli.tensor([None]), RuntimeError, "Could not infer dtype of NoneType"),
        (lambda: gradcli.normal(0.0, -1.0, (2,)), RuntimeError, "normal expects std >= 0.0, but found std -1"),
    ],
)
def test_errors_say_what_pytorch_says(use, kind, text):
    with pytest.raises(kind, match=text):
        use()


def test_evenly_spaced_numbers_are_counted_from_the_nearer_end():
    steps = np.float32(1) / np.float32(9)
    expected = [float(np.float32(float(steps) * i)) for i in range(5)]
    expected += [float(np.float32(1 - float(steps) * (9 - i))) for i in range(5, 10)]
    assert gradcli.linspace(0, 1, 10, dtype=gradcli.float32).tolist() == expected
    assert gradcli.linspace(-1, 1, 5).tolist() == [-1.0, -0.5, 0.0, 0.5, 1.0]
    assert gradcli.linspace(3, 4, 1).tolist() == [3.0]


def test_normal_numbers_have_the_given_mean_and_deviation():
    gradcli.manual_seed(1)
    x = gradcli.normal(5.0, 2.0, (20000,))
    assert abs(x.mean().item() - 5) < 0.1
    assert abs(x.std().item() - 2) < 0.1
    assert gradcli.normal(gradcli.zeros(3), 1.0).shape == (3,)


def test_one_pass_serves_all_vectors_that_vmap_maps_over():
    x = gradcli.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x**2
    rows = gradcli.func.vmap(lambda v: gradcli.autograd.grad(y, x, v)[0])(gradcli.eye(3))
    assert rows.tolist() == [[2.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 6.0]]


def test_a_negative_slope_in_place_cannot_be_undone():
    y = F.leaky_relu_(gradcli.tensor([-1.0, 1.0], requires_grad=True).clone(), -2)
    with pytest.raises(RuntimeError, match="call out-of-place version"):
        y.sum().backward()


def test_vmap_draws_different_numbers_where_it_is_asked_to():
    draw = gradcli.func.vmap(lambda x: x + gradcli.rand(2), randomness="different")(gradcli.zeros(50))
    assert len(set(draw.reshape(-1).tolist())) == 100
    same = gradcli.func.vmap(lambda x: x + gradcli.rand(2), randomness="same")(gradcli.zeros(50))
    assert len(set(same.reshape(-1).tolist())) == 2


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: x.item(), r"vmap: It looks like you're calling .item\(\) on a Tensor"),
        (lambda x: x if x > 0 else -x, "data-dependent control flow"),
        (lambda x: x + gradcli.rand(1), "called random operation while in randomness error mode"),
    ],
)
def test_vmap_refuses_what_pytorch_refuses_where_that_is_asked_for(monkeypatch, function, text):
    monkeypatch.setattr(loops, "allowed", False)
    with pytest.raises(RuntimeError, match=text):
        gradcli.func.vmap(function)(gradcli.ones(3))
