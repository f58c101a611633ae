"""Numeric derivatives of a function at a point, with their errors, and reasons where there is none."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..claims.claim import CallError, Claim
from ..claims.hand_written import claim_by_hand
from ..numeric.estimate import Estimate
from ..numeric.flat import Flat
from ..numeric.sampler import Sampler
from ..program.arguments import as_array, free_inputs
from ..results.base import label
from .slopes import bends, estimate_row, slopes

MOST_NOTED = 3  # elements without a derivative that the notes describe


class Differentiator:
    """Computes numeric derivatives of a claim's function at its point."""

    def __init__(self, claim: Claim):
        self.claim = claim
        self.flat = Flat(claim)
        self.sampler = Sampler(self.flat)
        self.missing: list[str] = []

    def along_elements(self, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives of the outputs, or of combinations of them, by each element, and errors: (R, n)."""
        columns = [self.slopes_by(i, weights) for i in range(self.flat.size)]
        rows = len(self.flat.f0) if weights is None else len(weights)
        shape = (len(columns), rows)
        return tuple(np.reshape([column[k] for column in columns], shape).T for k in (0, 1))  # type: ignore[return-value]

    def slopes_by(self, i: int, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        self.claim.progress.report_progress("input element", i, self.flat.size)
        count = len(self.flat.f0) if weights is None else len(weights)
        if self.flat.fixed[i]:
            self.miss(i, "it is not finite")
            return np.full(count, np.nan), np.full(count, np.inf)
        found, scale = slopes(self.sampler.element(i, weights)), self.flat.scales[i]
        return self.known(found, scale, lambda why: self.miss(i, why))

    def along(self, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives of all outputs along a direction, and their errors."""
        moved = direction != 0
        if not moved.any():
            return np.zeros(len(self.flat.f0)), np.zeros(len(self.flat.f0))
        scale = float(np.min(self.flat.scales[moved] / np.abs(direction[moved])))
        found = slopes(self.sampler.line(direction * scale))
        return self.known(found, scale, lambda why: self.missing.append(f"along the tangent, {why}"))

    def known(self, found: Estimate, scale: float, miss: Callable[[str], None]) -> tuple[np.ndarray, np.ndarray]:
        """Return slopes and errors by x instead of by t; nan and inf for those that have no single known value."""
        if not np.isfinite(self.flat.f0).all():
            miss("the function is not finite at this point")
        elif not found.known.all():
            miss(describe_unknown(estimate_row(found, int(np.argmin(found.known))), scale))
        value = np.where(found.known, found.value / scale, np.nan)
        return value, np.where(found.known, found.error / scale, np.inf)

    def curvature(self, i: int, j: int) -> tuple[float, float]:
        """Return the second derivative along elements i and j together, in units of their scales, and its error."""
        if self.flat.fixed[[i, j]].any():
            self.miss(i if self.flat.fixed[i] else j, "it is not finite")
            return np.nan, np.inf
        direction = np.zeros(self.flat.size)
        direction[[i, j]] = self.flat.scales[[i, j]]
        line = self.sampler.element(i) if i == j else self.sampler.line(direction)
        (value,), (error,), (kind,) = bends(line)
        if not np.isfinite(error):
            self.miss(i, describe_unknown({"kind": kind}, 1.0), j)
        return float(value), float(error)

    def second(self, diagonal: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return the second derivatives of a single output, and their errors: (n, n), or (n,) for the diagonal."""
        n, scales, done = self.flat.size, self.flat.scales, 0
        own = np.reshape([self.curvature(i, i) for i in range(n)], (n, 2)).T
        if diagonal:
            return own[0] / scales**2, own[1] / scales**2
        value, error = (np.diag(x) for x in own)
        for i in range(n):
            for j in range(i):
                done += 1
                self.claim.progress.report_progress("second derivative", done, n * (n - 1) // 2)
                bend, off = self.curvature(i, j)
                value[i, j] = value[j, i] = (bend - own[0, i] - own[0, j]) / 2
                error[i, j] = error[j, i] = (off + own[1, i] + own[1, j]) / 2
        value[~np.isfinite(error)] = np.nan
        return value / np.outer(scales, scales), error / np.outer(scales, scales)

    def miss(self, i: int, why: str, j: int | None = None) -> None:
        """Note why the derivative by an element, or the second one by elements i and j, is not known."""
        elements = [i] if j is None or j == i else [j, i]
        texts = [f"{label(name, index)}{part and f' ({part})'}" for name, index, part in map(self.flat.label, elements)]
        self.missing.append(f"{'/'.join(texts)}: {why}")

    @property
    def notes(self) -> tuple[str, ...]:
        """Say why elements have no derivative."""
        notes = list(dict.fromkeys(self.missing))
        if self.missing and self.claim.trouble:
            notes.append(f"at a nearby point, {self.claim.trouble}")
        more = len(notes) - MOST_NOTED
        return tuple(notes[:MOST_NOTED] + [f"{more} more elements have no known derivative"] * (more > 0))


def describe_unknown(found: Mapping[str, Any], scale: float) -> str:
    """Say why an element has no known derivative, from a row of an `Estimate`."""
    left, right = (found.get(side, np.nan) / scale for side in ("left", "right"))
    if found["kind"] == "kink":
        sides = f", with slope {left:.6g} on the left and {right:.6g} on the right"
        return f"there is a kink{sides if np.isfinite([left, right]).all() else ''}"
    if found["kind"] == "jump":
        return "the function jumps here"
    if found["kind"] == "edge":
        side, slope = ("left", left) if np.isfinite(left) else ("right", right)
        there = f"; its slope there is {slope:.6g} ± {found['side_error'] / scale:.2g}" if np.isfinite(slope) else ""
        return f"the function is defined only to the {side} of this point{there}"
    return "the values near this point do not determine a derivative"


class NumericDerivative(NamedTuple):
    """The numeric derivative of a function, and its error. Both have the shape of the output, then that of the input.

    With several inputs, both are dicts by name. A derivative that is not known is nan, and its error is infinite.

    .. versionadded:: 0.2.0
    """

    value: Any
    error: Any


def numeric(f: Callable, x: Any) -> NumericDerivative:
    """Return the numeric derivative of f at x, and its error, from values of f alone.

    f: any function of numbers or arrays. x: its argument; or a dict of its arguments by name, in which whole numbers
    stay constant.

    .. versionadded:: 0.2.0
    """
    several = isinstance(x, Mapping)
    at = dict(x) if several else {"x": as_float(x)}
    try:
        differentiate = Differentiator(claim_by_hand(f, at, {}, free_inputs(at, set())))
    except CallError as error:
        raise (error.__cause__ or error) from None
    blocks = [differentiate.flat.blocks(matrix) for matrix in differentiate.along_elements()]
    for note in differentiate.notes:
        warnings.warn(note, RuntimeWarning, stacklevel=3)
    if several:
        return NumericDerivative(*blocks)
    return NumericDerivative(*(block["x"] if block["x"].ndim else block["x"].item() for block in blocks))


def as_float(x: Any) -> Any:
    raw = as_array(x)
    return raw.astype(float) if raw is not None and raw.dtype.kind in "iu" else x
