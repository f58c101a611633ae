"""Value, first and second derivative of functions of one number at their special points and near them.

Expected are mpmath's numbers in 60 digits, from the function itself and from differences of it: no rule of the table
is asked. What rounding of the point alone would change is allowed for; what the function loses beyond that is not.
"""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

import gradcli.face  # noqa: F401 - gives Tensors their operators
from gradcli.rules import entry
from gradcli.tape.backward import grad
from gradcli.tape.tensor import Tensor

mp = mpmath.MPContext()
mp.dps = 60
DISTANCES = (0.0, *(sign * 10.0**-k for k in (3, 6, 9, 12) for sign in (1, -1)))
EPS = 2.0**-52


def sinc(x):
    return mp.mpf(1) if x == 0 else mp.sin(mp.pi * x) / (mp.pi * x)


def j0(x):
    return mp.mpf(1) if x == 0 else mp.sin(x) / x


# name, the function in mpmath, special points, interval in which the neighbours must lie
POINTS = [
    ("sinc", sinc, (0.0, 0.5, 1.0, -2.0), None),
    ("spherical_bessel_j0", j0, (0.0, 1.0, -1.0, 4.0), None),
    ("spence", lambda x: mp.polylog(2, 1 - x).real, (1.0, 0.5, 1.5, 2.0, 3.0), (0, 10)),
    ("rgamma", mp.rgamma, (0.0, -1.0, -2.0, -5.0, 0.5, 1.0, 2.0), None),
    ("exp", mp.exp, (0.0, 1.0), None),
    ("expm1", mp.expm1, (0.0,), None),
    ("log1p", mp.log1p, (0.0, 1.0), None),
    ("log", mp.log, (1.0, 2.0), None),
    ("sin", mp.sin, (0.0, 1.0), None),
    ("cos", mp.cos, (0.0, 1.0), None),
    ("tan", mp.tan, (0.0, 1.0), None),
    ("arcsin", mp.asin, (0.0, 0.5, -0.5), None),
    ("arctan", mp.atan, (0.0, 1.0, -1.0), None),
    ("sinh", mp.sinh, (0.0, 1.0), None),
    ("tanh", mp.tanh, (0.0, 1.0), None),
    ("arcsinh", mp.asinh, (0.0, 1.0), None),
    ("arctanh", mp.atanh, (0.0, 0.5), None),
    ("sqrt", mp.sqrt, (1.0, 4.0), None),
    ("erf", mp.erf, (0.0, 1.0), None),
    ("erfc", mp.erfc, (0.0, 1.0), None),
    ("erfinv", mp.erfinv, (0.0, 0.5), None),
    ("gamma", mp.gamma, (1.0, 2.0, 0.5, -0.5), None),
    ("gammaln", mp.loggamma, (0.5, 3.0), None),
    ("bessel_j0", lambda x: mp.besselj(0, x), (0.0, 1.0), None),
    ("bessel_j1", lambda x: mp.besselj(1, x), (0.0, 1.0), None),
    ("i0", lambda x: mp.besseli(0, x), (0.0, 1.0), None),
    ("i1", lambda x: mp.besseli(1, x), (0.0, 1.0), None),
    ("dawsn", lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), (0.0, 0.5), None),
    ("softplus", lambda x: mp.log(1 + mp.exp(x)), (0.0, 1.0), None),
    ("airy_ai", mp.airyai, (0.0, 1.0), None),
    ("expi", mp.ei, (1.0,), None),
    ("exp1", mp.e1, (1.0,), None),
    ("digamma", mp.digamma, (1.0, 2.0), None),
]


def derivatives(function, x):
    """Return value and first three derivatives by central differences in 60 digits."""
    x, h = mp.mpf(x), mp.mpf(10) ** -12
    with mp.workdps(90):
        f = {k: function(x + k * h) for k in range(-3, 4)}
        first = (45 * (f[1] - f[-1]) - 9 * (f[2] - f[-2]) + (f[3] - f[-3])) / (60 * h)
        second = (2 * (f[3] + f[-3]) - 27 * (f[2] + f[-2]) + 270 * (f[1] + f[-1]) - 490 * f[0]) / (180 * h**2)
        third = ((f[2] - f[-2]) / 2 - (f[1] - f[-1])) / h**3
    return [float(d) for d in (f[0], first, second, third)]


def computed(name, x):
    """Return the engine's value and first two derivatives."""
    leaf = Tensor._wrap(np.array(x), None).requires_grad_()
    out = entry(name).function(leaf)
    (first,) = grad(out.sum(), leaf, create_graph=True)
    (second,) = grad(first.sum(), leaf, allow_unused=True) if first.requires_grad else (None,)
    return [np.asarray(t._data) if t is not None else np.zeros_like(x) for t in (out, first, second)]


@pytest.mark.parametrize(("name", "function", "points", "interval"), POINTS, ids=[row[0] for row in POINTS])
def test_special_points(name, function, points, interval):
    xs = np.array([p + d for p in points for d in DISTANCES])
    got = computed(name, xs)
    wrong = []
    for i, x in enumerate(xs.tolist()):
        exact = derivatives(function, x)
        for order in range(3):
            want = exact[order]
            room = 1e-13 * abs(want) + 4 * EPS * abs(x * exact[order + 1]) + 1e-60
            if not abs(got[order][i] - want) <= room:
                wrong.append(f"order {order} at {x!r}: {got[order][i]!r}, not {want!r}")
    assert not wrong, "\n".join(wrong[:12])


def test_second_derivatives_at_removable_singularities():
    """By hand: the Taylor series at the point."""
    by_hand = {("sinc", 0.0): -(math.pi**2) / 3, ("spherical_bessel_j0", 0.0): -1 / 3, ("spence", 1.0): 0.5}
    for (name, x), expected in by_hand.items():
        assert computed(name, np.array([x]))[2][0] == pytest.approx(expected, rel=1e-15)
    assert [computed("rgamma", np.array([-float(n)]))[1][0] for n in range(6)] == pytest.approx(
        [(-1) ** n * math.factorial(n) for n in range(6)], rel=1e-14
    )
