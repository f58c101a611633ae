"""Small edits of calls, indices, tuples and lists: other arguments, axes, modes, places and orders."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from typing import Any

from .edits import Change, Editor

SLICES = ("1:", ":-1", "1:-1", "2:", ":-2", ":")
AXIS_VALUES, AXIS_WORDS = ("0", "1", "-1"), ("axis", "dim")
REDUCTION_NAMES = ("sum", "mean", "max", "min")
ENDS = ("edge", "wrap", "reflect", "constant")
CONVOLVE_MODES = ("full", "same", "valid")
MOST_EXCHANGED = 6  # of tuples and lists in which each pair is exchanged: a choice


def structure(editor: Editor, node: Any) -> Iterator[Change]:
    """Yield other arguments of a call, other indices, and other orders of a tuple or list."""
    match node:
        case ast.Call():
            yield from call_edits(editor, node)
        case ast.Subscript(value, index):
            yield from subscript(editor, value, index)
        case ast.Tuple(elements) | ast.List(elements):
            text = editor.segment(node)
            is_bare = not text.startswith(("(", "["))
            for order in orders([editor.segment(x) for x in elements]):
                inside = ", ".join(order)
                yield Change(inside if is_bare else f"{text[0]}{inside}{text[-1]}", "order")
            if isinstance(node, ast.List) and not any(isinstance(x, ast.List) for x in elements):
                yield Change(f"[{', '.join(negated(editor, x) for x in elements)}]", "sign")


def orders(texts: list[str]) -> Iterator[list[str]]:
    """Yield a sequence with two elements exchanged, or moved by one place around."""
    for i, j in itertools.combinations(range(len(texts)), 2) if len(texts) <= MOST_EXCHANGED else ():
        swapped = list(texts)
        swapped[i], swapped[j] = texts[j], texts[i]
        yield swapped
    if len(texts) > 2:
        yield from (texts[1:] + texts[:1], texts[-1:] + texts[:-1])


def negated(editor: Editor, node: Any) -> str:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return editor.segment(node.operand)
    return f"-{editor.text(node, 2)}"


def call_edits(editor: Editor, node: ast.Call) -> Iterator[Change]:
    head, segment = editor.segment(node.func), editor.segment
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    given = [segment(x) for x in node.args]
    keywords = [f"{k.arg}={segment(k.value)}" for k in node.keywords if k.arg]
    if len(keywords) < len(node.keywords) or any(isinstance(x, ast.Starred) for x in node.args):
        return

    def again(args: list[str], more: list[str]) -> str:
        return f"{head}({', '.join([*args, *more])})"

    for k, keyword in enumerate(node.keywords):
        rest = [text for i, text in enumerate(keywords) if i != k]
        if keyword.arg in (*AXIS_WORDS, "keepdims", "keepdim"):
            yield Change(again(given, rest), "axis")
        if keyword.arg in AXIS_WORDS:
            yield from (Change(again(given, [*rest, f"{keyword.arg}={n}"]), "axis") for n in AXIS_VALUES)
    if isinstance(node.func, ast.Attribute) and head.rpartition(".")[0] != editor.scope.library:
        yield Change(segment(node.func.value), "axis", 1)  # a method that should not be called
    if len(given) == 1 and not keywords:
        yield Change(given[0], "function", 1)
    if len(given) == 2:
        yield Change(again(given[::-1], keywords), "order")
        yield from (Change(text, "mask", 2) for text in given)
    if len(given) == 3 and name == "where":
        yield Change(again([given[0], given[2], given[1]], keywords), "mask")
        yield from (Change(text, "mask", 1) for text in given[1:])
    yield from known_call(editor, name, node, again)


def known_call(editor: Editor, name: str, node: ast.Call, again: Any) -> Iterator[Change]:
    """Yield edits of calls with a meaning of their own. again: returns the call with other arguments."""
    given = [editor.segment(x) for x in node.args]
    keywords = [f"{k.arg}={editor.segment(k.value)}" for k in node.keywords]
    if name in REDUCTION_NAMES and not any(k.arg in AXIS_WORDS for k in node.keywords):
        for axis in AXIS_VALUES:
            yield Change(again(given, [f"axis={axis}", *keywords]), "axis")
            yield Change(again(given, [f"axis={axis}", "keepdims=True"]), "axis", 1)
    if name in ("dot", "matmul", "outer", "mm") and len(given) == 2:
        a, b = (editor.text(x) for x in node.args)
        pairs = ((f"{a}.T", b), (a, f"{b}.T"), (f"{b}.T", a), (b, f"{a}.T"), (f"{a}.T", f"{b}.T"))
        yield from (Change(again(list(pair), []), "transpose") for pair in pairs)
    if name == "cumsum":
        owner = editor.segment(node.func).rpartition(".")[0]
        if owner != editor.scope.library:
            inner = f"{editor.flipped(owner)}.cumsum({', '.join([*given, *keywords])})"
        elif given:
            inner = again([editor.flipped(editor.text(node.args[0])), *given[1:]], keywords)
            yield Change(given[0], "cumulative", 1)
        else:
            return
        yield Change(editor.flipped(inner), "cumulative")
    if name in ("convolve", "correlate") and len(given) >= 2:
        yield Change(again([given[0], f"{editor.text(node.args[1])}[::-1]", *given[2:]], keywords), "reverse")
        yield from (Change(again([*given[:2], f"'{mode}'"], []), "reverse", 1) for mode in CONVOLVE_MODES)
    if name == "pad" and len(given) >= 2:
        yield from (Change(again(given[:2], [f'mode="{end}"']), "index", 1) for end in ENDS)
    if name == "range" and len(given) == 1:
        n = given[0]
        texts = (again([f"{n} - 1"], []), again(["1", n], []), again([f"{n} + 1"], []), f"reversed({again([n], [])})")
        yield from (Change(text, "index", 1) for text in texts)
    if name == "einsum" and given and re.fullmatch(r"(['\"])[a-z, .]*->[a-z .]*\1", given[0]):
        yield from (Change(again([other, *given[1:]], keywords), "transpose") for other in other_indices(given[0]))


def other_indices(subscripts: str) -> Iterator[str]:
    """Yield the subscripts of an einsum with two neighbouring letters of one term exchanged."""
    for k in range(1, len(subscripts) - 2):
        pair = subscripts[k : k + 2]
        if pair.isalpha():
            yield subscripts[:k] + pair[::-1] + subscripts[k + 2 :]


def reversed_back(editor: Editor, value: Any, index: ast.Slice) -> Iterator[Change]:
    """Yield a call of a reversed argument, with its result reversed, as the call alone."""
    if editor.segment(index) == "::-1" and isinstance(value, ast.Call) and value.args:
        first, *rest = map(editor.segment, value.args)
        if first.endswith("[::-1]") and not value.keywords:
            inside = ", ".join([first.removesuffix("[::-1]"), *rest])
            yield Change(f"{editor.segment(value.func)}({inside})", "cumulative")


def subscript(editor: Editor, value: Any, index: Any) -> Iterator[Change]:
    base = editor.text(value)
    if isinstance(index, ast.Slice):
        yield from reversed_back(editor, value, index)
        yield from (Change(f"{base}[{text}]", "index", 1) for text in SLICES)
    elif isinstance(index, ast.Tuple) and all(isinstance(x, ast.Name | ast.Constant) for x in index.elts):
        texts = [editor.segment(x) for x in index.elts]
        if len(texts) == 2:
            yield Change(f"{base}[{texts[1]}, {texts[0]}]", "index")
    elif isinstance(index, ast.Name | ast.BinOp):
        text = editor.segment(index)
        yield from (Change(f"{base}[{text} {sign} 1]", "index") for sign in "+-")
    yield Change(editor.segment(value), "index", 1)
