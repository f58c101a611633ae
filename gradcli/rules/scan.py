"""Products, cumulative sums and products; a linear recurrence makes their derivatives exact at zeros."""

from __future__ import annotations

import numpy as np

from .reduce import REDUCTIONS, reduction_signature
from .shapes import conjugate, fit_to_shape, may_hold, negative_axis, rank, unreduce
from .table import LANES, REDUCTION, A, Sample, batch_aligned, general, internal, numpy_function, rule
from .transcendental import logaddexp


def scan_forward(a, b):
    """y[k] = a[k] y[k-1] + b[k] along the last axis, starting from y[-1] = 0."""
    shape = np.broadcast_shapes(a.shape, b.shape)
    out = np.empty(shape, np.result_type(a, b))
    carry = np.zeros(shape[:-1], out.dtype)
    a, b = np.broadcast_to(a, shape), np.broadcast_to(b, shape)
    for k in range(shape[-1]):
        carry = a[..., k] * carry + b[..., k]
        out[..., k] = carry
    return out


def shift_right(x):
    """x[..., k-1] with 0 in front."""
    return np.concatenate([np.zeros_like(x[..., :1]), x[..., :-1]], axis=-1)


def backward_scan(a, g):
    """s[k] = g[k] + a[k+1] s[k+1]: the transposed recurrence."""
    return linear_scan(shift_right(conjugate(a)[..., ::-1]), g[..., ::-1])[..., ::-1]


linear_scan = internal.general(
    "linear_scan",
    scan_forward,
    rule(
        "The cotangent of b times the previous value",
        lambda g, out, a, _b: fit_to_shape(backward_scan(a, g) * conjugate(shift_right(out)), a.shape, out.ndim),
    ),
    rule(
        "The same recurrence run backwards, with coefficients one step ahead",
        lambda g, out_shape, a, b_shape: fit_to_shape(backward_scan(a, g), b_shape, len(out_shape)),
    ),
    batch=batch_aligned,
    promote=(0, 1),
    samples=(Sample(A(3, 4), A(3, 4)), Sample(A(5), A(5)), Sample(A(2, 3, 4), A(4))),
    pattern=LANES,
)


def product_before(x):
    """Product of all elements before each one along the last axis."""
    return np.concatenate([np.ones_like(x[..., :1]), cumprod_along(x[..., :-1], axis=-1)], axis=-1)


def enter_scan(enter, name, forward, vjp, doc, exact=None, pattern="", **options):
    """Add a scan along an axis, and a public function that flattens by default; return both."""
    scan = enter(
        f"{name}_along",
        forward,
        vjp,
        node=name.title(),
        samples=(Sample(A(3, 4), axis=-2), Sample(A(5), axis=-1)),
        exact=exact,
        pattern=pattern,
    )

    def function(x, axis=None):
        if axis is None:
            return scan(x.reshape((-1,)), axis=-1)
        if rank(x) == 0:
            return scan(x.reshape((1,)), axis=-1).reshape(())
        return scan(x, axis=negative_axis(axis, rank(x)))

    samples = Sample(A(3, 4), axis=0), Sample(A(2, 3), axis=-1), Sample(A(5)), Sample(A(3, 2))
    return scan, numpy_function(*samples, name=name, doc=f"{doc} along axis.", **options)(function)


def cumprod_vjp(g, _, x, *, axis):
    """before(x) times the reversed recurrence s[k] = g[k] + x[k+1] s[k+1]: no division, so zeros are fine."""
    g, x = g.swapaxes(axis, -1), x.swapaxes(axis, -1)
    return (conjugate(product_before(x)) * backward_scan(x, g)).swapaxes(axis, -1)


cumprod_along, cumprod = enter_scan(
    internal.general,
    "cumprod",
    lambda x, *, axis: np.multiply.accumulate(x, axis=axis),
    cumprod_vjp,
    "Cumulative product",
    pattern=LANES,
    folds=(np.multiply.accumulate,),
    torch="cumprod(input, dim, *, dtype=None)",
)


def prod_vjp(g, out, x, *, axis, keepdims):
    """g times the product of the other elements; that is out / x if no element is 0."""
    g, out = unreduce(g, x.shape, axis, keepdims), unreduce(out, x.shape, axis, keepdims)
    if not axis:
        return g
    if not (may_hold(x == 0) or may_hold(out == 0)):
        return g * conjugate(out / x)
    others = tuple(i for i in range(-x.ndim, 0) if i not in axis)
    order = tuple(i + x.ndim for i in (*others, *axis))
    moved = np.transpose(x, order)
    flat = moved.reshape(moved.shape[: len(others)] + (-1,))
    rest = (product_before(flat) * product_before(flat[..., ::-1])[..., ::-1]).reshape(moved.shape)
    return g * np.transpose(conjugate(rest), tuple(int(i) for i in np.argsort(order)))


general(
    "prod",
    lambda x, *, axis, keepdims: np.multiply.reduce(x, axis=axis, keepdims=keepdims),
    prod_vjp,
    bind=reduction_signature,
    folds=(np.multiply.reduce,),
    torch="prod(input, dim=None, keepdim=False, *, dtype=None) -> ProdBackward0, ProdBackward1",
    samples=REDUCTIONS,
    pattern=REDUCTION,
    doc="Product over axis.",
    subgradient="exact at zeros: the product of the other elements",
)
_, cumsum = enter_scan(
    internal.linear,
    "cumsum",
    lambda x, *, axis: np.add.accumulate(x, axis=axis),
    rule(
        "Cumulative sum from the other end", lambda g, _, _x, *, axis: np.flip(np.cumsum(np.flip(g, axis), axis), axis)
    ),
    "Cumulative sum",
    pattern=LANES,
    folds=(np.add.accumulate,),
    torch="cumsum(input, dim, *, dtype=None)",
)


def logcumsumexp_forward(x, *, axis):
    """log(cumsum(exp(x))), one step at a time so that nothing overflows."""
    if x.dtype.kind != "c":
        return np.logaddexp.accumulate(x, axis=axis)
    out = x.copy()
    lanes = np.moveaxis(out, axis, 0)
    for k in range(1, len(lanes)):
        lanes[k] = logaddexp(lanes[k - 1], lanes[k])
    return out


def exp_difference(x, y):
    """exp(x - y), and 1 where both are the same infinity."""
    return np.exp(np.where(x == y, 0.0, x - y))


def logcumsumexp_vjp(g, out, x, *, axis):
    """s[k] exp(x[k] - out[k]) with s[k] = g[k] + exp(out[k] - out[k+1]) s[k+1]: no factor exceeds 1."""
    g, out, x = (part.swapaxes(axis, -1) for part in (g, out, x))
    slope = conjugate(exp_difference(x, out)) * backward_scan(exp_difference(shift_right(out), out), g)
    return slope.swapaxes(axis, -1)


enter_scan(
    internal.general,
    "logcumsumexp",
    logcumsumexp_forward,
    logcumsumexp_vjp,
    "Logarithm of the cumulative sum of exponentials",
    exact=lambda _field, x, *, axis: np.log(np.cumsum(np.exp(x), axis=axis)),
    node="Logcumsumexp",
)
