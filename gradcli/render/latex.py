"""LaTeX: derivatives as equations, arrays as bmatrix."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..results import Gradients
from . import Style
from .numbers import number

GREEK = frozenset(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi "
    "omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega".split()
)


def symbol(name: str) -> str:
    """Return a name as LaTeX: x_1 for x1, Greek letters by name, longer words upright."""
    match = re.fullmatch(r"([A-Za-z]+)_?(\d*)", name)
    if match is None:
        return r"\mathrm{" + name.replace("_", r"\_") + "}"
    word, digits = match.groups()
    word = "\\" + word if word in GREEK else word if len(word) == 1 else r"\mathrm{" + word + "}"
    return f"{word}_{{{digits}}}" if digits else word


def value(x: Any, precision: int | None) -> str:
    """Return a number as LaTeX."""
    text = number(x, precision)
    if text in ("inf", "-inf", "nan"):
        return {"inf": r"\infty", "-inf": r"-\infty", "nan": r"\mathrm{nan}"}[text]
    text = text.replace("j", r"\,\mathrm{i}")
    return re.sub(r"e([+-]?)0*(\d+)", lambda m: rf" \times 10^{{{'-' if m[1] == '-' else ''}{m[2]}}}", text)


def array(x: np.ndarray, precision: int | None) -> str:
    """Return an array as a number, a column or a matrix; higher ones slice by slice."""
    if x.ndim == 0:
        return value(x[()], precision)
    if x.ndim == 1:
        x = x[:, None]
    if x.ndim > 2:
        return r"\left[" + ",\\; ".join(array(part, precision) for part in x) + r"\right]"
    rows = (" & ".join(value(item, precision) for item in row) for row in x)
    return r"\begin{bmatrix} " + r" \\ ".join(rows) + r" \end{bmatrix}"


def gradients(result: Gradients, style: Style) -> str:
    """Return one equation per input."""
    output = symbol(result.output or "f")
    lines = [] if result.value is None else [f"{output} = {array(result.value, style.precision)}"]
    for item in result.inputs:
        lines.append(
            rf"\frac{{\partial {output}}}{{\partial {symbol(item.name)}}} = {array(item.grad, style.precision)}"
        )
    lines += [
        rf"\frac{{\partial {output}}}{{\partial {symbol(name)}}} = {array(g, style.precision)}"
        for name, g in result.retained.items()
    ]
    return "".join(f"{line}\n" for line in lines)
