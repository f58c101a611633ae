"""Lie groups, with the conventions in which programs write their tangents: rotations and unit quaternions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .manifold import ON_MANIFOLD, SIDES, Convention, Manifold, bad_point
from .rotations import (
    conjugate_quaternion,
    exp_matrix,
    exp_quaternion,
    hat,
    log_quaternion,
    matrix_of,
    multiply_quaternions,
    nearest_rotation,
    quaternion_of,
    squared_norm,
    translation_factor,
)

SO3_WORDS = ("right", "left")
QUATERNION_WORDS = ("right", "left", "wxyz", "xyzw", "half-angle", "padded")
XYZW = [3, 0, 1, 2]  # where w, x, y, z are in a quaternion x, y, z, w
TO_XYZW = [1, 2, 3, 0]


@dataclass(frozen=True)
class Group(Manifold):
    """A Lie group, whose points are a rotation, and for SE3 a translation t."""

    name: str
    words: frozenset[str] = frozenset()

    dimension = 3
    symbol = "R"  # a point, in texts

    @property
    def side(self) -> str:
        """Where a move acts: right, left, or on the parts of a pose apart (split, split-left)."""
        return next((side for side in SIDES[1:] if side in self.words), "right")

    @property
    def rotation_first(self) -> bool:
        return "rotation-first" in self.words

    def with_side(self, side: str) -> Group:
        words = frozenset({*self.words.difference(SIDES), side})
        return type(self)(self.name, words)

    def rotation(self, x: np.ndarray) -> np.ndarray:
        """Return the rotation matrix of a point."""
        raise NotImplementedError

    def batch(self, x: np.ndarray) -> tuple[int, ...]:
        raise NotImplementedError

    def tangent_shape(self, x: np.ndarray) -> tuple[int, ...]:
        return (*self.batch(x), self.dimension)

    def sizes(self, x: np.ndarray) -> np.ndarray:
        return np.ones(self.tangent_shape(x), x.dtype)

    def differential(self, d: np.ndarray) -> np.ndarray:
        """Return the matrix M: a small change e of d moves retract(x, d) by M e."""
        return translation_factor(d if self.side == "left" else -d)

    def pull(self, x: np.ndarray, d: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return times_matrix(rows, self.differential(d.astype(float)))

    def push(self, x: np.ndarray, d: np.ndarray, change: np.ndarray) -> np.ndarray:
        return (self.differential(d.astype(float)) @ change[..., None])[..., 0]

    def local_differential(self, v: np.ndarray) -> np.ndarray:
        """Return the matrix that turns a move of y into the change of local(x, y) = v."""
        return np.linalg.inv(self.differential(v.astype(float)))

    def from_right(self, x: np.ndarray) -> np.ndarray:
        """Return the matrix that turns a move R exp(d) into the same move by this convention."""
        R = self.rotation(x).astype(float)
        return R if self.side == "left" else np.broadcast_to(np.eye(3), R.shape)

    def adjoint(self, x: np.ndarray) -> np.ndarray:
        """Return the matrix that turns a move on the right into the same move on the left, in this order of parts."""
        return self.with_side("left").from_right(x)

    def ad(self, d: np.ndarray) -> np.ndarray:
        """Return the matrix of the Lie bracket with d, in this order of parts."""
        return hat(d)

    @property
    def describes(self) -> str:
        return f"exp(d) {self.symbol}" if self.side == "left" else f"{self.symbol} exp(d)"

    def map_text(self, symbol: str) -> str:
        """Return how `from_right` is written, "" for the identity."""
        return symbol if self.side == "left" else ""

    def origin(self) -> np.ndarray:
        """Return the point from which moves are the points themselves: the identity."""
        return np.eye(4) if self.dimension == 6 else np.eye(3)

    def others(self) -> list[Group]:
        """Return the same group with each other place where a move may act."""
        return [self.with_side(side) for side in ("right", "left") if side != self.side]

    def conventions(self, x: np.ndarray) -> list[Convention]:
        own, found = self.from_right(x), []
        for other in self.others():
            columns = own @ np.linalg.inv(other.from_right(x))
            text = f"the Jacobian for {other.words_text}"
            found.append(Convention("perturbation", text, columns, self.fix_from(other)))
        A = self.adjoint(x)
        back = np.linalg.inv(A)
        for power, K in (("Ad", A), ("Ad^2", A @ A), ("Ad^-2", back @ back)):
            if not (power == "Ad" and self.side == "left"):
                text = f"multiplied by {self.adjoint_text} instead of its inverse, or the other way round"
                found.append(Convention("adjoint-not-inverted", text, K, inverse_text(self.adjoint_text, power)))
        return found

    @property
    def adjoint_text(self) -> str:
        return self.symbol if self.dimension == 3 else f"Ad({self.symbol})"

    @property
    def words_text(self) -> str:
        side = {"right": "right perturbations", "left": "left perturbations"}
        return f"{side.get(self.side, 'moves of rotation and translation apart')}, {self.describes}"

    def fix_from(self, other: Group) -> str:
        """Return the map by which the Jacobian of another convention is multiplied to get this one's."""
        theirs, ours = other.map_text(self.symbol), self.map_text(self.symbol)
        return " ".join(filter(None, (theirs, inverted(ours) if ours else "")))

    def swaps(self) -> list[tuple[str, np.ndarray, str]]:
        """Return other orders of the parts of a tangent: what they are, the permutation, and what to do."""
        return []

    def rotation_part(self) -> np.ndarray:
        """Return a mask of the coordinates that are a rotation."""
        return np.ones(3, bool)


def inverted(text: str) -> str:
    return f"{text}^-1"


def inverse_text(adjoint: str, power: str) -> str:
    return {"Ad": f"{adjoint}^-1", "Ad^2": f"{adjoint}^-2", "Ad^-2": f"{adjoint}^2"}[power]


def times_matrix(rows: np.ndarray, M: np.ndarray) -> np.ndarray:
    """Return rows @ M for each point of a batch. rows: (R, *batch, n); M: (*batch, n, n)."""
    return np.einsum("r...i,...ij->r...j", rows, M)


@dataclass(frozen=True)
class SO3(Group):
    """Rotation matrices."""

    def formed(self, x: np.ndarray) -> np.ndarray:
        return x.reshape((3, 3)) if x.shape == (9,) else x

    def refuse_shape(self, x: np.ndarray, name: str) -> None:
        if x.shape[-2:] != (3, 3):
            raise bad_point(name, f"has shape {x.shape}; SO3 takes rotation matrices, of shape (3, 3) or (N, 3, 3)")

    def refuse_numbers(self, x: np.ndarray, name: str) -> None:
        refuse_rotation(x, name)

    def nearest(self, x: np.ndarray) -> np.ndarray:
        return nearest_rotation(x).astype(x.dtype)

    def rotation(self, x: np.ndarray) -> np.ndarray:
        return x

    def batch(self, x: np.ndarray) -> tuple[int, ...]:
        return x.shape[:-2]

    def retract(self, x: np.ndarray, d: np.ndarray) -> np.ndarray:
        return exp_matrix(d) @ x if self.side == "left" else x @ exp_matrix(d)

    def local(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        back = np.swapaxes(x, -1, -2)
        return log_quaternion(quaternion_of(y @ back if self.side == "left" else back @ y))

    def entries(self, x: np.ndarray, d: np.ndarray) -> np.ndarray:
        return hat(d) @ x if self.side == "left" else x @ hat(d)

    def by_entries(self, x: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return by_units(self, x, rows, x.ndim)


def by_units(group: Group, x: np.ndarray, rows: np.ndarray, axes: int) -> np.ndarray:
    """Return products of rows (R, *x.shape) with the change of the entries by each coordinate.

    Padded rows are by the coordinates already, followed by zeros.
    """
    if "padded" in group.words:
        return rows[..., : group.dimension]
    batch = len(group.batch(x))
    found = []
    for unit in np.eye(group.dimension):
        change = group.entries(x, np.broadcast_to(unit, group.tangent_shape(x)))
        found.append((rows * change).reshape((*rows.shape[: 1 + batch], -1)).sum(axis=-1))
    return np.stack(found, -1)


def refuse_rotation(R: np.ndarray, name: str) -> None:
    """Raise GradcliError if matrices are not rotations, with the nearest one."""
    gram = np.swapaxes(R, -1, -2) @ R - np.eye(3)
    off, turned = np.abs(gram).max(axis=(-2, -1)), np.linalg.det(R.astype(float)) < 0
    bad = (off > ON_MANIFOLD) | turned
    if not bad.any():
        return
    place = np.unravel_index(int(np.argmax(np.where(turned, np.inf, off))), bad.shape)
    which = f"{list(map(int, place))} " if place else ""
    what = f"{which}is not a rotation: R^T R differs from the identity by {off[place]:.2g}"
    if turned[place] and off[place] <= ON_MANIFOLD:
        what = f"{which}is a reflection, not a rotation: its determinant is -1"
    near = np.round(nearest_rotation(R[place]), 9) + 0.0
    raise bad_point(name, what, f"the nearest rotation is {near.tolist()}")


def refuse_quaternion(q: np.ndarray, name: str) -> None:
    norms = np.sqrt(squared_norm(q.astype(float)))
    bad = np.abs(norms - 1) > ON_MANIFOLD
    if not bad.any():
        return
    place = np.unravel_index(int(np.argmax(np.abs(norms - 1))), bad.shape)
    which = f"{list(map(int, place))} " if place else ""
    hint = "it is zero" if not norms[place] else f"divide it by its norm: {(q[place] / norms[place]).tolist()}"
    raise bad_point(name, f"{which}is not a unit quaternion: its norm is {norms[place]:.9g}", hint)


@dataclass(frozen=True)
class Quaternion(Group):
    """Unit quaternions w, x, y, z (or x, y, z, w), with three coordinates: an axis times the angle (or half of it)."""

    symbol = "q"

    def origin(self) -> np.ndarray:
        return self.written(np.array([1.0, 0, 0, 0]))

    @property
    def half(self) -> bool:
        return "half-angle" in self.words

    @property
    def factor(self) -> int:
        """By which a coordinate is multiplied to get an angle."""
        return 2 if self.half else 1

    def refuse_shape(self, x: np.ndarray, name: str) -> None:
        if x.ndim < 1 or x.shape[-1] != 4:
            raise bad_point(name, f"has shape {x.shape}; a quaternion has 4 numbers, of shape (4,) or (N, 4)")

    def refuse_numbers(self, x: np.ndarray, name: str) -> None:
        refuse_quaternion(x, name)

    def nearest(self, x: np.ndarray) -> np.ndarray:
        return x / np.sqrt(squared_norm(x))[..., None]

    def batch(self, x: np.ndarray) -> tuple[int, ...]:
        return x.shape[:-1]

    def sizes(self, x: np.ndarray) -> np.ndarray:
        return np.full(self.tangent_shape(x), 1 / self.factor, x.dtype)

    def read(self, x: np.ndarray) -> np.ndarray:
        return x[..., XYZW] if "xyzw" in self.words else x

    def written(self, q: np.ndarray) -> np.ndarray:
        return q[..., TO_XYZW] if "xyzw" in self.words else q

    def rotation(self, x: np.ndarray) -> np.ndarray:
        return matrix_of(self.read(x))

    def retract(self, x: np.ndarray, d: np.ndarray) -> np.ndarray:
        q, moved = self.read(x), exp_quaternion(self.factor * d)
        return self.written(multiply_quaternions(moved, q) if self.side == "left" else multiply_quaternions(q, moved))

    def local(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        back, there = conjugate_quaternion(self.read(x)), self.read(y)
        return (
            log_quaternion(
                multiply_quaternions(there, back) if self.side == "left" else multiply_quaternions(back, there)
            )
            / self.factor
        )

    def differential(self, d: np.ndarray) -> np.ndarray:
        return super().differential(self.factor * d)

    def entries(self, x: np.ndarray, d: np.ndarray) -> np.ndarray:
        q, half = self.read(x), self.factor * d / 2
        pure = np.concatenate([np.zeros_like(half[..., :1]), half], axis=-1)
        return self.written(multiply_quaternions(pure, q) if self.side == "left" else multiply_quaternions(q, pure))

    def by_entries(self, x: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return by_units(self, x, rows, x.ndim)

    @property
    def describes(self) -> str:
        return f"exp(d) {self.symbol}" if self.side == "left" else f"{self.symbol} exp(d)"

    def map_text(self, symbol: str) -> str:
        return "R(q)" if self.side == "left" else ""

    @property
    def adjoint_text(self) -> str:
        return "R(q)"
