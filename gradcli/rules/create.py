"""Arrays made from numbers, grids of coordinates, and matrices with a diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np

from .join import concatenate
from .movement import clone
from .scan import cumprod_along
from .select import diag
from .shapes import (
    as_int,
    as_operand_array,
    as_shape,
    count_product,
    count_shape,
    count_steps,
    lay_along,
    shape_of,
    size_of,
)
from .table import A, Sample, composition, constant, numpy_function

MAKERS: list[tuple[Any, str]] = [(np.zeros, "Zeros in the given shape."), (np.ones, "Ones in the given shape.")]
for function, doc in MAKERS:
    constant(
        lambda *, shape, function=function: function(shape),
        name=function.__name__,
        arity=0,
        bind=lambda *shape: ((), {"shape": as_shape(*shape)}),
        samples=(),
        size=count_shape,
        doc=doc,
    )
constant(
    lambda *, n, m: np.eye(n, m),
    name="eye",
    arity=0,
    aliases=("identity",),
    bind=lambda n, m=None: ((), {"n": as_int(n), "m": as_int(n if m is None else m)}),
    samples=(),
    size=lambda n, m=None: as_int(n) * as_int(n if m is None else m),
    doc="Identity matrix.",
)


def arange_signature(start, stop=None, step=1):
    start, stop = (0, start) if stop is None else (start, stop)
    if step == 0:
        raise ValueError("arange: the step must not be 0")
    return (), {"start": start, "stop": stop, "step": step}


constant(
    lambda *, start, stop, step: np.arange(start, stop, step),
    name="arange",
    arity=0,
    bind=arange_signature,
    samples=(),
    size=count_steps,
    doc="Numbers from start up to, but not including, stop. arange(n) starts at 0.",
)


def full(shape, value):
    """Array of the given shape, filled with one value."""
    return np.broadcast_to(value, as_shape(shape)) + 0.0


@numpy_function(doc="Evenly spaced numbers from start to stop.", size=lambda start, stop, num=50: as_int(num))
def linspace(start, stop, num=50):
    n = as_int(num)
    if n < 0:
        raise ValueError(f"linspace: the number of points must not be negative, got {n}")
    steps = np.arange(n) / max(n - 1, 1)
    return start * (1 - steps) + stop * steps


@numpy_function(
    doc="base**y for evenly spaced y from start to stop.", size=lambda start, stop, num=50, base=10: as_int(num)
)
def logspace(start, stop, num=50, base=10.0):
    return base ** linspace(start, stop, num)


@numpy_function(
    doc="Numbers from start to stop with constant ratios; both must have the same sign.",
    size=lambda start, stop, num=50: as_int(num),
)
def geomspace(start, stop, num=50):
    sign = np.sign(as_operand_array(start) + 0.0)
    return sign * np.exp(
        linspace(np.log(abs(as_operand_array(start) + 0.0)), np.log(abs(as_operand_array(stop) + 0.0)), num)
    )


def window(name: str, function: Any, doc: str) -> None:
    """Add a window: factors for n samples."""
    constant(
        lambda *, n: function(n),
        name=name,
        arity=0,
        bind=lambda n: ((), {"n": as_int(n)}),
        numpy=(function,),
        samples=(),
        size=as_int,
        doc=doc,
    )


for name, function, of in (
    ("hanning", np.hanning, "Hann"),
    ("hamming", np.hamming, "Hamming"),
    ("bartlett", np.bartlett, "Bartlett"),
    ("blackman", np.blackman, "Blackman"),
):
    window(name, function, f"{of} window of n samples.")


composition(full, samples=(), size=lambda shape, value=0: count_shape(shape))
constant(np.zeros_like, numpy=(np.zeros_like,), samples=(), doc="Zeros in the shape of x.")
constant(np.ones_like, numpy=(np.ones_like,), samples=(), doc="Ones in the shape of x.")


@numpy_function(
    doc="Coordinates of the points of a grid (several results).",
    size=lambda *xs, indexing="xy", sparse=False, copy=True: (
        sum(map(size_of, xs)) if sparse else count_product(map(size_of, xs)) * len(xs)
    ),
)
def meshgrid(*xs, indexing="xy", sparse=False, copy=True):
    """Coordinates of a grid, one array for each vector; with 'xy', the first two axes are swapped."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', not {indexing!r}")
    order = list(range(len(xs)))
    if indexing == "xy" and len(xs) > 1:
        order[:2] = 1, 0
    grids = []
    for i, x in enumerate(xs):
        shape = tuple(size_of(xs[k]) if not sparse or k == i else 1 for k in order)
        line = lay_along(as_operand_array(x), order.index(i) - len(xs))
        grids.append(clone(np.broadcast_to(line, shape)))
    return tuple(grids)


@numpy_function(
    Sample(A(4)),
    Sample(A(3), 2, increasing=True),
    size=lambda x, N=None, increasing=False: size_of(x) * as_int(size_of(x) if N is None else N),  # noqa: N803
)
def vander(x, N=None, increasing=False):  # noqa: N803 - NumPy's name
    """Matrix whose columns are the powers of x, the highest power first."""
    x = as_operand_array(x)
    shape = shape_of(x)
    if len(shape) != 1:
        raise ValueError(f"vander needs a vector, got shape {shape}")
    n = shape[0] if N is None else as_int(N)
    powers = np.ones_like(x)[:, None][:, :n]
    if n > 1:  # as cumulative products, because the second derivative of x**[0, 1, 2] is nan at 0
        repeated = np.broadcast_to(x[:, None], (*shape, n - 1))
        powers = concatenate.function((powers, cumprod_along(repeated, axis=-1)), 1)
    return powers if increasing else powers[:, ::-1]


@numpy_function(
    Sample(A(3)), Sample(A(2, 2), 1), node="DiagEmbed", size=lambda x, k=0: (size_of(x) + abs(as_int(k))) ** 2
)
def diagflat(x, k=0):
    """Matrix with the elements of x on a diagonal."""
    return diag(as_operand_array(x).reshape((-1,)), k)


@numpy_function()
def broadcast_arrays(*xs):
    """All arrays, broadcast to their common shape (several results)."""
    shape = np.broadcast_shapes(*(shape_of(x) for x in xs))
    return tuple(np.broadcast_to(as_operand_array(x), shape) for x in xs)
