"""Functions that run somewhere else as what is checked: the derivative that they give is what is claimed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import EXIT_TARGET, GradcliError
from ..program.elsewhere.base import Elsewhere, ElsewhereError, GoneError
from .subject import CheckError, Subject, WrongShapeError, plain_array


class Claimed(Subject):
    """A function that runs somewhere else; its Jacobian by whichever of its products needs fewer calls."""

    def __init__(self, program: Elsewhere, wrt: Sequence[str] | None = None):
        super().__init__(program.inputs, wrt)
        self.program = program

    @property
    def has_pull(self) -> bool:
        """Whether it gives products with cotangents."""
        return self.program.has_vjp

    def value(self, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the output."""
        try:
            return np.array(plain_array(self.program.value(arrays), self.program.title))
        except ElsewhereError as error:
            raise what_ends(error) from error

    def pull(self, arrays: Mapping[str, np.ndarray], cotangent: np.ndarray) -> dict[str, np.ndarray]:
        """Return the claimed product with a cotangent. Raises WrongShapeError."""
        try:
            found = self.program.vjp(arrays, cotangent)
        except ElsewhereError as error:
            raise what_ends(error) from error
        return {
            name: self.in_shape(found[name], self.at[name].shape, f"the gradient of '{name}'") for name in self.wrt
        }

    def push(self, arrays: Mapping[str, np.ndarray], tangents: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the claimed product with tangents. Raises WrongShapeError."""
        try:
            found = self.program.jvp(arrays, tangents)
        except ElsewhereError as error:
            raise what_ends(error) from error
        return self.in_shape(found, self.value(arrays).shape, "the derivative along a direction")

    def in_shape(self, x: object, shape: tuple[int, ...], what: str) -> np.ndarray:
        """Return an array that must have a shape."""
        raw = plain_array(x, what)
        if raw.shape != shape:
            raise WrongShapeError(f"{what} has shape {raw.shape}; it must have shape {shape}")
        return raw

    def jacobian(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the claimed derivative: real outputs of real inputs, row by row or column by column."""
        out = self.value(arrays)
        columns = sum(self.at[name].size for name in self.wrt)
        if self.program.has_vjp and (out.size <= columns or not self.program.has_jvp):
            rows = [self.pull(arrays, unit) for unit in units(out)]
            return {
                name: np.reshape([row[name] for row in rows], (*out.shape, *self.at[name].shape)) for name in self.wrt
            }
        found = {}
        for name in self.wrt:
            pushed = [self.push(arrays, {name: unit}) for unit in units(self.at[name])]
            whole = np.stack(pushed, -1) if pushed else np.zeros((*out.shape, 0))
            found[name] = whole.reshape((*out.shape, *self.at[name].shape))
        return found


def what_ends(error: ElsewhereError) -> Exception:
    """Return a failed call as what ends a check, or, where something still answers, as a point without a value."""
    if isinstance(error, GoneError):
        return GradcliError(str(error), kind="target", exit_code=EXIT_TARGET)
    return CheckError(str(error))


def units(like: np.ndarray) -> list[np.ndarray]:
    """Return the unit arrays of a shape, in order."""
    return list(np.eye(like.size, dtype=like.dtype).reshape((like.size, *like.shape)))
