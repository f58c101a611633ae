"""A bank of gradients with proven labels: right ones that are hard to confirm, and wrong ones.

Every function is given twice: in NumPy, as a user would write it, and in mpmath, whose 50-digit derivative proves
the label.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import mpmath as mp
import numpy as np

DIGITS = 50
RIGHT_WITHIN = 2e-9
WRONG_FROM = 1e-6


class Case:
    """A function of one vector, its gradient in NumPy, and the function of mpmath numbers."""

    def __init__(self, name: str, f: Callable, grad: Callable, exact: Callable, x: Any, within: float = RIGHT_WITHIN):
        self.name, self.f, self.grad, self.exact = name, f, grad, exact
        self.x = np.asarray(x)
        self.within = within

    def true_gradient(self, places: list[int] | None = None) -> dict[int, mp.mpf]:
        """Return the exact partial derivatives at some places (all unless given)."""
        with mp.workdps(DIGITS):
            x = [mp.mpf(float(v)) for v in self.x]
            return {
                i: mp.diff(
                    lambda t, i=i: self.exact([*x[:i], t, *x[i + 1 :]]), x[i], h=abs(x[i]) * mp.mpf(10) ** -20 or None
                )
                if x[i]
                else mp.diff(lambda t, i=i: self.exact([*x[:i], t, *x[i + 1 :]]), x[i])
                for i in (places if places is not None else range(len(x)))
            }


def total(phi: Callable) -> Callable:
    """Return the sum of a function over a list."""
    return lambda xs: mp.fsum(phi(x) for x in xs)


RNG = np.random.default_rng(20)
NORMAL = RNG.normal(size=6)
SMALL = np.array([0.3, -1.2, 2.5])
ELEMENTWISE: list[tuple[str, Callable, Callable, Callable, list]] = [
    ("sin", np.sin, np.cos, mp.sin, [SMALL, SMALL * 1e-6, 1e3 + SMALL, 1e6 + SMALL]),
    ("exp", np.exp, np.exp, mp.exp, [SMALL, SMALL * 1e-8, -20 + SMALL, 30 * SMALL]),
    (
        "cube",
        lambda x: x**3,
        lambda x: 3 * x**2,
        lambda x: x**3,
        [SMALL, 1e-8 * SMALL, 1e8 * SMALL, np.array([1e-8, 1.0, 1e8])],
    ),
    ("log", np.log, lambda x: 1 / x, mp.log, [np.array([1e-12, 1.0, 1e10]), np.array([0.5, 3.0, 1e-300])]),
    ("log1p", np.log1p, lambda x: 1 / (1 + x), mp.log1p, [SMALL**2, 1e-9 * SMALL**2, np.array([-0.999999, 2.0])]),
    ("expm1", np.expm1, np.exp, mp.expm1, [SMALL * 1e-7, SMALL]),
    ("sqrt", np.sqrt, lambda x: 0.5 / np.sqrt(x), mp.sqrt, [np.array([1e-10, 2.0, 1e12]), np.array([4.0, 1e-20])]),
    ("tanh", np.tanh, lambda x: 1 / np.cosh(x) ** 2, mp.tanh, [SMALL, SMALL * 1e-5]),
    (
        "sigmoid",
        lambda x: 1 / (1 + np.exp(-x)),
        lambda x: np.exp(-abs(x)) / (1 + np.exp(-abs(x))) ** 2,
        lambda x: 1 / (1 + mp.exp(-x)),
        [SMALL, 3 * SMALL, -10 + SMALL],
    ),
    (
        "softplus",
        lambda x: np.logaddexp(0, x),
        lambda x: 1 / (1 + np.exp(-x)),
        lambda x: mp.log1p(mp.exp(x)),
        [SMALL, -30 + SMALL, 40 + SMALL],
    ),
    ("arctan", np.arctan, lambda x: 1 / (1 + x**2), mp.atan, [SMALL, 100 * SMALL]),
    ("arcsin", np.arcsin, lambda x: 1 / np.sqrt((1 - x) * (1 + x)), mp.asin, [np.array([1 - 1e-6, 0.2, -1 + 1e-4])]),
    ("reciprocal", lambda x: 1 / x, lambda x: -1 / x**2, lambda x: 1 / x, [SMALL, 1e-8 * SMALL, 1e8 * SMALL]),
    (
        "gauss",
        lambda x: np.exp(-(x**2) / 2),
        lambda x: -x * np.exp(-(x**2) / 2),
        lambda x: mp.exp(-(x**2) / 2),
        [SMALL, 4 + SMALL / 3],
    ),
    ("power", lambda x: x**2.5, lambda x: 2.5 * x**1.5, lambda x: x ** mp.mpf(2.5), [SMALL**2, 1e-6 * SMALL**2]),
    (
        "wave",
        lambda x: np.sin(100 * x),
        lambda x: 100 * np.cos(100 * x),
        lambda x: mp.sin(100 * x),
        [SMALL, 0.01 * SMALL],
    ),
    (
        "xlogx",
        lambda x: x * np.log(x),
        lambda x: np.log(x) + 1,
        lambda x: x * mp.log(x),
        [SMALL**2, np.array([1e-8, 0.9])],
    ),
    ("cosh", np.cosh, np.sinh, mp.cosh, [SMALL, 10 * SMALL]),
    (
        "narrow",
        lambda x: x + 0.01 * np.tanh(1e3 * (x - 0.5)),
        lambda x: 1 + 10 / np.cosh(1e3 * (x - 0.5)) ** 2,
        lambda x: x + mp.mpf(0.01) * mp.tanh(1000 * (x - mp.mpf(0.5))),
        [np.array([0.5004, 0.4, 0.502])],
    ),
    ("abs", np.abs, np.sign, abs, [SMALL, np.array([1e-9, -1e-7, 3.0])]),
    (
        "hinge",
        lambda x: np.maximum(1 - x, 0),
        lambda x: -1.0 * (x < 1),
        lambda x: max(1 - x, mp.mpf(0)),
        [np.array([1 - 1e-6, 1 + 1e-7, 0.0, 3.0]), np.array([1 - 1e-9, 5.0])],
    ),
    (
        "stairs",
        lambda x: np.floor(x) + x**2,
        lambda x: 2 * x,
        lambda x: mp.floor(x) + x**2,
        [np.array([0.5, 3.0001, -1.7])],
    ),
    (
        "sinc",
        lambda x: np.sin(x) / x,
        lambda x: (x * np.cos(x) - np.sin(x)) / x**2,
        lambda x: mp.sin(x) / x,
        [SMALL, 10 * SMALL],
    ),
    (
        "smooth step",
        lambda x: x * x * (3 - 2 * x),
        lambda x: 6 * x * (1 - x),
        lambda x: x * x * (3 - 2 * x),
        [np.array([0.1, 0.4, 0.9])],
    ),
]
OFFSETS = (1e3, 1e5)


def coupled() -> Iterator[Case]:
    """Yield functions whose inputs meet."""
    for scale in (1e-6, 1.0, 1e6):
        x = scale * np.array([1.2, -0.7, 0.4, 2.2])
        yield Case(
            f"rosenbrock at {scale:g}",
            lambda x, s=scale: (100 * (x[1:] / s - (x[:-1] / s) ** 2) ** 2 + (1 - x[:-1] / s) ** 2).sum(),
            lambda x, s=scale: rosenbrock_gradient(x / s) / s,
            lambda xs, s=scale: mp.fsum(
                100 * (b / mp.mpf(s) - (a / mp.mpf(s)) ** 2) ** 2 + (1 - a / mp.mpf(s)) ** 2 for a, b in pairwise(xs)
            ),
            x,
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
        np.array([3e-7, 4e-7, -1e-6]),
    )
    yield Case("product", np.prod, lambda x: np.prod(x) / x, mp.fprod, np.array([1e-5, 2.0, 1e5, -3.0]))
    yield Case("largest", np.max, lambda x: 1.0 * (x == x.max()), max, np.array([0.3, 1.0, 1.0 - 1e-6]))
    yield Case(
        "sorted",
        lambda x: (np.sort(x) * np.arange(5)).sum(),
        lambda x: 1.0 * np.argsort(np.argsort(x)),
        lambda xs: mp.fsum(i * x for i, x in enumerate(sorted(xs))),
        np.array([0.3, -1.0, 2.0, 0.30001, 9.0]),
    )
    yield Case(
        "variance",
        lambda x: ((x - x.mean()) ** 2).mean(),
        lambda x: 2 * (x - x.mean()) / len(x),
        lambda xs: mp.fsum((x - mp.fsum(xs) / len(xs)) ** 2 for x in xs) / len(xs),
        10 + NORMAL,
    )
    big = np.random.default_rng(4).uniform(0.5, 2.0, 1000)
    yield Case("thousand", lambda x: (x**3).sum(), lambda x: 3 * x**2, lambda xs: mp.fsum(x**3 for x in xs), big)


def rosenbrock_gradient(x: np.ndarray) -> np.ndarray:
    """The gradient of Rosenbrock's function."""
    grad = np.zeros_like(x)
    grad[:-1] = -400 * x[:-1] * (x[1:] - x[:-1] ** 2) - 2 * (1 - x[:-1])
    grad[1:] += 200 * (x[1:] - x[:-1] ** 2)
    return grad


def right_cases() -> list[Case]:
    """Return all functions with their right gradients."""
    found = []
    for name, f, slope, exact, points in ELEMENTWISE:
        for k, x in enumerate(points):
            found.append(Case(f"{name} {k}", lambda x, f=f: f(x).sum(), slope, total(exact), x))
            for offset in OFFSETS[: 1 if k else 2]:
                if k == 0:
                    found.append(
                        Case(
                            f"{name} beside {offset:g}",
                            lambda x, f=f, c=offset: c + f(x).sum(),
                            slope,
                            total(exact),
                            x,
                        )
                    )
    found += list(coupled())
    return found


def mistakes(case: Case) -> Iterator[tuple[str, Callable]]:
    """Yield wrong gradients of a case: what was done, and the gradient."""
    g = case.grad
    for error in (1e-2, 1e-3, 1e-4, 1e-5, 2e-6):
        yield f"relative error {error:g}", lambda x, e=error: g(x) * (1 + e)
    yield "sign", lambda x: -g(x)
    yield "factor", lambda x: 2 * g(x)
    yield "zero", lambda x: 0 * g(x)
    yield "rolled", lambda x: np.roll(g(x), 1)
    yield "single", lambda x: changed(g(x))
    yield "nan", lambda x: g(x) * np.nan


def changed(g: np.ndarray) -> np.ndarray:
    """Return a gradient with its largest element off by a thousandth."""
    g = np.array(g, float)
    g[np.argmax(np.abs(g))] *= 1.001
    return g


def relative_error(case: Case, grad: Callable, places: list[int] | None = None) -> float:
    """Return the largest relative error of a gradient, proven in high precision; infinite for nan."""
    claimed = np.asarray(grad(case.x), float)
    worst = 0.0
    for i, true in case.true_gradient(places).items():
        if not np.isfinite(claimed[i]):
            return float("inf")
        gap = abs(mp.mpf(float(claimed[i])) - true)
        if gap:
            worst = max(worst, float(gap / abs(true)) if true else float("inf"))
    return worst
