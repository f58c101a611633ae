"""Formulas as text: NAME, tab, FORMULA in the expression language, or a function in Python or C."""

from __future__ import annotations

from . import Style, renders
from .formula_results import Formulas
from .numbers import formula_lines, plain_steps


@renders("text")
def render_formulas(result: Formulas, style: Style) -> str:
    """Return one line per derivative; with steps, the chain rule line by line."""
    if result.steps:
        return "".join(f"{plain_steps(step.text, style)}\n" for step in result.steps)
    return "".join(f"{name}\t{text}\n" for name, text in formula_lines(result))


@renders("python", "c")
def render_code(result: Formulas, style: Style) -> str:
    return result.code
