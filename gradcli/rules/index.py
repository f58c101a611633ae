"""Indexing: taking elements out and putting them back. Each is the transpose of the other.

An `ArrayIndex` holds NumPy's index for an array of a known shape. It also applies to arrays with extra leading axes,
while NumPy's `x[..., i, :, j]` would put the new axis in front of these.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from .shapes import Shape, as_int, fit_to_shape, lead_of, rank, shape_of
from .table import SELECTION, A, Sample, internal, rule


def plain_item(item: Any) -> Any:
    """Return one item of an index in the form NumPy needs: Tensors and lists become arrays."""
    if isinstance(item, bool | np.bool_):
        return np.array(item)
    if item is None or item is Ellipsis or isinstance(item, int | np.integer):
        return item
    if isinstance(item, slice):
        return slice(*(None if n is None else as_int(n) for n in (item.start, item.stop, item.step)))
    array = np.asarray(getattr(item, "_data", item))
    if array.size == 0 and array.dtype.kind == "f":
        array = array.astype(np.intp)
    if array.dtype.kind not in "iub":
        raise IndexError(f"an index must be made of integers, booleans, slices, None or ..., not {array.dtype}")
    return int(array) if array.ndim == 0 and array.dtype.kind != "b" else array


class ArrayIndex:
    """A NumPy index for arrays of `shape`. Raises IndexError if NumPy would."""

    def __init__(self, index: Any, shape: Shape):
        if isinstance(index, list) and (any(i is None or i is Ellipsis or isinstance(i, slice | list) for i in index)):
            index = tuple(index)
        items = index if isinstance(index, tuple) else (index,)
        self.key = tuple(plain_item(i) for i in items)
        self.shape = shape
        self.basic = not any(isinstance(i, np.ndarray) for i in self.key)

    @classmethod
    def of_places(cls, key: tuple[np.ndarray, ...], shape: Shape) -> ArrayIndex:
        """Return an index of single elements, each taken at most once. key: one array of positions per axis."""
        index = cls.__new__(cls)
        index.key, index.shape, index.basic = key, shape, False
        index.joined = index.unique = True
        return index

    @cached_property
    def full(self) -> tuple:
        """The key with its ellipsis written out: one item per axis of the array."""
        used = sum(i.ndim if isinstance(i, np.ndarray) and i.dtype == bool else i is not None for i in self.key)
        used -= sum(i is Ellipsis for i in self.key)
        if used > len(self.shape):
            raise IndexError(f"too many indices: {used} for an array of shape {self.shape}")
        fill = (slice(None),) * (len(self.shape) - used)
        for place, item in enumerate(self.key):
            if item is Ellipsis:
                return self.key[:place] + fill + self.key[place + 1 :]
        return self.key + fill

    @cached_property
    def map(self) -> np.ndarray:
        """Positions of the taken elements in the flattened array."""
        return np.arange(np.prod(self.shape, dtype=np.intp)).reshape(self.shape)[self.key]

    @cached_property
    def view_key(self) -> tuple:
        """The key, with an ellipsis added if it is basic, so that NumPy returns a view even of a single element."""
        return (*self.key, ...) if self.basic and Ellipsis not in self.key else self.key

    @cached_property
    def joined(self) -> bool:
        """Whether the array items are adjacent, so that leading axes stay in front."""
        places = [i for i, item in enumerate(self.full) if isinstance(item, int | np.integer | np.ndarray)]
        return self.basic or places[-1] - places[0] == len(places) - 1

    @cached_property
    def unique(self) -> bool:
        """Whether no element can be taken twice."""
        return self.basic or all(i.dtype == bool for i in self.key if isinstance(i, np.ndarray))

    @cached_property
    def last(self) -> np.ndarray:
        """Mask of the values that an assignment keeps: the last one if an element gets several, as in NumPy."""
        written = np.zeros(self.shape, np.intp)
        order = np.arange(written[self.key].size).reshape(self.result_shape())
        written[self.key] = order
        return written[self.key] == order

    @cached_property
    def whole(self) -> bool:
        """Whether the index takes the whole array unchanged."""
        return self.basic and all(i is Ellipsis or (isinstance(i, slice) and i == slice(None)) for i in self.key)

    def take(self, x: np.ndarray) -> np.ndarray:
        """Return the elements taken from x, an array of shape lead + self.shape."""
        if x.ndim == len(self.shape):
            return x[self.view_key] if self.basic else np.ascontiguousarray(x[self.key])
        if self.joined:
            return x[(..., *self.full)]
        return x.reshape(lead_of(x, self.shape) + (-1,))[..., self.map]

    def put(self, g: np.ndarray, lead: Shape) -> np.ndarray:
        """Return zeros of shape lead + self.shape with g added at the elements taken."""
        out = np.zeros(lead + self.shape, g.dtype)
        if self.joined:
            key: Any = self.key if not lead else (..., *self.full)
            if self.unique:
                out[key] = g
            else:
                np.add.at(out, key, g)
        else:
            np.add.at(out.reshape(lead + (-1,)), (..., self.map), g)  # type: ignore[arg-type]
        return out

    def result_shape(self) -> Shape:
        return np.broadcast_to(np.zeros(()), self.shape)[self.key].shape

    def node(self) -> str:
        """Return PyTorch's name for the last step of this index."""
        if not self.basic:
            return "Index"
        for item in reversed(self.key):
            if item is None:
                return "Unsqueeze"
            if isinstance(item, slice) and item != slice(None):
                return "Slice"
            if isinstance(item, int | np.integer):
                return "Select"
        return "Alias"


def getitem_vjp(g, out_shape, x_shape, *, index, label=None):
    """Zeros with g added at the taken elements."""
    behind = len(out_shape) - (len(x_shape) - len(index.shape))
    return put(g, index=index, lead=g.shape[: g.ndim - behind])


def batch_set(size, operands, flags, params):
    """Keep the value's leading axis in front of the axes that broadcasting adds."""
    x, value = operands
    missing = len(params["index"].result_shape()) + 1 - rank(value)
    if flags[1] and missing:
        value = value.reshape((size,) + (1,) * missing + shape_of(value)[1 + max(-missing, 0) :])
    if not flags[0]:
        x = np.broadcast_to(x, (size, *shape_of(x)))
    return (x, value), params


getitem = internal.selection(
    "getitem",
    lambda x, *, index, label=None: index.take(x),
    getitem_vjp,
    bind=lambda x, index: ((x,), {"index": ArrayIndex(index, shape_of(x))}),
    node=lambda x_shape, params: params.get("label") or params["index"].node(),
    view=True,
    samples=(
        Sample(A(3, 4), 1),
        Sample(A(3, 4), (slice(None), slice(0, 4, 2))),
        Sample(A(3, 4), (slice(None, None, -1), None, 2)),
        Sample(A(3, 4), (..., -1)),
        Sample(A(3, 4), np.array([0, 2, 0])),
        Sample(A(2, 3, 4), (np.array([0, 1, 1]), slice(None), np.array([3, 0, 3]))),
        Sample(A(2, 3, 4), (0, slice(None), np.array([[1, 1], [2, 0]]))),
        Sample(A(3, 4), np.eye(3, 4, dtype=bool)),
        Sample(A(2, 3, 4), (slice(None), np.array([True, False, True]))),
        Sample(A(), ()),
    ),
)
put = internal.selection(
    "put_zeros",
    lambda g, *, index, lead: index.put(g, lead),
    rule("The taken elements of g", lambda g, out_shape, _, *, index, lead: getitem(g, index=index)),
    node="Put",
    batch=lambda size, operands, _flags, params: (operands, {**params, "lead": (size, *params["lead"])}),
)


def set_dvalue(g, out_shape, _x, value_shape, *, index, label=None):
    """The elements of g that came from the value, summed over the axes along which it was broadcast."""
    part, lead = getitem(g, index=index), lead_of(g, out_shape)
    if not index.unique:
        part = np.where(index.last, part, 0.0)
    ndim = part.ndim - len(lead)
    part = fit_to_shape(part, value_shape[max(len(value_shape) - ndim, 0) :], ndim)
    return part.reshape(lead + value_shape)  # a value may have more axes than the elements it replaces, all of length 1


def set_forward(x, value, *, index, label=None):
    """A copy of x with x[index] = value."""
    out = np.array(x)
    if x.ndim == len(index.shape):
        out[index.key] = value
    elif index.joined:
        out[(..., *index.full)] = value
    else:
        out.reshape(lead_of(x, index.shape) + (-1,))[..., index.map] = value
    return out


replace: Any = internal.general(
    "setitem",
    set_forward,
    rule(
        "g with 0 at the replaced elements",
        lambda g, _out, _x, _value, *, index, label=None: replace(g, 0.0, index=index),
    ),
    set_dvalue,
    bind=lambda x, index, value: ((x, value), {"index": ArrayIndex(index, shape_of(x))}),
    node=lambda x_shape, params: params.get("label") or "CopySlices",
    batch=batch_set,
    samples=(
        Sample(A(3, 4), 1, A(4)),
        Sample(A(3, 4), (slice(None), 2), A()),
        Sample(A(3, 4), np.array([2, 0]), A(2, 1)),
        Sample(A(2, 3, 4), (np.array([0, 1]), slice(None), np.array([3, 0])), A(2, 3)),
        Sample(A(3, 4), np.eye(3, 4, dtype=bool), A()),
        Sample(A(3, 4), 1, A(1, 1, 4)),
        Sample(A(3, 4), np.array([2, 0, 2]), A(3, 4)),
        Sample(A(2, 3, 4), (np.array([0, 1, 0]), slice(None), np.array([3, 0, 3])), A(3, 1)),
    ),
    pattern=SELECTION,
)
