"""Results of gradcheck: reports, their parts, and the reason for each verdict in words."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .base import Rows, declare
from .inputs import InputCheck

if TYPE_CHECKING:
    from .patches import Patch


@declare(json="rule kind text input")
class Finding(NamedTuple):
    """Part of a diagnosis. kind: a stable word such as sign, factor, transposed; text: the evidence in one line."""

    kind: str
    text: str
    input: str | None = None

    @property
    def rule(self) -> str:
        """The finding's name: `gradcli help RULE` prints its page."""
        return self.kind.replace("1/N", "mean").replace(" ", "-")

    @property
    def is_place(self) -> bool:
        """Whether it names the place of a mistake, but not the kind."""
        return self.kind in ("single element", "some elements")

    @property
    def named(self) -> str:
        return f"{self.text} [{self.rule}]"


@declare(json="claimed numeric numeric_error")
class Direction(NamedTuple):
    """The claimed and the numeric derivative along a random direction, and the error of the numeric one."""

    claimed: float
    numeric: float
    numeric_error: float


@declare(json="elements estimated points directions? calls_needed=needed?")
class Evidence(NamedTuple):
    """The evidence for a verdict.

    elements: of the Jacobian; estimated: how many of them were estimated one by one; points: at how many points the
    function was called; directions: those probed instead of elements. needed: the call budget that usually decides
    elements left undecided for lack of calls, if it is larger than the budget was.
    """

    elements: int
    estimated: int
    points: int
    directions: tuple[Direction, ...] = ()
    needed: int | None = None


class FoundPoint(NamedTuple):
    """A point at which a derivative is wrong: arrays by input, and the line that declares a check at it."""

    at: Mapping[str, np.ndarray]
    line: str

    @property
    def text(self) -> str:
        return f"to check this point every time: {self.line}"


class TaylorRow(NamedTuple):
    """A step, its Taylor remainder, the rate since the step before, and whether rounding spoils it."""

    step: float
    remainder: float
    rate: float | None
    spoilt: bool


@declare(json="rate rows mode?")
class Taylor(NamedTuple):
    """Taylor remainders by step.

    rate: 2 if the derivative is right, 1 if it is wrong, None if rounding hides it. mode: of which derivative, if there
    are a forward and a reverse mode.
    """

    rows: tuple[TaylorRow, ...]
    rate: float | None
    mode: str | None = None


AS_CALLED = ("layout", "unused-output", "second-backward", "cotangent-type", "writes-into")
"""Findings that show only if a rule is called in other ways than a check usually calls it."""
WHOLE_FINDINGS = (
    "nonlinear",
    "unsteady",
    "accumulated",
    "modes disagree",
    "other value",
    "partial gradients",
    *AS_CALLED,
)
"""Findings about a derivative as a whole, even if every element agrees with its numeric value."""
UNEQUAL = 10.0
"""The resolutions of the smallest and of the largest element are both reported if their ratio is larger."""


class Source(NamedTuple):
    """The source of a function. what: its role in the check; where: FILE:LINE."""

    what: str
    where: str
    text: str


@dataclass(frozen=True, eq=False)
class CheckReport:
    """The verdict on the derivative of one function at one point (or the worst of several).

    verdict: pass, fail, inconclusive, error, accepted (the project accepts the findings) or skipped (the file asks for
    it). message: the reason in one line. notes: other observations. replay: a command line that repeats the check.
    cross_checks: names, with the digits to which they agree with the derivative. blame: the custom function that is
    wrong, and its place; claimed_at: file and line of a derivative written by hand. error: what the checked function
    raised; trace: the user's frames in its traceback. hint: what to do. found: the point that a search found.
    sources: of the function, and of derivatives that are functions of their own, if every element was asked for. patch:
    an edit of the derivative's source with which the check passes; no_patch: why none was searched for.

    .. versionadded:: 0.1.0
    """

    json = (
        "name file line verdict seconds~4 inputs{} diagnosis message notes replay blame trace hint evidence "
        "cross_checks=agreeing_digits taylor? found? patch?"
    )
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
    cross_checks: tuple[tuple[str, float], ...] = ()
    blame: str | None = None
    claimed_at: tuple[str, int] | None = None
    error: Exception | None = None
    trace: str | None = None
    hint: str | None = None
    evidence: Evidence | None = None
    found: FoundPoint | None = None
    taylor: Taylor | None = None
    sources: tuple[Source, ...] = ()
    seen: tuple[tuple[str, str], ...] = ()
    patch: Patch | None = None
    no_patch: str = ""

    def __post_init__(self) -> None:
        """Raise ValueError for a pass with an input that did not pass."""
        if self.verdict == "pass" and any(item.verdict != "pass" for item in self.inputs):
            raise ValueError(f"{self.name} cannot pass: an input did not")

    @property
    def passed(self) -> bool:
        return self.verdict == "pass"

    @property
    def wrong_at(self) -> tuple[str | None, int | None]:
        """File and line of what is wrong: the part to blame, the hand-written derivative, or the checked function."""
        found = re.search(r": ([^\n]+):(\d+)(\n|$)", self.blame or "")
        if found is not None:
            return os.path.relpath(found[1]), int(found[2])
        if self.verdict == "fail" and self.claimed_at is not None:
            return os.path.relpath(self.claimed_at[0]), self.claimed_at[1]
        return self.file, self.line

    @property
    def rule(self) -> str:
        """The name of the first finding, else one that follows from the verdict."""
        if self.diagnosis:
            return self.diagnosis[0].rule
        return {"fail": "wrong-derivative", "inconclusive": "undecided"}.get(self.verdict, self.verdict)

    @property
    def resolution(self) -> float:
        """The largest resolution of any input: a larger relative error would have been seen in each of them."""
        return max((item.resolution or 0.0 for item in self.inputs), default=0.0)

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        from .formats import Style, render

        return render(self, "report", Style())

    def __repr__(self) -> str:
        """Return one line, because pytest and debuggers print it among other values; `str` has the whole report."""
        line = " ".join(f"CheckReport {self.name}: {self.verdict}, {self.headline(4)}".split())
        return f"<{line if len(line) <= MOST_OF_LINE else line[: MOST_OF_LINE - 3] + '...'}>"

    def show(self) -> None:
        """Print the report, with the table of elements if every element was asked for."""
        from rich import print

        from .formats import Style, render

        print(render(self, "table", Style()))

    def agreement(self) -> str:
        """Describe a pass: to how many digits the derivative agrees, and how large an error would have been seen."""
        along = self.evidence is not None and bool(self.evidence.directions)
        items = [item for item in self.inputs if along or item.worst is not None]
        at_kink = next((note for note in self.notes if note.startswith(("a kink", "kinks meet"))), None)
        if not items:
            return at_kink or self.by_integral() or "nothing to check: there are no elements"
        known = [item for item in items if item.resolution is not None]
        if not known and along:
            return "the derivative is zero along random directions"
        if not known:
            error = max(item.worst.numeric_error for item in items if item.worst is not None)
            return at_kink or f"the derivative is zero to within {error:.1g}"
        seen = max(item.resolution or 0.0 for item in known)
        digits = f"{min(item.digits for item in known):.1f} digits agree"
        if along:
            return (
                f"{digits} along random directions; in any element, an error above {seen:.1g} of the largest slope "
                "would have been seen"
            )
        largest = max(item.of_largest or 0.0 for item in known)
        if seen > UNEQUAL * largest > 0:
            return (
                f"{digits}; errors above {largest:.1g} of the largest slope would have been seen; in the smallest "
                f"elements, relative errors above {seen:.1g}"
            )
        return f"{digits}; a relative error above {seen:.1g} would have been seen"

    def by_integral(self) -> str:
        """Describe a pass of elements that only the integral of the claim decides; "" if there are none."""
        seen = max((item.resolution for item in self.inputs if item.resolution is not None), default=None)
        if seen is None:
            return ""
        return f"the function follows the integral of the claim; a relative error above {seen:.1g} would have been seen"

    def headline(self, precision: int | None = None) -> str:
        """Return the reason for the verdict in one line, with numbers of `precision` digits."""
        order = {"fail": 0, "inconclusive": 1, "pass": 2}
        items = sorted(self.inputs, key=lambda item: (order.get(item.verdict, 3), -item.max_rel_error))
        worst = items[0].worst if items else None
        if items and (items[0].accuracy is not None or items[0].bias is not None):
            failed = self.verdict == "fail"
            return f"{items[0].worst_text(precision or 4)}; {self.message}" if failed else self.message
        if self.verdict == "pass":
            seen = dict(self.seen)
            if seen.get("exact") == "proves" and seen.get("elements") != "right":
                return self.message  # the values say nothing
            return f"{self.agreement()}; {self.message}" if self.message else self.agreement()
        whole = any(finding.kind in WHOLE_FINDINGS for finding in self.diagnosis)
        if self.verdict not in ("fail", "accepted") or worst is None:
            return self.message or "no reason was given"
        if items[0].verdict != "fail" and (whole or "direction" in dict(self.seen)):  # no element is known to be wrong
            return self.message or "no reason was given"
        text = items[0].worst_text(precision)
        if worst.sides is not None or not worst.numeric_error < abs(worst.numeric) < float("inf"):
            return text
        return f"{text} (relative error {abs(worst.claimed - worst.numeric) / abs(worst.numeric):.3g})"

    def lines(self) -> Rows:
        """Return the check (verdict, name, file, line, seconds, reason), then Taylor steps, biases and elements."""
        place = (self.file or "", str(self.line or ""), f"{self.seconds:.3f}")
        yield (self.verdict, self.name, *place, self.headline)
        for row in self.taylor.rows if self.taylor is not None else ():
            rate = "rounding" if row.spoilt else "" if row.rate is None else repr(row.rate)
            yield ("taylor", self.name, repr(row.step), repr(row.remainder), rate)
        for item in self.inputs:
            if item.bias is not None and item.worst is not None:
                yield ("bias", self.name, item.worst.name(item.name), *item.bias.cells, item.resolution)
        for item in self.inputs:
            yield from (("element", self.name, row.name(item.name), *row.cells) for row in item.rows())

    def rows(self) -> Rows:
        """Return every element, or one row for a check without elements."""
        head = (self.name, self.file or "", str(self.line or ""))
        for name, row in ((item.name, row) for item in self.inputs for row in item.rows()):
            output, index = (" ".join(map(str, place)) for place in (row.output, row.place))
            yield (*head, output, row.output_part, name, index, row.part, *row.cells, "")
        if not any(True for item in self.inputs for _ in item.rows()):
            yield (*head, *[""] * 9, self.verdict, self.message)

    @property
    def agreeing_digits(self) -> dict[str, float]:
        return {name: round(digits, 2) for name, digits in self.cross_checks}

    def _repr_html_(self) -> str:
        from .formats import Style, render

        return render(self, "notebook", Style())


MOST_OF_LINE = 190  # characters
COUNTED_VERDICTS = {
    "passed": "pass", "failed": "fail", "inconclusive": "inconclusive", "errors": "error", "accepted": "accepted",
    "skipped": "skipped",
}  # fmt: skip
"""The words of a summary, and the verdict that each of them counts."""


@declare(json="checks summary")
class CheckSummary(NamedTuple):
    """All checks of a run.

    seconds: time of the checks; whole: including imports, if known. shown: each report has already been shown.
    """

    target: str
    checks: tuple[CheckReport, ...]
    seconds: float
    whole: float = 0.0
    shown: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        place = ("check", "file", "line", "output", "output_part", "input", "index", "part")
        return (*place, "claimed", "numeric", "error", "ratio", "verdict", "message")

    @property
    def not_shown(self) -> tuple[CheckReport, ...]:
        return () if self.shown else self.checks

    def lines(self) -> Rows:
        return (line for check in self.not_shown for line in check.lines())

    def rows(self) -> Rows:
        return (row for check in self.checks for row in check.rows())

    @property
    def summary(self) -> dict[str, float]:
        counts = {word: self.count(verdict) for word, verdict in COUNTED_VERDICTS.items()}
        return {**counts, "seconds": round(self.seconds, 4)}

    def count(self, verdict: str) -> int:
        return sum(check.verdict == verdict for check in self.checks)

    def _repr_html_(self) -> str:
        from .formats import Style, render

        return render(self, "notebook", Style())


class ListedCheck(NamedTuple):
    name: str
    file: str | None
    line: int | None


@declare(json="checks", columns=("check", "file", "line"))
class CheckList(NamedTuple):
    """The checks that a command line selects."""

    target: str
    checks: tuple[ListedCheck, ...]

    def lines(self) -> Rows:
        """Return a line per check: FILE:LINE, if there is a file, and the name."""
        return ((*([f"{file}:{line or ''}"] if file else []), name) for name, file, line in self.checks)

    def rows(self) -> Rows:
        return ((name, file or "", str(line or "")) for name, file, line in self.checks)
