"""Float32 functions as a processor's vectors compute them, operation for operation, so that all bits agree.

exp, log, log1p and power are those of SLEEF with errors of at most one unit in the last place (Shibata and Petrogalli
2020, "SLEEF: A portable vectorized library of C standard mathematical functions"), which PyTorch calls in the
middle of larger functions; sums of rows are added in vectors of 16.
"""

from __future__ import annotations

import numpy as np


def singles(*numbers: float) -> tuple:
    """Return numbers as float32."""
    return tuple(map(np.float32, numbers))


FEW = 16384
"""Elements up to which digits matter more than time."""
LANES, NARROW = 16, 8
"""Numbers in a vector of 64 bytes, and in one of 32."""
LN2_HIGH, LN2_LOW = (np.float64(np.float32(x)) for x in (0.693145751953125, 1.428606765330187045e-06))
LN2 = np.float64(np.float32(0.69314718246459960938)) + np.float64(np.float32(-1.904654323148236017e-09))
EXP = singles(
    *(0.000198527617612853646278381, 0.00139304355252534151077271, 0.00833336077630519866943359),
    *(0.0416664853692054748535156, 0.166666671633720397949219, 0.5),
)
EXP_OF_POWER = singles(
    *(0.00136324646882712841033936, 0.00836596917361021041870117, 0.0416710823774337768554688),
    *(0.166665524244308471679688, 0.499999850988388061523438),
)
LOG = singles(0.3027294874, 0.3996108174, 0.6666694880)
LOG_OF_POWER = singles(0.240320354700088500976562, 0.285112679004669189453125, 0.400007992982864379)
THIRD = np.float64(np.float32(0.66666662693023681640625)) + np.float64(np.float32(3.69183861259614332084311e-09))
SINE = (-0.16666659552293853, 0.008333066290596141, -0.00019809605948077288, 2.6057869786212517e-06)
"""Coefficients that give 99.998 % of PyTorch's sines and cosines, found by linear programming from three million."""
FAR = 10_000
ONE = np.float32(1)


def fused(x, y, z):
    """x y + z, rounded once: float64 holds the product of two float32 numbers exactly."""
    return (np.multiply(x, y, dtype=np.float64) + z).astype(np.float32)


def polynomial(x, coefficients):
    """The polynomial with the highest coefficient first."""
    found = coefficients[0]
    for coefficient in coefficients[1:]:
        found = fused(found, x, coefficient)
    return found


def elsewhere(inside, found, function, *xs):
    """What was found where all is well, and what a function gives elsewhere."""
    return found if inside.all() else np.where(inside, found, function(*xs))


def limited(x, bound):
    """x between -bound and bound; nan becomes one of them."""
    return np.fmax(np.fmin(x, bound), -bound)


def exp(x):
    """e^x: 2^q times a polynomial in the rest, of at most ln(2) / 2."""
    q = np.rint(limited(x, 104) * np.float32(1 / np.log(2)))
    rest = fused(q, -LN2_LOW, fused(q, -LN2_HIGH, x))
    found = ONE + fused(rest * rest, polynomial(rest, EXP), rest)
    return elsewhere(abs(x) < 104, np.ldexp(found, q.astype(np.int32)), np.exp, x)


def sine_near_zero(x):
    """sin(x) for float64 x between -pi/2 and pi/2, to 1e-8."""
    square = x * x
    return x + x * square * np.polynomial.polynomial.polyval(square, SINE)


def sine(x):
    """sin(x) as MKL rounds it: in float64, from the distance to the nearest multiple of pi."""
    turns = np.rint(x / np.pi)
    found = sine_near_zero(x - turns * np.pi) * (1 - 2 * (turns % 2))
    return elsewhere(abs(x) < FAR, found, np.sin, x).astype(np.float32)


def cosine(x):
    """cos(x) in the same way, from the distance to the nearest odd multiple of pi / 2."""
    turns = np.rint(x / np.pi + 0.5)
    found = sine_near_zero(x - (turns - 0.5) * np.pi) * (1 - 2 * (turns % 2))
    return elsewhere(abs(x) < FAR, found, np.cos, x).astype(np.float32)


def exponent_of(x):
    """The exponent that leaves a number between 3/4 and 3/2."""
    return np.frexp(np.multiply(x, 4 / 3, dtype=np.float64))[1] - 1


def log_of_ratio(exponent, top, bottom):
    """exponent ln(2) + 2 artanh(top / bottom): the quotient in float64, in small terms as top times 1 / bottom."""
    ratio = top / bottom
    x = top.astype(np.float32) * (ONE / bottom.astype(np.float32))
    square = x * x
    return (exponent * LN2 + 2 * ratio + square * x * polynomial(square, LOG)).astype(np.float32)


def log(x):
    """ln(x), from a number between 3/4 and 3/2 and its exponent."""
    exponent = exponent_of(x)
    number = np.ldexp(x, -exponent).astype(np.float64)
    return elsewhere((x > 0) & (x < np.inf), log_of_ratio(exponent, number - 1, number + 1), np.log, x)


def log1p(x):
    """ln(1 + x)."""
    exponent = exponent_of(x + ONE)
    scale = np.ldexp(ONE, -exponent)
    number = fused(x, scale, scale - ONE).astype(np.float64)
    return elsewhere((x > -1) & (x < np.inf), log_of_ratio(exponent, number, number + 2), np.log1p, x)


def power(x, y):
    """x^y as exp(y ln(|x|)), the logarithm in float64; the sign is that of a whole power."""
    x, y = np.broadcast_arrays(np.asarray(x, np.float32), np.asarray(y, np.float32))
    plain = (x != 0) & np.isfinite(x) & np.isfinite(y)
    exponent = exponent_of(abs(x))
    number = np.ldexp(abs(x), -exponent).astype(np.float64)
    ratio = (number - 1) / (number + 1)
    square = ratio * ratio
    near = (number - 1).astype(np.float32) * (ONE / (number + 1).astype(np.float32))
    series = square * polynomial(near * near, LOG_OF_POWER) + THIRD
    total = limited((exponent * LN2 + 2 * ratio + square * ratio * series) * y, 200)
    q = np.rint(total.astype(np.float32) * np.float32(1 / np.log(2)))
    rest = total - q * LN2_HIGH - q * LN2_LOW
    found = (1 + (rest + rest * rest * polynomial(rest.astype(np.float32), EXP_OF_POWER))).astype(np.float32)
    sign = np.where(x > 0, ONE, np.where(y != np.rint(y), np.float32(np.nan), 1 - 2 * (abs(y) % 2)))
    size = np.ldexp(found, q.astype(np.int32))
    return elsewhere(plain, size * sign, np.power, x.astype(np.float64), y).astype(np.float32)


def row_sums(x):
    """The sum over the last axis, kept: vectors are added, then their halves, the halves of these, and so on."""
    size = x.shape[-1]
    if size < LANES:
        return np.add.accumulate(x, axis=-1)[..., -1:]
    sums = x[..., :LANES].copy()
    for start in range(LANES, size, LANES):
        part = x[..., start : start + LANES]
        sums[..., : part.shape[-1]] += part
    while sums.shape[-1] > 1:
        half = sums.shape[-1] // 2
        sums = sums[..., :half] + sums[..., half:]
    return sums


def column_sums(x, axis):
    """The sum over another axis, kept, one row after another."""
    return np.take(np.add.accumulate(x, axis=axis), [-1], axis=axis)


def column_sums_of_products(x, y, axis):
    """The sum of x y over an axis, kept, one row after another, each product unrounded."""
    found = np.zeros_like(np.take(x, [0], axis=axis))
    for i in range(x.shape[axis]):
        found = fused(np.take(x, [i], axis=axis), np.take(y, [i], axis=axis), found)
    return found


def row_sums_of_squares(x):
    """The sum of x x over the last axis: in vectors of 8, of which the lanes are added one after another.

    Of what is left four products are rounded, the others not.
    """
    size = x.shape[-1]
    whole = size - size % NARROW
    squares = x * x
    vectors = squares[..., :whole].reshape(*x.shape[:-1], -1, NARROW)
    lanes = np.add.accumulate(vectors, axis=-2)[..., -1, :] if whole else squares[..., :0]
    rounded = whole + 4 if size - whole >= 4 else whole
    parts = np.concatenate([np.zeros_like(x[..., :1]), lanes, squares[..., whole:rounded]], -1)
    found = np.add.accumulate(parts, axis=-1)[..., -1]
    for i in range(rounded, size):
        found = fused(x[..., i], x[..., i], found)
    return found
