"""Running results along an axis, differences and integrals, with PyTorch's arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..rules import entry
from ..rules.shapes import lay_along, negative_axis
from ..tape.tensor import Tensor, as_raw
from .join import cat
from .reduce import ValuesIndices, for_adding_up, pick_only, pick_positions
from .shape import at
from .wrap import operand, public


def scan_along(name: str, input: Any, dim: int, dtype: Any) -> Tensor:
    """Run a scan of the table along dim."""
    return entry(name).function(for_adding_up(input, dtype), dim)


@public
def cumsum(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Cumulative sum along dim."""
    return scan_along("cumsum", input, dim, dtype)


@public
def cumprod(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Cumulative product along dim."""
    return scan_along("cumprod", input, dim, dtype)


def running_extreme(ufunc: np.ufunc, input: Any, dim: int, node: str) -> ValuesIndices:
    """(values, indices) of the extreme so far; nan stays, and the last of equal elements counts."""
    x = operand(input)
    axis = negative_axis(dim, x.ndim)
    if x.ndim == 0:
        return pick_only(x)
    data = as_raw(x)
    attained = (data == ufunc.accumulate(data, axis=axis)) | (data != data)
    steps = lay_along(np.arange(data.shape[axis]), axis)
    indices = np.maximum.accumulate(np.where(attained, steps, 0), axis=axis)
    return ValuesIndices(pick_positions(x, indices, axis, node), Tensor._wrap(indices, None))


@public
def cummax(input: Tensor, dim: int) -> ValuesIndices:
    """(values, indices) of the largest element so far along dim."""
    return running_extreme(np.maximum, input, dim, "CummaxBackward0")


@public
def cummin(input: Tensor, dim: int) -> ValuesIndices:
    """(values, indices) of the smallest element so far along dim."""
    return running_extreme(np.minimum, input, dim, "CumminBackward0")


# -- integrals ------------------------------------------------------------------------------------


def trapezia(y: Any, x: Any, dx: float, dim: int) -> Tensor:
    """The areas between neighbouring points along dim."""
    y = operand(y)
    dim = negative_axis(dim, y.ndim)
    heights = (at(y, dim, slice(1, None)) + at(y, dim, slice(None, -1))) * 0.5
    if x is None:
        return heights * dx
    x = operand(x)
    if x.ndim == 1:
        steps = lay_along(x[1:] - x[:-1], dim)
    else:
        axis = dim + y.ndim - x.ndim if dim + y.ndim < x.ndim and x.ndim > y.ndim else dim
        steps = at(x, axis, slice(1, None)) - at(x, axis, slice(None, -1))
    return heights * steps


@public(names=("trapz",), method=False)
def trapezoid(y: Tensor, x: Any = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """Integral of y over dim by the trapezoidal rule; x are the abscissas, dx their distance."""
    return trapezia(y, x, dx, dim).sum(negative_axis(dim, operand(y).ndim))


@public(method=False)
def cumulative_trapezoid(y: Tensor, x: Any = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """Cumulative integral of y along dim by the trapezoidal rule; one element shorter than y."""
    return cumsum(trapezia(y, x, dx, dim), negative_axis(dim, operand(y).ndim))


# -- differences ----------------------------------------------------------------------------------


@public
def diff(input: Tensor, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """n-th differences of neighbours along dim; of booleans whether they differ."""
    x = operand(input)
    if x.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    axis = negative_axis(dim, x.ndim)
    if n == 0:
        return x.clone()
    parts = [part for part in (prepend, x, append) if part is not None]
    return entry("diff").function(cat(parts, axis) if len(parts) > 1 else x, n, axis)


@public(method=False)
def gradient(input: Tensor, *, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> tuple:
    """Central differences along every axis of dim, one-sided ones of edge_order at both ends.

    spacing: one distance (1 unless given), one per axis, or a tensor of coordinates per axis.
    """
    from ..rules.differences import slope  # here, because it takes long to import

    x = operand(input)
    if edge_order not in (1, 2):
        raise RuntimeError(f"torch.gradient only supports edge_order=1 and edge_order=2, not {edge_order}")
    dims = range(x.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    axes = [negative_axis(i, x.ndim) for i in dims]
    several = isinstance(spacing, list | tuple)
    steps = list(spacing) if several else [1 if spacing is None else spacing] * len(axes)
    if len(steps) != len(axes):
        raise RuntimeError(f"gradient got spacing for {len(steps)} axes, and {len(axes)} axes")
    length = min((x.shape[axis] for axis in axes), default=3)
    if length <= edge_order:
        raise RuntimeError(
            f"torch.gradient expected each dimension size to be at least edge_order+1, got {length} for {edge_order}"
        )
    return tuple(slope(x, axis, step, edge_order) for axis, step in zip(axes, steps, strict=True))
