"""Who is to blame for a wrong derivative: the first custom function on its way that is wrong by itself."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..tape import function as functions
from ..tape.tensor import Tensor
from .subject import CheckError

if TYPE_CHECKING:
    from .tensor_function import Traced


def calls_in(subject: Traced) -> list[tuple[Any, type, tuple]]:
    """Return (node, Function, arguments) for every custom function that one run calls, in order."""
    calls: list[tuple[Any, type, tuple]] = []

    def watch(node: Any, function: type, args: tuple) -> None:
        calls.append((node, function, tuple(x.detach().clone() if isinstance(x, Tensor) else x for x in args)))

    functions.watchers.append(watch)
    try:
        subject.record_call(subject.at)
    finally:
        functions.watchers.remove(watch)
    return calls


def alone(subject: Traced, node: Any, function: Any, args: tuple) -> Traced | None:
    """Return one call of a custom function as a subject of its own; None when nothing in it can be checked."""
    places = [i for i, x in enumerate(args) if isinstance(x, Tensor)]
    wanted = [i for i in places if node.needs_input_grad[i] and args[i]._data.dtype.kind in "fc"]
    if not wanted:
        return None

    def call(*xs: Tensor) -> Any:
        full = list(args)
        for i, x in zip(places, xs, strict=True):
            full[i] = x
        return function.apply(*full)

    at = {f"argument {i}": np.array(args[i]._data) for i in places}
    return subject.part(call, at, [f"argument {i}" for i in wanted], function.__name__)


def blame(subject: Traced, is_wrong: Callable[[Traced], bool]) -> str | None:
    """Return the first custom function that is wrong by itself: its name, file, line and source line with a caret."""
    for node, function, args in calls_in(subject):
        single = alone(subject, node, function, args)
        if single is not None and is_wrong(single):
            return f"the first wrong node is {node.name()}: {place_of_backward(function, last_line(single, function))}"
    return None


def last_line(subject: Traced, function: Any) -> int | None:
    """Return the last line of a Function's backward that runs: the `return` that its result comes from."""
    code = getattr(inspect.unwrap(function.backward), "__code__", None)
    lines: list[int] = []

    def watch(frame: Any, event: str, _: Any) -> Any:
        if frame.f_code is not code:
            return None
        if event in ("line", "return"):
            lines.append(frame.f_lineno)
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        with contextlib.suppress(CheckError):
            subject.pull(subject.at, np.ones_like(subject.value(subject.at)))
    finally:
        sys.settrace(before)
    return lines[-1] if lines else None


def place_of_backward(function: Any, last: int | None) -> str:
    """Return where a Function's backward is defined, with the line at which it ended, or that returns its result."""
    try:
        lines, start = inspect.getsourcelines(function.backward)
        file = inspect.getsourcefile(function.backward)
    except (OSError, TypeError):
        return f"the backward of {function.__name__}"
    returns = [k for k, line in enumerate(lines) if line.strip().startswith("return")]
    k = (
        last - start
        if last is not None and 0 <= last - start < len(lines)
        else returns[-1]
        if returns
        else len(lines) - 1
    )
    text = lines[k].rstrip("\n").strip()
    indent = " " * 4
    return f"{file}:{start + k}\n{indent}{text}\n{indent}{'^' * len(text)}"
