"""Run one check from beginning to end, and report on it."""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..claims.claim import (
    CallError,
    Claim,
    ComplexError,
    NoForwardError,
    NotElementwiseError,
    OutOfCallsError,
    Progress,
    WrongShapeError,
    second_order,
)
from ..errors import GradcliError, TimeIsUp, describe_error, lines_of_file, text_of
from ..lang.limits import time_left, within
from ..numeric import decide
from ..numeric.decide import Observation
from ..numeric.estimate import PER_ESTIMATE
from ..numeric.flat import Flat
from ..numeric.locate import PASS_CALLS
from ..numeric.probe import Probe
from ..numeric.products import adjoint_test, find_broken_law, rounding_of_products
from ..numeric.repeated import claim_at_other_point, differing_calls, find_unsteady, late_difference
from ..numeric.rows import ClaimedRows
from ..numeric.sampler import Sampler
from ..numeric.verdict import AT_KINK, FAIL, SAME_CALL, Entries, compare_by_tolerances, differ_by
from ..request import Request
from ..results.checks import CheckReport, Evidence, Finding, Source
from ..results.inputs import InputCheck
from ..user.tracebacks import is_users, users_trace
from .input_checks import evidence, input_check, text_of_disagreement, with_elements
from .reasons import (
    FEW_DIGITS,
    ROUGH,
    fixed_notes,
    reason_of,
    slight_notes,
    tolerance_notes,
    too_few,
    trivial_notes,
    undecided_notes,
)

DEFECT = "a defect of gradcli, please report it"  # the message of an unforeseen error
DRIFT = 1e-3  # a larger relative difference between two calls at one point is non-determinism, not noise: a choice
JITTER = 1e-5  # smaller relative differences of calls, as of float32 sums, explain no wrong element: a choice
RANDOM_RESOLUTION = 1e-5  # a pass with this resolution or a larger one may hide random numbers: a choice
MOST_ONE_BY_ONE = 256  # elements that a report on all of them estimates one by one to full accuracy: a choice
EXPLAIN_FACTOR, EXPLAIN_SECONDS = 10.0, 20.0
"""The time limit of the search for the mistake, as a multiple of the time of the check, and its minimum: choices."""
FEW_SEEN = 1e-6  # above this resolution, values may have gone through float32: 16 of its rounding units


class Place(NamedTuple):
    """A check's name, where it was declared, the command line that repeats it, its derivatives and its function."""

    name: str
    file: str | None = None
    line: int | None = None
    replay: str | None = None
    claims: tuple[Callable, ...] = ()
    function: Any = None


def source_at(file: str | None, line: int | None) -> str:
    """Return the source of the function or class that begins at a line of a file, or "" if there is none."""
    lines = lines_of_file(file)[(line or 1) - 1 :] if file and line else []
    try:
        return textwrap.dedent("".join(inspect.getblock(lines))) if lines else ""
    except (SyntaxError, IndentationError):
        return lines[0]


def source_place(function: Callable) -> tuple[str, int] | None:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return None if code is None else (code.co_filename, code.co_firstlineno)


def sources_of(place: Place) -> tuple[Source, ...]:
    """Return the source of the function, and of each hand-written derivative that is not inside it."""
    sources: list[Source] = []
    function = users_place(place.function) or (place.file, place.line)
    for what, where in [("Function", function), *(("Hand-written derivative", source_place(x)) for x in place.claims)]:
        text = source_at(*where) if where else ""
        if where and text and not any(text.strip() in other.text for other in sources):
            sources.append(Source(what, f"{where[0]}:{where[1]}", text))
    return tuple(sources)


def users_place(function: Any) -> tuple[str, int] | None:
    """Return the file and line where the user's function, operator or class (or an object's class) begins."""
    for x in (inspect.unwrap(function), *(getattr(function, n, None) for n in ("_init_fn", "__self__", "__class__"))):
        with contextlib.suppress(OSError, TypeError):
            file, (_, line) = inspect.getsourcefile(x), inspect.getsourcelines(x)
            if file and is_users(file):
                return file, line
    return None


def run_check(
    make: Callable[[], Claim],
    place: Place,
    request: Request | None = None,
    progress: Progress | None = None,
    blame: bool = True,
    explain: bool = True,
    compare: Callable[[Claim, Request, Callable[..., CheckReport]], CheckReport] | None = None,
) -> CheckReport:
    """Check the claim that `make` returns. Errors become reports.

    blame: find the part that is wrong or raises. explain: find the mistake. compare: compares the claim with something
    other than values.
    """
    request, claim = request or Request(), None
    report = functools.partial(make_report, place, request, time.perf_counter())
    try:
        with np.errstate(all="ignore"):
            claim = make()
            claim.progress = progress or Progress()
            if compare is None:
                checked = check_claim(claim, request, report, explain)
                random = as_random(checked, claim, request)
                checked = with_calls(checked, claim, request) if random is None else random
            else:
                checked = compare(claim, request, report)
            return with_blame(checked, claim, request, blame) if checked.verdict == "fail" else checked
    except Exception as error:  # one check must not end the others
        return report_error(error, report, claim, request, blame)


def make_report(
    place: Place, request: Request, start: float, seen: Mapping[str, str], text: str = "", **more: Any
) -> CheckReport:
    """Return the report on a check that began at `start`. seen: words of the table in decide.py. more: other fields."""
    verdict = decide.decide(seen).verdict
    if verdict == decide.OPEN and not more.get("diagnosis"):
        more["diagnosis"] = (Finding("undecided", text),)
    if verdict == decide.FAIL:
        more["replay"] = place.replay
    if len(place.claims) == 1:
        more["claimed_at"] = source_place(place.claims[0])
    if request.show == "all":
        more["sources"] = sources_of(place)
    seconds = time.perf_counter() - start
    return CheckReport(
        place.name, place.file, place.line, verdict, seconds, message=text, seen=tuple(seen.items()), **more
    )


def observe(report: CheckReport, seen: Mapping[str, str], **more: Any) -> CheckReport:
    """Return a report with one more observation, and the verdict that follows. more: other fields to replace."""
    seen = {**dict(report.seen), **seen}
    return replace(report, verdict=decide.decide(seen).verdict, seen=tuple(seen.items()), **more)


RAISES, NOT_FINITE = {"run": "raises"}, {"point": "is not finite"}
UNUSABLE = {WrongShapeError: "shape", NotElementwiseError: "not elementwise", ComplexError: "complex"}
"""Kinds of derivatives that are wrong whatever their values."""


def report_error(
    error: Exception, report: Callable[..., CheckReport], claim: Claim | None, request: Request, blame: bool
) -> CheckReport:
    """Return the report on a check that raised."""
    match error:
        case CallError() if type(error) in UNUSABLE:
            finding = Finding(UNUSABLE[type(error)], str(error))
            checked = report({"shape": "is wrong"}, str(error), diagnosis=(finding,), hint=error.hint)
            blame = blame and isinstance(error, WrongShapeError)
        case CallError(__cause__=cause):
            known, hint = cause if isinstance(cause, Exception) else None, error.hint or getattr(cause, "hint", None)
            checked = report(RAISES, str(error), error=known, trace=users_trace(cause), hint=hint)
            with contextlib.suppress(CallError):  # the error may come from a second backward, which is a finding
                checked = checked if claim is None else with_calls(checked, claim, request)
        case OutOfCallsError():
            allowed = (claim and claim.budget.allowed) or 0
            reason = too_few(allowed, PASS_CALLS if allowed < PASS_CALLS else None)
            return leave_open(report, {"budget": "is used up"}, reason)
        case RecursionError():
            return report(RAISES, "the function recurses too deeply")
        case MemoryError():
            return report(RAISES, "not enough memory")
        case GradcliError():  # its subclass CallError is matched above
            return report(RAISES, error.message, hint=error.hint)
        case OSError():
            return report(RAISES, f"operating system error: {error.strerror or text_of(error)}")
        case _:
            return report(RAISES, f"{DEFECT}: {describe_error(error)}")
    return with_blame(checked, claim, request, blame)


def with_blame(checked: CheckReport, claim: Claim | None, request: Request, blame: bool) -> CheckReport:
    """Add the custom function that is wrong or raises to a report (if `blame`), and to a fail its mistake."""
    if claim is None or checked.blame is not None:
        return checked
    blamed: str | None = None
    found: tuple[Finding, ...] = ()
    with contextlib.suppress(Exception):
        for part, describe in parts_of(claim, request.seed) if blame else ():
            part.budget = claim.budget
            own = run_check(itertools.repeat(part).__next__, Place(part.title), blame=False)
            if own.verdict in ("fail", "error"):
                mistakes = [Finding(x.kind, f"{part.title}: {x.text}") for x in own.diagnosis if not x.is_place]
                blamed, found = describe(), tuple(mistakes)
                break
    if checked.verdict == "fail" and all(finding.is_place for finding in checked.diagnosis):
        checked = replace(checked, diagnosis=(*found, *checked.diagnosis))
    evidence = checked.evidence and checked.evidence._replace(points=claim.budget.made)
    return replace(checked, blame=blamed, evidence=evidence)


def parts_of(claim: Claim, seed: int) -> Iterator[tuple[Claim, Callable[[], str]]]:
    """Yield the parts of a claim that can be checked separately; for second derivatives, the function's parts."""
    if claim.first is None:
        yield from claim.parts()
        return
    for part, describe in claim.first.parts():
        with contextlib.suppress(CallError):
            yield second_order(part, seed), describe


SEEN_BEFORE = {"changed since": {"point": "differs from the recorded call"}, "non-deterministic": {"repeat": "differs"}}
"""What is seen for each finding that is known before a check."""


def check_claim(
    claim: Claim, request: Request, report: Callable[..., CheckReport], explain: bool = True
) -> CheckReport:
    if claim.doubt:
        return leave_open(report, SEEN_BEFORE[claim.doubt[0]], Finding(*claim.doubt))
    checked = ClaimCheck(claim, request, report, explain).run()
    if claim.on_manifolds and checked.verdict == "pass":
        from .conventions import find_ambiguity

        found = find_ambiguity(claim, request.seed)
        if found is not None:
            seen, hint = {"point": "several conventions agree"}, "check at another point, away from the identity"
            return observe(checked, seen, message=found.text, diagnosis=(found,), hint=hint)
    return checked


def leave_open(
    report: Callable[..., CheckReport], seen: Mapping[str, str], reason: Finding, **more: object
) -> CheckReport:
    return report(seen, reason.text, diagnosis=(reason,), **more)


REPEAT = "seed random numbers inside the function; in PyTorch, call .eval(), which stops dropout and fixes batch norm"


def as_random(checked: CheckReport, claim: Claim, request: Request) -> CheckReport | None:
    """Return the report on a random claim, if it is one; a clear pass leaves no reason to ask."""
    imprecise = checked.passed and checked.resolution > RANDOM_RESOLUTION and request.tolerances is None
    if "elements" not in dict(checked.seen) or not (imprecise or checked.verdict in (decide.FAIL, decide.OPEN)):
        return None
    wrong = dict(checked.seen)["elements"] == "wrong"
    calls = differing_calls(claim, request.nondet_tol, JITTER if wrong else SAME_CALL)
    if calls is None:
        return None
    from .random_claim import IS_RANDOM, find_random

    found = find_random(claim, calls, request.nondet_tol)
    if found is None:
        return None
    reason, hint = found
    inputs = tuple(replace(item, verdict=decide.OPEN) for item in checked.inputs)
    more = {"message": reason.text, "diagnosis": (reason,), "inputs": inputs, "hint": hint or REPEAT}
    return observe(checked, IS_RANDOM, **more)


def with_calls(checked: CheckReport, claim: Claim, request: Request) -> CheckReport:
    """Turn a report into a fail if the rule goes wrong when it is called the way programs call it."""
    if request.no_as_called or request.order != 1 or claim.budget.allowed is not None or claim.doubt:
        return checked
    found = tuple(Finding(rule, text) for rule, text in itertools.islice(claim.as_called(), 1))
    if not found:
        return checked
    return observe(checked, {"call": "differs"}, message=found[0].text, diagnosis=(*found, *checked.diagnosis))


class RestrictedError(Exception):
    """The function is restricted to a subspace of its inputs (symmetric matrices), and the claim is right there."""

    def __init__(self, report: CheckReport):
        super().__init__(report.message)
        self.report = report


class ClaimCheck:
    """The check of one claim. All methods raise CallError.

    report: makes a report from a verdict, a message and other fields. at_other: the claim at another point.
    broken_law: a law that the claim's products violate, or the finding that two calls differ.
    """

    def __init__(self, claim: Claim, request: Request, report: Callable[..., CheckReport], explain: bool = True):
        """explain: whether to look for the mistake."""
        self.explain = explain
        claim.budget.allowed = request.calls or claim.budget.allowed
        self.claim, self.request, self.report, self.flat = claim, request, report, Flat(claim)
        self.sampler = Sampler(self.flat)
        self.at_other = claim_at_other_point(self.flat)
        self.broken_law: Observation | None = None
        self.start, self.cut_short = time.monotonic(), False

    def run(self) -> CheckReport:
        flat, request, claim = self.flat, self.request, self.claim
        if not np.isfinite(flat.f0).all():
            text = "the function is not finite at this point"
            return leave_open(self.report, NOT_FINITE, Finding("not finite", text))
        if flat.size and flat.fixed.all():
            text = f"the input {', '.join(claim.wrt)} contains only nan or infinity"
            return leave_open(self.report, NOT_FINITE, Finding("not finite", text))
        by_error, budget = request.tolerances is None, claim.budget
        if budget.left >= 2 * (budget.claim_calls + PER_ESTIMATE):
            self.broken_law = find_broken_law(flat, request.seed)
        if by_error and flat.f0.size and budget.left > PER_ESTIMATE:
            relative = (self.sampler.drift / np.maximum(np.abs(flat.f0), 1e-300)).max()
            if relative > DRIFT and self.sampler.drift.max() > request.nondet_tol:
                evidence = Evidence(flat.f0.size * flat.size, 0, budget.made)
                reason = Finding("non-deterministic", differ_by(relative))
                return leave_open(self.report, {"repeat": "differs"}, reason, evidence=evidence, hint=REPEAT)
        rng = np.random.default_rng(request.seed)
        rows = ClaimedRows(flat, rng, sizes=functools.partial(self.sampler.changes, rng))
        products_rounding = 0.0
        if self.broken_law is None and by_error and rows.single:
            products_rounding, self.broken_law = rounding_of_products(flat, rows.claimed, request.seed)
        entries = Entries(flat, self.sampler, rows, products_rounding, request.is_strict)
        probe = Probe(entries, request.seed, self.restrict)
        if not by_error:
            compare_by_tolerances(entries, request.tolerances or ())
        elif entries.claimed.size:
            try:
                compare_by_estimates(entries, probe, request)
            except RestrictedError as restricted:
                return restricted.report
        return self.report_on(entries, probe)

    def restrict(self) -> None:
        """Raise RestrictedError if the function is restricted to symmetric matrices and nothing fails on those."""
        if self.broken_law is not None or not any(x.ndim > 1 for x in self.flat.arrays):
            return
        if self.claim.on_manifolds:  # its coordinates are free already
            return
        from ..numeric.symmetric import restrict_to_symmetric

        narrower = restrict_to_symmetric(self.sampler)
        report = None if narrower is None else check_claim(narrower, self.request, self.report, self.explain)
        if report is not None and all(item.verdict != "fail" for item in report.inputs):
            raise RestrictedError(report)

    def report_on(self, entries: Entries, probe: Probe) -> CheckReport:
        flat, claim, request = self.flat, self.claim, self.request
        findings = [Finding(*law[:2]) for law in (self.broken_law, self.unsteady(entries)) if law is not None]
        seen = self.observations(entries, probe, bool(findings))
        verdict = decide.decide(seen).verdict
        wrong = seen["elements"] == "wrong" or "direction" in seen
        if self.finds_few_digits(entries, probe, verdict):
            return ClaimCheck(claim, request, self.report, self.explain).run()
        diagonal: frozenset[int] = frozenset()
        if wrong and self.explain:
            with self.explaining():
                diagonal = self.decide_rest(entries, probe)
        if request.show == "all" and entries.rows.known and not probe.out_of_calls:
            from ..explain.rest import estimate_rest

            estimate_rest(entries)
        inputs = tuple(self.input_check(entries, probe, k) for k in range(len(claim.wrt)))
        linear = self.broken_law is None or self.broken_law.kind != "nonlinear"
        if wrong and self.explain and linear:  # a claim that is not linear has no matrix that could be corrected
            with self.explaining():
                findings += self.find_mistakes(entries, diagonal)
        message = claim.restriction
        if verdict == decide.OPEN:
            allowed, needed = claim.budget.allowed or 0, probe.locator.calls_needed
            findings = [too_few(allowed, needed) if probe.out_of_calls else reason_of(entries, seen)]
            message = findings[0].text
        elif verdict == "fail" and not (entries.state == FAIL).any():
            message = findings[0].text if findings and not wrong else text_of_disagreement(probe)
        elif verdict == "fail" and not wrong:
            message = findings[0].text
        at_kink = [AT_KINK] if entries.kinks and verdict == "pass" else []
        notes = [*claim.notes, *fixed_notes(flat), *at_kink, *entries.notes, *undecided_notes(inputs)]
        notes += [*trivial_notes(entries, inputs), *slight_notes(entries)]
        if verdict == "fail" and all(finding.is_place for finding in findings):
            notes += tolerance_notes(entries)
        if probe.out_of_calls and verdict == "fail":
            notes.append("the call budget (--calls) ended the search for more wrong elements")
        if self.cut_short:
            notes.append("the search for the mistake was stopped because it took too long")
        taylor = None
        if request.taylor and flat.size:
            from .taylor import taylor_of

            taylor = taylor_of(entries, probe.directions.draw("relative"))
        checked = self.report(
            seen,
            message,
            inputs=inputs,
            diagnosis=tuple(findings),
            notes=tuple(dict.fromkeys(notes)),
            evidence=evidence(probe, verdict),
            taylor=taylor,
        )
        with contextlib.suppress(OutOfCallsError):
            return with_adjoint_test(checked, claim, request.seed)
        return checked

    def finds_few_digits(self, entries: Entries, probe: Probe, verdict: str) -> bool:
        """Return whether values turn out to have the digits of float32 only, which the claim notes from then on."""
        flat, claim = self.flat, self.claim
        known = flat.input_unit >= FEW_DIGITS or bool(claim.capabilities.value_unit) or not entries.claimed.size
        if known or self.request.tolerances is not None or claim.budget.allowed is not None:
            return False
        items = (input_check(entries, probe, k) for k in range(len(claim.wrt)))
        single = flat.unit > FEW_DIGITS and (verdict != "pass" or any((x.resolution or 0.0) > FEW_SEEN for x in items))
        if not (single or probe.directions.scatters()):
            return False
        from ..numeric.float32 import SINGLE, note_on_digits, note_on_float32

        note = note_on_float32(claim) if flat.unit == SINGLE else note_on_digits(entries)
        if note:
            claim.capabilities = replace(claim.capabilities, value_unit=SINGLE)
            claim.notes = (*claim.notes, note)
        return bool(note) and flat.unit < SINGLE

    def unsteady(self, entries: Entries) -> Finding | Observation | None:
        """Return how calls of a gradient that is given whole differ: two in a row, or an early and a late one."""
        rows = entries.rows
        if rows.again is None:
            return None
        found = find_unsteady(rows.claimed, rows.again, self.at_other, self.request.nondet_tol)
        if found is not None or self.at_other is None or entries.word != "right" or self.differs(rows):
            return found
        return late_difference(self.flat, rows.claimed, self.at_other)

    def differs(self, rows: ClaimedRows) -> bool:
        """Return whether two calls of the claim differ by more than rounding."""
        least = np.maximum(SAME_CALL * np.abs(rows.claimed), self.request.nondet_tol)
        return bool((rows.between_calls > least).any())

    def observations(self, entries: Entries, probe: Probe, broken: bool) -> dict[str, str]:
        """Return what was seen of the whole claim, by source. broken: whether it violates a law of derivatives."""
        seen = {"elements": entries.word}
        if broken:
            seen["law"] = "is broken"
        if probe.proven is not None:
            seen["direction"] = "contradicts"
        if probe.out_of_calls:
            seen["budget"] = "is used up"
        if self.differs(entries.rows):
            seen["repeat"] = "differs"
        return seen

    def input_check(self, entries: Entries, probe: Probe, k: int) -> InputCheck:
        item = input_check(entries, probe, k)
        return with_elements(entries, item, k) if self.request.show == "all" else item

    def decide_rest(self, entries: Entries, probe: Probe) -> frozenset[int]:
        from ..explain.rest import decide_rest

        return decide_rest(entries, probe)

    @contextlib.contextmanager
    def explaining(self) -> Iterator[None]:
        """End the block if it takes much longer than the check: at other points, the function may iterate forever."""
        limit = max(EXPLAIN_SECONDS, EXPLAIN_FACTOR * (time.monotonic() - self.start))
        try:
            with within(time_left(limit)):
                yield
        except TimeIsUp:
            self.cut_short = True

    def find_mistakes(self, entries: Entries, diagonal: frozenset[int]) -> tuple[Finding, ...]:
        from ..explain.diagnose import find_mistakes

        mistakes = find_mistakes(entries, diagonal, self.at_other)
        only_places = all(finding.is_place for finding in mistakes)
        return (ROUGH, *mistakes) if entries.rough and only_places else mistakes


def compare_by_estimates(entries: Entries, probe: Probe, request: Request) -> None:
    """Probe and locate; then settle kinks."""
    flat = entries.flat
    probe.run(every=request.show == "all" and flat.size <= MOST_ONE_BY_ONE)
    if probe.out_of_calls:
        return
    meeting = entries.rows_at_kinks | entries.is_constant
    every = not np.isnan(entries.value[:, ~flat.fixed]).any()
    with contextlib.suppress(OutOfCallsError):
        if meeting.any() and flat.size > 1 and every and (entries.kinks or not probe.directions.adds_up()):
            from ..numeric.kink import settle_kinks

            settle_kinks(entries, np.flatnonzero(meeting).tolist(), request.seed)
        probe.look_next_to_kinks()
    entries.fail_together()


def with_adjoint_test(checked: CheckReport, claim: Claim, seed: int) -> CheckReport:
    """Add to a report how far forward and reverse mode agree; if they disagree, one of them is wrong."""
    if not (claim.capabilities.pull and claim.capabilities.push):
        return checked
    try:
        agreement, least = adjoint_test(claim, seed)
    except NoForwardError:  # there is only reverse mode to check
        return checked
    if np.isnan(agreement):
        return checked
    checked = replace(checked, cross_checks=(*checked.cross_checks, ("forward mode", agreement)))
    if agreement >= least:
        return checked
    text = f"forward and reverse mode agree to only {agreement:.1f} digits"
    if checked.verdict == "pass":
        forward, reverse = ("forward mode", "reverse mode (vjp)"), ("reverse mode", "forward mode (jvp)")
        right, wrong = forward if claim.claims == "jvp" else reverse
        text += f"; the values confirm {right}, so {wrong} is wrong"
    message = checked.message if checked.verdict == "fail" else text
    findings = (*checked.diagnosis, Finding("modes disagree", text))
    return observe(checked, {"law": "is broken"}, message=message, diagnosis=findings)
