"""A pass of backward, indexed by where gradients arrive, and the node at which a gradient became zero."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterator

from ..results.causes import causes
from ..user.lines import LinePlace
from .record import ArraySize, NodeRun, RecordedPass, RecordedStep, RecordedValue

CHOOSE = ("not-chosen", "unselected-branch", "dead-relu", "clamped", "not-selected")
CANCELS = 64.0  # a sum of at most this many ulps of its largest part is zero


def operation(name: str) -> str:
    """Return the name of an operation in the table of causes, such as logsoftmax for LogSoftmaxBackward0."""
    in_cpp = name.rpartition("::")[2]  # as torch::autograd::CopySlices
    return in_cpp.partition("Backward")[0].replace("_", "").lower()


@functools.cache
def rules_for(name: str, bad: bool = False) -> list[str]:
    """Return the rules of an operation; with bad, only those for nan and infinity, else the others."""
    rules = [rule for rule, cause in causes().items() if operation(name) in cause.ops.split()]
    return [rule for rule in rules if rule.startswith(("nan-", "overflow")) == bad]


class Backward:
    """A pass of backward, indexed by where gradients arrive."""

    def __init__(self, which: RecordedPass):
        self.which = which
        self.incoming: dict[RecordedValue | int, list[tuple[NodeRun, ArraySize]]] = defaultdict(list)
        self.zero: dict[int, bool] = {}
        for run in which.runs:  # in order, so that all a node receives is known when it runs
            self.zero[run.key] = self.is_zero(run.key, run.received)
            for to, size in run.sent:
                self.incoming[to].append((run, size))

    def key(self, value: RecordedValue) -> RecordedValue | int:
        """Return where the gradient of a value arrives: at a leaf itself, else at the node that made it."""
        runs = (run.key for run in self.which.runs if run.step is value.step and value.step is not None)
        return value if value.leaf else next(runs, value)

    def noise(self, run: NodeRun, size: ArraySize) -> float:
        """Return the largest size of a part that is zero within rounding."""
        if self.zero[run.key]:
            return size.most
        units = max((causes()[rule].units for rule in rules_for(run.name)), default=0.0)
        return units * run.eps * run.received.most if units else 0.0

    def is_zero(self, key: RecordedValue | int, size: ArraySize) -> bool:
        """Return whether all that a node or leaf receives is zero within rounding. size: the size of the sum."""
        parts = self.incoming.get(key)
        if not parts or size.state != "ok":
            return size.state == "zero"
        cancelled = CANCELS * max(r.eps for r, _ in parts) * max(s.most for _, s in parts) if len(parts) > 1 else 0.0
        return size.most <= cancelled + sum(self.noise(run, part) for run, part in parts)

    def killer(self, key: RecordedValue | int) -> tuple[NodeRun | None, str]:
        """Return the farthest node that received a gradient and sent zeros towards a key, and its rule if known."""
        waiting, found = [key], None
        for key in waiting:
            parts = self.incoming.get(key, [])
            if any(part.most > self.noise(run, part) for run, part in parts):  # only their sum is zero
                return latest_run(parts), "cancelled"
            for run, _ in parts:
                if not self.zero[run.key]:
                    found = run
                elif run.key not in waiting:
                    waiting.append(run.key)
        return found, ""

    def above(self, key: RecordedValue | int) -> Iterator[NodeRun]:
        """Yield the nodes that a gradient passed through, nearest first."""
        waiting = [key]
        for key in waiting:
            for run, _ in self.incoming.get(key, ()):
                if run.key not in waiting:
                    waiting.append(run.key)
                    yield run

    def chooser(self, run: NodeRun) -> NodeRun:
        """Return the node that chose among the elements that `run` moves: the nearest above that is not a move."""
        for other in self.above(run.key):
            rule = zero_rule(other)
            if rule in CHOOSE:
                return other
            if rule not in ("", "cancelled"):
                break
        return run


def latest_run(parts: list[tuple[NodeRun, ArraySize]]) -> NodeRun:
    return max((run for run, _ in parts), key=lambda run: run.step.number if run.step else 0)


def zero_rule(run: NodeRun) -> str:
    """Return the rule of a node that sends zeros.

    A softmax that is not flat cancels a gradient that is the same for a row. atan2() has no slope where both operands
    are 0.
    """
    rules = rules_for(run.name)
    if len(rules) < 2:
        return "".join(rules)
    operands = run.step.inputs if run.step is not None else ()
    is_steep = "softmax" in operation(run.name) and run.note is not None and not run.note.flat
    holds = {
        "cancelled": is_steep or run.received.low == run.received.high,
        "singular-point": all(v.state == "zero" for v in operands),
    }
    return min(rules, key=lambda rule: (True, None, False).index(holds.get(rule)))


def zero_factor(step: RecordedStep) -> tuple[str, LinePlace | None]:
    """Return the cause of a factor of zeros: a mask, a relu, or else the product itself."""
    if "masked" in rules_for(step.name):  # dropout() multiplies by a mask of its own
        return "masked", step.place
    waiting = [v for v in step.inputs if v.state == "zero"]
    for value in waiting:
        if value.kind == "b":
            return "masked", step.place
        if (made := value.step) is not None:
            rules, operands = rules_for(made.name), made.inputs
            if "dead-relu" in rules:
                return "dead-relu", made.place
            if "masked" in rules or "unselected-branch" in rules:
                operands = tuple([v for v in operands if v.kind != "b"])  # a mask of zeros may mask nothing here
                if any(v.state != "zero" for v in operands):
                    return "masked", made.place
            waiting += [v for v in operands if v.state == "zero" and v not in waiting]
    return "times-zero", step.place
