"""Running a script so that its top-level names are seen as they are bound."""

from __future__ import annotations

import ast
import copy
from typing import Any

BIND, LAST = "__gradcli_bind__", "__gradcli_last__"


class _Binder(ast.NodeTransformer):
    """Wraps the value of every assignment to a plain name, outside functions and classes."""

    def visit_FunctionDef(self, node: Any) -> Any:
        return node

    visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = visit_FunctionDef  # noqa: N815

    def visit_Assign(self, node: ast.Assign) -> Any:
        for target in node.targets:
            if isinstance(target, ast.Name):
                node.value = binding_call(BIND, node.value, target.id)
            elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                node.value.elts = [
                    binding_call(BIND, value, name.id) if isinstance(name, ast.Name) else value
                    for name, value in zip(target.elts, node.value.elts, strict=False)
                ] + node.value.elts[len(target.elts) :]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is not None and isinstance(node.target, ast.Name):
            node.value = binding_call(BIND, node.value, node.target.id)
        return node


def binding_call(function: str, value: ast.expr, *names: str) -> ast.expr:
    """Return the tree of function(value, *names), at the place of value."""
    made = ast.Call(ast.Name(function, ast.Load()), [value, *(ast.Constant(name) for name in names)], [])
    return ast.fix_missing_locations(ast.copy_location(made, value))


def instrument(source: str, path: str) -> Any:
    """Return a script's code object in which assignments at its top level call BIND(value, name).

    The value of a last statement that is an expression goes through LAST(value). Raises SyntaxError.
    """
    module = ast.parse(source, filename=path)
    last = module.body[-1] if module.body else None
    module = _Binder().visit(module)
    if isinstance(last, ast.Expr):
        last.value = binding_call(LAST, last.value)
    return compile(ast.fix_missing_locations(module), path, "exec")


def last_names(source: str) -> list[str]:
    """Return the names in the last top-level statement, the likeliest output first."""
    body = ast.parse(source).body
    if not body:
        return []
    last = copy.copy(body[-1])
    read = [n.id for n in ast.walk(last) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    stored = [n.id for n in ast.walk(last) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return [*stored, *reversed(read)]
