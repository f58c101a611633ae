"""Shapes, joining, splitting, and elements read or replaced by index."""

import numpy as np
import pytest

import gradcli as gc

from .slopes import check

X = np.arange(12.0).reshape(3, 4) / 4 - 1.3
Y = np.cos(np.arange(8.0)).reshape(2, 4)
V = np.array([0.3, -1.2, 2.0])
INDEX = np.array([[0, 2, 0, 1], [2, 2, 1, 0]])
MASK = X > 0.1


def t(x):
    return gc.tensor(x)


def changed(x, key, value):
    out = x.copy()
    out[key] = value
    return out


def added(x, key, value):
    out = x.copy()
    np.add.at(out, key, value)
    return out


ROWS = np.array([2, 0])
ONCE = np.array([[0, 2, 1], [2, 3, 1]])
TAKEN = [
    ("gather", lambda x: x.gather(0, t(INDEX)), (X,), np.take_along_axis(X, INDEX, 0)),
    ("gather short", lambda x: x.gather(1, t(INDEX[:1, :2])), (X,), np.take_along_axis(X[:1], INDEX[:1, :2], 1)),
    ("gather one", lambda v: v.gather(0, t(np.array(2))), (V,), V[2]),
    ("gather nothing", lambda x: x.gather(0, t(np.zeros((2, 0), int))), (X,), np.zeros((2, 0))),
    ("take", lambda x: x.take(t(np.array([[1, -1], [5, 1]]))), (X,), X.take([[1, -1], [5, 1]])),
    ("index_select", lambda x: x.index_select(1, t(ROWS)), (X,), X[:, ROWS]),
    ("index_select one", lambda x: x.index_select(1, t(np.array(2))), (X,), X[:, 2:3]),
    ("masked_select", lambda x: x.masked_select(t(MASK[:, :1])), (X,), X[np.broadcast_to(MASK[:, :1], X.shape)]),
    ("where method", lambda x, y: x.where(t(MASK), y[:1]), (X, Y), np.where(MASK, X, Y[:1])),
    ("select", lambda x: x.select(1, -1), (X,), X[:, -1]),
    ("narrow", lambda x: x.narrow(1, -3, 2), (X,), X[:, 1:3]),
    ("unique", lambda x: x.unique(dim=1), (X,), np.unique(X, axis=1)),
]
REPLACED = [
    ("scatter", lambda x, y: x.scatter(1, t(ONCE), y), (X, Y), changed(X, (np.arange(2)[:, None], ONCE), Y[:, :3])),
    ("scatter value", lambda x: x.scatter(0, t(INDEX), 7.0), (X,), changed(X, (INDEX, np.arange(4)), 7.0)),
    ("scatter_add", lambda x, y: x.scatter_add(0, t(INDEX), y), (X, Y), added(X, (INDEX, np.arange(4)), Y)),
    ("index_add", lambda x, y: x.index_add(0, t(ROWS), y, alpha=2), (X, Y), added(X, ROWS, 2 * Y)),
    ("masked_fill", lambda x, v: x.masked_fill(t(MASK), v[1]), (X, V), np.where(MASK, V[1], X)),
]
SHAPED = [
    ("cat", lambda x, y: gc.cat([x, gc.zeros(0), y]), (X, Y), np.concatenate([X, Y])),
    ("hsplit", lambda x: x.hsplit([1, 3])[1], (X,), X[:, 1:3]),
    ("split", lambda x: x.split([1, 2])[1], (X,), X[1:]),
    ("unbind", lambda x: x.unbind(1)[2], (X,), X[:, 2]),
    ("meshgrid", lambda v, x: gc.meshgrid(v, x[0], indexing="xy")[1], (V, X), np.meshgrid(V, X[0])[1]),
    ("repeat_interleave", lambda x: x.repeat_interleave(t(np.array([2, 0, 1])), 0), (X,), np.repeat(X, [2, 0, 1], 0)),
    ("unflatten", lambda x: x.unflatten(1, (-1, 2)), (X,), X.reshape(3, 2, 2)),
    ("cov", lambda x: x.cov(correction=0, fweights=t(np.array([1, 2, 1, 3]))), (X**2,), None),
    ("tensordot", lambda x, y: gc.tensordot(x, y, dims=([1], [1])), (X, Y), X @ Y.T),
    ("cross", gc.cross, (X, X**2), np.cross(X, X**2, axis=0)),
]
ROWS_OF_TABLE = [*TAKEN, *REPLACED, *SHAPED]


@pytest.mark.parametrize(
    ("call", "arrays", "expected"), [row[1:] for row in ROWS_OF_TABLE], ids=[row[0] for row in ROWS_OF_TABLE]
)
def test_values_and_gradients(call, arrays, expected):
    check(call, arrays, expected)


@pytest.mark.parametrize("call", [lambda x, i: x.gather(1, i), lambda x, i: x.scatter(1, i, 2.0)])
def test_an_index_larger_than_the_tensor_is_a_shape_error(call):
    with pytest.raises(RuntimeError, match=r"index of shape \[4, 1\] is larger than input of shape \[3, 4\]"):
        call(t(X), gc.zeros(4, 1, dtype=gc.int64))


def test_a_start_out_of_range_is_an_index_error():
    with pytest.raises(IndexError, match="start 5 and length 1 are out of range"):
        t(X).narrow(0, 5, 1)


def test_unique_returns_inverse_and_counts():
    values, places, counts = gc.unique(t([3.0, 1.0, 3.0]), return_inverse=True, return_counts=True)
    assert (values.tolist(), places.tolist(), counts.tolist()) == ([1.0, 3.0], [1, 0, 1], [1, 2])


@pytest.mark.parametrize(
    ("pytorch", "plain", "node"),
    [
        (lambda x: gc.rot90(input=x, dims=(1, 0)), lambda a: np.rot90(a, 1, (1, 0)), "Rot90Backward0"),
        (lambda x: gc.diagflat(input=x, offset=1), lambda a: np.diagflat(a, 1), "DiagEmbedBackward0"),
        (lambda x: x.logcumsumexp(dim=0), lambda a: np.logaddexp.accumulate(a, 0), "LogcumsumexpBackward0"),
        (lambda x: x.unsqueeze(dim=1), lambda a: a[:, None], "UnsqueezeBackward0"),
        (lambda x: x.triu(diagonal=1), lambda a: np.triu(a, 1), "TriuBackward0"),
    ],
)
def test_pytorch_keywords_and_node_names(pytorch, plain, node):
    a = np.arange(6.0).reshape(2, 3)
    out = pytorch(gc.tensor(a, requires_grad=True))
    np.testing.assert_allclose(out.detach().numpy(), plain(a))
    assert out.grad_fn.name() == node


def test_adding_a_tuple_to_a_size_gives_a_size():
    total = gc.ones(2, 3).shape + (4,)
    assert type(total) is gc.Size
    assert total == (2, 3, 4)
    assert total.numel() == 24
