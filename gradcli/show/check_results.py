"""What gradcheck finds out."""

import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .results import Rows, fields, label, present

SHORT = {"": "", "re": "Re ", "im": "Im "}


class Element(NamedTuple):
    """An element of a Jacobian: claimed, its reference, and the half-width of that one's interval.

    output: the index of the output element, of several outputs after what leads to one; place: that of the input
    element. sides: the left and the right derivative at a kink. output_part, part: which part of a complex output and
    of a complex input ("re" or "im"). verdict: its own, where every element was asked for.
    """

    output: tuple[int | str, ...]
    place: tuple[int, ...]
    analytic: Any
    numeric: Any
    numeric_error: float
    sides: tuple[float, float] | None = None
    output_part: str = ""
    part: str = ""
    verdict: str = ""

    @property
    def ratio(self) -> float | None:
        """Claimed over numeric, where that is known not to be zero."""
        known = np.isfinite(self.numeric) and abs(self.numeric) > self.numeric_error
        return float(self.analytic / self.numeric) if known else None

    @property
    def cells(self) -> tuple[Any, ...]:
        ratio = "" if self.ratio is None else self.ratio
        return (self.analytic, self.numeric, self.numeric_error, ratio, self.verdict)

    def name(self, of: str) -> str:
        """Return what the element is called, with the output's where that is no plain number."""
        place = SHORT[self.part] + label(of, self.place)
        if not (self.output or self.output_part):
            return place
        return f"d {SHORT[self.output_part]}{label('out', self.output)}/d {place}"

    def document(self) -> dict[str, Any]:
        numbers = {"output": self.output, "index": self.place, **fields(self, "analytic numeric numeric_error")}
        more = present(output_part=self.output_part, part=self.part, one_sided=self.sides, verdict=self.verdict)
        return {**numbers, **more}


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

    def element(self, j: int, i: int) -> Element:
        (output, output_part), (place, part) = self.rows[j], self.columns[i]
        numbers = (self.claimed[j, i], self.numeric[j, i], self.error[j, i])
        return Element(output, place, *numbers, None, output_part, part, str(self.verdicts[j, i]))


class Line(NamedTuple):
    """A function beside the point, along one element of an input.

    x: values of the element, value: those of the output element there; at: the point, and the function's value there.
    """

    x: np.ndarray
    value: np.ndarray
    at: tuple[float, float]


class ElementCounts(NamedTuple):
    """How many elements of the Jacobian for one input are wrong, and how many could not be decided.

    sampled: how many were estimated by themselves; of the others, directions say how far they may be off.
    """

    wrong: int
    undecided: int
    of: int
    sampled: int


class Accuracy(NamedTuple):
    """How accurate a derivative is in few digits, compared with a reference in float64.

    error, own: the root mean square of its errors and of those of the reference in the same type, in ulps of the
    derivative's size; largest: the largest error. bias: how much larger it is on average, relative, with its standard
    error.
    """

    dtype: str
    error: float
    own: float
    largest: float
    bias: float
    bias_error: float

    @property
    def text(self) -> str:
        own = f", the reference's own {self.own:.2g}" if self.own else ""
        errors = f"rms error {self.error:.2g} ulps of {self.dtype}{own}"
        return f"{errors}; largest {self.largest:.2g}; bias {self.bias:+.2g} ± {self.bias_error:.1g}"

    def document(self) -> dict[str, Any]:
        return self._asdict()


@dataclass(frozen=True, eq=False)
class InputCheck:
    """What was found for one input.

    resolution: the relative error above which any element would have been called wrong; None where no derivative
    is known to be other than zero; of_largest: the same relative to the largest derivative. hidden: how many elements
    are below the function's own rounding, so that they are neither right nor wrong; hidden_below: how large they may
    be without being seen. counts: of all elements, where each was looked at. Where every element was asked for:
    elements, all of them; point, the input's value; line, the function along the worst element. accuracy: where the
    derivative of another function is compared with.
    """

    name: str
    shape: tuple[int, ...]
    verdict: str
    max_abs_error: float
    max_rel_error: float
    digits: float
    resolution: float | None
    worst: Element | None
    hidden: int = 0
    hidden_below: float = 0.0
    elements: Elements | None = None
    point: np.ndarray | None = None
    line: Line | None = None
    of_largest: float | None = None
    counts: ElementCounts | None = None
    accuracy: Accuracy | None = None

    def __post_init__(self) -> None:
        """Refuse a pass that says nothing. Raises ValueError."""
        if self.verdict == "pass":
            error = 0.0 if self.worst is None else self.worst.numeric_error
            if not math.isfinite(error) or not math.isfinite(self.resolution or 0.0):
                raise ValueError(f"'{self.name}' cannot pass with an error of {error} and {self.resolution}")

    def rows(self) -> Iterator[Element]:
        """Yield all elements, where they were asked for, the input's fastest."""
        if (every := self.elements) is not None:
            yield from (every.element(j, i) for j in range(len(every.rows)) for i in range(len(every.columns)))

    def document(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "max_abs_error": float(self.max_abs_error),
            "max_rel_error": float(self.max_rel_error),
            "digits": round(self.digits, 2),
            "resolution": self.resolution,
            "not_decidable": self.hidden,
            **fields(self, "counts worst"),
            **present(accuracy=self.accuracy),
            **({} if self.elements is None else {"elements": list(self.rows())}),
        }


class Finding(NamedTuple):
    """Part of a diagnosis. kind: a stable word such as sign, factor, transposed; text: the evidence in a line."""

    kind: str
    text: str
    input: str | None = None

    @property
    def rule(self) -> str:
        """The finding's name: `gradcli help RULE` prints its page."""
        return self.kind.replace("1/N", "mean").replace(" ", "-")

    @property
    def named(self) -> str:
        return f"{self.text} [{self.rule}]"

    def document(self) -> dict[str, Any]:
        return fields(self, "rule kind text input")


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

    def document(self) -> dict[str, Any]:
        words = ("analytic", "numeric", "numeric_error")
        directions = [dict(zip(words, row, strict=True)) for row in self.directions]
        counts = fields(self, "elements closely points")
        return {**counts, **present(directions=directions, calls_needed=self.needed)}


class FoundPoint(NamedTuple):
    """A point at which a derivative is wrong: arrays by input, and the line that declares a check there."""

    at: Mapping[str, Any]
    line: str

    def document(self) -> dict[str, Any]:
        return {"at": {name: np.asarray(x) for name, x in self.at.items()}, "line": self.line}


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

    def document(self) -> dict[str, Any]:
        return fields(self, "rate rows")


@dataclass(frozen=True, eq=False)
class CheckReport:
    """The verdict on the derivative of one function at one point (or the worst of several).

    verdict: pass, fail, inconclusive, error, accepted where the project accepts what was found, or skipped for a file
    that asks for it. message: the reason in a line.
    notes: what else was seen. replay: a command line that repeats the check. witnesses: independent values by name,
    with the digits to which they agree with the derivative. blame: which custom function is wrong, and where;
    claimed_at: where a derivative by hand is defined. error: what the checked function raised; trace: the user's
    own frames in it. hint: what to do. found: the point that a search found. Where every element was asked for: source,
    the function's text; claim_sources, that of the derivative by hand, where it stands elsewhere: where, and its text.
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
    claimed_at: tuple[str, int] | None = None
    error: Exception | None = None
    trace: str = ""
    hint: str | None = None
    evidence: Evidence | None = None
    found: FoundPoint | None = None
    taylor: Taylor | None = None
    source: str = ""
    claim_sources: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        """Refuse a pass with an input that did not. Raises ValueError."""
        if self.verdict == "pass" and any(item.verdict != "pass" for item in self.inputs):
            raise ValueError(f"{self.name} cannot pass: an input did not")

    @property
    def passed(self) -> bool:
        return self.verdict == "pass"

    @property
    def wrong_at(self) -> tuple[str | None, int | None]:
        """File and line of what is wrong: the part to blame, the derivative by hand, or what was checked."""
        found = re.search(r": ([^\n]+):(\d+)(\n|$)", self.blame or "")
        if found is not None:
            return os.path.relpath(found[1]), int(found[2])
        if self.verdict == "fail" and self.claimed_at is not None:
            return os.path.relpath(self.claimed_at[0]), self.claimed_at[1]
        return self.file, self.line

    @property
    def rule(self) -> str:
        """The name of the first finding, else of the verdict."""
        if self.diagnosis:
            return self.diagnosis[0].rule
        return {"fail": "wrong-derivative", "inconclusive": "undecided"}.get(self.verdict, self.verdict)

    @property
    def resolution(self) -> float:
        """The largest resolution of an input: a relative error above it would have been seen in any."""
        return max((item.resolution or 0.0 for item in self.inputs), default=0.0)

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        """Return the text that the command prints."""
        from . import Style
        from .table import again_text, check_text

        return "\n".join(text.plain for text in [check_text(self, Style()), *again_text(self)])

    def show(self) -> None:
        """Print the report, with the table of elements where every element was asked for."""
        from rich import print

        from . import Style
        from .table import render_checkreport

        print(render_checkreport(self, Style()))

    def lines(self) -> Rows:
        """Return the check: verdict, name, file, line, seconds, reason; then steps and elements, where wanted."""
        from .checks import headline

        place = (self.file or "", str(self.line or ""), f"{self.seconds:.3f}")
        yield (self.verdict, self.name, *place, partial(headline, self))
        for row in self.taylor.rows if self.taylor is not None else ():
            rate = "rounding" if row.spoilt else "" if row.rate is None else repr(row.rate)
            yield ("taylor", self.name, repr(row.step), repr(row.remainder), rate)
        for item in self.inputs:
            yield from (("element", self.name, row.name(item.name), *row.cells) for row in item.rows())

    def rows(self) -> Rows:
        """Return every element; of a check without any one row."""
        head = (self.name, self.file or "", str(self.line or ""))
        for name, row in ((item.name, row) for item in self.inputs for row in item.rows()):
            output, index = (" ".join(map(str, place)) for place in (row.output, row.place))
            yield (*head, output, row.output_part, name, index, row.part, *row.cells, "")
        if not any(True for item in self.inputs for _ in item.rows()):
            yield (*head, *[""] * 9, self.verdict, self.message)

    def document(self) -> dict[str, Any]:
        return {
            **fields(self, "name file line verdict"),
            "seconds": round(self.seconds, 4),
            "inputs": {item.name: item for item in self.inputs},
            **fields(self, "diagnosis message notes replay"),
            "blame": self.blame or None,
            "trace": self.trace or None,
            **fields(self, "hint evidence"),
            "witnesses": {name: round(digits, 2) for name, digits in self.witnesses},
            **present(taylor=self.taylor, found=self.found),
        }

    def _repr_html_(self) -> str:
        from .html import details_of, fragment

        return fragment(details_of(self))


COUNTED = {
    "passed": "pass", "failed": "fail", "inconclusive": "inconclusive", "errors": "error", "accepted": "accepted",
    "skipped": "skipped",
}  # fmt: skip
"""The words of a summary, and the verdicts that they count."""


class CheckSummary(NamedTuple):
    """All checks of a run.

    seconds: of the checks; whole: with imports, where that is known. told: whether the reports were shown one by one.
    """

    target: str
    checks: tuple[CheckReport, ...]
    seconds: float
    whole: float = 0.0
    told: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        place = ("check", "file", "line", "output", "output_part", "input", "index", "part")
        return (*place, "claimed", "numeric", "error", "ratio", "verdict", "message")

    @property
    def untold(self) -> tuple[CheckReport, ...]:
        return () if self.told else self.checks

    def lines(self) -> Rows:
        return (line for check in self.untold for line in check.lines())

    def rows(self) -> Rows:
        return (row for check in self.checks for row in check.rows())

    def document(self) -> dict[str, Any]:
        counts = {word: self.count(verdict) for word, verdict in COUNTED.items()}
        summary = {**counts, "seconds": round(self.seconds, 4)}
        return {"checks": self.checks, "summary": summary}

    def count(self, verdict: str) -> int:
        return sum(check.verdict == verdict for check in self.checks)

    def _repr_html_(self) -> str:
        from .html import summary_html

        return summary_html(self)


class CheckList(NamedTuple):
    """The checks that a command line chose: name, file and line each."""

    target: str
    checks: tuple[tuple[str, str | None, int | None], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return ("check", "file", "line")

    def lines(self) -> Rows:
        """Return a line per check: FILE:LINE, name; the name alone where there is no file."""
        return ((*([f"{file}:{line or ''}"] if file else []), name) for name, file, line in self.checks)

    def rows(self) -> Rows:
        return ((name, file or "", str(line or "")) for name, file, line in self.checks)

    def document(self) -> dict[str, Any]:
        return {"checks": [dict(zip(("name", "file", "line"), check, strict=True)) for check in self.checks]}
