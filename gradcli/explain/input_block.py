"""One input's block of the Jacobian, claimed and numeric, here and at other points, for hypotheses to explain."""

from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from ..claims.claim import Arrays, CallError, OutOfCallsError, nearby_point
from ..numeric.chain import FIRST
from ..numeric.estimate import Estimate, estimate
from ..numeric.fit import QUICK, Fit, fit
from ..numeric.flat import Flat
from ..numeric.locate import FAIL_CALLS
from ..numeric.sampler import Line, Sampler
from ..numeric.verdict import FAIL, MARGIN, Judgement

LEFT_OVER = 0.1  # fraction of a wrong element's difference that a pattern may leave unexplained: a choice
FEWEST_ELSEWHERE, MOST_ELSEWHERE = 2, 6  # elements of an input to estimate at another point: a choice
PARTS_OF_OUTPUT = {"": "", "re": "the real part of ", "im": "the imaginary part of "}

Expected = Callable[["InputBlock"], np.ndarray]
Point = tuple[Flat, np.ndarray]  # the function at another point, and the claim there


class Hypothesis(NamedTuple):
    """A possible mistake. expected: the claim that it would lead to: (rows, elements), or broadcastable to that."""

    kind: str
    text: str
    expected: Expected


class InputBlock:
    """One input's block at one point: claimed a and reference r, both (rows, elements), and the error of r.

    wrong: mask of elements that are wrong at the checked point; rows: the rows of the claim in the block. at: all
    inputs; f0: the output as a real vector; x: the input as a real vector. others: blocks at other points.
    """

    def __init__(
        self,
        flat: Flat,
        k: int,
        numbers: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
        elsewhere: Elsewhere | None = None,
        rows: slice = slice(None),
    ):
        self.flat, self.k, self.elsewhere, self.rows = flat, k, elsewhere, rows
        self.name, self.array, self.x = flat.claim.wrt[k], flat.arrays[k], flat.parts[k].astype(float)
        self.at, self.f0 = flat.claim.at, flat.f0
        self.a, self.r, self.error, self.wrong = numbers
        self.sampled = 0  # number of elements estimated, if they are a sample of a large input
        self.columns: Any = slice(None)  # the elements of the input that the numbers belong to
        self.reductions: dict[tuple[str, Callable], np.ndarray] = {}

    @functools.cached_property
    def others(self) -> list[InputBlock]:
        return [] if self.elsewhere is None else self.elsewhere.blocks(self, self.elsewhere.points)

    def thin(self, columns: np.ndarray) -> InputBlock:
        """Return the block of some elements only: computing with a million others takes minutes."""
        thin = copy.copy(self)
        thin.a, thin.r, thin.error, thin.wrong = (x[:, columns] for x in (self.a, self.r, self.error, self.wrong))
        thin.x, thin.columns = self.x[columns], columns
        return thin

    def reduced(self, name: str, reduce: Callable) -> np.ndarray:
        """Return the sum or norm of an input, computed once: many hypotheses use that of a million elements."""
        if (name, reduce) not in self.reductions:
            self.reductions[name, reduce] = np.asarray(reduce(self.at[name]))
        return self.reductions[name, reduce]

    def moved_to(self, at: Arrays) -> list[InputBlock]:
        """Return the block at other inputs, in a list; empty if the function or the claim has no value there."""
        return [] if self.elsewhere is None else self.elsewhere.blocks(self, self.elsewhere.at_point(at))

    @property
    def whole(self) -> bool:
        """Whether rows are single outputs rather than combinations."""
        return len(self.a) == len(self.f0)

    @functools.cached_property
    def typical(self) -> float:
        """The relative error of most reference values, with a margin."""
        relative = self.error[self.known] / np.abs(self.r[self.known])
        return 3 * MARGIN * float(np.quantile(relative, 0.9)) if relative.size else 0.0

    def room(self, expected: np.ndarray) -> np.ndarray:
        """Return how far claimed values may be from expected ones, which are computed from reference values.

        For a wrong element, this is a small part of its difference.
        """
        own = np.where(np.isfinite(self.error), self.error, 0.0)
        relative = np.fmax(np.abs(expected), np.abs(self.r)) * (3e-6 + self.typical)
        left = np.where(self.wrong, LEFT_OVER * np.abs(self.a - self.r), np.inf)
        return np.fmin(relative, left) + MARGIN * own + 1e-300

    def explains(self, expected: Expected) -> bool:
        """Return whether the claimed values equal the expected ones, where these are known, here and at other points.

        Nothing explains an element that is wrong at a kink, or where the function has no value.
        """
        if self.unexplainable or not self.agrees(expected):
            return False
        return all(other.agrees(expected) is not False for other in self.others)

    def agrees(self, expected: Expected) -> bool | None:
        """Return whether the claimed values here equal the expected ones; None if nothing can be compared."""
        values = np.broadcast_to(expected(self), self.r.shape)
        known = np.isfinite(self.r) & np.isfinite(values)
        return bool((np.abs(self.a - values) <= self.room(values))[known].all()) if known.any() else None

    def partly(self, expected: Expected) -> Expected:
        """Return expected values for the elements that are wrong here, and right values for the others known here."""
        return lambda at: np.where(self.wrong, expected(at), np.where(np.isfinite(self.r), at.r, np.nan))

    @property
    def is_right(self) -> bool:
        """Whether the claim equals the reference wherever that is known."""
        known = np.isfinite(self.r)
        return bool((np.abs(self.a - self.r) <= 1e-6 * np.abs(self.r) + MARGIN * self.error)[known].all())

    @property
    def changes(self) -> bool | None:
        """Whether the derivative differs at other points; None if nothing can be compared."""
        found = [
            (np.abs(other.r - self.r) > MARGIN * (other.error + self.error))[known].any()
            for other in self.others
            if (known := np.isfinite(other.r) & np.isfinite(self.r)).any()
        ]
        return any(found) if found else None

    @functools.cached_property
    def unexplainable(self) -> bool:
        """Whether a wrong element lies in its reference's interval, or has no reference."""
        held = np.isfinite(self.r) & (np.abs(self.a - self.r) > MARGIN * self.error)
        return bool((self.wrong & ~held & np.isfinite(self.a)).any())

    @property
    def known(self) -> np.ndarray:
        """Mask of elements whose reference exists and is well above its error."""
        return np.isfinite(self.r) & np.isfinite(self.a) & (np.abs(self.r) > 10 * MARGIN * self.error)


def blocks_of(judgement: Judgement) -> list[InputBlock]:
    """Return the block of each input at the checked point; if outputs are combined, only the worst combination."""
    elsewhere, flat, blocks = Elsewhere(judgement), judgement.flat, []
    for k in range(len(flat.claim.wrt)):
        columns, rows = flat.columns(k), slice(None)
        if not judgement.rows.single:  # one combination shows the same as the others
            worst = int((judgement.state[:, columns] == FAIL).sum(axis=1).argmax())
            rows = slice(worst, worst + 1)
        state, a, r, error = (
            x[rows, columns] for x in (judgement.state, judgement.claimed, judgement.value, judgement.error)
        )
        block = InputBlock(flat, k, (a, r, error, state == FAIL), elsewhere, rows)
        if judgement.sampled is not None:
            here = int(((judgement.sampled >= columns.start) & (judgement.sampled < columns.stop)).sum())
            block.sampled = here if here < a.shape[1] else 0
        blocks.append(block)
    return blocks


class Elsewhere:
    """The claim, and estimates of the derivative, at other points.

    Inputs that are not differentiated move, too: a forgotten factor may be one of them.
    """

    def __init__(self, judgement: Judgement):
        self.flat, self.rows = judgement.flat, judgement.rows
        self.failed = (judgement.state == FAIL).any(axis=0)

    @functools.cached_property
    def points(self) -> list[Point]:
        """Another point; two if the derivative has few elements."""
        claim, found = self.flat.claim, []
        wanted = 2 if self.rows.claimed.size <= 2 else 1
        for sign in (1, -1, 0.1, -0.1) if self.rows.known else ():
            found += self.at_point({name: moved(x, sign) for name, x in claim.at.items() if x.dtype.kind in "fc"})
            if len(found) == wanted:
                break
        return found

    def at_point(self, at: Arrays) -> list[Point]:
        """Return the function and the claimed rows at other inputs, in a list; empty if they are unusable there."""
        try:
            flat = Flat(self.flat.claim.moved(at))
            claimed = self.rows.at(flat.claim.at)
        except (CallError, OutOfCallsError):
            return []
        usable = flat.out_shape == self.flat.out_shape and np.isfinite(flat.f0).all() and np.isfinite(claimed).any()
        return [(flat, claimed)] if usable else []

    def blocks(self, block: InputBlock, points: list[Point]) -> list[InputBlock]:
        """Return the block of an input at other points, with some of its elements estimated."""
        columns = self.flat.columns(block.k)
        wrong, right = np.flatnonzero(self.failed[columns]), np.flatnonzero(~self.failed[columns])
        affordable = (FAIL_CALLS - self.flat.claim.budget.made) // (2 * QUICK)
        costly = self.flat.claim.capabilities.costly
        count = 3 if costly else int(np.clip(affordable, FEWEST_ELSEWHERE, MOST_ELSEWHERE))
        few = max(count // 4, count - len(wrong))
        chosen = np.concatenate([spread(wrong, count - min(few, len(right))), spread(right, few)])
        found = []
        for flat, claimed in points:
            r, error = estimated_columns(Sampler(flat), columns.start + chosen, self.rows.weights, quick_slopes)
            known, sure = np.full_like(block.r, np.nan), np.full_like(block.r, np.nan)
            known[:, chosen], sure[:, chosen] = r[block.rows], error[block.rows]
            if np.isfinite(r).any():
                found.append(InputBlock(flat, block.k, (claimed[block.rows, columns], known, sure, block.wrong)))
        return found


def estimated_columns(
    sampler: Sampler, elements: Iterable[int], weights: np.ndarray | None, slopes_of: Callable[[Line], Any] = estimate
) -> tuple[np.ndarray, np.ndarray]:
    """Return the numeric derivative by some elements, and its errors: (rows, elements) each; nan if unknown."""
    count, elements = len(sampler.flat.f0) if weights is None else len(weights), list(elements)
    value, error = (np.full((count, len(elements)), np.nan) for _ in range(2))
    with contextlib.suppress(OutOfCallsError):
        for place, i in enumerate(elements):
            if sampler.flat.held[i]:
                continue
            slopes, scale = slopes_of(sampler.element(i, weights)), sampler.flat.scales[i]
            if slopes is not None:
                known = slopes.known if isinstance(slopes, Estimate) else np.isfinite(slopes.error)
                value[:, place] = np.where(known, slopes.value, np.nan) / scale
                error[:, place] = slopes.error / scale
    return value, error


def quick_slopes(line: Line) -> Fit | None:
    return fit(line, FIRST, QUICK)


def moved(x: np.ndarray, sign: float) -> np.ndarray:
    """Return an input moved some distance away, each element by a different fraction."""
    parts = 1 + np.modf(0.618 * np.arange(x.size))[0].reshape(x.shape)
    with np.errstate(invalid="ignore"):
        return np.asarray(x + sign * (nearby_point({"": x})[""] - x) * parts, x.dtype)


def spread(places: np.ndarray, count: int) -> np.ndarray:
    return places if len(places) <= count else places[np.linspace(0, len(places) - 1, count).astype(int)]
