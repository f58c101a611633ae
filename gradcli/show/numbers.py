"""Numbers, long numbers, formulas and names of elements, as every format writes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from . import Style
from .results import label, label_pair

if TYPE_CHECKING:
    from .formula_results import Agreement, Formulas, LongNumbers

NONE = "none"
"""What is written for a gradient that is None."""


def number(x: Any, precision: int | None = None) -> str:
    """Return a number so that it reads back equal, or with so many significant digits.

    x: a NumPy scalar; complex ones are written as 1.5+2.0j. None is written so.
    """
    if x is None:
        return NONE
    if isinstance(x, complex | np.complexfloating):
        real, imag = number(x.real, precision), number(x.imag, precision)
        return f"{real}{imag if imag.startswith('-') else '+' + imag}j"
    if isinstance(x, bool | np.bool_):
        return str(bool(x))
    if precision is not None:
        return f"{float(x):.{precision}g}"
    return str(x) if isinstance(x, np.float32 | np.integer) else repr(float(x))


def numbers(array: np.ndarray | None, precision: int | None = None) -> list[str]:
    """Return an array's numbers in order, as `number` writes them; None as a single one."""
    if array is None:
        return [NONE]
    if precision is None and array.dtype == np.float64:
        return list(map(repr, array.ravel().tolist()))
    return [number(x, precision) for x in array.ravel()]


PARTS = {"": "", "re": "real part of ", "im": "imaginary part of "}


def label_part(name: str, index: tuple[int | str, ...], part: str) -> str:
    """Return the name of an element, or of its real or imaginary part."""
    return PARTS[part] + label(name, index)


def elements(name: str, array: np.ndarray | None) -> Iterator[tuple[str, Any]]:
    """Yield the name and value of every element, the last axis fastest; None as a single one."""
    if array is None:
        yield name, None
        return
    for index in np.ndindex(array.shape):
        yield label(name, index), array[index]


def long_elements(result: LongNumbers, with_value: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the name and the digits of every element; first of the value, where it is wanted."""
    if with_value and result.value is not None:
        yield from ((name, str(x)) for name, x in elements("value", result.value))
    for name, array in result.parts.items():
        if array is None:
            yield name, NONE
            continue
        for index in np.ndindex(array.shape):
            yield label(name, index), str(array[index])


def element_name(result: Any, name: str, index: tuple[int, ...], kind: str) -> str:
    """Return an element's name: x[1]; for Jacobians out[0]/x[1], for Hessians x[0]/y[1]."""
    if kind == "jacobian":
        return label_pair(result.output or "out", result.value.ndim, name)(index)
    if kind == "hessian":
        first, second = name.split("/")
        square = result.parts[f"{first}/{first}"] if hasattr(result, "parts") else result.blocks[first][first]
        return label_pair(first, square.ndim // 2, second)(index)
    return label(name, index)


def formulas_by_element(result: Any, kind: str) -> dict[str, str]:
    """Return what formulas say of every element, by its name; nothing where they were not asked for."""
    return {
        element_name(result, item.name, index, kind): str(item.texts[index])
        for item in result.symbolic
        for index in np.ndindex(item.texts.shape)
    }


def formula_lines(result: Formulas) -> list[tuple[str, str]]:
    """Return the name and the formula (with its value, if there is one) of every derivative."""
    return [(d.name, d.formula.text + (f"\t{d.value}" if d.value is not None else "")) for d in result.derivatives]


def plain_steps(text: str, style: Style) -> str:
    """Return a line of the chain rule; without Unicode, local derivatives are written with del, others with d."""
    return text if style.unicode else text.replace("∂", "del ")


def agreement_json(item: Agreement) -> dict[str, Any]:
    error: Any = item.error if np.isfinite(item.error) else str(item.error)
    return {
        "text": item.texts.tolist(),
        "latex": item.latex.tolist(),
        "value": item.values.tolist(),
        "agrees": item.agrees,
        "decided": item.decided,
        "max_abs_error": error,
    }
