"""Search for a point where a claim is wrong: filter points along one direction each, then check those that remain."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import numpy as np

from ..claims.claim import CallError, Claim, WrongShapeError, as_point, callable_name
from ..errors import GradcliError
from ..numeric.chain import FIRST
from ..numeric.flat import Flat
from ..numeric.sampler import Sampler
from ..numeric.verdict import COARSE, EPS
from ..request import Request
from ..results.base import SCHEMA, document_of_lines
from ..results.checks import CheckReport, FoundPoint
from ..results.inputs import InputCheck
from .candidates import Point, candidate_points, compare_along_line, constants_in, constants_of_code, shrink
from .claim_check import run_check
from .points import values_text


def plain_of(x: Any) -> Any:
    """Return an array as nested lists, with its dtype if that is not float64, and its shape if it has no elements."""
    raw = np.asarray(x)
    if not raw.size and raw.ndim > 1:
        return {"dtype": raw.dtype.name, "shape": [*raw.shape], "data": []}
    if raw.dtype.kind == "c":
        data: Any = np.stack([raw.real, raw.imag], -1)
        return {"dtype": raw.dtype.name, "data": plain_of(data.astype(float))}
    if raw.dtype != np.float64:
        return {"dtype": raw.dtype.name, "data": plain_of(raw.astype(float)) if raw.dtype.kind == "f" else raw.tolist()}
    return [plain_of(row) for row in raw] if raw.ndim else float(raw) if np.isfinite(raw) else str(float(raw))


def array_of(data: Any) -> np.ndarray:
    try:
        if not isinstance(data, dict):
            return np.array(data, float)
        dtype = np.dtype(data["dtype"])
        if "shape" in data:
            return np.empty(0, dtype).reshape(data["shape"])
        raw = np.array(data["data"], float if dtype.kind in "fc" else dtype)
        return (raw[..., 0] + 1j * raw[..., 1]).astype(dtype) if dtype.kind == "c" else raw.astype(dtype)
    except (TypeError, LookupError, ArithmeticError) as error:
        raise ValueError(str(error)) from None


MOST_DOCUMENT = 1 << 28  # characters to read of a document, so that a device or a wrong file does not fill the memory


def read_document(path: str, key: str, what: str, hint: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(MOST_DOCUMENT + 1)
        document = json.loads(text) if len(text) <= MOST_DOCUMENT else None
    except OSError as error:
        raise GradcliError(f"cannot read {path}: {error.strerror}", kind="file") from None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA or not isinstance(document.get(key), list):
        raise GradcliError(f"{path} is not a file of {what}", hint=hint, kind="file")
    return document


class SavedPoints:
    """The points of --save-points FILE, at which claims were wrong before."""

    def __init__(self, path: str):
        self.path = path
        self.entries: list[dict[str, Any]] = []
        if os.path.exists(path):
            self.entries = list(read_document(path, "points", "saved points", "name another file")["points"])
        try:
            self.arrays = [{name: array_of(x) for name, x in e["at"].items()} for e in self.entries]
            self.keys = [(e["file"], e["check"]) for e in self.entries]
        except (KeyError, TypeError, ValueError, AttributeError):
            hint = "correct the entry, or name another file"
            raise GradcliError(f"{path} contains an entry that is not a point", hint=hint) from None

    def of(self, file: str | None, name: str) -> list[dict[str, np.ndarray]]:
        return [at for key, at in zip(self.keys, self.arrays, strict=True) if key == (file, name)]

    def text_with(self, reports: Iterable[CheckReport]) -> str | None:
        """Return the text of the file with the newly found points; None if it has all of them already."""
        new = []
        for report in reports:
            if report.found is not None:
                at = {name: plain_of(x) for name, x in report.found.at.items()}
                new.append({"file": report.file, "check": report.name, "at": at})
        rows = {json.dumps(e, sort_keys=True): e for e in [*self.entries, *new]}
        if len(rows) == len(self.entries):
            return None
        ordered = sorted(rows.values(), key=lambda e: (str(e["file"]), e["check"], json.dumps(e["at"])))
        return document_of_lines({"schema": SCHEMA}, "points", ordered)


LEAST_JUDGED = 12  # suspicious points to check, or a tenth of all points if that is more: a choice
LEAST_CALLS, CALLS_PER_POINT = 10_000, 150  # call limit of these checks: in all, or per point if that is more: a choice
CLEARLY = 5.0  # errors by which a claim must be off to be called wrong at one of many points: twice MARGIN
ERROR_UNITS = 1e3  # differences below this many rounding units of the gradient's usual size are ignored: a choice
CLOSE_TO_JUMP, JUMPED = 1e-12, 1e6  # next to a jump, slopes over this distance are so many times steeper: choices
LARGEST_POINT = 1e8
"""Beyond, only claims that are not finite count: functions with features of size 1 are not resolved there."""
BOUNDARIES = 12  # maximum number of boundaries of the domain to locate: a choice
BOUNDARY_BISECTIONS = 60  # halvings; float64 needs 53 to reach neighbouring numbers


ALSO_WHERE_SEARCHED = ("rtol", "atol", "eps", "strict", "nondet_tol")
"""Options of the check that hold at every point."""


class PointSearch:
    """The search for one check. base: the check's own point, with all inputs."""

    def __init__(self, check: Any, base: Mapping[str, Any]):
        self.check, self.rng = check, np.random.default_rng(check.request.seed)
        self.claim: Claim = check.claim(base)
        self.base = {name: x for name, x in self.claim.at.items() if name in base}
        self.calls = 0
        self.varied = {name: self.base[name] for name in self.claim.wrt if name in self.base}

    def at(self, point: Mapping[str, np.ndarray]) -> Claim:
        if any(np.shape(x) != self.base[name].shape for name, x in point.items()):
            return self.check.claim({**self.base, **point})
        moved = self.claim.moved({name: as_point(name, x) for name, x in point.items()})
        moved.budget = replace(self.claim.budget, made=0)
        return moved

    def report_at(self, point: Mapping[str, np.ndarray], blame: bool = False) -> CheckReport:
        seed = self.check.request.seed
        asked = self.check.request
        request = Request(seed=seed, **{name: getattr(asked, name) for name in ALSO_WHERE_SEARCHED})
        report = run_check(lambda: self.at(point), self.check.place(seed), request, blame=blame, explain=blame)
        self.calls += report.evidence.points if report.evidence else 0
        return report

    def fails(self, point: Mapping[str, np.ndarray]) -> bool:
        report = self.report_at(point)
        if report.verdict != "fail":
            return False
        if self.check.request.tolerances is not None:
            largest = max((float(np.abs(x).max(initial=0.0)) for x in point.values()), default=0.0)
            return largest <= LARGEST_POINT * (self.check.request.eps or EPS)  # else, the step is rounded too much
        wrong = [item for item in report.inputs if item.verdict == "fail"]
        return any(self.is_sure(point, item) for item in wrong) and not self.is_at_jump(point)

    def is_at_jump(self, point: Mapping[str, np.ndarray]) -> bool:
        """Return whether the function changes as much next to a point as further away: a jump, or unresolved waves."""
        flat = Flat(self.at(point))
        sampler, direction = Sampler(flat), np.where(flat.fixed, 0.0, flat.scales)
        with np.errstate(invalid="ignore"):
            close, far = (
                np.abs(sampler.along(None, direction, np.array([-t, t])) - flat.f0).max(axis=0) / t
                for t in (CLOSE_TO_JUMP, FIRST)
            )
        return bool((close > JUMPED * far).any())

    def is_sure(self, point: Mapping[str, np.ndarray], item: InputCheck) -> bool:
        """Report whether the worst element of an input is wrong beyond doubt.

        Among many points, a right claim is off by slightly more than the error at some, and by its rounding where the
        gradient is almost zero.
        """
        worst = item.worst
        if worst is None:
            return True
        if worst.sides is not None:
            return bool(np.isfinite(worst.sides).all())
        claim = self.at(point)
        x = claim.at[item.name]
        if np.isfinite(worst.claimed) and np.abs(x[np.isfinite(x)]).max(initial=0.0) > LARGEST_POINT:
            return False
        if not np.isfinite(worst.claimed):
            return bool(worst.numeric_error <= COARSE * abs(worst.numeric))
        gap, size = abs(worst.claimed - worst.numeric), max(abs(worst.claimed), abs(worst.numeric))
        known = size * COARSE >= worst.numeric_error > 0
        if gap <= ERROR_UNITS * float(np.finfo(x.dtype).eps) * self.usual_size or x.dtype.kind != "f":
            return known and x.dtype.kind != "f"
        return bool(known and not gap <= CLEARLY * worst.numeric_error)

    @functools.cached_property
    def usual_size(self) -> float:
        """The largest element of the gradient at the check's own point."""
        sizes = np.abs(Flat(self.claim).matrix())
        return float(sizes[np.isfinite(sizes)].max(initial=0.0))

    def constants(self) -> list[float]:
        """Return the numbers in the source of the function and its derivative, and the inputs that do not vary."""
        check = self.check
        functions = [f for f in (check.f, check.origin, *check.request.claims.values()) if callable(f)]
        fixed = [float(x) for name, x in self.base.items() if name not in self.varied and np.ndim(x) == 0]
        numbers = [*constants_in(check.source or ""), *constants_of_code(dict.fromkeys(functions)), *fixed]
        return list(dict.fromkeys(numbers))

    def boundary(self, beyond: Point) -> list[Point]:
        """Return the last point with a value on the way to `beyond`, which has none, and points near it."""
        inside = self.varied
        if not self.has_value(inside):
            return []
        low, high = 0.0, 1.0

        def between(t: float) -> Point:
            return {name: (x + t * (beyond[name] - x)).astype(x.dtype) for name, x in inside.items()}

        for _ in range(BOUNDARY_BISECTIONS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.has_value(between(middle)) else (low, middle)
        last = between(low)
        rounded = {name: np.round(x, 6) for name, x in last.items()}
        return [last, rounded, *(between(low * (1 - part)) for part in (1e-3, 1e-5))]

    def has_value(self, point: Point) -> bool:
        try:
            return bool(np.isfinite(self.claim.value({**self.claim.at, **point})).all())
        except CallError:
            return False

    def worst_filtered(self, count: int) -> list[Point]:
        """Return the suspicious ones of `count` points, worst first, alternating between finite and infinite gaps."""
        suspicious: list[tuple[float, int, Point]] = []
        ends: list[Point] = []
        boundaries = 0
        stream = candidate_points(self.varied, self.constants(), self.rng)
        for number in range(count):
            point = ends.pop() if ends else next(stream)
            if not all(np.isfinite(x).all() for x in point.values()):
                continue
            gap = self.gap(point)
            if gap is None and boundaries < min(BOUNDARIES, count // 16):
                boundaries += 1
                ends += self.boundary(point)
            elif gap:
                suspicious.append((gap, -number, point))
        suspicious.sort(key=lambda item: item[:2], reverse=True)
        kinds = [[point for gap, _, point in suspicious if np.isfinite(gap) == finite] for finite in (True, False)]
        turns = [point for pair in zip_longest(*kinds) for point in pair if point is not None]
        return turns[: max(LEAST_JUDGED, count // 10)]

    def gap(self, point: Point) -> float | None:
        """Return the relative difference between claim and values: 0 if none shows, None if the point has no value."""
        try:
            claim = self.at(point)
            flat = Flat(claim)
        except CallError:
            return None
        if not np.isfinite(flat.f0).all() or not flat.size or not len(flat.f0):
            return None
        try:
            return compare_along_line(Sampler(flat), self.rng)
        except WrongShapeError:
            return np.inf
        except CallError:
            return 0.0


def search(check: Any, report: CheckReport, count: int, saved: Sequence[Mapping[str, Any]]) -> CheckReport:
    """Return the report of the simplest failing point, or else `report` on the declared one. saved: tried first."""
    base = check.point(np.random.default_rng(check.request.seed))
    try:
        hunt = PointSearch(check, base)
    except CallError:
        return report
    for point in saved:
        if point.keys() == hunt.base.keys() and hunt.fails(point):
            return with_point(hunt, dict(point), report, "a saved point fails again")
    if not count:
        return report
    failing = first_failing(hunt, report, count)
    wrong = report.verdict == "fail"
    if failing is None:
        found = f"searched {count} points: found none where the claim is wrong"
        note = "the claim fails at this point, so no other points were searched" if wrong else found
        return replace(report, notes=(*report.notes, note))
    simplest = shrink(failing, hunt.fails, hunt.varied)
    note = f"the numbers are for {values_text(simplest)}, the simplest point found where the claim is wrong"
    return with_point(hunt, simplest, report, note)


def first_failing(hunt: PointSearch, report: CheckReport, count: int) -> Point | None:
    check = hunt.check
    if report.verdict == "fail":
        for k in range(check.sample_count):
            drawn = check.point(np.random.default_rng(check.request.seed + k), k)
            point = {name: as_point(name, drawn[name]) for name in hunt.base}
            if hunt.fails(point):
                return point
        return None
    for point in hunt.worst_filtered(count):
        if hunt.fails({**hunt.base, **point}):
            return {**hunt.base, **point}
        if hunt.calls > max(LEAST_CALLS, CALLS_PER_POINT * count):
            break
    return None


def with_point(hunt: PointSearch, point: Point, before: CheckReport, how: str) -> CheckReport:
    report = hunt.report_at(point, blame=True)
    smallest = FoundPoint(point, declaration_of(hunt.check, point))
    return replace(report, notes=(*report.notes, how), found=smallest, seconds=before.seconds + report.seconds)


def declaration_of(check: Any, point: Point) -> str:
    """Return the line that declares a check at a point: float64 as lists, other types as arrays with their dtype.

    For a formula, return the command that checks it there.
    """
    if check.source is not None:
        return check.replay_at(point)
    texts = []
    for name, x in point.items():
        raw = np.asarray(x)
        text = repr(raw.tolist()) if raw.dtype == np.float64 else f"np.array({raw.tolist()!r}, '{raw.dtype.name}')"
        texts.append(f"{json.dumps(name, ensure_ascii=False)}: {text}")
    claims = check.request.claims.items()
    by_hand = [f"{key}={name}" for key, x in claims if (name := callable_name(x)).isidentifier()]
    by_hand += ["elementwise=True"] * check.request.elementwise
    by_hand += [f"wrt={[*wrt]}"] if (wrt := check.request.wrt) is not None else []
    address = json.dumps(check.name, ensure_ascii=False)
    begin = "@gradcli.check(" if check.opens is None else f"gradcli.check({address}, "
    return f"{begin}{', '.join(['at={' + ', '.join(texts) + '}', *by_hand])})"
