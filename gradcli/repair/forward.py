"""What the source of the forward function tells about its derivative: pieces, masks, numbers, slopes."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from ..user.source import FunctionSource, walk_code

MOST_PIECES = 12  # most pieces, masks and slopes that are tried as factors and terms: a choice
LONGEST_PIECE = 48  # characters of the longest of them: a choice
MOST_TRIED_CONSTANTS = 8  # most numbers that are tried as constants: a choice
CodePiece = ast.BinOp | ast.Call | ast.UnaryOp | ast.Subscript
LIBRARY_SLOPES = {
    "sin": ("{0}.cos({1})",), "cos": ("-{0}.sin({1})",), "exp": ("{0}.exp({1})", "-{0}.exp({1})"),
    "tanh": ("(1 - {0}.tanh({1})**2)",), "log": ("1 / ({1})",), "sinh": ("{0}.cosh({1})",), "cosh": ("{0}.sinh({1})",),
}  # fmt: skip
"""Derivatives of functions of a library {0} at an argument {1}, for the product rule."""
OWN_SCOPES = (
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
    ast.NamedExpr,
    ast.Await,
    ast.Yield,
)


@dataclass(frozen=True)
class ForwardTexts:
    """Texts of the forward function that its derivative can evaluate, too.

    pieces: expressions. masks: conditions and signs. numbers: constants other than 0, 1 and 2. slopes: pieces with one
    function replaced by its derivative. whole: the value that it returns.
    """

    pieces: tuple[str, ...] = ()
    masks: tuple[str, ...] = ()
    numbers: tuple[float, ...] = ()
    slopes: tuple[str, ...] = ()
    whole: str = ""


def forward_texts(source: FunctionSource, known: Collection[str]) -> ForwardTexts:
    """Return what the forward function tells. known: the names that the derivative can use."""
    names = set(known) - {source.node.name}  # an edit never calls the function itself
    nodes = [node for statement in source.node.body for node in walk_code(statement)]
    usable = [node for node in nodes if isinstance(node, CodePiece | ast.Compare) and is_evaluable(node, names)]
    pieces = [(node, segment_text(source, node)) for node in usable if isinstance(node, CodePiece)]
    pieces = [(node, text) for node, text in pieces if len(text) <= LONGEST_PIECE]
    last = source.node.body[-1]
    whole = segment_text(source, last.value) if isinstance(last, ast.Return) and last.value in usable else ""
    return ForwardTexts(
        first_pieces(text for _, text in pieces),
        first_pieces(mask for node in usable for mask in masks_of(source, node)),
        tuple(dict.fromkeys(abs(float(n.value)) for n in nodes if is_number_node(n) and n.value not in (0, 1, 2)))[
            :MOST_TRIED_CONSTANTS
        ],
        first_pieces(slope for node, _ in pieces for slope in slopes_of_calls(source, node)),
        whole if len(whole) <= LONGEST_PIECE else "",
    )


def first_pieces(texts: Iterator[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))[:MOST_PIECES]


def segment_text(source: FunctionSource, node: Any) -> str:
    return " ".join(source.segment(node).split())


def is_number_node(node: Any) -> bool:
    is_constant = isinstance(node, ast.Constant) and isinstance(node.value, int | float)
    return is_constant and not isinstance(node.value, bool) and abs(node.value) < 1e9


def is_evaluable(node: ast.AST, known: Collection[str]) -> bool:
    """Report whether an expression uses known names only, at least one, and defines none of its own."""
    inside = list(ast.walk(node))
    names = [n.id for n in inside if isinstance(n, ast.Name)]
    return bool(names) and set(names) <= set(known) and not any(isinstance(n, OWN_SCOPES) for n in inside)


def masks_of(source: FunctionSource, node: Any) -> Iterator[str]:
    """Yield the masks and signs that belong to a maximum, clip, absolute value or condition."""
    if isinstance(node, ast.Compare):
        yield f"({source.segment(node)})"
    if not isinstance(node, ast.Call):
        return
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    given = [source.segment(x) for x in node.args]
    owner = source.segment(node.func.value) if isinstance(node.func, ast.Attribute) else ""
    match name, given:
        case ("maximum", [a, b]):
            yield from (f"({a} > {b})", f"({b} > {a})", f"({a} >= {b})")
        case ("minimum", [a, b]):
            yield from (f"({a} < {b})", f"({b} < {a})", f"({a} <= {b})")
        case ("clip" | "clamp", [a, low, high]):
            yield f"(({a} > {low}) & ({a} < {high}))"
        case ("abs" | "absolute" | "fabs", [a]):
            yield f"{owner or 'np'}.sign({a})"
        case ("relu", [a]):
            yield f"({a} > 0)"
        case ("where", [condition, _, _]):
            branches = [slope_of(source, branch) for branch in node.args[1:]]
            if None not in branches:
                yield f"{owner}.where({condition}, {branches[0]}, {branches[1]})"


def slope_of(source: FunctionSource, branch: Any) -> str | None:
    """Return the slope of a simple branch of a condition: a name, a number times a name, or a number."""
    match branch:
        case ast.Name():
            return "1.0"
        case ast.Constant() if is_number_node(branch):
            return "0.0"
        case ast.BinOp(ast.Constant() | ast.UnaryOp() as factor, ast.Mult(), ast.Name()):
            return source.segment(factor)
    return None


def slopes_of_calls(source: FunctionSource, piece: Any) -> Iterator[str]:
    """Yield a piece with one call of a function replaced by the function's derivative."""
    start, end = source.span(piece)
    for node in ast.walk(piece):
        match node:
            case ast.Call(ast.Attribute(library, name), [argument]) if name in LIBRARY_SLOPES:
                a, b = source.span(node)
                for slope in LIBRARY_SLOPES[name]:
                    new = slope.format(source.segment(library), source.segment(argument))
                    new = f"({new})" if new.startswith("-") and a > start else new
                    yield " ".join(f"{source.text[start:a]}{new}{source.text[b:end]}".split())
