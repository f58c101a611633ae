"""Jacobians computed in one pass keep their zeros if other derivatives are infinite."""

import numpy as np

from gradcli.analysis.transform import compute_jacobian
from gradcli.lang.parse import parse
from gradcli.program.expression import ExpressionProgram
from gradcli.request import Request


def test_infinite_derivatives_do_not_affect_the_zeros_of_a_jacobian():
    """A product 0 * inf would give nan, in the columns of x or in those of y, which follow."""
    text = "concatenate([sqrt(x), sqrt(y)])"
    given = {"x": np.array([0.0, 4.0]), "y": np.array([1.0, 0.0])}
    blocks = compute_jacobian(ExpressionProgram(parse(text), text), given, Request()).blocks
    assert blocks["x"].tolist() == [[np.inf, 0], [0, 0.25], [0, 0], [0, 0]]
    assert blocks["y"].tolist() == [[0, 0], [0, 0], [0.5, 0], [0, np.inf]]
