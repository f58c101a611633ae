"""The formulas as columns of a SELECT."""

from __future__ import annotations

from ..results.exact import Formulas
from . import Style, renders


@renders()
def render_formulas(result: Formulas, style: Style) -> str:
    """Return the columns."""
    return result.code
