"""Functions that some languages lack, in terms of simpler ones.

`HELPERS` has a function of nodes for each operation; a language that lacks the operation gets it as a function of its
own in the generated code. Values are accurate to a few rounding units wherever the function is well conditioned.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from .error_functions import (
    inverse_erf,
    inverse_erfc,
    log_normal_distribution,
    normal_distribution,
    normal_quantile,
    own_erf,
    own_erfc,
    scaled_erfc,
)
from .formulas import (
    absolute,
    ceil,
    copysign_nodes,
    equal_nodes,
    exp,
    expm1,
    floor,
    fmod,
    gamma_nodes,
    gammaln_nodes,
    is_nan,
    log,
    log1p,
    maximum_nodes,
    sin,
    sqrt,
    trunc,
    where_nodes,
)
from .gamma_functions import (
    beta_function,
    gamma_sign,
    is_pole,
    log_beta,
    own_digamma,
    own_gamma,
    own_gammaln,
    own_polygamma,
    reciprocal_gamma,
)
from .nodes import CodeNode

# -- rounding, signs, extremes ---------------------------------------------------------------------------------------

INTEGERS = 2.0**52  # from here on, every double is an integer


def exact_rint(x: CodeNode) -> Any:
    """x rounded to an integer, halves to even, by the rounding of additions."""
    size = absolute(x)
    return where_nodes(size < INTEGERS, copysign_nodes((size + INTEGERS) - INTEGERS, x), x)


def exact_remainder(x: CodeNode, y: CodeNode) -> Any:
    """x - y floor(x / y), with the sign of y."""
    rest = fmod(x, y)
    return where_nodes((rest * y) < 0, rest + y, rest)


def exact_floor_divide(x: CodeNode, y: CodeNode) -> Any:
    """floor(x / y) by way of the exact remainder, as NumPy computes it; the quotient of a division by 0."""
    rest = fmod(x, y)
    quotient = (x - rest) / y
    quotient = where_nodes((rest * y) < 0, quotient - 1, quotient)
    near = floor(quotient)
    return where_nodes(equal_nodes(y, 0.0), x / y, where_nodes(quotient - near > 0.5, near + 1, near))


def larger(x: CodeNode, y: CodeNode) -> Any:
    return where_nodes((x > y) | is_nan(x), x, y)


def smaller(x: CodeNode, y: CodeNode) -> Any:
    return where_nodes((x < y) | is_nan(x), x, y)


def sign_bit(x: CodeNode) -> Any:
    return (x < 0) | (equal_nodes(x, 0.0) & (1.0 / x < 0))


# -- exponentials, logarithms, inverse hyperbolic functions ------------------------------------------------------------

FAR_FROM_ONE = 2.0**28  # from here on, x^2 + 1 is x^2 in double precision
LOG_OF_2 = math.log(2)


def add_logarithms(x: CodeNode, y: CodeNode) -> Any:
    """log(exp(x) + exp(y)); the same infinity twice is the result."""
    return where_nodes(equal_nodes(x, y), x + LOG_OF_2, maximum_nodes(x, y) + log1p(exp(-absolute(x - y))))


def add_binary_logarithms(x: CodeNode, y: CodeNode) -> Any:
    return where_nodes(
        equal_nodes(x, y), x + 1, maximum_nodes(x, y) + log1p(exp(-absolute(x - y) * LOG_OF_2)) / LOG_OF_2
    )


def inverse_sinh(x: CodeNode) -> Any:
    """The three ranges of FreeBSD's s_asinh.c: for large, medium and small numbers."""
    size = absolute(x)
    square = size * size
    medium = log(2 * size + 1 / (sqrt(square + 1) + size))
    small = log1p(size + square / (1 + sqrt(square + 1)))
    return copysign_nodes(
        where_nodes(size > FAR_FROM_ONE, log(size) + LOG_OF_2, where_nodes(size > 2, medium, small)), x
    )


def inverse_cosh(x: CodeNode) -> Any:
    """The three ranges of FreeBSD's e_acosh.c."""
    above = x - 1
    medium = log(2 * x - 1 / (x + sqrt(x * x - 1)))
    return where_nodes(
        x > FAR_FROM_ONE, log(x) + LOG_OF_2, where_nodes(x > 2, medium, log1p(above + sqrt(2 * above + above * above)))
    )


def inverse_tanh(x: CodeNode) -> Any:
    size = absolute(x)
    return copysign_nodes(0.5 * log1p(2 * size / (1 - size)), x)


# -- entropies and series ----------------------------------------------------------------------------------------------


def x_log_y(x: CodeNode, y: CodeNode) -> Any:
    return where_nodes(equal_nodes(x, 0.0) & ~is_nan(y), 0.0, x * log(y))


def x_log1p_y(x: CodeNode, y: CodeNode) -> Any:
    return where_nodes(equal_nodes(x, 0.0) & ~is_nan(y), 0.0, x * log1p(y))


def entropy(x: CodeNode) -> Any:
    return where_nodes(x > 0, -x * log(x), where_nodes(equal_nodes(x, 0.0), 0.0, where_nodes(is_nan(x), x, -math.inf)))


def relative_entropy(x: CodeNode, y: CodeNode) -> Any:
    """x log(x / y); near 1 by log1p, and without a quotient that overflows or underflows."""
    ratio = x / y
    near = x * log1p((x - y) / y)
    general = where_nodes((ratio > 1e-300) & (ratio < 1e300), x * log(ratio), x * (log(x) - log(y)))
    inside = where_nodes((ratio > 0.5) & (ratio < 2), near, general)
    outside = where_nodes(equal_nodes(x, 0.0) & (y >= 0), 0.0, where_nodes(is_nan(x) | is_nan(y), x + y, math.inf))
    return where_nodes((x > 0) & (y > 0), inside, outside)


def divergence_nodes(x: CodeNode, y: CodeNode) -> Any:
    outside = where_nodes(equal_nodes(x, 0.0) & (y >= 0), y, where_nodes(is_nan(x) | is_nan(y), x + y, math.inf))
    return where_nodes((x > 0) & (y > 0), x * log(x / y) - x + y, outside)


def hypergeometric(above: Sequence[float], below: Sequence[float], z: Any, terms: int) -> Any:
    """The series with these parameters, by Horner's rule."""
    result: Any = 1.0
    for k in range(terms, 0, -1):
        factor = math.prod(a + k - 1 for a in above) / math.prod(b + k - 1 for b in below) / k
        result = z * factor * result + 1
    return result


def constant_parameters(*xs: Any) -> list[float]:
    """Return the values of parameters. Raises TypeError if one depends on inputs."""
    if any(isinstance(x, CodeNode) and x.op != "constant" for x in xs):
        raise TypeError("a parameter of a series depends on inputs")
    return [x.value if isinstance(x, CodeNode) else float(x) for x in xs]


def bessel_series(b: Any, z: Any) -> Any:
    """hyp0f1(b, z) as the spherical Bessel functions use it: near 0, compared with b."""
    (order,) = constant_parameters(b)
    return hypergeometric((), (order,), z, 24)


def gauss_series(a: Any, b: Any, c: Any, z: Any) -> Any:
    """hyp2f1(a, b, c, z) as the table uses it: for |z| < 1/2 and small parameters."""
    *above, below = constant_parameters(a, b, c)
    return hypergeometric(above, (below,), z, 60)


def kummer_series(a: Any, b: Any, z: Any) -> Any:
    """hyp1f1(a, b, z) as the slopes of exprel and boxcox use it: for |z| < 2."""
    above, below = constant_parameters(a, b)
    return hypergeometric((above,), (below,), z, 30)


# -- power transforms, binomials, robust losses -----------------------------------------------------------------------


LARGEST_EXPREL = 717.0  # above this, (exp(x) - 1) / x exceeds the largest double


def relative_exponential(x: CodeNode) -> Any:
    """(exp(x) - 1) / x, and 1 at 0."""
    return where_nodes(equal_nodes(x, 0.0), 1.0, where_nodes(x > LARGEST_EXPREL, math.inf, expm1(x) / x))


def power_transform(logarithm: Any, y: CodeNode) -> Any:
    """(x^y - 1) / y for the logarithm of x."""
    general = logarithm * y.graph.call("exprel", y * logarithm)
    return where_nodes(equal_nodes(logarithm, -math.inf), where_nodes(y > 0, -1 / y, -math.inf), general)


def power_minus_one(x: CodeNode, y: CodeNode) -> Any:
    exponent = y * log(x)
    return where_nodes(absolute(exponent) < 0.5, expm1(exponent), x.graph.power(x, y) - 1)


def inverse_transform(x: CodeNode, y: CodeNode) -> Any:
    return where_nodes(equal_nodes(y, 0.0), exp(x), exp(log1p(x * y) / y))


SAFE_GAMMA = 150.0
"""Below this size, neither gamma(x + 1) nor its reciprocal overflows."""


def gamma_ratio(x: Any, *below: Any) -> Any:
    """gamma(x) divided by gamma functions, of large numbers by their logarithms."""
    small, sign, logarithm, product = absolute(x) < SAFE_GAMMA, sign_or_one(x), gammaln_nodes(x), gamma_nodes(x)
    for y in below:
        small = small & (absolute(y) < SAFE_GAMMA)
        sign, logarithm = sign * sign_or_one(y), logarithm - gammaln_nodes(y)
        product = product * y.graph.call("rgamma", y)
    return where_nodes(small, product, sign * exp(logarithm))


def sign_or_one(x: Any) -> Any:
    """The sign of gamma(x), and 1 at a pole."""
    return where_nodes(is_pole(x), 1.0, x.graph.call("gammasgn", x))


def binomial(x: CodeNode, y: CodeNode) -> Any:
    """By gamma functions, of large positive numbers by the logarithm of the beta function."""
    others = x - y + 1
    large = (x >= SAFE_GAMMA) & (y > -1) & (others > 0)
    by_beta = exp(-log(x + 1) - x.graph.call("betaln", others, y + 1))
    return where_nodes(large, by_beta, gamma_ratio(x + 1, y + 1, others))


def rising_factorial(x: CodeNode, y: CodeNode) -> Any:
    """By gamma functions, for a large x by the logarithm of the beta function."""
    large = (x >= SAFE_GAMMA) & (absolute(y) < SAFE_GAMMA) & (x + y > 0)
    up = gamma_nodes(y) * exp(-x.graph.call("betaln", x, y))
    down = x.graph.call("rgamma", -y) * exp(x.graph.call("betaln", x + y, -y))
    by_beta = where_nodes(y > 0, up, where_nodes(y < 0, down, 1.0))
    return where_nodes(large, by_beta, gamma_ratio(x + y, x))


def huber_loss_nodes(x: CodeNode, y: CodeNode) -> Any:
    size = absolute(y)
    inside = where_nodes(size <= x, 0.5 * y * y, x * (size - 0.5 * x))
    return where_nodes(x < 0, math.inf, inside)


def cosine_minus_one(x: CodeNode) -> Any:
    half = sin(0.5 * x)
    return -2 * half * half


HELPERS: dict[str, Callable] = {
    "sign": lambda x: where_nodes(x > 0, 1.0, where_nodes(x < 0, -1.0, x)),
    "rint": exact_rint,
    "trunc": lambda x: where_nodes(x < 0, ceil(x), floor(x)),
    "floor": lambda x: where_nodes(x < trunc(x), trunc(x) - 1, trunc(x)),
    "ceil": lambda x: where_nodes(x > trunc(x), trunc(x) + 1, trunc(x)),
    "remainder": exact_remainder,
    "floor_divide": exact_floor_divide,
    "copysign": lambda x, y: where_nodes(sign_bit(y), -absolute(x), absolute(x)),
    "maximum": larger,
    "minimum": smaller,
    "fmax": lambda x, y: where_nodes((x >= y) | is_nan(y), x, y),
    "fmin": lambda x, y: where_nodes((x <= y) | is_nan(y), x, y),
    "exp2": lambda x: x.graph.call("power", 2.0, x),
    "exp10": lambda x: x.graph.call("power", 10.0, x),
    "logaddexp": add_logarithms,
    "logaddexp2": add_binary_logarithms,
    "arcsinh": inverse_sinh,
    "arccosh": inverse_cosh,
    "arctanh": inverse_tanh,
    "erf": own_erf,
    "erfc": own_erfc,
    "erfcx": scaled_erfc,
    "erfinv": inverse_erf,
    "erfcinv": inverse_erfc,
    "ndtr": normal_distribution,
    "ndtri": normal_quantile,
    "log_ndtr": log_normal_distribution,
    "gamma": own_gamma,
    "gammaln": own_gammaln,
    "digamma": own_digamma,
    "rgamma": reciprocal_gamma,
    "gammasgn": gamma_sign,
    "betaln": log_beta,
    "beta": beta_function,
    "xlogy": x_log_y,
    "xlog1py": x_log1p_y,
    "entr": entropy,
    "rel_entr": relative_entropy,
    "kl_div": divergence_nodes,
    "exprel": relative_exponential,
    "cosm1": cosine_minus_one,
    "powm1": power_minus_one,
    "boxcox": lambda x, y: power_transform(log(x), y),
    "boxcox1p": lambda x, y: power_transform(log1p(x), y),
    "inv_boxcox": inverse_transform,
    "binom": binomial,
    "poch": rising_factorial,
    "huber": huber_loss_nodes,
}
INLINE: dict[str, Callable] = {"hyp0f1": bessel_series, "hyp1f1": kummer_series, "hyp2f1": gauss_series}
"""Functions of scipy.special that are written out where they are used, for constant parameters."""


def polygamma_nodes(x: CodeNode, *, n: int) -> Any:
    return x.graph.call(f"polygamma_{n}" if n else "digamma", x)


def without_nan(x: CodeNode, *, nan: float, posinf: float | None, neginf: float | None) -> Any:
    largest = 1.7976931348623157e308
    high, low = largest if posinf is None else posinf, -largest if neginf is None else neginf
    return where_nodes(
        is_nan(x), nan, where_nodes(equal_nodes(x, math.inf), high, where_nodes(equal_nodes(x, -math.inf), low, x))
    )


ENTRIES: dict[str, Callable] = {"polygamma": polygamma_nodes, "nan_to_num": without_nan}
"""Entries whose forward function is not written with functions of NumPy and scipy.special."""


@functools.cache
def helper(op: str) -> Callable | None:
    """Return the function of nodes for an operation that a language lacks, or None."""
    order = re.fullmatch(r"polygamma_(\d+)", op)
    return functools.partial(own_polygamma, order=int(order[1])) if order else HELPERS.get(op)
