"""What a check needs of a function that runs somewhere else: values, and the products that it claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..arguments import OutputPart

Arrays = Mapping[str, np.ndarray]
MOST_BYTES = 1 << 29
"""The longest answer."""


class ElsewhereError(Exception):
    """The function could not be reached, raised, or gave something that is no answer; the text says what and
    where.
    """


class GoneError(ElsewhereError):
    """Nothing answers any more (the process died or hangs, the server is gone): no other point need be tried."""


class Elsewhere:
    """A function of named arrays that runs somewhere else, with the derivative that it claims.

    title: what reports call it. inputs: the inputs' names with their values, in order; wrt: those to differentiate.
    has_vjp, has_jvp: which products with its derivative it gives. reverse: the vjp is what is claimed even where the
    jvp needs fewer calls. claim_unit: the rounding unit of the products where they are computed in a narrower type
    than values; None where they are not. value_unit: that of a type of few digits (float16, bfloat16) that values go
    through; 0 where they go through none. notes: what a report says of it. calls: how often the function was called;
    runs_for_products: how often each product calls it. costly: a call may take seconds. layout: the arrays that the
    output is joined of. All methods raise ElsewhereError.
    """

    has_vjp = False
    has_jvp = False
    has_second = False
    reverse = False
    claim_unit: float | None = None
    value_unit = 0.0
    notes: tuple[str, ...] = ()
    calls = 0
    runs_for_products = 0
    costly = True
    layout: tuple[OutputPart, ...] = ()

    def __init__(self, title: str, inputs: Arrays):
        self.title, self.inputs = title, dict(inputs)
        self.wrt = list(self.inputs)

    def value(self, arrays: Arrays) -> np.ndarray:
        """Return the output at inputs by name."""
        raise NotImplementedError

    def vjp(self, arrays: Arrays, cotangent: np.ndarray) -> dict[str, np.ndarray]:
        """Return the product of a cotangent (in the output's shape) with the derivative, by input name."""
        raise NotImplementedError

    def vjps(self, arrays: Arrays, cotangents: Sequence[np.ndarray]) -> list[dict[str, np.ndarray]]:
        """Return the products of several cotangents with the derivative at one point."""
        return [self.vjp(arrays, cotangent) for cotangent in cotangents]

    def late_vjps(
        self, arrays: Arrays, cotangents: Sequence[np.ndarray], between: Arrays
    ) -> list[dict[str, np.ndarray]] | None:
        """Return the products, where the function is called at another point between forward and backward.

        None where both are one call.
        """
        return None

    recorded: np.ndarray | None = None
    """The output as the last backward pass had it, where it is computed for that anew."""

    def vjp_of(self, arrays: Arrays, cotangent: np.ndarray, names: Sequence[str]) -> dict[str, np.ndarray] | None:
        """Return the product of a cotangent for some inputs, where the others require no gradient.

        None where that makes no difference.
        """
        return None

    def parts(self) -> Iterator[tuple[Elsewhere, str]]:
        """Yield what it is made of and can be checked by itself, innermost and earliest first, with its place."""
        yield from ()

    def jvp(self, arrays: Arrays, tangents: Arrays) -> np.ndarray:
        """Return the product of the derivative with tangents by input name (those left out are 0)."""
        raise NotImplementedError

    def vjp_function(self, cotangent: np.ndarray) -> Elsewhere:
        """Return the vjp as a function of the same inputs, in order, and of the cotangent, last: where has_second."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of connections and processes."""


def point_beside(at: Arrays) -> dict[str, np.ndarray]:
    """Return a point at some distance from another one."""
    return {name: x + np.asarray(0.05 * (1 + np.abs(x)), x.dtype) for name, x in at.items()}


def unit_arrays(like: np.ndarray) -> list[np.ndarray]:
    return list(np.eye(like.size, dtype=like.dtype).reshape((like.size, *like.shape)))


def error_text(error: Any) -> str:
    if isinstance(error, dict):
        return ": ".join(str(error[key]) for key in ("type", "message") if error.get(key)) or shorten_answer(error)
    return shorten_answer(error)


def shorten_answer(answer: Any) -> str:
    text = answer if isinstance(answer, str) else repr(answer)
    return text if len(text) <= 300 else f"{text[:300]}..."
