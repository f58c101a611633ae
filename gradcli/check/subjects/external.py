"""Functions that run somewhere else as what is checked: the derivative that they give is what is claimed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from ...errors import EXIT_TARGET, GradcliError
from ...program.elsewhere.base import Elsewhere, ElsewhereError, GoneError, unit_arrays
from ...program.outputs import OutputPart
from .subject import CheckError, Subject, WrongShapeError, plain_array


class Claimed(Subject):
    """A function that runs somewhere else; its Jacobian by whichever of its products needs fewer calls."""

    def __init__(self, program: Elsewhere, wrt: Sequence[str] | None = None):
        super().__init__(program.inputs, wrt)
        self.program = program
        self.notes, self.claim_unit, self.costly = program.notes, program.claim_unit, program.costly
        self.value_unit = program.value_unit
        self.claim_calls = program.runs_for_products
        self.shape: tuple[int, ...] | None = None
        self.calls_before = 0

    @property
    def layout(self) -> tuple[OutputPart, ...]:  # type: ignore[override]
        """The arrays that the output is joined of."""
        return self.program.layout

    @property
    def calls(self) -> int:  # type: ignore[override]
        """How often the function was called; in a framework its products call it, too."""
        return self.program.calls - self.calls_before

    @calls.setter
    def calls(self, count: int) -> None:
        self.calls_before = self.program.calls - count

    def count(self, calls: int = 1) -> None:
        """Raise OutOfCallsError where so many calls are not to be had; the program itself counts them."""
        self.require(calls)

    @property
    def has_pull(self) -> bool:
        """Whether it gives products with cotangents."""
        return self.program.has_vjp

    @property
    def has_push(self) -> bool:
        """Whether it gives products with tangents; a budget of calls is not spent on them beside a vjp."""
        if self.most_calls is not None and self.program.runs_for_products and self.program.has_vjp:
            return False
        return self.program.has_jvp

    def value(self, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the output."""
        self.count()
        with calling():
            out = np.array(plain_array(self.program.value(arrays), self.program.title))
        self.shape = out.shape
        return out

    def pull(self, arrays: Mapping[str, np.ndarray], cotangent: np.ndarray) -> dict[str, np.ndarray]:
        """Return the claimed product with a cotangent. Raises WrongShapeError."""
        return self.pulls(arrays, [cotangent])[0]

    def pulls(
        self, arrays: Mapping[str, np.ndarray], cotangents: Sequence[np.ndarray]
    ) -> list[dict[str, np.ndarray]]:
        """Return the claimed products with several cotangents at one point. Raises WrongShapeError."""
        self.count(self.program.runs_for_products)
        with calling():
            rows = self.program.vjps(arrays, cotangents)
        return [
            {name: self.in_shape(row[name], self.at[name].shape, f"the gradient of '{name}'") for name in self.wrt}
            for row in rows
        ]

    def late_pull(
        self, arrays: Mapping[str, np.ndarray], cotangent: np.ndarray, between: Mapping[str, np.ndarray]
    ) -> dict[str, np.ndarray] | None:
        """Return the claimed product, where the function is called at another point between forward and backward."""
        with calling():
            rows = self.program.late_vjps(arrays, [cotangent], between)
        return None if rows is None else rows[0]

    def push(self, arrays: Mapping[str, np.ndarray], tangents: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the claimed product with tangents. Raises WrongShapeError."""
        self.count(self.program.runs_for_products)
        with calling():
            product = self.program.jvp(arrays, tangents)
        shape = self.output(arrays).shape if self.shape is None else self.shape
        return self.in_shape(product, shape, "the derivative along a direction")

    def in_shape(self, x: object, shape: tuple[int, ...], what: str) -> np.ndarray:
        """Return an array that must have a shape."""
        raw = plain_array(x, what)
        if raw.shape != shape:
            raise WrongShapeError(f"{what} has shape {raw.shape}; it must have shape {shape}")
        return raw

    def jacobian(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the claimed derivative: real outputs of real inputs, row by row or column by column."""
        out = self.output(arrays)
        columns = sum(self.at[name].size for name in self.wrt)
        if self.program.has_vjp and (self.program.reverse or out.size <= columns or not self.program.has_jvp):
            self.claims = "vjp"
            rows = self.pulls(arrays, unit_arrays(out))
            return {
                name: np.reshape([row[name] for row in rows], (*out.shape, *self.at[name].shape)) for name in self.wrt
            }
        blocks = {}
        self.claims = "jvp"
        for name in self.wrt:
            pushed = [self.push(arrays, {name: unit}) for unit in unit_arrays(self.at[name])]
            whole = np.stack(pushed, -1) if pushed else np.zeros((*out.shape, 0))
            blocks[name] = whole.reshape((*out.shape, *self.at[name].shape))
        return blocks

    def blame(self, is_wrong: Callable[[Subject], bool]) -> str | None:
        """Return the first part of the function that is wrong by itself, and its place."""
        for part, place in self.program.parts():
            if is_wrong(Claimed(part)):
                return f"the first wrong part is {part.title}: {place}"
        return None


@contextlib.contextmanager
def calling() -> Iterator[None]:
    """Turn an ElsewhereError inside the block into what ends a check."""
    try:
        yield
    except ElsewhereError as error:
        raise what_ends(error) from error.__cause__


def what_ends(error: ElsewhereError) -> Exception:
    """Return a failed call as what ends a check, or, where something still answers, as a point without a value."""
    if isinstance(error, GoneError):
        return GradcliError(str(error), kind="target", exit_code=EXIT_TARGET)
    return CheckError(str(error))
