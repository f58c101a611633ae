"""The interface of a manifold."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..errors import GradcliError

ON_MANIFOLD = 1e-6  # a point may be this far from its manifold: float32 and printed digits are not further off
SIDES = ("right", "left", "split", "split-left")  # where a move of a pose acts
SEPARATE = 1e-6  # conventions whose maps differ by less than this at a point agree there


class Convention(NamedTuple):
    """Another way to measure small moves of a point.

    kind: the finding's name if a claim follows it. text: what the claim is then. columns: the matrix K (or one for
    each point of a batch) for which claim = derivative @ K. fix: the map to multiply the claim by.
    """

    kind: str
    text: str
    columns: np.ndarray
    fix: str


class Manifold:
    """A manifold with a convention for its tangents. name: as in --on.

    The coordinates of a move have the shape `tangent_shape(x)` and are 0 at the point x itself.
    """

    name: str
    is_riemannian = False  # whether a claim is a gradient in the shape of the point

    def formed(self, x: np.ndarray) -> np.ndarray:
        """Return a point whose entries are given as a vector in its own shape; any other one unchanged."""
        return x

    def refuse(self, x: np.ndarray, name: str) -> None:
        """Raise GradcliError if x is not a point (or a batch of points) of the manifold. name: of the input."""
        self.refuse_shape(x, name)
        if not np.isfinite(x).all():
            raise bad_point(name, "contains nan or infinity")
        self.refuse_numbers(x, name)

    def refuse_shape(self, x: np.ndarray, name: str) -> None:
        """Raise GradcliError if an array of this shape cannot be a point."""

    def refuse_numbers(self, x: np.ndarray, name: str) -> None:
        """Raise GradcliError if finite numbers in a suitable shape are not those of a point."""
        raise NotImplementedError

    def nearest(self, x: np.ndarray) -> np.ndarray:
        """Return the point that is closest to an array of a suitable shape."""
        raise NotImplementedError

    def tangent_shape(self, x: np.ndarray) -> tuple[int, ...]:
        raise NotImplementedError

    def sizes(self, x: np.ndarray) -> np.ndarray:
        """Return moves that are as large as the point itself, in the shape of its tangents."""
        raise NotImplementedError

    def retract(self, x: np.ndarray, d: np.ndarray) -> np.ndarray:
        """Return the point that the move d leads to."""
        raise NotImplementedError

    def local(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the move that leads from x to y."""
        raise NotImplementedError

    def pull(self, x: np.ndarray, d: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return derivatives by moves of retract(x, d) as derivatives by d. rows: (R, *tangent_shape)."""
        raise NotImplementedError

    def push(self, x: np.ndarray, d: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Return the move of retract(x, d) that a change of d makes."""
        raise NotImplementedError

    def by_entries(self, x: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return derivatives by moves of x for derivatives by its entries. rows: (R, *x.shape)."""
        raise NotImplementedError

    def entries(self, x: np.ndarray, d: np.ndarray) -> np.ndarray:
        """Return how the entries of x change along a small move d."""
        raise NotImplementedError

    def conventions(self, x: np.ndarray) -> list[Convention]:
        """Return the other conventions that a claim may follow."""
        return []

    def moves_of(self, x: np.ndarray) -> int:
        """Return how many coordinates a single point of a batch has."""
        return int(np.prod(self.tangent_shape(x)[-1:]))

    @property
    def describes(self) -> str:
        """How a move acts, such as T exp(d)."""
        return ""


def bad_point(name: str, what: str, hint: str | None = None) -> GradcliError:
    return GradcliError(f"'{name}' {what}", hint=hint, kind="value")
