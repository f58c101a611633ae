"""What can be edited: the user's functions behind a claim, and how to install other code in them."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

from ..claims.claim import Claim
from ..claims.hand_written import Flattened, HandWritten
from ..errors import GradcliError
from ..user.frameworks import reachable_from
from ..user.source import Edit, FunctionSource, source_of
from ..user.tracebacks import is_users


@dataclass(frozen=True)
class Subject:
    """A wrong claim, the function whose derivative it is, and the definitions that an edit may change."""

    claim: Claim
    forward: Callable | None
    sources: tuple[FunctionSource, ...]


def subject_of(claim: Claim, origin: Any) -> Subject:
    """Return what can be edited to repair a claim. origin: the checked function. Raises GradcliError.

    The derivative is a function written by hand, or the rule of a custom function that the checked one uses.
    """
    if isinstance(claim, HandWritten):
        functions = [x for x in map(plain_function, (claim.grad, claim.vjp_fn, claim.jvp_fn)) if x is not None]
        forward = plain_function(claim.f)
        if not functions or any(function is forward for function in functions):
            message = "fix edits a derivative that is a function of its own"
            raise GradcliError(message, hint="pass --grad, --vjp or --jvp")
        if all(is_gradclis(function) for function in functions):
            raise GradcliError("fix edits functions in Python files, and this derivative is a formula", kind="target")
    else:
        functions, forward = list(rules_behind(origin)), forward_source(origin)
        if not functions:
            hint = "for a derivative written by hand, pass --grad, --vjp or --jvp"
            raise GradcliError(f"{claim.title} uses no custom function whose backward could be edited", hint=hint)
    sources = [source_of(function, callable_title(function)) for function in functions]
    helpers = [source for found in sources for source in helpers_behind(found, forward)]
    unique = {(source.file, source.node.lineno): source for source in (*sources, *helpers)}
    return Subject(claim, forward, tuple(unique.values()))


def callable_title(function: Any) -> str:
    return getattr(function, "__qualname__", None) or type(function).__name__


def plain_function(function: Any) -> Any:
    """Return the user's function inside gradcli's wrappers, without its decorators."""
    while isinstance(function, Flattened):
        function = function.function
    return None if function is None else inspect.unwrap(function)


def is_gradclis(function: Any) -> bool:
    return str(getattr(function, "__module__", "")).partition(".")[0] == __name__.partition(".")[0]


def rules_behind(origin: Any) -> Iterator[Any]:
    """Yield the derivative rules of custom functions of PyTorch, JAX and gradcli that a function uses."""
    seen: set[int] = set()
    for x in (getattr(origin, "__self__", None), *reachable_from(origin)):
        for rule in rules_of_object(x):
            plain = inspect.unwrap(rule)
            code = getattr(plain, "__code__", None)
            if isinstance(code, CodeType) and is_users(code.co_filename) and id(plain) not in seen:
                seen.add(id(plain))
                yield plain


def rules_of_object(x: Any) -> Iterator[Any]:
    """Yield the derivative rules of one object: a custom Function, a custom_vjp or custom_jvp, an operator."""
    if isinstance(x, type) and callable(getattr(x, "forward", None)) and callable(getattr(x, "backward", None)):
        yield from (rule for name in ("backward", "jvp") if callable(rule := vars(x).get(name) and getattr(x, name)))
    names = {"custom_vjp": ("bwd",), "custom_jvp": ("jvp",), "CustomOpDef": ("_backward_fn",)}
    for name in names.get(type(x).__name__, ()):
        rule = getattr(x, name, None)
        if callable(rule):
            yield rule


def forward_source(origin: Any) -> Any:
    """Return the function of values behind a custom function, to read its source."""
    for x in (getattr(origin, "__self__", None), origin):
        forward = getattr(x, "forward", None) if isinstance(x, type) else None
        if callable(forward):
            return inspect.unwrap(forward)
    inner = getattr(origin, "fun", origin)  # of custom_vjp and custom_jvp
    return inspect.unwrap(inner) if callable(inner) else None


def helpers_behind(source: FunctionSource, forward: Callable | None) -> Iterator[FunctionSource]:
    """Yield the functions of the same file that a derivative calls, but the forward function does not."""
    used_forward = {id(x) for x in reachable_from(forward)} if forward is not None else set()
    for x in reachable_from(source.function):
        code = getattr(x, "__code__", None)
        if not isinstance(code, CodeType) or code.co_filename != source.file or x is source.function or x is forward:
            continue
        if id(x) not in used_forward and inspect.isfunction(x):
            with contextlib.suppress(GradcliError):
                yield source_of(x, callable_title(x))


@contextlib.contextmanager
def installed(source: FunctionSource, code: CodeType) -> Iterator[None]:
    """Let a user's function run other code inside the block."""
    before = source.function.__code__
    source.function.__code__ = code
    try:
        yield
    finally:
        source.function.__code__ = before


def raising(source: FunctionSource) -> CodeType:
    """Return code for a function that raises as soon as it is called."""
    start, _ = source.span(source.node.body[0])
    line = source.node.body[0].lineno
    before = source.text[source.starts[line - 1] : start]
    separator = "; " if before.strip() else f"\n{before}"
    return source.compile((Edit(start, start, f"raise ZeroDivisionError{separator}"),))
