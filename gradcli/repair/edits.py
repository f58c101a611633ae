"""Small edits of one expression: the mistakes that people make, undone."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from .forward import is_number_node
from .scope import EditScope

SWAPPED = {
    "sin": ("cos",), "cos": ("sin",), "sinh": ("cosh", "tanh"), "cosh": ("sinh",), "tan": ("cos",), "tanh": ("cosh",),
    "exp": ("log",), "log": ("exp", "log1p"), "log1p": ("log", "expm1"), "expm1": ("exp",), "sqrt": ("square",),
    "sum": ("mean",), "mean": ("sum",), "dot": ("outer",), "outer": ("dot",), "max": ("min",), "min": ("max",),
    "maximum": ("minimum",), "minimum": ("maximum",), "argmax": ("argmin",), "argmin": ("argmax",), "inner": ("outer",),
    "ones_like": ("zeros_like",), "zeros_like": ("ones_like",), "convolve": ("correlate",), "correlate": ("convolve",),
    "floor": ("round",), "abs": ("sign",), "sign": ("abs",), "arcsin": ("arccos",), "arccos": ("arcsin",),
    "tril": ("triu",), "triu": ("tril",), "var": ("std",), "std": ("var",), "asin": ("acos",), "acos": ("asin",),
}  # fmt: skip
"""Functions that are taken for each other."""
ATOMS = (ast.Name, ast.Call, ast.Attribute, ast.Subscript, ast.Constant, ast.List, ast.Tuple)
OPERATOR_LEVELS = {
    ast.Add: 1, ast.Sub: 1, ast.Mult: 2, ast.Div: 2, ast.MatMult: 2, ast.Mod: 2, ast.FloorDiv: 2, ast.Pow: 4,
}  # fmt: skip
PRODUCT_PRECEDENCE, UNARY_PRECEDENCE, ATOM_PRECEDENCE = 2, 3, 5


class Change(NamedTuple):
    """A new text for a piece of code. kind: what the edit does; tier: 0 for the likely edits, up to 3."""

    text: str
    kind: str
    tier: int = 0


def level_of(node: Any) -> int:
    """Return how strongly an expression binds: a sum least, a name most."""
    if isinstance(node, ast.BinOp):
        return OPERATOR_LEVELS.get(type(node.op), 0)
    if isinstance(node, ast.UnaryOp):
        return UNARY_PRECEDENCE if not isinstance(node.op, ast.Not) else 0
    return ATOM_PRECEDENCE if isinstance(node, ATOMS) else 0


def fitted(text: str, parent: Any, node: Any) -> str:
    """Return a new text for a node that is not in parentheses yet, in parentheses if its place needs them."""
    try:
        new = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return text
    own, least = level_of(new), 0
    match parent:
        case ast.BinOp(left, op, right):
            least = OPERATOR_LEVELS.get(type(op), 0)
            least += right is node and not isinstance(op, ast.Add | ast.Pow)
            least += left is node and isinstance(op, ast.Pow)
        case ast.UnaryOp():
            least = UNARY_PRECEDENCE
        case ast.Attribute() | ast.Subscript(value=_):
            least = ATOM_PRECEDENCE if getattr(parent, "value", None) is node else 0
        case ast.Compare():
            least = 1
    return f"({text})" if own < least else text


def in_product(piece: str) -> str:
    """Return a piece of code as a factor."""
    try:
        node = ast.parse(piece, mode="eval").body
    except SyntaxError:
        return f"({piece})"
    return piece if level_of(node) > UNARY_PRECEDENCE else f"({piece})"


@dataclass(frozen=True)
class Editor:
    """What edits of a function need. segment: returns the text of a node."""

    scope: EditScope
    segment: Callable[[Any], str]

    def flipped(self, text: str) -> str:
        """Return the text of an expression in reverse order; of a reversed one, the text of the original."""
        end = ".flip(0)" if self.scope.library == "torch" else "[::-1]"
        return text.removesuffix(end) if text.endswith(end) else text + end

    def text(self, node: Any, least: int = ATOM_PRECEDENCE) -> str:
        """Return the text of a node, in parentheses if it binds less than `least`."""
        text = self.segment(node)
        return f"({text})" if level_of(node) < least else text


def operator_edits(editor: Editor, node: Any) -> Iterator[Change]:
    """Yield other operators, signs, names, numbers, comparisons and functions in the place of those that are there."""
    segment, scope = editor.segment, editor.scope
    match node:
        case ast.BinOp(_, ast.Add() | ast.Sub(), _):
            yield from sums(editor, node)
        case ast.BinOp(_, ast.Mult() | ast.Div() | ast.FloorDiv(), _):
            yield from product_edits(editor, node)
        case ast.BinOp(_, ast.MatMult(), _):
            yield from matrix_product_edits(editor, node)
        case ast.BinOp(_, ast.Pow(), _):
            yield from power_edits(editor, node)
        case ast.UnaryOp(ast.USub(), operand):
            yield Change(segment(operand), "sign")
        case ast.Constant() if is_number_node(node):
            yield from constant_edits(editor, node.value)
        case ast.Name(name, ast.Load()):
            yield from (Change(other, "name") for other in scope.names if other != name)
        case ast.Attribute(value, name):
            if name in ("T", "mT"):
                yield Change(segment(value), "transpose")
            yield from (Change(f"{segment(value)}.{other}", "function") for other in SWAPPED.get(name, ()))
        case ast.Compare(left, [_], [right]):
            a, b = segment(left), segment(right)
            yield from (Change(f"{a} {sign} {b}", "mask") for sign in (">", "<", ">=", "<="))
            yield from (Change(mask, "mask", 1) for mask in scope.forward.masks)
        case ast.IfExp(test, body, other):
            yield Change(f"{segment(other)} if {segment(test)} else {segment(body)}", "mask")


def sums(editor: Editor, node: ast.BinOp) -> Iterator[Change]:
    a, b = editor.segment(node.left), editor.segment(node.right)
    x, y = editor.text(node.left, PRODUCT_PRECEDENCE), editor.text(node.right, PRODUCT_PRECEDENCE)
    is_sum = isinstance(node.op, ast.Add)
    yield Change(f"{a} - {y}" if is_sum else f"{a} + {b}", "sign")
    yield Change(a, "term")
    yield Change(b, "term")
    if not is_sum:
        yield Change(f"-{y}", "term")
    yield Change(f"{b} - {x}", "sign")


def product_edits(editor: Editor, node: ast.BinOp) -> Iterator[Change]:
    a, b = editor.segment(node.left), editor.segment(node.right)
    x, y = editor.text(node.left, PRODUCT_PRECEDENCE), editor.text(node.right, UNARY_PRECEDENCE)
    yield from (Change(editor.segment(left), "times", 1) for left in left_factors(node))
    yield Change(f"{x} / {y}" if isinstance(node.op, ast.Mult | ast.FloorDiv) else f"{x} * {y}", "times")
    yield from (Change(a, "times"), Change(b, "times"))
    yield Change(
        f"{editor.text(node.right, PRODUCT_PRECEDENCE)} / {editor.text(node.left, UNARY_PRECEDENCE)}", "times", 1
    )
    yield Change(f"{x} @ {y}", "order", 1)


def left_factors(node: ast.BinOp) -> Iterator[Any]:
    """Yield what is left of a product if several of its last factors are dropped."""
    inner = node.left
    while isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Mult | ast.Div):
        yield inner.left
        inner = inner.left


def matrix_product_edits(editor: Editor, node: ast.BinOp) -> Iterator[Change]:
    left = node.left
    if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mult) and isinstance(left.left, ast.Constant):
        yield from symmetric_sums(editor.text(left.right), editor.text(node.right))  # without a factor of 2
    a, b = editor.text(left), editor.text(node.right)
    ta, tb = transposed_text(a), transposed_text(b)
    orders = [f"{ta} @ {b}", f"{a} @ {tb}", f"{b} @ {a}", f"{tb} @ {a}", f"{b} @ {ta}", f"{ta} @ {tb}"]
    yield from (Change(order, "transpose") for order in [*orders, f"{tb} @ {ta}", f"({a} @ {b}).T"])
    yield from symmetric_sums(a, b)
    yield Change(f"{a} * {b}", "order", 1)
    if library := editor.scope.library:
        yield from (Change(f"{library}.outer({x}, {y})", "order", 1) for x, y in ((a, b), (b, a)))


def transposed_text(text: str) -> str:
    return text.removesuffix(".T") if text.endswith(".T") else f"{text}.T"


def symmetric_sums(a: str, b: str) -> Iterator[Change]:
    """Yield the derivatives of products in which a factor occurs twice."""
    ta, tb = transposed_text(a), transposed_text(b)
    sums = [f"({a} + {ta}) @ {b}", f"{a} @ ({b} + {tb})", f"{a} @ {b} + {ta} @ {b}", f"{a} @ {b} + {b} @ {a}"]
    yield from (Change(text, "term", 1) for text in [*sums, f"{a} @ {b} + {a} @ {tb}", f"{a} @ {b} + {tb} @ {ta}"])


def power_edits(editor: Editor, node: ast.BinOp) -> Iterator[Change]:
    base, exponent = editor.text(node.left), node.right
    if isinstance(exponent, ast.Constant) and is_number_node(exponent):
        p: Any = exponent.value
        yield from (Change(f"{base}**{n:g}", "power") for n in (p + 1, p - 1))
    else:
        yield from (Change(f"{base} ** ({editor.segment(exponent)} {sign} 1)", "power") for sign in "-+")
    yield Change(editor.segment(node.left), "power")


def constant_edits(editor: Editor, value: Any) -> Iterator[Change]:
    scope = editor.scope
    several = [value + 1, value - 1, 2 * value, value / 2, 3 * value, -value, 1 - value, value**2]
    several += [1 / value] if value else []
    for n in dict.fromkeys([*several, *scope.forward.numbers, *(-n for n in scope.forward.numbers)]):
        if n != value and abs(n) < 1e9:
            yield Change(f"{n:.12g}", "constant")
    yield from (Change(mask, "mask", 1) for mask in scope.forward.masks)
    for name in scope.names:
        yield Change(f"len({name})", "length", 2)
        yield from (Change(f"{value:.12g} {sign} {name}", "times", 1) for sign in "*/")
        if scope.library:
            sign = f"{scope.library}.sign({name})"
            yield Change(sign if value == 1 else f"{value:.12g} * {sign}", "times", 1)
