"""Manifolds of arrays with a metric: claims are Riemannian gradients, in the shape of the point.

A move xi is tangent to the manifold. Its coordinates are any array d of the point's shape, and xi is `raised` d. The
derivative by d is then the Riemannian gradient, and a part of a claim that is not tangent differs from it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .manifold import ON_MANIFOLD, Manifold, bad_point


@dataclass(frozen=True)
class Riemannian(Manifold):
    name: str
    words: frozenset[str] = frozenset()

    is_riemannian = True

    def tangent_shape(self, x: np.ndarray) -> tuple[int, ...]:
        return x.shape

    def moves_of(self, x: np.ndarray) -> int:
        return x.size

    def project(self, x: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Return the tangent part of arrays, which may have one more leading axis than x."""
        raise NotImplementedError

    def raised(self, x: np.ndarray, d: np.ndarray) -> np.ndarray:
        """Return the Riemannian gradient whose Euclidean gradient is d."""
        return self.project(x, d)

    def lowered(self, x: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Return an array whose product with a tangent is that of g in the metric. g: tangent."""
        return g

    def step(self, x: np.ndarray, xi: np.ndarray) -> np.ndarray:
        """Return the point that a tangent leads to."""
        raise NotImplementedError

    def step_forward(self, x: np.ndarray, xi: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Return the change of step(x, xi) with xi."""
        raise NotImplementedError

    def step_back(self, x: np.ndarray, xi: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Return the adjoint of `step_forward`, which is often the same map."""
        return self.step_forward(x, xi, g)

    def retract(self, x: np.ndarray, d: np.ndarray) -> np.ndarray:
        return self.step(x, self.raised(x, d))

    def local(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return y

    def pull(self, x: np.ndarray, d: np.ndarray, rows: np.ndarray) -> np.ndarray:
        xi = self.raised(x, d)
        there = self.step(x, xi)
        tangent = self.project(there, rows)
        return self.raised(x, self.step_back(x, xi, self.lowered(there, tangent))) + (rows - tangent)

    def push(self, x: np.ndarray, d: np.ndarray, change: np.ndarray) -> np.ndarray:
        return self.step_forward(x, self.raised(x, d), self.raised(x, change))

    def by_entries(self, x: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return self.raised(x, rows)

    def entries(self, x: np.ndarray, d: np.ndarray) -> np.ndarray:
        return self.raised(x, d)

    def refuse_shape(self, x: np.ndarray, name: str) -> None:
        if x.ndim < 1 or not x.size:
            raise bad_point(name, f"has shape {x.shape}; {self.name} takes a vector")

    def metrics(self) -> list[Riemannian]:
        """Return the same manifold with its other metrics."""
        return []

    def from_metric(self, other: Riemannian, x: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Return the gradient in this metric from that in another."""
        return self.raised(x, other.lowered(x, g))


@dataclass(frozen=True)
class Sphere(Riemannian):
    """All numbers of an array together have a constant norm, that of the point."""

    axes: tuple[int, ...] | None = None  # of the norm, from the last; None for all of the point

    def sums(self, x: np.ndarray, products: np.ndarray) -> np.ndarray:
        return products.sum(axis=tuple(range(products.ndim - x.ndim, products.ndim)), keepdims=True)

    def refuse_numbers(self, x: np.ndarray, name: str) -> None:
        if not x.any():
            raise bad_point(name, "is the zero vector, which is not on any sphere")

    def nearest(self, x: np.ndarray) -> np.ndarray:
        return x / np.sqrt(self.sums(x, x * x))

    def sizes(self, x: np.ndarray) -> np.ndarray:
        square = self.sums(x, x * x)
        return np.broadcast_to(np.sqrt(square * (square.size / x.size)), x.shape).astype(x.dtype)

    def project(self, x: np.ndarray, g: np.ndarray) -> np.ndarray:
        return g - x * (self.sums(x, x * g) / self.sums(x, x * x))

    def step(self, x: np.ndarray, xi: np.ndarray) -> np.ndarray:
        y = x + xi
        return y * np.sqrt(self.sums(x, x * x) / self.sums(x, y * y))

    def step_forward(self, x: np.ndarray, xi: np.ndarray, change: np.ndarray) -> np.ndarray:
        y = x + xi
        return self.project(y, change) * np.sqrt(self.sums(x, x * x) / self.sums(x, y * y))

    @property
    def describes(self) -> str:
        return "|x| (x + d) / |x + d|"


@dataclass(frozen=True)
class Unit(Sphere):
    """Each vector along the last axis has norm 1."""

    def sums(self, x: np.ndarray, products: np.ndarray) -> np.ndarray:
        return products.sum(axis=-1, keepdims=True)

    def moves_of(self, x: np.ndarray) -> int:
        return x.shape[-1]

    def refuse_numbers(self, x: np.ndarray, name: str) -> None:
        norms = np.sqrt(np.sum(x.astype(float) ** 2, axis=-1))
        bad = np.abs(norms - 1) > ON_MANIFOLD
        if not bad.any():
            return
        place = np.unravel_index(int(np.argmax(np.abs(norms - 1))), bad.shape)
        which = f"{list(map(int, place))} " if place else ""
        hint = "--on x=sphere takes vectors of any norm" if norms[place] else None
        raise bad_point(name, f"{which}is not a unit vector: its norm is {norms[place]:.9g}", hint)

    @property
    def describes(self) -> str:
        return "(x + d) / |x + d|"


def transposed(x: np.ndarray) -> np.ndarray:
    return np.swapaxes(x, -1, -2)


def symmetric(x: np.ndarray) -> np.ndarray:
    return (x + transposed(x)) / 2


@dataclass(frozen=True)
class Stiefel(Riemannian):
    """Matrices with orthonormal columns, with the Euclidean or the canonical metric."""

    @property
    def canonical(self) -> bool:
        return "canonical" in self.words

    def refuse_shape(self, x: np.ndarray, name: str) -> None:
        if x.ndim < 2 or x.shape[-2] < x.shape[-1] or not x.size:
            raise bad_point(name, f"has shape {x.shape}; stiefel takes matrices with at least as many rows as columns")

    def refuse_numbers(self, x: np.ndarray, name: str) -> None:
        off = np.abs(transposed(x) @ x - np.eye(x.shape[-1])).max()
        if off > ON_MANIFOLD:
            hint = "numpy.linalg.qr(X)[0] has orthonormal columns" if x.ndim == 2 else None
            raise bad_point(name, f"is not on stiefel: X^T X differs from the identity by {off:.2g}", hint)

    def nearest(self, x: np.ndarray) -> np.ndarray:
        u, _, vt = np.linalg.svd(x, full_matrices=False)
        return u @ vt

    def sizes(self, x: np.ndarray) -> np.ndarray:
        return np.full(x.shape, x.shape[-2] ** -0.5, x.dtype)

    def project(self, x: np.ndarray, g: np.ndarray) -> np.ndarray:
        return g - x @ symmetric(transposed(x) @ g)

    def raised(self, x: np.ndarray, d: np.ndarray) -> np.ndarray:
        return d - x @ (transposed(d) @ x) if self.canonical else self.project(x, d)

    def lowered(self, x: np.ndarray, g: np.ndarray) -> np.ndarray:
        return g - x @ (transposed(x) @ g) / 2 if self.canonical else g

    def step(self, x: np.ndarray, xi: np.ndarray) -> np.ndarray:
        """Return the orthonormal matrix closest to x + xi."""
        y = x + xi
        values, vectors = np.linalg.eigh((transposed(y) @ y).astype(float))
        y = y @ ((vectors / np.sqrt(values)[..., None, :]) @ transposed(vectors)).astype(y.dtype)
        for _ in range(2):  # Newton's steps give all digits of wider types
            y = y @ (3 * np.eye(y.shape[-1], dtype=y.dtype) - transposed(y) @ y) / 2
        return y

    def step_forward(self, x: np.ndarray, xi: np.ndarray, change: np.ndarray) -> np.ndarray:
        u, s, vt = np.linalg.svd((x + xi).astype(float), full_matrices=False)
        inner = transposed(u) @ change @ transposed(vt)
        turn = (inner - transposed(inner)) / (s[..., :, None] + s[..., None, :])
        outer = (change - u @ (transposed(u) @ change)) @ transposed(vt) / s[..., None, :] @ vt
        return u @ turn @ vt + outer

    def metrics(self) -> list[Riemannian]:
        return [Stiefel("stiefel")] if self.canonical else [Stiefel("stiefel:canonical", frozenset({"canonical"}))]

    @property
    def describes(self) -> str:
        return f"the {'canonical' if self.canonical else 'Euclidean'} metric"


@dataclass(frozen=True)
class SPD(Riemannian):
    """Symmetric positive definite matrices, in the affine-invariant metric tr(X^-1 A X^-1 B) or the Euclidean one."""

    @property
    def euclidean(self) -> bool:
        return "euclidean" in self.words

    def refuse_shape(self, x: np.ndarray, name: str) -> None:
        if x.ndim < 2 or x.shape[-2] != x.shape[-1] or not x.size:
            raise bad_point(name, f"has shape {x.shape}; spd takes square matrices")

    def refuse_numbers(self, x: np.ndarray, name: str) -> None:
        off = np.abs(x - transposed(x)).max() / np.abs(x).max()
        if off > ON_MANIFOLD:
            raise bad_point(name, f"is not symmetric: X and X^T differ by {off:.2g} of the largest element")
        least = np.linalg.eigvalsh(x.astype(float)).min()
        if least <= 0:
            raise bad_point(name, f"is not positive definite: its smallest eigenvalue is {least:.3g}")

    def nearest(self, x: np.ndarray) -> np.ndarray:
        return x @ transposed(x) + np.eye(x.shape[-1])

    def sizes(self, x: np.ndarray) -> np.ndarray:
        values = np.linalg.eigvalsh(x.astype(float))
        size = values[..., 0] if self.euclidean else 1 / values[..., -1]
        return np.broadcast_to(size[..., None, None] / x.shape[-1], x.shape).astype(x.dtype)

    def project(self, x: np.ndarray, g: np.ndarray) -> np.ndarray:
        return symmetric(g)

    def raised(self, x: np.ndarray, d: np.ndarray) -> np.ndarray:
        return symmetric(d) if self.euclidean else x @ symmetric(d) @ x

    def lowered(self, x: np.ndarray, g: np.ndarray) -> np.ndarray:
        if self.euclidean:
            return g
        back = self.inverse(x)
        return back @ g @ back

    def inverse(self, x: np.ndarray) -> np.ndarray:
        return np.linalg.inv(x.astype(float)).astype(x.dtype)

    def step(self, x: np.ndarray, xi: np.ndarray) -> np.ndarray:
        """Return x + xi + xi x^-1 xi / 2, which is positive definite for any symmetric xi."""
        return x + xi + symmetric(xi @ self.inverse(x) @ xi) / 2

    def step_forward(self, x: np.ndarray, xi: np.ndarray, change: np.ndarray) -> np.ndarray:
        return change + symmetric(change @ self.inverse(x) @ xi)

    def step_back(self, x: np.ndarray, xi: np.ndarray, g: np.ndarray) -> np.ndarray:
        return g + symmetric(g @ xi @ self.inverse(x))

    def metrics(self) -> list[Riemannian]:
        return [SPD("spd")] if self.euclidean else [SPD("spd:euclidean", frozenset({"euclidean"}))]

    @property
    def describes(self) -> str:
        return f"the {'Euclidean' if self.euclidean else 'affine-invariant'} metric"


METRICS: dict[type, tuple[str, ...]] = {Stiefel: ("euclidean", "canonical"), SPD: ("affine-invariant", "euclidean")}
"""The metrics of a manifold by name, the usual one first."""
