"""The table in words: what `gradcli ops` and the manual say about each function, read off the entry itself."""

from __future__ import annotations

import ast
import functools
import inspect
from typing import Any

from ..results.operations import Operation
from ..rules.table import NAMES, Primitive, no_gradient

OPERANDS = ("x", "y", "z")


@functools.cache
def lambdas_of(path: str) -> list[ast.Lambda]:
    """Return all lambda expressions of a Python file."""
    with open(path, encoding="utf-8") as file:
        return [node for node in ast.walk(ast.parse(file.read())) if isinstance(node, ast.Lambda)]


def lambda_text(function: Any) -> str | None:
    """Return the body of a lambda as text, without `np.`; None where its source is not at hand."""
    code = function.__code__
    places = {(line, column) for line, _, column, _ in code.co_positions() if line and column}
    for node in lambdas_of(code.co_filename):
        body = node.body
        start, end = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)
        names = tuple(a.arg for a in node.args.args)
        inside = any(start <= place < end for place in places)
        if inside and names == code.co_varnames[: code.co_argcount]:
            return ast.unparse(body).replace("np.", "")
    return None


def rule_text(rule: Any) -> str:
    """Return a derivative rule as text: a number, a formula, or what its docstring says."""
    if not callable(rule):
        return f"{rule:g}"
    if rule is no_gradient:
        return "none"
    found = getattr(rule, "__wrapped__", rule)
    if found.__name__ == "<lambda>":
        return lambda_text(found) or "see its source"
    return (inspect.getdoc(found) or found.__name__).split("\n")[0].rstrip(".")


def derivatives(entry: Primitive) -> tuple[tuple[str, str], ...]:
    """Return pairs of an operand and its derivative rule."""
    if entry.kind == "composition":
        return (("x", "by the chain rule through its parts"),)
    if entry.arity is None:
        return tuple(("each", rule_text(rule)) for rule in entry.rules)
    return tuple((OPERANDS[i], rule_text(rule)) for i, rule in enumerate(entry.rules))


def domain_text(entry: Primitive) -> str:
    """Return the intervals that the entry is tested on, one per operand."""
    if entry.kind != "elementwise":
        return ""
    intervals = entry.domain[: entry.arity or 1]
    return ", ".join(f"{OPERANDS[i]} in [{a:g}, {b:g}]" for i, (a, b) in enumerate(intervals))


def describe(entry: Primitive) -> Operation:
    """Return what there is to say about an entry."""
    return Operation(
        name=entry.name,
        aliases=tuple(name for name in entry.aliases if NAMES.get(name) is entry),
        kind=entry.kind,
        signature=str(inspect.signature(entry.signature_model())).partition(" ->")[0],
        doc=entry.doc,
        derivatives=derivatives(entry),
        domain=domain_text(entry),
        subgradient=entry.subgradient,
        twin=entry.twin or "",
        numpy=tuple(f"{getattr(f, '__module__', 'numpy') or 'numpy'}.{f.__name__}" for f in entry.numpy),
    )
