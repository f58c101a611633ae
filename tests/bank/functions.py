"""A bank of gradients with proven labels: right ones that are hard to confirm, and wrong ones.

Every function is given twice: in NumPy, as a user would write it, and in mpmath, whose 50-digit derivative proves
the label.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import mpmath as mp
import numpy as np

from .atoms import ATOMS

DIGITS = 50
RIGHT_WITHIN = 2e-9
WRONG_FROM = 1e-6
OFFSETS = (1e3, 1e5)


class Case:
    """A function of a vector, its gradient in NumPy, and the same function for mpmath numbers."""

    def __init__(self, name: str, f: Callable, grad: Callable, exact: Callable, x: Any):
        self.name, self.f, self.grad, self.exact, self.x = name, f, grad, exact, np.asarray(x, float)

    def true_derivative(self, i: int) -> mp.mpf:
        """Return the partial derivative with respect to x[i], in the current precision of mpmath."""
        x = [mp.mpf(float(v)) for v in self.x]
        step = abs(x[i]) * mp.mpf(10) ** -20 or None
        return mp.diff(lambda t: self.exact([*x[:i], t, *x[i + 1 :]]), x[i], h=step)

    def relative_error(self, grad: Callable) -> float:
        """Return the largest relative error of a gradient, proven in high precision; infinity if it is not finite."""
        claimed = np.asarray(grad(self.x), float)
        worst = 0.0
        with mp.workdps(DIGITS):
            for i in range(len(self.x)) if len(self.x) < 50 else (0, 7, 999):
                if not np.isfinite(claimed[i]):
                    return float("inf")
                true = self.true_derivative(i)
                gap = abs(mp.mpf(float(claimed[i])) - true)
                if gap:
                    worst = max(worst, float(gap / abs(true)) if true else float("inf"))
        return worst


def elementwise() -> Iterator[Case]:
    """Yield sums of atoms; the first of each atom also with offsets."""
    for name, atom in ATOMS.items():
        f, exact = atom.value, atom.exact or atom.value
        for k, x in enumerate(atom.points):
            for c in (0, *(OFFSETS if k == 0 else ())):
                yield Case(
                    f"{name} plus {c:g}" if c else f"{name} {k}",
                    lambda x, f=f, c=c: c + f(x).sum(),
                    atom.slope,
                    lambda xs, exact=exact: mp.fsum(exact(x) for x in xs),
                    x,
                )


def rosenbrock_gradient(x: np.ndarray) -> np.ndarray:
    grad = np.zeros_like(x)
    grad[:-1] = -400 * x[:-1] * (x[1:] - x[:-1] ** 2) - 2 * (1 - x[:-1])
    grad[1:] += 200 * (x[1:] - x[:-1] ** 2)
    return grad


def coupled() -> Iterator[Case]:
    """Yield functions of coupled inputs, and one of a thousand inputs."""
    for scale in (1e-6, 1.0, 1e6):
        yield Case(
            f"rosenbrock at {scale:g}",
            lambda x, s=scale: (100 * (x[1:] / s - (x[:-1] / s) ** 2) ** 2 + (1 - x[:-1] / s) ** 2).sum(),
            lambda x, s=scale: rosenbrock_gradient(x / s) / s,
            lambda xs, s=scale: mp.fsum(
                100 * (b / mp.mpf(s) - (a / mp.mpf(s)) ** 2) ** 2 + (1 - a / mp.mpf(s)) ** 2 for a, b in pairwise(xs)
            ),
            scale * np.array([1.2, -0.7, 0.4, 2.2]),
        )
    for shift in (0.0, 50.0, -700.0):
        yield Case(
            f"logsumexp at {shift:g}",
            lambda x: np.log(np.exp(x - x.max()).sum()) + x.max(),
            lambda x: np.exp(x - x.max()) / np.exp(x - x.max()).sum(),
            lambda xs: mp.log(mp.fsum(mp.exp(x) for x in xs)),
            shift + np.array([0.1, 1.3, -0.4, 0.9]),
        )
    yield Case(
        "norm",
        np.linalg.norm,
        lambda x: x / np.linalg.norm(x),
        lambda xs: mp.sqrt(mp.fsum(x * x for x in xs)),
        [3e-7, 4e-7, -1e-6],
    )
    yield Case("product", np.prod, lambda x: np.prod(x) / x, mp.fprod, [1e-5, 2.0, 1e5, -3.0])
    yield Case("largest", np.max, lambda x: 1.0 * (x == x.max()), max, [0.3, 1.0, 1.0 - 1e-6])
    yield Case(
        "sorted",
        lambda x: (np.sort(x) * np.arange(5)).sum(),
        lambda x: 1.0 * np.argsort(np.argsort(x)),
        lambda xs: mp.fsum(i * x for i, x in enumerate(sorted(xs))),
        [0.3, -1.0, 2.0, 0.30001, 9.0],
    )
    yield Case(
        "variance",
        lambda x: ((x - x.mean()) ** 2).mean(),
        lambda x: 2 * (x - x.mean()) / len(x),
        lambda xs: mp.fsum((x - mp.fsum(xs) / len(xs)) ** 2 for x in xs) / len(xs),
        10 + np.random.default_rng(20).normal(size=6),
    )
    yield Case(
        "thousand",
        lambda x: (x**3).sum(),
        lambda x: 3 * x**2,
        lambda xs: mp.fsum(x**3 for x in xs),
        np.random.default_rng(4).uniform(0.5, 2.0, 1000),
    )


def mistakes(case: Case) -> Iterator[tuple[str, Callable]]:
    """Yield (mistake, wrong gradient) of a case; some are right after all, such as rolled zeros."""
    g = case.grad
    for error in (1e-2, 1e-3, 1e-4, 1e-5, 2e-6):
        yield f"relative error {error:g}", lambda x, e=error: g(x) * (1 + e)
    yield "sign", lambda x: -g(x)
    yield "factor", lambda x: 2 * g(x)
    yield "zero", lambda x: 0 * g(x)
    yield "rolled", lambda x: np.roll(g(x), 1)
    yield "single", lambda x: g(x) * np.where(np.arange(len(x)) == np.argmax(abs(g(x))), 1.001, 1.0)
    yield "nan", lambda x: g(x) * np.nan
