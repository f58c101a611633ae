"""Functions that take, choose and replace elements, with PyTorch's arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..rules import entry
from ..rules.index import ArrayIndex
from ..rules.select import lanes
from ..rules.shapes import at_axis, negative_axis
from ..tape.dtypes import as_dtype
from ..tape.modes import report_event
from ..tape.record import dispatch, relabel
from ..tape.tensor import Tensor, as_operand, as_raw
from ..tape.torch_errors import BoundsError
from .shape import expand
from .wrap import METHOD_FORMS, as_method_operand, public


def index_positions(index: Any, size: int, name: str, wrap: bool = False, dim: int | None = None) -> np.ndarray:
    """Return an index tensor as an array. Raises RuntimeError for other types, and IndexError. dim: named in errors."""
    places = as_raw(index)
    if places.dtype.kind not in "iu":
        raise RuntimeError(f"{name}(): expected an index tensor of integers, got {places.dtype}")
    low = -size if wrap else 0
    if places.size and not low <= places.min() <= places.max() < size:
        bad = places.max() if places.max() >= size else places.min()
        if dim is None:
            raise IndexError(f"out of range: tried to access index {bad} on a tensor of {size} elements.")
        raise BoundsError(f"index {bad} is out of bounds for dimension {dim} with size {size}")
    return places.astype(np.intp, copy=False)


def positions_along(input: Tensor, dim: int, index: Any, name: str) -> tuple[int, np.ndarray]:
    """Return dim as a negative axis, and the positions along it."""
    axis = negative_axis(dim, input.ndim)
    return axis, index_positions(index, input.shape[axis], name, dim=axis + input.ndim)


def lane_index(input: Tensor, dim: int, index: Any, name: str) -> ArrayIndex:
    """Return the index of the elements at the given positions in each lane along dim."""
    axis, places = positions_along(input, dim, index, name)
    if not places.ndim and input.ndim == 1:
        return ArrayIndex((places,), tuple(input.shape))
    if not places.size:
        return ArrayIndex((np.zeros(places.shape, np.intp),) * input.ndim, tuple(input.shape))
    if places.ndim != input.ndim:
        raise RuntimeError(
            f"Index tensor must have the same number of dimensions as input tensor ({name}), "
            f"got {places.ndim} and {input.ndim}"
        )
    if any(n > m for i, (n, m) in enumerate(zip(places.shape, input.shape, strict=True)) if i - input.ndim != axis):
        text = f"index of shape {list(places.shape)} is larger than input of shape {list(input.shape)}"
        raise RuntimeError(f"{name}(): {text} apart from dimension {dim}")
    return lanes(tuple(input.shape), places, axis)


def slice_index(input: Tensor, dim: int, index: Any, name: str) -> ArrayIndex:
    axis, places = positions_along(input, dim, index, name)
    if places.ndim > 1:
        raise RuntimeError(f"{name}(): Index is supposed to be a vector, got {places.ndim} axes")
    return ArrayIndex(at_axis(axis, np.atleast_1d(places)), tuple(input.shape))


def fit_source(input: Tensor, src: Any, index: ArrayIndex, name: str) -> Any:
    """Cut src to the shape of an index. Raises RuntimeError if the type or rank differs."""
    if not isinstance(src, Tensor):
        return src
    shape = index.result_shape()
    if src.dtype != input.dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype, got {input.dtype} and {src.dtype}")
    if tuple(src.shape) == shape:
        return src
    if src.ndim != len(shape) or any(n > m for n, m in zip(shape, src.shape, strict=True)):
        raise RuntimeError(f"{name}(): src of shape {list(src.shape)} does not cover index of shape {list(shape)}")
    return src[tuple(slice(n) for n in shape)]


def add_at(value: Any, index: ArrayIndex) -> Tensor:
    return dispatch(entry("put_zeros"), (value,), {"index": index, "lead": ()})


def of_numbers(*parts: str) -> Callable[[Callable], Callable]:
    """Let a function along an axis take a 0-d tensor, which it treats as a vector with one element.

    parts: the arguments besides the index that are vectors then.
    """

    def decorate(function: Callable) -> Callable:
        names = inspect.signature(function)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            given = names.bind(*args, **kwargs).arguments
            if given["input"].ndim:
                return function(*args, **kwargs)
            shape = tuple(given["index"].shape) if function.__name__ == "gather" else ()
            for name in ("input", "index", *parts):
                if isinstance(given.get(name), Tensor) and not given[name].ndim:
                    given[name] = given[name].reshape((1,))
            return function(**given).reshape(shape)

        return call

    return decorate


@public
@of_numbers()
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """Elements at the positions index along dim, such as input[index[i, j], j] for dim=0."""
    places = lane_index(input, dim, index, "gather")
    return dispatch(entry("getitem"), (input,), {"index": places, "label": "GatherBackward0"})


@public
@of_numbers("src")
def scatter(input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None) -> Tensor:
    """input with the positions that gather would read replaced by src (a tensor or a number)."""
    places = lane_index(input, dim, index, "scatter")
    src = fit_source(input, value if src is None else src, places, "scatter")
    return dispatch(entry("setitem"), (input, src), {"index": places, "label": "Scatter"})


@public(node="ScatterAddBackward0")
@of_numbers("src")
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """input with src added at the positions that gather would read."""
    places = lane_index(input, dim, index, "scatter_add")
    return input + add_at(fit_source(input, src, places, "scatter_add"), places)


@public(node="ScatterReduceBackward0")
@of_numbers("src")
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """input with src combined into the positions that gather would read, by sum, prod, mean, amax or amin."""
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}.")
    places, count = lane_index(input, dim, index, "scatter_reduce"), input.numel()
    targets = np.arange(count).reshape(tuple(input.shape))[places.key].reshape(-1)
    own = np.arange(count) if include_self else np.setdiff1d(np.arange(count), targets)
    # each row lists what one element of the result is computed from, padded with the neutral element
    given = np.concatenate([own, targets])
    order, counts = np.argsort(given, kind="stable"), np.bincount(given, minlength=count)
    rows = np.full((count, counts.max(initial=0)), count + targets.size)
    numbers = np.concatenate([own, count + np.arange(targets.size)])[order]
    rows[np.arange(rows.shape[1]) < counts[:, None]] = numbers
    kind = input._data.dtype
    low, high = (np.iinfo(kind).min, np.iinfo(kind).max) if kind.kind in "iu" else (-np.inf, np.inf)
    neutral = {"prod": 1, "amax": low, "amin": high}.get(reduce, 0)
    part = fit_source(input, src, places, "scatter_reduce").reshape(-1)
    pool = entry("concatenate").function([input.reshape(-1), part, np.full(1, neutral, kind)])
    made = getattr(pool[rows], "sum" if reduce == "mean" else reduce)(-1)
    if reduce == "mean":
        sizes = Tensor._wrap(counts.astype(kind), None)
        made = made / sizes if kind.kind in "fc" else made // sizes
    return made.reshape(tuple(input.shape))


@public
@of_numbers()
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Slices at integer positions along dim."""
    places = slice_index(input, dim, index, "index_select")
    return dispatch(entry("getitem"), (input,), {"index": places, "label": "IndexSelectBackward0"})


@public(node="IndexAddBackward0")
@of_numbers("source")
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """input with alpha * source added to its slices at index."""
    places = slice_index(input, dim, index, "index_add")
    source = fit_source(input, source, places, "index_add")
    return input + add_at(source if alpha == 1 else source * alpha, places)


@public
@of_numbers("source")
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """input with its slices at index replaced by those of source."""
    places = slice_index(input, dim, index, "index_copy")
    source = fit_source(input, source, places, "index_copy")
    return dispatch(entry("setitem"), (input, source), {"index": places, "label": "IndexCopyBackward0"})


@public
@of_numbers()
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """input with its slices at index filled with a number."""
    if isinstance(value, Tensor) and value.ndim:
        raise RuntimeError(f"index_fill_ only supports a 0-dimensional value tensor, but got {value.ndim} dimension(s)")
    places = slice_index(input, dim, index, "index_fill")
    return dispatch(entry("setitem"), (input, value), {"index": places, "label": "IndexFillBackward0"})


@public(node="TakeBackward0")
def take(input: Tensor, index: Tensor) -> Tensor:
    """Elements at positions in the flattened tensor."""
    return input.reshape((-1,))[index_positions(index, input.numel(), "take", wrap=True)]


@public
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """Return the diagonal of a matrix, or a matrix with the given diagonal."""
    result = entry("diag").function(input, diagonal)
    return result.clone() if input.ndim == 2 else result


@public(node="TraceBackward0")
def trace(input: Tensor) -> Tensor:
    """Sum of the diagonal of a matrix."""
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    return entry("trace").function(input)


@public
def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """input where the condition holds, else other; for a condition alone, the positions where it holds."""
    if input is None:
        return nonzero(condition, as_tuple=True)
    return dispatch(entry("where"), (as_operand(condition), as_operand(input), as_operand(other)), {})


def method_where(self: Tensor, condition: Any, other: Any) -> Tensor:
    """self where the condition holds, else other."""
    return where(condition, self, other)


METHOD_FORMS["where"] = method_where


@public
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """value where the mask holds, else input."""
    if as_raw(mask).dtype != bool:
        kind = as_dtype(as_raw(mask).dtype).name
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {kind}")
    if isinstance(value, Tensor) and value.ndim:
        raise RuntimeError(f"masked_fill only supports a 0-dimensional value tensor, got {value.ndim} dimension(s)")
    return relabel(dispatch(entry("where"), (mask, value, input), {}), "MaskedFillBackward0")


@public(node="MaskedSelectBackward0")
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """Return the elements where the mask holds, after broadcasting both."""
    chosen = as_raw(mask)
    if chosen.dtype != bool:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    shape = np.broadcast_shapes(tuple(input.shape), chosen.shape)
    return expand(input, shape)[np.broadcast_to(chosen, shape)]


@public
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """Return the positions of the elements that are not 0."""
    positions = np.nonzero(np.atleast_1d(as_raw(input)))
    if not input.ndim and not as_tuple:
        return report_event("nonzero", input, Tensor._wrap(np.zeros((positions[0].size, 0), np.int64), None))
    if as_tuple:
        return tuple(report_event("nonzero", input, Tensor._wrap(places, None)) for places in positions)
    return report_event("nonzero", input, Tensor._wrap(np.stack(positions, -1), None))


@public
def unique(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Any = None
) -> Any:
    """Return the distinct elements (or slices along dim) in ascending order; on request, also positions and counts."""
    results = entry("unique").function(input, False, return_inverse, return_counts, dim)
    return tuple(map(as_method_operand, results)) if isinstance(results, tuple) else results


@public
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """Count how often each number from 0 on occurs, or add up its weights."""
    numbers = as_raw(input)
    if numbers.dtype.kind not in "iu" or numbers.ndim != 1 or numbers.min(initial=0) < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    return as_method_operand(np.bincount(numbers, None if weights is None else as_raw(weights), minlength))


@public(method=False)
def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Tensor:
    """Positions at which the values of input would keep sorted_sequence in order, row by row if it has several rows."""
    if right and side == "left":
        raise RuntimeError("side and right can't be set to opposites, got side of left while right was True")
    knots, values = as_raw(sorted_sequence), as_raw(input)
    if sorter is not None:
        knots = np.take_along_axis(knots, as_raw(sorter), -1)
    if knots.ndim > 1 and knots.shape[:-1] != values.shape[:-1]:
        raise RuntimeError("boundaries tensor should be 1 dimension or have the same leading axes as the values")
    where: Any = "right" if right or side == "right" else "left"
    if knots.ndim == 1:
        places = np.searchsorted(knots, values, where)
    else:
        places = np.empty(values.shape, np.int64)
        for row in np.ndindex(knots.shape[:-1]):
            places[row] = np.searchsorted(knots[row], values[row], where)
    return Tensor._wrap(np.asarray(places, np.int32 if out_int32 else np.int64), None)


@public(method=False)
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Report which elements are among test_elements."""
    return as_method_operand(np.isin(as_raw(elements), as_raw(test_elements), assume_unique, invert))
