"""Functions of PyTorch, JAX and HIPS autograd as what is checked: which engine runs them, and on what arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import GradcliError
from ..program.arguments import Arguments, as_array, call_with, is_branch, is_number
from ..program.detect_framework import engine_of
from ..program.elsewhere.base import ElsewhereError
from ..program.elsewhere.framework import adapter_of, expand_paths, framework_call, is_under
from .hand_written import Claimed, HandWritten, calling
from .subject import CheckError, callable_name


def claim_of_framework(
    engine: str, function: Any, at: Mapping[str, Any], title: str, wrt: Sequence[str] | None, single: bool
) -> Claimed:
    """Return a function with the derivative that a framework gives it. Raises CheckError."""
    try:
        call = framework_call(engine, function, at, title, wrt=wrt, single=single)
    except ElsewhereError as error:
        raise CheckError(str(error)) from error.__cause__
    except GradcliError as error:
        raise CheckError(error.message) from error
    return Claimed(call, expand_paths(wrt, list(call.inputs)))


def second_order(first: Claimed, seed: int) -> Claimed:
    """Return the product of a random vector with a function's derivative, as a function of inputs and vector.

    Raises CheckError.
    """
    if not first.program.has_second:
        raise CheckError("reverse mode does not go through the function, and second derivatives need it")
    out = first.value_here()
    vector = np.random.default_rng(seed + 1).standard_normal(out.shape)
    with calling():
        return Claimed(first.program.vjp_function(vector.astype(out.dtype)))


def hand_written_subject(
    f: Callable, at: Mapping[str, Any], claims: Mapping[str, Callable | None], wrt: Sequence[str] | None
) -> HandWritten:
    """Return a function with derivatives by hand, of which a framework runs some.

    Each gets plain arrays, or the framework's where it does not take those; results are turned into arrays. Dicts,
    lists and tuples are flattened to their arrays.
    """

    def fixed(path: str) -> bool:
        return False

    functions = (f, *claims.values())
    if not any(engine_of(x, None) for x in functions if x is not None) and not any(
        is_branch(x) or (as_array(x) is None and not is_number(x)) for x in at.values()
    ):
        return HandWritten(f, at, wrt=wrt, **claims)
    arguments = Arguments(at, fixed)
    if not arguments.arrays:
        raise CheckError(
            f"no input is an array of floating-point numbers: {', '.join(at)}",
            "of a sparse matrix give its data, and build the matrix inside of the function",
        )
    wrapped = {key: Flattened(x, arguments, key) for key, x in claims.items() if x is not None}
    names = expand_paths(wrt, list(arguments.arrays))
    return HandWritten(Flattened(f, arguments, "f"), arguments.arrays, wrt=names, **wrapped)


class Flattened:
    """A function of arrays in order that calls another one on its own kind of arguments.

    role: f, grad, vjp or jvp, which says what comes before the arguments.
    """

    def __init__(self, function: Callable, arguments: Arguments, role: str):
        self.function, self.arguments, self.role = function, arguments, role
        self.__name__ = callable_name(function)
        self.engine = engine_of(function, None)
        self.converts = False

    def __call__(self, *values: Any) -> Any:
        """Return the function's result as arrays."""
        count = 1 if self.role in ("vjp", "jvp") else 0
        paths = list(self.arguments.arrays)
        before, leaves = values[:count], dict(zip(paths, values[count:], strict=True))
        if self.role == "jvp":
            tangents = dict(zip(paths, before[0], strict=True))
            before = (tuple(self.arguments.fill_in(tangents, np.zeros_like).values()),)
        return self.flat(self.run(before, leaves))

    def run(self, before: tuple, leaves: dict[str, Any]) -> Any:
        """Call the function on plain arrays, or from where those are refused on the framework's."""
        if self.engine is None:
            return self.attempt(before, leaves, np.asarray)
        adapter = adapter_of(self.engine)
        with adapter.in_double():
            if not self.converts:
                try:
                    return self.attempt(before, leaves, np.asarray)
                except (TypeError, AttributeError) as error:
                    self.converts, reason = True, error
                try:
                    return self.attempt(before, leaves, adapter.array)
                except Exception:
                    self.converts = False
                    raise reason from None
            return self.attempt(before, leaves, adapter.array)

    def attempt(self, before: tuple, leaves: dict[str, Any], convert: Callable) -> Any:
        """Call the function on arrays that are converted first."""
        changed = {path: x if convert is np.asarray else convert(np.asarray(x)) for path, x in leaves.items()}
        filled = self.arguments.fill_in(changed, convert)
        if not before:
            return call_with(self.function, filled)
        first = before[0]
        if convert is not np.asarray:
            first = tuple(map(convert, first)) if isinstance(first, tuple) else convert(np.asarray(first))
        return self.function(first, *filled.values())

    def flat(self, result: Any) -> Any:
        """Return a result with arrays of NumPy; gradients as a dict by path where the arguments are nested."""
        if self.role in ("f", "jvp"):
            array = as_array(result)
            return result if array is None else array
        names = list(self.arguments.tree)
        nested = list(self.arguments.arrays) != names
        if nested:
            whole = result if isinstance(result, tuple) and len(result) <= len(names) else (result,)
            if len(whole) < len(names):  # those with numbers to differentiate
                holding = [name for name in names if any(is_under(p, name) for p in self.arguments.arrays)]
                names = holding if len(whole) == len(holding) else names
            if isinstance(result, dict) and result.keys() <= set(names):
                whole, names = tuple(result.values()), list(result)
            return Arguments(dict(zip(names, whole, strict=False))).arrays
        if isinstance(result, tuple | list):
            return type(result)(plain_part(x) for x in result)
        if isinstance(result, dict):
            return {key: plain_part(x) for key, x in result.items()}
        return plain_part(result)


def plain_part(x: Any) -> Any:
    """Return an array of any framework as one of NumPy; anything else as it is."""
    array = as_array(x) if hasattr(x, "shape") else None
    return x if array is None else array
