"""The search for a point where a claim is wrong: one direction per point filters, the verdict decides."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import numpy as np

from ..results.checks import CheckReport, FoundPoint, InputCheck
from .candidates import Point, candidates, constants_in, constants_of
from .flat import Flat
from .run import Options, Place, run_check
from .shrink import shrink
from .stored import written
from .subject import CheckError, Subject, WrongShapeError, as_point, name_of

WIDE, HALF = 0.05, 0.025
"""Two steps whose slopes are extrapolated, in units of the scale; two more follow from the rounding unit."""
CLOSE = 1e-6
"""The relative difference from a claim that no filter holds against it."""
INFORMED = 1e-2
"""The relative error beyond which a slope says nothing."""
LEAST_JUDGED = 12
"""So many suspicious points are judged, or a tenth of all."""
LEAST_CALLS, MOST_CALLS = 10_000, 150
"""Calls of the function for verdicts on suspicious points that all pass: at least, and per point of the search."""
DIRECTIONS = 3
KNOWN = 0.02
"""The relative error of a reference that knows a slope."""
CLEARLY = 5.0
"""How many times its error a claim must be off to be accused at one of many points."""
MATTERS = 1e-4
"""A claimed effect, beside the value and the largest one, that is looked at where no slope is seen."""
NEAR, GROWTH = 1e-6, 10.0
"""Steps so small beside the largest must not show slopes so many times larger, where a claim is infinite."""
BOUNDARIES = 12
BISECTIONS = 60


class Search:
    """The search of one declared check. base: a point of its own, with all inputs."""

    def __init__(self, check: Any, base: Mapping[str, Any]):
        self.check, self.rng = check, np.random.default_rng(check.seed)
        self.subject: Subject = check.subject(base)
        self.extra = {name: x for name, x in self.subject.at.items() if name not in base}
        self.base = {name: x for name, x in self.subject.at.items() if name not in self.extra}
        self.calls = 0
        self.varied = {name: self.base[name] for name in self.subject.wrt if name in self.base}

    def at(self, point: Mapping[str, np.ndarray]) -> Subject:
        """Return the subject at a point: the same function, elsewhere."""
        same = all(np.shape(x) == self.base[name].shape for name, x in point.items())
        if not same:
            return self.check.subject({**self.base, **point})
        moved = copy.copy(self.subject)
        moved.at = {**self.subject.at, **{name: as_point(name, x) for name, x in point.items()}}
        moved.trouble = None
        return moved

    def judge(self, point: Mapping[str, np.ndarray], blame: bool = False) -> CheckReport:
        """Return the verdict at a point."""
        check = self.check
        place = Place(check.name, check.file, check.line, check.replay_line(check.seed))
        report = run_check(lambda: self.at(point), place, Options(seed=check.seed, blame=blame))
        self.calls += report.evidence.points if report.evidence else 0
        return report

    def fails(self, point: Mapping[str, np.ndarray]) -> bool:
        """Return whether values of the derivative are wrong at a point."""
        report = self.judge(point)
        if report.verdict != "fail":
            return False
        with np.errstate(all="ignore"):
            wrong = [item for item in report.inputs if item.verdict == "fail"]
            return any(self.is_sure(point, item) for item in wrong)

    def is_sure(self, point: Mapping[str, np.ndarray], item: InputCheck) -> bool:
        """Return whether values far and near speak against the worst element of an input.

        A reference that knows its own size is enough; of many points, some are off by a little more than its error.
        Where it only says that there is no slope, there must be none at any scale: stairs have one over more than a
        step, and a wave that is faster than numbers are close has any. Rounding inside the function hides small ones.
        """
        worst = item.worst
        if worst is None:
            return True
        if abs(worst.numeric) * KNOWN >= worst.numeric_error > 0:
            return not abs(worst.analytic - worst.numeric) <= CLEARLY * worst.numeric_error
        if worst.sides is not None:
            return bool(np.isfinite(worst.sides).all())
        subject = self.at(point)
        x = subject.at[item.name]
        if x.dtype.kind != "f":
            return False
        flat = Flat(subject)
        place = int(flat.edges[subject.wrt.index(item.name)] + np.ravel_multi_index(worst.place, x.shape))
        row = int(np.ravel_multi_index(worst.output, flat.out_shape)) if flat.out_dtype.kind == "f" else 0
        coordinate, unit = float(flat.coordinate(place)), float(np.finfo(x.dtype).eps)
        steps = max(abs(coordinate), 1.0) * 10.0 ** -np.arange(-np.floor(np.log10(4 * unit)) + 1)
        values = flat.along(np.full(2 * len(steps), place), np.concatenate([steps, -steps]))[:, row]
        up, down = values[: len(steps)], values[len(steps) :]
        rounding = 4 * flat.unit * np.fmax(np.abs(up), np.abs(down)) / steps
        slopes = np.fmax(np.abs(up - flat.f0[row]), np.abs(flat.f0[row] - down)) / steps - rounding
        claim = float(np.abs(worst.analytic))
        if not np.isfinite(claim):
            near = slopes[steps < NEAR * steps[0]]
            return not bool(np.nanmax(near, initial=0.0) > GROWTH * np.nanmax(slopes[:4], initial=0.0))
        effects = np.abs(flat.jacobian(subject.jacobian(subject.at))[row]) * np.maximum(flat.scales, 1.0)
        if not claim * steps[0] >= MATTERS * max(abs(flat.f0[row]), float(np.nanmax(effects))):
            return False
        seen = slopes >= claim / GROWTH
        if (seen[1:] & seen[:-1]).any():
            return False
        beside = {item.name: x * (1 + 2 * unit)}
        moved = flat.jacobian(subject.jacobian({**subject.at, **beside}))[row, place]
        return bool(abs(moved - worst.analytic) <= 1e-3 * claim)

    def constants(self) -> list[float]:
        """Return the numbers in the source of the function and its derivative, and the inputs that do not vary."""
        check = self.check
        functions = [f for f in (check.f, check.origin, check.grad, check.vjp, check.jvp) if callable(f)]
        fixed = [float(x) for name, x in self.base.items() if name not in self.varied and np.ndim(x) == 0]
        found = [*constants_in(check.source or ""), *constants_of(dict.fromkeys(functions)), *fixed]
        return list(dict.fromkeys(found))

    def boundary(self, beyond: Point) -> list[Point]:
        """Return the last point on the way to one without a value that has one, and points beside it."""
        inside = self.varied
        if not self.has_value(inside):
            return []
        low, high = 0.0, 1.0

        def between(t: float) -> Point:
            return {name: (x + t * (beyond[name] - x)).astype(x.dtype) for name, x in inside.items()}

        with np.errstate(all="ignore"):
            for _ in range(BISECTIONS):
                middle = (low + high) / 2
                low, high = (middle, high) if self.has_value(between(middle)) else (low, middle)
            last = between(low)
            rounded = {name: np.round(x, 6) for name, x in last.items()}
            return [last, rounded, *(between(low * (1 - part)) for part in (1e-3, 1e-5))]

    def has_value(self, point: Point) -> bool:
        """Return whether the function is finite at a point."""
        try:
            return bool(np.isfinite(self.subject.value({**self.subject.at, **point})).all())
        except CheckError:
            return False

    def suspects(self, count: int) -> list[Point]:
        """Return what the filter lets through of `count` points, the worst first; nan and infinite claims take turns
        with finite ones.
        """
        found: list[tuple[float, int, Point]] = []
        ends: list[Point] = []
        boundaries = 0
        stream = candidates(self.varied, self.constants(), self.rng)
        for number in range(count):
            with np.errstate(all="ignore"):
                point = ends.pop() if ends else next(stream)
                if not all(np.isfinite(x).all() for x in point.values()):
                    continue
                gap = self.gap(point)
            if gap is None and boundaries < min(BOUNDARIES, count // 16):
                boundaries += 1
                ends += self.boundary(point)
            elif gap:
                found.append((gap, -number, point))
        found.sort(key=lambda item: item[:2], reverse=True)
        kinds = [[point for gap, _, point in found if np.isfinite(gap) == finite] for finite in (True, False)]
        turns = [point for pair in zip_longest(*kinds) for point in pair if point is not None]
        return turns[: max(LEAST_JUDGED, count // 10)]

    def gap(self, point: Point) -> float | None:
        """Return how far claim and values are apart at a point, relative: 0 where nothing is held against the claim.

        None where the function has no value.
        """
        try:
            subject = self.at(point)
            flat = Flat(subject)
        except CheckError:
            return None
        if not np.isfinite(flat.f0).all() or not flat.size or not len(flat.f0):
            return None
        worst = 0.0
        try:
            for _ in range(DIRECTIONS):
                found, kink = compare_along_line(flat, self.rng)
                worst = max(worst, found)
                if worst or not kink:
                    break
        except WrongShapeError:
            return np.inf
        except CheckError:
            return 0.0
        return worst


def compare_along_line(flat: Flat, rng: np.random.Generator) -> tuple[float, bool]:
    """Return the relative distance between claim and slopes along a random direction, and whether there is a kink.

    Slopes over four steps, of a random sum of the outputs. A slope that is known well and agrees is enough; at a
    kink, whatever lies between the one-sided ones.
    """
    unit = max(flat.unit, *(float(np.finfo(part.dtype).eps) / 2 for part in flat.parts))
    direction = rng.choice([-1.0, 1.0], flat.size) * rng.uniform(0.5, 1.0, flat.size) * flat.scales
    weights = np.ones(1) if len(flat.f0) == 1 else rng.standard_normal(len(flat.f0))
    parts = claimed_parts(flat, weights) * direction
    claim, size = float(parts.sum()), float(np.abs(parts).max())
    x = np.concatenate([part.astype(float) for part in flat.parts])
    steps = np.array([WIDE, HALF, 4 * unit ** (1 / 3), 4 * unit**0.5])
    offsets = np.concatenate([steps, -steps])
    values = flat.points(x + offsets[:, None] * direction) @ weights
    middle = float(flat.f0 @ weights)
    up, down = values[:4], values[4:]
    right, left = (up - middle) / steps, (middle - down) / steps
    central = (right + left) / 2
    rounding = 4 * unit * (float(np.abs(flat.f0 * weights).sum()) + np.fmax(np.abs(up), np.abs(down))) / steps
    slopes = np.array([(4 * central[1] - central[0]) / 3, central[2], central[3]])
    errors = np.array([abs(central[1] - central[0]), rounding[2], rounding[3]])
    errors[1:] += unit / steps[2:] * size
    errors[0] += rounding[1]
    known = np.isfinite(slopes) & np.isfinite(errors)
    largest = max(size if np.isfinite(size) else 0.0, float(np.abs(slopes[known]).max(initial=0.0)))
    sided = np.isfinite(right[3]) or np.isfinite(left[3])
    if not np.isfinite(claim):
        return (np.inf if sided else 0.0), False
    if not largest:
        return 0.0, False
    jump = np.abs(right - left)
    kink = bool((jump[2:] > 1e-3 * largest + 4 * rounding[2:]).all() and jump[3] > 0.5 * jump[2])
    if kink:
        low, high = min(right[3], left[3]), max(right[3], left[3])
        outside = max(low - claim, claim - high) - CLOSE * largest - 4 * rounding[3]
        return max(0.0, outside / largest), True
    known &= errors <= INFORMED * largest
    if not known.any():
        return 0.0, False
    gaps = np.abs(claim - slopes[known])
    if (gaps <= CLOSE * largest + errors[known]).any():
        return 0.0, False
    return float(gaps.min() / largest), False


def claimed_parts(flat: Flat, weights: np.ndarray) -> np.ndarray:
    """Return the claimed derivative of a weighted sum of the outputs. Raises CheckError."""
    subject = flat.subject
    real = flat.out_dtype.kind == "f" and all(x.dtype.kind == "f" for x in flat.arrays)
    if real and subject.has_pull:
        cotangent = weights.astype(flat.out_dtype).reshape(flat.out_shape)
        pulled = subject.pull(subject.at, cotangent)
        return np.concatenate([np.ravel(pulled[name]).astype(float) for name in subject.wrt])
    return weights @ flat.jacobian(subject.jacobian(subject.at))


def search(check: Any, report: CheckReport, count: int, saved: Sequence[Mapping[str, Any]]) -> CheckReport:
    """Return the report of the smallest failing point that is found; else the report given, with what was searched.

    report: that of the declared point. saved: points found before, which come first.
    """
    base = check.point(np.random.default_rng(check.seed))
    try:
        hunt = Search(check, base)
    except CheckError:
        return report
    for point in saved:
        if point.keys() == hunt.base.keys() and hunt.fails(point):
            return with_point(hunt, dict(point), report, "a point that was saved fails again")
    if not count:
        return report
    found = first_failing(hunt, report, count)
    if found is None:
        return replace(report, notes=(*report.notes, f"searched {count} points: none at which the claim is wrong"))
    where = "the declared point" if report.verdict == "fail" else f"one of {count} points"
    return with_point(hunt, shrink(found, hunt.fails, hunt.varied), report, f"the smallest point, from {where}")


def first_failing(hunt: Search, report: CheckReport, count: int) -> Point | None:
    """Return a failing point: of those of the declaration, else of those that are suspicious."""
    check = hunt.check
    if report.verdict == "fail":
        for k in range(check.samples if check.random else 1):
            drawn = check.point(np.random.default_rng(check.seed + k))
            point = {name: as_point(name, drawn[name]) for name in hunt.base}
            if hunt.fails(point):
                return point
        return None
    for point in hunt.suspects(count):
        if hunt.fails({**hunt.base, **point}):
            return {**hunt.base, **point}
        if hunt.calls > max(LEAST_CALLS, MOST_CALLS * count):
            break
    return None


def with_point(hunt: Search, point: Point, before: CheckReport, how: str) -> CheckReport:
    """Return the report of a failing point, which names it."""
    report = hunt.judge(point, blame=True)
    found = FoundPoint(point, declaration_of(hunt.check, point))
    return replace(report, notes=(*report.notes, how), found=found, seconds=before.seconds + report.seconds)


def declaration_of(check: Any, point: Point) -> str:
    """Return the line that declares a check at a point."""
    at = ", ".join(f"{json.dumps(name, ensure_ascii=False)}: {written(x)}" for name, x in point.items())
    claims = [(key, getattr(check, key)) for key in ("grad", "vjp", "jvp")]
    by_hand = [f"{key}={name}" for key, x in claims if x is not None and (name := name_of(x)).isidentifier()]
    return f"@gradcli.check({', '.join(['at={' + at + '}', *by_hand])})"
