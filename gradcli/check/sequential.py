"""Is the mean of random samples a known number? A sequential test at a level that holds over all looks and elements.

The number of samples doubles from look to look. At each look, an element's interval of the mean excludes the true value
or contains it. The level is divided equally among all looks and elements (Bonferroni), so that a true value is ever
excluded with at most this probability. This module knows only arrays: no functions, requests or reports.

Three things can make an interval too narrow:

- Samples of one call may depend on each other. Blocks are therefore separate calls, and their means are the independent
  numbers of a t interval.
- Large samples may be rare. The interval is therefore wider by the range term of the empirical Bernstein bound (Maurer
  and Pontil, "Empirical Bernstein bounds and sample variance penalization", COLT 2009, theorem 4).
- The variance may be infinite. Hill's index of the tail shows this, and leaves the element undecided.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

BLOCKS = 128  # independent means of a t interval, which is 6 % wider than a normal one at a level of 1e-8: a choice
LEAST_ROWS = 32  # samples in each block at the first look: a choice
BERNSTEIN = 7 / 3  # factor of the range term, by Maurer and Pontil
INFINITE = 2.1  # Hill's index up to which the variance counts as infinite; it is infinite below 2 (calibrated)
CARRIES = 0.01  # part of the sum of squares that one sample has if the variance is infinite (calibrated)
FEWEST_LARGE = 32  # least number of largest samples for Hill's index: a choice
FEWEST = 1 << 15  # samples before a look may contradict, unless it is the last: other samples may be rare (calibrated)
FEWEST_CONSTANT = 1 << 16  # samples before constant ones have an interval, for the same reason (calibrated)
MOST_DRAWN_TOGETHER = 1 << 20  # numbers that are drawn together: a choice
SAME_BIAS = 1e-6  # bias, relative to the scale, that does not count: an estimator may compute in float32


@dataclass(frozen=True)
class SamplePlan:
    """How many samples are drawn. rows: in each block at the first look; looks: each doubles the samples."""

    rows: int
    looks: int

    @classmethod
    def of(cls, most: int, least: int = LEAST_ROWS) -> SamplePlan:
        """Return the plan that draws at most `most` samples, or BLOCKS if that is more. least: rows to begin with."""
        rows = max(most // BLOCKS, 1)
        doublings = max((rows // least).bit_length() - 1, 0)
        return cls(rows >> doublings, doublings + 1)

    def rows_at(self, look: int) -> int:
        return self.rows << look

    @property
    def last_rows(self) -> int:
        return self.rows_at(self.looks - 1)

    @property
    def most(self) -> int:
        return BLOCKS * self.last_rows


@dataclass(frozen=True)
class Mean:
    """A mean and what is unknown of it. All arrays have shape (d,); an exact number has no error and no spread.

    error: standard error. spread: range of the samples divided by their number. doubt: half-width of an uncertainty
    that is not random. tail: Hill's index; infinite if no sample carries much of the variance. count: of samples.
    """

    value: np.ndarray
    error: np.ndarray
    spread: np.ndarray
    doubt: np.ndarray
    tail: np.ndarray
    count: int = 0

    @classmethod
    def exact(cls, value: np.ndarray, doubt: np.ndarray) -> Mean:
        nothing = np.zeros(len(value))
        return cls(value, nothing, nothing, doubt, np.full(len(value), np.inf))

    @property
    def deviation(self) -> np.ndarray:
        """The standard deviation of one sample."""
        return self.error * math.sqrt(self.count)


class Blocks:
    """Samples of d quantities, as the means of BLOCKS blocks of equal length.

    groups: quantities that share the range of their samples, as the elements of one input do. rows: samples in each
    block.
    """

    def __init__(self, size: int, most: int, groups: Sequence[slice] = (slice(None),)):
        """size: d. most: how many samples there may be."""
        self.size, self.groups, self.rows = size, groups, 0
        self.means: list[np.ndarray] = []
        self.high, self.low = np.full(size, -np.inf), np.full(size, np.inf)
        self.tail = Tail(size, math.isqrt(most))

    def start_look(self, rows: int) -> int:
        """Prepare for blocks of `rows` samples: as many as before, times a power of 2. Return how many are missing."""
        while 0 < self.rows < rows:
            self.means = [(a + b) / 2 for a, b in zip(self.means[::2], self.means[1::2], strict=True)]
            self.rows *= 2
        self.rows = rows
        return BLOCKS - len(self.means)

    def add(self, *parts: np.ndarray) -> None:
        """Add one block of samples, in parts: (some rows, d) each."""
        self.means.append(np.sum([part.sum(axis=0) for part in parts], axis=0) / self.rows)
        for part in parts:
            self.high = np.maximum(self.high, part.max(axis=0))
            self.low = np.minimum(self.low, part.min(axis=0))
            self.tail.add(part)

    @property
    def count(self) -> int:
        return len(self.means) * self.rows

    @property
    def mean(self) -> Mean:
        means, count, spread = np.array(self.means), self.count, self.high - self.low
        for group in self.groups:
            spread[group] = spread[group].max(initial=0.0)
        error = means.std(axis=0, ddof=1) / math.sqrt(len(means))
        return Mean(means.mean(axis=0), error, spread / count, np.zeros(self.size), self.tail.index(count), count)


class Tail:
    """The samples of d quantities that are furthest from the middle, for Hill's index. most: how many are kept."""

    def __init__(self, size: int, most: int):
        self.most = max(most, FEWEST_LARGE) + 1
        self.middle: np.ndarray | None = None
        self.squares = np.zeros(size)
        self.parts: list[np.ndarray] = []

    def add(self, samples: np.ndarray) -> None:
        if self.middle is None:
            self.middle = np.median(samples, axis=0)
        far = np.abs(samples - self.middle)
        self.squares += (far**2).sum(axis=0)
        self.parts.append(self.largest(far))
        if sum(map(len, self.parts)) > 8 * self.most:
            self.parts = [self.largest(np.concatenate(self.parts))]

    def largest(self, far: np.ndarray, count: int = 0) -> np.ndarray:
        count = count or self.most
        return far if len(far) <= count else np.partition(far, len(far) - count, axis=0)[-count:]

    def index(self, count: int) -> np.ndarray:
        """Return Hill's index, from the sqrt(count) largest distances (Hill, Annals of Statistics 3, 1975): (d,).

        Moments of a higher order than the index are infinite.
        """
        k = max(FEWEST_LARGE, math.isqrt(count))
        top = self.largest(np.concatenate(self.parts), min(k, count - 1) + 1)
        lowest, highest = top.min(axis=0), top.max(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(lowest > 0, np.log(top / lowest), 0.0).sum(axis=0)
            carries = np.where(self.squares > 0, highest**2 / self.squares, 0.0)
            return np.where((logs > 0) & (carries > CARRIES), (len(top) - 1) / logs, np.inf)


def parts_of_draw(rows: int, size: int) -> Iterator[int]:
    """Yield how many samples of `size` numbers to draw together, so that all parts make up `rows`."""
    most = max(MOST_DRAWN_TOGETHER // max(size, 1), 1)
    for start in range(0, rows, most):
        yield min(most, rows - start)


def level_share(level: float, size: int, looks: int) -> float:
    """Return the part of the level for each comparison of an element at a look."""
    return level / max(size * looks, 1)


def half_width(mean: Mean, share: float, other: Mean | None = None) -> np.ndarray:
    """Return the half-width of the interval of a mean, or of the difference of two. share: part of the level for it."""
    from scipy.special import stdtrit

    both = [mean] if other is None else [mean, other]
    error = np.sqrt(np.sum([x.error**2 for x in both], axis=0))
    rest = np.sum([BERNSTEIN * math.log(2 / share) * x.spread + x.doubt for x in both], axis=0)
    return -stdtrit(BLOCKS - 1, share / 2) * error + rest


class Look:
    """What one look sees of each element. All arrays have shape (d,).

    bias: mean minus true value, with its standard error; half_width: of the interval of the bias. scale: what a bias is
    compared with. excluded: the interval excludes 0. heavy: the variance seems infinite, so that no interval holds.
    wrong: excluded at this look and at the one before, with enough samples, or at a last look.
    """

    def __init__(
        self, claimed: Mean, truth: Mean, scale: np.ndarray, share: float, before: Look | None = None, last: bool = True
    ):
        """share: the part of the level for each comparison. before: the look before. last: no other look follows."""
        self.claimed, self.truth, self.scale, self.count = claimed, truth, scale, claimed.count
        self.bias, self.error = claimed.value - truth.value, np.hypot(claimed.error, truth.error)
        width = half_width(claimed, share, truth) + SAME_BIAS * scale
        constant = (claimed.spread == 0) & (claimed.count < FEWEST_CONSTANT)
        self.half_width = np.where(constant | ~np.isfinite(truth.value), np.inf, width)
        self.heavy = np.minimum(claimed.tail, truth.tail) <= INFINITE
        self.excluded = (np.abs(self.bias) > self.half_width) & ~self.heavy
        again = before is not None and before.count >= FEWEST
        self.wrong = self.excluded & (last | (before.excluded if again and before is not None else False))

    @property
    def bound(self) -> np.ndarray:
        """The largest bias that the interval contains."""
        return np.abs(self.bias) + self.half_width

    def within(self, part: float) -> np.ndarray:
        """Report which elements have no bias above a part of their scale."""
        return ~self.heavy & (self.bound <= part * self.scale)
