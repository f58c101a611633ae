"""Describe functions of the table in words and formulas, for `gradcli ops`, the manual and graphs."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from operator import add, mul, sub, truediv
from typing import Any

import numpy as np

from ..results.studies import Operation
from ..rules.index import ArrayIndex
from ..rules.table import NAMES, Primitive, no_gradient

OPERAND_NAMES = ("x", "y", "z")


@functools.cache
def lambdas_of(path: str) -> list[ast.Lambda]:
    with open(path, encoding="utf-8") as file:
        return [node for node in ast.walk(ast.parse(file.read())) if isinstance(node, ast.Lambda)]


def lambda_body(function: Any) -> ast.expr | None:
    """Return the body of a lambda; None if its source is not available."""
    code = function.__code__
    places = {(line, column) for line, _, column, _ in code.co_positions() if line and column}
    for node in lambdas_of(code.co_filename):
        body = node.body
        start, end = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)
        names = tuple(a.arg for a in node.args.args)
        inside = any(start <= place < end for place in places)
        if inside and names == code.co_varnames[: code.co_argcount]:
            return body
    return None


class Inlined(ast.NodeTransformer):
    """Replaces calls of a rules module's own functions, which the language does not have, with their formulas."""

    def __init__(self, known: Mapping[str, Any]):
        self.known = known

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        meant, entry = self.known.get(name), NAMES.get(name)
        if isinstance(meant, Primitive) and meant.public:
            return ast.Call(ast.Name(meant.name), node.args, node.keywords)
        handed_on = all(isinstance(k.value, ast.Name) and k.value.id == k.arg for k in node.keywords)
        if not handed_on or (entry is not None and entry.public):
            return node
        formula = formula_of(meant) if inspect.isfunction(meant) and entry is None else None
        if entry is not None and entry.twin:
            formula = list(OPERAND_NAMES), ast.parse(entry.twin, mode="eval").body
        takes_more = inspect.isfunction(meant) and meant.__code__.co_flags & inspect.CO_VARARGS
        if formula is None or (len(formula[0]) < len(node.args) and not takes_more):
            return node
        return Renamed(dict(zip(formula[0], node.args, strict=False))).visit(copy.deepcopy(formula[1]))

    def visit_Name(self, node: ast.Name) -> Any:
        constants = constants_of(self.known["__file__"]) if isinstance(self.known.get(node.id), float) else {}
        return self.visit(copy.deepcopy(constants[node.id])) if node.id in constants else node


@functools.cache
def constants_of(path: str) -> dict[str, ast.expr]:
    with open(path, encoding="utf-8") as file:
        body = ast.parse(file.read()).body
    formulas: dict[str, ast.expr] = {}
    for node in body:
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            home = os.path.join(os.path.dirname(path), f"{node.module}.py")
            named = {alias.name for alias in node.names if alias.name.isupper()}
            formulas |= {n: x for n, x in constants_of(home).items() if n in named} if named else {}
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name | ast.Tuple):
            target, value = node.targets[0], node.value
            pairs = zip(target.elts, getattr(value, "elts", ()), strict=False) if isinstance(target, ast.Tuple) else ()
            for name, formula in [(target, value)] if isinstance(target, ast.Name) else pairs:
                if isinstance(name, ast.Name):
                    formulas[name.id] = formula
    return formulas


class Renamed(ast.NodeTransformer):
    """Replaces names with expressions."""

    def __init__(self, parts: Mapping[str, ast.expr]):
        self.parts = parts

    def visit_Name(self, node: ast.Name) -> Any:
        return self.parts.get(node.id, node)


def formula_of(rule: Any) -> tuple[list[str], ast.expr] | None:
    """Return a rule's parameter names and expression, from its lambda or its docstring up to ";", or None."""
    if not callable(rule):
        return [], ast.Constant(rule)
    function = getattr(rule, "__wrapped__", rule)
    code = function.__code__
    names = list(code.co_varnames[: code.co_argcount])
    if function.__name__ == "<lambda>":
        body = lambda_body(function)
        return None if body is None else (names, Inlined(function.__globals__).visit(copy.deepcopy(body)))
    try:
        body = ast.parse((inspect.getdoc(function) or "").split("\n")[0].split(";")[0].rstrip("."), mode="eval").body
    except SyntaxError:
        return None
    read = {node.id for node in ast.walk(body) if isinstance(node, ast.Name)}
    return (names, body) if read & set(names) else None


def expression_text(body: ast.expr) -> str:
    return ast.unparse(body).replace("np.", "").replace("math.", "").replace(" ** ", "**")


def rule_text(rule: Any) -> str:
    """Return a derivative rule as text: a number, a formula, or its docstring."""
    if not callable(rule):
        return f"{rule:g}"
    if rule is no_gradient:
        return "none"
    function = getattr(rule, "__wrapped__", rule)
    if function.__name__ == "<lambda>":
        formula = formula_of(rule)
        if formula is None:
            return "see its source"
        given = dict(zip(formula[0][1:], map(ast.Name, OPERAND_NAMES), strict=False))
        return expression_text(Renamed(given).visit(formula[1]))
    return (inspect.getdoc(function) or function.__name__).split("\n")[0].rstrip(".")


def derivative_texts(entry: Primitive) -> tuple[tuple[str, str], ...]:
    if entry.kind == "composition":
        return (("x", "by the chain rule through its parts"),)
    if entry.arity is None:
        return tuple(("each", rule_text(rule)) for rule in entry.rules)
    result = f"{entry.name}({', '.join(OPERAND_NAMES[: entry.arity])})"
    return tuple(
        (OPERAND_NAMES[i], in_words_of_users(entry.slope or rule_text(rule), result))
        for i, rule in enumerate(entry.rules)
    )


def in_words_of_users(text: str, result: str) -> str:
    """Replace `out` in a formula with the call of the function; return other text unchanged."""
    try:
        body = ast.parse(text.replace("^", "**"), mode="eval").body
    except SyntaxError:
        return text
    return expression_text(Renamed({"out": ast.parse(result, mode="eval").body}).visit(body))


def describe_entry(entry: Primitive) -> Operation:
    intervals = entry.domain[: entry.arity or 1] if entry.kind == "elementwise" else ()
    return Operation(
        name=entry.name,
        aliases=tuple(name for name in entry.aliases if NAMES.get(name) is entry),
        kind=entry.kind,
        signature=str(inspect.signature(entry.signature_model())).partition(" ->")[0],
        doc=entry.doc,
        derivatives=derivative_texts(entry),
        domain=", ".join(f"{OPERAND_NAMES[i]} in [{a:g}, {b:g}]" for i, (a, b) in enumerate(intervals)),
        subgradient=entry.subgradient,
        twin=entry.twin or "",
        numpy=tuple(f"{getattr(f, '__module__', 'numpy') or 'numpy'}.{f.__name__}" for f in entry.numpy),
    )


INFIX = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "power": "**", "remainder": "%"}
INFIX |= {"floor_divide": "//", "matrix_product": "@", "matrix_vector": "@", "vector_matrix": "@", "vector_dot": "@"}
SHORT_NAMES = {"absolute": "abs"}
LOSS_TERMS = {
    "square_loss": "({0} - {1})**2",
    "probability_loss": "-{1} * log({0}) - (1 - {1}) * log(1 - {0})",
    "logit_loss": "(1 - {1}) * {0} - logsigmoid({0})",
}
"""The terms of losses with two operands."""
MOST_WRITTEN = 4  # longer constants are written as their shape
FOLD: dict[type, Callable] = {ast.Add: add, ast.Sub: sub, ast.Mult: mul, ast.Div: truediv}


def number_text(x: Any) -> str:
    """Write a number in its shortest form: 2 for 2.0."""
    if isinstance(x, bool | np.bool_):
        return str(bool(x))
    if isinstance(x, complex | np.complexfloating):
        return str(x)
    return repr(int(x)) if float(x).is_integer() and abs(x) < 1e15 else repr(float(x))


def constant_text(x: Any) -> str:
    """Write an operand without a gradient: its numbers if it is short, else its shape."""
    if np.ndim(x) == 1 and np.size(x) <= MOST_WRITTEN and np.asarray(x).dtype.kind in "biufc":
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
    if name in ("class_loss", *LOSS_TERMS):
        return loss_text(name, operands, params)
    index = params.get("index")
    if isinstance(index, ArrayIndex):
        place = f"[{index_text(index)}]"
        return f"{operands[0]} with {place} = {operands[1]}" if len(operands) > 1 else f"{operands[0]}{place}"
    ndim = len(shapes[0]) if shapes else 0
    words = [f"{k}={text}" for k, v in params.items() if (text := parameter_text(k, v, ndim))]
    inside = f"[{', '.join(operands)}]" if primitive.arity is None else ", ".join(operands)
    return f"{SHORT_NAMES.get(name, name)}({', '.join([inside, *words])})"


def loss_text(name: str, operands: Sequence[str], params: dict) -> str:
    if name in LOSS_TERMS:
        terms = LOSS_TERMS[name].format(*operands)
        terms = f"sum({terms})" if params["axis"] else terms
    else:
        weighed = "" if params["weights"] is None else " * weights"
        terms = f"-sum({operands[0]}[{index_text(params['index'])}]{weighed})"
    return terms if params["total"] == 1 else f"{terms} / {params['total']:g}"


def parameter_text(name: str, value: Any, ndim: int) -> str:
    """Write the value of a parameter, or nothing if it can be left out."""
    if name in ("source", "label") or value is False or not isinstance(value, bool | int | float | tuple | str):
        return ""
    if name in ("axis", "axes"):
        if name == "axis" and isinstance(value, tuple) and len(value) >= ndim:
            return ""
        axes = [a % ndim if ndim else a for a in (value if isinstance(value, tuple) else (value,))]
        return str(axes[0]) if len(axes) == 1 else str(tuple(axes))
    return str(value)


def index_text(index: ArrayIndex) -> str:
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
    """Substitutes the operands' names in a rule, and evaluates plain arithmetic."""

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        return ast.Name(node.attr) if isinstance(node.value, ast.Name) and node.value.id in ("np", "math") else node

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        node = self.generic_visit(node)  # type: ignore[assignment]
        x, y = node.left, node.right
        if isinstance(x, ast.Constant) and isinstance(y, ast.Constant) and type(node.op) in FOLD and y.value != 0:
            return number_node(FOLD[type(node.op)](x.value, y.value))
        if isinstance(node.op, ast.Pow | ast.Div) and is_number_literal(y, 1):
            return x
        if isinstance(node.op, ast.Mult) and (is_number_literal(x, 1) or is_number_literal(y, 1)):
            return y if is_number_literal(x, 1) else x
        return node


def is_number_literal(node: ast.expr, value: float) -> bool:
    return isinstance(node, ast.Constant) and node.value == value


def number_node(x: Any) -> ast.Constant:
    return ast.Constant(int(x) if isinstance(x, float) and x.is_integer() and abs(x) < 1e15 else x)


def slope_text(rule: Any, operands: Sequence[Any], result: str, params: dict) -> str | None:
    """Write an elementwise derivative in terms of the operands; return None if the rule is not a formula."""
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
