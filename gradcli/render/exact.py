"""Formulas and long numbers, as every format writes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from . import Style
from .numbers import NONE, label

if TYPE_CHECKING:
    from ..results.exact import Agreement, Formulas, LongNumbers


def long_elements(result: LongNumbers) -> Iterator[tuple[str, str]]:
    """Yield the name and the digits of every element."""
    for name, array in result.parts.items():
        if array is None:
            yield name, NONE
            continue
        for index in np.ndindex(array.shape):
            yield element_name(result, name, index), str(array[index])


def element_name(result: LongNumbers, name: str, index: tuple[int, ...]) -> str:
    """Return an element's name: x[1]; for Jacobians out[0]/x[1], for Hessians x[0]/y[1]."""
    if result.kind == "jacobian":
        rank = result.value.ndim
        return f"{label(result.output or 'out', index[:rank])}/{label(name, index[rank:])}"
    if result.kind == "hessian":
        first, second = name.split("/")
        rank = result.parts[f"{first}/{first}"].ndim // 2
        return f"{label(first, index[:rank])}/{label(second, index[rank:])}"
    return label(name, index)


def formula_lines(result: Formulas) -> list[tuple[str, str]]:
    """Return the name and the formula (with its value, if there is one) of every derivative."""
    return [(d.name, d.formula.text + (f"\t{d.value}" if d.value is not None else "")) for d in result.derivatives]


def plain_steps(text: str, style: Style) -> str:
    """Return a line of the chain rule; without Unicode, local derivatives are written with del, others with d."""
    return text if style.unicode else text.replace("∂", "del ")


def agreement_json(item: Agreement) -> dict[str, Any]:
    """Return what formulas say of one input."""
    error: Any = item.error if np.isfinite(item.error) else str(item.error)
    return {
        "text": item.texts.tolist(),
        "latex": item.latex.tolist(),
        "value": item.values.tolist(),
        "agrees": item.agrees,
        "decided": item.decided,
        "max_abs_error": error,
    }
