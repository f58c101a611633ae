"""The points at which a check runs: as given, drawn by a function, or random arrays of given shapes."""

from __future__ import annotations

import contextlib
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..claims.claim import CallError, call_failed, callable_name
from ..errors import ENDINGS
from ..lang.limits import MOST_AXES
from ..program.arguments import is_named, is_number, map_leaves, takes_whole
from ..request import SHORT_TYPES, Request
from .complaints import is_whole

MOST_SHOWN = 12  # most elements of an array that a report, or the command line that repeats it, writes out


def are_points(at: Any) -> bool:
    return isinstance(at, list) and bool(at) and all(isinstance(point, Mapping) for point in at)


def points_of(at: Any) -> list[Any]:
    """Return the points to check at: `at` itself if it is a list of dicts, else `at` as the only point."""
    return at if are_points(at) else [at]


def is_random(at: Any) -> bool:
    """Report whether a point is drawn at random: it is a function, or has shapes instead of values."""
    return callable(at) or (isinstance(at, Mapping) and any(map(is_shape, at.values())))


def draw_point(
    f: Callable, at: Any, request: Request, manifolds: Mapping[str, Any], rng: np.random.Generator, place: int
) -> dict[str, Any]:
    """Return the inputs of f by name at one of the points of `at`. Raises CallError.

    manifolds: of inputs, by name; random ones lie on them. place: the number of the point.
    """
    points = points_of(at)
    at = points[place] if len(points) > 1 else points[0]
    if callable(at) and not isinstance(at, Mapping):
        try:
            at = at(rng)
        except ENDINGS:
            raise
        except BaseException as error:
            raise call_failed(callable_name(points[0]), error) from error
    refuse_point(at, request.max_elements)
    dtype = request.input_dtype
    drawn = {
        name: on_manifold(draw_numbers(rng, x, dtype), manifolds.get(name), name)
        if is_shape(x)
        else as_typed(f, name, at, request)
        for name, x in at.items()
    }
    if request.dtype in (None, *SHORT_TYPES):  # `rounded_to` takes care of short types
        return drawn
    return {name: map_leaves(lambda _, part: in_type(part, dtype), x) for name, x in drawn.items()}


def refuse_point(at: Any, limit: int) -> None:
    """Raise CallError unless a point has names, and shapes of at most `limit` elements."""
    if at is not None and not isinstance(at, Mapping):
        raise CallError(f"at must be a dict of arrays by name, got {type(at).__name__}")
    if not at:
        raise CallError("the check gives no values", 'add at={"x": [1.0, 2.0]}')
    for name, x in at.items():
        if not isinstance(name, str):
            raise CallError(f"at must be a dict of arrays by name; {name!r} is not a name")
        if not is_shape(x):
            continue
        if any(n < 0 for n in x):
            raise CallError(f"at: the shape of '{name}', {x}, contains a negative length")
        if len(x) > MOST_AXES:
            raise CallError(f"at: '{name}' has {len(x)} axes; NumPy allows {MOST_AXES}")
        if (size := math.prod(map(int, x))) > limit:
            limited = f"the limit is {limit} (see --max-elements)"
            raise CallError(f"at: '{name}' of shape {x} would have {size} elements; {limited}")


def draw_numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return normally distributed numbers, of which also the imaginary parts if the type is complex."""
    drawn = rng.standard_normal(shape)
    return drawn + 1j * rng.standard_normal(shape) if dtype.kind == "c" else drawn


def on_manifold(drawn: np.ndarray, manifold: Any, name: str) -> np.ndarray:
    """Return random numbers, on the input's manifold if it has one."""
    if manifold is None:
        return drawn
    point = manifold.formed(drawn)  # C functions and other programs take matrices as vectors
    manifold.refuse_shape(point, name)
    return manifold.nearest(point).reshape(drawn.shape)


def as_typed(f: Callable, name: str, at: Mapping[str, Any], request: Request) -> Any:
    """Return an input, with integers in a list as floating-point numbers, as on the command line.

    For a claim, also single integers if all inputs are integers. Otherwise, they are constants, such as powers.
    """
    x, by_hand = at[name], request.claims or request.value_and_grad
    listed = isinstance(x, list) and len(x) and is_number(x)
    whole = bool(by_hand) and all(map(is_whole, at.values()))
    if not (listed or whole) or may_be_whole(f, name, request):
        return x
    with contextlib.suppress(ValueError):  # lists of different lengths, which the claim refuses
        raw = np.asarray(x)
        return raw.astype(float) if raw.dtype.kind == "i" else x
    return x


def may_be_whole(f: Callable, name: str, request: Request) -> bool:
    """Report whether an argument may be whole: `wrt` leaves it out, or the parameter is declared as whole."""
    if request.wrt is not None and not is_named(name, request.wrt):
        return True
    with contextlib.suppress(TypeError, ValueError):
        parameter = inspect.signature(f).parameters.get(name)
        return parameter is not None and (takes_whole(parameter.annotation) or type(parameter.default) is int)
    return False


def is_shape(x: Any) -> bool:
    return isinstance(x, tuple) and all(is_whole(n) for n in x)


def in_type(x: Any, dtype: np.dtype) -> Any:
    """Return floating-point numbers as an array of another type, and any other value unchanged."""
    is_number = isinstance(x, float | list | np.ndarray | np.floating)
    return np.asarray(x, dtype) if is_number and np.asarray(x).dtype.kind == "f" else x


def values_text(at: Mapping[str, Any]) -> str:
    words = []
    for name, x in at.items():
        raw = np.asarray(x)
        words.append(f"{name}={raw.tolist()}" if raw.size <= MOST_SHOWN else f"{name} of shape {raw.shape}")
    return ", ".join(words)
