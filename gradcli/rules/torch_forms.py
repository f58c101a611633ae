"""Functions of float32 numbers in the forms that give the last digits that PyTorch gives on a CPU.

PyTorch's elementwise functions are MKL's, which are right to 0.5 to 0.6 units in the last place: a function in
float64 that is rounded once gives the same number in 91 to 100 % of cases (exponential 99 %, logarithm 100 %;
NumPy's own float32 functions 54 to 95 %), a shorter series the same sine and cosine in 99.998 %. Other functions
and gradients are computed in PyTorch's order, for processors with AVX-512, from what stands in `vectors`: all bits
agree but for single elements of `softplus`, `elu` and `mish`, which PyTorch leaves to the C library.

A form may give None: it does not know PyTorch's order for these operands.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .activation import GELU_CUBIC, SQRT_2_OVER_PI
from .arithmetic import power_dx
from .losses import SMALLEST, cross_entropy_dt
from .reduce import count as size_of
from .shapes import kept_shape, unreduce
from .small_products import small_layer, small_product, with_vector
from .softmax import finite_max
from .sums import cascade_of_rows, total
from .transcendental import LN2, LN10
from .vectors import (
    LANES,
    ONE,
    column_sums,
    column_sums_of_products,
    cosine,
    fused,
    log,
    row_sums,
    row_sums_of_squares,
    sine,
)
from .vectors import exp as vector_exp
from .vectors import log1p as vector_log1p
from .vectors import power as vector_power

WITHOUT_LOGARITHM = (-2, -1, 0, 0.5, 1, 2, 3)
HALF, THREE, SIX = np.float32(0.5), np.float32(3), np.float32(6)


def rounded_once(function: Callable) -> Callable:
    """Return a function of float32 numbers that is computed in float64."""

    def form(*xs: Any, **params: Any) -> Any:
        return function(*[np.asarray(x, np.float64) for x in xs], **params).astype(np.float32)

    return form


def in_loop(in_vectors: Callable, singly: Callable) -> Callable:
    """Return what a loop over all elements computes: in vectors, two at a time, and singly what is left over."""

    def function(*xs: Any) -> Any:
        xs = np.broadcast_arrays(*xs) if len(xs) > 1 else xs
        shape, size = xs[0].shape, xs[0].size
        whole = size - size % (2 * LANES)
        if whole in (0, size):
            return in_vectors(*xs) if whole else singly(*xs)
        flat = [x.reshape(-1) for x in xs]
        parts = in_vectors(*[x[:whole] for x in flat]), singly(*[x[whole:] for x in flat])
        return np.concatenate(parts).reshape(shape)

    return function


sinh, cosh, tanh, expm1, rounded_exp, rounded_log = map(
    rounded_once, (np.sinh, np.cosh, np.tanh, np.expm1, np.exp, np.log)
)
exp, log1p, general_power = (
    in_loop(in_vectors, rounded_once(singly))
    for in_vectors, singly in ((vector_exp, np.exp), (vector_log1p, np.log1p), (vector_power, operator.pow))
)


def sin(x):
    """Sine of x radians."""
    return sine(np.asarray(x, np.float64))


def cos(x):
    """Cosine of x radians."""
    return cosine(np.asarray(x, np.float64))


def power(x, y):
    """x**y: products for whole exponents from -2 to 3, the root for 1/2."""
    if type(y) in (int, float) and y in WITHOUT_LOGARITHM:
        return ONE / (x * x) if y == -2 else product_power(x, y)
    return general_power(x, y)


def product_power(x, y):
    """x**y, a cube as a product, whatever the type and number of elements."""
    is_cube = type(y) in (int, float) and y == 3 and isinstance(x, np.ndarray | np.generic) and x.dtype.kind == "f"
    return x * x * x if is_cube else x**y


def power_pair(g, out, x, y, first, second):
    """g (y x^(y - 1)), and g (out log(x)), which is 0 where x is 0 and y is not negative."""
    gx = g * power_dx(None, x, y) if first else None
    if not second:
        return gx, None
    flat = (x == 0) & (abs(y) == y)
    logarithm = np.float32(math.log(x)) if type(x) in (int, float) and x > 0 else rounded_log(np.where(flat, 1, x))
    return gx, g * np.where(flat, np.float32(0), out * logarithm)


def quotient_pair(g, out, _x, y, first, second):
    """g / y, and -g times out / y."""
    return g / y if first else None, -g * (out / y) if second else None


# -- activations ----------------------------------------------------------------------------------


def sigmoid(x):
    """1 / (1 + exp(-x))."""
    return ONE / (ONE + exp(-x))


def sigmoid_cotangent(g, out, _):
    """(g (1 - s)) s."""
    return g * (ONE - out) * out


def tanh_cotangent(g, out, _):
    """g (1 - t^2), the square unrounded."""
    return g * fused(-out, out, ONE)


def silu(x):
    """x / (1 + exp(-x))."""
    return x / (ONE + exp(-x))


def silu_cotangent(g, _, x):
    """(g s) (1 + x (1 - s)), the last product unrounded."""
    s = sigmoid(x)
    return g * s * fused(x, ONE - s, ONE)


def softplus(x, *, beta, threshold):
    """log1p(exp(beta x)) / beta; x itself where beta x > threshold."""
    if math.isinf(threshold):
        return None
    z = x * np.float32(beta)
    return np.where(z > threshold, x, log1p(exp(z)) / np.float32(beta))


def softplus_cotangent(g, _, x, *, beta, threshold):
    """g z / (z + 1) with z = exp(beta x)."""
    z = exp(x * np.float32(beta))
    return np.where(x * np.float32(beta) > threshold, g, g * z / (z + ONE))


def logsigmoid(x):
    """min(x, 0) - log1p(exp(-|x|))."""
    return np.minimum(x, 0) - vector_log1p(vector_exp(-abs(x)))


def logsigmoid_cotangent(g, _, x):
    """g (step - sign z / (1 + z)) with z = exp(-|x|)."""
    z = vector_exp(-abs(x))
    share = z / (ONE + z)
    return g * np.where(x < 0, ONE - share, share)


def elu(x, *, alpha, scale=1.0, rate=1.0):
    """scale x where positive, scale alpha (exp(rate x) - 1) elsewhere."""
    below = expm1(x * np.float32(rate)) * (np.float32(alpha) * np.float32(scale))
    return np.where(x > 0, x * np.float32(scale), below)


def elu_cotangent(g, _, x, *, alpha, scale=1.0, rate=1.0):
    """g scale, or (g rate) (alpha scale) exp(rate x)."""
    below = g * np.float32(rate) * (np.float32(alpha) * np.float32(scale)) * exp(x * np.float32(rate))
    return np.where(x > 0, g * np.float32(scale), below)


def gelu(x, *, approximate):
    """The tanh approximation."""
    if approximate != "tanh":
        return None
    return HALF * x * (ONE + tanh(np.float32(SQRT_2_OVER_PI) * fused(np.float32(GELU_CUBIC), x * x * x, x)))


def cross_entropy_pair(g, _out, x, t, first, second):
    """g (x - t) / (x (1 - x)), and g (log(1 - x) - log(x))."""
    gx = g * (x - t) / np.maximum((ONE - x) * x, np.float32(SMALLEST)) if first else None
    return gx, cross_entropy_dt(None, x, t) * g if second else None


def hardswish(x):
    """x min(max(x + 3, 0), 6) / 6."""
    return x * np.minimum(np.maximum(x + THREE, 0), SIX) / SIX


def hardswish_cotangent(g, _, x):
    """g (x / 3 + 1 / 2) between -3 and 3."""
    return np.where(x <= -THREE, np.float32(0), np.where(x < THREE, g * (x / THREE + HALF), g))


def softsign_cotangent(g, _, x):
    """g / (1 + |x|), less the part that comes through |x|."""
    size = ONE + abs(x)
    return g / size - g * (x / size / size) * np.sign(x)


# -- sums, spreads and norms ----------------------------------------------------------------------


def cumulated(x):
    """Sums of the elements so far along the last axis, in float64."""
    return np.add.accumulate(x, axis=-1, dtype=np.float64).astype(np.float32)


def logsumexp(x, *, axis, keepdims):
    """log(sum(exp(x - largest))) + largest."""
    shift = finite_max(x, axis)
    found = rounded_log(total(rounded_exp(x - shift), axis, keepdims=True)) + shift
    return found if keepdims else np.squeeze(found, axis)


def logsumexp_vjp(g, _, x, *, axis, keepdims):
    """g exp(x - out)."""
    out = logsumexp(x, axis=axis, keepdims=True)
    return unreduce(g, x.shape, axis, keepdims) * rounded_exp(x - out) if np.isfinite(out).all() else None


def var_vjp(g, _, x, *, axis, keepdims, correction):
    """(2 / (n - correction) g) (x - mean)."""
    count = size_of(x.shape, axis)
    if count <= correction:
        return None
    mean = total(x, axis, keepdims=True) / np.float32(count)
    return np.float32(2 / (count - correction)) * unreduce(g, x.shape, axis, keepdims) * (x - mean)


def std_vjp(g, out, x, *, axis, keepdims, correction):
    """The same for g / (2 out); 0 where out is 0."""
    g = np.where(out == 0, np.float32(0), g / np.where(out == 0, ONE, out * 2))
    return var_vjp(g, None, x, axis=axis, keepdims=keepdims, correction=correction)


def norm(x, *, ord, axis, keepdims):
    """sqrt(sum(x x)) without scaling: over the last axes in vectors, over another one after another."""
    if ord != 2 or not x.flags.c_contiguous:
        return None
    if axis == tuple(range(-len(axis), 0)):
        squares = row_sums_of_squares(x.reshape(*x.shape[: x.ndim - len(axis)], -1)).reshape(
            kept_shape(x.shape, axis)
        )
    elif len(axis) == 1:
        squares = column_sums(x * x, *axis)
    else:
        return None
    found = np.sqrt(squares)
    return found if keepdims else np.squeeze(found, axis)


def norm_vjp(g, out, x, *, ord, axis, keepdims):
    """g (x / norm), 0 at the origin."""
    if ord != 2:
        return None
    g, out = unreduce(g, x.shape, axis, keepdims), unreduce(out, x.shape, axis, keepdims)
    return g * np.where(out == 0, np.float32(0), x / np.where(out == 0, ONE, out))


def class_loss(x, *, index, weights, total):
    """-(sum of the scores) / total, in the order of PyTorch's loop over the rows."""
    if weights is not None or x.ndim != 2 or len(index.shape) != 2 or len(index.key[0]) != len(x):
        return None
    return cascade_of_rows(-index.take(x)) / np.float32(total)


# -- products -------------------------------------------------------------------------------------


def product_dx(g, _out_shape, _x_shape, y):
    """g y^T."""
    return small_product(g, y.T)


def product_dy(g, _out_shape, x, _y_shape):
    """x^T g."""
    return small_product(x.T, g)


def matrix_vector(x, y):
    """A x."""
    return with_vector(x, y) if x.shape[1] <= LANES + 1 and x.flags.c_contiguous else None


# -- softmax --------------------------------------------------------------------------------------


def sums_along(x, axis):
    """The sum over an axis in PyTorch's order, kept."""
    return row_sums(x) if axis == -1 else column_sums(x, axis)


def softmax(x, *, axis):
    """exp(x - largest), multiplied by one over its sum in rows, divided by it in columns."""
    if len(axis) != 1:
        return None
    (axis,) = axis
    shifted = x - x.max(axis, keepdims=True)
    if axis == -1:
        e = vector_exp(shifted)
        return e * (ONE / row_sums(e))
    rows = shifted.reshape(-1, math.prod(x.shape[axis + 1 :]))
    e = np.stack([exp(row) for row in rows]).reshape(x.shape)
    return e / column_sums(e, axis)


def softmax_vjp(g, out, _x_shape, *, axis):
    """(g - sum(g s)) s."""
    if len(axis) != 1:
        return None
    (axis,) = axis
    return (g - (row_sums(g * out) if axis == -1 else column_sums_of_products(g, out, axis))) * out


def log_softmax(x, *, axis):
    """(x - largest) - log(sum(exp(x - largest)))."""
    if len(axis) != 1:
        return None
    (axis,) = axis
    shifted = x - x.max(axis, keepdims=True)
    return shifted - log(sums_along(vector_exp(shifted), axis))


def log_softmax_vjp(g, out, _x_shape, *, axis):
    """g - exp(out) sum(g), the product unrounded."""
    return fused(-vector_exp(out), sums_along(g, *axis), g) if len(axis) == 1 else None


# -- the forms of the table's entries --------------------------------------------------------------

ONCE = (
    "exp exp2 expm1 log log2 log10 log1p tan arcsin arccos arctan arctan2 sinh cosh tanh arctanh erfinv var std"
).split()
"""Functions that are computed in float64 and rounded once."""
FORMS: dict[str, dict[str, Any]] = {
    "matrix_product": {"forward": small_product, "rules": (product_dx, product_dy)},
    "matrix_vector": {"forward": matrix_vector},
    "affine": {
        "forward": lambda b, x, w: small_layer(x, w, b),
        "rules": (
            lambda g, _out, _b, _x, _w: total(g, (-2,)),
            lambda g, _out, _b, _x, w: small_product(g, w),
            lambda g, _out, _b, x, _w: small_product(g.T, x),
        ),
    },
    "power": {"forward": power, "otherwise": product_power, "pair": power_pair},
    "divide": {"pair": quotient_pair},
    "binary_cross_entropy_terms": {"pair": cross_entropy_pair},
    "sigmoid": {"forward": sigmoid, "cotangent": sigmoid_cotangent},
    "silu": {"forward": silu, "cotangent": silu_cotangent},
    "softplus": {"forward": softplus, "cotangent": softplus_cotangent},
    "logsigmoid": {"forward": logsigmoid, "cotangent": logsigmoid_cotangent},
    "mish": {"forward": lambda x: x * tanh(log1p(exp(x)))},
    "elu": {"forward": elu, "cotangent": elu_cotangent},
    "celu": {"forward": elu, "cotangent": elu_cotangent},
    "selu": {"forward": elu, "cotangent": elu_cotangent},
    "gelu": {"forward": gelu},
    "hardswish": {"forward": hardswish, "cotangent": hardswish_cotangent},
    "tanhshrink": {
        "forward": lambda x: x - tanh(x),
        "cotangent": lambda g, _, x: g - tanh_cotangent(g, tanh(x), None),
    },
    "softsign": {"cotangent": softsign_cotangent},
    "softmax": {"forward": softmax, "rules": (softmax_vjp,)},
    "log_softmax": {"forward": log_softmax, "rules": (log_softmax_vjp,)},
    "logsumexp": {"forward": logsumexp, "rules": (logsumexp_vjp,)},
    "cumsum_last": {"forward": cumulated, "rules": (lambda g, _, _x: cumulated(g[..., ::-1])[..., ::-1],)},
    "class_loss": {"forward": class_loss},
    "var": {"rules": (var_vjp,)},
    "std": {"rules": (std_vjp,)},
    "norm": {"forward": norm, "rules": (norm_vjp,)},
    "tanh": {"cotangent": tanh_cotangent},
    "log": {"cotangent": lambda g, _, x: g / x},
    "log2": {"cotangent": lambda g, _, x: g / (x * np.float32(LN2))},
    "log10": {"cotangent": lambda g, _, x: g / (x * np.float32(LN10))},
    "log1p": {"cotangent": lambda g, _, x: g / (x + ONE)},
    "exp2": {"cotangent": lambda g, out, _: g * out * np.float32(LN2)},
    "sqrt": {"cotangent": lambda g, out, _: g / (2 * out)},
    "sin": {"forward": sin, "cotangent": lambda g, _, x: g * cos(x)},
    "cos": {"forward": cos, "cotangent": lambda g, _, x: g * -sin(x)},
    "sinh": {"cotangent": lambda g, _, x: g * cosh(x)},
    "cosh": {"cotangent": lambda g, _, x: g * sinh(x)},
    "arcsin": {"cotangent": lambda g, _, x: g * (ONE / np.sqrt(ONE - x * x))},
    "arccos": {"cotangent": lambda g, _, x: g * -(ONE / np.sqrt(ONE - x * x))},
    "arctan": {"cotangent": lambda g, _, x: g / (x * x + ONE)},
    "arctanh": {"cotangent": lambda g, _, x: g / (ONE - x * x)},
    "erf": {"cotangent": lambda g, _, x: np.float32(2 / math.sqrt(math.pi)) * rounded_exp(-(x * x)) * g},
    "erfinv": {"cotangent": lambda g, out, _: np.float32(math.sqrt(math.pi) / 2) * rounded_exp(out * out) * g},
}
"""Functions in PyTorch's order. otherwise: instead of the entry's own forward where the form does not fit."""
