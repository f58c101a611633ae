"""One check from beginning to end, and its report."""

from __future__ import annotations

import contextlib
import functools
import inspect
import textwrap
import time
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..errors import GradcliError, describe_error, lines_of_file, text_of
from ..program.claim import CallError, Claim, ComplexError, OutOfCallsError, Watch, WrongShapeError
from ..program.user_code import users_trace
from ..request import Request
from ..show.check_results import CheckReport, Elements, Evidence, Finding, InputCheck, Line
from .directions import PLAN, STEPS, Directions, Outcome, taylor_of
from .flat import Flat
from .jacobian import Reference
from .judge import judge_along
from .kink import settle_kinks
from .noise import FixedJudgement, is_rough, roughness, scatter_of_claim, solver_tolerance
from .products import (
    KEPT,
    claim_beside,
    coarseness,
    gradients_apart,
    nonlinearity,
    other_value,
    staleness,
    with_adjoint_test,
)
from .symmetric import restrict_to_symmetric
from .verdict import CAP, FAIL, HIDDEN, OWN_NOISE, UNSURE, Judgement, digits_of, rounding_slack

LINE = 81
"""Points of the function along the worst element."""
VERDICTS = np.array(["pass", "fail", "inconclusive", "hidden"])


def input_checks(flat: Flat, judgement: Judgement, every: bool = False) -> tuple[InputCheck, ...]:
    """Return what was found, input by input; where every element is wanted, with all of them."""
    checks = tuple(one_input(flat, judgement, k) for k in range(len(flat.claim.wrt)))
    if not every:
        return checks
    return tuple(with_elements(flat, judgement, k, item) for k, item in enumerate(checks))


def with_elements(flat: Flat, judgement: Judgement, k: int, item: InputCheck) -> InputCheck:
    """Return what was found for input k with all its elements, its value, and the function along the worst."""
    every = elements_of(flat, judgement, k)
    line = None
    if item.worst is not None:
        row = every.rows.index((item.worst.output, item.worst.output_part))
        line = line_along(flat, row, int(flat.edges[k]) + every.columns.index((item.worst.place, item.worst.part)))
    return replace(item, elements=every, point=np.array(flat.arrays[k]), line=line)


def line_along(flat: Flat, row: int, column: int) -> Line:
    """Return an output element along an element of x, as far as that is large to either side; nan where it raises."""
    x = float(flat.coordinate(column))
    offsets = np.linspace(-1, 1, LINE) * float(flat.scales[column])
    with np.errstate(all="ignore"):
        value = flat.along(np.full(LINE, column), offsets)[:, row]
    return Line(x + offsets, value, (x, float(flat.f0[row])))


def elements_of(flat: Flat, judgement: Judgement, k: int) -> Elements:
    columns = range(int(flat.edges[k]), int(flat.edges[k + 1]))
    block = np.s_[:, columns.start : columns.stop]
    return Elements(
        tuple(flat.row(j) for j in range(len(flat.f0))),
        tuple(flat.label(i)[1:] for i in columns),
        judgement.analytic[block],
        judgement.value[block],
        judgement.margin * judgement.error[block],
        VERDICTS[judgement.state[block]],
    )


def one_input(flat: Flat, judgement: Judgement, k: int) -> InputCheck:
    columns = slice(int(flat.edges[k]), int(flat.edges[k + 1]))
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
    with np.errstate(all="ignore"):
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
    column = int(flat.edges[k]) + int(i)
    sides = judgement.reference.sides(int(j), column)
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
    )


DEFECT = "a defect of gradcli, please report it"
"""What is said where nobody foresaw an error."""
SCATTER_LIMIT = 200_000
"""Elements of a Jacobian up to which a hand-written derivative is called again, to see its own rounding."""
JUMPS = 1e-3
"""A claim that changes by more between points that are rounding units apart jumps there: that is no noise."""
SPARSE = 10_000
"""Elements of a Jacobian from which on its pattern is looked at."""
SLOW = 2.0
"""Seconds that one call per element may take for all elements to be looked at."""
EXCUSE_LIMIT = 5_000_000
"""Elements up to which that is done once more for what was held against it."""


class Place(NamedTuple):
    """What a check is called and where it was declared."""

    name: str
    file: str | None = None
    line: int | None = None
    replay: str | None = None


def source_at(place: Place) -> str:
    """Return the text of what begins at a line of a file, "" where there is none."""
    lines = lines_of_file(place.file)[(place.line or 1) - 1 :] if place.file and place.line else []
    try:
        return textwrap.dedent("".join(inspect.getblock(lines))) if lines else ""
    except (SyntaxError, IndentationError):
        return lines[0]


def run_check(
    make: Callable[[], Claim],
    place: Place,
    request: Request | None = None,
    watch: Watch | None = None,
    blame: bool = True,
) -> CheckReport:
    """Check the claim that `make` returns; whatever goes wrong becomes a report.

    watch: told how far it is. blame: whether to look for the guilty part after a fail.
    """
    request = request or Request()
    start = time.perf_counter()

    def report(verdict: str, message: str = "", **more: object) -> CheckReport:
        return CheckReport(
            place.name,
            place.file,
            place.line,
            verdict,
            time.perf_counter() - start,
            message=message,
            replay=place.replay if verdict == "fail" else None,
            source=source_at(place) if request.show == "all" else "",
            **more,  # type: ignore[arg-type]
        )

    claim: Claim | None = None

    def guilty() -> str | None:
        """Return the custom function whose backward raised or gave a wrong shape, where one did."""
        with contextlib.suppress(Exception):
            parts = claim.parts() if blame and claim is not None else ()
            return next((describe() for part, describe in parts if is_wrong(part)), None)
        return None

    try:
        with np.errstate(all="ignore"):
            claim = make()
            claim.watch = watch
            checked = judge(claim, request, report)
            blamed = guilty() if checked.verdict == "fail" and request.calls is None else None
            return replace(checked, blame=blamed)
    except WrongShapeError as error:
        finding = Finding("shape", "the gradient has a wrong shape")
        return report("fail", str(error), diagnosis=(finding,), blame=guilty())
    except ComplexError as error:
        return report("fail", str(error), diagnosis=(Finding("complex", "a real input has a real gradient"),))
    except CallError as error:
        cause = error.__cause__
        known = cause if isinstance(cause, Exception) else None
        hint = error.hint or getattr(cause, "hint", None)
        return report("error", str(error), error=known, trace=users_trace(cause), hint=hint, blame=guilty())
    except OutOfCallsError:
        return report("inconclusive", f"{request.calls} calls (--calls) do not decide: the products took some")
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
    """Return the report on a claim, by directions where these are enough, else by elements. Raises CallError."""
    claim.most_calls = request.calls
    flat = Flat(claim)
    beside = claim_beside(flat)
    few = request.show != "all" and (request.looks_along or is_costly(flat))
    along = bool(request.tolerances is None and len(flat.f0) * flat.size and few)
    if along:
        bent = within_budget(flat, request.seed)
        look = Directions(flat, request.seed, STEPS if request.taylor else None)
        outcome = judge_along(look)
        if request.taylor and look.slopes:
            report = functools.partial(report, taylor=taylor_of(look))
        if outcome is not None:
            return report_along(look.flat, outcome, bent or unsteadiness(look, beside), request, report)
    reason = undecidable(flat)
    if reason is not None:
        return report("inconclusive", reason)
    if not along:
        bent = wrong_products(flat, request.seed)
    return judge_elements(flat, bent, beside, request, report)


def judge_elements(
    flat: Flat, bent: Finding | None, beside: np.ndarray | None, request: Request, report: Callable[..., CheckReport]
) -> CheckReport:
    """Return the report on a claim whose elements are looked at one by one.

    bent: what is wrong with products. beside: what the gradient gave at another point.
    """
    claim = flat.claim
    if bent is None and request.tolerances is None and request.show != "all":
        right = all_right(flat)
        if right is not None:
            evidence = Evidence(len(flat.f0) * flat.size, 0, flat.calls)
            return with_adjoint_test(report("pass", inputs=right, evidence=evidence), claim, request.seed)
    analytic, again = claimed_jacobians(flat)
    coarse = 0.0
    if bent is None and request.tolerances is None:
        coarse, bent = coarseness(flat, analytic, request.seed)
    findings: tuple[Finding, ...] = () if bent is None else (bent,)
    findings += unsteady_finding(analytic, again, beside)
    if analytic.size and request.tolerances is not None:
        judgement: Judgement = FixedJudgement(flat, analytic, request.tolerances)
    else:
        judgement = judge_closely(flat, analytic, request.seed, coarse)
    verdict = "fail" if findings else judgement.verdict
    if judgement.verdict == "fail":
        from .diagnose import diagnose, what_is_right

        judgement.notes += what_is_right(flat, judgement)
        mistakes = diagnose(flat, judgement)
        if beside is not None and np.array_equal(beside, analytic) and not any(f.kind not in PLACES for f in mistakes):
            mistakes = (KEPT,)
        if judgement.rough and all(f.kind in PLACES for f in mistakes):
            mistakes = (ROUGH, *mistakes)
        findings = (*findings, *mistakes)
    message = judgement.reason() if verdict == "inconclusive" else claim.restriction
    if findings and judgement.verdict != "fail":
        message = findings[0].text
    inputs = input_checks(flat, judgement, request.show == "all")
    notes = [*claim.notes, *judgement.notes, *(undecided_note(item) for item in inputs if item.hidden)]
    if verdict == "pass" and analytic.size and sum(item.hidden for item in inputs) == analytic.size:
        verdict, message = "inconclusive", "no element is decidable: all are below the function's own rounding"
    if judgement.kinks and verdict == "pass":
        notes.insert(len(claim.notes), "a kink: the claimed value lies between the one-sided derivatives")
    checked = report(
        verdict,
        message,
        inputs=inputs,
        diagnosis=findings,
        notes=tuple(dict.fromkeys(notes)),
        evidence=Evidence(analytic.size, judgement.closely, flat.calls),
    )
    if judgement.verdict != "pass" and bent is None and request.tolerances is None:
        narrower = restrict_to_symmetric(flat)
        on_symmetric = None if narrower is None else judge(narrower, request, report)
        if on_symmetric is not None and all(item.verdict == "pass" for item in on_symmetric.inputs):
            return on_symmetric
    return with_adjoint_test(checked, claim, request.seed)


def all_right(flat: Flat) -> tuple[InputCheck, ...] | None:
    """Return what was found for each input of a large sparse Jacobian, where one look shows every element right."""
    if not flat.claim.traced or len(flat.f0) * flat.size < SPARSE:
        return None
    from .sparse_jacobian import all_right

    return all_right(flat.claim, flat)  # type: ignore[arg-type]


def is_costly(flat: Flat) -> bool:
    if flat.claim.costly or flat.claim.traced:
        return flat.claim.costly
    flat.value_again()
    return flat.size * flat.seconds > SLOW


def wrong_products(flat: Flat, seed: int) -> Finding | None:
    """Return in what the claim's products are not linear, or stale, which needs no value to be compared with."""
    return nonlinearity(flat, seed) or staleness(flat, seed) or gradients_apart(flat, seed) or other_value(flat)


def within_budget(flat: Flat, seed: int) -> Finding | None:
    """Return what is wrong with the claim's products; None where asking costs more calls than there are."""
    claim = flat.claim
    if claim.most_calls is not None and claim.calls + 2 * claim.claim_calls + PLAN > claim.most_calls:
        return None
    return wrong_products(flat, seed)


def report_along(
    flat: Flat, outcome: Outcome, bent: Finding | None, request: Request, report: Callable[..., CheckReport]
) -> CheckReport:
    findings = (() if bent is None else (bent,)) + outcome.findings
    verdict = "fail" if bent is not None else outcome.verdict
    notes = (*flat.claim.notes, *outcome.notes, *(undecided_note(item) for item in outcome.inputs if item.hidden))
    message = bent.text if bent is not None and outcome.verdict != "fail" else outcome.message
    message = message or flat.claim.restriction
    checked = report(
        verdict, message, inputs=outcome.inputs, diagnosis=findings, notes=notes, evidence=outcome.evidence(flat)
    )
    try:
        return with_adjoint_test(checked, flat.claim, request.seed)
    except OutOfCallsError:
        return checked


def undecided_note(item: InputCheck) -> str:
    """Return which elements of an input are neither right nor wrong."""
    count = "1 element is" if item.hidden == 1 else f"{item.hidden} elements are"
    return (
        f"{item.name}: {count} not decidable, below the function's own rounding: "
        f"any value up to {item.hidden_below:.2g} agrees"
    )


def undecidable(flat: Flat) -> str | None:
    """Return why nothing can be said of a function at this point; None where something can."""
    again = flat.value_again()
    if not np.isfinite(flat.f0).all():
        return "the function is not finite at this point"
    strange = [name for name in flat.claim.wrt if not np.isfinite(flat.claim.at[name]).all()]
    if strange:
        return f"the input {', '.join(strange)} holds nan or infinity"
    drift, size = np.abs(flat.f0 - again), np.abs(flat.f0)
    if (drift > 1e3 * flat.unit * size).any():
        worst = float((drift / np.maximum(size, 1e-300)).max())
        return f"non-deterministic: two calls at the same point differ by {worst:.2g} relative"
    return None


def claimed_jacobians(flat: Flat) -> tuple[np.ndarray, np.ndarray]:
    """Return the claimed derivative as a matrix, and what a second call at the same point gives.

    The engine's own and large ones are not asked twice. Raises WrongShapeError.
    """
    claim = flat.claim
    analytic = flat.matrix()
    if analytic.size > SCATTER_LIMIT or claim.traced:
        return analytic, analytic
    return analytic, flat.matrix()


def rounding_of_claim(flat: Flat, analytic: np.ndarray, scatter: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    unit = max((float(np.finfo(part.dtype).eps) / 2 for part in flat.parts), default=2.0**-53)
    unit = max(unit, flat.claim.claim_unit or 0.0)
    return rounding_slack(analytic, scatter, unit)


def judge_closely(flat: Flat, analytic: np.ndarray, seed: int, coarse: float = 0.0) -> Judgement:
    """Decide every element by its own numeric derivative; then look for what excuses those that seem wrong.

    coarse: the part of itself that the claim is not certain of.
    """
    asked = analytic.size <= SCATTER_LIMIT and not flat.claim.traced
    scatter = scatter_of_claim(flat.claim, flat, analytic) if asked else np.zeros_like(analytic)
    slack, floor = rounding_of_claim(flat, analytic, scatter)
    judgement = Judgement(analytic, Reference(flat), slack + coarse * np.abs(analytic), floor)
    steady = np.where(scatter <= JUMPS * np.abs(analytic), scatter, 0.0)
    judgement.excusable = OWN_NOISE * steady
    if not analytic.size:  # without elements the verdict is a pass in every way of checking
        return judgement
    judgement.run()
    settle_kinks(flat, judgement, seed)
    if judgement.verdict != "fail" or analytic.size > EXCUSE_LIMIT:
        return judgement
    if flat.claim.traced:
        scatter = scatter_of_claim(flat.claim, flat, analytic)
    judgement.rough = is_rough(flat, judgement, scatter)
    if not judgement.rough:
        judgement.excuse(
            np.fmax(roughness(flat.claim, flat, analytic), steady),
            "rounding hides the claimed derivative: between close points it scatters by about {:.1g} relative",
        )
    solver = solver_tolerance(flat, judgement, scatter) if judgement.verdict == "fail" and not judgement.rough else None
    if solver is not None:
        judgement.excuse_all(solver)
    return judgement


def is_wrong(claim: Claim) -> bool:
    return run_check(lambda: claim, Place("a part"), blame=False).verdict in ("fail", "error")


def unsteadiness(look: Directions, beside: np.ndarray | None) -> Finding | None:
    """Return what a second call of a gradient tells of which directions were taken; None where there was none."""
    rows = look.claimed if look.slopes else None
    if rows is None or rows.whole is None or rows.again is None:
        return None
    return next(iter(unsteady_finding(rows.whole, rows.again, beside)), None)


ROUGH = Finding(
    "rough",
    "the claim is rough: the function's slope is smooth over close points, and the claim jumps about (computed in "
    "float16 or float32, from a table, or by an iteration that stops early)",
)
PLACES = ("single element", "some elements")  # where a mistake is, and not which


def unsteady_finding(first: np.ndarray, second: np.ndarray, beside: np.ndarray | None = None) -> tuple[Finding, ...]:
    """Return what a second call of the derivative at the same point tells: nothing when it gives the same.

    beside: what it gave at another point before.
    """
    if first is second or np.allclose(first, second, rtol=1e-12, atol=0, equal_nan=True):
        return ()
    grown = first if beside is None or beside.shape != first.shape else first - beside
    with np.errstate(all="ignore"):
        calls = np.round(np.median(grown / (second - first)))
    if calls > 0 and np.allclose(calls * (second - first), grown, rtol=1e-9, atol=0):
        return (Finding("accumulated", "accumulated twice: a second call at the same point gives twice as much"),)
    if np.allclose(second, first, rtol=1e-3):
        return ()
    return (
        Finding(
            "unsteady",
            "not reproducible: two calls at the same point give different gradients (stale, accumulated, random)",
        ),
    )
