"""Describe the functions of the table from their entries, for `gradcli ops` and the manual."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import os
from collections.abc import Mapping
from typing import Any

from ..rules.table import NAMES, Primitive, no_gradient
from ..show.study_results import Operation

OPERANDS = ("x", "y", "z")


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
    """Replaces calls of a rules module's own functions, which the language does not have, by their formulas."""

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
            formula = list(OPERANDS), ast.parse(entry.twin, mode="eval").body
        if formula is None or len(formula[0]) < len(node.args):
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
    """Replaces names by expressions."""

    def __init__(self, parts: Mapping[str, ast.expr]):
        self.parts = parts

    def visit_Name(self, node: ast.Name) -> Any:
        return self.parts.get(node.id, node)


def formula_of(rule: Any) -> tuple[list[str], ast.expr] | None:
    """Return parameter names and expression of a rule, from its lambda or its docstring up to ";"; else None."""
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
        given = dict(zip(formula[0][1:], map(ast.Name, OPERANDS), strict=False))
        return expression_text(Renamed(given).visit(formula[1]))
    return (inspect.getdoc(function) or function.__name__).split("\n")[0].rstrip(".")


def derivatives(entry: Primitive) -> tuple[tuple[str, str], ...]:
    if entry.kind == "composition":
        return (("x", "by the chain rule through its parts"),)
    if entry.arity is None:
        return tuple(("each", rule_text(rule)) for rule in entry.rules)
    result = f"{entry.name}({', '.join(OPERANDS[: entry.arity])})"
    return tuple(
        (OPERANDS[i], in_words_of_users(entry.slope or rule_text(rule), result)) for i, rule in enumerate(entry.rules)
    )


def in_words_of_users(text: str, result: str) -> str:
    """Replace `out` in a formula by the call of the function; return other text unchanged."""
    try:
        body = ast.parse(text.replace("^", "**"), mode="eval").body
    except SyntaxError:
        return text
    return expression_text(Renamed({"out": ast.parse(result, mode="eval").body}).visit(body))


def describe(entry: Primitive) -> Operation:
    intervals = entry.domain[: entry.arity or 1] if entry.kind == "elementwise" else ()
    return Operation(
        name=entry.name,
        aliases=tuple(name for name in entry.aliases if NAMES.get(name) is entry),
        kind=entry.kind,
        signature=str(inspect.signature(entry.signature_model())).partition(" ->")[0],
        doc=entry.doc,
        derivatives=derivatives(entry),
        domain=", ".join(f"{OPERANDS[i]} in [{a:g}, {b:g}]" for i, (a, b) in enumerate(intervals)),
        subgradient=entry.subgradient,
        twin=entry.twin or "",
        numpy=tuple(f"{getattr(f, '__module__', 'numpy') or 'numpy'}.{f.__name__}" for f in entry.numpy),
    )
