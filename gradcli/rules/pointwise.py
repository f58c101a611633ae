"""Parts of complex numbers (cotangents follow PyTorch: dL/dRe + i dL/dIm), further elementwise functions, and losses.

The losses compare numbers or classes; the terms of losses of probabilities need care at 0 and 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .activation import logsigmoid_entry, sigmoid_entry
from .index import ArrayIndex, put
from .shapes import as_floats, dtype_of, is_complex, mask, negative_axes, rank, shape_of, unreduce
from .special import scipy_function, scipy_positive
from .table import (
    POSITIVE,
    A,
    Sample,
    constant,
    elementwise,
    general,
    internal,
    linear,
    numpy_function,
    real_elementwise,
    rule,
)
from .transcendental import positive, within_entry


def angle_vjp(g, _, x):
    """i g z / |z|^2 for complex z, 0 for real ones, 0 at the origin."""
    if not is_complex(x):
        return g * 0.0
    size = abs(x)
    safe = np.where(size == 0, 1.0, size)
    return g * 1j * np.where(size == 0, 0.0, x / safe / safe)


real_part = internal.linear(
    "real_part",
    np.real,
    rule("g, as a cotangent of the real part only", lambda g, _, _x: g),
    node="Real",
    view=True,
    exact=lambda _field, x: x.real,
)
imag_part = internal.linear(
    "imag_part", np.imag, rule("i g", lambda g, _, _x: g * 1j), node="Imag", view=True, exact=lambda _field, x: x.imag
)


@numpy_function(Sample(A(3, 4)))
def real(x):
    """Real part."""
    return real_part(x) if is_complex(x) else x


@numpy_function(Sample(A(3, 4)))
def imag(x):
    """Imaginary part; 0 for real arrays."""
    return imag_part(x) if is_complex(x) else x * 0


linear(
    "conj",
    np.conjugate,
    rule("conj(g)", lambda g, _, _x: g.conj()),
    aliases=("conjugate", "conj_physical"),
    numpy=(np.conjugate,),
    doc="Complex conjugate.",
)
general(
    "angle",
    lambda x: np.angle(x if x.dtype.kind == "c" else x + 0.0),  # -0.0 counts as positive, as in PyTorch
    angle_vjp,
    exact=lambda _field, x: np.arctan2(x.imag, x.real),
    doc="Argument of a complex number.",
    subgradient="0 at 0",
)
constant(np.iscomplex, name="iscomplex", numpy=(np.iscomplex,), doc="True where the imaginary part is not 0.")


def view_as_complex(x):
    """View pairs of real numbers as complex ones. Raises RuntimeError for pairs that are not adjacent."""
    if x.size and x.strides[-1] != x.itemsize:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    return x.view(np.result_type(x, np.complex64))[..., 0]


def complex_signature(x):
    """Bind view_as_real. Raises RuntimeError for real numbers."""
    if x.dtype.kind != "c":
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return (x,), {}


def pairs_signature(x):
    """Bind view_as_complex. Raises RuntimeError unless the last axis holds pairs of real numbers."""
    if dtype_of(x).char not in "fd" or shape_of(x)[-1:] != (2,):
        raise RuntimeError("view_as_complex needs real numbers and a last axis of length 2")
    return (x,), {}


complex_as_pairs = internal.linear(
    "view_as_real",
    lambda x: np.asarray(x)[..., None].view(x.real.dtype),
    rule(
        "The pairs of g as complex numbers",
        lambda g, _, _x: pairs_as_complex(np.ascontiguousarray(g) if isinstance(g, np.ndarray) else g),
    ),
    bind=complex_signature,
    torch="view_as_real(input)",
    view=True,
    doc="Real and imaginary parts as a last axis of length 2.",
)
pairs_as_complex: Any = internal.linear(
    "view_as_complex",
    view_as_complex,
    rule(
        "g as pairs of real and imaginary parts; the cotangent of a complex array may be real",
        lambda g, _, _x: complex_as_pairs(g if g.dtype.kind == "c" else g + 0j),
    ),
    bind=pairs_signature,
    torch="view_as_complex(input)",
    view=True,
    doc="Complex numbers from a last axis of length 2.",
)


real_elementwise(
    lambda x: x - np.trunc(x),
    1,
    name="frac",
    domain=((1.05, 1.45),),
    twin="x - sign(x) * floor(abs(x))",
    doc="Fractional part x - trunc(x), with the sign of x.",
)
elementwise(
    np.nan_to_num,
    lambda _, x, **others: mask(np.isfinite(x), x),
    name="nan_to_num",
    bind=lambda x, nan=0.0, posinf=None, neginf=None: (
        (x,),
        {"nan": 0.0 if nan is None else nan, "posinf": posinf, "neginf": neginf},
    ),
    samples=(Sample(A(3, 4)), Sample(A(), nan=2.0)),
    twin="x",
    doc="x with nan replaced by 0 and infinities by the largest numbers, or by given numbers.",
    subgradient="0 where an element was replaced",
)


def lerp_forward(x, y, weight):
    """x + weight (y - x), exact at both ends."""
    near, span = abs(weight) < 0.5, y - x
    return np.where(near, x + weight * span, y - span * (1 - weight))


elementwise(
    lerp_forward,
    lambda _, _x, _y, weight: 1 - weight,
    lambda _, _x, _y, weight: weight,
    lambda _, x, y, _weight: y - x,
    name="lerp",
    torch="lerp(input, end, weight)",
    node="LerpBackward1",
    variants=(None, "LerpBackward0"),
    samples=(Sample(A(3, 4), A(3, 4), A(3, 4)), Sample(A(3), A(), 0.25), Sample(A(3, 1), A(4), 0.75)),
    twin="x + z * (y - x)",
    doc="Linear interpolation x + z (y - x), with the weight z.",
)


scipy_function(
    "xlogy",
    rule("log y, and 0 where x = 0 and y <= 0", lambda _, x, y: np.where((x == 0) & (y <= 0), 0.0, np.log(y))),
    rule("x / y", lambda _, x, y: x / np.where(x == 0, y, positive(y))),
    domain=((0.1, 3.0), (0.2, 4.0)),
    twin="x * log(y)",
    doc="x log(y); 0 if x = 0.",
)
scipy_function(
    "xlog1py",
    rule("log(1 + y), and 0 where x = 0 and y <= -1", lambda _, x, y: np.where((x == 0) & (y <= -1), 0.0, np.log1p(y))),
    rule("x / (y + 1)", lambda _, x, y: x / np.where(x == 0, y + 1, positive(y + 1))),
    node="SpecialXlog1Py",
    domain=((0.1, 3.0), (-0.8, 3.0)),
    twin="x * log(1 + y)",
    doc="x log(1 + y); 0 if x = 0.",
)
scipy_positive(
    "entr",
    lambda _, x: -1 - np.log(positive(x)),
    slope="-1 - log(x)",
    node="SpecialEntr",
    twin="-x * log(x)",
    doc="Entropy -x log(x). It is 0 at 0, and -inf if x is negative.",
)
CLAMPED = "Piecewise((eps, x < eps), (1 - eps, x > 1 - eps), (x, True))"


def logit_forward(x, *, eps):
    x = as_floats(x)
    z = x if eps is None else np.clip(x, eps, 1 - eps)
    return np.log(z / (1 - z))


def logit_dx(_, x, *, eps):
    """1 / (x (1 - x)); 0 outside [eps, 1 - eps] or, without eps, nan outside [0, 1]."""
    if eps is None:
        return logit_slope(within_entry(x, low=0.0, high=1.0))
    limited = (x < eps) | (x > 1 - eps)
    return np.where(limited, 0.0, logit_slope(np.where(limited, 0.5, x)))


logit_slope = internal.elementwise(
    lambda x: 1 / (x * (1 - x)),
    lambda out, x: (2 * x - 1) * out * out,  # not expanded: both terms might be infinite
    name="logit_slope",
    domain=((0.05, 0.95),),
)
real_elementwise(
    logit_forward,
    logit_dx,
    torch="logit(input, eps=None)",
    domain=((0.05, 0.95),),
    samples=(Sample(A(3, 4)), Sample(A(), eps=0.01), Sample(A(5), eps=0.3)),
    twin="log(x / (1 - x))",
    twin_of=lambda params: None if params.get("eps") is None else f"log({CLAMPED} / (1 - {CLAMPED}))",
    doc="log(x / (1 - x)), the inverse of the logistic function.",
)

constant(np.heaviside, arity=2, doc="0 if x < 0, 1 if x > 0, and y if x = 0.")
constant(np.isneginf, doc="True where x is minus infinity.", numpy=(np.isneginf,))
constant(np.isposinf, doc="True where x is plus infinity.", numpy=(np.isposinf,))
constant(np.isreal, doc="True where the imaginary part is 0.", numpy=(np.isreal,))
real_elementwise(
    np.nextafter,
    lambda _, x, y: mask(x != y, x),
    0,
    doc="Next floating-point number after x towards y.",
    subgradient="0 where x = y",
)
constant(np.gcd, arity=2, promote=None, samples=(), doc="Greatest common divisor of integers.")
constant(np.lcm, arity=2, promote=None, samples=(), doc="Least common multiple of integers.")


LOWEST_LOG = -100.0
SMALLEST = float(np.float32(1e-12))


def x_log_x(x):
    """x log(x), 0 at 0."""
    return x * np.log(np.where(x == 0, 1.0, x))


internal.elementwise(
    x_log_x, lambda _, x: np.log(x) + 1, name="x_log_x", node="Xlogy", domain=(POSITIVE,), twin="x * log(x)"
)


def loss_entry(name: str, loss: Callable, *vjps: Callable, **options: Any) -> None:
    """Add an entry for the sum of loss(x, t) over axis, divided by total. x and t have the same shape."""
    internal.general(
        name,
        lambda x, t, *, axis, total: np.add.reduce(loss(x, t), axis=axis) / total,
        *vjps,
        bind=lambda x, y, total=1.0: ((x, y), {"axis": negative_axes(None, rank(x)), "total": total}),
        complex=False,
        promote=None,
        samples=(Sample(A(3, 4), A(3, 4)), Sample(A(2, 3, 2), A(2, 3, 2), total=12.0), Sample(A(), A())),
        **options,
    )


def square(x, y):
    """(x - y)^2 as a product, because the power of a scalar is sometimes rounded differently."""
    difference = x - y
    return difference * difference


def square_loss_dx(g, _out, x, y, *, axis, total):
    """2 g (x - y) / total."""
    return 2 / total * (x - y) * unreduce(g, x.shape, axis, False)


loss_entry(
    "square_loss",
    square,
    square_loss_dx,
    rule(
        "2 g (y - x) / total",
        lambda g, _out, x, y, *, axis, total: square_loss_dx(g, None, y, x, axis=axis, total=total),
    ),
    node="MseLoss",
    doc="Sum of the squared differences of two arrays of the same shape, divided by total; used by mse_loss.",
)


def cross_entropy(x, t):
    """-(t log(x) + (1 - t) log(1 - x)) with logarithms of at least -100."""
    with np.errstate(divide="ignore"):
        return (t - 1) * np.maximum(np.log1p(-x), LOWEST_LOG) - t * np.maximum(np.log(x), LOWEST_LOG)


def over_total(formula: str, slope: Callable) -> Callable:
    return rule(formula, lambda g, _out, x, t, *, axis, total: slope(x, t) * unreduce(g, x.shape, axis, False) / total)


loss_entry(
    "probability_loss",
    cross_entropy,
    over_total("g (x - t) / (x (1 - x)) / total", lambda x, t: (x - t) / np.maximum((1 - x) * x, SMALLEST)),
    over_total("g (log(1 - x) - log(x)) / total", lambda x, _t: np.log1p(-x) - np.log(x)),
    node="BinaryCrossEntropy",
    domain=((0.1, 0.9), (0.1, 0.9)),
    doc="Sum of the cross entropies of probabilities, divided by total; used by binary_cross_entropy.",
)
loss_entry(
    "logit_loss",
    lambda x, t: (1 - t) * x - logsigmoid_entry.forward(x),
    over_total("(sigmoid(x) - t) g / total", lambda x, t: sigmoid_entry(x) - t),
    over_total("-x g / total", lambda x, _t: -x),
    node="BinaryCrossEntropyWithLogits",
    doc="Sum of the cross entropies of sigmoid(x), divided by total; used by binary_cross_entropy_with_logits.",
)


def class_index(classes: np.ndarray, places: np.ndarray | None, shape: tuple[int, ...]) -> ArrayIndex:
    """Return the index of one class per place in scores (N, C, ...) or (C,). places: mask, None for all."""
    if len(shape) == 2 and places is None:
        return ArrayIndex.of_places((np.arange(shape[0]), classes), shape)
    places = np.ones(classes.shape, bool) if places is None else places
    rows = places.nonzero() if len(shape) > 1 else ()
    return ArrayIndex.of_places((*rows[:1], classes[places], *rows[1:]), shape)


def class_loss(x, *, index, weights, total):
    """-(sum of the weighted scores) / total, never -0."""
    taken = index.take(x)
    return (0 - (taken if weights is None else taken * weights).sum(-1)) / total


def class_loss_dx(g, _out, _x, *, index, weights, total):
    """-g weights / total at the scores that were taken."""
    share = g / -total
    if isinstance(share, np.generic):
        return index.put(share if weights is None else share * weights, ())
    lead = shape_of(share)
    each = np.ones(len(index.key[-1]), np.int8) if weights is None else weights
    return put(share.reshape((*lead, 1)) * each, index=index, lead=lead)


def class_loss_signature(x, classes, weights=None, total=1.0):
    """Bind class_loss with all places counted. weights, one per place, do not widen the type of the scores."""
    return (x,), {"index": class_index(np.asarray(classes), None, shape_of(x)), "weights": weights, "total": total}


internal.linear(
    "class_loss",
    class_loss,
    class_loss_dx,
    bind=class_loss_signature,
    node=lambda x_shape, params: "NllLoss2D" if len(params["index"].shape) > 2 else "NllLoss",
    samples=(
        Sample(A(3, 4), [2, 0, 2]),
        Sample(A(3, 4), [2, 0, 2], weights=np.array([1, 0.5, 2], np.float16), total=3.5),
        Sample(A(2, 4, 3), [[1, 0, 3], [2, 2, 1]], total=6.0),
        Sample(A(4), 1),
    ),
)
