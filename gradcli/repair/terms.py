"""Edits that add or take away a term: forgotten terms of sums, of the product rule, and of normalizations."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from .edits import ATOM_PRECEDENCE, PRODUCT_PRECEDENCE, Change, Editor, in_product
from .forward import LIBRARY_SLOPES

MIRRORED = re.compile(r"(?<![.\w])[A-Za-z_]\w*(?![\w(])")


def added(editor: Editor, node: Any) -> Iterator[Change]:
    """Yield the expression plus and minus names, numbers, and pieces of the forward function."""
    x, factor, scope = editor.segment(node), editor.text(node, PRODUCT_PRECEDENCE), editor.scope
    for name in scope.names:
        terms = [name, *(f"{n:.12g} * {name}" for number in scope.forward.numbers for n in (number, 2 * number))]
        yield from (Change(f"{x} {sign} {term}", "term", 2) for term in terms for sign in "+-")
        yield from (Change(f"{x} {sign} 1 / {name}", "term", 3) for sign in "+-")
        for other in scope.names:
            if other != name:
                yield from (Change(f"{x} {sign} len({other}) / {name}", "term", 3) for sign in "+-")
    yield from (Change(f"{x} {sign} {n}", "term", 2) for n in (1, 2) for sign in "+-")
    yield Change(f"1 - {factor}", "term", 2)
    yield Change(f"{x} + {editor.text(node)}.T", "term", 2)
    yield from (Change(f"{x} {sign} {in_product(piece)}", "term", 3) for piece in scope.forward.pieces for sign in "+-")


def product_rule(editor: Editor, node: Any) -> Iterator[Change]:
    """Yield the expression plus the second term of a product rule."""
    x, inner, scope, library = (
        editor.segment(node),
        editor.text(node, PRODUCT_PRECEDENCE),
        editor.scope,
        editor.scope.library,
    )
    called = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
    given = editor.segment(node.args[0]) if called and len(node.args) == 1 else ""
    mirrored = MIRRORED.sub(lambda found: f"(1 - {found[0]})" if found[0] in scope.names else found[0], x)
    for name in scope.names if library else ():
        yield Change(f"{x} + {name} * {inner} * (1 - {x})", "term", 3)
        density = f"{library}.exp(-({name}**2) / 2) / {library}.sqrt(2 * {library}.pi)"
        yield Change(f"{x} + {name} * {density}", "term", 3)
        yield Change(f"{x} + {scope.names[0]} * {name} * {density}", "term", 3)
        for slope in LIBRARY_SLOPES.get(called, ()) if given else ():
            yield Change(f"{x} + {name} * {slope.format(library, given)}", "term", 2)
    for slope in scope.forward.slopes:
        yield from (Change(f"{x} {sign} {in_product(slope)}", "term", 3) for sign in "+-")
        yield from (Change(f"{x} + {name} * {in_product(slope)}", "term", 3) for name in scope.names)
    for name in scope.names if scope.forward.whole else ():
        share = f"{in_product(scope.forward.whole)} / {name}"  # the other factor of a product
        yield from (Change(f"{x} + {share}", "term", 3), Change(f"{x} + {scope.names[0]} * {share}", "term", 3))
    if mirrored != x:
        yield from (Change(f"{x} {sign} {in_product(mirrored)}", "term", 3) for sign in "+-")


def projected_edits(editor: Editor, node: Any) -> Iterator[Change]:
    """Yield the expression without its mean, or its part along a name: paths through a mean, softmax or norm."""
    x, factor, inner, scope = (
        editor.segment(node),
        editor.text(node, PRODUCT_PRECEDENCE),
        editor.text(node),
        editor.scope,
    )
    yield from (Change(f"{x} - {inner}.mean({axis})", "projection", 2) for axis in ("", "-1, keepdims=True", "0"))
    for name in scope.names:
        yield Change(f"{x} - {name} * {inner}.sum()", "projection", 2)
        yield Change(f"{x} - {name} * {inner}.sum(-1, keepdims=True)", "projection", 2)
        yield Change(f"{x} - {name} * ({name} * {factor}).sum()", "projection", 3)
        along = f"- {name} * ({name} * {factor}).mean(-1, keepdims=True)"
        yield Change(f"{x} {along}", "projection", 3)
        yield Change(f"{x} - {inner}.mean(-1, keepdims=True) {along}", "projection", 3)
        yield Change(f"{x} - {name} * ({name} @ {in_product(x)}) / ({name} @ {name})", "projection", 3)
    yield from softmaxes(editor, node)


def softmaxes(editor: Editor, node: Any) -> Iterator[Change]:
    """Yield the expression with the path through the sum of a softmax."""
    x, inner, scope, library = editor.segment(node), editor.text(node), editor.scope, editor.scope.library
    match node:
        case ast.BinOp(left, ast.Mult(), ast.BinOp(ast.Constant(1), ast.Sub(), ast.Name(p))):  # g * p * (1 - p)
            rest = editor.segment(left)
            yield Change(f"{rest} - {p} * {editor.text(left)}.sum(-1, keepdims=True)", "projection", 2)
        case ast.BinOp(left, ast.Mult(), right):
            for side in (left, right):
                factor = editor.text(side, ATOM_PRECEDENCE)
                yield Change(f"{x} - {factor} * {inner}.sum(-1, keepdims=True)", "projection", 2)
    for name in scope.names:
        shares = [f"{helper}({name})" for helper in scope.helpers]
        shares += [f"{library}.exp({name}) / {library}.exp({name}).sum(-1, keepdims=True)"] if library else []
        for share in shares:
            yield Change(f"{x} - {share} * {inner}.sum(-1, keepdims=True)", "projection", 3)
            product = f"{editor.text(node, PRODUCT_PRECEDENCE)} * {in_product(share)}"
            yield Change(f"{product} - {share} * ({product}).sum(-1, keepdims=True)", "projection", 3)
