"""What gradcheck, lock and mutate find out."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import EXIT_FAIL, EXIT_OK, EXIT_TARGET, visible


class WorstElement(NamedTuple):
    """The element whose derivative is furthest from its reference.

    output: the index of the output element, of several outputs after what leads to one; place: that of the input
    element. numeric_error: the half-width of the reference's interval. sides: the left and the right derivative at a
    kink. output_part, part: which part of a complex output and of a complex input ("re" or "im").
    """

    output: tuple[int | str, ...]
    place: tuple[int, ...]
    analytic: Any
    numeric: Any
    numeric_error: float
    sides: tuple[float, float] | None = None
    output_part: str = ""
    part: str = ""


class Elements(NamedTuple):
    """Every element of one input's block of the Jacobian, as real numbers: arrays of shape (rows, columns).

    rows, columns: the index and the part ("", "re" or "im") of the output element and of the input element of each.
    numeric, error: the reference and the half-width of its interval. verdicts: pass, fail, inconclusive, or hidden
    below the function's own rounding.
    """

    rows: tuple[tuple[tuple[int | str, ...], str], ...]
    columns: tuple[tuple[tuple[int, ...], str], ...]
    claimed: np.ndarray
    numeric: np.ndarray
    error: np.ndarray
    verdicts: np.ndarray


class Line(NamedTuple):
    """A function beside the point, along one element of an input.

    x: values of the element, value: those of the output element there; at: the point, and the function's value there.
    """

    x: np.ndarray
    value: np.ndarray
    at: tuple[float, float]


@dataclass(frozen=True)
class InputCheck:
    """What was found for one input.

    resolution: the relative error above which any element would have been called wrong; None where no derivative
    is known to be other than zero; of_largest: the same relative to the largest derivative. hidden: how many elements
    are below the function's own rounding, so that they are neither right nor wrong; hidden_below: how large they may
    be without being seen. Where every element was asked for: elements, all of them; point, the input's value; line,
    the function along the worst element.
    """

    name: str
    shape: tuple[int, ...]
    verdict: str
    max_abs_error: float
    max_rel_error: float
    digits: float
    resolution: float | None
    worst: WorstElement | None
    hidden: int = 0
    hidden_below: float = 0.0
    elements: Elements | None = None
    point: np.ndarray | None = None
    line: Line | None = None
    of_largest: float | None = None

    def __post_init__(self) -> None:
        """Refuse a pass that says nothing. Raises ValueError."""
        if self.verdict == "pass":
            error = 0.0 if self.worst is None else self.worst.numeric_error
            if not math.isfinite(error) or not math.isfinite(self.resolution or 0.0):
                raise ValueError(f"'{self.name}' cannot pass with an error of {error} and {self.resolution}")


class Finding(NamedTuple):
    """Part of a diagnosis. kind: a stable word such as sign, factor, transposed; text: the evidence in a line."""

    kind: str
    text: str
    input: str | None = None


class Evidence(NamedTuple):
    """What a verdict rests on.

    elements: of the Jacobian; closely: how many of them were looked at closely; points: at how many the function was
    called. directions: claimed and numeric products along random directions, with the numeric error, where these were
    looked at instead of elements. needed: how many calls would decide what a budget or noise left open.
    """

    elements: int
    closely: int
    points: int
    directions: tuple[tuple[float, float, float], ...] = ()
    needed: int | None = None


class FoundPoint(NamedTuple):
    """A point at which a derivative is wrong: arrays by input, and the line that declares a check there."""

    at: Mapping[str, Any]
    line: str


class TaylorRow(NamedTuple):
    """A step, the Taylor remainder there, its rate from the step before, and whether rounding spoils it."""

    step: float
    remainder: float
    rate: float | None
    spoilt: bool


class Taylor(NamedTuple):
    """How a Taylor remainder falls with the step: 2 where the derivative is right, None where rounding hides it."""

    rows: tuple[TaylorRow, ...]
    rate: float | None


@dataclass(frozen=True)
class CheckReport:
    """The verdict on the derivative of one function at one point (or the worst of several).

    verdict: pass, fail, inconclusive or error. message: the reason in a line. notes: what else was seen. replay:
    a command line that repeats the check. witnesses: independent values by name, with the digits to which they
    agree with the derivative. error: what the checked function raised; trace: the user's own frames in it. hint: what
    to do. found: the point that a search found. source: the function's text, where every element was asked for.
    """

    name: str
    file: str | None
    line: int | None
    verdict: str
    seconds: float
    inputs: tuple[InputCheck, ...] = ()
    diagnosis: tuple[Finding, ...] = ()
    message: str = ""
    notes: tuple[str, ...] = ()
    replay: str | None = None
    witnesses: tuple[tuple[str, float], ...] = ()
    blame: str | None = None
    error: Exception | None = None
    trace: str = ""
    hint: str | None = None
    evidence: Evidence | None = None
    found: FoundPoint | None = None
    taylor: Taylor | None = None
    source: str = ""

    def __post_init__(self) -> None:
        """Refuse a pass with an input that did not. Raises ValueError."""
        if self.verdict == "pass" and any(item.verdict != "pass" for item in self.inputs):
            raise ValueError(f"{self.name} cannot pass: an input did not")

    @property
    def passed(self) -> bool:
        return self.verdict == "pass"

    def __bool__(self) -> bool:
        return self.passed

    def _repr_html_(self) -> str:
        from .html import report_html

        return report_html(self)


class CheckSummary(NamedTuple):
    """All checks of a run. seconds: of the checks; whole: with imports, where that is known."""

    target: str
    checks: tuple[CheckReport, ...]
    seconds: float
    whole: float = 0.0

    def count(self, verdict: str) -> int:
        return sum(check.verdict == verdict for check in self.checks)

    def _repr_html_(self) -> str:
        from .html import summary_html

        return summary_html(self)


class CheckTotal(NamedTuple):
    """The end of a run whose reports were shown one by one."""

    summary: CheckSummary


class CheckList(NamedTuple):
    """The checks that a command line chose: name, file and line each."""

    target: str
    checks: tuple[tuple[str, str | None, int | None], ...]


SCHEMA = "gradcli/1"


def document_of_lines(head: Mapping[str, Any], key: str, entries: Iterable[Mapping[str, Any]]) -> str:
    """Return a document of JSON whose entries have a line each, for git to compare."""
    start = json.dumps(head, ensure_ascii=False)[:-1]
    rows = [json.dumps(entry, ensure_ascii=False, allow_nan=False) for entry in entries]
    return visible(f'{start}, "{key}": [\n' + ",\n".join(rows) + "\n]}\n")


class Lock(NamedTuple):
    """What a lock file holds.

    settings: the words and options that chose the checks. libraries: the versions that computed. entries: plain data
    per check, sorted: file, check, at, value, value_error, grad, error.
    """

    target: str
    settings: Mapping[str, Any]
    libraries: Mapping[str, str]
    entries: tuple[Mapping[str, Any], ...]


class Difference(NamedTuple):
    """A number then and now, each with its error. input: whose gradient it is; None for the value."""

    input: str | None
    place: tuple[int, ...]
    locked: Any
    locked_error: float
    now: Any
    now_error: float


class Comparison(NamedTuple):
    """One check beside its lock. verdict: same, changed, new, gone, or error with a message.

    worst: the number that is furthest out of its intervals, of a changed check; else the furthest from the locked.
    """

    name: str
    file: str | None
    verdict: str
    worst: Difference | None = None
    message: str = ""


class Verification(NamedTuple):
    """All checks beside their lock. libraries: what computed then and now, where versions differ."""

    target: str
    checks: tuple[Comparison, ...]
    libraries: tuple[tuple[str, str, str], ...]

    @property
    def exit_code(self) -> int:
        """The exit code: of a changed number, else of a check that could not be made."""
        return EXIT_FAIL if self.count("changed") else EXIT_TARGET if self.count("error") else EXIT_OK

    @property
    def notes(self) -> tuple[str, ...]:
        """What there is to do about checks without a line, and lines without a check."""
        stale = [f"{n} {word}" for word in ("new", "gone") if (n := self.count(word))]
        return (f"{' and '.join(stale)}: lock again to take that in",) if stale else ()

    def count(self, verdict: str) -> int:
        return sum(check.verdict == verdict for check in self.checks)


class MutantRun(NamedTuple):
    """One wrong version: its name, how far off it is at random points, and whether the tests failed with it.

    line: where its source was changed; None where its results were. test: Python that fails with it, for survivors
    that are to be killed, where one can be written. timed_out: whether the tests had to be ended.
    """

    name: str
    relative_error: float | None
    killed: bool
    seconds: float
    line: int | None = None
    test: str | None = None
    timed_out: bool = False


class Mutation(NamedTuple):
    """All mutants of a function. at_least: the error from which on a survivor counts. equal: how many were left out,
    as they gave the same values at random points. calls: how often the tests call the function.
    """

    target: str
    mutants: tuple[MutantRun, ...]
    at_least: float
    equal: int
    calls: int
    seconds: float

    @property
    def killed(self) -> int:
        return sum(m.killed for m in self.mutants)

    @property
    def score(self) -> float:
        """The part that was noticed."""
        return self.killed / len(self.mutants) if self.mutants else 1.0

    @property
    def smallest_noticed(self) -> float | None:
        """The smallest relative error of a factor that was noticed."""
        errors = [
            m.relative_error for m in self.mutants if m.killed and m.name.startswith("factor") and m.relative_error
        ]
        return min(errors, default=None)

    @property
    def exit_code(self) -> int:
        """1 where such mutants survived."""
        return EXIT_FAIL if self.survivors else EXIT_OK

    @property
    def survivors(self) -> tuple[MutantRun, ...]:
        """Those that are larger than `at_least` and were not noticed."""
        return tuple(m for m in self.mutants if not m.killed and (m.relative_error or 0.0) > self.at_least * (1 + 1e-9))
