"""Tab-separated lines for shells and awk: NAME, tab, VALUE; one line per element, nothing else."""

from __future__ import annotations

from ..results import Gradients
from . import Style
from .numbers import elements, number


def gradients(result: Gradients, style: Style) -> str:
    """Return the gradient of every input, then the retained ones."""
    arrays = [(item.name, item.grad) for item in result.inputs] + list(result.retained.items())
    return "".join(
        f"{name}\t{number(x, style.precision)}\n" for key, array in arrays for name, x in elements(key, array)
    )
