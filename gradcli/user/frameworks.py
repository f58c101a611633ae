"""Detect which framework a function uses: gradcli's engine does not run rules of PyTorch, JAX and HIPS autograd."""

from __future__ import annotations

import ast
import contextlib
import sys
from collections.abc import Iterable, Iterator
from types import CodeType, ModuleType
from typing import Any, cast

from ..errors import GradcliError, TargetError
from ..request import ADAPTED
from .tracebacks import is_users

FRAMEWORKS = {
    "torch": "PyTorch", "jax": "JAX", "jaxlib": "JAX", "autograd": "HIPS autograd", "tensorflow": "TensorFlow",
}  # fmt: skip
LIBRARIES = {"numpy", "scipy", "gradcli", *sys.stdlib_module_names}
"""Modules that are not searched, because they do not lead to a framework."""


def framework_of(function: Any) -> str | None:
    """Return the module name of the first framework that a function, class or object refers to, if any."""
    if not FRAMEWORKS.keys() & sys.modules.keys():
        return None
    return next(filter(None, map(framework_behind, reachable_from(function))), None)


def engine_of(function: Any, wanted: str | None) -> str | None:
    """Return the framework that runs a function: the wanted one or the one it uses; None for gradcli's own engine."""
    if wanted is None and (wanted := framework_of(function)) is None:
        around = frameworks_around(function)
        wanted = around.pop() if len(around) == 1 else None
    return wanted if wanted in ADAPTED else None


def frameworks_around(function: Any) -> set[str]:
    """Return the frameworks that a function's file imports, if its code names no module: `x.sin().sum()`."""
    code, variables = getattr(function, "__code__", None), getattr(function, "__globals__", {})
    if not isinstance(code, CodeType):
        return set()
    used = set(names_in(code))
    modules = (x for name, x in variables.items() if name in used and x is not function)
    names_own = any(isinstance(x, ModuleType) and x.__name__.startswith("gradcli") for x in variables.values())
    if names_own or any(callable(x) or isinstance(x, ModuleType) for x in modules):
        return set()
    return {found for x in variables.values() if isinstance(x, ModuleType) and (found := framework_behind(x))}


def refuse_several(function: Any, title: str, wanted: str | None) -> None:
    """Raise GradcliError if several frameworks could run a function: its file imports them, and its code names none."""
    around = frameworks_around(function) if wanted is None and framework_of(function) is None else set()
    if len(around) > 1:
        theirs = " and ".join(FRAMEWORKS[name] for name in sorted(around))
        engines = ", ".join(name for name in ADAPTED if name in around)
        message = f"{title} uses no name of a framework, and its file imports {theirs}"
        raise GradcliError(message, hint=f"pass --engine with the framework that runs it: {engines} or gradcli")


def framework_imported(source: str) -> str | None:
    roots = (name.partition(".")[0] for name in modules_imported(ast.walk(ast.parse(source))))
    return next((root for root in roots if root in FRAMEWORKS), None)


def modules_imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the modules that statements import; relative ones begin with dots."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def reachable_from(function: Any) -> Iterator[Any]:
    """Yield the objects that a function's code refers to: the globals it names, and what those refer to in turn."""
    seen: set[tuple[int, tuple]] = set()
    waiting: list[tuple[Any, tuple]] = [(function, ())]
    while waiting:
        x, names = waiting.pop()
        if (id(x), names) not in seen:
            seen.add((id(x), names))
            yield x
            waiting += leads_from(x, names)


CUTS = frozenset({"detach", "stop_gradient"})
"""Functions that cut a value off from the graph, in PyTorch and JAX."""


def cuts_graph(function: Any) -> bool:
    """Report whether the user's code behind a function cuts values off from the graph."""
    codes = (getattr(x, "__code__", None) for x in reachable_from(function))
    return any(isinstance(x, CodeType) and is_users_code(x) and not CUTS.isdisjoint(names_in(x)) for x in codes)


def is_users_code(code: CodeType) -> bool:
    """Report whether code is from the user's files, or typed in."""
    return code.co_filename in ("<stdin>", "<string>") or is_users(code.co_filename)


def framework_behind(x: Any) -> str | None:
    """Return the framework that defines a module, class, function or object; gradcli as `torch` does not count."""
    if isinstance(x, ModuleType):
        names = [x.__name__] if getattr(x, "__file__", None) else []
    else:
        home = None if isinstance(x, type) else getattr(x, "__globals__", {}).get("__name__")
        kinds = x.__mro__ if isinstance(x, type) else type(x).__mro__
        names = [str(home), str(getattr(x, "__module__", "")), *(kind.__module__ for kind in kinds)]
    for name in names:
        root = name.partition(".")[0] if isinstance(name, str) else ""
        if root in FRAMEWORKS and getattr(sys.modules.get(root), "__file__", None):
            return "jax" if root == "jaxlib" else root
    return None


def leads_from(x: Any, names: tuple[str, ...]) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """Yield what a function, class, bound method or module refers to, with the names that its code uses."""
    if isinstance(x, ModuleType):
        if x.__name__.partition(".")[0] not in LIBRARIES:
            yield from ((vars(x)[name], names) for name in names if name in vars(x))
        return
    for name in ("__wrapped__", "__func__", "__self__", "func"):  # of decorators, bound methods and partials
        inner = getattr(x, name, None)
        if callable(inner):
            yield inner, ()
    if isinstance(getattr(x, "__module__", None), str) and x.__module__.partition(".")[0] in LIBRARIES - {"__main__"}:
        return
    code = getattr(x, "__code__", None)
    if isinstance(code, CodeType):
        used = tuple(names_in(code))
        if not is_framework(x.__module__):  # a framework's functions refer to thousands of others
            variables = getattr(x, "__globals__", {})
            for kind in getattr(x, "__annotations__", {}).values():
                yield variables.get(kind.partition(".")[0]) if isinstance(kind, str) else kind, ()
            yield from ((variables[name], used) for name in used if name in variables)
            yield from ((sys.modules[root], ()) for root in frameworks_imported_in(code) if root in sys.modules)
        defaults = (*(getattr(x, "__defaults__", None) or ()), *(getattr(x, "__kwdefaults__", None) or {}).values())
        yield from ((default, used) for default in defaults)
        for cell in getattr(x, "__closure__", None) or ():
            try:
                yield cell.cell_contents, used
            except ValueError:  # not yet filled
                continue
        return
    owner = x if isinstance(x, type) else type(x)
    if is_framework(owner.__module__) or (not isinstance(x, type) and owner.__module__.partition(".")[0] in LIBRARIES):
        return
    members = vars(owner).values()
    yield from ((member, ()) for member in members if callable(member) or isinstance(member, staticmethod))


def is_framework(module: str | None) -> bool:
    return (module or "").partition(".")[0] in FRAMEWORKS


def frameworks_imported_in(code: CodeType) -> Iterator[str]:
    """Yield the frameworks that code and the code inside it import; `torch.autograd` is not an import of autograd."""
    if any(name.partition(".")[0] in FRAMEWORKS for name in code.co_names):
        import dis

        for step in dis.get_instructions(code):
            if step.opname == "IMPORT_NAME" and is_framework(step.argval):
                yield step.argval.partition(".")[0]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from frameworks_imported_in(constant)


def names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)


def constants_in_code(code: CodeType) -> list[Any]:
    """Return the constants that the instructions of code load. Since Python 3.14, its list has no small numbers."""
    import dis

    steps = dis.get_instructions(code)
    return [step.argval for step in steps if step.opcode in dis.hasconst or step.opname == "LOAD_SMALL_INT"]


def refuse_foreign_code(function: Any, title: str, engine: str | None = None) -> None:
    """Raise GradcliError for code of another framework than the engine (None: gradcli's), which lacks its rules."""
    framework = framework_of(function)
    if framework is not None and framework != engine:
        if engine is not None:
            what = f"{title} uses {FRAMEWORKS[framework]}, but --engine is {engine}"
            raise GradcliError(what, hint="leave out --engine")
        theirs = FRAMEWORKS[framework]
        message = f"{title} uses {theirs}, and gradcli's engine cannot run {theirs}'s derivative rules"
        hint = "omit --engine" if framework in ADAPTED else "to check a hand-written derivative, use gradcheck --grad"
        raise TargetError(message, hint=hint)


@contextlib.contextmanager
def without_filtered_tracebacks() -> Iterator[None]:
    """Let JAX neither record where operations are nor filter tracebacks: errors in a rule are 10 times faster.

    It would compare each frame of an error in a derivative rule with about 25 paths, which takes 2 to 30 ms.
    """
    config, extension = getattr(sys.modules.get("jax"), "config", None), cast(Any, sys.modules.get("jaxlib._jax"))
    filtering = getattr(config, "jax_traceback_filtering", None)
    enable = getattr(extension, "set_tracebacks_enabled", None)  # private: no public setting stops the recording
    if config is None or filtering is None or enable is None:
        yield
        return
    enabled = extension.tracebacks_enabled()
    config.update("jax_traceback_filtering", "off")
    enable(False)
    try:
        yield
    finally:
        enable(enabled)
        config.update("jax_traceback_filtering", filtering)
