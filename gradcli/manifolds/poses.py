"""SE3: poses, as 4x4 or 3x4 matrices, or as 7 numbers: position and quaternion.

The tangent is (translation, rotation), unless rotation comes first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .groups import TO_XYZW, XYZW, Group, by_units, refuse_quaternion, refuse_rotation
from .manifold import ON_MANIFOLD, SIDES, bad_point
from .rotations import (
    exp_matrix,
    exp_quaternion,
    hat,
    left_jacobian,
    log_quaternion,
    matrix_of,
    multiply_quaternions,
    nearest_rotation,
    quaternion_of,
    squared_norm,
    translation_factor,
)

SE3_WORDS = (
    *("right", "left", "split", "split-left", "rotation-first", "translation-first"),
    *("wxyz", "xyzw", "quaternion-first", "padded"),
)


@dataclass(frozen=True)
class SE3(Group):
    """Poses: 4x4 or 3x4 matrices, or position and quaternion."""

    dimension = 6
    symbol = "T"

    def refuse_shape(self, x: np.ndarray, name: str) -> None:
        if x.ndim >= 2 and x.shape[-2:] in ((4, 4), (3, 4)):
            if self.words & {"xyzw", "wxyz", "quaternion-first"}:
                raise bad_point(name, f"has shape {x.shape}; {self.name} takes 7 numbers, position and quaternion")
            return
        if x.ndim < 1 or x.shape[-1] != 7:
            shapes = "matrices, of shape (4, 4), (3, 4) or (N, 4, 4), or 7 numbers, position and quaternion"
            raise bad_point(name, f"has shape {x.shape}; SE3 takes {shapes}")

    def refuse_numbers(self, x: np.ndarray, name: str) -> None:
        if not self.is_matrix(x):
            refuse_quaternion(self.quaternion(x), name)
            return
        refuse_rotation(x[..., :3, :3], name)
        if x.shape[-2] == 4 and np.abs(x[..., 3, :] - [0, 0, 0, 1]).max() > ON_MANIFOLD:
            raise bad_point(name, "is not a pose: its last row must be 0, 0, 0, 1", "transpose it if t is in that row")

    def formed(self, x: np.ndarray) -> np.ndarray:
        return x.reshape((-1, 4)) if x.shape in ((12,), (16,)) else x

    def is_matrix(self, x: np.ndarray) -> bool:
        """Whether points are matrices; 7 numbers otherwise. A batch of 7 matrices has more axes than one of numbers."""
        return x.ndim >= 2 and x.shape[-2:] in ((4, 4), (3, 4))

    def nearest(self, x: np.ndarray) -> np.ndarray:
        if not self.is_matrix(x):
            q = self.quaternion(x)
            return self.joined(x, q / np.sqrt(squared_norm(q))[..., None], self.translation(x))
        return self.joined(x, nearest_rotation(x[..., :3, :3]), x[..., :3, 3])

    def batch(self, x: np.ndarray) -> tuple[int, ...]:
        return x.shape[:-2] if self.is_matrix(x) else x.shape[:-1]

    def quaternion(self, x: np.ndarray) -> np.ndarray:
        """Return the quaternion w, x, y, z of a pose of 7 numbers."""
        q = x[..., :4] if "quaternion-first" in self.words else x[..., 3:]
        return q[..., XYZW] if "xyzw" in self.words else q

    def translation(self, x: np.ndarray) -> np.ndarray:
        if self.is_matrix(x):
            return x[..., :3, 3]
        return x[..., 4:] if "quaternion-first" in self.words else x[..., :3]

    def rotation(self, x: np.ndarray) -> np.ndarray:
        return x[..., :3, :3] if self.is_matrix(x) else matrix_of(self.quaternion(x))

    def joined(self, like: np.ndarray, rotation: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Return a pose from its rotation (as a matrix or a quaternion, as in `like`) and translation."""
        if not self.is_matrix(like):
            q = rotation[..., TO_XYZW] if "xyzw" in self.words else rotation
            return np.concatenate([q, t] if "quaternion-first" in self.words else [t, q], axis=-1)
        top = np.concatenate([rotation, t[..., None]], axis=-1)
        if like.shape[-2] == 3:
            return top
        last = np.broadcast_to(np.array([0, 0, 0, 1], top.dtype), (*top.shape[:-2], 1, 4))
        return np.concatenate([top, last], axis=-2)

    def parts(self, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the translation and the rotation of a move."""
        return (d[..., 3:], d[..., :3]) if self.rotation_first else (d[..., :3], d[..., 3:])

    def move(self, v: np.ndarray, w: np.ndarray) -> np.ndarray:
        return np.concatenate([w, v] if self.rotation_first else [v, w], axis=-1)

    def sizes(self, x: np.ndarray) -> np.ndarray:
        t = self.translation(x)
        size = np.sqrt(squared_norm(t))[..., None]
        return self.move(np.broadcast_to(np.where(size > 0, size, 1), t.shape), np.ones_like(t))

    def retract(self, x: np.ndarray, d: np.ndarray) -> np.ndarray:
        v, w = self.parts(d)
        t, R = self.translation(x), self.rotation(x)
        turned = self.turned(x, w)
        match self.side:
            case "right":
                return self.joined(x, turned, t + apply_matrix(R @ translation_factor(w), v))
            case "left":
                return self.joined(x, turned, apply_matrix(exp_matrix(w), t) + apply_matrix(translation_factor(w), v))
            case _:
                return self.joined(x, turned, t + v)

    def turned(self, x: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return the rotation of x, as a matrix or a quaternion, after a rotation by w on its side."""
        on_left = self.side in ("left", "split-left")
        if self.is_matrix(x):
            R = x[..., :3, :3]
            return exp_matrix(w) @ R if on_left else R @ exp_matrix(w)
        q = self.quaternion(x)
        return multiply_quaternions(exp_quaternion(w), q) if on_left else multiply_quaternions(q, exp_quaternion(w))

    def local(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        R, S, t, u = self.rotation(x), self.rotation(y), self.translation(x), self.translation(y)
        back = np.swapaxes(R, -1, -2)
        on_left = self.side in ("left", "split-left")
        turn = S @ back if on_left else back @ S
        w = log_quaternion(quaternion_of(turn))
        if self.side.startswith("split"):
            return self.move(u - t, w)
        shift = u - apply_matrix(turn, t) if on_left else apply_matrix(back, u - t)
        v = np.linalg.solve(translation_factor(w).astype(float), shift.astype(float)[..., None])[..., 0]
        return self.move(v, w)

    def differential(self, d: np.ndarray) -> np.ndarray:
        _, w = self.parts(d)
        match self.side:
            case "right":
                return left_jacobian(-self.ad(d))
            case "left":
                return left_jacobian(self.ad(d))
            case side:
                turn = translation_factor(w if side == "split-left" else -w)
                return self.blocks(np.broadcast_to(np.eye(3), turn.shape), np.zeros_like(turn), turn)

    def blocks(self, translation: np.ndarray, mixed: np.ndarray, rotation: np.ndarray) -> np.ndarray:
        """Return the matrix (translation, mixed; 0, rotation) on (v, w), in the order of this convention's parts."""
        zero = np.zeros_like(rotation)
        if self.rotation_first:
            return stack_blocks(rotation, zero, mixed, translation)
        return stack_blocks(translation, mixed, zero, rotation)

    def ad(self, d: np.ndarray) -> np.ndarray:
        v, w = self.parts(d)
        return self.blocks(hat(w), hat(v), hat(w))

    def from_right(self, x: np.ndarray) -> np.ndarray:
        R, t = self.rotation(x).astype(float), self.translation(x).astype(float)
        zero, one = np.zeros_like(R), np.broadcast_to(np.eye(3), R.shape)
        match self.side:
            case "left":
                return self.blocks(R, hat(t) @ R, R)
            case "split":
                return self.blocks(R, zero, one)
            case "split-left":
                return self.blocks(R, zero, R)
            case _:
                return self.blocks(one, zero, one)

    def entries(self, x: np.ndarray, d: np.ndarray) -> np.ndarray:
        v, w = self.parts(d)
        R, t = self.rotation(x), self.translation(x)
        on_left = self.side in ("left", "split-left")
        shift = {"right": apply_matrix(R, v), "left": v + np.cross(w, t)}.get(self.side, v)
        if self.is_matrix(x):
            turn = hat(w) @ R if on_left else R @ hat(w)
        else:
            q, pure = self.quaternion(x), np.concatenate([np.zeros_like(w[..., :1]), w / 2], axis=-1)
            turn = multiply_quaternions(pure, q) if on_left else multiply_quaternions(q, pure)
        moved = self.joined(x, turn, shift)
        if self.is_matrix(x) and x.shape[-2] == 4:
            moved[..., 3, :] = 0
        return moved

    def by_entries(self, x: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return by_units(self, x, rows, x.ndim)

    @property
    def describes(self) -> str:
        acts = {"right": "T exp(d)", "left": "exp(d) T", "split": "R exp(w), t + v", "split-left": "exp(w) R, t + v"}
        return acts[self.side]

    def map_text(self, symbol: str) -> str:
        blocks = {"left": "Ad(T)", "split": "diag(R, I)", "split-left": "diag(R, R)"}
        if self.rotation_first:
            blocks["split"] = "diag(I, R)"
        return blocks.get(self.side, "")

    def others(self) -> list[Group]:
        return [self.with_side(side) for side in SIDES if side != self.side]

    def swaps(self) -> list[tuple[str, np.ndarray, str]]:
        order = "(translation, rotation)" if self.rotation_first else "(rotation, translation)"
        permutation = np.eye(6)[[3, 4, 5, 0, 1, 2]]
        return [(f"the tangent in the order {order}", permutation, "swap its two blocks of three columns")]

    def rotation_part(self) -> np.ndarray:
        first = np.arange(6) < 3
        return first if self.rotation_first else ~first


def apply_matrix(M: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return M v for each point of a batch."""
    return (M @ v[..., None])[..., 0]


def stack_blocks(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Return the matrices of the blocks (a, b; c, d)."""
    return np.concatenate([np.concatenate([a, b], axis=-1), np.concatenate([c, d], axis=-1)], axis=-2)
