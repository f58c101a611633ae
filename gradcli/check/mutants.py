"""Wrong versions of a function: its results changed, or a piece of its source."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..errors import GradcliError, did_you_mean

HOST = '__import__("gradcli_mutant_host")'
DIGITS = 12
MOST_MUTANTS = 300
"""Mutants of the source; of more, every n-th."""


class Mutant(NamedTuple):
    """A wrong version. kind: how results are changed; None for a change of the source, which stands at `line`."""

    name: str
    source: str
    kind: str | None = None
    line: int | None = None
    relative_error: float | None = None


class SourceFunction:
    """A function in the text of its file: FunctionDef, or a name that is bound to a lambda."""

    def __init__(self, source: str, names: Sequence[str], path: str):
        self.source, self.names, self.raw = source, list(names), source.encode()
        try:
            self.tree = ast.parse(source)
        except (SyntaxError, ValueError) as error:
            raise GradcliError(f"{path} cannot be parsed: {error}", kind="file") from None
        self.starts = [0]
        for row in self.raw.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(row))
        scope: Any = self.tree
        for k, name in enumerate(names):
            definitions = [node for node in members(scope) if defines(node, name, last=k == len(names) - 1)]
            if not definitions:
                known = [n.name for n in members(scope) if isinstance(n, ast.FunctionDef | ast.ClassDef)]
                raise GradcliError(
                    f"{path} defines no function '{'.'.join(names)}'",
                    hint=did_you_mean(name, known) or "mutants are made of a function's own source",
                    kind="name",
                )
            scope = definitions[-1]
        is_assigned = isinstance(scope, ast.Assign | ast.AnnAssign)
        self.node: Any = scope.value if is_assigned else scope
        self.is_lambda = isinstance(self.node, ast.Lambda)
        decorators = getattr(self.node, "decorator_list", [])
        self.line: int = min([self.node.lineno, *(d.lineno for d in decorators)])
        self.code_names = [*names[:-1], "<lambda>" if self.is_lambda else names[-1]]

    def at(self, node: ast.AST) -> tuple[int, int]:
        """Return where a piece of the text begins and ends, in bytes."""
        begin = self.starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        return begin, self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def text(self, node: ast.AST) -> str:
        begin, end = self.at(node)
        return self.raw[begin:end].decode()

    def with_edits(self, edits: list[tuple[int, int, str]]) -> str:
        raw = self.raw
        for begin, end, new in sorted(edits, reverse=True):
            raw = raw[:begin] + new.encode() + raw[end:]
        return raw.decode()

    def at_entry(self, statement: str) -> tuple[int, int, str]:
        """Return the edit that puts a statement before the first one, or an expression before that of a lambda."""
        if self.is_lambda:
            begin, end = self.at(self.node.body)
            return begin, end, f"({statement}, ({self.text(self.node.body)}))[1]"
        first = self.node.body[0]
        begin = self.at(min([first, *getattr(first, "decorator_list", [])], key=lambda n: n.lineno))[0]
        line = self.raw[self.starts[first.lineno - 1] : begin].decode()
        return begin, begin, f"{statement}; " if line.strip() else f"{statement}\n{line}"

    def recording(self) -> str:
        """Return the text whose function notes its arguments."""
        return self.with_edits([self.at_entry(f"{HOST}.enter(locals())")])

    def numeric(self) -> str:
        """Return the text whose function has its results changed by the host."""
        body = [self.node.body] if self.is_lambda else [r.value for r in returns(self.node) if r.value is not None]
        edits = [(*self.at(value), f"{HOST}.apply(({self.text(value)}))") for value in body]
        return self.with_edits(edits)


def members(scope: ast.AST) -> Iterator[Any]:
    """Yield the definitions of a module or class, also those inside its if, try and with."""
    for node in ast.iter_child_nodes(scope):
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from members(node)


def defines(node: Any, name: str, last: bool) -> bool:
    """Return whether a statement defines a class of a name, or, at the end, a function."""
    if not last:
        return isinstance(node, ast.ClassDef) and node.name == name
    if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Lambda):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return any(isinstance(t, ast.Name) and t.id == name for t in targets)
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name


def returns(node: ast.AST) -> Iterator[ast.Return]:
    """Yield the returns of a function, not those of functions inside it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Return):
            yield child
        elif not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from returns(child)


def numeric_mutants(function: SourceFunction) -> Iterator[Mutant]:
    source = function.numeric()
    for k in range(1, DIGITS + 1):
        yield Mutant(f"factor 1+1e-{k:02d}", source, f"factor {k}", relative_error=10.0**-k)
    for name, kind in (
        ("sign", "sign"),
        ("zero", "zero"),
        ("shift by one", "shift"),
        ("last element dropped", "last"),
        ("transposition", "transpose"),
        ("one element doubled", "element"),
    ):
        yield Mutant(name, source, kind)


def source_mutants(function: SourceFunction) -> list[Mutant]:
    mutants: dict[str, Mutant] = {}
    body = [function.node.body] if function.is_lambda else function.node.body
    for node in (n for part in body for n in walk_code(part)):
        for new in changes(function, node):
            begin, end = function.at(node)
            text = function.with_edits([(begin, end, new)])
            try:
                compile(text, "mutant", "exec", dont_inherit=True)
            except (SyntaxError, ValueError):
                continue
            line = node.lineno
            name = f"line {line}: {shorten(function.text(node))} -> {shorten(new)}"
            mutants.setdefault(text, Mutant(name, text, line=line))
    step = -(-len(mutants) // MOST_MUTANTS) if mutants else 1
    return list(mutants.values())[::step]


def walk_code(node: ast.AST) -> Iterator[Any]:
    """Yield the nodes of code that computes: no annotations, no text with values in it."""
    yield node
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_comment"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr | ast.Raise | ast.Assert):
                yield from walk_code(child)


def shorten(text: str) -> str:
    """Return code on one line, without parentheses around it, and not long."""
    for whole in (text, f"({text}\n)"):
        with contextlib.suppress(SyntaxError):
            text = ast.unparse(ast.parse(whole))
            break
    text = " ".join(text.split())
    return text if len(text) <= 48 else text[:47] + "…"


def changes(function: SourceFunction, node: Any) -> Iterator[str]:
    """Yield what may stand for a piece of code: a term or factor less, another sign, an index or constant moved."""
    if isinstance(node, ast.BinOp):
        left, right = f"({function.text(node.left)})", f"({function.text(node.right)})"
        if isinstance(node.op, ast.Add | ast.Sub):
            minus = "-" if isinstance(node.op, ast.Sub) else ""
            other = "+" if minus else "-"
            yield from (left, f"({minus}{right})", f"({left} {other} {right})", f"(-{left} {minus or '+'} {right})")
        elif isinstance(node.op, ast.Mult):
            yield from (left, right)
        elif isinstance(node.op, ast.Div):
            yield left
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield f"({function.text(node.operand)})"
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        yield repr(node.value + 1)
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div):
        target, value = function.text(node.target), function.text(node.value)
        if isinstance(node.op, ast.Add | ast.Sub):
            yield f"{target} {'-' if isinstance(node.op, ast.Add) else '+'}= {value}"
        yield "pass"
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name | ast.Tuple):
        raw = function.text(node.slice).encode()
        for part in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
            if isinstance(part, ast.Name):
                end = function.at(part)[1] - function.at(node.slice)[0]
                yield f"{function.text(node.value)}[{raw[:end].decode()} - 1{raw[end:].decode()}]"
