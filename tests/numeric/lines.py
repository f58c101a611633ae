"""Samplers, lines, fits and windows of plain functions, for the tests of the numeric core."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.claims.hand_written import claim_by_hand
from gradcli.numeric.fit import Fit
from gradcli.numeric.flat import Flat
from gradcli.numeric.integral import Window
from gradcli.numeric.rows import ClaimedRows
from gradcli.numeric.sampler import Line, Sampler
from gradcli.numeric.verdict import Entries


def sampler_of(f: Callable, x: Any, grad: Callable = np.zeros_like) -> Sampler:
    """Return a sampler of a function of one array, or of a number; ArithmeticError and ValueError become nan.

    Functions of NumPy's numbers are computed in long double, too; those of the module math are not.
    """

    def value(x: np.ndarray) -> Any:
        try:
            out = np.asarray(f(x if x.ndim else x[()]))
            return out if out.dtype.kind == "f" else out.astype(float)
        except (ArithmeticError, ValueError):
            return np.float64(np.nan)

    return Sampler(Flat(claim_by_hand(value, {"x": np.asarray(x, float)}, {"grad": grad}, None, False)))


def line_of(f: Callable, x: Any = 0.0) -> Line:
    """Return the line along a number, in units of 1."""
    return sampler_of(f, x).line(np.ones(1))


def fit_of(
    width: float,
    value: float = 0.0,
    error: float = 0.0,
    noise: float = 0.0,
    constant: bool = False,
    series: tuple[float, ...] = (0.0, 1.0),
) -> Fit:
    """Return a fit of one function, without its points."""
    numbers = (np.array([x]) for x in (value, error, noise, constant))
    return Fit(width, *numbers, np.array(series)[:, None], np.zeros(1), 0)


def entries_of(f: Callable, x: Any, grad: Callable = np.zeros_like) -> Entries:
    """Return the entries of a gradient of a function of one array, before anything is compared."""
    sampler = sampler_of(f, x, grad)
    return Entries(sampler.flat, sampler, ClaimedRows(sampler.flat, np.random.default_rng(0)))


def window(width: float, slope: float = 0.0, error: float = 1e-6, **more: float) -> Window:
    """Return a window on a claim of size 1, which leaves over a slope and otherwise follows the function closely."""
    rest = {"gap": 0.0, "gap_error": 1e-6, "bend": 0.0, "size": 1.0, "tail": 0.0, **more}
    return Window(width, np.array([slope]), np.array([error]), **{key: np.array([x]) for key, x in rest.items()})
