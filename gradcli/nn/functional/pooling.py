"""Averages and maxima over windows.

The windows of one axis are a table: row i holds the positions that output i sees, -1 where it sees padding.
Averages are a sparse matrix per axis; maxima pick elements at positions found axis by axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...api.wrap import operand, records_as, rename_function
from ...rules import entry
from ...rules.resample import Taps
from ...tape.tensor import Tensor
from .convolution import add_batch_axis, per_axis


def window_table(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil: bool) -> np.ndarray:
    """Return the positions (out, kernel) of an axis. Raises RuntimeError where there is no window.

    ceil: a last window that begins inside may reach over the end.
    """
    if stride < 1:
        raise RuntimeError("stride should not be zero")
    span = dilation * (kernel - 1) + 1
    if padding < 0 or 2 * padding > span:
        raise RuntimeError(
            f"pad should be at most half of effective kernel size, but got pad={padding}, kernel_size={kernel} "
            f"and dilation={dilation}"
        )
    room = size + 2 * padding - span
    out = (-(-room // stride) if ceil else room // stride) + 1
    if ceil and (out - 1) * stride >= size + padding:
        out -= 1
    if out < 1:
        raise RuntimeError(f"an axis of length {size} is too small for a window of {kernel}: output size {out}")
    table = stride * np.arange(out)[:, None] + dilation * np.arange(kernel) - padding
    return np.where((table >= 0) & (table < size), table, -1)


def pool_tables(x: Tensor, n: int, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool) -> list:
    kernels = per_axis(kernel, n, "kernel_size")
    steps = kernels if stride is None or stride == [] or stride == () else per_axis(stride, n, "stride")
    axes = (x.shape[-n:], kernels, steps, per_axis(padding, n, "padding"), per_axis(dilation, n, "dilation"))
    return [window_table(*axis, ceil) for axis in zip(*axes, strict=True)]


# -- averages -------------------------------------------------------------------------------------


def sum_windows(x: Tensor, tables: list, divisors: list) -> Tensor:
    """Return the sums over windows, divided per axis."""
    for i, (table, divisor) in enumerate(zip(tables, divisors, strict=True)):
        axis = i - len(tables)
        weights = (table >= 0) / np.reshape(np.asarray(divisor, float), (-1, 1))
        taps = Taps(np.maximum(table, 0), weights, x.shape[axis])
        x = entry("resample")(x, taps=taps, axis=axis, back=False)
    return x


def count_seen(table: np.ndarray) -> np.ndarray:
    return (table >= 0).sum(-1)


def avg_pool(n: int, name: str) -> Callable:
    @records_as(f"AvgPool{n}DBackward0" if n > 1 else "")
    def function(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        x, unbatched = add_batch_axis(input, n, name)
        if divisor_override == 0:
            raise RuntimeError("divisor must be not zero")
        tables = pool_tables(x, n, kernel_size, stride, padding, 1, ceil_mode)
        divisors: list = [1] * n
        if divisor_override is None:
            divisors = [count_seen(table) for table in tables]
            if count_include_pad:
                kernels = per_axis(kernel_size, n, "kernel_size")
                steps = kernels if not stride else per_axis(stride, n, "stride")
                axes = (x.shape[-n:], kernels, steps, per_axis(padding, n, "padding"), tables)
                divisors = [
                    np.minimum(s * np.arange(len(t)) - p + k, size + p) - (s * np.arange(len(t)) - p)
                    for size, k, s, p, t in zip(*axes, strict=True)
                ]
        out = sum_windows(x, tables, divisors)
        if divisor_override is not None:
            out = out / divisor_override
        return out.squeeze(0) if unbatched else out

    doc = f"Average over windows of the last {n} axes of (N, C, ...) or (C, ...)."
    return rename_function(function, name, doc)


avg_pool1d, avg_pool2d = (avg_pool(n, f"avg_pool{n}d") for n in (1, 2))


# -- maxima ---------------------------------------------------------------------------------------


def largest_positions(data: np.ndarray, tables: list) -> np.ndarray:
    """Return where, in each flattened plane, the first largest element of each window lies.

    data: (..., *sizes); returns (..., *outs).
    """
    sizes = data.shape[data.ndim - len(tables) :]
    places = np.broadcast_to(np.arange(math.prod(sizes)).reshape(sizes), data.shape)
    for axis in range(-1, -len(tables) - 1, -1):
        table = tables[axis]
        first = np.take_along_axis(table, (table >= 0).argmax(-1)[:, None], -1)
        table = np.where(table >= 0, table, first)
        cut = np.take(data, table, axis=axis)
        best = cut.argmax(axis, keepdims=True)
        data = np.take_along_axis(cut, best, axis).squeeze(axis)
        places = np.take_along_axis(np.take(places, table, axis=axis), best, axis).squeeze(axis)
    return places


def at_places(x: Tensor, places: np.ndarray, n: int) -> Tensor:
    """Return the elements of x at positions in its planes of n axes; places: (..., *outs)."""
    lead, plane = x.shape[: x.ndim - n], math.prod(x.shape[x.ndim - n :])
    starts = plane * np.arange(math.prod(lead)).reshape(lead + (1,) * n)
    return x.reshape(-1)[places + starts]


def pool_maxima(input: Tensor, n: int, name: str, tables_of: Callable, return_indices: bool) -> Any:
    """Return the maxima over windows, with their positions if wanted."""
    x, unbatched = add_batch_axis(input, n, name)
    places = largest_positions(x.detach().numpy(), tables_of(x))
    values, indices = at_places(x, places, n), operand(places)
    if unbatched:
        values, indices = values.squeeze(0), indices.squeeze(0)
    return (values, indices) if return_indices else values


def max_pool(n: int, name: str) -> tuple[Callable, Callable]:
    """Return the max pool in n dimensions, and the form that returns the positions, too."""

    @records_as(f"MaxPool{n}DWithIndicesBackward0" if n > 1 else "")
    def function(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        def tables(x: Tensor) -> list:
            return pool_tables(x, n, kernel_size, stride, padding, dilation, ceil_mode)

        return pool_maxima(input, n, name, tables, return_indices)

    doc = f"Largest element of each window of the last {n} axes."
    return rename_function(function, name, doc), with_indices(function, name)


def with_indices(function: Callable, name: str) -> Callable:
    """Return a max pool that always returns the positions."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **{**kwargs, "return_indices": True})

    return rename_function(call, f"{name}_with_indices", f"{name} with the positions of the maxima.")


(max_pool1d, max_pool1d_with_indices), (max_pool2d, max_pool2d_with_indices) = (
    max_pool(n, f"max_pool{n}d") for n in (1, 2)
)
