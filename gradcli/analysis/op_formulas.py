"""Write a recorded operation and its derivative as formulas in the names of its operands."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from operator import add, mul, sub, truediv
from typing import Any

import numpy as np

from ..lang.operations import Renamed, expression_text, formula_of
from ..rules.index import Index
from ..rules.table import Primitive, no_gradient

INFIX = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "power": "**", "remainder": "%"}
INFIX |= {"floor_divide": "//", "matrix_product": "@", "matrix_vector": "@", "vector_matrix": "@", "vector_dot": "@"}
SHORT = {"absolute": "abs"}
TERMS = {
    "square_loss": "({0} - {1})**2",
    "probability_loss": "-{1} * log({0}) - (1 - {1}) * log(1 - {0})",
    "logit_loss": "(1 - {1}) * {0} - logsigmoid({0})",
}
"""The terms of losses with two operands."""
FEW = 4  # longer constants are written as their shape
FOLD: dict[type, Callable] = {ast.Add: add, ast.Sub: sub, ast.Mult: mul, ast.Div: truediv}


def number_text(x: Any) -> str:
    """Write a number in its shortest form: 2 for 2.0."""
    if isinstance(x, bool | np.bool_):
        return str(bool(x))
    if isinstance(x, complex | np.complexfloating):
        return str(x)
    return repr(int(x)) if float(x).is_integer() and abs(x) < 1e15 else repr(float(x))


def constant_text(x: Any) -> str:
    """Write an operand without gradient: its numbers if it is short, else its shape."""
    if np.ndim(x) == 1 and np.size(x) <= FEW and np.asarray(x).dtype.kind in "biufc":
        return f"[{', '.join(number_text(item) for item in np.asarray(x))}]"
    if np.ndim(x) == 0:
        return number_text(np.asarray(x)[()]) if np.asarray(x).dtype.kind in "biufc" else str(x)
    return f"[{'x'.join(map(str, np.shape(x)))}]"


def formula_of_operation(primitive: Primitive, operands: Sequence[str], shapes: Sequence[tuple], params: dict) -> str:
    """Write an operation, such as `u1 * sin_x` or `sum(w, axis=0)`."""
    name = primitive.name
    if name in INFIX and len(operands) == 2:
        return f"{operands[0]} {INFIX[name]} {operands[1]}".replace(" ** ", "**")
    if name == "affine":
        return f"{operands[1]} @ {operands[2]}.T + {operands[0]}"
    if name == "negative":
        return f"-{operands[0]}"
    if name in ("class_loss", *TERMS):
        return loss_text(name, operands, params)
    index = params.get("index")
    if isinstance(index, Index):
        place = f"[{index_text(index)}]"
        return f"{operands[0]} with {place} = {operands[1]}" if len(operands) > 1 else f"{operands[0]}{place}"
    ndim = len(shapes[0]) if shapes else 0
    words = [f"{k}={text}" for k, v in params.items() if (text := parameter_text(k, v, ndim))]
    inside = f"[{', '.join(operands)}]" if primitive.arity is None else ", ".join(operands)
    return f"{SHORT.get(name, name)}({', '.join([inside, *words])})"


def loss_text(name: str, operands: Sequence[str], params: dict) -> str:
    if name in TERMS:
        terms = TERMS[name].format(*operands)
        terms = f"sum({terms})" if params["axis"] else terms
    else:
        weighed = "" if params["weights"] is None else " * weights"
        terms = f"-sum({operands[0]}[{index_text(params['index'])}]{weighed})"
    return terms if params["total"] == 1 else f"{terms} / {params['total']:g}"


def parameter_text(name: str, value: Any, ndim: int) -> str:
    """Write the value of a parameter; nothing if it can be left out."""
    if name in ("source", "label") or value is False or not isinstance(value, bool | int | float | tuple | str):
        return ""
    if name in ("axis", "axes"):
        if name == "axis" and isinstance(value, tuple) and len(value) >= ndim:
            return ""
        axes = [a % ndim if ndim else a for a in (value if isinstance(value, tuple) else (value,))]
        return str(axes[0]) if len(axes) == 1 else str(tuple(axes))
    return str(value)


def index_text(index: Index) -> str:
    return ", ".join(item_text(item) for item in index.key)


def item_text(item: Any) -> str:
    if isinstance(item, slice):
        parts = ["" if n is None else str(n) for n in (item.start, item.stop, item.step)]
        return ":".join(parts if item.step is not None else parts[:2])
    if item is Ellipsis:
        return "..."
    if isinstance(item, np.ndarray):
        return "mask" if item.dtype == bool else str(item.tolist()) if item.size <= 4 else f"[{item.size} indices]"
    return str(item)


class _Named(Renamed, ast.NodeTransformer):
    """Puts the operands' names into a rule, and evaluates plain arithmetic."""

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        return ast.Name(node.attr) if isinstance(node.value, ast.Name) and node.value.id in ("np", "math") else node

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        node = self.generic_visit(node)  # type: ignore[assignment]
        x, y = node.left, node.right
        if isinstance(x, ast.Constant) and isinstance(y, ast.Constant) and type(node.op) in FOLD and y.value != 0:
            return number_node(FOLD[type(node.op)](x.value, y.value))
        if isinstance(node.op, ast.Pow | ast.Div) and is_number(y, 1):
            return x
        if isinstance(node.op, ast.Mult) and (is_number(x, 1) or is_number(y, 1)):
            return y if is_number(x, 1) else x
        return node


def is_number(node: ast.expr, value: float) -> bool:
    return isinstance(node, ast.Constant) and node.value == value


def number_node(x: Any) -> ast.Constant:
    return ast.Constant(int(x) if isinstance(x, float) and x.is_integer() and abs(x) < 1e15 else x)


def slope_text(rule: Any, operands: Sequence[Any], result: str, params: dict) -> str | None:
    """Write an elementwise derivative in the names of the operands; None if the rule is not a formula."""
    if rule is no_gradient:
        return None
    formula = formula_of(rule)
    if formula is None:
        return None
    names, body = formula
    given = dict(zip(names, (result, *operands), strict=False))
    given.update({k: v for k, v in params.items() if isinstance(v, int | float)})
    written = {name: value for name, value in given.items() if isinstance(value, str | int | float)}
    parts: dict[str, ast.expr] = {n: ast.Name(x) if isinstance(x, str) else number_node(x) for n, x in written.items()}
    copy = ast.parse(ast.unparse(body), mode="eval").body
    return expression_text(_Named(parts).visit(copy))
