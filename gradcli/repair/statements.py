"""Edits of whole statements: other assignments, one more assignment, names and functions replaced throughout."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..user.source import Edit, FunctionSource
from .calls import orders
from .edits import SWAPPED, Change, fitted
from .scope import EditScope

ASSIGNMENT_SIGNS = {ast.Add: "-=", ast.Sub: "+=", ast.Mult: "/=", ast.Div: "*="}
COMPLEMENTS = {"1:": ":-1", ":-1": "1:"}


class Edited(NamedTuple):
    """Edits of a function's text, what they change, and the length of the old piece."""

    edits: tuple[Edit, ...]
    change: Change
    size: int


def assignments(source: FunctionSource, scope: EditScope, statement: ast.stmt) -> Iterator[Edited]:
    """Yield edits of an assignment: another kind of assignment, none, one more, or values in another order."""
    start, end = source.span(statement)
    text = source.text[start:end]
    before = source.text[source.starts[statement.lineno - 1] : start]
    following = "; " if before.strip() else f"\n{before}"

    def edited(text: str, kind: str, tier: int = 1) -> Edited:
        return Edited((Edit(start, end, text),), Change(text, kind, tier), end - start)

    match statement:
        case ast.AugAssign(target, op, value):
            left, right = source.segment(target), source.segment(value)
            if type(op) in ASSIGNMENT_SIGNS:
                yield edited(f"{left} {ASSIGNMENT_SIGNS[type(op)]} {right}", "sign", 0)
            yield edited(f"{left} = {right}", "term")
            yield edited("pass", "term", 2)
            if isinstance(target, ast.Subscript) and isinstance(op, ast.Add | ast.Sub):
                more = mirror(source, scope, target, right)
                yield from (edited(f"{text}{following}{line}", "term") for line in more)
        case ast.Assign([ast.Tuple(targets)], value) if all(isinstance(x, ast.Name) for x in targets):
            right = source.segment(value)
            for order in orders([source.segment(x) for x in targets]):
                yield edited(f"{', '.join(order)} = {right}", "order")
        case ast.Assign([ast.Name() | ast.Subscript() as target], value):
            left, right = source.segment(target), source.segment(value)
            yield from (edited(f"{left} {sign} {right}", "term") for sign in ("+=", "-=", "*="))
            if isinstance(target, ast.Subscript):
                yield edited("pass", "term", 2)
                if scope.library in ("np", "numpy"):
                    whole, index = source.segment(target.value), source.segment(target.slice)
                    yield edited(f"{scope.library}.add.at({whole}, {index}, {right})", "index")
                more = mirror(source, scope, target, right)
                yield from (edited(f"{left} += {right}{following}{line}", "term") for line in more)


def mirror(source: FunctionSource, scope: EditScope, target: ast.Subscript, right: str) -> Iterator[str]:
    """Yield one more assignment to other elements: to the partner of a pair, or to the neighbours of a slice."""
    whole, index = source.segment(target.value), source.segment(target.slice)
    for sign in ("-=", "+="):
        if isinstance(target.slice, ast.Name):
            yield from (f"{whole}[{other}] {sign} {right}" for other in scope.indices if other != index)
        for part, other in COMPLEMENTS.items():
            if index == part or index.endswith(f", {part}"):
                yield f"{whole}[{index.removesuffix(part)}{other}] {sign} {right}"


def replacements(source: FunctionSource, scope: EditScope, statement: ast.stmt) -> Iterator[Edited]:
    """Yield a statement with one name or function replaced by another wherever it is read, or two names exchanged."""
    names: dict[str, list[Any]] = {}
    functions: dict[str, list[Any]] = {}
    parents: dict[int, Any] = {}
    for node in ast.walk(statement):
        parents.update((id(child), node) for child in ast.iter_child_nodes(node))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in scope.names:
            names.setdefault(node.id, []).append(node)
        if isinstance(node, ast.Attribute) and node.attr in SWAPPED:
            functions.setdefault(node.attr, []).append(node)
    for name, nodes in names.items():
        pieces = (text for text in (*scope.forward.pieces, *(f"{h}({name})" for h in scope.helpers)) if name in text)
        for other in (*scope.names, *pieces) if len(nodes) > 1 else ():
            if other != name:
                texts = [(node, fitted(other, parents[id(node)], node)) for node in nodes]
                yield throughout(source, texts, "name")
    for (first, nodes), (second, others) in itertools.combinations(names.items(), 2):
        exchanged = [*((node, second) for node in nodes), *((node, first) for node in others)]
        yield throughout(source, exchanged, "order")
    for name, nodes in functions.items():
        for other in SWAPPED[name] if len(nodes) > 1 else ():
            texts = [(node, f"{source.segment(node.value)}.{other}") for node in nodes]
            yield throughout(source, texts, "function")


def throughout(source: FunctionSource, texts: list[tuple[Any, str]], kind: str) -> Edited:
    edits = tuple(Edit(*source.span(node), text) for node, text in texts)
    return Edited(edits, Change(texts[0][1], kind, 1), edits[0].end - edits[0].start)
