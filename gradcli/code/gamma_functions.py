"""The gamma function, its logarithm and derivatives, and the beta function."""

from __future__ import annotations

import math
from typing import Any

from .coefficients import DIGAMMA, GAMMA, LOG_GAMMA
from .formulas import (
    absolute,
    copysign,
    cos,
    equal,
    exp,
    floor,
    gamma,
    gammaln,
    is_nan,
    log,
    log1p,
    maximum,
    minimum,
    polynomial,
    rint,
    sin,
    where,
)
from .nodes import Node

STEPS = 6
NEAR_GAMMA = 2.5 + STEPS  # up to here, gamma functions are reduced to arguments between 3/2 and 5/2
STIRLING = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400]
"""Coefficients of Stirling's series for log(gamma(x)) in odd powers of 1 / x. DLMF 5.11.1."""
LARGEST_GAMMA = 171.7  # above, the gamma function overflows


def reduced(x: Node) -> tuple[Any, Any]:
    """Return y between 3/2 and 5/2 and p with gamma(x) = p gamma(y), for 1/2 < x < NEAR_GAMMA."""
    small = x < 1.5
    product = where(small, 1 / x, 1.0)
    y = where(small, x + 1, x)
    for _ in range(STEPS):
        above = y > 2.5
        y = where(above, y - 1, y)
        product = where(above, product * y, product)
    return y, product


def correction(x: Node) -> Any:
    """What Stirling's formula for log(gamma(x)) lacks."""
    inverse = 1 / x
    return inverse * polynomial(STIRLING, inverse * inverse)


def half_turns(x: Node) -> tuple[Any, Any]:
    """sin(pi x) and cos(pi x), both times (-1)^n for the integer n nearest to x, and x - n."""
    rest = x - rint(x)
    return sin(math.pi * rest), cos(math.pi * rest)


def is_pole(x: Node) -> Any:
    return (x <= 0) & equal(x, floor(x))


def gamma_above(x: Node) -> Any:
    """gamma(x) for x > 1/2: a polynomial near 2, Stirling's formula, with the power in two halves, for large x."""
    y, product = reduced(x)
    root = x.graph.call("power", x, 0.5 * x - 0.25)
    large = (math.sqrt(2 * math.pi) * root * exp(-x) * exp(correction(x))) * root
    return where(x < NEAR_GAMMA, product * polynomial(GAMMA, 2 * y - 4), where(x > LARGEST_GAMMA, math.inf, large))


def reflected(x: Node) -> Any:
    """1 - x below 1/2, where a reflection formula takes over."""
    return where(x < 0.5, 1 - x, x)


def own_gamma(x: Node) -> Any:
    """By reflection below 1/2. DLMF 5.5.3."""
    above = gamma_above(reflected(x))
    sine, whole = half_turns(x)[0], rint(x)
    odd = whole - 2 * rint(0.5 * whole)
    below = math.pi / (where(equal(odd, 0.0), sine, -sine) * above)
    small = where(absolute(x) < 1e-16, 1 / x, below)
    return where(x < 0.5, where((x < 0) & is_pole(x), math.nan, small), above)


def own_gammaln(x: Node) -> Any:
    """log |gamma(x)|: (y - 2) times a polynomial near 2, Stirling's formula for large x, reflection below 1/2."""
    right = reflected(x)
    y, product = reduced(right)
    distance = where(right < 1.5, right - 1, y - 2)
    near = log_of_product(right, product) + distance * polynomial(LOG_GAMMA, 2 * distance)
    far = (right - 0.5) * (log(right) - 1) + ((math.log(2 * math.pi) - 1) / 2 + correction(right))
    above = where(right < NEAR_GAMMA, near, far)
    below = log(math.pi / absolute(half_turns(x)[0])) - above
    small = where(absolute(x) < 1e-20, -log(absolute(x)), below)
    result = where(x < 0.5, where(is_pole(x), math.inf, small), above)
    return where(x.graph.test("isinf", x), math.inf, result)


def log_of_product(x: Node, product: Any) -> Any:
    """The logarithm of the product; between 1/2 and 3/2, where it is 1 / x, accurate near 1."""
    return where(x < 1.5, -log1p(x - 1), log(product))


ROOT, ROOT_REST = 1.4616321449683622, 9.549995429965697e-17  # the zero of the digamma function, in two parts
BERNOULLI = [1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12]  # B_2k / 2k


def own_digamma(x: Node) -> Any:
    """From 1 to 2 the distance to the zero times a polynomial; larger x by recurrence, or by its asymptotic series;
    below 1/2 by reflection. DLMF 5.5.4, 5.11.2."""
    right = reflected(x)
    y: Any = where(right < 1, right + 1, right)
    total: Any = where(right < 1, -1 / right, 0.0)
    for _ in range(STEPS):
        large = y > 2
        y = where(large, y - 1, y)
        total = where(large, total + 1 / y, total)
    near = total + ((y - ROOT) - ROOT_REST) * polynomial(DIGAMMA, 2 * y - 3)
    inverse = 1 / right
    square = inverse * inverse
    far = log(right) - 0.5 * inverse - square * polynomial(BERNOULLI, square)
    above = where(right < 2 + STEPS, near, far)
    sine, cosine = half_turns(x)
    below = above - math.pi * cosine / sine
    result = where(x < 0.5, where((x < 0) & is_pole(x), math.nan, below), above)
    return where(equal(x, 0.0), copysign(math.inf, -x), result)


EVEN_BERNOULLI = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510]


def own_polygamma(x: Node, order: int) -> Any:
    """The derivative of digamma of an order of at least 1: recurrence and asymptotic series; below 1/2 by reflection.
    DLMF 5.15.6, 5.15.8."""
    right = reflected(x)
    above = polygamma_above(right, order)
    sine, cosine = half_turns(x)
    cotangent = cosine / sine
    slope = [0.0, 1.0]  # the derivatives of cot(t) as polynomials in cot(t)
    for _ in range(order):
        inner = [k * c for k, c in enumerate(slope)][1:]
        slope = [-(a + b) for a, b in zip([*inner, 0.0, 0.0], [0.0, 0.0, *inner], strict=True)]
    turn = math.pi ** (order + 1) * polynomial(slope, cotangent)
    below = above - turn if order % 2 == 0 else -above - turn
    return where(x < 0.5, where(is_pole(x), math.inf if order % 2 else math.nan, below), above)


def polygamma_above(x: Node, order: int) -> Any:
    n, steps = order, 8 + order
    factorial = math.factorial(n)
    total: Any = 0.0
    y: Any = x
    for _ in range(steps):
        small = y < steps
        total = where(small, total + factorial / x.graph.power(y, n + 1), total)
        y = where(small, y + 1, y)
    series = [b * math.factorial(2 * k + n + 1) / math.factorial(2 * k + 2) for k, b in enumerate(EVEN_BERNOULLI)]
    inverse = 1 / y
    square = inverse * inverse
    rest = math.factorial(n - 1) + inverse * (0.5 * factorial) + square * polynomial(series, square)
    size = total + rest * x.graph.power(inverse, n)
    return size if n % 2 else -size


def reciprocal_gamma(x: Node) -> Any:
    return where(is_pole(x), 0.0, where(x > 170, exp(-gammaln(x)), 1 / gamma(x)))


def gamma_sign(x: Node) -> Any:
    """1 or -1; 0 at the poles below 0, and the sign of the zero at 0."""
    whole = floor(x)
    odd = whole - 2 * floor(0.5 * whole)
    negative = where(equal(x, whole), math.nan, where(equal(odd, 0.0), 1.0, -1.0))
    return where(x > 0, 1.0, where(equal(x, 0.0), copysign(1.0, x), where(is_nan(x), x, negative)))


LARGE_BETA = 8.0  # above, Stirling's series is accurate to rounding


def log_beta(x: Node, y: Node) -> Any:
    """log |beta(x, y)|: for a large argument, from Stirling's formula, in which the large terms are cancelled.
    Didonato and Morris 1992, "Algorithm 708"."""
    a, b = minimum(x, y), maximum(x, y)
    ratio = a / b
    both = -0.5 * log(b) + 0.5 * math.log(2 * math.pi) + (correction(a) + correction(b) - correction(a + b))
    both = both + (a - 0.5) * log(ratio / (1 + ratio)) - b * log1p(ratio)
    one = gammaln(a) + (correction(b) - correction(a + b)) - (b + a - 0.5) * log1p(ratio) - a * (log(b) - 1)
    plain = gammaln(a) + gammaln(b) - gammaln(a + b)
    result = where(b < LARGE_BETA, plain, where(a < LARGE_BETA, where(a > 0, one, plain), both))
    return where(is_pole(a), math.inf, where((a > 0) & equal(b, math.inf), -math.inf, result))


def beta_function(x: Node, y: Node) -> Any:
    small = (absolute(x) < 80) & (absolute(y) < 80)
    product = gamma(x) * gamma(y) * x.graph.call("rgamma", x + y)
    pole = is_pole(minimum(x, y))
    return where(pole, math.inf, where(small, product, exp(x.graph.call("betaln", x, y))))
