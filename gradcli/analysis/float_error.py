"""How many digits of a program's value and gradient are right: floating point against 50 digits and more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mpmath
import numpy as np

from ..exact.multiprecision import Multiprecision
from ..exact.record import exactly
from ..program.base import Program
from .digits import gradient_at
from .gradient import Request, compute_gradient

DIGITS = (50, 80, 160, 320, 640, 1280)
"""Two in a row that agree to 25 digits are right; after a cancellation it takes more than 50."""
ENOUGH = 640
"""Only from here on is 0 believed: derivatives by differences do not see what is far smaller than the value."""
POINTS = 49
WIDE = 100.0
"""From this ratio of its ends on, the points of a range grow by a factor."""
NEAREST = 1e-12
"""The share of a range's longer side at which its points come closest to a zero inside it."""
Numbers = dict[str, np.ndarray]


class Exactness:
    """The right values and gradients of a program at points along one input, to compare others with."""

    def __init__(self, program: Program, given: Mapping[str, Any], name: str, x: np.ndarray, request: Request):
        self.given = given
        self.name = name
        self.x = x
        self.request = request
        info = np.finfo(x.dtype)
        self.full = float(-np.log10(info.eps / 2))
        self.smallest, self.largest = float(info.smallest_subnormal), float(info.max)
        self.found = [self.find_right(program, float(at)) for at in x]

    def values(self, at: float) -> dict[str, Any]:
        return {**self.given, self.name: np.asarray(at, self.x.dtype)}

    def find_right(self, program: Program, at: float) -> tuple[np.ndarray, Numbers] | None:
        """Return the value and the gradients at a point, to 25 digits; None where there are none."""
        before = None
        for digits in DIGITS:
            field = Multiprecision(digits, decimal=False)
            with exactly(field):
                now = gradient_at(program, self.values(at), self.request, field)[:2]
            agree = before is not None and all(map(all_same, arrays_of(before), arrays_of(now)))
            if agree and (digits >= ENOUGH or all(np.all(part) for part in arrays_of(now))):
                return now
            before = now
        return None

    def count_digits(self, program: Program) -> tuple[np.ndarray, Numbers]:
        """Return the right digits of a program's value and gradients at each point."""
        value = np.full(len(self.x), np.nan)
        gradients: Numbers = {}
        for i, (at, right) in enumerate(zip(self.x, self.found, strict=True)):
            if right is None:
                continue
            computed = compute_gradient(program, self.values(float(at)), self.request)
            value[i] = self.digits(computed.value, right[0])
            for item in computed.inputs:
                column = gradients.setdefault(item.name, np.full(len(self.x), np.nan))
                column[i] = self.digits(item.grad, right[1][item.name])
        return value, gradients

    def digits(self, computed: Any, right: Any) -> float:
        """Return the right digits of the worst element of an array; nan where there is nothing to compare with."""
        pairs = zip(np.ravel(computed).tolist(), np.ravel(right).tolist(), strict=True)
        return float(min((self.digits_of_one(a, b) for a, b in pairs), default=self.full))

    def digits_of_one(self, computed: complex, right: Any) -> float:
        """Return how many digits of a number are right, at most those of the type.

        What is beyond the largest number is rightly inf, what is below the smallest rightly 0.
        """
        mp = getattr(right, "context", mpmath.mp)  # a rule may put a plain 0 into an array of exact numbers
        right = mp.mpmathify(right)
        if not mp.isfinite(right):
            return np.nan
        if not np.isfinite(computed):
            return self.full if abs(right) > self.largest and np.sign(computed) == int(mp.sign(right)) else 0.0
        error = abs(mp.mpmathify(computed) - right)
        if 2 * error <= self.smallest:
            return self.full
        return min(max(float(-mp.log10(error / abs(right))), 0.0), self.full) if right else 0.0


def arrays_of(numbers: tuple[np.ndarray, Numbers]) -> list[np.ndarray]:
    return [numbers[0], *numbers[1].values()]


def all_same(x: np.ndarray, better: np.ndarray) -> bool:
    """Return whether numbers have 25 right digits."""
    return all(same(a, b) for a, b in zip(np.ravel(x).tolist(), np.ravel(better).tolist(), strict=True))


def same(x: Any, better: Any) -> bool:
    """Return whether a number agrees with a better one to 25 digits."""
    mp = getattr(better, "context", mpmath.mp)
    if not (mp.isfinite(x) and mp.isfinite(better)):
        return bool(mp.isnan(x) and mp.isnan(better)) or x == better
    return abs(x - better) <= abs(better) * mp.mpf(10) ** -25


def points_between(low: float, high: float, count: int, dtype: Any) -> np.ndarray:
    """Return points of a range: evenly spaced; growing by a factor over a wide one; and away from a zero inside.

    Both ends are among them.
    """
    if low <= 0 <= high:
        ends = [end for end in (low, high) if end]
        near = max(2 * count // 3 // len(ends), 1)
        parts = [np.sign(end) * np.geomspace(abs(end), NEAREST * max(-low, high), near) for end in ends]
        zero = [0.0][: count - near * len(ends)]
        x = np.concatenate([*parts, zero, np.linspace(low, high, count - near * len(ends) + 1)[1:-1]])
    elif max(low / high, high / low) >= WIDE:
        x = np.geomspace(low, high, count)
    else:
        x = np.linspace(low, high, count)
    return np.unique(x.astype(dtype))
