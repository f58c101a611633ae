"""A function with the formulas, ready to be pasted."""

from __future__ import annotations

from ..results.exact import Formulas
from . import Style, renders


@renders()
def render_formulas(result: Formulas, style: Style) -> str:
    """Return the function."""
    return result.code
