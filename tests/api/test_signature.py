"""Functions made from PyTorch's signatures: arguments, values, errors and node names."""

import inspect

import numpy as np
import pytest

import gradcli as gc
from gradcli.api.signature import LinAlgError, arrange_arguments, place_dim, resolve, take_whole_numbers
from gradcli.rules import entry
from tests.tape.build import leaf

X = np.array([[3.0, -1.0, 2.0], [0.5, 4.0, -2.0]])


def test_arguments_are_arranged_by_the_signature():
    def arranged(name, text, *args, **kwargs):
        made = arrange_arguments(entry(name), text, eval(f"lambda {text}: None"))
        return made(*args, **kwargs)

    text = "input, dim, keepdim=False, *, dtype=None"
    assert arranged("sum", text, "x", 1) == ("x", 1, None, (), {"keepdims": False})
    assert arranged("sum", text, "x", keepdim=True, dim=0, dtype="f") == ("x", 0, "f", (), {"keepdims": True})
    assert arranged("solve", "A, B", "a", "b") == ("a", None, None, ("b",), {})


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x: x.sum(), X.sum()),
        (lambda x: x.sum(1), X.sum(1)),
        (lambda x: x.sum(dim=0, keepdim=True), X.sum(0, keepdims=True)),
        (lambda x: x.sum(axis=0), X.sum(0)),  # NumPy's name
        (lambda x: x.sum(()), X.sum()),  # no axes means all, as in PyTorch
        (lambda x: gc.mean(input=x, dim=(0, 1)), X.mean()),
        (lambda x: gc.softmax(x, 1), np.exp(X) / np.exp(X).sum(1, keepdims=True)),
        (lambda x: x.cumsum(0), np.cumsum(X, 0)),
        (lambda x: gc.tril(x, diagonal=1), np.tril(X, 1)),
        (lambda x: gc.flip(x, dims=(0,)), X[::-1]),
        (lambda x: gc.logsumexp(x, -1), np.log(np.exp(X).sum(-1))),
        (lambda x: x.amax(1), X.max(1)),
        (lambda x: gc.roll(x, shifts=1, dims=0), X[::-1]),
        (lambda x: gc.clamp(x, min=0), np.maximum(X, 0)),
        (lambda x: gc.mm(x, x.T), X @ X.T),
        (lambda x: gc.mv(x, x[0]), X @ X[0]),
        (lambda x: gc.addmm(gc.ones(2, 2), x, x.T, beta=2, alpha=3), 2 + 3 * X @ X.T),
        (lambda x: gc.einsum("ij,kj->ik", x, x), X @ X.T),
        (lambda x: gc.linalg.cross(x, x + 1), np.cross(X, X + 1)),
        (lambda x: gc.linalg.det(x[:, :2]), np.linalg.det(X[:, :2])),
    ],
    ids=range(20),
)
def test_pytorch_calls_match_numpy(call, expected):
    np.testing.assert_allclose(call(gc.tensor(X)).numpy(), expected, rtol=1e-14)


def test_a_name_always_resolves_to_the_same_function():
    for name in ("sin", "sum", "softmax", "cumsum"):
        function = resolve(name)
        assert function is resolve(name) is getattr(gc, name)
        assert list(inspect.signature(function).parameters)[0] in ("input", "x")
        assert function.__name__ == name and function.__doc__
    assert resolve("no_such_function") is None and resolve("_private") is None


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: gc.linalg.det(gc.tensor([[1, 2], [3, 4]])),
            RuntimeError,
            "Expected a floating point or complex tensor",
        ),
        (lambda: gc.linalg.det(gc.tensor([1.0])), RuntimeError, "must have at least 2 dimensions"),
        (lambda: gc.linalg.inv(gc.ones(2, 3)), RuntimeError, "must be batches of square matrices, but they are 2 by 3"),
        (lambda: gc.linalg.inv(gc.zeros(2, 2)), LinAlgError, "linalg.inv"),
        (
            lambda: gc.mm(gc.ones(3), gc.ones(3)),
            RuntimeError,
            "mm: 2D and 2D tensors expected, but got 1D and 1D tensors",
        ),
        (lambda: gc.bmm(gc.ones(2, 1, 1), gc.ones(3, 1, 1)), RuntimeError, ""),
        (lambda: gc.einsum("ij,jk->ik", gc.ones(2, 3), gc.ones(2, 3)), RuntimeError, ""),
        (lambda: gc.linalg.cross(gc.ones(2), gc.ones(2)), RuntimeError, "linalg.cross: "),
        (lambda: gc.ones(2).sum(3), IndexError, "Dimension out of range"),
        (lambda: gc.tensor(1.0).sum(1), IndexError, "Dimension out of range"),
        (lambda: gc.softmax(gc.ones(2), 1), IndexError, "Dimension out of range"),
        (lambda: gc.softmax(gc.tensor([1, 2]), 0), (RuntimeError, NotImplementedError), ""),
        (lambda: gc.mean(gc.tensor([1, 2])), RuntimeError, "could not infer output dtype"),
        (lambda: gc.sum(gc.ones(2), no=1), TypeError, "no"),
        (gc.softmax, TypeError, "softmax"),
    ],
    ids=range(15),
)
def test_errors_match_pytorch(call, error, text):
    with pytest.raises(error) as raised:
        call()
    assert text in str(raised.value)


def test_a_dim_becomes_the_entrys_axis():
    x, number = gc.tensor(X), gc.tensor(1.0)
    assert place_dim(entry("softmax"), x, 1) == {"axis": -1}
    assert place_dim(entry("sum"), x, ()) == {} and place_dim(entry("sum"), number, 0) == {}
    assert place_dim(entry("sum"), x, 0) == {"axis": 0}
    assert place_dim(entry("softmax"), number, -1) in ({"axis": -1}, {"axis": None})


def test_sum_counts_booleans():
    assert gc.tensor([True, True]).sum().dtype == gc.int64
    assert take_whole_numbers(entry("sum"), gc.tensor([True]), True).dtype == gc.int64
    assert take_whole_numbers(entry("sum"), gc.tensor([True]), False).dtype == gc.bool
    assert gc.tensor([1, 2]).sum(dtype=gc.float64).dtype == gc.float64


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: x.sum(), "SumBackward0"),
        (lambda x: x.sum(0), "SumBackward1"),
        (lambda x: x.mean(0), "MeanBackward1"),
        (lambda x: x.softmax(0), "SoftmaxBackward0"),
        (lambda x: gc.addmm(x, x, x), "AddmmBackward0"),
        (lambda x: x.amax(0), "AmaxBackward0"),
        (gc.linalg.inv, "LinalgInvExBackward0"),
    ],
    ids=range(7),
)
def test_nodes_are_named_as_in_pytorch(call, name):
    assert call(leaf([[2.0, 1.0], [0.0, 3.0]])).grad_fn.name() == name
