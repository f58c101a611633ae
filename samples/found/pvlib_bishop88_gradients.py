"""pvlib 0.16.1: bishop88(..., gradients=True) with a breakdown

The derivative of the breakdown current a v (1 - v/V)^-m/R lacks the inner factor -1/V: it has -m v instead of m v/V.
All gradients are wrong if breakdown_factor is not 0.

Right: di/dv = -I0 exp(v/n)/n - 1/R - a ((1 - v/V)^-m + m v/V (1 - v/V)^(-m - 1))/R
"""

from mpmath import exp, expm1
from released import in_floats, prove, require

import gradcli

LIGHT, DARK, SERIES, SHUNT, SCALE = 5.0, 1e-9, 0.25, 256.0, 1.5
FACTOR, LIMIT, POWER = 0.01, -5.5, 3.25
AT = [-2.0]


def current(v):
    base = (1 - v[0] / LIMIT) ** -POWER
    return LIGHT - DARK * expm1(v[0] / SCALE) - v[0] / SHUNT - FACTOR * v[0] * base / SHUNT


def right(v):
    base = 1 - v[0] / LIMIT
    breakdown = base**-POWER + POWER * v[0] / LIMIT * base ** (-POWER - 1)
    return [-DARK * exp(v[0] / SCALE) / SCALE - 1 / SHUNT - FACTOR * breakdown / SHUNT]


prove(current, right, AT)
require("pvlib", "0.16.1")
from pvlib.singlediode import bishop88  # noqa: E402


def both(v):
    more = {"breakdown_factor": FACTOR, "breakdown_voltage": LIMIT, "breakdown_exp": POWER, "gradients": True}
    return bishop88(v, LIGHT, DARK, SERIES, SHUNT, SCALE, **more)


def released(v):
    return both(v[0])[0]


gradcli.check(released, at={"v": AT}, grad=lambda v: both(v)[3], name="bishop88")
gradcli.check(released, at={"v": AT}, grad=in_floats(right), name="right formula")
