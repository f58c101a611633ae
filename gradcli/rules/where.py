"""Choosing between operands, element by element: extremes of two, limits, conditions."""

from __future__ import annotations

import numpy as np

from .batch import batch_aligned
from .exact import exact_where
from .shapes import fit, mask
from .table import ELEMENTWISE, REAL, TEST, A, Sample, elementwise, general, no_gradient

# -- steps ----------------------------------------------------------------------------------------

flat = elementwise(
    lambda value, x: np.positive(np.broadcast_arrays(value, x)[0]),
    1,
    0,
    name="flat",
    complex=False,
    public=False,
    doc="value; x steers it in steps, so that its slope in x is 0.",
)


def step(condition, x):
    """where(condition, 1, 0); recorded as flat in x: second derivatives are 0 then, as in PyTorch, and not absent."""
    steps = mask(condition, x)
    return steps if isinstance(x, np.ndarray | np.generic) else flat(steps, x)


# -- larger and smaller ---------------------------------------------------------------------------


def shared(other, equal, like):
    """where(other, 0, where(equal, 0.5, 1)); 1 also at nan."""
    return mask(~other, like) - 0.5 * mask(equal, like)


elementwise(
    np.maximum,
    lambda _, x, y: shared(x < y, x == y, x),
    lambda _, x, y: shared(x > y, x == y, x),
    complex=False,
    twin="maximum(x, y)",
    doc="Larger of two, element by element; nan if either is.",
    subgradient="1/2 to each at a tie, 1 to each at nan",
)
elementwise(
    np.minimum,
    lambda _, x, y: shared(x > y, x == y, x),
    lambda _, x, y: shared(x < y, x == y, x),
    complex=False,
    twin="minimum(x, y)",
    doc="Smaller of two, element by element; nan if either is.",
    subgradient="1/2 to each at a tie, 1 to each at nan",
)
elementwise(
    np.fmax,
    lambda _, x, y: mask((x >= y) | np.isnan(y), x),
    lambda _, x, y: mask(~((x >= y) | np.isnan(y)), x),
    complex=False,
    twin="maximum(x, y)",
    doc="Larger of two, ignoring nan.",
    subgradient="all to x at a tie",
)
elementwise(
    np.fmin,
    lambda _, x, y: mask((x <= y) | np.isnan(y), x),
    lambda _, x, y: mask(~((x <= y) | np.isnan(y)), x),
    complex=False,
    twin="minimum(x, y)",
    doc="Smaller of two, ignoring nan.",
    subgradient="all to x at a tie",
)


def clip_signature(x, min=None, max=None, *, a_min=None, a_max=None):
    """Bind clip's bounds; either may be None."""
    low, high = min if a_min is None else a_min, max if a_max is None else a_max
    if low is None and high is None:
        raise ValueError("clip needs a lower or an upper bound")
    return (x, -np.inf if low is None else low, np.inf if high is None else high), {}


clip = elementwise(
    lambda x, low, high: np.minimum(np.maximum(x, low), high),
    lambda _, x, low, high: mask((x >= low) & (x <= high), x),
    lambda _, x, low, high: mask((x < low) & ((low < high) | (high == np.inf)), x),
    lambda _, x, low, high: mask((x > high) | (low > high), x),
    name="clip",
    aliases=("clamp",),
    numpy=(np.clip,),
    node="Clamp",
    bind=clip_signature,
    complex=False,
    domain=(REAL, (-1.5, -1.3), (0.6, 0.8)),
    samples=(
        Sample(A(3, 4), -1.0, 1.0),
        Sample(A(3, 4), A(4), A(3, 1)),
        Sample(A(5), min=0.5),
        Sample(A(), max=1.0),
    ),
    twin="minimum(maximum(x, y), z)",
    doc="x limited to the interval [min, max].",
    subgradient="1 at a bound",
)


def where_dx(g, out_shape, condition, x_shape, _y):
    """g where x was chosen; 0 elsewhere, even where g is infinite."""
    return fit(np.where(condition, g, 0.0), x_shape, len(out_shape))


def where_dy(g, out_shape, condition, _x, y_shape):
    """g where y was chosen."""
    return fit(np.where(condition, 0.0, g), y_shape, len(out_shape))


general(
    "where",
    np.where,
    no_gradient,
    where_dx,
    where_dy,
    batch=batch_aligned,
    numpy=(np.where,),
    promote=(1, 2),
    samples=(Sample(TEST, A(3, 4), A(3, 4)), Sample(TEST, A(4), A(3, 1)), Sample(TEST, A(), 1.0)),
    twin="Piecewise((y, x), (z, True))",
    exact=exact_where,
    pattern=ELEMENTWISE,
    doc="x where the condition holds, else y.",
)
