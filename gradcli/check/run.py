"""One check from beginning to end, and its report."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..errors import GradcliError, describe_error, lines_of_file, text_of
from ..program.claim import (
    CallError,
    Claim,
    ComplexError,
    NotElementwiseError,
    OutOfCallsError,
    Progress,
    WrongShapeError,
)
from ..program.user_code import users_trace
from ..request import Request
from ..show.check_results import CheckReport, ElementCounts, Elements, Evidence, Finding, InputCheck, Line
from .flat import Flat
from .jacobian import Reference
from .noise import roughness, scatter_of_claim
from .products import KEPT, claim_at_other_point, coarseness, find_broken_law, with_adjoint_test
from .verdict import (
    AT_KINK,
    CAP,
    FAIL,
    HIDDEN,
    OWN_NOISE,
    UNSURE,
    Judgement,
    differ_by,
    digits_of,
    judge_by_tolerances,
    rounding_slack,
)

DEFECT = "a defect of gradcli, please report it"  # what is said where nobody foresaw an error
SCATTER_LIMIT = 200_000
"""Elements of a Jacobian up to which a hand-written derivative is called again, to see its own rounding."""
JUMPS = 1e-3  # a claim that changes by more between points that are rounding units apart jumps there: that is no noise
SPARSE_FROM = 20_000  # elements of a Jacobian from which on its pattern is looked at
SLOW_SECONDS = 2.0  # seconds that one call per element may take for all elements to be looked at
DISTURBED = 0.05  # seconds by which other work on the machine delays a call at most, mostly
RETRIALS = 3  # further calls to tell a slow function from a delayed call
EXCUSE_LIMIT = 5_000_000  # elements of a Jacobian up to which a claim that fails is called at points close by


class Place(NamedTuple):
    """What a check is called, where it was declared, the command line that repeats it, and derivatives by hand."""

    name: str
    file: str | None = None
    line: int | None = None
    replay: str | None = None
    claims: tuple[Callable, ...] = ()


def source_at(file: str | None, line: int | None) -> str:
    """Return the text of what begins at a line of a file, "" where there is none."""
    lines = lines_of_file(file)[(line or 1) - 1 :] if file and line else []
    try:
        return textwrap.dedent("".join(inspect.getblock(lines))) if lines else ""
    except (SyntaxError, IndentationError):
        return lines[0]


def source_place(function: Callable) -> tuple[str, int] | None:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return None if code is None else (code.co_filename, code.co_firstlineno)


def sources_of(place: Place) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the function's text and, of each derivative by hand that is not a part of it, where it is and its text."""
    source, others = source_at(place.file, place.line), []
    for file, line in filter(None, map(source_place, place.claims)):
        if (text := source_at(file, line)).strip() not in source:
            others.append((f"{os.path.relpath(file)}:{line}", text))
    return source, tuple(others)


def run_check(
    make: Callable[[], Claim],
    place: Place,
    request: Request | None = None,
    progress: Progress | None = None,
    blame: bool = True,
) -> CheckReport:
    """Check the claim that `make` returns; whatever goes wrong is a report. blame: find the wrong part of a fail."""
    request = request or Request()
    start = time.perf_counter()

    def report(verdict: str, message: str = "", **more: object) -> CheckReport:
        source, claim_sources = sources_of(place) if request.show == "all" else ("", ())
        return CheckReport(
            place.name,
            place.file,
            place.line,
            verdict,
            time.perf_counter() - start,
            message=message,
            replay=place.replay if verdict == "fail" else None,
            source=source,
            claim_sources=claim_sources,
            **more,  # type: ignore[arg-type]
        )

    claim: Claim | None = None

    def fails(part: Claim) -> bool:
        return run_check(lambda: part, Place("a part"), blame=False).verdict in ("fail", "error")

    def wrong_part() -> str | None:
        """Return the custom function whose backward is wrong, raises or gives a wrong shape, where one does."""
        with contextlib.suppress(Exception):
            parts = claim.parts() if blame and claim is not None else ()
            return next((describe() for part, describe in parts if fails(part)), None)
        return None

    try:
        with np.errstate(all="ignore"):
            claim = make()
            claim.progress = progress or Progress()
            checked = judge(claim, request, report)
            wrong = checked.verdict == "fail" and claim.budget.allowed is None
            return replace(checked, blame=wrong_part()) if wrong else checked
    except WrongShapeError as error:
        finding = Finding("shape", "the gradient has a wrong shape")
        return report("fail", str(error), diagnosis=(finding,), blame=wrong_part(), hint=error.hint)
    except NotElementwiseError as error:
        finding = Finding("not elementwise", "an element of an input changes others of the output")
        return report("fail", str(error), diagnosis=(finding,))
    except ComplexError as error:
        return report("fail", str(error), diagnosis=(Finding("complex", "a real input has a real gradient"),))
    except CallError as error:
        cause = error.__cause__
        known = cause if isinstance(cause, Exception) else None
        hint = error.hint or getattr(cause, "hint", None)
        return report("error", str(error), error=known, trace=users_trace(cause), hint=hint, blame=wrong_part())
    except OutOfCallsError:
        allowed = claim.budget.allowed if claim else 0
        return report("inconclusive", f"{allowed} calls (--calls) do not decide: the products took some")
    except RecursionError:
        return report("error", "the function recurses too deeply")
    except MemoryError:
        return report("error", "not enough memory")
    except GradcliError as error:
        return report("error", error.message, hint=error.hint)
    except OSError as error:
        return report("error", f"the system refused to go on: {error.strerror or text_of(error)}")
    except Exception as error:  # one check must not end the others
        return report("error", f"{DEFECT}: {describe_error(error)}")


def judge(claim: Claim, request: Request, report: Callable[..., CheckReport]) -> CheckReport:
    return report("inconclusive", claim.doubt) if claim.doubt else Judging(claim, request, report).run()


class Judging:
    """The judgement of one claim. All methods raise CallError.

    report: makes a report of a verdict, a message, and more of its fields. at_other: the claim at another point.
    broken_law: what products with it do not satisfy, or that two calls differ.
    """

    def __init__(self, claim: Claim, request: Request, report: Callable[..., CheckReport]):
        claim.budget.allowed = request.calls or claim.budget.allowed
        self.claim, self.request, self.report, self.flat = claim, request, report, Flat(claim)
        self.at_other = claim_at_other_point(self.flat)
        self.broken_law: Finding | None = None

    def run(self) -> CheckReport:
        """Return the report: by directions where these are enough, else by elements."""
        flat, request = self.flat, self.request
        reason = not_finite(flat)
        if reason is not None:
            return self.report("inconclusive", reason)
        along = request.tolerances is None and request.show != "all" and len(flat.f0) * flat.size > 0
        along = along and bool(request.looks_along or self.claim.budget.allowed or is_costly(flat))
        checked = self.by_directions() if along else None
        if checked is not None:
            return checked
        drift, size = np.abs(flat.f0 - flat.value_again()), np.abs(flat.f0)
        if (drift > 1e3 * flat.unit * size).any():
            return self.report("inconclusive", differ_by((drift / np.maximum(size, 1e-300)).max()))
        if not along:
            self.broken_law = find_broken_law(flat, request.seed)
        return self.by_elements()

    def by_directions(self) -> CheckReport | None:
        from .directions import PLAN, TAYLOR_STEPS, Directions, taylor_of
        from .wrong_elements import judge_along

        claim, request, most = self.claim, self.request, self.claim.budget.allowed
        if most is None or claim.budget.made + 2 * claim.budget.claim_calls + PLAN <= most:
            self.broken_law = find_broken_law(self.flat, request.seed)
        look = Directions(self.flat, request.seed, TAYLOR_STEPS if request.taylor else None)
        outcome = judge_along(look)
        if request.taylor and look.slopes:
            self.report = functools.partial(self.report, taylor=taylor_of(look))
        if outcome is None:
            return None
        rows = look.claimed if look.slopes else None
        if self.broken_law is None and rows is not None and rows.whole is not None and rows.again is not None:
            self.broken_law = find_unsteady(rows.whole, rows.again, self.at_other)
        verdict, message, findings = outcome.verdict, outcome.message, outcome.findings
        if self.broken_law is not None:
            verdict, message = "fail", message if verdict == "fail" else self.broken_law.text
            findings = (self.broken_law, *findings)
        claim = look.flat.claim  # perhaps restricted to symmetric matrices
        checked = self.report(
            verdict,
            message or claim.restriction,
            inputs=outcome.inputs,
            diagnosis=findings,
            notes=(*claim.notes, *outcome.notes, *undecided_notes(outcome.inputs)),
            evidence=outcome.evidence(look.flat),
        )
        with contextlib.suppress(OutOfCallsError):
            return with_adjoint_test(checked, claim, request.seed)
        return checked

    def by_elements(self) -> CheckReport:
        flat, claim, request = self.flat, self.claim, self.request
        by_error = request.tolerances is None
        large = claim.capabilities.traced and len(flat.f0) * flat.size >= SPARSE_FROM
        if self.broken_law is None and by_error and request.show != "all" and large:
            from .sparse_jacobian import all_right

            right = all_right(flat)
            if right is not None:
                evidence = Evidence(len(flat.f0) * flat.size, 0, flat.calls)
                return with_adjoint_test(self.report("pass", inputs=right, evidence=evidence), claim, request.seed)
        analytic = flat.matrix()
        again = analytic if analytic.size > SCATTER_LIMIT or claim.capabilities.traced else flat.matrix()
        coarse = 0.0
        if self.broken_law is None and by_error:
            coarse, self.broken_law = coarseness(flat, analytic, request.seed)
        unsteady = find_unsteady(analytic, again, self.at_other)
        findings = [finding for finding in (self.broken_law, unsteady) if finding is not None]
        if analytic.size and request.tolerances is not None:
            judgement = judge_by_tolerances(flat, analytic, request.tolerances)
        else:
            judgement = judge_closely(flat, analytic, request.seed, coarse)
        verdict = "fail" if findings else judgement.verdict
        message = judgement.reason() if verdict == "inconclusive" else claim.restriction
        if judgement.verdict == "fail":
            findings += self.find_mistakes(judgement)
        elif findings:
            message = findings[0].text
        inputs = tuple(input_check(judgement, k, request.show == "all") for k in range(len(claim.wrt)))
        if verdict == "pass" and analytic.size and sum(item.hidden for item in inputs) == analytic.size:
            verdict, message = "inconclusive", "no element is decidable: all are below the function's own rounding"
        at_kink = [AT_KINK] if judgement.kinks and verdict == "pass" else []
        notes = [*claim.notes, *at_kink, *judgement.notes, *undecided_notes(inputs)]
        checked = self.report(
            verdict,
            message,
            inputs=inputs,
            diagnosis=tuple(findings),
            notes=tuple(dict.fromkeys(notes)),
            evidence=Evidence(analytic.size, judgement.closely, flat.calls),
        )
        matrices = any(x.ndim > 1 for x in flat.arrays)
        if judgement.verdict != "pass" and self.broken_law is None and by_error and matrices:
            from .symmetric import restrict_to_symmetric

            narrower = restrict_to_symmetric(flat)
            on_symmetric = None if narrower is None else judge(narrower, request, self.report)
            if on_symmetric is not None and all(item.verdict == "pass" for item in on_symmetric.inputs):
                return on_symmetric
        return with_adjoint_test(checked, claim, request.seed)

    def find_mistakes(self, judgement: Judgement) -> tuple[Finding, ...]:
        from .diagnose import diagnose

        mistakes = diagnose(judgement)
        only_places = all(finding.kind in PLACES for finding in mistakes)
        if only_places and self.at_other is not None and np.array_equal(self.at_other, judgement.analytic):
            return (KEPT,)
        return (ROUGH, *mistakes) if judgement.rough and only_places else mistakes


def is_costly(flat: Flat) -> bool:
    """Return whether calls are too dear for a look at every element; a busy machine alone does not make them so."""
    if flat.claim.capabilities.costly or flat.claim.capabilities.traced:
        return flat.claim.capabilities.costly
    flat.value_again()
    for _ in range(RETRIALS):
        if flat.size * flat.seconds > SLOW_SECONDS and flat.seconds < DISTURBED:
            flat.call_again()
    return flat.size * flat.seconds > SLOW_SECONDS


def undecided_notes(inputs: Iterable[InputCheck]) -> Iterator[str]:
    for item in inputs:
        if item.hidden:
            count = "1 element is" if item.hidden == 1 else f"{item.hidden} elements are"
            reason = f"below the function's own rounding: any value up to {item.hidden_below:.2g} agrees"
            yield f"{item.name}: {count} not decidable, {reason}"


def not_finite(flat: Flat) -> str | None:
    """Return what is not finite, so that nothing can be said of a function at this point."""
    if not np.isfinite(flat.f0).all():
        return "the function is not finite at this point"
    strange = [name for name in flat.claim.wrt if not np.isfinite(flat.claim.at[name]).all()]
    return f"the input {', '.join(strange)} holds nan or infinity" if strange else None


def judge_closely(flat: Flat, analytic: np.ndarray, seed: int, coarse: float) -> Judgement:
    """Decide every element by its own derivative, then what excuses it. coarse: the part that is not certain."""
    asked = analytic.size <= SCATTER_LIMIT and not flat.claim.capabilities.traced
    scatter = scatter_of_claim(flat, analytic) if asked else np.zeros_like(analytic)
    judgement = Judgement(analytic, Reference(flat), *rounding_slack(analytic, scatter, flat.claim_unit, coarse))
    steady = np.where(scatter <= JUMPS * np.abs(analytic), scatter, 0.0)
    judgement.excusable = OWN_NOISE * steady
    if not analytic.size:  # without elements the verdict is a pass in every way of checking
        return judgement
    judgement.run()
    rows = {j for j, columns in judgement.kinks.items() if len(columns) > 1}
    rows.update(np.flatnonzero((judgement.state == FAIL).any(axis=1)).tolist())
    if rows and flat.size > 1:
        from .kink import settle_kinks

        settle_kinks(judgement, rows, seed)
    if judgement.verdict != "fail" or analytic.size > EXCUSE_LIMIT:
        return judgement
    if flat.claim.capabilities.traced:
        scatter = scatter_of_claim(flat, analytic)
    from .solver import is_rough, solver_tolerance

    judgement.rough = is_rough(judgement, scatter)
    if not judgement.rough:
        judgement.excuse(np.fmax(roughness(flat, analytic), steady))
    solver = solver_tolerance(judgement, scatter) if judgement.verdict == "fail" and not judgement.rough else None
    if solver is not None:
        for j, i in np.argwhere(judgement.state == FAIL):
            judgement.state[j, i] = judgement.unsure(int(j), int(i), solver)
    return judgement


ROUGH = Finding(
    "rough",
    "the claim is rough: the function's slope is smooth over close points, and the claim jumps about (computed in "
    "float16 or float32, from a table, or by an iteration that stops early)",
)
PLACES = ("single element", "some elements")  # findings that say where a mistake is, and not which


def find_unsteady(first: np.ndarray, second: np.ndarray, at_other: np.ndarray | None) -> Finding | None:
    """Return in what a second call of the derivative differs. at_other: what it gave at another point before."""
    if first is second or np.allclose(first, second, rtol=1e-12, atol=0, equal_nan=True):
        return None
    grown = first if at_other is None or at_other.shape != first.shape else first - at_other
    calls = np.round(np.median(grown / (second - first)))
    if calls > 0 and np.allclose(calls * (second - first), grown, rtol=1e-9, atol=0):
        return Finding("accumulated", "accumulated twice: a second call at the same point gives twice as much")
    if np.allclose(second, first, rtol=1e-3):
        return None
    text = "not reproducible: two calls at the same point give different gradients (stale, accumulated, random)"
    return Finding("unsteady", text)


LINE = 81  # points of the function along the worst element
VERDICTS = np.array(["pass", "fail", "inconclusive", "hidden"])


def input_check(judgement: Judgement, k: int, every: bool) -> InputCheck:
    """Return what was found for input k; where every element is wanted, with all of them, and a line."""
    item = one_input(judgement, k)
    if not every:
        return item
    flat, columns = judgement.flat, judgement.flat.columns(k)
    elements = Elements(
        tuple(flat.row(j) for j in range(len(flat.f0))),
        tuple(flat.label(i)[1:] for i in range(columns.start, columns.stop)),
        judgement.analytic[:, columns],
        judgement.value[:, columns],
        judgement.margin * judgement.error[:, columns],
        VERDICTS[judgement.state[:, columns]],
    )
    line = None
    if item.worst is not None:
        row = elements.rows.index((item.worst.output, item.worst.output_part))
        i = columns.start + elements.columns.index((item.worst.place, item.worst.part))
        x, offsets = float(flat.coordinate(i)), np.linspace(-1, 1, LINE) * float(flat.scales[i])
        line = Line(x + offsets, flat.along(np.full(LINE, i), offsets)[:, row], (x, float(flat.f0[row])))
    return replace(item, elements=elements, point=np.array(flat.arrays[k]), line=line)


def one_input(judgement: Judgement, k: int) -> InputCheck:
    flat, columns = judgement.flat, judgement.flat.columns(k)
    name, shape = flat.claim.wrt[k], flat.arrays[k].shape
    state, a = judgement.state[:, columns], judgement.analytic[:, columns]
    value, error = judgement.value[:, columns], judgement.error[:, columns]
    if not a.size:
        return InputCheck(name, shape, "pass", 0.0, 0.0, CAP, None, None)
    wrong, hidden = state == FAIL, state == HIDDEN
    verdict = "fail" if wrong.any() else "inconclusive" if (state == UNSURE).any() else "pass"
    at_kink = np.zeros(state.shape, bool)
    for row, places in judgement.kinks.items():
        at_kink[row, [c - columns.start for c in places if columns.start <= c < columns.stop]] = True
    gap = np.where(np.isfinite(a) | ~np.isfinite(value), np.abs(a - value), np.inf)
    relative = gap / np.abs(value)
    room = np.maximum(judgement.room(error, (slice(None), columns)), judgement.excusable[:, columns])
    known = np.isfinite(gap) & (np.abs(value) > judgement.margin * error) & ~hidden & ~at_kink
    excess = gap / (error + judgement.slack[:, columns] + np.finfo(float).tiny)
    excess = np.where(hidden, 0.0, excess)
    if wrong.any():
        excess = np.where(wrong, np.where(np.isnan(excess), np.inf, excess), -1.0)
        ties = np.isclose(excess, excess.max()) if np.isfinite(excess.max()) else np.isinf(excess)
        excess = np.where(ties, np.where(np.isnan(relative), np.inf, relative), -1.0)
    j, i = np.unravel_index(int(np.argmax(np.where(np.isnan(excess), -1.0, excess))), a.shape)
    counted = known | (wrong & ~np.isnan(gap))
    most = float(relative[counted].max()) if counted.any() else 0.0
    column = columns.start + int(i)
    sides = judgement.reference.sides.get((int(j), column))
    worst = flat.worst(int(j), column, a[j, i], value[j, i], float(judgement.margin * error[j, i]), sides)
    return InputCheck(
        name,
        shape,
        verdict,
        float(gap[counted].max()) if counted.any() else 0.0,
        most,
        digits_of(most),
        float((room[known] / np.abs(value[known])).max()) if known.any() else None,
        worst,
        hidden=int(hidden.sum()),
        hidden_below=float((np.abs(value) + room)[hidden].max()) if hidden.any() else 0.0,
        of_largest=float(room[known].max() / np.abs(value[known]).max()) if known.any() else None,
        counts=ElementCounts(int(wrong.sum()), int((state == UNSURE).sum()), state.size),
    )
