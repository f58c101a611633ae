"""Arrays made from numbers alone, and grids between two end points."""

from __future__ import annotations

from typing import Any

import numpy as np

from .shapes import as_int, as_shape
from .size_limits import count_shape, count_steps
from .table import composition, constant, numpy_function

MAKERS: list[tuple[Any, str]] = [(np.zeros, "Zeros of a shape."), (np.ones, "Ones of a shape.")]
for function, doc in MAKERS:
    constant(
        lambda *, shape, function=function: function(shape),
        name=function.__name__,
        arity=0,
        bind=lambda *shape: ((), {"shape": as_shape(shape[0] if len(shape) == 1 else shape)}),
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
    """Bind arange(stop) and arange(start, stop, step)."""
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
    doc="Numbers from start (0) up to, not including, stop.",
)


def full(shape, value):
    """One value repeated to a shape."""
    return np.broadcast_to(value, as_shape(shape)) + 0.0


@numpy_function(doc="Evenly spaced numbers, end points included.", size=lambda start, stop, num=50: as_int(num))
def linspace(start, stop, num=50):
    """num evenly spaced numbers from start to stop, both included."""
    n = as_int(num)
    if n < 0:
        raise ValueError(f"linspace: the number of points must not be negative, not {n}")
    steps = np.arange(n) / max(n - 1, 1)
    return start * (1 - steps) + stop * steps


@numpy_function(
    doc="Numbers evenly spaced on a logarithmic scale.", size=lambda start, stop, num=50, base=10: as_int(num)
)
def logspace(start, stop, num=50, base=10.0):
    """num numbers from base**start to base**stop, evenly spaced in the exponent."""
    return base ** linspace(start, stop, num)


composition(full, samples=(), size=lambda shape, value=0: count_shape(shape))
LIKE: list[tuple[Any, str]] = [(np.zeros_like, "Zeros in the shape of x."), (np.ones_like, "Ones in the shape of x.")]
for function, doc in LIKE:
    constant(
        lambda x, function=function: function(x),
        name=function.__name__,
        numpy=(function,),
        samples=(),
        doc=doc,
    )
