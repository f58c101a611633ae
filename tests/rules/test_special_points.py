"""Values, first and second derivatives of functions of one number at and near their special points.

Expected values are computed by mpmath in at least 60 digits, from the function and its differences, without rules of
the table. The relative tolerance is 1e-13. If a quantity is ill-conditioned, so that rounding the point alone changes
it by more, `allowance` scales the tolerance with the condition number. There are no other exceptions.
"""

import itertools
import math
import re

import mpmath
import numpy as np
import pytest

import gradcli.api
from gradcli.rules import entry, full_table
from gradcli.tape.backward import grad
from gradcli.tape.tensor import Tensor

mp = mpmath.MPContext()
mp.dps = 60
STEP = mp.mpf(10) ** -17
DISTANCES = tuple(sign * 10.0**-k for k in (3, 6, 9, 12) for sign in (1, -1))
EPS = 2.0**-52
NOISE = 1e-40  # error of third differences with this step
ALL, RIGHT, UNIT = (-math.inf, math.inf), (0.0, math.inf), (0.0, 1.0)


def sinc(x):
    return mp.mpf(1) if x == 0 else mp.sin(mp.pi * x) / (mp.pi * x)


def spherical(n):
    """Return j_n(x) / x^n. DLMF 10.53.1."""
    return lambda x: mp.hyp0f1(n + mp.mpf(1.5), -x * x / 4) / mp.fac2(2 * n + 1)


def gelu_tanh(x):
    return x / 2 * (1 + mp.tanh(mp.sqrt(2 / mp.pi) * (x + mp.mpf(0.044715) * x**3)))


def erfc(x):
    """Return erfc(x), from 1e100 on by its asymptotic series, because mpmath may fail there. DLMF 7.12.1."""
    if x < 1e100:
        return mp.erfc(x)
    terms = (mp.fac2(2 * k - 1) / (-2 * x * x) ** k for k in range(8))
    return mp.exp(-x * x) / (x * mp.sqrt(mp.pi)) * mp.fsum(terms)


def cdf(x):
    return erfc(-x / mp.sqrt(2)) / 2


def inverse(function, start):
    return lambda y: mp.findroot(lambda x: function(x) - y, start)


def student(n):
    """Return the distribution function of Student's t distribution, from the incomplete beta function."""

    def distribution(x):
        tail = mp.betainc(mp.mpf(n) / 2, mp.mpf(1) / 2, 0, n / (n + x * x), regularized=True) / 2
        return 1 - tail if x > 0 else tail

    return distribution


def sigmoid(x):
    return 1 / (1 + mp.exp(-x))


def softplus(x):
    return mp.log1p(mp.exp(x))


def limit(low, high):
    return lambda x: min(max(x, low), high)


def sort_of_elu(alpha, scale=1.0, rate=1.0):
    return lambda x: scale * (x if x > 0 else mp.mpf(alpha) * mp.expm1(rate * x))


SELU = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
TAILS = (5.0, -5.0, 20.0, -20.0)

# call, the function in mpmath, points where it is smooth, edges (kinks, jumps, poles, branch points: only points
# near them are compared), the interval in which the points near others must lie
POINTS = [
    # -- exponentials and logarithms
    ("exp(x)", mp.exp, (0.0, 1.0, -1.0, *TAILS), (), ALL),
    ("exp2(x)", lambda x: mp.mpf(2) ** x, (0.0, 1.0, -1.0), (), ALL),
    ("exp10(x)", lambda x: mp.mpf(10) ** x, (0.0, 1.0, -1.0), (), ALL),
    ("expm1(x)", mp.expm1, (0.0, 1.0, -1.0, -5.0, -20.0), (), ALL),
    ("log(x)", mp.log, (1.0, 2.0), (0.0,), RIGHT),
    ("log2(x)", lambda x: mp.log(x) / mp.log(2), (1.0, 2.0), (0.0,), RIGHT),
    ("log10(x)", mp.log10, (1.0, 10.0), (0.0,), RIGHT),
    ("log1p(x)", mp.log1p, (0.0, 1.0), (-1.0,), (-1.0, math.inf)),
    ("logaddexp(x, 1)", lambda x: mp.log(mp.exp(x) + mp.e), (0.0, 1.0, -40.0, 40.0, 900.0, -900.0), (), ALL),
    ("logaddexp2(x, 1)", lambda x: mp.log(2**x + 2) / mp.log(2), (0.0, 1.0, -40.0, 40.0, 1500.0), (), ALL),
    # -- trigonometric and hyperbolic
    ("sin(x)", mp.sin, (0.0, 1.0, -1.0, math.pi), (), ALL),
    ("cos(x)", mp.cos, (0.0, 1.0, -1.0, math.pi / 2), (), ALL),
    ("tan(x)", mp.tan, (0.0, 1.0, -1.0, math.pi / 2), (), ALL),
    ("arcsin(x)", mp.asin, (0.0, 0.5, -0.5), (1.0, -1.0), (-1.0, 1.0)),
    ("arccos(x)", mp.acos, (0.0, 0.5, -0.5), (1.0, -1.0), (-1.0, 1.0)),
    ("arcsin_slope(x)", lambda x: 1 / mp.sqrt(1 - x * x), (0.0, 0.5), (1.0, -1.0), (-1.0, 1.0)),
    ("arctan(x)", mp.atan, (0.0, 1.0, -1.0, 1e3), (), ALL),
    ("arctan2(x, 1)", mp.atan, (0.0, 1.0, -1.0), (), ALL),
    ("arctan2(2, x)", lambda x: mp.atan2(2, x), (0.0, 1.0, -1.0), (), ALL),
    ("deg2rad(x)", mp.radians, (0.0, 90.0), (), ALL),
    ("rad2deg(x)", mp.degrees, (0.0, 1.0), (), ALL),
    ("sinh(x)", mp.sinh, (0.0, 1.0, -1.0, 20.0), (), ALL),
    ("cosh(x)", mp.cosh, (0.0, 1.0, -1.0, 20.0), (), ALL),
    ("tanh(x)", mp.tanh, (0.0, 1.0, -1.0, *TAILS), (), ALL),
    ("arcsinh(x)", mp.asinh, (0.0, 1.0, -1.0, 1e3, -1e3), (), ALL),
    ("arccosh(x)", mp.acosh, (2.0, 1e3), (1.0,), (1.0, math.inf)),
    ("arctanh(x)", mp.atanh, (0.0, 0.5, -0.5), (1.0, -1.0), (-1.0, 1.0)),
    ("arctanh_slope(x)", lambda x: 1 / (1 - x * x), (0.0, 0.5), (1.0, -1.0), (-1.0, 1.0)),
    ("sinc(x)", sinc, (0.0, 0.5, 1.0, -1.0, -2.0), (), ALL),
    # -- powers and quotients
    ("positive(x)", lambda x: x, (0.0, 1.0), (), ALL),
    ("negative(x)", lambda x: -x, (0.0, 1.0), (), ALL),
    ("nan_to_num(x)", lambda x: x, (0.0, 1.0), (), ALL),
    ("ldexp(x, 3)", lambda x: 8 * x, (0.0, 1.0), (), ALL),
    ("lerp(x, 2, 0.25)", lambda x: x * 3 / 4 + mp.mpf(1) / 2, (0.0, 1.0, -1.0, 2.0), (), ALL),
    ("lerp(-1, 2, x)", lambda x: 3 * x - 1, (0.0, 1.0, -1.0), (0.5,), ALL),
    ("absolute(x)", abs, (1.0, -1.0), (0.0,), ALL),
    ("square(x)", lambda x: x * x, (0.0, 1.0, -1.0), (), ALL),
    ("sqrt(x)", mp.sqrt, (1.0, 4.0), (0.0,), RIGHT),
    ("rsqrt(x)", lambda x: 1 / mp.sqrt(x), (1.0, 4.0), (0.0,), RIGHT),
    ("cbrt(x)", lambda x: mp.sign(x) * mp.cbrt(abs(x)), (1.0, -1.0, 8.0), (0.0,), ALL),
    ("reciprocal(x)", lambda x: 1 / x, (1.0, -1.0), (0.0,), ALL),
    ("divide(x, 3)", lambda x: x / 3, (0.0, 1.0), (), ALL),
    ("divide(3, x)", lambda x: 3 / x, (1.0, -1.0), (0.0,), ALL),
    ("power(x, 0)", lambda x: mp.mpf(1), (0.0, 1.0, -1.0), (), ALL),
    ("power(x, 1)", lambda x: x, (0.0, 1.0, -1.0), (), ALL),
    ("power(x, 2)", lambda x: x**2, (0.0, 1.0, -1.0), (), ALL),
    ("power(x, 3)", lambda x: x**3, (0.0, 1.0, -1.0), (), ALL),
    ("power(x, -2)", lambda x: x**-2, (1.0, -1.0), (0.0,), ALL),
    ("power(x, 0.5)", mp.sqrt, (1.0, 4.0), (0.0,), RIGHT),
    ("power(x, 2.5)", lambda x: x ** mp.mpf(2.5), (1.0, 4.0), (0.0,), RIGHT),
    ("power(2.5, x)", lambda x: mp.mpf(2.5) ** x, (0.0, 1.0, -1.0), (), ALL),
    ("hypot(x, 1)", lambda x: mp.sqrt(x * x + 1), (0.0, 1.0, -1.0), (), ALL),
    ("norm(stack((x, 0 * x + 1), axis=-1), axis=-1)", lambda x: mp.sqrt(x * x + 1), (0.0, 1.0, -1.0), (), ALL),
    ("norm(stack((x, 0 * x + 1), axis=-1), 3, axis=-1)", lambda x: mp.cbrt(abs(x) ** 3 + 1), (1.0, -1.0), (), ALL),
    ("copysign(x, -1)", lambda x: -abs(x), (1.0, -1.0), (0.0,), ALL),
    # -- pieces
    ("sign(x)", mp.sign, (1.0, -1.0), (0.0,), ALL),
    ("floor(x)", mp.floor, (0.5,), (0.0, 1.0, -1.0), ALL),
    ("ceil(x)", mp.ceil, (0.5,), (0.0, 1.0, -1.0), ALL),
    ("round(x)", mp.nint, (0.0, 1.0), (0.5, -0.5, 1.5), ALL),
    ("trunc(x)", lambda x: mp.sign(x) * mp.floor(abs(x)), (0.0, 0.5), (1.0, -1.0), ALL),
    ("frac(x)", lambda x: x - mp.sign(x) * mp.floor(abs(x)), (0.0, 0.5), (1.0, -1.0), ALL),
    ("remainder(x, 1)", lambda x: x - mp.floor(x), (0.5,), (1.0, -1.0), ALL),
    ("fmod(x, 1)", lambda x: x - mp.sign(x) * mp.floor(abs(x)), (0.5,), (1.0, -1.0), ALL),
    ("maximum(x, 1)", lambda x: max(x, mp.mpf(1)), (0.0, 2.0), (1.0,), ALL),
    ("minimum(x, 1)", lambda x: min(x, mp.mpf(1)), (0.0, 2.0), (1.0,), ALL),
    ("fmax(x, 1)", lambda x: max(x, mp.mpf(1)), (0.0, 2.0), (1.0,), ALL),
    ("fmin(x, 1)", lambda x: min(x, mp.mpf(1)), (0.0, 2.0), (1.0,), ALL),
    ("clip(x, 0, 1)", limit(0, 1), (0.5,), (0.0, 1.0), ALL),
    ("relu(x)", lambda x: max(x, 0), (1.0, -1.0), (0.0,), ALL),
    ("relu6(x)", limit(0, 6), (1.0, -1.0), (0.0, 6.0), ALL),
    ("hardtanh(x)", limit(-1, 1), (0.0,), (1.0, -1.0), ALL),
    ("hardsigmoid(x)", lambda x: limit(0, 1)((x + 3) / 6), (0.0, 1.0), (3.0, -3.0), ALL),
    ("hardswish(x)", lambda x: x * limit(0, 1)((x + 3) / 6), (0.0, 1.0), (3.0, -3.0), ALL),
    ("hardshrink(x)", lambda x: x if abs(x) > 0.5 else mp.mpf(0), (0.0, 1.0), (0.5, -0.5), ALL),
    ("softshrink(x)", lambda x: mp.sign(x) * max(abs(x) - mp.mpf(0.5), 0), (0.0, 1.0), (0.5, -0.5), ALL),
    ("threshold(x, 1, -1)", lambda x: x if x > 1 else mp.mpf(-1), (0.0,), (1.0,), ALL),
    ("leaky_relu(x, 0.5)", lambda x: x if x > 0 else x / 2, (1.0, -1.0), (0.0,), ALL),
    ("elu(x)", sort_of_elu(1), (1.0, -1.0, -20.0), (0.0,), ALL),
    ("celu(x, 0.5)", sort_of_elu(0.5, 1, 2), (1.0, -1.0, -20.0), (0.0,), ALL),
    ("selu(x)", sort_of_elu(*SELU), (1.0, -1.0, -20.0), (0.0,), ALL),
    ("softsign(x)", lambda x: x / (1 + abs(x)), (1.0, -1.0), (0.0,), ALL),
    # -- activations
    ("sigmoid(x)", sigmoid, (0.0, 1.0, -1.0, *TAILS), (), ALL),
    ("logsigmoid(x)", lambda x: -softplus(-x), (0.0, 1.0, -1.0, *TAILS), (), ALL),
    ("softplus(x)", softplus, (0.0, 1.0, -1.0, *TAILS), (), ALL),
    ("softplus(x, 2)", lambda x: softplus(2 * x) / 2, (0.0, 1.0, -1.0, *TAILS), (), ALL),
    ("softplus(x, 1, 3)", lambda x: x if x > 3 else softplus(x), (0.0, -5.0), (3.0,), ALL),
    ("silu(x)", lambda x: x * sigmoid(x), (0.0, 1.0, -1.0, *TAILS), (), ALL),
    ("mish(x)", lambda x: x * mp.tanh(softplus(x)), (0.0, 1.0, -1.0, *TAILS), (), ALL),
    ("gelu(x)", lambda x: x * cdf(x), (0.0, 1.0, -1.0, *TAILS), (), ALL),
    ("gelu(x, 'tanh')", gelu_tanh, (0.0, 1.0, -1.0, 3.0, -3.0, 5.0, -5.0), (), ALL),
    ("tanhshrink(x)", lambda x: x - mp.tanh(x), (0.0, 1.0, -1.0, *TAILS), (), ALL),
    # -- the error function and the normal distribution
    ("erf(x)", mp.erf, (0.0, 1.0, -1.0, 5.0), (), ALL),
    ("erfc(x)", erfc, (0.0, 1.0, -1.0, 5.0, 10.0), (), ALL),
    ("erfcx(x)", lambda x: mp.exp(x * x) * erfc(x), (0.0, 1e-300, 1.0, -1.0, 5.0, 20.0, 50.0, 1e3), (), ALL),
    ("erfinv(x)", mp.erfinv, (0.0, 0.5, -0.5), (1.0, -1.0), (-1.0, 1.0)),
    ("erfcinv(x)", lambda x: mp.erfinv(1 - x), (1.0, 0.5, 1.5), (0.0, 2.0), (0.0, 2.0)),
    ("ndtr(x)", cdf, (0.0, 1.0, -1.0, 5.0, -5.0, -20.0), (), ALL),
    ("ndtri(x)", lambda x: mp.sqrt(2) * mp.erfinv(2 * x - 1), (0.5, 0.25), (0.0, 1.0), UNIT),
    ("log_ndtr(x)", lambda x: mp.log(cdf(x)), (0.0, 1.0, -1.0, 5.0, -5.0, -20.0, -1e3, -1e6), (), ALL),
    ("normal_hazard(x)", lambda x: mp.npdf(x) / cdf(x), (0.0, 1.0, -1.0, 5.0), (), ALL),
    (
        "ierfcx(x, n=1)",
        lambda x: mp.exp(x * x) * (mp.npdf(x * mp.sqrt(2)) * mp.sqrt(2) - x * erfc(x)),
        (0.0, 1.0, 2.0, 5.0),
        (),
        ALL,
    ),
    ("kummer(x, a=1.5, b=3)", lambda x: mp.hyp1f1(1.5, 3, x), (0.0, 1.0, -5.0), (), ALL),
    ("dawsn(x)", lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), (0.0, 0.5, -1.0, 5.0, 20.0), (), ALL),
    # -- entropies
    ("entr(x)", lambda x: -x * mp.log(x), (1.0, 0.5), (0.0,), RIGHT),
    ("x_log_x(x)", lambda x: x * mp.log(x), (1.0, 0.5), (0.0,), RIGHT),
    ("xlogy(x, 2)", lambda x: x * mp.log(2), (0.0, 1.0), (), ALL),
    ("xlogy(2, x)", lambda x: 2 * mp.log(x), (1.0, 2.0), (0.0,), RIGHT),
    ("xlog1py(x, 1)", lambda x: x * mp.log(2), (0.0, 1.0), (), ALL),
    ("xlog1py(2, x)", lambda x: 2 * mp.log1p(x), (0.0, 1.0), (-1.0,), (-1.0, math.inf)),
    ("rel_entr(x, 1)", lambda x: x * mp.log(x), (1.0, 0.5), (0.0,), RIGHT),
    ("rel_entr(1, x)", lambda x: -mp.log(x), (1.0, 0.5), (0.0,), RIGHT),
    ("kl_div(x, 1)", lambda x: x * mp.log(x) - x + 1, (1.0, 0.5, 2.0), (0.0,), RIGHT),
    ("kl_div(1, x)", lambda x: -mp.log(x) - 1 + x, (1.0, 0.5, 2.0), (0.0,), RIGHT),
    ("logit(x)", lambda x: mp.log(x / (1 - x)), (0.5, 0.25), (0.0, 1.0), UNIT),
    ("logit(x, 0.25)", lambda x: mp.log((z := limit(0.25, 0.75)(x)) / (1 - z)), (0.5,), (0.25, 0.75), UNIT),
    ("spence(x)", lambda x: mp.polylog(2, 1 - x).real, (1.0, 0.5, 1.5, 2.0, 3.0), (0.0,), RIGHT),
    ("log_ratio(x, n=0)", lambda x: mp.hyp2f1(1, 1, 2, 1 - x), (1.0, 0.5, 1.5, 2.0), (0.0,), RIGHT),
    ("log_ratio(x, n=1)", lambda x: mp.hyp2f1(2, 2, 3, 1 - x) / 2, (1.0, 0.5, 1.5, 2.0), (0.0,), RIGHT),
    # -- the gamma function and its relatives
    ("gamma(x)", mp.gamma, (1.0, 2.0, 0.5, -0.5, -1.5), (0.0, -1.0, -2.0), ALL),
    ("rgamma(x)", mp.rgamma, (0.0, -1.0, -2.0, -3.0, -4.0, -5.0, 0.5, 1.0, 2.0), (), ALL),
    ("gammaln(x)", lambda x: mp.log(abs(mp.gamma(x))), (1.0, 2.0, 0.5, 3.0, -0.5), (0.0, -1.0, -2.0), ALL),
    ("gammasgn(x)", lambda x: mp.sign(mp.gamma(x)), (1.0, -0.5, -1.5), (-1.0,), ALL),
    (
        "mvlgamma(x, 2)",
        lambda x: mp.log(mp.pi) / 2 + mp.loggamma(x) + mp.loggamma(x - 0.5),
        (1.0, 2.5),
        (0.5,),
        (0.5, 9),
    ),
    ("digamma(x)", mp.digamma, (1.0, 2.0, 0.5, -0.5), (0.0, -1.0), ALL),
    ("polygamma(1, x)", lambda x: mp.psi(1, x), (1.0, 2.0, -0.5), (0.0, -1.0), ALL),
    ("polygamma(2, x)", lambda x: mp.psi(2, x), (1.0, 2.0), (0.0,), RIGHT),
    ("gammainc(2.5, x)", lambda x: mp.gammainc(2.5, 0, x, regularized=True), (1.0, 2.5), (0.0,), RIGHT),
    ("gammainc(1, x)", lambda x: -mp.expm1(-x), (1.0, 5.0), (0.0,), RIGHT),
    ("gammaincc(2.5, x)", lambda x: 1 - mp.gammainc(2.5, 0, x, regularized=True), (1.0, 2.5), (0.0,), RIGHT),
    ("zeta(2.5, x)", lambda x: mp.zeta(2.5, x), (1.0, 2.0), (0.0,), RIGHT),
    ("beta(x, 2.5)", lambda x: mp.beta(x, 2.5), (1.0, 2.0), (0.0,), RIGHT),
    ("betaln(x, 2.5)", lambda x: mp.log(mp.beta(x, 2.5)), (1.0, 2.0), (0.0,), RIGHT),
    ("betainc(1.5, 2.5, x)", lambda x: mp.betainc(1.5, 2.5, 0, x, regularized=True), (0.5, 0.25), (0.0, 1.0), UNIT),
    ("exp1(x)", mp.e1, (1.0, 5.0), (0.0,), RIGHT),
    ("expi(x)", mp.ei, (1.0, -1.0), (0.0,), ALL),
    # -- Bessel and Airy functions
    ("bessel_j0(x)", lambda x: mp.besselj(0, x), (0.0, 1e-300, 1.0, -1.0, 5.0), (), ALL),
    ("bessel_j1(x)", lambda x: mp.besselj(1, x), (0.0, 1e-300, 1.0, -1.0, 5.0), (), ALL),
    ("bessel_y0(x)", lambda x: mp.bessely(0, x), (1.0, 5.0), (0.0,), RIGHT),
    ("bessel_y1(x)", lambda x: mp.bessely(1, x), (1.0, 5.0), (0.0,), RIGHT),
    ("i0(x)", lambda x: mp.besseli(0, x), (0.0, 1e-300, 1.0, -1.0, 8.0), (), ALL),
    ("i1(x)", lambda x: mp.besseli(1, x), (0.0, 1e-300, 1.0, -1.0, 8.0), (), ALL),
    ("i0e(x)", lambda x: mp.exp(-abs(x)) * mp.besseli(0, x), (1.0, -1.0, 8.0), (0.0,), ALL),
    ("i1e(x)", lambda x: mp.exp(-abs(x)) * mp.besseli(1, x), (1.0, -1.0, 8.0), (0.0,), ALL),
    ("modified_bessel_k0(x)", lambda x: mp.besselk(0, x), (1.0, 2.0), (0.0,), RIGHT),
    ("modified_bessel_k1(x)", lambda x: mp.besselk(1, x), (1.0, 2.0), (0.0,), RIGHT),
    ("exp_over(x)", lambda x: mp.exp(x) / x, (1.0, -1.0), (0.0,), ALL),
    ("logit_slope(x)", lambda x: 1 / (x * (1 - x)), (0.5, 0.25), (), UNIT),
    ("scaled_k0(x, n=1)", lambda x: mp.exp(x) * (mp.besselk(0, x) - mp.besselk(1, x)), (1.0, 2.0), (0.0,), RIGHT),
    ("scaled_modified_bessel_k0(x)", lambda x: mp.exp(x) * mp.besselk(0, x), (1.0, 2.0), (0.0,), RIGHT),
    ("scaled_modified_bessel_k1(x)", lambda x: mp.exp(x) * mp.besselk(1, x), (1.0, 2.0), (0.0,), RIGHT),
    ("jv(1.5, x)", lambda x: mp.besselj(1.5, x), (1.0, 5.0), (0.0,), RIGHT),
    ("jv(2, x)", lambda x: mp.besselj(2, x), (0.0, 1.0), (), ALL),
    ("yv(1.5, x)", lambda x: mp.bessely(1.5, x), (1.0, 5.0), (0.0,), RIGHT),
    ("iv(1.5, x)", lambda x: mp.besseli(1.5, x), (1.0, 5.0), (0.0,), RIGHT),
    ("kv(1.5, x)", lambda x: mp.besselk(1.5, x), (1.0, 5.0), (0.0,), RIGHT),
    ("ive(1.5, x)", lambda x: mp.exp(-x) * mp.besseli(1.5, x), (1.0, 2.0), (0.0,), RIGHT),
    ("kve(1.5, x)", lambda x: mp.exp(x) * mp.besselk(1.5, x), (1.0, 5.0), (0.0,), RIGHT),
    ("spherical_bessel_j0(x)", spherical(0), (0.0, 1.0, -1.0, 4.0), (), ALL),
    ("spherical_bessel_ratio(x, n=1, k=1, turns=False)", spherical(1), (0.0, 1.0, -1.0), (), ALL),
    ("spherical_bessel_ratio(x, n=2, k=2, turns=False)", spherical(2), (0.0, 1.0, -1.0), (), ALL),
    ("erfi(x)", mp.erfi, (0.0, 1.0, -1.0, 5.0), (), ALL),
    ("exprel(x)", lambda x: (mp.exp(x) - 1) / x if x else mp.mpf(1), (0.0, 1.0, -1.0, 20.0, -20.0), (), ALL),
    ("cosm1(x)", lambda x: -2 * mp.sin(x / 2) ** 2, (0.0, 1.0, -1.0), (), ALL),
    ("lambertw(x)", lambda x: mp.lambertw(x).real, (0.0, 1.0, -0.2, 50.0), (), (-0.35, math.inf)),
    ("ellipk(x)", mp.ellipk, (0.0, 0.5, -0.5, 0.9), (), (-math.inf, 1.0)),
    ("ellipe(x)", mp.ellipe, (0.0, 0.5, -0.5, 0.9), (), (-math.inf, 1.0)),
    ("gauss(x, a=0.5, b=1.5, c=2.0)", lambda x: mp.hyp2f1(0.5, 1.5, 2, x), (0.0, 0.3, -0.3), (), (-1.0, 1.0)),
    ("betaincc(1.5, 2.5, x)", lambda x: mp.betainc(1.5, 2.5, x, 1, regularized=True), (0.3, 0.5), (0.0,), UNIT),
    ("gammaincinv(2.5, x)", inverse(lambda x: mp.gammainc(2.5, 0, x, regularized=True), 2), (0.3, 0.5), (), UNIT),
    ("gammainccinv(2.5, x)", inverse(lambda x: mp.gammainc(2.5, x, regularized=True), 2), (0.3, 0.5), (), UNIT),
    ("betaincinv(2, 3, x)", inverse(lambda x: x * x * (6 - 8 * x + 3 * x * x), 0.4), (0.3, 0.5), (), UNIT),
    ("stdtr(3, x)", student(3), (0.0, 1.0, -1.0), (), ALL),
    ("boxcox(x, 0.5)", lambda x: 2 * (mp.sqrt(x) - 1), (1.0, 2.0), (0.0,), RIGHT),
    ("boxcox(2, x)", lambda x: (mp.exp(x * mp.log(2)) - 1) / x if x else mp.log(2), (0.0, 1.0, -1.0), (), ALL),
    ("boxcox1p(x, 0)", mp.log1p, (0.0, 1.0), (-1.0,), (-1.0, math.inf)),
    ("inv_boxcox(x, 0.5)", lambda x: (x / 2 + 1) ** 2, (0.0, 1.0), (), (-2.0, math.inf)),
    ("inv_boxcox(1, x)", lambda x: (1 + x) ** (1 / x) if x else mp.e, (0.0, 1.0, 2.0), (), (-0.5, math.inf)),
    ("huber(1, x)", lambda x: x * x / 2 if abs(x) <= 1 else abs(x) - 0.5, (0.0, 0.5, 3.0, -3.0), (1.0,), ALL),
    ("pseudo_huber(1, x)", lambda x: mp.sqrt(1 + x * x) - 1, (0.0, 1.0, -1.0, 50.0), (), ALL),
    ("pseudo_huber(x, 1)", lambda x: x * x * (mp.sqrt(1 + x**-2) - 1), (1.0, 50.0), (), (1e-3, math.inf)),
    ("powm1(x, 2)", lambda x: x * x - 1, (1.0, 2.0), (), RIGHT),
    ("powm1(2, x)", lambda x: mp.exp(x * mp.log(2)) - 1, (0.0, 1.0, -1.0), (), ALL),
    ("binom(5, x)", lambda x: mp.binomial(5, x), (1.5, 2.5), (), ALL),
    ("poch(x, 2)", lambda x: x * (x + 1), (1.0, 2.5), (), RIGHT),
    ("airy_ai(x)", mp.airyai, (0.0, 1.0, -1.0, 5.0), (), ALL),
    ("airy_ai_slope(x)", lambda x: mp.airyai(x, derivative=1), (0.0, 1.0, -1.0), (), ALL),
]

ALIKE = re.compile("scaled|[ky]1[(]|log_ratio")
ALIKE_FAR = re.compile("_[ky][01]|erfcinv|ndtri|airy_ai[(]|zeta|spence|ierfcx|hazard|digamma|^gamma[(]")
"""Expensive functions that share their code with others, and are tested nightly."""


def derivatives(function, x):
    """Return the value and the first three derivatives, by central differences in 100 digits."""
    x, h = mp.mpf(x), STEP
    with mp.workdps(100):
        f = {k: function(x + k * h) for k in range(-2, 3)}
        first = (8 * (f[1] - f[-1]) - (f[2] - f[-2])) / (12 * h)
        second = (16 * (f[1] + f[-1]) - (f[2] + f[-2]) - 30 * f[0]) / (12 * h**2)
        third = ((f[2] - f[-2]) / 2 - (f[1] - f[-1])) / h**3
    return [float(d) for d in (f[0], first, second, third)]


def allowance(x, exact, change):
    """Return the tolerance: 1e-13 of the answer, more for condition numbers over 100.

    The condition number is |x change / exact|, where `change` is the next derivative.
    """
    return max(1e-13 * abs(exact), 4 * EPS * abs(x * change)) + NOISE


def computed(call, xs):
    """Return the engine's value and first two derivatives."""
    leaf = Tensor._wrap(np.array(xs), None).requires_grad_()
    names = {name: entry(name).function for name in re.findall(r"(\w+)\(", call)}
    out = eval(call, names, {"x": leaf})
    (first,) = grad(out.sum(), leaf, create_graph=True)
    (second,) = grad(first.sum(), leaf, allow_unused=True) if first.requires_grad else (None,)
    return [np.asarray(t._data) if t is not None else np.zeros_like(xs) for t in (out, first, second)]


@pytest.mark.parametrize(
    ("call", "function", "points", "edges", "interval"),
    [
        pytest.param(*row, id=row[0].replace(" ", ""), marks=[pytest.mark.nightly] if ALIKE.search(row[0]) else [])
        for row in POINTS
    ],
)
def test_special_points(call, function, points, edges, interval):
    near = [p + d for p in (*points, *edges) for d in DISTANCES]
    xs = [*points, *(x for x in near if interval[0] < x < interval[1])]
    with np.errstate(all="ignore"):
        got = computed(call, np.array(xs))
    wrong = []
    for i, x in enumerate(xs):
        exact = derivatives(function, x)
        for order in range(3):
            if not abs(got[order][i] - exact[order]) <= allowance(x, exact[order], exact[order + 1]):
                wrong.append(f"order {order} at {x!r}: {got[order][i]!r}, not {exact[order]!r}")
    assert not wrong, "\n".join(wrong[:12])


EXTREMES = tuple(sign * size for size in (1e154, 1e200, 1e-154, 1e-200, 1e5, 1e8) for sign in (1, -1))
LARGE, BELOW, EACH = (lambda x: abs(x) > 1), (lambda x: x < -1), (lambda x: True)
LEFT_OUT = {
    name: where
    for names, where in {
        # jumps at every integer, and all large floats are integers
        "floor ceil trunc frac remainder fmod": LARGE,
        # poles of the function, or of a factor of its slope, at integers
        "gamma gammaln gammasgn digamma polygamma rgamma": BELOW,
        # SciPy rounds the phase or returns nan
        "bessel_j0 bessel_j1 bessel_y0 bessel_y1 jv yv airy_ai airy_ai_slope": LARGE,
        # slopes are computed from neighbouring orders or digamma, which cancel or overflow
        "ive kve beta betaln binom poch": EACH,
        # parts of other slopes: mpmath takes minutes, or the second slope is never used
        "kummer log_ratio exp_over gauss": EACH,
        # the value is infinite, and 1 / x^2 in a factor of the second slope is 0
        "exprel boxcox": (lambda x: x > 1e160),
        # the reference is a search that starts near the middle
        "gammaincinv gammainccinv betaincinv": EACH,
    }.items()
    for name in names.split()
}


def extreme_derivatives(function, x, digits):
    """Return the value and the first two derivatives, by differences."""
    with mp.workdps(digits):
        x = mp.mpf(x)
        h = min(abs(x), 1) * mp.mpf(10) ** -30
        left, middle, right = (function(x + k * h) for k in (-1, 0, 1))
        return [float(d) for d in (middle, (right - left) / (2 * h), (right - 2 * middle + left) / h**2)]


@pytest.mark.parametrize(
    ("call", "function", "interval"),
    [
        pytest.param(row[0], row[1], row[4], id=row[0], marks=[pytest.mark.nightly] if ALIKE_FAR.search(row[0]) else [])
        for row in POINTS
        if LEFT_OUT.get(row[0].partition("(")[0]) is not EACH
    ],
)
def test_extreme_points(call, function, interval):
    left_out = LEFT_OUT.get(call.partition("(")[0], lambda x: False)
    xs = [x for x in EXTREMES if interval[0] < x < interval[1] and not left_out(x)]
    with np.errstate(all="ignore"):
        got = computed(call, np.array(xs))
    wrong = []
    for i, x in enumerate(xs):
        few = 300 if 1e-9 < abs(x) < 1e9 else 600
        for digits in (few, 800, 1250):  # more digits if cancellation loses the first ones
            others = [
                f"order {order} at {x!r}: {got[order][i]!r}, not {exact!r}"
                for order, exact in enumerate(extreme_derivatives(function, x, digits))
                if not (got[order][i] == exact or abs(got[order][i] - exact) <= max(1e-13 * abs(exact), 1e-307))
            ]
            if not others:
                break
        wrong += others
    assert not wrong, "\n".join(wrong[:12])


def test_every_unary_elementwise_function_is_covered():
    there = {row[0].split("(")[0] for row in POINTS}
    entries = full_table().items()
    assert {name for name, e in entries if e.kind == "elementwise" and e.arity == 1 and e.samples} <= there


POLES = {"betaln", "divide", "remainder", "fmod", "floor_divide", "digamma", "gammasgn"}
"""Functions undefined at isolated points, where the slope is what arithmetic gives, as in PyTorch."""
ORDERS = {
    "polygamma": (1,),
    "gammainc": (1.5,),
    "gammaincc": (1.5,),
    "zeta": (3,),
    "betainc": (1.5, 2.0),
    "betaincc": (1.5, 2.0),
    "betaincinv": (1.5, 2.0),
    "gammaincinv": (1.5,),
    "gammainccinv": (1.5,),
    "stdtr": (3.0,),
} | dict.fromkeys(("jv", "yv", "iv", "kv", "ive", "kve"), (0.5,))
ALONG = (-1e3, -3.7, -2.0, -1.5, -1.0, -0.3, 0.0, 0.4, 1.0, 1.5, 2.0, 3.7, 1e3)
PLANE = tuple(itertools.product((-2.5, -1.0, 0.0, 0.3, 2.0), repeat=2))


def undefined(values):
    return [not np.isfinite(v.item()) for v in values if v is not None]


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, entry in full_table().items()
        if entry.kind == "elementwise" and entry.public and entry.arity < 3 and name not in {*POLES, "threshold"}
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy warns at poles and outside of domains
def test_derivatives_are_not_finite_where_the_value_is_nan(name):
    function = full_table()[name].function
    for point in PLANE if full_table()[name].arity == 2 else [(x,) for x in ALONG]:
        xs = [gradcli.tensor(x, requires_grad=True) for x in point]
        y = function(*ORDERS.get(name, ()), *xs)
        if not y.requires_grad:
            continue
        first = grad(y, xs, create_graph=True, allow_unused=True)
        if np.isnan(y.item()):
            assert all(undefined(first)), point
        for slope in first:
            if slope is not None and slope.requires_grad and np.isnan(slope.item()):
                assert all(undefined(grad(slope, xs, retain_graph=True, allow_unused=True))), point


CUTS = {
    "arcsin": (lambda z: 1 / mp.sqrt(1 - z * z), 1),
    "arccos": (lambda z: -1 / mp.sqrt(1 - z * z), 1),
    "arctan": (lambda z: 1 / (1 + z * z), 1j),
    "arcsinh": (lambda z: 1 / mp.sqrt(1 + z * z), 1j),
    "arccosh": (lambda z: 1 / (mp.sqrt(z - 1) * mp.sqrt(z + 1)), 1),
    "arctanh": (lambda z: 1 / (1 - z * z), 1),
    "log": (lambda z: 1 / z, 1),
    "log1p": (lambda z: 1 / (1 + z), 1),
    "sqrt": (lambda z: 1 / (2 * mp.sqrt(z)), 1),
    "rsqrt": (lambda z: -1 / (2 * z * mp.sqrt(z)), 1),
}
"""The slope, and the direction of the axis that contains the branch cut."""


@pytest.mark.parametrize("name", CUTS)
def test_slopes_on_both_sides_of_a_branch_cut(name):
    """As for values, the sign of a zero part selects the side of the cut."""
    slope, along = CUTS[name]
    for far, beside in itertools.product((-3, -1.5, -0.5, 0.5, 1.5, 3), (0.0, 1e-20, 1e-9, 1e-3, 0.7)):
        for sign in (1, -1):
            side = math.copysign(beside, sign)
            z = complex(far, side) if along == 1 else complex(side, far)
            tiny = mp.mpf(10) ** -50 * sign
            exact = mp.mpc(z.real or tiny, z.imag or tiny)
            x = Tensor._wrap(np.array(z), None).requires_grad_()
            (got,) = grad(entry(name).function(x).real, x)
            want = complex(slope(exact))
            assert abs(np.conj(got.numpy()) - want) <= 1e-15 * abs(want) * 4, (z, got, want)
