"""Numeric derivatives compared: thirteen functions that are hard to differentiate, and four programs that try.

python -m tests.bench_derivatives        prints the table
python -m tests.bench_derivatives FILE   also puts it into a JSON file that `tests.bench` has written

A derivative is right if it is within 1 % of the true one. It is wrong and sure if it is not, and the program reports a
smaller error and no failure. If there is no derivative, only a program that says so is right.
"""

import json
import math
import struct
import sys
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import mpmath
import numpy as np

import gradcli

CLOSE = 0.01  # a derivative within this share of the true one is right
SURE = 10.0  # a result that is off by more than this many of its own errors claims too much


class Hard(NamedTuple):
    """A function, a point, and the same function in many digits; None if it has no derivative there."""

    name: str
    f: Callable[[float], float]
    x: float
    exact: Callable[[Any], Any] | None

    @property
    def true(self) -> float | None:
        if self.exact is None:
            return None
        with mpmath.workdps(60):
            return float(mpmath.diff(self.exact, mpmath.mpf(self.x), h=mpmath.mpf(10) ** -30))


def scatter(x: float) -> float:
    """Return a number in [-1, 1) that looks random, but is always the same for the same x."""
    return zlib.crc32(struct.pack("d", x)) / 2**31 - 1


def in_float32(x: float) -> float:
    return float(np.exp(np.float32(x)) * np.float32(2))


FUNCTIONS = [
    Hard("gamma", math.gamma, 2.5, mpmath.gamma),
    Hard("cancellation", lambda x: (1 - math.cos(x)) / x**2, 1e-4, lambda x: (1 - mpmath.cos(x)) / x**2),
    Hard("next to a pole", lambda x: 1 / (x - 1), 1 + 1e-5, lambda x: 1 / (x - 1)),
    Hard("next to a kink", lambda x: abs(x - 1e-3) + 2 * math.sin(x), 0.0, lambda x: 1e-3 - x + 2 * mpmath.sin(x)),
    Hard("at a kink", lambda x: abs(x) + x, 0.0, None),
    Hard("noise of 1e-8", lambda x: math.sin(x) + 1e-8 * scatter(x), 1.0, mpmath.sin),
    Hard("tiny scale", lambda x: math.sin(1e9 * x), 3e-10, lambda x: mpmath.sin(1e9 * x)),
    Hard("large scale", lambda x: x * math.log(x), 1e12, lambda x: x * mpmath.log(x)),
    Hard("oscillation", lambda x: math.sin(500 * x), 1.0, lambda x: mpmath.sin(500 * x)),
    Hard("next to the end of the domain", lambda x: x * math.sqrt(1 - x), 0.999, lambda x: x * mpmath.sqrt(1 - x)),
    Hard("float32 inside", in_float32, 1.5, lambda x: 2 * mpmath.exp(x)),
    Hard("steep", lambda x: math.exp(300 * x), 1.0, lambda x: mpmath.exp(300 * x)),
    Hard("flat", lambda x: math.exp(-1 / x**2) if x else 0.0, 0.05, lambda x: mpmath.exp(-1 / x**2)),
]


class Found(NamedTuple):
    """A derivative and its error as a program reports them. failed: whether it says that it did not succeed."""

    value: float
    error: float
    failed: bool = False


def by_gradcli(f: Callable, x: float) -> Found:
    return Found(*gradcli.numeric(f, x))


def by_scipy(f: Callable, x: float) -> Found:
    from scipy.differentiate import derivative

    result = derivative(np.vectorize(f, otypes=[float]), x)
    return Found(float(result.df), float(result.error), not result.success)


def by_numdifftools(f: Callable, x: float) -> Found:
    from numdifftools import Derivative

    value, error = Derivative(np.vectorize(f, otypes=[float]), full_output=True)(x)[:2]
    return Found(float(value), float(error))


def by_jacobi(f: Callable, x: float) -> Found:
    from jacobi import jacobi

    value, error = jacobi(lambda t: f(float(np.ravel(t)[0])), x)
    return Found(float(np.ravel(value)[0]), float(np.ravel(error)[0]))


PROGRAMS = {
    "gradcli --numeric": by_gradcli,
    "SciPy differentiate": by_scipy,
    "numdifftools": by_numdifftools,
    "jacobi": by_jacobi,
}


class Counted:
    """A function that counts its calls, and returns nan where it is not defined."""

    def __init__(self, f: Callable):
        self.f, self.calls = f, 0

    def __call__(self, x: float) -> float:
        self.calls += 1
        try:
            return self.f(float(x))
        except (ValueError, OverflowError, ZeroDivisionError):
            return math.nan


def judge(found: Found, true: float | None) -> str:
    """Return right, sure (wrong and sure) or honest (not right, and it says so)."""
    unsure = found.failed or not (math.isfinite(found.value) and math.isfinite(found.error))
    if true is None:
        return "right" if unsure else "sure"
    off = abs(found.value - true)
    if off <= CLOSE * abs(true):
        return "right"
    return "honest" if unsure or off <= SURE * found.error else "sure"


def try_program(derive: Callable) -> list[tuple[str, Found, int]]:
    """Return the verdict, the result and the calls for each function."""
    rows = []
    for hard in FUNCTIONS:
        f = Counted(hard.f)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                found = derive(f, hard.x)
            except Exception:  # a program that raises says that it has no result
                found = Found(math.nan, math.nan, True)
        rows.append((judge(found, hard.true), found, f.calls))
    return rows


def measure() -> list[dict[str, Any]]:
    """Return counts for each program; None for one that is not installed."""
    table = []
    for name, derive in PROGRAMS.items():
        try:
            derive(math.sin, 1.0)  # also loads its package
        except ImportError:
            table.append({"program": name, "counts": None})
            continue
        rows = try_program(derive)
        verdicts = [verdict for verdict, _, _ in rows]
        counts = {verdict: verdicts.count(verdict) for verdict in ("right", "honest", "sure")}
        wrong = [hard.name for hard, verdict in zip(FUNCTIONS, verdicts, strict=True) if verdict == "sure"]
        table.append({"program": name, "counts": {**counts, "calls": sum(n for *_, n in rows), "wrong": wrong}})
    return table


if __name__ == "__main__":
    results = measure()
    for row in results:
        print(row)
    if len(sys.argv) > 1:
        path = Path(sys.argv[1])
        path.write_text(json.dumps({**json.loads(path.read_text()), "derivatives": results}, indent=2) + "\n")
