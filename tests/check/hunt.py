"""Random functions with their right gradients, and claims about them: right, a little off, and absurd.

A function is a weighted sum of atoms of shifted and scaled inputs, on top of an offset, seen from a random point.
Each atom has its derivative beside it, in a form that keeps its digits; `test_hunt.py` proves them against mpmath.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

RELATIVE_ERRORS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
ABSURD = ("1e9", "-1e9", "nan", "inf", "another point")


class Atom(NamedTuple):
    """A function of one number, its derivative, and where its argument may lie."""

    value: Callable
    slope: Callable
    low: float
    high: float
    kind: str = "smooth"
    kink: float | None = None


def huber(t: Any) -> Any:
    return np.where(np.abs(t) <= 1, 0.5 * t * t, np.abs(t) - 0.5)


ATOMS = {
    "sin": Atom(np.sin, np.cos, -10, 10),
    "exp": Atom(np.exp, np.exp, -30, 30),
    "tanh": Atom(np.tanh, lambda t: 1 / np.cosh(t) ** 2, -8, 8),
    "softplus": Atom(lambda t: np.logaddexp(0, t), expit, -30, 40),
    "logistic": Atom(expit, lambda t: expit(t) * expit(-t), -20, 20),
    "log loss": Atom(lambda t: np.log1p(np.exp(-t)), lambda t: -expit(-t), -20, 30),
    "log": Atom(np.log, lambda t: 1 / t, 1e-6, 50),
    "sqrt": Atom(np.sqrt, lambda t: 0.5 / np.sqrt(t), 1e-6, 50),
    "cube": Atom(lambda t: t**3, lambda t: 3 * t * t, -20, 20),
    "quartic": Atom(lambda t: t**4 - 2 * t, lambda t: 4 * t**3 - 2, -5, 5),
    "reciprocal": Atom(lambda t: 1 / t, lambda t: -1 / t**2, 0.01, 30),
    "arctan": Atom(np.arctan, lambda t: 1 / (1 + t * t), -30, 30),
    "bell": Atom(lambda t: np.exp(-t * t / 2), lambda t: -t * np.exp(-t * t / 2), -5, 5),
    "wave": Atom(lambda t: np.sin(30 * t), lambda t: 30 * np.cos(30 * t), -3, 3),
    "xlogx": Atom(lambda t: t * np.log(t), lambda t: np.log(t) + 1, 1e-4, 20),
    "relu": Atom(lambda t: np.maximum(t, 0), lambda t: 1.0 * (t > 0), -5, 5, "kinked"),
    "leaky": Atom(lambda t: np.where(t > 0, t, 0.1 * t), lambda t: np.where(t > 0, 1, 0.1), -5, 5, "kinked"),
    "abs": Atom(np.abs, np.sign, -5, 5, "kinked"),
    "huber": Atom(huber, lambda t: np.clip(t, -1, 1), -5, 5, "kinked"),
    "hinge": Atom(lambda t: np.maximum(1 - t, 0), lambda t: -1.0 * (t < 1), -5, 5, "kinked", 1.0),
    "distance": Atom(lambda t: np.abs(t - 1), lambda t: np.sign(t - 1), -5, 5, "kinked", 1.0),
    "clip": Atom(lambda t: np.clip(t, -2, 1) ** 2, lambda t: 2 * t * ((t > -2) & (t < 1)), -5, 5, "kinked", 1.0),
    "rounded": Atom(lambda t: np.round(np.sin(t), 9), np.cos, -10, 10, "noisy"),
    "single": Atom(lambda t: np.float32(np.sin(t)).astype(float), np.cos, -10, 10, "noisy"),
}


class Function:
    """A random function of a vector: its value, its gradient, a point, and how it was made."""

    def __init__(self, rng: np.random.Generator):
        self.size = int(rng.choice([1, 1, 1, 2, 3, 8]))
        self.names = [str(rng.choice(list(ATOMS))) for _ in range(self.size)]
        self.atoms = [ATOMS[name] for name in self.names]
        self.scale = 10.0 ** rng.uniform(-4, 4, self.size) if rng.random() < 0.5 else np.ones(self.size)
        t = np.array([self.argument(atom, rng) for atom in self.atoms])
        self.x = t / self.scale
        self.offset = float(rng.choice([0, 0, 0, 1, 1e3]))
        self.weight = 10.0 ** rng.uniform(-6, 6) if rng.random() < 0.3 else 1.0
        self.coupled = self.size > 1 and rng.random() < 0.3

    def argument(self, atom: Atom, rng: np.random.Generator) -> float:
        """Return a point of an atom's domain: any size, or close beside its kink."""
        if atom.kink is not None and rng.random() < 0.5:
            return atom.kink + float(rng.choice([-1, 1])) * 10 ** rng.uniform(-9, -0.5)
        low, high = (10 ** rng.uniform(-2, 2) for _ in range(2))
        return rng.uniform(max(atom.low, -low), min(atom.high, high))

    def parts(self, x: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the atoms' values and their derivatives by x."""
        t = self.scale * np.asarray(x, float)
        values = np.array([a.value(s) for a, s in zip(self.atoms, t, strict=True)], float)
        slopes = np.array([a.slope(s) for a, s in zip(self.atoms, t, strict=True)], float)
        return values, slopes * self.scale

    def value(self, x: Any) -> np.float64:
        values, _ = self.parts(x)
        inner = values.sum()
        return self.offset + self.weight * (np.sin(inner) if self.coupled else inner)

    def gradient(self, x: Any) -> np.ndarray:
        values, slopes = self.parts(x)
        return self.weight * slopes * (np.cos(values.sum()) if self.coupled else 1.0)

    @property
    def noisy(self) -> bool:
        return any(a.kind == "noisy" for a in self.atoms)

    def __repr__(self) -> str:
        return (
            f"{'+'.join(self.names)} at t={list(self.scale * self.x)} scale={list(self.scale)} "
            f"offset={self.offset} weight={self.weight} coupled={self.coupled}"
        )


def claims(function: Function, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return claimed gradients by what they are."""
    right = function.gradient(function.x)
    place = int(np.argmax(np.abs(right)))
    found = {"right": right}
    error = float(rng.choice(RELATIVE_ERRORS)) * float(rng.choice([-1, 1]))
    off = right.copy()
    off[place] *= 1 + error
    found[f"off by {abs(error):g}"] = off
    for word in ABSURD[:4]:
        absurd = right.copy()
        absurd[place] = float(word) * (max(1.0, abs(right[place])) if "e9" in word else 1.0)
        found[word] = absurd
    other = function.gradient(function.x * rng.uniform(0.2, 0.9, function.size))
    if np.isfinite(other).all():
        found["another point"] = other
    return found
