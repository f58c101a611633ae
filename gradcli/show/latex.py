"""LaTeX: derivatives as equations, arrays as bmatrix."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import visible
from . import Style, renders
from .formula_results import Derivative, FormulaMatrix, Formulas, LongNumbers
from .numbers import NONE, elements, long_elements, number
from .results import Gradients, Hessian, Jacobian, Operations, Products, Value

GREEK = frozenset(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi "
    "omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega".split()
)


def symbol(name: str) -> str:
    """Return a name as LaTeX: x_1 for x1, Greek letters by name, longer words upright."""
    match = re.fullmatch(r"([A-Za-z]+)_?(\d*)", name)
    if match is None:
        return r"\mathrm{" + re.sub(r"([#$%&_{}])", r"\\\1", visible(" ".join(name.split()))) + "}"
    word, digits = match.groups()
    word = "\\" + word if word in GREEK else word if len(word) == 1 else r"\mathrm{" + word + "}"
    return f"{word}_{{{digits}}}" if digits else word


def value(x: Any, precision: int | None) -> str:
    """Return a number as LaTeX; a formula, which is text, as it is."""
    if isinstance(x, str):
        return x
    text = number(x, precision)
    if text in ("inf", "-inf", "nan"):
        return {"inf": r"\infty", "-inf": r"-\infty", "nan": r"\mathrm{nan}"}[text]
    text = text.replace("j", r"\,\mathrm{i}")
    return re.sub(r"e([+-]?)0*(\d+)", lambda m: rf" \times 10^{{{'-' if m[1] == '-' else ''}{m[2]}}}", text)


def array(x: np.ndarray | None, precision: int | None) -> str:
    """Return an array as a number, a column or a matrix; higher ones slice by slice. None is told in words."""
    if x is None:
        return rf"\text{{{NONE}}}"
    if x.ndim == 0:
        return value(x[()], precision)
    if x.ndim == 1:
        x = x[:, None]
    if x.ndim > 2:
        return r"\left[" + ",\\; ".join(array(part, precision) for part in x) + r"\right]"
    rows = (" & ".join(value(item, precision) for item in row) for row in x)
    return r"\begin{bmatrix} " + r" \\ ".join(rows) + r" \end{bmatrix}"


@renders("latex")
def render_gradients(result: Gradients, style: Style) -> str:
    """Return one equation per input."""
    output = symbol(result.output or "f")
    lines = [] if result.value is None else [f"{output} = {array(result.value, style.precision)}"]
    for item in result.inputs:
        left = rf"\frac{{\partial {output}}}{{\partial {symbol(item.name)}}}"
        lines.append(f"{left}{formula_part(result, item.name, array)} {array(item.grad, style.precision)}")
    lines += [
        rf"\frac{{\partial {output}}}{{\partial {symbol(name)}}} = {array(g, style.precision)}"
        for name, g in result.retained.items()
    ]
    return "".join(f"{line}\n" for line in lines)


def formula_part(result: Any, name: str, write: Callable[[Any, None], str]) -> str:
    """Return what stands before a number: an equals sign; where formulas were asked for, with the formula before."""
    for item in result.symbolic:
        if item.name == name:
            return f" = {write(item.latex, None)} " + ("=" if item.agrees else r"\neq")
    return " ="


@renders("latex")
def render_value(result: Value, style: Style) -> str:
    return f"{symbol(result.output or 'f')} = {array(result.value, style.precision)}\n"


def element(name: str) -> str:
    """Return the name of an element as LaTeX: x_{0,1} for x[0,1]."""
    base, _, rest = name.partition("[")
    index = rest.rstrip("]")
    text = symbol(base)
    if not index:
        return text
    return f"{{{text}}}_{{{index}}}" if "_" in text else f"{text}_{{{index}}}"


def names(name: str, values: np.ndarray) -> str:
    """Return an array by the names of its elements: (x_{0}, x_{1})."""
    parts = [element(part) for part, _ in elements(name, values)]
    if len(parts) > 12:
        parts = [*parts[:3], r"\dots", parts[-1]]
    return ", ".join(parts) if len(parts) == 1 else "(" + ", ".join(parts) + ")"


def partial_matrix(rows: int, columns: int) -> Callable[[Any, int | None], str]:
    """Return what writes a block of derivatives as a matrix with a row per output and a column per input element."""

    def write(block: np.ndarray, precision: int | None) -> str:
        flat = block.reshape((rows, columns))
        return value(flat[0, 0], precision) if flat.size == 1 else array(flat, precision)

    return write


@renders("latex")
def render_jacobian(result: Jacobian, style: Style) -> str:
    """Return one equation per input, with the elements of output and input in the order of rows and columns."""
    output = names(result.output or "f", result.value)
    lines = []
    for item in result.blocks:
        block = item.block if item.block is not None else item.sparse.toarray()
        write = partial_matrix(result.value.size, item.value.size)
        left = rf"\frac{{\partial {output}}}{{\partial {names(item.name, item.value)}}}"
        lines.append(f"{left}{formula_part(result, item.name, write)} {write(block, style.precision)}")
    return "".join(f"{line}\n" for line in lines)


@renders("latex")
def render_hessian(result: Hessian, style: Style) -> str:
    """Return one equation per pair of inputs; for numbers, one of the whole matrix."""
    output = symbol(result.output or "f")
    lines = []
    if result.whole is not None:
        names_of = list(result.blocks)
        by_pair = {item.name: item.latex.item() for item in result.symbolic}
        formulas = [[by_pair[f"{a}/{b}"] for b in names_of] for a in names_of] if by_pair else []
        sign = "=" if all(item.agrees for item in result.symbolic) else r"\neq"
        written = f"{array(np.array(formulas, object), None)} {sign} " if formulas else ""
        return rf"\nabla^{{2}} {output} = {written}{array(result.whole, style.precision)}" + "\n"
    for name, row in result.blocks.items():
        for other, block in row.items():
            x, y = result.inputs[name], result.inputs[other]
            below = rf"\partial {names(name, x)}\, \partial {names(other, y)}"
            write = partial_matrix(x.size, y.size)
            formula = formula_part(result, f"{name}/{other}", write)
            lines.append(rf"\frac{{\partial^2 {output}}}{{{below}}}{formula} {write(block, style.precision)}")
    return "".join(f"{line}\n" for line in lines)


@renders("latex")
def render_products(result: Products, style: Style) -> str:
    sign = {"vjp": "v^\\top J", "jvp": "J v", "hvp": "H v"}[result.kind]
    return "".join(
        rf"\left({sign}\right)_{{{symbol(name)}}} = {array(x, style.precision)}" + "\n"
        for name, x in result.parts.items()
    )


@renders("latex")
def render_operations(result: Operations, style: Style) -> str:
    """Return the functions as an itemised list."""
    return "".join(rf"\item \texttt{{{op.name}}}: {op.doc}" + "\n" for op in result.entries)


@renders("latex")
def render_formulas(result: Formulas, style: Style) -> str:
    """Return an equation per derivative, or one of a matrix; with steps, one per step."""
    if result.steps:
        return "".join(f"{step.latex}\n" for step in result.steps)
    if result.matrix is not None:
        return formula_matrix(result.matrix, symbol(result.function))
    sign = "d" if result.single else r"\partial"
    return "".join(f"{partial(d.name, symbol(result.function), sign)} = {latex_value(d)}\n" for d in result.derivatives)


def latex_value(d: Derivative) -> str:
    return d.formula.latex + ("" if d.value is None else f" = {d.value}")


def formula_matrix(matrix: FormulaMatrix, function: str) -> str:
    if matrix.kind == "hessian":
        left = rf"\nabla^{{2}} {function}"
    else:
        above, below = (
            ", ".join(element(name) for name in names)
            for names in ([f"{function}{row}" for row in matrix.rows], matrix.columns)
        )
        left = rf"\frac{{\partial ({above})}}{{\partial {below if len(matrix.columns) == 1 else f'({below})'}}}"
    rows = (" & ".join(latex_value(d) for d in row) for row in matrix.entries)
    return left + r" = \begin{bmatrix} " + r" \\ ".join(rows) + " \\end{bmatrix}\n"


def partial(name: str, function: str = "f", sign: str = r"\partial") -> str:
    """Return the left side of a derivative: its name says what it is with respect to."""
    parts = name.split("/")
    power = f"^{{{len(parts)}}}" if len(parts) > 1 else ""
    counts = {part: parts.count(part) for part in parts}
    below = r" \,".join(rf"{sign} {element(p)}" + (f"^{{{n}}}" if n > 1 else "") for p, n in counts.items())
    return rf"\frac{{{sign}{power} {function}}}{{{below}}}"


@renders("latex")
def render_longnumbers(result: LongNumbers, style: Style) -> str:
    lines = []
    for name, digits in long_elements(result):
        lines.append(f"{partial(name, symbol(result.output or 'f'))} = {digits}\n")
    return "".join(lines)
