"""The text of a user's function in its file, and changes of that text."""

from __future__ import annotations

import ast
import inspect
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from ..errors import GradcliError
from .tracebacks import is_users


def own_nodes(scope: ast.AST) -> Iterator[Any]:
    """Yield the nodes of a module, class or function, but not those inside its functions and classes."""
    for node in ast.iter_child_nodes(scope):
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from own_nodes(node)


def walk_code(node: ast.AST) -> Iterator[Any]:
    """Yield the nodes of code that computes, without annotations, f-strings, raise and assert."""
    yield node
    for field, value in ast.iter_fields(node):
        if field not in ("annotation", "returns", "decorator_list", "type_comment"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr | ast.Raise | ast.Assert):
                    yield from walk_code(child)


class Edit(NamedTuple):
    """A piece of text to replace: offsets in characters, and the new text."""

    start: int
    end: int
    text: str


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """Return a text with its pieces replaced; they must not overlap."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


@dataclass(frozen=True)
class FunctionSource:
    """A function and its definition. file, text: the file and its whole text; node: the definition in it.

    starts: the offset of each line. function: the plain function, without decorators.
    """

    function: FunctionType
    file: str
    text: str
    node: ast.FunctionDef
    starts: tuple[int, ...]

    def span(self, node: Any) -> tuple[int, int]:
        """Return the offsets of a node's text, in characters; ast counts bytes."""
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def offset(self, line: int, column: int) -> int:
        start = self.starts[line - 1]
        end = self.starts[line] if line < len(self.starts) else len(self.text)
        return start + len(self.text[start:end].encode()[:column].decode())

    def segment(self, node: Any) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def compile(self, edits: Sequence[Edit]) -> CodeType:
        """Return the function's code after edits of its text. Raises SyntaxError and ValueError."""
        start, end = self.definition
        inside = [Edit(e.start - start, e.end - start, e.text) for e in edits]
        definition = apply_edits(self.text[start:end], inside)
        free, depth = self.function.__code__.co_freevars, self.node.col_offset
        outer = f"def _outer({', '.join(free)}):\n" if free else "if 1:\n" if depth else ""
        first = self.node.body[0]
        used = ", ".join(free)  # in code that never runs, so that the closure keeps its variables
        if free and first.lineno > self.node.lineno:
            definition += f"\n{self.text[self.starts[first.lineno - 1] : self.span(first)[0]]}if 0: {used},"
        elif free:
            definition += f"; {used},"
        source = "\n" * (self.node.lineno - 1 - bool(outer)) + outer + " " * depth + definition
        flags = self.function.__code__.co_flags & FUTURE_FLAGS
        module = compile(source, self.file, "exec", flags=flags, dont_inherit=True)
        return code_named(module, self.node.name)

    @property
    def definition(self) -> tuple[int, int]:
        """The offsets of the definition, without its decorators."""
        return self.span(self.node)


FUTURE_FLAGS = 0x1FE0000  # the bits of code flags that stand for `from __future__ import ...`


def code_named(code: CodeType, name: str) -> CodeType:
    """Return the code of a function defined in other code. Raises ValueError if there is none."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_name == name:
                return constant
            if constant.co_name == "_outer":
                return code_named(constant, name)
    raise ValueError(name)


def source_of(function: Callable, title: str) -> FunctionSource:
    """Return the definition of a function in its file. Raises GradcliError if it has none that can be edited."""
    plain = inspect.unwrap(getattr(function, "__func__", function))
    code = getattr(plain, "__code__", None)
    if not isinstance(plain, FunctionType) or not isinstance(code, CodeType):
        raise GradcliError(f"{title} is not a Python function with a source", kind="target")
    if not os.path.isfile(code.co_filename) or not is_users(code.co_filename):
        raise GradcliError(f"{title} has no source file", hint="put it into a .py file", kind="file")
    if plain.__name__ == "<lambda>":
        raise GradcliError(f"{title} is a lambda", hint="write it as a def, which can be edited", kind="target")
    text = read_code(code.co_filename)
    node = definition_at(text, code, title)
    starts = tuple(python_line_starts(text))
    now = next(codes_in(compile(text, code.co_filename, "exec", dont_inherit=True), code), None)
    if now is None or without_places(now) != without_places(code):
        message = f"{code.co_filename} changed after {title} was loaded"
        raise GradcliError(message, hint="run the command again", kind="file")
    return FunctionSource(plain, code.co_filename, text, node, starts)


def codes_in(whole: CodeType, like: CodeType) -> Iterator[CodeType]:
    """Yield the code, inside that of a file, that has the name and the first line of a function's code."""
    for constant in whole.co_consts:
        if isinstance(constant, CodeType):
            if (constant.co_name, constant.co_firstlineno) == (like.co_name, like.co_firstlineno):
                yield constant
            yield from codes_in(constant, like)


def read_code(path: str) -> str:
    """Return the text of a file with its own line ends. Raises GradcliError."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, UnicodeError) as error:
        raise GradcliError(f"cannot read {path}: {error}", kind="file") from None


def python_line_starts(text: str) -> Iterator[int]:
    """Yield the offset at which each line begins, for the line ends that Python knows."""
    yield 0
    for place, letter in enumerate(text):
        if letter == "\n" or (letter == "\r" and text[place + 1 : place + 2] != "\n"):
            yield place + 1


def definition_at(text: str, code: CodeType, title: str) -> ast.FunctionDef:
    """Return the definition to which code belongs, by its name and its first line. Raises GradcliError."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise GradcliError(f"{code.co_filename} cannot be parsed: {error}", kind="file") from None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first == code.co_firstlineno:
                return node
    message = f"{code.co_filename} has no definition of {title} in line {code.co_firstlineno}"
    raise GradcliError(message, hint="run the command again if the file changed in the meantime", kind="file")


def without_places(code: CodeType) -> tuple:
    """Return what code computes, without its positions in the file."""
    inner = tuple(without_places(x) if isinstance(x, CodeType) else repr(x) for x in code.co_consts)
    return code.co_code, inner, code.co_names, code.co_varnames, code.co_freevars
