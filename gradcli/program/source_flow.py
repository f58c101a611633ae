"""Which names of a script get data from which, as far as its text tells: for numbers that no tensor carries."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator
from typing import Any

from ..errors import lines_of_file
from .user_lines import Place, is_users


class SourceFlow:
    """Which names of the user's files get data from which, statement by statement, whatever the order."""

    def __init__(self) -> None:
        self.files: dict[str, list[tuple[int, int, set[str], set[str]]]] = {}

    def statements(self, file: str) -> list[tuple[int, int, set[str], set[str]]]:
        """Return first and last line, names read and names written of each simple statement of a file."""
        if file not in self.files:
            self.files[file] = []
            with contextlib.suppress(SyntaxError, ValueError):
                tree = ast.parse("".join(lines_of_file(file)))
                functions = {n.name: n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
                self.files[file] = list(statements_of(tree, functions))
        return self.files[file]

    def leads(self, start: Place | None, end: Place | None) -> bool:
        """Return whether names may carry data from one line to another."""
        if start is None or end is None:
            return False
        every = [s for file in {start[0], end[0]} for s in self.statements(file)]
        here = [s for s in self.statements(start[0]) if s[0] <= start[1] <= s[1]]
        there = [s for s in self.statements(end[0]) if s[0] <= end[1] <= s[1]]
        if start[0] == end[0] and any(s in there for s in here):
            return True
        names = set().union(*(s[3] for s in here)) if here else set()
        while True:
            more = set().union(*(written for _, _, read, written in every if read & names)) - names
            if not more:
                return any(s[2] & names for s in there)
            names |= more


def statements_of(tree: ast.AST, functions: dict[str, Any], inside: str = "") -> Iterator[tuple]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from statements_of(node, functions, node.name)
        elif not isinstance(node, ast.stmt) or isinstance(node, ast.ClassDef | ast.If | ast.While | ast.With | ast.Try):
            yield from statements_of(node, functions, inside)
        else:
            parts = [node.target, node.iter] if isinstance(node, ast.For) else [node]
            read: set[str] = set()
            written = {inside} if isinstance(node, ast.Return) else set()
            for part in (inner for each in parts for inner in ast.walk(each)):
                if isinstance(part, ast.Name | ast.Attribute):
                    name = part.id if isinstance(part, ast.Name) else part.attr
                    (written if isinstance(part.ctx, ast.Store) else read).add(name)
                elif isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store):
                    written |= names_of(part.value)
                elif isinstance(part, ast.Call):
                    if isinstance(part.func, ast.Attribute):
                        written |= names_of(part.func.value)  # what append and its like change
                    if (function := functions.get(last_name(part.func))) is not None and (part.args or part.keywords):
                        written |= {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
            if isinstance(node, ast.AugAssign):
                read |= names_of(node.target)
            last = node.iter.end_lineno if isinstance(node, ast.For) else node.end_lineno
            yield node.lineno, last or node.lineno, read, written
            if isinstance(node, ast.For):
                yield from statements_of(ast.Module(node.body + node.orelse, []), functions, inside)


def names_of(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} | {
        n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)
    }


def last_name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def enclosing_block(place: Place | None) -> int | None:
    """Return the line of the `with`, or the decorator, that switches recording off around a line."""
    if place is None or not is_users(place[0]):
        return None
    with contextlib.suppress(SyntaxError, ValueError):
        tree, line = ast.parse("".join(lines_of_file(place[0]))), place[1]
        for node in ast.walk(tree):
            if isinstance(node, ast.With | ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0):
                heads = (
                    node.decorator_list if isinstance(node, ast.FunctionDef) else [i.context_expr for i in node.items]
                )
                for head in heads:
                    if names_of(head) & {"no_grad", "inference_mode", "set_grad_enabled"}:
                        return head.lineno
    return None
