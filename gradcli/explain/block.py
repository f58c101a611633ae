"""One input's block of the Jacobian at one point: the claim, the numeric derivative, and what they show."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..numeric.compare import MARGIN
from ..numeric.flat import Flat, real_view

LEFT_OVER = 0.1  # fraction of a wrong element's difference that a correction may leave: a choice
RELATIVE = 1e-6  # relative error of a corrected claim, whose constants are fitted to numeric derivatives: a choice
CLAIM_UNITS = 100  # the same, in rounding units of the claim: a choice
BEYOND = 10.0  # a claim is refuted only by a difference of this many errors of the numeric derivative: a choice
SURE_ERROR = 1e-4
"""Relative error up to which a numeric derivative is known well enough to fit constants to it: a choice."""
ROUGHLY_KNOWN = 0.1  # the same, to compare a claim with usual multiples of the derivative, such as -1 or 2: a choice
CACHED = ("known", "resolved", "zero", "refuted")


@dataclass(frozen=True)
class Slope:
    """The numeric derivative along a direction of one input: value and error of shape (R,), direction (n,)."""

    direction: np.ndarray
    value: np.ndarray
    error: np.ndarray


class InputBlock:
    """One input's block at one point: claimed a and numeric r, both (R, elements), and the error of r.

    r is nan and the error infinite where the derivative is not known. wrong: mask of elements that are wrong. place:
    the point, which evaluates the claim at other inputs. rows: the rows of the claim in the block. slope: the
    derivative along a random direction, unless every element is known. diagonal: whether the block is the diagonal of
    the Jacobian of an elementwise function, as one row.
    """

    def __init__(
        self,
        flat: Flat,
        k: int,
        claimed: np.ndarray,
        known: tuple[np.ndarray, np.ndarray],
        wrong: np.ndarray | None = None,
        *,
        place: Any = None,
        rows: slice = slice(None),
        slope: Slope | None = None,
        diagonal: bool = False,
    ):
        self.flat, self.k, self.place, self.rows, self.slope, self.diagonal = flat, k, place, rows, slope, diagonal
        self.name, self.array, self.x = flat.claim.wrt[k], flat.arrays[k], flat.parts[k].astype(float)
        self.at, self.f0 = flat.claim.at, flat.f0
        self.a, (self.r, self.error) = claimed, known
        self.wrong = np.zeros(claimed.shape, bool) if wrong is None else wrong
        self.columns: Any = slice(None)  # the elements of the input that the numbers belong to
        self.complete = True  # whether it is known of each element whether it is wrong
        self.reductions: dict[tuple[str, Callable], np.ndarray] = {}

    def thin(self, columns: np.ndarray) -> InputBlock:
        """Return the block of some elements only: computing with a million others takes minutes."""
        thin = copy.copy(self)
        for name in CACHED:
            vars(thin).pop(name, None)
        thin.a, thin.r, thin.error, thin.wrong = (x[:, columns] for x in (self.a, self.r, self.error, self.wrong))
        thin.x, thin.columns = self.x[columns], columns
        return thin

    def numbers_of(self, x: np.ndarray) -> np.ndarray:
        """Return an array of the input's shape by its columns; both parts of a complex element get a real number."""
        if self.array.dtype.kind == "c":
            x = real_view(x) if x.dtype.kind == "c" else np.repeat(x, 2)
        return x.reshape(-1)[self.columns].astype(float)

    def reduced(self, name: str, reduce: Callable) -> np.ndarray:
        """Return the sum or norm of an input, computed once: many hypotheses use that of a million elements."""
        if (name, reduce) not in self.reductions:
            self.reductions[name, reduce] = np.asarray(reduce(self.at[name]))
        return self.reductions[name, reduce]

    def claimed_at(self, **inputs: np.ndarray) -> np.ndarray:
        """Return the claim for these rows and elements at other inputs; nan if there is none."""
        return np.full_like(self.a, np.nan) if self.place is None else self.place.claimed_at(self, inputs)

    @property
    def whole(self) -> bool:
        """Whether rows are single outputs rather than combinations."""
        return self.diagonal or len(self.a) == len(self.f0)

    @property
    def output(self) -> np.ndarray:
        """The output that belongs to each number: broadcastable to (R, elements)."""
        return self.f0[None, self.columns] if self.diagonal else self.f0[:, None]

    @property
    def gap(self) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            return np.abs(self.a - self.r)

    @property
    def unit(self) -> float:
        return CLAIM_UNITS * self.flat.claim_unit

    @functools.cached_property
    def known(self) -> np.ndarray:
        """Mask of elements whose derivative is known well enough, and far enough from 0, to fit constants to it."""
        return self.known_within(SURE_ERROR)

    @functools.cached_property
    def resolved(self) -> np.ndarray:
        """Mask of elements whose derivative is known well enough to show a usual multiple of it."""
        return self.known_within(ROUGHLY_KNOWN)

    def known_within(self, relative: float) -> np.ndarray:
        """Return a mask of elements whose derivative is known to within a relative error, and is not 0."""
        with np.errstate(invalid="ignore"):
            accurate = (self.r != 0) & (MARGIN * self.error <= relative * np.abs(self.r))
            return accurate & np.isfinite(self.r) & np.isfinite(self.a)

    @functools.cached_property
    def zero(self) -> np.ndarray:
        """Mask of elements whose derivative is 0 within an error that is small compared with the claims."""
        size = np.abs(np.where(np.isfinite(self.a), self.a, 0.0))
        largest = np.maximum(size.max(axis=1, keepdims=True), size)
        with np.errstate(invalid="ignore"):
            near = np.abs(self.r) <= MARGIN * self.error + self.unit * largest
            return near & (MARGIN * self.error <= SURE_ERROR * largest) & (largest > 0)

    @functools.cached_property
    def refuted(self) -> np.ndarray:
        """Mask of elements at which the numeric derivative refutes the claim beyond doubt."""
        with np.errstate(invalid="ignore"):
            beyond = self.gap > BEYOND * MARGIN * self.error + self.unit * np.abs(self.a)
        return beyond | (np.isfinite(self.r) & ~np.isfinite(self.a))

    def accepts(self, claim: np.ndarray) -> bool | None:
        """Return whether a corrected claim is right here; None if what is known here does not show that.

        It must equal the numeric derivative wherever that is known, within the error at that very element, and leave
        at most a small part of each wrong element's difference. It counts only if the claim itself is refuted here.
        """
        try:
            claim = np.broadcast_to(claim, self.a.shape)
        except ValueError:  # axes that are exchanged here may have different lengths in another shape
            return None
        with np.errstate(all="ignore"):
            off, size = np.abs(claim - self.r), np.maximum(np.abs(claim), np.abs(self.r))
            tolerance = RELATIVE * size + self.unit * np.abs(self.a)
            tolerance = MARGIN * self.error + np.where(
                self.refuted, np.fmin(tolerance, LEFT_OVER * self.gap), tolerance
            )
            fails = np.isfinite(self.r) & ~(off <= tolerance)
        if fails.any():
            return False
        along = None if self.slope is None else self.accepts_along(claim, self.slope)
        if along is False:
            return False
        return True if along or self.refuted.any() else None

    def accepts_along(self, claim: np.ndarray, slope: Slope) -> bool | None:
        """Return the same as `accepts`, from the derivative along a direction."""
        d = slope.direction
        with np.errstate(all="ignore"):
            moved = d != 0
            here, corrected = self.a[:, moved] @ d[moved], claim[:, moved] @ d[moved]
            size = np.sqrt((claim[:, moved] * d[moved]) ** 2 @ np.ones(moved.sum()))
            own = np.sqrt((self.a[:, moved] * d[moved]) ** 2 @ np.ones(moved.sum()))
            gap, error = np.abs(here - slope.value), MARGIN * slope.error
            tolerance = RELATIVE * np.maximum(size, np.abs(slope.value)) + self.unit * own
            refuted = (gap > BEYOND * error + self.unit * own) | (np.isfinite(slope.value) & ~np.isfinite(here))
            tolerance = error + np.where(refuted, np.fmin(tolerance, LEFT_OVER * gap), tolerance)
            known = np.isfinite(slope.value) & np.isfinite(slope.error)
            if (known & ~(np.abs(corrected - slope.value) <= tolerance)).any():
                return False
        return True if (known & refuted).any() else None
