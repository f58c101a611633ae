"""Methods of ndarray on Tensors: NumPy's values in functions of arrays, PyTorch's elsewhere."""

import numpy as np
import pytest

import gradcli
from gradcli.api.ndarray import NDARRAY_FORMS
from gradcli.tape.modes import methods_of_arrays

from .slopes import check

X = np.random.default_rng(0).permutation(24).reshape(2, 3, 4) / 7 - 1.3  # no two elements are nearly equal


def sorted_copy(x):
    y = x.copy()
    y.sort(axis=1)
    return y**2


def partitioned_copy(x):
    y = x.flatten()
    y.partition(3)
    return y[3] * y[:3].sum()


def filled_copy(x):
    y = x.copy()
    y.fill(2.0)
    y[0] = x[1]
    return y


def changed_flat(x):
    y = x.copy()
    y.flat[5] = x[0, 0, 0] ** 2
    return y


SUMS = [
    lambda x: x.sum(0, None, None, True),
    lambda x: x.sum(axis=(0, 2)),
    lambda x: x.sum(where=X > 0, initial=2.0),
    lambda x: x.mean(1, keepdims=True),
    lambda x: x.prod(axis=(0, 1)),
    lambda x: x.var(),
    lambda x: x.var(axis=(0, 1), ddof=1),
    lambda x: x.std(),
    lambda x: x.std(0, None, None, 1),
    lambda x: x.max(axis=0, keepdims=True),
    lambda x: x.max(),
    lambda x: x.min(1),
    lambda x: x.cumsum(),
    lambda x: x.cumsum(1),
    lambda x: x.cumprod(axis=0),
    lambda x: x.all() * x,
    lambda x: x.any(axis=(0, 1), keepdims=True) * x,
    lambda x: x.trace(1, 1, 2),
    lambda x: x.dot(np.arange(8.0).reshape(4, 2)),
]
SHAPES = [
    lambda x: x.transpose(0, 2, 1),
    lambda x: x.transpose((2, 0, 1)),
    lambda x: x.transpose(),
    lambda x: x.swapaxes(0, 2),
    lambda x: x.repeat(3),
    lambda x: x.repeat([1, 2], axis=0),
    lambda x: x[:, :1].squeeze(axis=1),
    lambda x: x.flatten("F"),
    lambda x: x.ravel("F"),
    lambda x: x.reshape(4, 6),
    lambda x: x.reshape((4, -1), order="F"),
    lambda x: x.view() * 2,
    lambda x: x.copy("C") * 2,
    lambda x: x * x.size * x.nbytes * x.itemsize,
    lambda x: sum(x.flat) * x.flat[3],
    changed_flat,
    filled_copy,
]
CHOICES = [
    lambda x: x.clip(-0.5, 1),
    lambda x: x.clip(max=1),
    lambda x: (x / 10).round(1) * x,
    lambda x: x.take([0, 5, 7]),
    lambda x: x.take([1, 0], axis=1),
    lambda x: x.diagonal(0, 1, 2),
    lambda x: x.compress([True, False, True], axis=1),
    lambda x: x.astype(int) * x,
    lambda x: x[x.nonzero()],
    lambda x: x[x.argsort(axis=0)[:, 0, 0], 0, 0],
    lambda x: x.reshape(6, 4)[np.arange(6), x.reshape(6, 4).argmax(1)],
    lambda x: x.argmin(axis=1, keepdims=True) * x,
    lambda x: x[0, 0, :1].searchsorted(0.1) * x,
    lambda x: x.imag + x.real * x.conjugate(),
    sorted_copy,
    partitioned_copy,
]


@pytest.mark.parametrize("function", [*SUMS, *SHAPES, *CHOICES])
def test_values_are_those_of_an_array_and_gradients_match_differences(function):
    check(methods_of_arrays()(function), (X,), function(X))


@pytest.mark.parametrize(
    ("call", "of_tensors"),
    [
        (lambda x: x.var(), np.var(X, ddof=1)),
        (lambda x: x.std(unbiased=False), np.std(X)),
        (lambda x: x.max(0).values, X.max(0)),
        (lambda x: x.sort(1)[0], np.sort(X, 1)),
        (lambda x: x.transpose(0, 2), X.swapaxes(0, 2)),
        (lambda x: x.size(), X.shape),
        (lambda x: x.repeat(1, 1, 2), np.tile(X, (1, 1, 2))),
        (lambda x: x.flatten(1), X.reshape(2, 12)),
    ],
)
def test_elsewhere_methods_have_pytorchs_meaning(call, of_tensors):
    x = gradcli.tensor(X, requires_grad=True)
    for method in NDARRAY_FORMS:
        with methods_of_arrays():
            getattr(x, method)  # looked up first in a function of arrays
    found = call(x)
    np.testing.assert_allclose(getattr(found, "_data", found), of_tensors, rtol=1e-14)
    assert not hasattr(x, "flat") and not hasattr(x, "nbytes")


WITH_ONE_MEANING = set("T data device dtype imag item mT ndim real shape tolist".split())


@pytest.mark.parametrize("name", [name for name in dir(np.ndarray) if not name.startswith("_")])
def test_each_attribute_of_ndarray_is_known_or_refused(name):
    x = gradcli.tensor(X, requires_grad=True)
    with methods_of_arrays():
        if name in NDARRAY_FORMS or name in WITH_ONE_MEANING:
            getattr(x, name)
        else:
            with pytest.raises(AttributeError, match=f"gradcli cannot record ndarray.{name}$"):
                getattr(x, name)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: x[0, 0, 0].item(), "would lose its graph"),
        (lambda x: x.tolist(), "would lose its graph"),
        (lambda x: x.view(np.int64), "reads memory as another type"),
        (lambda x: x.T.flat, "not contiguous"),
        (lambda x: x.ravel("K"), "depends on the memory"),
        (lambda x: x.squeeze(0), "not equal to one"),
        (lambda x: x.sum(out=np.zeros(())), "cannot write the result"),
        (lambda x: x.sort(), "in-place operation"),
        (lambda x: x.max(dim=0), "dim"),
    ],
)
def test_what_cannot_be_recorded_is_refused(call, message):
    with methods_of_arrays(), pytest.raises((TypeError, ValueError, RuntimeError), match=message):
        call(gradcli.tensor(X, requires_grad=True))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.softmax(0),
        lambda x: x.logsumexp(1),
        lambda x: x.norm(),
        lambda x: x.topk(2).values,
        lambda x: x.median(dim=1).values,
        lambda x: x.quantile(0.3, dim=1),
        lambda x: x.unsqueeze(0).relu(),
    ],
)
def test_methods_that_ndarray_lacks_have_one_meaning(call):
    x = gradcli.tensor(X, requires_grad=True)
    with methods_of_arrays():
        found = call(x)
    assert found.tolist() == call(x).tolist()


def test_text_of_a_number_needs_no_graph():
    with methods_of_arrays():
        assert f"{gradcli.tensor(2.5, requires_grad=True):.2f}" == "2.50"
