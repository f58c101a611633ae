"""ngboost 0.5.11: ngboost.distns.laplace.LaplaceCRPScore.d_score

The score of an observation y is |y - m| + s exp(-|y - m|/s) - 3 s/4, where m is the location and s = exp(t). The
derivative with respect to t lacks the last term: at y = m it is s instead of s/4. Boosting therefore makes the scale
too small.

Right: exp(-|y - m|/s) (s + |y - m|) - 3 s/4
"""

import numpy as np
from mpmath import exp, sign
from released import in_floats, prove, require

import gradcli

Y, AT = 0.4, [1.3, -0.2]


def score(x):
    away, scale = abs(Y - x[0]), exp(x[1])
    return away + scale * exp(-away / scale) - 3 * scale / 4


def right(x):
    away, scale = abs(Y - x[0]), exp(x[1])
    left = exp(-away / scale)
    return [sign(x[0] - Y) * (1 - left), left * (scale + away) - 3 * scale / 4]


prove(score, right, AT)
require("ngboost", "0.5.11")
from ngboost.distns.laplace import LaplaceCRPScore  # noqa: E402


def model(x):
    """Return the score object of a distribution, without the classes that ngboost mixes in."""
    made = LaplaceCRPScore()
    made.loc, made.scale = x[:1], np.exp(x[1:])
    return made


def released(x):
    return model(x).score(np.array([Y]))[0]


gradcli.check(released, at={"x": AT}, grad=lambda x: model(x).d_score(np.array([Y]))[0], name="LaplaceCRPScore.d_score")
gradcli.check(released, at={"x": AT}, grad=in_floats(right), name="right formula")
