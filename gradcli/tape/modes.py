"""The switch in each thread that turns recording on or off, set as in PyTorch; and observers of events."""

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
    arrays = False


state = _State()
suspended: set[int] = set()  # threads that do not record: testing for an empty set is quicker than reading `state`
moded: set[int] = set()  # threads in which a recording mode is active


@contextlib.contextmanager
def methods_of_arrays(wanted: bool = True) -> Iterator[None]:
    """Give the methods that Tensors share with ndarray NumPy's meaning, as in a function of arrays."""
    before, state.arrays = state.arrays, wanted
    try:
        yield
    finally:
        state.arrays = before


class _RandomNumbers:
    """The source of random numbers, made at first use or by manual_seed."""

    @functools.cached_property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng()


random_numbers = _RandomNumbers()


class Observer:
    """Receives the events of every thread while it is active. Methods that it does not define ignore their event."""

    def see_leaf(self, tensor: Any) -> None:
        """A tensor starts to require grad."""

    def see_call(self, node: Any, function: type, args: tuple) -> None:
        """A call of a custom function was recorded."""

    def enter_module(self, module: Any) -> None:
        """A module is called."""

    def leave_module(self, module: Any) -> None:
        """A module's forward has ended."""

    def see_backward(self, kind: str, outputs: tuple) -> bool | None:
        """ "backward" or "grad" is about to start at these outputs. Return True to keep the graph."""
        return None

    def see_event(self, kind: str, source: Any, result: Any = None) -> None:
        """Something happened to data outside the graph, or to a gradient.

        detach, data, item, numpy, cast, tensor, make, argsort, nonzero: `result` was made from `source` without a node.
        index: `source` selected `result`. change: `result` got the elements of `source`. read, clear: the gradient of
        `source` was read or cleared. returned, assign: autograd.grad() returns `result` as the gradient of `source`, or
        the user assigns it. freeze: `source` no longer requires grad. optimizer, step: `source` is a parameter of an
        optimizer that was created, or that takes a step.
        """


observers: list[Observer] = []
"""The active observers. (A recording mode is active in one thread only, and slows every operation down.)"""


def report_event(kind: str, source: Any, result: Any = None) -> Any:
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
    """A context manager and decorator that sets the recording mode and restores the old one."""

    wanted = True

    def __enter__(self) -> None:
        self.previous = state.grad
        record_in_this_thread(self.wanted)

    def __exit__(self, *_: Any) -> None:
        record_in_this_thread(self.previous)

    def __call__(self, function: Any) -> Any:
        """Wrap a function to run in this mode; a generator function runs in it between its yields."""
        if inspect.isgeneratorfunction(function):
            return functools.wraps(function)(lambda *args, **kwargs: self.steps(function(*args, **kwargs)))

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with set_grad_enabled(self.wanted):
                return function(*args, **kwargs)

        return wrapped

    def steps(self, body: Generator) -> Generator:
        """Run a generator in this mode, step by step, passing on what is sent or thrown into it."""
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
    """A switch without arguments: `@no_grad` means `@no_grad()`."""

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
    """Set the mode immediately; as a context manager, restore the old one at the end."""

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
    """Return `no_grad()`, or `enable_grad()` if the mode is False; also a decorator without arguments."""
    return no_grad(mode) if callable(mode) else no_grad() if mode else enable_grad()
