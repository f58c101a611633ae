"""LaTeX: derivatives as equations, arrays as bmatrix."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ..results.base import Gradients, Hessian, Jacobian, Products, ResultBlock, Value, labels, rows_of
from ..results.formats import Style
from ..results.studies import Derivative, FormulaMatrix, Formulas, LongNumbers, bold_symbol, element_symbol, symbol
from .data import ERROR_DIGITS, NONE, number


def latex_number(x: Any, precision: int | None) -> str:
    """Write a number as LaTeX; text is already a formula and stays as it is."""
    if isinstance(x, str):
        return x
    text = number(x, precision)
    if text in ("inf", "-inf", "nan"):
        return {"inf": r"\infty", "-inf": r"-\infty", "nan": r"\mathrm{nan}"}[text]
    text = text.replace("j", r"\,\mathrm{i}")
    return re.sub(r"e([+-]?)0*(\d+)", lambda m: rf" \times 10^{{{'-' if m[1] == '-' else ''}{m[2]}}}", text)


def latex_array(x: np.ndarray | None, precision: int | None) -> str:
    """Write an array as a number, a column or a matrix, or slice by slice; None in words."""
    if x is None:
        return rf"\text{{{NONE}}}"
    if x.ndim == 0:
        return latex_number(x[()], precision)
    if x.ndim == 1:
        x = x[:, None]
    if x.ndim > 2:
        return r"\left[" + ",\\; ".join(latex_array(part, precision) for part in x) + r"\right]"
    rows = (" & ".join(latex_number(item, precision) for item in row) for row in x)
    return r"\begin{bmatrix} " + r" \\ ".join(rows) + r" \end{bmatrix}"


def equations(result: Any, left: Callable[[ResultBlock], str], style: Style) -> str:
    """Return an equation for each block of a result: formula, if any, and numbers."""

    def write(block: ResultBlock, x: Any, precision: int | None) -> str:
        if len(block.axes) == 2:  # a row per output and a column per input element
            x = x.reshape([math.prod(shape) for _, shape in block.axes])
            x = x.reshape(()) if x.size == 1 else x
        return latex_array(x, precision)

    text = ""
    for block in result.arrays:
        symbolic = [item for item in getattr(result, "symbolic", ()) if item.name == block.key]
        formulas = (f" = {write(block, item.latex, None)}" for item in symbolic)
        sign = "=" if all(item.agrees for item in symbolic) else r"\neq"
        numbers = write(block, block.array.toarray() if block.is_sparse else block.array, style.precision)
        error = "" if block.error is None else rf" \pm {write(block, block.error, ERROR_DIGITS)}"
        text += f"{left(block)}{''.join(formulas)} {sign} {numbers}{error}\n"
    return text


def latex_of_value(result: Any, style: Style) -> str:
    return f"{symbol(result.output or 'f')} = {latex_array(result.value, style.precision)}\n"


def latex_of_gradients(result: Gradients, style: Style) -> str:
    text, output = "" if result.value is None else latex_of_value(result, style), symbol(result.output or "f")
    return text + equations(result, lambda b: rf"\frac{{\partial {output}}}{{\partial {symbol(b.key)}}}", style)


def latex_names(name: str, shape: tuple[int, ...]) -> str:
    """Write an array as the names of its elements: (x_{0}, x_{1})."""
    parts = [element_symbol(part) for part in labels(name, shape)]
    if len(parts) > 12:
        parts = [*parts[:3], r"\dots", parts[-1]]
    return ", ".join(parts) if len(parts) == 1 else "(" + ", ".join(parts) + ")"


def latex_of_jacobian(result: Jacobian, style: Style) -> str:
    """Return one equation per input; rows and columns are the elements of output and input, in order."""
    output = latex_names(result.output or "f", result.value.shape)
    return equations(result, lambda b: rf"\frac{{\partial {output}}}{{\partial {latex_names(*b.axes[1])}}}", style)


def latex_of_hessian(result: Hessian, style: Style) -> str:
    """Return one equation per pair of inputs, or one for the whole matrix if all are numbers."""
    output = symbol(result.output or "f")
    if result.whole is not None:
        names_of = list(result.blocks)
        by_pair = {item.name: item.latex.item() for item in result.symbolic}
        formulas = [[by_pair[f"{a}/{b}"] for b in names_of] for a in names_of] if by_pair else []
        sign = "=" if all(item.agrees for item in result.symbolic) else r"\neq"
        written = f"{latex_array(np.array(formulas, object), None)} {sign} " if formulas else ""
        errors = np.array([list(row.values()) for row in result.errors.values()])
        error = rf" \pm {latex_array(errors, ERROR_DIGITS)}" if errors.size else ""
        return rf"\nabla^{{2}} {output} = {written}{latex_array(result.whole, style.precision)}{error}" + "\n"

    def left(block: ResultBlock) -> str:
        below = r"\, ".join(rf"\partial {latex_names(*owner)}" for owner in block.axes)
        return rf"\frac{{\partial^2 {output}}}{{{below}}}"

    return equations(result, left, style)


def latex_of_products(result: Products, style: Style) -> str:
    sign = {"vjp": "v^\\top J", "jvp": "J v", "hvp": "H v"}[result.kind]
    return equations(result, lambda b: rf"\left({sign}\right)_{{{symbol(b.key)}}}", style)


def latex_of_formulas(result: Formulas, style: Style) -> str:
    if result.steps:
        return "".join(f"{step.latex}\n" for step in result.steps)
    if result.kind:
        return latex_matrix_formulas(result)
    if result.matrix is not None:
        return latex_formula_matrix(result.matrix, symbol(result.function))
    sign = "d" if result.single else r"\partial"
    return "".join(f"{partial(d.name, symbol(result.function), sign)} = {latex_value(d)}\n" for d in result.derivatives)


def latex_value(d: Derivative) -> str:
    return d.formula.latex + ("" if d.value is None else f" = {d.value}")


def latex_formula_matrix(matrix: FormulaMatrix, function: str) -> str:
    if matrix.kind == "hessian":
        left = rf"\nabla^{{2}} {function}"
    else:
        above, below = (
            ", ".join(element_symbol(name) for name in names)
            for names in ([f"{function}{row}" for row in matrix.rows], matrix.columns)
        )
        left = rf"\frac{{\partial ({above})}}{{\partial {below if len(matrix.columns) == 1 else f'({below})'}}}"
    rows = (" & ".join(latex_value(d) for d in row) for row in matrix.entries)
    return left + r" = \begin{bmatrix} " + r" \\ ".join(rows) + " \\end{bmatrix}\n"


def partial(name: str, function: str = "f", sign: str = r"\partial") -> str:
    """Return the left side of an equation for a derivative. name: its variables."""
    parts = name.split("/")
    power = f"^{{{len(parts)}}}" if len(parts) > 1 else ""
    counts = {part: parts.count(part) for part in parts}
    below = r" \,".join(rf"{sign} {element_symbol(p)}" + (f"^{{{n}}}" if n > 1 else "") for p, n in counts.items())
    return rf"\frac{{{sign}{power} {function}}}{{{below}}}"


def latex_matrix_formulas(result: Formulas) -> str:
    function = symbol(result.function)
    if result.kind == "jacobian":
        function = rf"\mathbf{{{function}}}" if len(function) == 1 else function
    bold = {n: symbol(n) if not dims else bold_symbol(n) for n, dims in result.shapes.items()}
    lines = []
    for d in result.derivatives:
        first, *second = d.name.split("/")
        power = "^{2}" if second else ""
        below = " ".join(rf"\partial {bold[p]}" for p in (first, *second))
        if second == [first]:
            below = rf"\partial {bold[first]}\, \partial {bold[first]}^\top"
        lines.append(rf"\frac{{\partial{power} {function}}}{{{below}}} = {d.formula.latex}" + "\n")
    return "".join(lines)


def latex_of_numbers(result: LongNumbers, style: Style) -> str:
    if not result.parts and result.value is not None:
        return latex_of_value(result, style._replace(precision=None))
    function, rows = symbol(result.output or "f"), rows_of(result._replace(with_value=False))
    return "".join(f"{partial(name, function)} = {digits or latex_array(None, None)}\n" for name, digits in rows)


WRITERS = {
    "latex": {
        Gradients: latex_of_gradients,
        Value: latex_of_value,
        Jacobian: latex_of_jacobian,
        Hessian: latex_of_hessian,
        Products: latex_of_products,
        Formulas: latex_of_formulas,
        LongNumbers: latex_of_numbers,
    }
}
