"""The operation in which digits are lost: each step of a run and of backward beside the same step in many digits."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..exact.multiprecision import Multiprecision
from ..exact.record import exactly
from ..program.base import Program, Run
from ..results.precision import Loss
from ..tape.provenance import Observation, observation_of
from . import observed_run
from .float_error import DIGITS, Exactness
from .labels import Labels
from .trace import BackwardRecorder, Event

LEAST = 1.0
"""Digits that an operation must lose to be named."""


def observe(program: Program, right: Exactness, at: float) -> tuple[Run, observed_run.ObservedPass, list[Event]]:
    """Run a program and backward, and return the run, the last pass of backward and its steps."""
    recorder = BackwardRecorder()
    run = observed_run.watch_program(program, right.values(at), right.request, recorder.on_start)
    return run, *recorder.passes[-1]


def find_loss(program: Program, right: Exactness, of: str, at: float) -> Loss | None:
    """Return the operation that loses most of the digits of the value, or of an input's gradient, at a point.

    None where the run in many digits takes another way, or no single operation loses more than a digit.
    """
    run, last, events = observe(program, right, at)
    with exactly(Multiprecision(DIGITS[-2], decimal=False)):
        _, _, better = observe(program, right, at)
    if [outline(event) for event in events] != [outline(event) for event in better]:
        return None
    pairs = list(zip(events, better, strict=True))
    comparison = StepComparison(right, of, at, Labels(run, observed_run.public_nodes(last.roots)))
    for mine, exacts in pairs:
        if not mine.node.leaf:
            comparison.forward(mine.node, observation_of(mine.node), observation_of(exacts.node))
    origin = largest(comparison.losses)
    if of != "value":
        comparison.losses = []
        comparison.backward(pairs, origin)
        origin = largest(comparison.losses)
    return origin


def largest(losses: list[Loss]) -> Loss | None:
    """Return the loss of most digits, None where none is worth naming."""
    worth = [loss for loss in losses if loss.before - loss.after > LEAST]
    return max(worth, key=lambda loss: loss.before - loss.after, default=None)


def outline(event: Event) -> tuple[bool, ...]:
    """Return which operands of a step's operation have a gradient: the same in two runs that took the same way."""
    return () if event.node.leaf else tuple(parent is not None for parent in event.node.parents)


def is_lost(x: np.ndarray) -> np.ndarray:
    """Return where a number is 0 or infinite."""
    return (x == 0) | np.isinf(x)


class StepComparison:
    """Steps in floating point beside the same steps in many digits, and the digits that each loses."""

    def __init__(self, right: Exactness, of: str, at: float, labels: Labels):
        self.right = right
        self.of = of
        self.at = at
        self.labels = labels
        self.losses: list[Loss] = []
        self.known: dict[Any, float] = {}

    def note(self, node: Any, kind: str, before: float, after: float, parts: list, computed: Any, right: Any) -> None:
        """Take down a step; of arrays the numbers are left out."""
        single = np.size(computed) == 1 and all(np.size(x) == 1 for x in parts)
        span, _ = self.labels.place(node)
        numbers = [float(np.real(np.ravel(x)[0])) for x in (*parts, computed, right)] if single else [np.nan] * 2
        line = None if span is None or observed_run.is_only_line(span) else span.line
        computed, right = numbers[-2:]
        self.losses.append(
            Loss(
                self.of, self.at, kind, self.formula(node), line, before, after, tuple(numbers[:-2]), computed, right
            )
        )

    def formula(self, node: Any) -> str:
        """Return an operation in the program's words."""
        return self.labels.place(node)[1] or self.labels.formula(node) or self.labels.label(node)

    def digits(self, computed: Any, right: Any) -> float:
        """Return the right digits of a number or an array on the way; those of the type for what is no real data.

        What overflows or underflows has none: what follows may need its digits.
        """
        if right is None or np.shape(computed) != np.shape(right) or np.asarray(right).dtype != object:
            return self.right.full
        exacts = np.asarray(right).view(np.ndarray)
        if (is_lost(np.asarray(computed)) & (exacts != 0)).any():
            return 0.0
        return float(np.nan_to_num(self.right.digits(computed, exacts), nan=self.right.full))

    def forward(self, node: Any, mine: Observation | None, exacts: Observation | None) -> None:
        """Compare the result of an operation, given the digits of its operands."""
        if mine is None or exacts is None or isinstance(mine.result, tuple):
            return
        operands = list(zip(mine.operands, exacts.operands, strict=True))
        numeric = [pair for pair in operands if np.asarray(pair[0]).dtype.kind in "iufc"]
        before = min((self.digits(*pair) for pair in numeric), default=self.right.full)
        after = self.digits(mine.result, exacts.result)
        self.known[node] = min(before, after)  # the local rule uses both
        parts = [x for x, _ in numeric]
        self.note(node, "forward", before, after, parts, mine.result, exacts.result)

    def backward(self, pairs: list[tuple[Event, Event]], origin: Loss | None) -> None:
        """Compare what operations send, and the sums of what reaches a result along several ways.

        origin: where the run itself lost digits, which is why an operation then sends fewer than it got.
        """
        received: dict[Any, list[tuple[Any, Any]]] = {}
        senders: dict[Any, list[str]] = {}
        for mine, exacts in pairs:
            ways = received.get(mine.node, [])
            arrived = self.digits(mine.incoming, exacts.incoming)
            if len(ways) > 1:
                before = min(self.digits(*way) for way in ways)
                self.note(mine.node, "sum", before, arrived, [x for x, _ in ways], mine.incoming, exacts.incoming)
                self.losses[-1] = self.losses[-1]._replace(ways=tuple(senders[mine.node]))
            for parent, computed, right in zip(mine.node.parents, mine.sent, exacts.sent, strict=False):
                if parent is None or computed is None or right is None:
                    continue
                received.setdefault(parent, []).append((computed, right))
                senders.setdefault(parent, []).append(self.formula(mine.node))
                after = self.digits(computed, right)
                if origin is None or self.known.get(mine.node, self.right.full) > after + LEAST:
                    self.note(mine.node, "backward", arrived, after, [mine.incoming], computed, right)
                elif arrived - after > LEAST:
                    self.losses.append(origin)
