"""What the processes of a command report on training steps, as one result, or as the error that prevents one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..errors import GradcliError
from ..results.steps import Problem, StepReport, StepSummary, merged
from .step_evidence import list_of_names


class StepOptions(NamedTuple):
    """What to check of training steps. loss: file and name of the declared loss. steps: their numbers, None for some.

    clip: the norm to which the program means to clip. step_timeout: for each step, in seconds.
    """

    loss: tuple[str, str]
    steps: tuple[int, ...] | None = None
    clip: float | None = None
    step_timeout: float = 600.0


def summarize(
    options: StepOptions, target: str, reports: Sequence[Mapping[Any, Any]], others: tuple, status: int
) -> tuple[StepSummary, GradcliError | None]:
    """Return the steps that were checked, and an error if none could be."""
    items = [(key, value) for report in reports for key, value in report.items()]
    taken: dict[str, int] = {}
    for key, value in items:
        if key[0] == "taken":
            for name, count in value["steps"].items():
                taken[name] = max(taken.get(name, 0), count)
    found = [step for report in reports for step in steps_of_process(report)]
    problems = [value for _, value in items if isinstance(value, Problem)]
    for key, value in items:
        if key[0] == "stopped":
            reason, file, line, step, turn, title, number = value
            problem = Problem(reason, file=file, line=line, step=step, turn=turn, optimizer=title, of=number)
            found.append(inconclusive(options, problem))
    steps = merged([*found, *(inconclusive(options, problem) for problem in problems if found)])
    seconds = sum(report.seconds for report in steps) + sum(item.report.seconds for item in others)
    summary = StepSummary(target, steps, taken, seconds, status, others)
    if steps:
        return summary, None
    skipped = [value for key, value in items if key[0] == "skipped"]
    if skipped and not problems:
        hint = "None skips a step; return a number for the steps that are to be checked"
        return summary, GradcliError(f"{skipped[0]} returned None for each step", hint=hint, kind="target")
    return summary, error_of(problems[0]) if problems else nothing_checked(options, taken, items, status)


def steps_of_process(report: Mapping[Any, Any]) -> list[StepReport]:
    """Return the steps of a process. Only at its end is it known which parameters no optimizer has."""
    steps = [value for value in report.values() if isinstance(value, StepReport)]
    ended = [value["updated"] for key, value in report.items() if key[0] == "taken" and "updated" in value]
    return [with_left_over(step, set().union(*ended)) for step in steps] if ended else steps


def with_left_over(step: StepReport, updated: set[int]) -> StepReport:
    left = [name for name, key in step.not_updated if key not in updated]
    note = f"no optimizer updates {list_of_names(left)}, although they get a gradient"
    return replace(step, notes=(*step.notes, note)) if left else step


def inconclusive(options: StepOptions, problem: Problem) -> StepReport:
    message = "; ".join(filter(None, (problem.message, problem.recorded)))
    return StepReport(
        options.loss[1], problem.file, problem.line, "inconclusive", 0.0, message=message, hint=problem.hint,
        step=problem.step, turn=problem.turn, optimizer=problem.optimizer, of=problem.of,
    )  # fmt: skip


def error_of(problem: Problem) -> GradcliError:
    lines = [problem.message, *filter(None, (problem.trace, problem.recorded))]
    return GradcliError("\n".join(lines), hint=problem.hint, kind="target")


def nothing_checked(
    options: StepOptions, taken: Mapping[str, int], items: Sequence[tuple[Any, Any]], status: int
) -> GradcliError:
    """Return the error for a command without a step that could be checked: it says what was seen."""
    failures = [value["trouble"] for key, value in items if key[0] == "taken" and value["trouble"]]
    if failures:
        return GradcliError(f"gradcli could not record the steps: {failures[0]}")
    if taken:
        numbers = ", ".join(map(str, options.steps or ()))
        steps = ", ".join(f"{name} took {count}" for name, count in taken.items())
        return GradcliError(
            f"no step was checked: {steps}", hint=f"--steps {numbers} chooses none of them" if numbers else None
        )
    if status:
        return GradcliError(f"the program ended with exit code {status} before an optimizer took a step", kind="target")
    seen = [value for key, value in items if key[0] == "taken"]
    calls, fetched = sum(x["calls"] for x in seen), sum(x["fetched"] for x in seen)
    facts = (
        f"{calls} calls of modules with parameters, {fetched} loops over loaders"
        if seen
        else "no framework was imported"
    )
    hint = "--loss checks the steps of torch.optim optimizers and of optax"
    return GradcliError(f"no optimizer took a step: {facts}", hint=hint, kind="target")
