"""Functions of objects that have data, grad and backward(), as in micrograd, as functions of arrays."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from .claim import CallError, callable_name


def maker_in(function: Callable, title: str) -> Callable[[Any], Any]:
    """Return the constructor of objects with data, grad and backward(), from the function's file or its modules."""
    known = list(getattr(inspect.unwrap(function), "__globals__", {}).values())
    for kind in known + [x for module in known if isinstance(module, ModuleType) for x in vars(module).values()]:
        if isinstance(kind, type) and callable(getattr(kind, "backward", None)):
            with contextlib.suppress(Exception):
                wants = "requires_grad" in inspect.signature(kind).parameters
                make = functools.partial(kind, requires_grad=True) if wants else kind
                made = make(1.0)
                if hasattr(made, "data") and hasattr(made, "grad"):
                    return make
    raise CallError(f"{title}: its file has no class whose objects have data, grad and backward(), as in micrograd")


def with_objects(f: Callable, origin: Callable, title: str) -> tuple[Callable, Callable]:
    """Return the value and the gradient of a function of such objects, as functions of arrays.

    An array becomes one object if the engine takes arrays, else an array of objects. origin: the function in the file.
    """
    make = maker_in(origin, title)
    each = np.frompyfunc(lambda number: make(float(number)), 1, 1)

    def run(arrays: tuple, whole: bool) -> tuple[Any, list[Any]]:
        objects = [make(x.copy()) if whole and np.ndim(x) else each(x) for x in arrays]
        out = f(*objects)
        if np.size(numbers(out)) != 1:
            raise CallError(
                f"{callable_name(f)} returned {np.size(numbers(out))} numbers; the engine of its file needs one"
            )
        if hasattr(out, "backward"):
            out.backward()
        return out, objects

    def attempt(*arrays: Any) -> tuple[Any, list[Any]]:
        if any(map(np.ndim, arrays)):
            with contextlib.suppress(Exception):
                out, objects = run(arrays, whole=True)
                if all(np.shape(gradient_of(x)) == np.shape(array) for x, array in zip(objects, arrays, strict=True)):
                    return out, objects
        return run(arrays, whole=False)

    @functools.wraps(f)
    def value(*arrays: Any) -> float:
        return float(np.asarray(numbers(attempt(*arrays)[0])).item())

    @functools.wraps(f)
    def gradient(*arrays: Any) -> tuple[np.ndarray, ...]:
        return tuple(map(gradient_of, attempt(*arrays)[1]))

    return value, gradient


def numbers(x: Any) -> Any:
    """Return the data of an object; arrays and numbers stay as they are."""
    return x if isinstance(x, np.ndarray) else getattr(x, "data", x)


def gradient_of(made: Any) -> np.ndarray:
    """Return the gradient of an object, or of each in an array; zero if backward has not set it."""
    if isinstance(made, np.ndarray):
        return np.array([gradient_of(x) for x in made.flat], float).reshape(made.shape)
    return np.array(0.0 * numbers(made) if made.grad is None else numbers(made.grad), float)
