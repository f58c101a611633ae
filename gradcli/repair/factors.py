"""Edits that multiply or divide an expression, or change its shape: forgotten constants, factors, lengths and axes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .edits import PRODUCT_PRECEDENCE, UNARY_PRECEDENCE, Change, Editor, in_product

NAMED_CONSTANTS = ("{0}.log(10)", "{0}.log(2)", "{0}.pi", "(2 * {0}.pi)", "({0}.pi / 180)", "{0}.sqrt(2 * {0}.pi)")
FACTOR_FUNCTIONS = ("sign", "exp", "cos", "sin", "log")


def scaled_edits(editor: Editor, node: Any) -> Iterator[Change]:
    """Yield the expression with another sign, and times or over small numbers and those of the forward function."""
    x, factor = editor.text(node, UNARY_PRECEDENCE), editor.text(node, PRODUCT_PRECEDENCE)
    yield Change(f"-{x}", "sign")
    yield from (Change(f"{n} * {x}", "constant", 1) for n in (2, 3, 4))
    yield from (Change(f"{factor} / {n}", "constant", 1) for n in (2, 3, 4))
    for n in (f"{n:.12g}" for n in editor.scope.forward.numbers):
        yield from (Change(f"{n} * {x}", "constant", 1), Change(f"{factor} / {n}", "constant", 1))
        yield Change(f"{factor} / {n}**2", "constant", 2)
    yield Change(f"{editor.text(node)}**2", "power", 1)


def reshaped(editor: Editor, node: Any) -> Iterator[Change]:
    """Yield the expression transposed, reversed, summed, or with one more axis."""
    x = editor.text(node)
    yield Change(f"{x}.T", "transpose", 1)
    yield Change(f"{x}.swapaxes(-1, -2)", "transpose", 3)
    yield Change(editor.flipped(x), "reverse", 1)
    axes = ("0", "1", "-1", "")
    yield from (Change(f"{x}.{name}({axis})", "axis", 1) for name in ("sum", "mean") for axis in axes)
    yield Change(f"{x}[:, None]", "axis", 2)
    yield Change(f"{x}[..., None]", "axis", 3)


def multiplied(editor: Editor, node: Any) -> Iterator[Change]:
    """Yield the expression times or over a name, and over a length."""
    x, own = editor.text(node, PRODUCT_PRECEDENCE), editor.segment(node)
    count = "numel()" if editor.scope.library == "torch" else "size"
    for name in editor.scope.names:
        if name == own:
            continue
        yield from (Change(f"{x} / len({name})", "length", 1), Change(f"{x} / {name}.{count}", "length", 1))
        yield from (Change(f"{x} * {name}", "times", 1), Change(f"{x} / {name}", "times", 1))
        yield Change(f"{x} * len({name})", "length", 2)
        yield from (Change(f"{x} / {name}.shape[{axis}]", "length", 2) for axis in (0, 1))
        yield Change(f"{x} / {name}.shape[-1] ** 0.5", "length", 2)


def multiplied_by_functions(editor: Editor, node: Any) -> Iterator[Change]:
    """Yield the expression times functions of names, and times or over pieces of the forward function."""
    x, own, scope = editor.text(node, PRODUCT_PRECEDENCE), editor.segment(node), editor.scope
    for name in scope.names:
        yield from (Change(f"{x} / {name}**2", "times", 2), Change(f"{x} / (2 * {name})", "times", 2))
        yield from (Change(f"{x} * (1 - {name})", "times", 2), Change(f"{x} * (1 - {name}**2)", "times", 2))
        yield Change(f"{x} * ({name} > 0)", "mask", 2)
        yield from (Change(f"{x} {sign} {name}[:, None]", "times", 3) for sign in "*/")
        if scope.library:
            yield from (
                Change(f"{x} * {scope.library}.{function}({name})", "times", 3) for function in FACTOR_FUNCTIONS
            )
    yield Change(f"{x} * (1 - {own})", "times", 2)
    yield from (Change(f"{x} * {mask}", "mask", 2) for mask in scope.forward.masks)
    for piece in scope.forward.pieces:
        factor = in_product(piece)
        yield from (Change(f"{x} * {factor}", "times", 2), Change(f"{x} / {factor}", "times", 2))
        yield from (Change(f"{x} * (1 - {factor})", "times", 2), Change(f"{x} * (1 - {factor}**2)", "times", 2))
    for constant in NAMED_CONSTANTS if scope.library else ():
        text = constant.format(scope.library)
        yield from (Change(f"{x} * {text}", "constant", 3), Change(f"{x} / {text}", "constant", 3))


def wrapped_edits(editor: Editor, node: Any) -> Iterator[Change]:
    """Yield functions of the expression."""
    x, library, scope = editor.segment(node), editor.scope.library, editor.scope
    yield Change(f"1 / {editor.text(node, UNARY_PRECEDENCE)}", "times", 3)
    yield from (Change(f"{name}({x})", "function", 2) for name in scope.helpers)
    if not library:
        return
    for limit in ("1", *(f"{n:.12g}" for n in scope.forward.numbers), *scope.names):
        yield Change(f"{library}.clip({x}, -{limit}, {limit})", "mask", 3)
    names = ("sign", "sqrt", "abs", "exp", "log", "tanh", "cos", "sin", "conj")
    yield from (Change(f"{library}.{name}({x})", "function", 3) for name in names)
    for axis in (0, -1):
        yield Change(f"{library}.cumsum({x}, {axis})", "cumulative", 2)
    yield Change(f"{library}.cumsum({editor.text(node)}[::-1], 0)[::-1]", "cumulative", 2)
    for name in scope.names:
        order = f"{library}.argsort({library}.argsort({name}))"
        yield Change(f"{editor.text(node)}[{order}]", "index", 3)
