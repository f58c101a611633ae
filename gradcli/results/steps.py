"""Results of `watch --loss`: what was found out about steps of training."""

from dataclasses import dataclass, replace
from typing import NamedTuple

from ..errors import count_of
from .base import Rows, declare
from .checks import CheckReport, CheckSummary


class StepWeight(NamedTuple):
    """The weight of a batch or a term in the gradient, and the declared one."""

    name: str
    weight: float
    declared: float


class Problem(NamedTuple):
    """What prevents the check of a step: mostly an error in the declared loss. recorded: for the step, in words."""

    message: str
    hint: str | None = None
    recorded: str = ""
    trace: str | None = None
    file: str | None = None
    line: int | None = None
    step: int = 1
    turn: int | None = None
    optimizer: str = ""
    of: int = 0


@dataclass(frozen=True, eq=False)
class StepReport(CheckReport):
    """The verdict on the gradient of some steps of an optimizer.

    The inputs are the parameters, claimed the gradient that the optimizer gets, numeric that of the declared loss.
    step: its number; turn: which evaluation of its closure, if it has one; steps: all steps with this verdict.
    of: the number of the optimizer. batches: since the step before. weights: of batches or terms, if they explain it.
    only_at: the step for which the number of wrong parameters holds, if other steps with this verdict have another.
    not_updated: names and keys of the parameters that have a gradient, and that this optimizer does not have.
    """

    json = CheckReport.json + " step steps optimizer batches weights?"
    step: int = 1
    turn: int | None = None
    optimizer: str = ""
    batches: int = 0
    of: int = 0
    steps: tuple[str, ...] = ()
    weights: tuple[StepWeight, ...] = ()
    resolution_of_step: float = 0.0
    only_at: str = ""
    not_updated: tuple[tuple[str, int], ...] = ()

    @property
    def resolution(self) -> float:
        return self.resolution_of_step

    @property
    def label(self) -> str:
        """Name the step: 3, or 3.2 for the second evaluation of its closure."""
        return f"{self.step}" if not self.turn else f"{self.step}.{self.turn + 1}"

    @property
    def where(self) -> str:
        """Name the steps: step 2 of SGD, or steps 1, 2 and 4 of SGD."""
        labels = list(self.steps or (self.label,))
        joined = labels[0] if len(labels) == 1 else f"{', '.join(labels[:-1])} and {labels[-1]}"
        return f"step{'s' * (len(labels) > 1)} {joined} of {self.optimizer}"

    @property
    def differing(self) -> str:
        """Say how many parameters have a wrong gradient, if some but not all of them have."""
        wrong = sum(item.verdict == "fail" for item in self.inputs)
        if not wrong or wrong == len(self.inputs):
            return ""
        return self.of_its_step(f"{wrong} of {len(self.inputs)} parameters have a wrong gradient")

    def of_its_step(self, text: str) -> str:
        """Say for which step a text holds, if it does not hold for all steps of the report."""
        return f"{text} (at step {self.only_at})" if text and self.only_at else text

    def agreement(self) -> str:
        return f"an error above {self.resolution:.1g} times the gradient would have been seen"


def merged(reports: list[StepReport]) -> tuple[StepReport, ...]:
    """Join the steps of an optimizer that have the same verdict and finding, in the order of their first steps."""
    found: dict[tuple, list[StepReport]] = {}
    for report in sorted(reports, key=lambda r: (r.of, r.step, r.turn or 0)):
        key = (report.of, report.verdict, report.rule, report.message if report.verdict == "inconclusive" else "")
        found.setdefault(key, []).append(report)
    return tuple(map(join_reports, found.values()))


def join_reports(reports: list[StepReport]) -> StepReport:
    """Return the first report with the labels of all; of steps that pass, the one that would have seen the least.

    If the reports differ in words or numbers, the one that is shown says for which step they hold.
    """
    first, shown = reports[0], reports[0]
    if first.verdict == "pass":
        shown = max(reports, key=lambda r: (bool(r.message), r.resolution))
    others = replace(shown, only_at=shown.label)
    text = others.of_its_step if any(r.message != first.message for r in reports) else str
    return replace(
        others if any(r.differing != first.differing for r in reports) else shown,
        steps=tuple(r.label for r in reports),
        seconds=sum(r.seconds for r in reports),
        step=first.step,
        turn=first.turn,
        notes=first.notes,
        message=text(shown.message),
        diagnosis=tuple(finding._replace(text=text(finding.text)) for finding in shown.diagnosis),
        resolution_of_step=max(r.resolution for r in reports) if first.verdict == "pass" else first.resolution,
    )


@declare(
    json="checks=every taken summary=checks.summary",
    columns=("verdict", "steps", "optimizer", "loss", "file", "line", "batches", "rule", "message"),
)
class StepSummary(NamedTuple):
    """The steps that were checked. taken: the number of steps of each optimizer. status: the command's exit code.

    others: derivatives that the command used (--rules). whole: the summary of all steps, if this one has only some.
    """

    target: str
    reports: tuple[StepReport, ...]
    taken: dict[str, int]
    seconds: float
    status: int
    others: tuple = ()
    whole: "StepSummary | None" = None

    @property
    def every(self) -> tuple:
        """The steps, then the derivatives of --rules."""
        return (*self.reports, *self.others)

    @property
    def checks(self) -> CheckSummary:
        """The same as plain checks, whose names say which steps they are."""
        steps = (replace(report, name=f"{report.name} at {report.where}") for report in self.reports)
        return CheckSummary(self.target, (*steps, *(item.report for item in self.others)), self.seconds)

    @property
    def failed(self) -> "StepSummary":
        """The steps and derivatives that failed alone."""
        others = tuple(item for item in self.others if item.report.verdict == "fail")
        wrong = tuple(r for r in self.reports if r.verdict == "fail")
        return self._replace(reports=wrong, others=others, whole=self)

    @property
    def line(self) -> str:
        """Summarize all steps in one line."""
        reports = (self.whole or self).reports
        count = sum(len(report.steps) for report in reports)
        wrong = sum(len(report.steps) for report in reports if report.verdict == "fail")
        open_ones = sum(len(report.steps) for report in reports if report.verdict == "inconclusive")
        words = f"{wrong} of {count_of(count, 'checked step')} wrong" + f", {open_ones} inconclusive" * bool(open_ones)
        taken = ", ".join(f"{name} took {count_of(n, 'step')}" for name, n in self.taken.items())
        return f"{words}; {taken}; {self.seconds:.1f} s of checking"

    def rows(self) -> Rows:
        for report in self.reports:
            place = (report.file or "", str(report.line or ""), str(report.batches))
            rule = report.rule if report.verdict == "fail" else ""
            row = (report.verdict, " ".join(report.steps), report.optimizer, report.name, *place, rule)
            yield (*row, report.headline())
