"""Sliding windows over the last axes, and convolution as a product of windows with weights.

The arrays have an axis of groups: x (N, G, C, *size), w (G, O, C, *kernel), y (N, G, O, *out). The trilinear form
sum(y w x) gives three products, each the transpose of the other two, so that derivatives of any order stay among
them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from .movement import permute_axes
from .shapes import Shape, fit_to_shape
from .table import A, Sample, batch_aligned, internal, rule


class Windows(NamedTuple):
    """Positions of windows: `out` windows of `kernel` elements, `dilation` apart, every `stride` elements.

    padding: zeros (before, after) each axis around an array of `size`.
    """

    size: Shape
    kernel: Shape
    stride: Shape
    dilation: Shape
    padding: tuple[tuple[int, int], ...]
    out: Shape

    def take(self, x: np.ndarray) -> np.ndarray:
        """Return the windows of an array lead + size, as lead + out + kernel (usually a read-only view)."""
        n = len(self.size)
        if any(map(any, self.padding)):
            x = np.pad(x, ((0, 0),) * (x.ndim - n) + self.padding)
        span = tuple(d * (k - 1) + 1 for k, d in zip(self.kernel, self.dilation, strict=True))
        view: Any = np.lib.stride_tricks.sliding_window_view(x, span, axis=tuple(range(-n, 0)))
        starts = (slice(0, s * (m - 1) + 1, s) for s, m in zip(self.stride, self.out, strict=True))
        steps = (slice(None, None, d) for d in self.dilation)
        return view[(..., *starts, *steps)]

    def put(self, columns: Any) -> np.ndarray:
        """Add up overlapping windows lead + out + kernel in an array lead + size."""
        n = len(self.size)
        padded = tuple(m + a + b for m, (a, b) in zip(self.size, self.padding, strict=True))
        result: Any = np.zeros(columns.shape[: columns.ndim - 2 * n] + padded, columns.dtype)
        for place in product(*map(range, self.kernel)):
            steps = zip(place, self.dilation, self.stride, self.out, strict=True)
            elements = (slice(k * d, k * d + s * (n - 1) + 1, s) for k, d, s, n in steps)
            result[(..., *elements)] += columns[(..., *place)]
        inside = (slice(a, a + m) for m, (a, _) in zip(self.size, self.padding, strict=True))
        return result[(..., *inside)]


LINE_WINDOWS = Windows((5,), (3,), (2,), (1,), ((1, 1),), (3,))
PLANE = Windows((4, 5), (2, 2), (1, 2), (2, 1), ((0, 0), (1, 0)), (2, 3))
unfold_windows = internal.linear(
    "unfold_windows",
    lambda x, *, windows: windows.take(x).copy(),
    rule("The windows of g added up", lambda g, _, _x, *, windows: fold_windows(g, windows=windows)),
    node="Im2Col",
    samples=(Sample(A(2, 5), windows=LINE_WINDOWS), Sample(A(4, 5), windows=PLANE)),
)
fold_windows: Any = internal.linear(
    "fold_windows",
    lambda x, *, windows: windows.put(x),
    rule("The windows of g", lambda g, _, _x, *, windows: unfold_windows(g, windows=windows)),
    node="Col2Im",
    samples=(Sample(A(2, 3, 3), windows=LINE_WINDOWS), Sample(A(2, 3, 2, 2), windows=PLANE)),
)


def columns_of(x: np.ndarray, windows: Windows) -> np.ndarray:
    """Return the windows of x (N, G, C, *size) as matrices (G, C kernel, N out)."""
    n = len(windows.size)
    view = windows.take(x)
    places, elements = range(-2 * n, -n), range(-n, 0)
    moved = permute_axes(view, (-2 * n - 2, -2 * n - 1, *elements, -2 * n - 3, *places))
    groups, channels = view.shape[-2 * n - 2 : -2 * n]
    sizes = channels * math.prod(windows.kernel), view.shape[-2 * n - 3] * math.prod(windows.out)
    return moved.reshape(*view.shape[: -2 * n - 3], groups, *sizes)


def window_rows(y: np.ndarray, windows: Windows) -> np.ndarray:
    """Return y (N, G, O, *out) as matrices (G, O, N out)."""
    n = len(windows.size)
    moved = permute_axes(y, (-n - 2, -n - 1, -n - 3, *range(-n, 0)))
    return moved.reshape(*moved.shape[: -n - 1], y.shape[-n - 3] * math.prod(windows.out))


def flat_weight(w: np.ndarray, windows: Windows) -> np.ndarray:
    """Return w (G, O, C, *kernel) as matrices (G, O, C kernel)."""
    kept = w.shape[: -len(windows.size) - 1]
    return w.reshape(*kept, math.prod(w.shape[len(kept) :]))


def convolve_forward(x, w, *, windows):
    """y = sum over C and kernel of windows(x) w."""
    n = len(windows.size)
    out = flat_weight(w, windows) @ columns_of(x, windows)
    parted = out.reshape(*out.shape[:-1], x.shape[-n - 3], *windows.out)
    return np.ascontiguousarray(permute_axes(parted, (-n - 1, -n - 3, -n - 2, *range(-n, 0))))


def unconvolve_forward(y, w, *, windows):
    """x = the windows (the sum over O of w y), added up."""
    n = len(windows.size)
    out = flat_weight(w, windows).mT @ window_rows(y, windows)
    parted = out.reshape(*out.shape[:-2], *w.shape[-n - 1 :], y.shape[-n - 3], *windows.out)
    kernel, places = range(-2 * n - 1, -n - 1), range(-n, 0)
    return windows.put(permute_axes(parted, (-n - 1, -2 * n - 3, -2 * n - 2, *places, *kernel)))


def weigh_forward(x, y, *, windows):
    """w = sum over N and out of y windows(x)."""
    out = window_rows(y, windows) @ columns_of(x, windows).mT
    return out.reshape(*out.shape[:-1], x.shape[-len(windows.size) - 1], *windows.kernel)


X, W, Y = ((2, 1, 2, 5), (1, 2, 1, 4, 5)), ((1, 3, 2, 3), (2, 2, 1, 2, 2)), ((2, 1, 3, 3), (1, 2, 2, 2, 3))
product_entry = functools.partial(internal.general, batch=batch_aligned, node="Convolution", promote=None)


def for_first(formula: str, product: Callable) -> Callable:
    """Return the rule for a first operand: product(g, y), summed over leading axes that the operand lacks."""
    return rule(
        formula,
        lambda g, out_shape, x_shape, y, *, windows: fit_to_shape(
            product(g, y.conj(), windows), x_shape, len(out_shape)
        ),
    )


def for_second(formula: str, product: Callable) -> Callable:
    return rule(
        formula,
        lambda g, out_shape, x, y_shape, *, windows: fit_to_shape(
            product(g, x.conj(), windows), y_shape, len(out_shape)
        ),
    )


def examples(first: tuple, second: tuple) -> tuple:
    """Return samples for a product of arrays with these shapes, on a line and in the plane."""
    return tuple(Sample(A(*x), A(*y), windows=w) for x, y, w in zip(first, second, (LINE_WINDOWS, PLANE), strict=True))


convolve_windows: Any = product_entry(
    "convolve_windows",
    convolve_forward,
    for_first("x from g and w", lambda g, w, windows: unconvolve(g, w, windows=windows)),
    for_second("w from x and g", lambda g, x, windows: weigh(x, g, windows=windows)),
    samples=examples(X, W),
)
unconvolve: Any = product_entry(
    "unconvolve_windows",
    unconvolve_forward,
    for_first("y from g and w", lambda g, w, windows: convolve_windows(g, w, windows=windows)),
    for_second("w from g and y", lambda g, y, windows: weigh(g, y, windows=windows)),
    samples=examples(Y, W),
)
weigh: Any = product_entry(
    "convolve_weight",
    weigh_forward,
    for_first("x from y and g", lambda g, y, windows: unconvolve(y, g, windows=windows)),
    for_second("y from x and g", lambda g, x, windows: convolve_windows(x, g, windows=windows)),
    samples=examples(X, Y),
)
