"""jaxopt 0.8.5: the derivative of jaxopt.isotonic.isotonic_l2_pav

The rule takes neighbours whose solutions differ by at most 1e-8 for one block, whatever the size of the input. So the
derivative of small inputs is a mean over elements that are not tied; in float32 it is wrong below about 1e-8, too.

Right: the identity for an input that already increases, since the solution is the input itself
"""

import numpy as np
from released import in_floats, prove, require

import gradcli

AT = [1e-9, 2e-9, 4e-9]


def solution(y):
    return list(y)  # it increases


def right(y):
    return [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


prove(solution, right, AT)
require("jaxopt", "0.8.5")
import jax  # noqa: E402
from jaxopt.isotonic import isotonic_l2_pav  # noqa: E402


def released(y):
    with jax.enable_x64(True):
        return np.array(isotonic_l2_pav(jax.numpy.asarray(y)))


def jacobian(y):
    with jax.enable_x64(True):
        return np.array(jax.jacrev(isotonic_l2_pav)(jax.numpy.asarray(y)))


gradcli.check(released, at={"y": AT}, grad=jacobian, name="isotonic_l2_pav")
gradcli.check(released, at={"y": AT}, grad=in_floats(right), name="right formula")
