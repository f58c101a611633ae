"""The gamma function, its logarithm and derivatives, and the beta function."""

from __future__ import annotations

import math
from typing import Any

from .coefficients import DIGAMMA, GAMMA, LOG_GAMMA
from .formulas import (
    absolute,
    copysign_nodes,
    cos,
    equal_nodes,
    exp,
    floor,
    gamma_nodes,
    gammaln_nodes,
    is_nan,
    log,
    log1p,
    maximum_nodes,
    minimum_nodes,
    polynomial,
    rint,
    sin,
    where_nodes,
)
from .nodes import CodeNode

RECURRENCE_STEPS = 6
NEAR_GAMMA = 2.5 + RECURRENCE_STEPS  # up to here, gamma functions are reduced to arguments between 3/2 and 5/2
STIRLING = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400]
"""Coefficients of Stirling's series for log(gamma(x)) in odd powers of 1 / x. DLMF 5.11.1."""
LARGEST_GAMMA = 171.7  # above, the gamma function overflows


def reduced(x: CodeNode) -> tuple[Any, Any]:
    """Return y between 3/2 and 5/2 and p with gamma(x) = p gamma(y), for 1/2 < x < NEAR_GAMMA."""
    small = x < 1.5
    product = where_nodes(small, 1 / x, 1.0)
    y = where_nodes(small, x + 1, x)
    for _ in range(RECURRENCE_STEPS):
        above = y > 2.5
        y = where_nodes(above, y - 1, y)
        product = where_nodes(above, product * y, product)
    return y, product


def correction(x: CodeNode) -> Any:
    """What Stirling's formula for log(gamma(x)) lacks."""
    inverse = 1 / x
    return inverse * polynomial(STIRLING, inverse * inverse)


def half_turn_nodes(x: CodeNode) -> tuple[Any, Any]:
    """sin(pi x) and cos(pi x), both times (-1)^n for the integer n nearest to x, and x - n."""
    rest = x - rint(x)
    return sin(math.pi * rest), cos(math.pi * rest)


def is_pole(x: CodeNode) -> Any:
    return (x <= 0) & equal_nodes(x, floor(x))


def gamma_above(x: CodeNode) -> Any:
    """gamma(x) for x > 1/2: a polynomial near 2, Stirling's formula, with the power in two halves, for large x."""
    y, product = reduced(x)
    root = x.graph.call("power", x, 0.5 * x - 0.25)
    large = (math.sqrt(2 * math.pi) * root * exp(-x) * exp(correction(x))) * root
    return where_nodes(
        x < NEAR_GAMMA, product * polynomial(GAMMA, 2 * y - 4), where_nodes(x > LARGEST_GAMMA, math.inf, large)
    )


def reflected(x: CodeNode) -> Any:
    """1 - x below 1/2, where a reflection formula takes over."""
    return where_nodes(x < 0.5, 1 - x, x)


def own_gamma(x: CodeNode) -> Any:
    """By reflection below 1/2. DLMF 5.5.3."""
    above = gamma_above(reflected(x))
    sine, whole = half_turn_nodes(x)[0], rint(x)
    odd = whole - 2 * rint(0.5 * whole)
    below = math.pi / (where_nodes(equal_nodes(odd, 0.0), sine, -sine) * above)
    small = where_nodes(absolute(x) < 1e-16, 1 / x, below)
    return where_nodes(x < 0.5, where_nodes((x < 0) & is_pole(x), math.nan, small), above)


def own_gammaln(x: CodeNode) -> Any:
    """log |gamma(x)|: (y - 2) times a polynomial near 2, Stirling's formula for large x, reflection below 1/2."""
    right = reflected(x)
    y, product = reduced(right)
    distance = where_nodes(right < 1.5, right - 1, y - 2)
    near = log_of_product(right, product) + distance * polynomial(LOG_GAMMA, 2 * distance)
    far = (right - 0.5) * (log(right) - 1) + ((math.log(2 * math.pi) - 1) / 2 + correction(right))
    above = where_nodes(right < NEAR_GAMMA, near, far)
    below = log(math.pi / absolute(half_turn_nodes(x)[0])) - above
    small = where_nodes(absolute(x) < 1e-20, -log(absolute(x)), below)
    result = where_nodes(x < 0.5, where_nodes(is_pole(x), math.inf, small), above)
    return where_nodes(x.graph.test("isinf", x), math.inf, result)


def log_of_product(x: CodeNode, product: Any) -> Any:
    """The logarithm of the product; between 1/2 and 3/2, where it is 1 / x, accurate near 1."""
    return where_nodes(x < 1.5, -log1p(x - 1), log(product))


ROOT, ROOT_REST = 1.4616321449683622, 9.549995429965697e-17  # the zero of the digamma function, in two parts
BERNOULLI = [1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12]  # B_2k / 2k


def own_digamma(x: CodeNode) -> Any:
    """From 1 to 2 the distance to the zero times a polynomial; larger x by recurrence, or by its asymptotic series;
    below 1/2 by reflection. DLMF 5.5.4, 5.11.2."""
    right = reflected(x)
    y: Any = where_nodes(right < 1, right + 1, right)
    total: Any = where_nodes(right < 1, -1 / right, 0.0)
    for _ in range(RECURRENCE_STEPS):
        large = y > 2
        y = where_nodes(large, y - 1, y)
        total = where_nodes(large, total + 1 / y, total)
    near = total + ((y - ROOT) - ROOT_REST) * polynomial(DIGAMMA, 2 * y - 3)
    inverse = 1 / right
    square = inverse * inverse
    far = log(right) - 0.5 * inverse - square * polynomial(BERNOULLI, square)
    above = where_nodes(right < 2 + RECURRENCE_STEPS, near, far)
    sine, cosine = half_turn_nodes(x)
    below = above - math.pi * cosine / sine
    result = where_nodes(x < 0.5, where_nodes((x < 0) & is_pole(x), math.nan, below), above)
    return where_nodes(equal_nodes(x, 0.0), copysign_nodes(math.inf, -x), result)


EVEN_BERNOULLI = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510]


def own_polygamma(x: CodeNode, order: int) -> Any:
    """The derivative of digamma of an order of at least 1: recurrence and asymptotic series; below 1/2 by reflection.
    DLMF 5.15.6, 5.15.8."""
    right = reflected(x)
    above = polygamma_above(right, order)
    sine, cosine = half_turn_nodes(x)
    cotangent = cosine / sine
    slope = [0.0, 1.0]  # the derivatives of cot(t) as polynomials in cot(t)
    for _ in range(order):
        inner = [k * c for k, c in enumerate(slope)][1:]
        slope = [-(a + b) for a, b in zip([*inner, 0.0, 0.0], [0.0, 0.0, *inner], strict=True)]
    turn = math.pi ** (order + 1) * polynomial(slope, cotangent)
    below = above - turn if order % 2 == 0 else -above - turn
    return where_nodes(x < 0.5, where_nodes(is_pole(x), math.inf if order % 2 else math.nan, below), above)


def polygamma_above(x: CodeNode, order: int) -> Any:
    n, steps = order, 8 + order
    factorial = math.factorial(n)
    total: Any = 0.0
    y: Any = x
    for _ in range(steps):
        small = y < steps
        total = where_nodes(small, total + factorial / x.graph.power(y, n + 1), total)
        y = where_nodes(small, y + 1, y)
    series = [b * math.factorial(2 * k + n + 1) / math.factorial(2 * k + 2) for k, b in enumerate(EVEN_BERNOULLI)]
    inverse = 1 / y
    square = inverse * inverse
    rest = math.factorial(n - 1) + inverse * (0.5 * factorial) + square * polynomial(series, square)
    size = total + rest * x.graph.power(inverse, n)
    return size if n % 2 else -size


def reciprocal_gamma(x: CodeNode) -> Any:
    return where_nodes(is_pole(x), 0.0, where_nodes(x > 170, exp(-gammaln_nodes(x)), 1 / gamma_nodes(x)))


def gamma_sign(x: CodeNode) -> Any:
    """1 or -1; 0 at the poles below 0, and the sign of the zero at 0."""
    whole = floor(x)
    odd = whole - 2 * floor(0.5 * whole)
    negative = where_nodes(equal_nodes(x, whole), math.nan, where_nodes(equal_nodes(odd, 0.0), 1.0, -1.0))
    return where_nodes(
        x > 0, 1.0, where_nodes(equal_nodes(x, 0.0), copysign_nodes(1.0, x), where_nodes(is_nan(x), x, negative))
    )


LARGE_BETA = 8.0  # above, Stirling's series is accurate to rounding


def log_beta(x: CodeNode, y: CodeNode) -> Any:
    """log |beta(x, y)|: for a large argument, from Stirling's formula, in which the large terms are cancelled.
    Didonato and Morris 1992, "Algorithm 708"."""
    a, b = minimum_nodes(x, y), maximum_nodes(x, y)
    ratio = a / b
    both = -0.5 * log(b) + 0.5 * math.log(2 * math.pi) + (correction(a) + correction(b) - correction(a + b))
    both = both + (a - 0.5) * log(ratio / (1 + ratio)) - b * log1p(ratio)
    one = gammaln_nodes(a) + (correction(b) - correction(a + b)) - (b + a - 0.5) * log1p(ratio) - a * (log(b) - 1)
    plain = gammaln_nodes(a) + gammaln_nodes(b) - gammaln_nodes(a + b)
    result = where_nodes(b < LARGE_BETA, plain, where_nodes(a < LARGE_BETA, where_nodes(a > 0, one, plain), both))
    return where_nodes(is_pole(a), math.inf, where_nodes((a > 0) & equal_nodes(b, math.inf), -math.inf, result))


def beta_function(x: CodeNode, y: CodeNode) -> Any:
    small = (absolute(x) < 80) & (absolute(y) < 80)
    product = gamma_nodes(x) * gamma_nodes(y) * x.graph.call("rgamma", x + y)
    pole = is_pole(minimum_nodes(x, y))
    return where_nodes(pole, math.inf, where_nodes(small, product, exp(x.graph.call("betaln", x, y))))
