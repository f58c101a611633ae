"""Formulas as code, ready to be pasted: Python or C."""

from __future__ import annotations

from ...results.exact import Formulas
from .. import Style, renders


@renders()
def render_formulas(result: Formulas, style: Style) -> str:
    return result.code
