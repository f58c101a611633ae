"""Check the derivatives that a command has used, in the process that has them. Each use is a check."""

from __future__ import annotations

import contextlib
import inspect
import math
import pickle
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..check.check import Check
from ..check.claim_check import Place, observe
from ..check.points import values_text
from ..check.workers import in_processes, in_turn
from ..claims.claim import Claim
from ..errors import lines_of_file
from ..lang.limits import Bound
from ..program.arguments import as_array
from ..request import ADAPTED, Request
from ..results.checks import CheckReport
from ..results.studies import WatchedDerivative
from ..user.tracebacks import users_path
from .framework_uses import call_arguments, drawn_uses, framework_claim
from .solver_uses import difference_from_run, solver_claim, solver_point
from .watch import VERDICT_RANK

QUICK_CALLS, FEWEST_CALLS = 600, 10
"""A function is called as often as the verdict needs if its time allows more than QUICK_CALLS calls (as FAIL_CALLS), or
else as often as its time allows, but at least FEWEST_CALLS times (a choice)."""


LEAST_SECONDS, FIRST_SECONDS = 20.0, 60.0
"""Seconds for checks after a short run, and in addition for derivatives that have not been checked by then: choices."""


@dataclass(frozen=True)
class TimeLimit:
    """When to begin no further check: first ones of a derivative, and more of them. text: what limits the time."""

    first: float
    more: float
    text: str

    @classmethod
    def of(cls, seconds: float | None, run_seconds: float) -> TimeLimit:
        """seconds: the limit that the user gave. run_seconds: how long the process ran."""
        now = time.monotonic()
        if seconds is not None:
            return cls(now + seconds, now + seconds, f"time limit reached (--check-time {seconds:g})")
        more = now + max(run_seconds, LEAST_SECONDS)
        text = f"time limit reached (as long as the run, plus {FIRST_SECONDS:g} s); raise it with --check-time"
        return cls(more + FIRST_SECONDS, more, text)


def use_check(derivative: Any, use: Any, request: Request, passed: Callable[[Any], bool]) -> UseCheck:
    request = request if use.kind in ADAPTED or use.wrote else request._replace(no_as_called=True)
    role = f"{derivative.role}: {derivative.name}"
    place = {"file": derivative.file, "line": derivative.line}
    return UseCheck(use.claim, {}, request, role, origin=use.claim, use=use, passed=passed, **place)


@dataclass(frozen=True, eq=False, kw_only=True)
class UseCheck(Check):
    """The check of one use of a derivative. passed: whether a first derivative passed. seconds: for this check."""

    use: Any
    passed: Callable[[Any], bool]
    seconds: float = math.inf
    knows_no_tensors = False

    def point(self, rng: np.random.Generator, place: int = 0) -> dict[str, Any]:
        return {}

    def place(self, seed: int) -> Place:
        """Return where the derivative is defined, without a command line, since none repeats its use."""
        return Place(self.name, self.file, self.line)

    def claim(self, at: Mapping[str, Any]) -> Claim:
        use = self.use
        if use.kind in ADAPTED:
            return framework_claim(use, self.name)
        claim = solver_claim(use, use.function is not None and self.passed(use.first))
        start = time.monotonic()
        claim.doubt = difference_from_run(use)
        claim.budget.allowed = calls_within(self.seconds, time.monotonic() - start)
        return claim


def calls_within(seconds: float, each: float) -> int | None:
    """Return how often a slow function may be called for a verdict in time; None for a quick one."""
    calls = 0.8 * seconds / each
    return None if calls > QUICK_CALLS else max(int(calls), FEWEST_CALLS)


def check_recorded_uses(
    derivatives: Sequence[Any], settings: Mapping[str, Any], run_seconds: float, apart: bool
) -> Iterator[bytes]:
    """Yield the results of `checked_uses`, also if the run ended in a block of PyTorch that records no gradients."""
    torch = sys.modules.get("torch")
    with contextlib.ExitStack() as modes:
        if torch is not None:
            modes.enter_context(torch.inference_mode(False))
            modes.enter_context(torch.enable_grad())
        if torch is not None and apart:
            load_torch(torch)
        yield from checked_uses(derivatives, settings, run_seconds, apart)


def checked_uses(
    derivatives: Sequence[Any], settings: Mapping[str, Any], run_seconds: float, apart: bool
) -> Iterator[bytes]:
    """Check uses, and after each yield the pickled number of its derivative with the result for that so far.

    Check each derivative once before checking any a second time, so that every one has a result if time runs out.
    Second derivatives come last. They are compared with first derivatives that passed, or else with values of f.
    run_seconds: how long the process ran. apart: whether checks may run in processes of their own.
    """
    limit = TimeLimit.of(settings["seconds"], run_seconds)
    right: set[int] = set()
    request = Request(calls=settings["calls"])
    noted = [
        (number, d, [each for use in d.uses(settings["points"]) for each in drawn_uses(use)])
        for number, d in enumerate(derivatives)
    ]
    reports: dict[int, list[tuple[Any, CheckReport]]] = {number: [] for number, _, _ in noted}
    for number, d, uses in noted:
        if not uses and d.trouble:
            yield pickle.dumps((number, not_checked(d)))
    for second in (False, True):
        some = [(number, d, uses) for number, d, uses in noted if uses and (uses[0].base is not None) is second]
        turns = [(turn, number, d, use) for number, d, uses in some for turn, use in enumerate(uses)]
        turns.sort(key=lambda item: item[:2])
        checks = [use_check(d, use, request, lambda first: id(first) in right) for _, _, d, use in turns]
        ends = [limit.first if turn == 0 else limit.more for turn, *_ in turns]
        checked = run_in_time(checks, settings["timeout"], ends, limit.text, apart)
        for (_, number, derivative, use), report in zip(turns, checked, strict=True):
            reports[number].append((use, report))
            watched = worst_of(derivative, reports[number], settings["calls"])
            (right.add if watched.report.verdict == "pass" else right.discard)(id(derivative))
            yield pickle.dumps((number, watched))


NOT_CHECKED = {"run": "is not checked"}


def unchecked_report(name: str, file: str | None, line: int | None, message: str) -> CheckReport:
    """Return the report on a derivative that was used, and never checked."""
    return observe(CheckReport(name, file, line, "error", 0.0, message=message), NOT_CHECKED)


def not_checked(derivative: Any) -> WatchedDerivative:
    """Return the row of a rule that was seen, but whose calls could not be recorded."""
    name, message = f"{derivative.role}: {derivative.name}", f"seen, but not checked: {derivative.trouble}"
    report = unchecked_report(name, derivative.file, derivative.line, message)
    return WatchedDerivative(derivative.role, derivative.name, 0, derivative.calls, report)


def load_torch(torch: Any) -> None:
    """Load what PyTorch's first gradient loads, once for all processes that run checks."""
    torch.set_num_threads(1)  # the other threads did not survive the fork
    x = torch.ones(1, requires_grad=True)
    torch.autograd.grad(x.sum(), x)


def run_in_time(
    checks: Sequence[UseCheck], timeout: float, ends: Sequence[float], limited: str, apart: bool
) -> Iterator[CheckReport]:
    """Yield the reports of checks in order, also of those for which no time is left.

    ends: when to begin no further check, for each of them. limited: says what limits the time.
    """
    now = time.monotonic()
    checks = [
        replace(check, bound=Bound(timeout), seconds=min(timeout, (end - now) / len(checks)))
        for check, end in zip(checks, ends, strict=True)
    ]
    reports = in_processes(checks, 1, None) if apart and checks else in_turn(checks, None)
    for check, end in zip(checks, ends, strict=True):
        late = unchecked_report(check.name, check.file, check.line, f"not checked: {limited}")
        yield next(reports)[1] if time.monotonic() < end else late


def worst_of(
    derivative: Any, reports: Sequence[tuple[Any, CheckReport]], calls: int | None = None
) -> WatchedDerivative:
    """Merge the reports at all points of one derivative; those for which no time was left count last.

    calls: the limit of calls in each check, if the user gave one.
    """
    seconds = sum(r.seconds for _, r in reports)
    checked = [pair for pair in reports if pair[1].seconds > 0]
    checked = [taken_together(checked)] if checked and checked[0][0].drawn else checked
    use, report = min(checked or reports, key=lambda pair: VERDICT_RANK.index(pair[1].verdict))
    notes, points = report.notes, sum(r.verdict != "error" for _, r in checked)
    if report.verdict == "fail":
        place = "at a random point" if use.drawn else f"at {values_text(point_of_use(use))}"
        notes = (f"{place} (call {use.number})", *notes)
    if report.verdict == "pass":  # the result of all points together
        passed = [r for _, r in checked if r.verdict == "pass"]
        undecided = [r for _, r in checked if r.verdict != "pass"]
        report, points = max(passed, key=lambda r: r.resolution), len(passed)
        if undecided:
            counted = f"{len(undecided)} of {len(checked)} points undecided"
            notes = (*notes, f"{counted}: {undecided[0].message or undecided[0].verdict}")
    file, line = report.file, report.line
    if inspect.isclass(use.claim):
        line = line_of_class(derivative.name, file, line)
    here = users_path(file) if file else file
    if derivative.caller is not None:
        notes = (*notes, f"used from {users_path(derivative.caller[0])}:{derivative.caller[1]}")
    if report.verdict == "error":
        report = observe(report, NOT_CHECKED, message=f"not checked; in the check after the run, {report.message}")
    report = replace(report, notes=notes, seconds=seconds, file=here, line=line, error=None)
    report = report if calls is not None else without_calls(report)
    return WatchedDerivative(derivative.role, derivative.name, points, derivative.calls, shortened(report))


AT_RANDOM_POINTS = (
    "wrong at some random points, right at others; the program may only use the latter: check its own with gradcheck"
)


def taken_together(reports: Sequence[tuple[Any, CheckReport]]) -> tuple[Any, CheckReport]:
    """Return the result at all kinds of random points. Outside its domain, a right derivative may look wrong."""
    use, report = min(reversed(reports), key=lambda pair: VERDICT_RANK.index(pair[1].verdict))
    if report.verdict == "fail" and any(r.verdict == "pass" for _, r in reports):
        doubtful = unchecked_report(report.name, report.file, report.line, AT_RANDOM_POINTS)
        return use, replace(doubtful, notes=report.notes)
    return use, report


BY_TIME = {
    r"(undecided after \d+ calls); rerun with(?:out --calls| --calls \d+)": r"\1, as many as the time limit allows; "
    "raise it with --timeout and --check-time",
    r" \(--calls\)": "",
}


def without_calls(report: CheckReport) -> CheckReport:
    """Do not name --calls, which was not given: the time limit of a slow function sets its number of calls."""

    def reworded(text: str) -> str:
        for pattern, replacement in BY_TIME.items():
            text = re.sub(pattern, replacement, text)
        return text

    diagnosis = tuple(x._replace(text=reworded(x.text)) for x in report.diagnosis)
    notes = tuple(map(reworded, report.notes))
    return replace(report, message=reworded(report.message), notes=notes, diagnosis=diagnosis)


MOST_TEXT = 300  # characters of a note, a message or a finding: a choice


def shortened(report: CheckReport) -> CheckReport:
    """Shorten long texts: functions may raise an error, or have a point, with a whole array in words."""
    diagnosis = tuple(finding._replace(text=brief_text(finding.text)) for finding in report.diagnosis)
    notes = tuple(map(brief_text, report.notes))
    return replace(report, message=brief_text(report.message), notes=notes, diagnosis=diagnosis)


def brief_text(text: str) -> str:
    if len(text) <= MOST_TEXT:
        return text
    return f"{text[: MOST_TEXT // 2].rstrip()} [...] {text[-MOST_TEXT // 2 :].lstrip()}"


def point_of_use(use: Any) -> dict[str, Any]:
    """Return the point of a use by the names of the function's parameters, without arguments that are not numbers."""
    if use.kind not in ADAPTED:
        return solver_point(use)
    arrays = {name: as_array(x) for name, x in call_arguments(use).items() if hasattr(x, "shape") or type(x) is float}
    return {name: x for name, x in arrays.items() if x is not None}


def line_of_class(name: str, file: str | None, line: int | None) -> int | None:
    """Return the line of a class above one of its methods, which inspect does not find once a script has ended."""
    above = lines_of_file(file)[: line or 0] if file else []
    heads = (n for n in range(len(above), 0, -1) if re.match(rf"\s*class {re.escape(name)}\b", above[n - 1]))
    return next(heads, line)
