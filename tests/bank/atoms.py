"""Functions of one variable with their derivatives, written in NumPy as a user would, and in mpmath."""

from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath as mp
import numpy as np
from scipy.special import expit

S = np.array([0.3, -1.2, 2.5])


class Atom(NamedTuple):
    """A function, its derivative in a numerically stable form, and the function for mpmath numbers (None: the same)."""

    value: Callable
    slope: Callable
    exact: Callable | None
    span: tuple[float, float] | None = None
    """Range of arguments in random functions; None if they do not use this atom."""
    points: tuple = ()
    """Points at which the bank checks gradients."""
    kink: float | None = None


def huber(t: Any) -> Any:
    return np.where(np.abs(t) <= 1, 0.5 * t * t, np.abs(t) - 0.5)


ATOMS = {
    "sin": Atom(np.sin, np.cos, mp.sin, (-10, 10), (S, S * 1e-6, 1e3 + S, 1e6 + S)),
    "exp": Atom(np.exp, np.exp, mp.exp, (-30, 30), (S, S * 1e-8, -20 + S, 30 * S)),
    "tanh": Atom(np.tanh, lambda t: 1 / np.cosh(t) ** 2, mp.tanh, (-8, 8), (S, S * 1e-5)),
    "softplus": Atom(
        lambda t: np.logaddexp(0, t), expit, lambda t: mp.log1p(mp.exp(t)), (-30, 40), (S, -30 + S, 40 + S)
    ),
    "logistic": Atom(
        expit, lambda t: expit(t) * expit(-t), lambda t: 1 / (1 + mp.exp(-t)), (-20, 20), (S, 3 * S, -10 + S)
    ),
    "log loss": Atom(lambda t: np.log1p(np.exp(-t)), lambda t: -expit(-t), lambda t: mp.log1p(mp.exp(-t)), (-20, 30)),
    "log": Atom(np.log, lambda t: 1 / t, mp.log, (1e-6, 50), ([1e-12, 1, 1e10], [0.5, 3, 1e-300])),
    "sqrt": Atom(np.sqrt, lambda t: 0.5 / np.sqrt(t), mp.sqrt, (1e-6, 50), ([1e-10, 2, 1e12], [4, 1e-20])),
    "cube": Atom(lambda t: t**3, lambda t: 3 * t * t, None, (-20, 20), (S, 1e-8 * S, 1e8 * S, [1e-8, 1, 1e8])),
    "quartic": Atom(lambda t: t**4 - 2 * t, lambda t: 4 * t**3 - 2, None, (-5, 5)),
    "reciprocal": Atom(lambda t: 1 / t, lambda t: -1 / t**2, None, (0.01, 30), (S, 1e-8 * S, 1e8 * S)),
    "arctan": Atom(np.arctan, lambda t: 1 / (1 + t * t), mp.atan, (-30, 30), (S, 100 * S)),
    "bell": Atom(
        lambda t: np.exp(-t * t / 2),
        lambda t: -t * np.exp(-t * t / 2),
        lambda t: mp.exp(-t * t / 2),
        (-5, 5),
        (S, 4 + S / 3),
    ),
    "wave": Atom(lambda t: np.sin(30 * t), lambda t: 30 * np.cos(30 * t), lambda t: mp.sin(30 * t), (-3, 3)),
    "xlogx": Atom(
        lambda t: t * np.log(t), lambda t: np.log(t) + 1, lambda t: t * mp.log(t), (1e-4, 20), (S**2, [1e-8, 0.9])
    ),
    "relu": Atom(lambda t: np.maximum(t, 0), lambda t: 1.0 * (t > 0), lambda t: max(t, mp.mpf(0)), (-5, 5)),
    "leaky": Atom(
        lambda t: np.where(t > 0, t, 0.1 * t),
        lambda t: np.where(t > 0, 1, 0.1),
        lambda t: t if t > 0 else mp.mpf(0.1) * t,
        (-5, 5),
    ),
    "abs": Atom(np.abs, np.sign, abs, (-5, 5), (S, [1e-9, -1e-7, 3])),
    "huber": Atom(
        huber, lambda t: np.clip(t, -1, 1), lambda t: t * t / 2 if abs(t) <= 1 else abs(t) - mp.mpf(0.5), (-5, 5)
    ),
    "hinge": Atom(
        lambda t: np.maximum(1 - t, 0),
        lambda t: -1.0 * (t < 1),
        lambda t: max(1 - t, mp.mpf(0)),
        (-5, 5),
        ([1 - 1e-6, 1 + 1e-7, 0, 3], [1 - 1e-9, 5]),
        kink=1.0,
    ),
    "distance": Atom(lambda t: abs(t - 1), lambda t: np.sign(t - 1), None, (-5, 5), kink=1.0),
    "clip": Atom(
        lambda t: np.clip(t, -2, 1) ** 2,
        lambda t: 2 * t * ((t > -2) & (t < 1)),
        lambda t: min(max(t, mp.mpf(-2)), mp.mpf(1)) ** 2,
        (-5, 5),
        kink=1.0,
    ),
    "rounded": Atom(lambda t: np.round(np.sin(t), 9), np.cos, mp.sin, (-10, 10)),
    "single": Atom(lambda t: np.float32(np.sin(t)).astype(float), np.cos, mp.sin, (-10, 10)),
    # -- used by the bank, but not by random functions
    "log1p": Atom(np.log1p, lambda t: 1 / (1 + t), mp.log1p, None, (S**2, 1e-9 * S**2, [-0.999999, 2])),
    "expm1": Atom(np.expm1, np.exp, mp.expm1, None, (S * 1e-7, S)),
    "arcsin": Atom(np.arcsin, lambda t: 1 / np.sqrt((1 - t) * (1 + t)), mp.asin, None, ([1 - 1e-6, 0.2, -1 + 1e-4],)),
    "power": Atom(lambda t: t**2.5, lambda t: 2.5 * t**1.5, None, None, (S**2, 1e-6 * S**2)),
    "cosh": Atom(np.cosh, np.sinh, mp.cosh, None, (S, 10 * S)),
    "fast wave": Atom(
        lambda t: np.sin(100 * t), lambda t: 100 * np.cos(100 * t), lambda t: mp.sin(100 * t), None, (S, 0.01 * S)
    ),
    "narrow": Atom(
        lambda t: t + 0.01 * np.tanh(1e3 * (t - 0.5)),
        lambda t: 1 + 10 / np.cosh(1e3 * (t - 0.5)) ** 2,
        lambda t: t + mp.mpf(0.01) * mp.tanh(1000 * (t - mp.mpf(0.5))),
        None,
        ([0.5004, 0.4, 0.502],),
    ),
    "stairs": Atom(
        lambda t: np.floor(t) + t**2, lambda t: 2 * t, lambda t: mp.floor(t) + t**2, None, ([0.5, 3.0001, -1.7],)
    ),
    "sinc": Atom(
        lambda t: np.sin(t) / t,
        lambda t: (t * np.cos(t) - np.sin(t)) / t**2,
        lambda t: mp.sin(t) / t,
        None,
        (S, 10 * S),
    ),
    "smooth step": Atom(lambda t: t * t * (3 - 2 * t), lambda t: 6 * t * (1 - t), None, None, ([0.1, 0.4, 0.9],)),
}
