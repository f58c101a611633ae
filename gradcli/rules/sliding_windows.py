"""Sliding windows over the last axes, and convolution as the product of windows with weights.

Arrays carry an axis of groups: x (N, G, C, *size), w (G, O, C, *kernel), y (N, G, O, *out). The trilinear form
sum(y w x) gives three products, each the transpose of the other two, so that any order of derivative stays
among them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from .index import Index, put
from .movement import moveaxis
from .shapes import Shape, at_axis, negative_axis, rank
from .table import NAMES, A, Sample, general, linear, rule, with_axis


class Windows(NamedTuple):
    """Where windows lie: `out` windows of `kernel` elements, `dilation` apart, every `stride` elements.

    padding: (before, behind) per axis, zeros around an array of `size`.
    """

    size: Shape
    kernel: Shape
    stride: Shape
    dilation: Shape
    padding: tuple[tuple[int, int], ...]
    out: Shape

    def take(self, x: np.ndarray) -> np.ndarray:
        """Return the windows of an array lead + size, as lead + out + kernel (mostly a read-only view)."""
        n = len(self.size)
        if any(map(any, self.padding)):
            x = np.pad(x, ((0, 0),) * (x.ndim - n) + self.padding)
        span = tuple(d * (k - 1) + 1 for k, d in zip(self.kernel, self.dilation, strict=True))
        view: Any = np.lib.stride_tricks.sliding_window_view(x, span, axis=tuple(range(-n, 0)))
        starts = (slice(0, s * (m - 1) + 1, s) for s, m in zip(self.stride, self.out, strict=True))
        steps = (slice(None, None, d) for d in self.dilation)
        return view[(..., *starts, *steps)]

    def put(self, columns: Any) -> np.ndarray:
        """Return windows lead + out + kernel added up where they overlap: lead + size."""
        n = len(self.size)
        padded = tuple(m + a + b for m, (a, b) in zip(self.size, self.padding, strict=True))
        result: Any = np.zeros(columns.shape[: columns.ndim - 2 * n] + padded, columns.dtype)
        for place in product(*map(range, self.kernel)):
            steps = zip(place, self.dilation, self.stride, self.out, strict=True)
            elements = (slice(k * d, k * d + s * (n - 1) + 1, s) for k, d, s, n in steps)
            result[(..., *elements)] += columns[(..., *place)]
        inside = (slice(a, a + m) for m, (a, _) in zip(self.size, self.padding, strict=True))
        return result[(..., *inside)]


LINE = Windows((5,), (3,), (2,), (1,), ((1, 1),), (3,))
PLANE = Windows((4, 5), (2, 2), (1, 2), (2, 1), ((0, 0), (1, 0)), (2, 3))
unfold_windows = linear(
    "unfold_windows",
    lambda x, *, windows: windows.take(x).copy(),
    rule("The windows of g added up", lambda g, _, _x, *, windows: fold_windows(g, windows=windows)),
    bind=lambda x, windows: ((x,), {"windows": windows}),
    node="Im2Col",
    samples=(Sample(A(2, 5), LINE), Sample(A(4, 5), PLANE)),
    public=False,
    doc="Windows over the last axes.",
)
fold_windows: Any = linear(
    "fold_windows",
    lambda x, *, windows: windows.put(x),
    rule("The windows of g", lambda g, _, _x, *, windows: unfold_windows(g, windows=windows)),
    bind=lambda x, windows: ((x,), {"windows": windows}),
    node="Col2Im",
    samples=(Sample(A(2, 3, 3), LINE), Sample(A(2, 3, 2, 2), PLANE)),
    public=False,
    doc="Windows over the last axes, added up where they overlap.",
)


def sliding_forward(x, *, axis, size, step):
    """Windows of some elements, every `step` elements along an axis, as a new last axis of the same memory."""
    owner = x
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    owner = owner if owner.flags.c_contiguous else owner.T
    shape, strides = list(x.shape), list(x.strides)
    shape[axis] = (x.shape[axis] - size) // step + 1
    strides[axis] *= step
    offset = x.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    view = np.ndarray((*shape, size), x.dtype, owner, offset, (*strides, x.strides[axis]))
    view.flags.writeable = x.flags.writeable
    return view


def sliding_vjp(g, _, x_shape, *, axis, size, step):
    """The windows of g added up at their places."""
    starts = np.arange(0, x_shape[axis] - size + 1, step)
    index = Index(at_axis(axis, starts[:, None] + np.arange(size)), x_shape)
    return put(moveaxis(g, -1, axis), index=index, lead=g.shape[: g.ndim - 1 - len(x_shape)])


linear(
    "sliding_windows",
    sliding_forward,
    sliding_vjp,
    bind=lambda x, axis, size, step: ((x,), {"axis": negative_axis(axis, rank(x)), "size": size, "step": step}),
    node="Unfold",
    view=True,
    samples=(Sample(A(7), 0, 3, 2), Sample(A(5, 2), 0, 2, 1), Sample(A(2, 6, 2), 1, 2, 3)),
    public=False,
    doc="Windows along one axis.",
)

# -- convolution ----------------------------------------------------------------------------------


def columns_of(x: np.ndarray, windows: Windows) -> np.ndarray:
    """Return the windows of x (N, G, C, *size) as matrices (G, C kernel, N out)."""
    n = len(windows.size)
    view = windows.take(x)
    axes = (1, 2, *range(n + 3, 2 * n + 3), 0, *range(3, n + 3))
    groups, rows = view.shape[1], view.shape[2] * math.prod(windows.kernel)
    return view.transpose(axes).reshape(groups, rows, view.shape[0] * math.prod(windows.out))


def rows_of(y: np.ndarray) -> np.ndarray:
    """Return y (N, G, O, *out) as matrices (G, O, N out)."""
    moved = y.transpose(1, 2, 0, *range(3, y.ndim))
    return moved.reshape(y.shape[1], y.shape[2], y.size // max(y.shape[1] * y.shape[2], 1))


def flat_weight(w: np.ndarray) -> np.ndarray:
    """Return w (G, O, C, *kernel) as matrices (G, O, C kernel)."""
    return w.reshape(*w.shape[:2], math.prod(w.shape[2:]))


def convolve_forward(x, w, *, windows):
    """y = sum over C and kernel of windows(x) w."""
    out = flat_weight(w) @ columns_of(x, windows)
    parted = out.reshape(*w.shape[:2], x.shape[0], *windows.out)
    return np.ascontiguousarray(parted.transpose(2, 0, 1, *range(3, parted.ndim)))


def unconvolve_forward(y, w, *, windows):
    """x = the windows sum over O of w y, added up."""
    n = len(windows.size)
    out = flat_weight(w).swapaxes(1, 2) @ rows_of(y)
    parted = out.reshape(w.shape[0], *w.shape[2:], y.shape[0], *windows.out)
    axes = (n + 2, 0, 1, *range(n + 3, 2 * n + 3), *range(2, n + 2))
    return windows.put(parted.transpose(axes))


def weigh_forward(x, y, *, windows):
    """w = sum over N and out of y windows(x)."""
    out = rows_of(y) @ columns_of(x, windows).swapaxes(1, 2)
    return out.reshape(*out.shape[:2], x.shape[2], *windows.kernel)


def multiply(name: str, g: Any, other: Any, windows: Windows, into: int, out_of: int, behind: bool = False) -> Any:
    """Return one of the three products of g and the conjugate of another operand; behind: in the other order.

    Leading axes of g go folded into one of its axes and come out of another one of the result.
    """

    def compute(part: Any) -> Any:
        operands = (other.conj(), part) if behind else (part, other.conj())
        return NAMES[name](*operands, windows=windows)

    lead, shape = g.shape[: g.ndim - other.ndim], g.shape[g.ndim - other.ndim :]
    if not lead:
        return compute(g)
    count = math.prod(lead)
    moved = np.moveaxis(g.reshape((count, *shape)), 0, into)
    out = compute(moved.reshape((*shape[:into], count * shape[into], *shape[into + 1 :])))
    shape = out.shape
    parted = out.reshape((*shape[:out_of], count, shape[out_of] // count, *shape[out_of + 1 :]))
    moved = np.moveaxis(parted, out_of, 0)
    return moved.reshape((*lead, *moved.shape[1:]))


def product_entry(
    name: str, forward: Callable, *vjps: Callable, shapes: tuple, doc: str, groups: tuple[int, int, int]
) -> None:
    """Enter one of the three products; groups: the axis of the groups in both operands and in the result."""

    def batch(size, operands, flags, params):
        """One more leading axis becomes part of the groups."""
        moved = []
        for x, flag, place in zip(operands, flags, groups, strict=False):
            x = np.moveaxis(x if flag else with_axis(x, size), 0, place)
            moved.append(x.reshape((*x.shape[:place], size * x.shape[place + 1], *x.shape[place + 2 :])))
        out = NAMES[name](*moved, **params)
        place = groups[2]
        parted = out.reshape((*out.shape[:place], size, out.shape[place] // size, *out.shape[place + 1 :]))
        return np.moveaxis(parted, place, 0)

    general(
        name,
        forward,
        *vjps,
        batch=batch,
        bind=lambda x, y, windows: ((x, y), {"windows": windows}),
        node="Convolution",
        promote=None,
        samples=tuple(Sample(*(A(*shape) for shape in pair), w) for pair, w in zip(shapes, (LINE, PLANE), strict=True)),
        public=False,
        doc=doc,
    )


X, W, Y = ((2, 1, 2, 5), (1, 2, 1, 4, 5)), ((1, 3, 2, 3), (2, 2, 1, 2, 2)), ((2, 1, 3, 3), (1, 2, 2, 2, 3))
CONVOLVE, UNCONVOLVE, WEIGH = "convolve_windows", "unconvolve_windows", "convolve_weight"
product_entry(
    CONVOLVE,
    convolve_forward,
    rule("x from g and w", lambda g, _out, _x, w, *, windows: multiply(UNCONVOLVE, g, w, windows, 0, 0)),
    rule(
        "w from x and g; leading axes are more outputs",
        lambda g, _out, x, _w, *, windows: multiply(WEIGH, g, x, windows, 2, 1, behind=True),
    ),
    shapes=tuple(zip(X, W, strict=True)),
    groups=(1, 0, 1),
    doc="Sums of products of windows and weights.",
)
product_entry(
    UNCONVOLVE,
    unconvolve_forward,
    rule("y from g and w", lambda g, _out, _y, w, *, windows: multiply(CONVOLVE, g, w, windows, 0, 0)),
    rule(
        "w from g and y; leading axes are more channels",
        lambda g, _out, y, _w, *, windows: multiply(WEIGH, g, y, windows, 2, 2),
    ),
    shapes=tuple(zip(Y, W, strict=True)),
    groups=(1, 0, 1),
    doc="The transpose of a convolution with respect to its input.",
)
product_entry(
    WEIGH,
    weigh_forward,
    rule("x from y and g", lambda g, _out, _x, y, *, windows: multiply(UNCONVOLVE, g, y, windows, 2, 2, behind=True)),
    rule("y from x and g", lambda g, _out, x, _y, *, windows: multiply(CONVOLVE, g, x, windows, 1, 2, behind=True)),
    shapes=tuple(zip(X, Y, strict=True)),
    groups=(1, 1, 0),
    doc="The transpose of a convolution with respect to its weights.",
)
