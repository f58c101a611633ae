"""Formulas in the expression language: NAME, tab, FORMULA, and the value if a point was given."""

from __future__ import annotations

from ...results.exact import Formulas
from .. import Style, renders
from ..exact import formula_lines, plain_steps


@renders()
def render_formulas(result: Formulas, style: Style) -> str:
    """Return one line per derivative; with steps, the chain rule line by line."""
    if result.steps:
        return "".join(f"{plain_steps(step.text, style)}\n" for step in result.steps)
    return "".join(f"{name}\t{text}\n" for name, text in formula_lines(result))
