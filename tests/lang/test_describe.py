"""Derivatives in the table are told in names that the language has."""

from __future__ import annotations

import numpy as np
import pytest

import gradcli
from gradcli.lang.describe import describe
from gradcli.lang.evaluate import Settings
from gradcli.lang.parse import parse
from gradcli.program.expression import ExpressionProgram
from gradcli.rules import full_table

POINTS = {"x": 0.3, "y": 0.7, "out": 0.0}
NAMES = "arctan2 absolute maximum minimum fmod relu arcsin arccos arctanh fmax hypot tanh hardtanh leaky_relu".split()


@pytest.mark.parametrize("name", NAMES)
def test_formulas_are_those_of_the_derivatives(name):
    """Each derivative, read as a program of the language, is the engine's at a point."""
    entry = full_table()[name]
    leaves = [gradcli.tensor(POINTS[k], requires_grad=True) for k in ("x", "y")[: entry.arity]]
    out = getattr(gradcli, name)(*leaves) if hasattr(gradcli, name) else entry.function(*leaves)
    grads = gradcli.autograd.grad(out, leaves)
    given = {**POINTS, "out": out.item(), "negative_slope": 0.01, "min_val": -1.0, "max_val": 1.0}
    for (operand, text), grad in zip(describe(entry).derivatives, grads, strict=True):
        program = ExpressionProgram(parse(text), text, Settings())
        run = program.run({n: np.float64(given[n]) for n in program.free_names()})
        value = float(text) if run.output is None else run.output.item()
        assert value == pytest.approx(grad.item(), rel=1e-12), (operand, text)
