"""A retraction of the user: retract(x, d) returns the point that the move d leads to, and x itself for d = 0."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..errors import GradcliError
from .manifold import ON_MANIFOLD, Manifold, bad_point

ROMBERG_STEPS = (0.02, 0.01, 0.005, 0.0025)  # of central differences, extrapolated (Romberg): a choice


@dataclass(frozen=True)
class Custom(Manifold):
    """dimension: the number of coordinates, None before it is known from the width of a claim."""

    name: str
    function: Callable
    dimension: int | None = None

    def with_dimension(self, n: int) -> Custom:
        return replace(self, dimension=n)

    def refuse(self, x: np.ndarray, name: str) -> None:
        if self.dimension is None:
            return
        same = self.retract(x, np.zeros(self.dimension))
        if same.shape != x.shape:
            raise bad_point(name, f"has shape {x.shape}, but {self.name} returns shape {same.shape}")
        off = float(np.abs(same - x).max(initial=0.0))
        if not off <= ON_MANIFOLD * max(1.0, float(np.abs(x).max(initial=0.0))):
            raise bad_point(name, f"is not on the manifold: {self.name} changes it by {off:.2g} for a tangent of 0")

    def nearest(self, x: np.ndarray) -> np.ndarray:
        return x

    def tangent_shape(self, x: np.ndarray) -> tuple[int, ...]:
        assert self.dimension is not None
        return (self.dimension,)

    def sizes(self, x: np.ndarray) -> np.ndarray:
        return np.ones(self.tangent_shape(x), x.dtype)

    def retract(self, x: np.ndarray, d: np.ndarray) -> np.ndarray:
        try:
            return np.asarray(self.function(x.copy(), d.copy()), x.dtype)
        except Exception as error:
            raise GradcliError(f"{self.name} raised {type(error).__name__}: {error}", kind="value") from error

    def local(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        message = f"{self.name} is a retraction, and out cannot have a retraction"
        raise GradcliError(message, hint="name a manifold, such as SE3", kind="value")

    def change(self, x: np.ndarray, d: np.ndarray) -> np.ndarray:
        """Return the derivative of the entries of retract(x, d) by d: (x.size, dimension)."""
        columns = []
        for unit in np.eye(d.size):
            table = [
                (self.retract(x, d + h * unit) - self.retract(x, d - h * unit)).reshape(-1) / (2 * h)
                for h in ROMBERG_STEPS
            ]
            for k in range(1, len(ROMBERG_STEPS)):
                table = [(4**k * b - a) / (4**k - 1) for a, b in itertools.pairwise(table)]
            columns.append(table[0])
        return np.stack(columns, -1).astype(float)

    def differential(self, x: np.ndarray, d: np.ndarray) -> np.ndarray:
        """Return the matrix M: a small change e of d moves retract(x, d) by M e."""
        there = self.change(self.retract(x, d), np.zeros_like(d))
        return np.linalg.lstsq(there, self.change(x, d), rcond=None)[0]

    def pull(self, x: np.ndarray, d: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return rows @ self.differential(x, d)

    def push(self, x: np.ndarray, d: np.ndarray, change: np.ndarray) -> np.ndarray:
        return self.differential(x, d) @ change

    def by_entries(self, x: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return rows.reshape((len(rows), -1)) @ self.change(x, np.zeros(self.tangent_shape(x)))

    def entries(self, x: np.ndarray, d: np.ndarray) -> np.ndarray:
        return (self.change(x, np.zeros_like(d)) @ d).reshape(x.shape)

    @property
    def describes(self) -> str:
        return f"{self.name}(x, d)"
