"""Random functions with their gradients, and claims about them: right, slightly wrong, and absurd.

A function is an offset plus a weighted sum of atoms of scaled inputs (or the sine of the sum), at a random point.
`tests/check/test_bank.py` compares the derivatives of the atoms with mpmath.
"""

from typing import Any

import numpy as np

from .atoms import ATOMS, Atom

RELATIVE_ERRORS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
NAMES = [name for name, atom in ATOMS.items() if atom.span]
ABSURD = ("1e9", "-1e9", "nan", "inf", "another point")


class Function:
    """A random function of a vector: its value, its gradient, a point, and how it was made."""

    def __init__(self, rng: np.random.Generator):
        self.size = int(rng.choice([1, 1, 1, 2, 3, 8]))
        self.names = [str(rng.choice(NAMES)) for _ in range(self.size)]
        self.atoms = [ATOMS[name] for name in self.names]
        self.scale = 10.0 ** rng.uniform(-4, 4, self.size) if rng.random() < 0.5 else np.ones(self.size)
        t = np.array([self.argument(atom, rng) for atom in self.atoms])
        self.x = t / self.scale
        self.offset = float(rng.choice([0, 0, 0, 1, 1e3]))
        self.weight = 10.0 ** rng.uniform(-6, 6) if rng.random() < 0.3 else 1.0
        self.coupled = self.size > 1 and rng.random() < 0.3

    def argument(self, atom: Atom, rng: np.random.Generator) -> float:
        """Return a random argument for an atom: of any magnitude within its span, or close to its kink."""
        if atom.kink is not None and rng.random() < 0.5:
            return atom.kink + float(rng.choice([-1, 1])) * 10 ** rng.uniform(-9, -0.5)
        low, high = (10 ** rng.uniform(-2, 2) for _ in range(2))
        return rng.uniform(max(atom.span[0], -low), min(atom.span[1], high))

    def parts(self, x: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the atoms' values and their derivatives with respect to x."""
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

    def __repr__(self) -> str:
        return (
            f"{'+'.join(self.names)} at t={list(self.scale * self.x)} scale={list(self.scale)} "
            f"offset={self.offset} weight={self.weight} coupled={self.coupled}"
        )


def claims(function: Function, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return claimed gradients by kind."""
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


def passes(function: Function) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return hand-written backward passes and gradients by kind: a label, "right" or "wrong", and the claim.

    Apart from "rough" and "partial", the wrong ones are right at the point for the cotangent 1.
    """
    gradient, x = function.gradient, function.x
    found = {"a right product": ("right", {"vjp": lambda w, x: w * gradient(x)})}
    beside = gradient(x * (1 + 0.01 * np.arange(1, len(x) + 1)))
    if not (np.isfinite(beside).all() and np.isfinite(gradient(x)).all() and gradient(x).any()):
        return found
    found["right for ones only"] = ("wrong", {"vjp": lambda w, x: (w == 1) * gradient(x)})
    found["clipped cotangents"] = ("wrong", {"vjp": lambda w, x: np.clip(w, -5, 5) * gradient(x)})
    found["rounded cotangents"] = ("wrong", {"vjp": lambda w, x: np.round(w) * gradient(x)})
    if np.abs(beside - gradient(x)).max() > 1e-3 * np.abs(gradient(x)).max():
        kept: list[np.ndarray] = []
        found["kept from the first call"] = (
            "wrong",
            {"grad": lambda x: gradient((kept or kept.append(x.copy()) or kept)[0])},
        )
    steep = int(np.argmax(np.abs(gradient(x) * x)))
    found["rough"] = ("wrong", {"grad": lambda x: gradient(x) * (1 + 0.01 * np.sin(1e12 * x + 1))})
    found["partial"] = ("wrong", {"grad": lambda x: np.where(np.arange(len(x)) == steep, 0.0, gradient(x))})
    return found


def product(base: type, wrong: bool) -> Any:
    """Return x * y as an engine's custom Function (base); `wrong` swaps x and y if only one gradient is needed."""

    class Product(base):  # type: ignore[misc, valid-type]
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            first, second = ctx.needs_input_grad
            if wrong and not (first and second):
                x, y = y, x
            return g * y if first else None, g * x if second else None

    return Product.apply


def relative_gap(claimed: np.ndarray, right: np.ndarray) -> float:
    """Return the largest relative error of a claim; infinite if it is nan where the derivative is not."""
    with np.errstate(all="ignore"):
        gap = np.where(np.isnan(claimed) & ~np.isnan(right), np.inf, np.abs(claimed - right))
        return float(np.nanmax(np.where(gap > 0, gap / np.abs(right), 0.0), initial=0.0))


def is_honest(report: Any, size: float) -> bool:
    """Check that a pass mentions a kink or a resolution too coarse to show an error of this size."""
    resolution = max(item.resolution or 0.0 for item in report.inputs)
    return size <= resolution or any("kink" in note for note in report.notes)
