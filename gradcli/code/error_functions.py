"""The error functions, the normal distribution, and their inverses."""

from __future__ import annotations

import math
from typing import Any

from .coefficients import ERF, ERFCINV_FAR, ERFCINV_MIDDLE, ERFCINV_NEAR, ERFCX, ERFINV
from .formulas import (
    absolute,
    copysign_nodes,
    equal_nodes,
    erfc_nodes,
    erfcx_nodes,
    exp,
    log,
    log1p,
    minimum_nodes,
    polynomial,
    rint,
    scaled_to_unit,
    sqrt,
    trunc,
    where_nodes,
)
from .nodes import CodeNode

SQRT_PI = math.sqrt(math.pi)
ROOT_OF_HALF = math.sqrt(0.5)


def exp_minus_square(x: CodeNode) -> Any:
    """exp(-x^2), with x split so that the square of its first part is exact."""
    first = trunc(x * 16) / 16
    return exp(-first * first) * exp((first - x) * (first + x))


def scaled_erfc(x: CodeNode) -> Any:
    """exp(x^2) erfc(x): (1 + 2 x) times it is a polynomial in (x - 3) / (x + 3); below 0 by reflection."""
    size = absolute(x)
    right = where_nodes(size > 1e8, 1 / (size * SQRT_PI), polynomial(ERFCX, 1 - 6 / (size + 3)) / (1 + 2 * size))
    square = x * x
    rest = (x - rint(x * 16) / 16) * (x + rint(x * 16) / 16)
    first = rint(x * 16) / 16
    left = 2 * (exp(first * first) * exp(rest)) - right
    return where_nodes(x < 0, where_nodes(square > 709.7, math.inf, left), right)


def near_erf(x: CodeNode) -> Any:
    """erf(x) for |x| < 1: x times a polynomial in 2 x^2 - 1."""
    return x * polynomial(ERF, 2 * (x * x) - 1)


def own_erf(x: CodeNode) -> Any:
    size = minimum_nodes(absolute(x), 6.0)  # from here on, the result is 1
    return where_nodes(size < 1, near_erf(x), copysign_nodes(1 - exp_minus_square(size) * erfcx_nodes(size), x))


def own_erfc(x: CodeNode) -> Any:
    size = absolute(x)
    tail = where_nodes(size > 28, 0.0, exp_minus_square(minimum_nodes(size, 28.0)) * erfcx_nodes(size))
    return where_nodes(size < 0.5, 1 - near_erf(x), where_nodes(x < 0, 2 - tail, tail))


ERFINV_NEAR = 0.75


def inverse_erf(x: CodeNode) -> Any:
    """x times a polynomial in x^2 for |x| < 3/4; outside by the inverse of erfc, as 1 - |x| is exact there."""
    size = absolute(x)
    near = x * polynomial(ERFINV, x * x * (2 / ERFINV_NEAR**2) - 1)
    return where_nodes(size < ERFINV_NEAR, near, copysign_nodes(tail_of_erfcinv(1 - size), x))


ERFCINV_TAILS = ((1 / 3, 0.86, ERFCINV_NEAR), (0.125, 1 / 3, ERFCINV_MIDDLE), (0.0366, 0.125, ERFCINV_FAR))


def tail_of_erfcinv(y: CodeNode) -> Any:
    """s = sqrt(-log(y)) times polynomials in 1 / s, for y up to 1/4."""
    s = sqrt(-log(y))
    inverse = 1 / s
    near, middle, far = (polynomial(c, scaled_to_unit(inverse, low, high)) for low, high, c in ERFCINV_TAILS)
    return where_nodes(equal_nodes(y, 0.0), math.inf, s * where_nodes(s < 3, near, where_nodes(s < 8, middle, far)))


def inverse_erfc(y: CodeNode) -> Any:
    """In the tails from -log(y), elsewhere from the inverse of erf."""
    upper = -tail_of_erfcinv(2 - y)
    middle = y.graph.call("erfinv", 1 - y)
    return where_nodes(y < 0.25, tail_of_erfcinv(y), where_nodes(y > 1.75, upper, middle))


def normal_distribution(x: CodeNode) -> Any:
    return 0.5 * erfc_nodes(x * -ROOT_OF_HALF)


def normal_quantile(p: CodeNode) -> Any:
    """sqrt(2) times the inverse of erfc in the lower tail, of erf near 1/2, and of erfc in the upper tail."""
    lower = -tail_of_erfcinv(2 * p)
    upper = tail_of_erfcinv(2 * (1 - p))
    middle = p.graph.call("erfinv", 2 * p - 1)
    return math.sqrt(2) * where_nodes(p < 0.125, lower, where_nodes(p > 0.875, upper, middle))


def log_normal_distribution(x: CodeNode) -> Any:
    t = x * ROOT_OF_HALF
    return where_nodes(x < -1, log(0.5 * erfcx_nodes(-t)) - t * t, log1p(-0.5 * erfc_nodes(t)))
