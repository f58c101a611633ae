"""Whether operations are recorded: a switch per thread, with PyTorch's ways to set it; and who takes note of them."""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
from collections.abc import Generator, Iterator
from typing import Any

import numpy as np


class _State(threading.local):
    grad = True
    recorder: Any = None
    anomaly = False
    traced: Any = None
    check_nan = True
    explains = False


state = _State()
suspended: set[int] = set()  # the threads that do not record: asking whether it is empty is quicker than asking `state`
moded: set[int] = set()  # the threads in which a mode of recording is in force


class _RandomNumbers:
    """Where the random numbers of this process come from: made when it is first used, and by manual_seed."""

    @functools.cached_property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng()


random_numbers = _RandomNumbers()


class Observer:
    """Takes note, in every thread, of what happens while it is in force; what it does not ask for passes by."""

    def see_leaf(self, tensor: Any) -> None:
        """Take note of a tensor that starts to require grad."""

    def see_call(self, node: Any, function: type, args: tuple) -> None:
        """Take note of a recorded call of a custom function."""

    def enter_module(self, module: Any) -> None:
        """Take note that a module is called."""

    def leave_module(self, module: Any) -> None:
        """Take note that a module's forward has ended."""

    def see_backward(self, kind: str, outputs: tuple) -> bool | None:
        """Take note that "backward" or "grad" is about to start at outputs; return True to keep the graph."""
        return None

    def see_event(self, kind: str, source: Any, result: Any = None) -> None:
        """Take note of what happens to data outside the graph, or to a gradient.

        detach, data, item, numpy, cast, tensor, make, argsort, nonzero: `result` was made of `source` without a node.
        index: `result` was selected by `source`. change: `result` took over the elements of `source`. read, clear: of
        the gradient of `source`. freeze: `source` no longer requires grad. optimizer, step: `source` is a parameter
        of an optimizer that is made, or that steps.
        """


observers: list[Observer] = []
"""Those in force. (A mode of recording is in force in one thread alone, and makes every operation slower.)"""


def report_event(kind: str, source: Any, result: Any = None) -> Any:
    """Let observers take note of an event, and return its result."""
    for observer in observers:
        observer.see_event(kind, source, result)
    return result


@contextlib.contextmanager
def observing(observer: Observer) -> Iterator[None]:
    observers.append(observer)
    try:
        yield
    finally:
        observers.remove(observer)


def record_in_this_thread(wanted: bool) -> None:
    state.grad = wanted
    (suspended.discard if wanted else suspended.add)(threading.get_ident())


def is_grad_enabled() -> bool:
    """Return whether operations are being recorded in this thread."""
    return state.grad


class _Switch:
    """A context manager and decorator that sets the recording mode and puts the old one back."""

    wanted = True

    def __enter__(self) -> None:
        self.previous = state.grad
        record_in_this_thread(self.wanted)

    def __exit__(self, *_: Any) -> None:
        record_in_this_thread(self.previous)

    def __call__(self, function: Any) -> Any:
        """Return `function` run in this mode; a generator between its yields."""
        if inspect.isgeneratorfunction(function):
            return functools.wraps(function)(lambda *args, **kwargs: self.steps(function(*args, **kwargs)))

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with set_grad_enabled(self.wanted):
                return function(*args, **kwargs)

        return wrapped

    def steps(self, body: Generator) -> Generator:
        """Run a generator in this mode, step by step; what is sent or thrown into it arrives there."""
        resume: Any = body.send
        value: Any = None
        while True:
            with set_grad_enabled(self.wanted):
                try:
                    out = resume(value)
                except StopIteration as stop:
                    return stop.value
            try:
                resume, value = body.send, (yield out)
            except BaseException as error:
                resume, value = body.throw, error


class _Bare(_Switch):
    """A switch without arguments, so that `@no_grad` may stand for `@no_grad()`."""

    def __new__(cls, function: Any = None) -> Any:
        self = object.__new__(cls)
        return self if function is None else self(function)


class no_grad(_Bare):  # noqa: N801 - PyTorch's name
    """Do not record: results do not require grad."""

    wanted = False


class enable_grad(_Bare):  # noqa: N801 - PyTorch's name
    """Record, also inside `no_grad`."""

    wanted = True


class set_grad_enabled(_Switch):  # noqa: N801 - PyTorch's name
    """Set the mode at once; as a context manager, put the old one back at the end."""

    def __init__(self, mode: bool):
        self.previous = state.grad
        self.wanted = bool(mode)
        record_in_this_thread(self.wanted)

    def __enter__(self) -> None:
        record_in_this_thread(self.wanted)

    def __call__(self, function: Any) -> Any:
        record_in_this_thread(self.previous)
        return super().__call__(function)


def inference_mode(mode: Any = True) -> Any:
    """Return what `no_grad` does, or with a mode of False `enable_grad`; it decorates without arguments, too."""
    return no_grad(mode) if callable(mode) else no_grad() if mode else enable_grad()
