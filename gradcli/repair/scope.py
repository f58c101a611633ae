"""What an edit may use: names and helpers of the function, one library, and what the forward function tells."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..errors import GradcliError
from ..user.source import FunctionSource, own_nodes, source_of
from .forward import ForwardTexts, forward_texts

MOST_HELPERS = 4  # most functions of one argument that an expression is passed to: a choice
LIBRARY_NAMES = ("np", "numpy", "jnp", "torch", "gradcli", "math")
KEPT = {"self", "cls", "ctx", "_"}


@dataclass(frozen=True)
class EditScope:
    """What edits of a function may use.

    names: its parameters and local variables that hold values. library: the name under which it knows NumPy, PyTorch or
    JAX. indices: those of the names that loops assign. helpers: functions of the file that it calls. forward: texts
    from the forward function.
    """

    names: tuple[str, ...]
    library: str
    indices: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()
    forward: ForwardTexts = field(default_factory=ForwardTexts)


def scope_of(source: FunctionSource, function: Callable | None) -> EditScope:
    """Return what edits of a function may use. function: the forward function, whose derivative it claims."""
    names = names_of(source.node)
    try:
        other = None if function is None else source_of(function, "the function")
    except GradcliError:
        other = None
    if other is not None and other.node.lineno == source.node.lineno and other.file == source.file:
        other = None
    indices = [n.target.id for n in own_nodes(source.node) if isinstance(n, ast.For) and isinstance(n.target, ast.Name)]
    forward = ForwardTexts() if other is None else forward_texts(other, {*names, *source.function.__globals__})
    return EditScope(
        names, library_of(source), tuple(dict.fromkeys(indices)), helpers_of(source, other, function), forward
    )


def names_of(node: ast.FunctionDef) -> tuple[str, ...]:
    """Return a function's parameters and the local variables that it assigns, without unused and special ones."""
    given = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    nodes = [n for n in own_nodes(node) if isinstance(n, ast.Name)]
    stored = [n.id for n in nodes if isinstance(n.ctx, ast.Store)]
    return tuple(n for n in dict.fromkeys([*given, *stored]) if n not in KEPT)


def library_of(source: FunctionSource) -> str:
    """Return the name under which a function knows its library of arrays, "" if it knows none."""
    variables = source.function.__globals__
    used = [
        n.id for n in ast.walk(source.node) if isinstance(n, ast.Name) and n.id in LIBRARY_NAMES and n.id in variables
    ]
    return next(iter([*used, *(name for name in LIBRARY_NAMES if name in variables)]), "")


def helpers_of(source: FunctionSource, other: FunctionSource | None, forward: Callable | None) -> tuple[str, ...]:
    """Return the functions of the user's file that the two call with one argument, without the forward function."""
    called: dict[str, None] = {}
    for found in filter(None, (source, other)):
        for node in ast.walk(found.node):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
                called[node.func.id] = None
    variables = source.function.__globals__
    usable = []
    for name in called:
        function = variables.get(name)
        code = getattr(function, "__code__", None)
        itself = function is source.function or function is forward
        if code is None or itself or code.co_filename != source.file or calls(function, forward):
            continue
        usable.append(name)
    return tuple(usable[:MOST_HELPERS])


def calls(function: Any, forward: Callable | None) -> bool:
    """Report whether a function may call the forward function, as numeric derivatives do."""
    names = getattr(getattr(function, "__code__", None), "co_names", ())
    return forward is not None and getattr(forward, "__name__", None) in names
