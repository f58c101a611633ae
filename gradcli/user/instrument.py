"""Compile a script so that its assignments can be observed."""

from __future__ import annotations

import ast
from typing import Any

BIND_NAME, LAST_NAME = "__gradcli_bind__", "__gradcli_last__"  # functions that instrumented scripts call


class _Binder(ast.NodeTransformer):
    """Wraps the value of every assignment to a plain name outside functions and classes in a call of BIND_NAME."""

    def visit_FunctionDef(self, node: Any) -> Any:
        return node

    visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = visit_FunctionDef  # noqa: N815

    def visit_Assign(self, node: Any) -> Any:
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Name) and node.value is not None:
                node.value = binding_call(BIND_NAME, node.value, target.id)
            elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                for k, (name, value) in enumerate(zip(target.elts, node.value.elts, strict=False)):
                    if isinstance(name, ast.Name):
                        node.value.elts[k] = binding_call(BIND_NAME, value, name.id)
        return node

    visit_AnnAssign = visit_Assign  # noqa: N815


def binding_call(function: str, value: ast.expr, *names: str) -> ast.expr:
    """Return the syntax tree of function(value, *names), at the place of value."""
    made = ast.Call(ast.Name(function, ast.Load()), [value, *(ast.Constant(name) for name in names)], [])
    return ast.fix_missing_locations(ast.copy_location(made, value))


def instrument(source: str, path: str) -> Any:
    """Compile a script so that top-level assignments call BIND_NAME, and a last expression calls LAST_NAME."""
    module = ast.parse(source, filename=path)
    last = module.body[-1] if module.body else None
    module = _Binder().visit(module)
    if isinstance(last, ast.Expr):
        last.value = binding_call(LAST_NAME, last.value)
    return compile(ast.fix_missing_locations(module), path, "exec")


def last_names(source: str) -> list[str]:
    names = [n for part in ast.parse(source).body[-1:] for n in ast.walk(part) if isinstance(n, ast.Name)]
    read = [n.id for n in names if isinstance(n.ctx, ast.Load)]
    return [*(n.id for n in names if isinstance(n.ctx, ast.Store)), *reversed(read)]
