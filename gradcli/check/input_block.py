"""One input's block of the Jacobian, claimed and numeric, here and at other points: what a hypothesis must explain."""

from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from ..program.claim import Arrays, CallError, OutOfCallsError, nearby_point
from .estimate import FIRST, Estimate, estimate
from .fit import QUICK, Fit, fit
from .flat import Flat
from .probe import FAIL_CALLS
from .sampler import Line, Sampler
from .verdict import FAIL, MARGIN, Judgement

LEFT_OVER = 0.1  # the part of a wrong element's difference that a pattern may leave: a choice
FEWEST_ELSEWHERE, MOST_ELSEWHERE = 2, 6  # elements of an input that are estimated at another point: a choice
PARTS_OF_OUTPUT = {"": "", "re": "the real part of ", "im": "the imaginary part of "}

Expected = Callable[["InputBlock"], np.ndarray]
Point = tuple[Flat, np.ndarray]  # the function at another point, and what is claimed there


class Hypothesis(NamedTuple):
    """What was mistaken. expected: what is claimed then, made of the derivative: (rows, elements), or broadcast."""

    kind: str
    text: str
    expected: Expected


class InputBlock:
    """One input's block at one point: claimed a and reference r, as (rows, elements), with the room that errors leave.

    wrong: which elements are wrong at the checked point; rows: which rows of the claim these are. at: all inputs; f0:
    the output, as a real vector; x: the input, as one. others: the same at other points.
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
        self.sampled = 0  # how many elements of a large input were estimated, where these are a sample
        self.columns: Any = slice(None)  # the elements of the input that the numbers belong to
        self.reductions: dict[tuple[str, Callable], np.ndarray] = {}

    @functools.cached_property
    def others(self) -> list[InputBlock]:
        return [] if self.elsewhere is None else self.elsewhere.blocks(self, self.elsewhere.points)

    def thin(self, columns: np.ndarray) -> InputBlock:
        """Return the same for some elements: what is computed of a million others takes minutes."""
        thin = copy.copy(self)
        thin.a, thin.r, thin.error, thin.wrong = (x[:, columns] for x in (self.a, self.r, self.error, self.wrong))
        thin.x, thin.columns = self.x[columns], columns
        return thin

    def reduced(self, name: str, reduce: Callable) -> np.ndarray:
        """Return the sum or the norm of an input, computed once: many hypotheses ask for that of a million elements."""
        if (name, reduce) not in self.reductions:
            self.reductions[name, reduce] = np.asarray(reduce(self.at[name]))
        return self.reductions[name, reduce]

    def moved_to(self, at: Arrays) -> list[InputBlock]:
        """Return the same with other inputs, if the function and the claim have values there."""
        return [] if self.elsewhere is None else self.elsewhere.blocks(self, self.elsewhere.at_point(at))

    @property
    def whole(self) -> bool:
        """Whether rows are outputs, and not combinations."""
        return len(self.a) == len(self.f0)

    @functools.cached_property
    def typical(self) -> float:
        """The relative error of most reference values, with room."""
        relative = self.error[self.known] / np.abs(self.r[self.known])
        return 3 * MARGIN * float(np.quantile(relative, 0.9)) if relative.size else 0.0

    def room(self, expected: np.ndarray) -> np.ndarray:
        """Return how far claimed values may be from expected ones that were made of reference values.

        What is left of a wrong element's difference is small compared with it.
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
        """Return a claim that is as expected where it is wrong here, and right in other elements known here."""
        return lambda at: np.where(self.wrong, expected(at), np.where(np.isfinite(self.r), at.r, np.nan))

    @property
    def is_right(self) -> bool:
        """Whether what is known of the reference is claimed."""
        known = np.isfinite(self.r)
        return bool((np.abs(self.a - self.r) <= 1e-6 * np.abs(self.r) + MARGIN * self.error)[known].all())

    @property
    def changes(self) -> bool | None:
        """Whether the derivative is another one at other points; None if nothing can be compared."""
        found = [
            (np.abs(other.r - self.r) > MARGIN * (other.error + self.error))[known].any()
            for other in self.others
            if (known := np.isfinite(other.r) & np.isfinite(self.r)).any()
        ]
        return any(found) if found else None

    @functools.cached_property
    def unexplainable(self) -> bool:
        """Whether an element is wrong within its reference's interval, or without one."""
        held = np.isfinite(self.r) & (np.abs(self.a - self.r) > MARGIN * self.error)
        return bool((self.wrong & ~held & np.isfinite(self.a)).any())

    @property
    def known(self) -> np.ndarray:
        """Where the reference is there and not lost in its error."""
        return np.isfinite(self.r) & np.isfinite(self.a) & (np.abs(self.r) > 10 * MARGIN * self.error)


def blocks_of(judgement: Judgement) -> list[InputBlock]:
    """Return the block of each input at the checked point; of combinations of outputs, the worst one."""
    elsewhere, flat, blocks = Elsewhere(judgement), judgement.flat, []
    for k in range(len(flat.claim.wrt)):
        columns, rows = flat.columns(k), slice(None)
        if not judgement.rows.single:  # one combination shows what the others do
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
        """Another point; two where the derivative has few elements."""
        claim, found = self.flat.claim, []
        wanted = 2 if self.rows.claimed.size <= 2 else 1
        for sign in (1, -1, 0.1, -0.1) if self.rows.known else ():
            found += self.at_point({name: moved(x, sign) for name, x in claim.at.items() if x.dtype.kind in "fc"})
            if len(found) == wanted:
                break
        return found

    def at_point(self, at: Arrays) -> list[Point]:
        """Return the function and the claimed rows with other inputs, if there are any."""
        try:
            flat = Flat(self.flat.claim.moved(at))
            claimed = self.rows.at(flat.claim.at)
        except (CallError, OutOfCallsError):
            return []
        usable = flat.out_shape == self.flat.out_shape and np.isfinite(flat.f0).all() and np.isfinite(claimed).any()
        return [(flat, claimed)] if usable else []

    def blocks(self, block: InputBlock, points: list[Point]) -> list[InputBlock]:
        """Return the block of an input at other points, with a part of its elements estimated."""
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
    """Return the numeric derivative by some elements, with its errors: (rows, elements) each, nan where not known."""
    count, elements = len(sampler.flat.f0) if weights is None else len(weights), list(elements)
    value, error = (np.full((count, len(elements)), np.nan) for _ in range(2))
    with contextlib.suppress(OutOfCallsError):
        for place, i in enumerate(elements):
            slopes, scale = slopes_of(sampler.element(i, weights)), sampler.flat.scales[i]
            if slopes is not None:
                known = slopes.known if isinstance(slopes, Estimate) else np.isfinite(slopes.error)
                value[:, place] = np.where(known, slopes.value, np.nan) / scale
                error[:, place] = slopes.error / scale
    return value, error


def quick_slopes(line: Line) -> Fit | None:
    return fit(line, FIRST, QUICK)


def moved(x: np.ndarray, sign: float) -> np.ndarray:
    """Return an input at some distance, no two elements of it by the same part."""
    parts = 1 + np.modf(0.618 * np.arange(x.size))[0].reshape(x.shape)
    with np.errstate(invalid="ignore"):
        return np.asarray(x + sign * (nearby_point({"": x})[""] - x) * parts, x.dtype)


def spread(places: np.ndarray, count: int) -> np.ndarray:
    return places if len(places) <= count else places[np.linspace(0, len(places) - 1, count).astype(int)]
