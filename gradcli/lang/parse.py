"""Parse text into a tree. Python's own parser reads the text; only a few of its node types are allowed.

Python never evaluates anything. `^` is replaced by `**` before parsing; positions are mapped back, so that every error
points into the text that the user wrote.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import gc
import re
import sys
import threading
import warnings
from bisect import bisect_left
from collections.abc import Callable
from itertools import accumulate
from typing import Any

from ..errors import GradcliError, Span, did_you_mean
from . import tree
from .limits import MAX_PROGRAM_BYTES

MAX_NESTING = 200
BINARY_SYNTAX: dict[type, str] = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.Pow: "power",
    ast.FloorDiv: "floor_divide", ast.Mod: "remainder", ast.MatMult: "matmul",
    ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or",
    ast.Eq: "equal", ast.NotEq: "not_equal", ast.Lt: "less", ast.LtE: "less_equal",
    ast.Gt: "greater", ast.GtE: "greater_equal",
}  # fmt: skip
UNARY_SYNTAX = {ast.USub: "negative", ast.UAdd: "positive", ast.Invert: "invert", ast.Not: "logical_not"}
PROPERTIES = ("T", "mT", "H", "shape", "ndim", "size", "real", "imag")
NAMES_OF_NODES = {
    **dict.fromkeys(("Import", "ImportFrom"), "an import"),
    **dict.fromkeys(("ListComp", "GeneratorExp", "SetComp", "DictComp"), "a comprehension"),
    "For": "a loop", "While": "a loop", "With": "a with statement", "Lambda": "a lambda",
    "If": "an if statement (write `a if condition else b`)",
    "FunctionDef": "a function definition", "ClassDef": "a class definition", "Return": "return",
    "AnnAssign": "an annotated assignment", "NamedExpr": "an assignment inside an expression",
    "AugAssign": "an augmented assignment (write `x = x + 1`)",
    "JoinedStr": "a string", "Dict": "a dictionary", "Set": "a set", "Starred": "a starred argument",
    "BitXor": "the operator ^", "LShift": "the operator <<", "RShift": "the operator >>",
    "Is": "the operator `is`", "IsNot": "the operator `is not`",
    "In": "the operator `in`", "NotIn": "the operator `not in`",
}  # fmt: skip


@functools.cache
def converter_method(kind: Any) -> Callable[[Converter, Any, int], tree.Expr]:
    return getattr(Converter, f"_{kind.__name__.lower()}", Converter._unknown)


class NotInLanguageError(GradcliError):
    """Raised for text that is valid Python but not part of the expression language."""


def too_deep(span: Span | None) -> GradcliError:
    message = f"the expression is nested more than {MAX_NESTING} levels deep"
    return GradcliError(message, span=span, hint="assign parts of it to names, one per line: `a = ...`", kind="limit")


class ProgramText:
    """A program as the user wrote it, and as Python's parser reads it: without a margin, and with ** for ^.

    Maps Python's lines and byte columns to places in the user's text. origin: the file's name, for errors.
    """

    def __init__(self, source: str, origin: str | None):
        self.source, self.origin = source, origin
        text = source.replace("\r\n", " \n").replace("\r", "\n").replace("\f", " ").replace("\t", " ").rstrip()
        margin = text[: len(text) - len(text.lstrip())]
        self.lead = len(margin) if "\n" not in margin else 0
        self.prepared = text[self.lead :].replace("^", "**")
        self.ascii = self.prepared.isascii()
        self.lines = self.prepared.split("\n")
        self.starts = list(accumulate((len(line) + 1 for line in self.lines), initial=0))
        self.counts: dict[int, list[int]] = {}
        self.carets = [m.start() + shift for shift, m in enumerate(re.finditer(r"\^", source[self.lead :]))]

    def place(self, node: Any) -> tuple[int, int]:
        if self.ascii and not self.carets:
            lead, starts = self.lead, self.starts
            start, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
            return lead + start, lead + end
        return self.from_bytes(node.lineno, node.col_offset), self.from_bytes(node.end_lineno, node.end_col_offset)

    def from_bytes(self, line: int, column: int) -> int:
        """Map a line (from 1) and a byte column (from 0) to the user's text."""
        if not self.ascii:
            counts = self.characters(line - 1)
            column = counts[min(column, len(counts) - 1)]
        return self.from_prepared(line, column)

    def from_prepared(self, line: int, column: int) -> int:
        """Map a line (from 1) and a column of characters (from 0) to the user's text."""
        place = self.starts[min(line, len(self.lines)) - 1] + column
        return min(self.lead + place - bisect_left(self.carets, place), len(self.source))

    def characters(self, row: int) -> list[int]:
        """Return the number of characters of a line before each of its bytes, and before its end."""
        if row not in self.counts:
            begins = (byte & 0xC0 != 0x80 for byte in self.lines[row].encode())
            self.counts[row] = list(accumulate(begins, initial=0))
        return self.counts[row]

    def span(self, start: int, end: int) -> Span:
        return Span(self.source, start, end, self.origin)


class Converter:
    """Converts Python's nodes to ours. Raises NotInLanguageError for node types that are not listed here."""

    def __init__(self, text: ProgramText):
        self.text, self.place = text, text.place
        self.indices: set[int] = set()  # the nodes that are an index, or an item of one

    def refuse(self, node: Any, what: str | None = None, hint: str | None = None) -> NotInLanguageError:
        kind = type(node).__name__
        what = what or NAMES_OF_NODES.get(kind, f"`{kind}`")
        span = self.text.span(*self.place(node)) if hasattr(node, "lineno") else None
        return NotInLanguageError(f"{what} is not part of the expression language", span=span, hint=hint, kind="syntax")

    def statement(self, node: ast.stmt) -> tree.Statement:
        """Convert a statement: `name = expr`, `name[index] = expr`, or an expression."""
        if isinstance(node, ast.Expr):
            return tree.Statement(self.expression(node.value), None, (0, 0), None)
        if not isinstance(node, ast.Assign):
            raise self.refuse(node)
        if len(node.targets) != 1:
            raise self.refuse(node, "an assignment to several names", "write one assignment per line")
        target = node.targets[0]
        if isinstance(target, ast.Name):
            return tree.Statement(self.expression(node.value), target.id, self.place(target), None)
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            index = self.index(target.slice)
            return tree.Statement(self.expression(node.value), target.value.id, self.place(target.value), index)
        raise self.refuse(target, "this kind of assignment", "assign to a name, or to its elements: `n[0] = x`")

    def expression(self, node: ast.expr, depth: int = 0) -> tree.Expr:
        """Convert an expression. Chains such as a + b + c are followed in a loop, not by recursion."""
        if depth > MAX_NESTING:
            raise too_deep(self.text.span(*self.place(node)))
        chain: list[ast.BinOp] = []
        while isinstance(node, ast.BinOp):
            chain.append(node)
            node = node.left
        kind: Any = type(node)
        left = converter_method(kind)(self, node, depth + 1)
        for link in reversed(chain):
            op = BINARY_SYNTAX.get(type(link.op))
            if op is None:
                raise self.refuse(link, NAMES_OF_NODES.get(type(link.op).__name__))
            right = self.expression(link.right, depth + 1)
            left = tree.Binary(*self.place(link), op, left, right)
        return left

    def _unknown(self, node: Any, depth: int) -> tree.Expr:
        raise self.refuse(node)

    def _constant(self, node: ast.Constant, depth: int) -> tree.Expr:
        value = node.value
        if value is Ellipsis and id(node) not in self.indices:
            raise self.refuse(node, "... outside an index", "write an index such as x[..., 0]")
        if isinstance(value, bool) or value is None or value is Ellipsis:
            return tree.Constant(*self.place(node), value)
        if isinstance(value, int | float):
            try:
                return tree.Number(*self.place(node), float(value))
            except OverflowError:
                message, span = "this number is too large for a float", self.text.span(*self.place(node))
                raise GradcliError(message, span=span, hint="the largest is about 1.8e308", kind="value") from None
        if isinstance(value, complex):
            return tree.Number(*self.place(node), value)
        raise self.refuse(node, "a string")

    def _name(self, node: ast.Name, depth: int) -> tree.Expr:
        return tree.Name(*self.place(node), node.id)

    def _unaryop(self, node: ast.UnaryOp, depth: int) -> tree.Expr:
        return tree.Unary(*self.place(node), UNARY_SYNTAX[type(node.op)], self.expression(node.operand, depth))

    def _boolop(self, node: ast.BoolOp, depth: int) -> tree.Expr:
        op = "logical_and" if isinstance(node.op, ast.And) else "logical_or"
        operands = [self.expression(value, depth) for value in node.values]
        return functools.reduce(lambda x, y: tree.Binary(x.start, y.end, op, x, y), operands)

    def _compare(self, node: ast.Compare, depth: int) -> tree.Expr:
        operands = [self.expression(x, depth) for x in (node.left, *node.comparators)]
        pairs: list[tree.Expr] = []
        for x, y, op in zip(operands, operands[1:], node.ops, strict=False):
            if type(op) not in BINARY_SYNTAX:
                raise self.refuse(node, NAMES_OF_NODES.get(type(op).__name__))
            pairs.append(tree.Binary(x.start, y.end, BINARY_SYNTAX[type(op)], x, y))
        return functools.reduce(lambda x, y: tree.Binary(x.start, y.end, "logical_and", x, y), pairs)

    def _ifexp(self, node: ast.IfExp, depth: int) -> tree.Expr:
        parts = [self.expression(x, depth) for x in (node.test, node.body, node.orelse)]
        return tree.Choice(*self.place(node), *parts)

    def _sequence(self, node: ast.List | ast.Tuple, depth: int) -> tree.Expr:
        items = tuple(self.expression(x, depth) for x in node.elts)
        return tree.Sequence(*self.place(node), items, isinstance(node, ast.List))

    _list = _tuple = _sequence

    def _subscript(self, node: ast.Subscript, depth: int) -> tree.Expr:
        return tree.Item(*self.place(node), self.expression(node.value, depth), self.index(node.slice, depth))

    def index(self, node: ast.expr, depth: int = 0) -> tree.Expr:
        self.indices.update(map(id, node.elts if isinstance(node, ast.Tuple) else [node]))
        return self.expression(node, depth)

    def _slice(self, node: ast.Slice, depth: int) -> tree.Expr:
        parts = (None if x is None else self.expression(x, depth) for x in (node.lower, node.upper, node.step))
        return tree.Slice(*self.place(node), *parts)

    def _attribute(self, node: ast.Attribute, depth: int) -> tree.Expr:
        if node.attr not in PROPERTIES:
            from .reword import module_hint

            message = f"unknown attribute '{node.attr}'"
            module = module_hint(getattr(node.value, "id", ""), self.text.source)
            hint = module or did_you_mean(node.attr, PROPERTIES) or f"the attributes are {', '.join(PROPERTIES)}"
            raise NotInLanguageError(message, span=self.text.span(*self.end_of(node)), hint=hint, kind="name")
        return tree.Property(*self.place(node), node.attr, self.expression(node.value, depth))

    def _call(self, node: ast.Call, depth: int) -> tree.Expr:
        args = tuple(self.expression(x, depth) for x in node.args)
        named = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.refuse(node, "a starred argument")
            if keyword.arg in named:
                message, span = f"'{keyword.arg}' is given twice", self.text.span(*self.place(keyword))
                raise GradcliError(message, span=span, hint="leave out one of them", kind="syntax")
            named[keyword.arg] = self.expression(keyword.value, depth)
        start, end = self.place(node)
        if isinstance(node.func, ast.Name):
            return tree.Call(start, end, node.func.id, self.place(node.func), args, named)
        if isinstance(node.func, ast.Attribute):
            owner = self.expression(node.func.value, depth)
            return tree.Call(start, end, node.func.attr, self.end_of(node.func), (owner, *args), named)
        from .reword import called_number_hint

        what = "calling a number" if isinstance(node.func, ast.Constant) else "calling this"
        raise self.refuse(node.func, what, called_number_hint(self.text.source[: self.place(node.func)[0]]))

    def end_of(self, node: ast.Attribute) -> tuple[int, int]:
        """Return the start and end of the name after the dot."""
        stop = self.place(node)[1]
        return stop - len(node.attr), stop


LARGE_TEXT = 1 << 16  # longer texts are parsed with the larger stack right away


def parse(source: str, origin: str | None = None) -> tree.ParsedProgram:
    """Parse a program: statements on separate lines or separated by semicolons.

    origin: the file's name, for errors. Raises GradcliError for text that is too long or too deeply nested, that is
    not valid Python, or that uses more of Python than the language has.
    """
    check_size(source, origin)
    enabled = gc.isenabled()
    gc.disable()  # a tree has no cycles, and the collector would walk a large one again and again
    try:
        text = ProgramText(source, origin)
        converter = Converter(text)
        statements = [converter.statement(node) for node in parse_by_python(text).body]
    finally:
        if enabled:
            gc.enable()
    if not statements:
        raise GradcliError("the program is empty", hint="write an expression such as 'x**2 * sin(y)'", kind="syntax")
    return tree.ParsedProgram(source, statements, origin)


def check_size(source: str, origin: str | None) -> None:
    size = len(source) if source.isascii() else len(source.encode(errors="surrogatepass"))
    if size > MAX_PROGRAM_BYTES:
        message = f"the program has {size} bytes; the limit is {MAX_PROGRAM_BYTES} (1 MiB)"
        raise GradcliError(message, kind="limit", hint="split it into several files")
    if "\0" in source:
        where = source.index("\0")
        message = "the program contains a NUL character; is it a binary file?"
        raise GradcliError(message, span=Span(source, where, where, origin), kind="syntax")


MIDDLE_DOT = re.compile("^[^#\n]*?([·\u0387\u30fb\uff65])", re.M)


def parse_by_python(text: ProgramText) -> Any:
    """Return Python's tree. Use a larger stack if needed: a sum of many terms is a deep tree."""

    def attempt() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text.prepared, filename=text.origin or "<expression>")

    dot = None if text.ascii or (text.origin or "").endswith(".py") else MIDDLE_DOT.search(text.prepared)
    if dot is not None:  # Python takes it for a letter
        from .reword import SIGN_HINTS

        start = text.from_prepared(1, dot.start(1))
        message = f"invalid character '{dot[1]}' (U+{ord(dot[1]):04X})"
        raise GradcliError(message, span=text.span(start, start + 1), hint=SIGN_HINTS["·"], kind="syntax")
    try:
        if len(text.prepared) < LARGE_TEXT:
            with contextlib.suppress(RecursionError, MemoryError):
                return attempt()
        return with_large_stack(attempt)
    except SyntaxError as error:
        raise syntax_error(error, text) from None
    except (RecursionError, MemoryError):
        raise too_deep(None) from None
    except ValueError as error:
        raise GradcliError(f"the program cannot be read: {error}", kind="syntax") from None


def with_large_stack(function: Callable[[], Any]) -> Any:
    """Run a function in a thread with room for deep recursion; in this thread, if there can be no such thread."""
    from concurrent.futures import ThreadPoolExecutor

    limit, size = sys.getrecursionlimit(), threading.stack_size(512 << 20)
    sys.setrecursionlimit(1_000_000)
    try:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(function).result()
    except RecursionError as failure:
        raise MemoryError from failure
    except RuntimeError:
        sys.setrecursionlimit(limit)
        return function()
    finally:
        threading.stack_size(size)
        sys.setrecursionlimit(limit)


def syntax_error(error: SyntaxError, text: ProgramText) -> GradcliError:
    from .reword import keyword_as_name, syntax_hint

    line = error.lineno or 1
    word = keyword_as_name(text.prepared, line) if len(text.prepared) < LARGE_TEXT else None
    if word is not None:
        start = text.from_prepared(1, word.start())
        message = f"'{word.group()}' is a Python keyword, which cannot be a name"
        advice = f"use another name, such as {'lam' if word.group() == 'lambda' else word.group() + '_'}"
        return GradcliError(message, span=text.span(start, start + len(word.group())), hint=advice, kind="syntax")
    message = (error.msg or "invalid syntax").removeprefix("invalid syntax. ").rstrip(".")
    message = {
        "Perhaps you forgot a comma?": "invalid syntax; perhaps an operator or a comma is missing",
        "unexpected EOF while parsing": "the expression is incomplete",
        "illegal target for annotation": "a range is not a value here",
    }.get(message, message)
    if "integer string conversion" in message:
        message = "a number has too many digits"
    is_python = (text.origin or "").endswith(".py")  # hints for formulas do not fit a script
    if message.startswith("cannot assign to") and not is_python:
        message = "the left side of = must be a name"

    def place(offset: int | None) -> int:
        width = len(text.lines[min(line, len(text.lines)) - 1])
        return text.from_prepared(line, min(max((offset or 1) - 1, 0), width))

    start = place(error.offset)
    if "too many nested parentheses" in message or "too many levels" in message:
        return too_deep(text.span(start, start + 1))
    same_line = error.end_lineno in (None, error.lineno)
    end = place(error.end_offset) if error.end_offset and error.end_offset > 0 and same_line else start + 1
    hint = None if is_python else syntax_hint(message, text.source, start)
    if message == "invalid syntax" and start >= len(text.source.rstrip()):
        message, hint = "the expression is incomplete", None
    return GradcliError(message, span=text.span(start, end), hint=hint, kind="syntax")
