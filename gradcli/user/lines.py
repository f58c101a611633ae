"""Lines of the user's code: which are running, and which pass data to others according to their text."""

from __future__ import annotations

import ast
import contextlib
import functools
import itertools
import os
import re
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..errors import lines_of_file
from .tracebacks import is_users

LinePlace = tuple[str, int]  # file and line
CallChain = tuple[tuple[LinePlace, str], ...]  # the call stack, innermost line first, each with its function
CHECKPOINT = os.path.join("torch", "utils", "checkpoint.py")


def is_users_object(x: Any) -> bool:
    """Report whether an object's class is the user's; the script's module may be gone from sys.modules."""
    name = type(x).__module__
    file = getattr(sys.modules.get(name), "__file__", None) or "<"
    return hasattr(x, "__dict__") and not isinstance(x, type) and (name == "__main__" or is_users(file))


def users_stack() -> Iterator[Any]:
    """Yield the frames of the user's code in the call stack, innermost first."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            yield frame
        frame = frame.f_back


def users_chain(most: int | None = None) -> CallChain:
    frames = itertools.islice(users_stack(), most)
    return tuple([((f.f_code.co_filename, f.f_lineno), f.f_code.co_name) for f in frames])


class UsersExpression(NamedTuple):
    """An expression of the user's code: where it begins, and its text."""

    file: str
    line: int
    text: str


def users_call() -> tuple[Any, Any] | None:
    """Return the innermost frame of the user's code, and the frame of the function that it calls."""
    called: Any = None
    frame: Any = sys._getframe(1)
    while frame is not None and not is_users(frame.f_code.co_filename):
        called, frame = frame, frame.f_back
    return None if frame is None else (frame, called)


def running_expression(frame: Any) -> UsersExpression:
    """Return the expression of a frame that is running."""
    file, lines = frame.f_code.co_filename, lines_of_file(frame.f_code.co_filename)
    first, last, start, end = next(itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
    if first is None or last is None or start is None or end is None:  # Python runs with -X no_debug_ranges
        return UsersExpression(file, frame.f_lineno, "".join(lines[frame.f_lineno - 1 : frame.f_lineno]).strip())
    node = ast.Pass(lineno=1, end_lineno=last - first + 1, col_offset=start, end_col_offset=end)
    return UsersExpression(file, first, ast.get_source_segment("".join(lines[first - 1 : last]), node) or "")


def place_of_checkpoint() -> LinePlace | None:
    """Return the user's line that called torch.utils.checkpoint, if the current code runs inside it."""
    frame: Any = sys._getframe(1) if "torch.utils.checkpoint" in sys.modules else None
    while frame is not None and not frame.f_code.co_filename.endswith(CHECKPOINT):
        frame = frame.f_back
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return frame and (frame.f_code.co_filename, frame.f_lineno)


def name_at(place: LinePlace | None) -> str:
    """Return the name of the tensor whose `.grad` a line reads, as written there."""
    line = "".join(lines_of_file(place[0])[place[1] - 1 : place[1]]) if place else ""
    found = re.search(r"([A-Za-z_][\w.]*(?:\[[\w'\"]*\])?(?:\.[\w.]+)?)\.grad\b(?!\()", line)
    return found[1] if found else f"tensor@line {place[1] if place else 0}"


@functools.cache
def carries(start: LinePlace, end: LinePlace) -> bool:
    """Report whether names may carry data from one line to another, whatever the order of statements."""
    every = [s for file in {start[0], end[0]} for s in statements(file)]
    here, there = ([s for s in statements(file) if s[0] <= line <= s[1]] for file, line in (start, end))
    if start[0] == end[0] and any(s in there for s in here):
        return True
    names = set().union(*(written for _, _, _, written in here))
    while more := set().union(*(written for _, _, read, written in every if read & names)) - names:
        names |= more
    return any(read & names for _, _, read, _ in there)


@functools.cache
def statements(file: str) -> list[tuple[int, int, set[str], set[str]]]:
    """Return the first and last line of each statement in a file, the names it reads, and the names it writes."""
    found: list = []
    with contextlib.suppress(SyntaxError, ValueError):
        tree = ast.parse("".join(lines_of_file(file)))
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        arguments = {f.name: {a.arg for a in (*f.args.args, *f.args.kwonlyargs)} for f in functions}
        returned = {node: f.name for f in functions for node in ast.walk(f) if isinstance(node, ast.Return)}
        for node in ast.walk(tree):
            parts = [p for p in ast.iter_child_nodes(node) if isinstance(p, ast.expr | ast.withitem)]
            if isinstance(node, ast.stmt) and parts:
                inner = [x for part in parts for x in ast.walk(part)]
                read, written = names_of_statement(inner, arguments)
                written |= {returned[node]} if node in returned else set()
                read |= written if isinstance(node, ast.AugAssign) else set()
                found.append((node.lineno, max(getattr(x, "end_lineno", 0) for x in inner), read, written))
    return found


def names_of_statement(nodes: list[ast.AST], arguments: dict[str, set[str]]) -> tuple[set[str], set[str]]:
    """Return the names that a statement's nodes read and write. arguments: parameters of the file's functions."""
    read: set[str] = set()
    written: set[str] = set()
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ctx) | ast.Attribute(attr=name, ctx=ctx):
                (written if isinstance(ctx, ast.Store) else read).add(name)
            case ast.Subscript(value=value, ctx=ast.Store()):
                written |= names_of_statement(list(ast.walk(value)), {})[0]
            case ast.Call(func=ast.Attribute(value=value, attr=name)):  # methods such as append change the object
                written |= names_of_statement(list(ast.walk(value)), {})[0] | arguments.get(name, set())
            case ast.Call(func=ast.Name(id=name)):
                written |= arguments.get(name, set())
    return read, written
