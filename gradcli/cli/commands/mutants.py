"""The progress of `gradcli mutate`: how far it is, and what survives, while it runs."""

from __future__ import annotations

import time
from typing import Any

from ...guard.mutate import Watcher
from ...results.studies import MutantRun
from .. import messages
from ..output import StatusLine, duration

FIRST_NOTE, NEXT_NOTE = 5.0, 30.0
"""Seconds until the first note, and between later ones; shorter runs print none."""


class MutantProgress(Watcher):
    """Writes notes about a run that takes long; on a terminal, also a line that is rewritten. A context manager.

    clock: the time in seconds.
    """

    def __init__(self, clock: Any = time.monotonic):
        self.clock, self.line = clock, StatusLine()
        self.began = self.noted = clock()
        self.mutants = 0
        self.runs: list[MutantRun] = []

    def __enter__(self) -> MutantProgress:
        return self

    def __exit__(self, *_: object) -> None:
        self.line.clear()

    def waits(self, seconds: float) -> None:
        self.line.write(self.text(seconds))
        if self.clock() - self.noted > (FIRST_NOTE if self.noted == self.began else NEXT_NOTE):
            self.note(self.text(seconds))

    def text(self, seconds: float) -> str:
        """Say how far the runs are. seconds: that the current one has taken."""
        if not self.mutants:
            return f"running the command without a mutant: {seconds:.0f} s"
        done, survived = len(self.runs), sum(not run.killed for run in self.runs)
        text = f"{done} of {self.mutants} mutants, {survived} survived"
        if not self.runs:
            return text
        left = sum(run.seconds for run in self.runs) / done * (self.mutants - done)
        return f"{text}, about {duration(left)} left"

    def starts(self, mutants: int) -> None:
        self.mutants = mutants

    def ends(self, run: MutantRun) -> None:
        self.runs.append(run)
        if self.clock() - self.began > FIRST_NOTE and (len(self.runs) == 1 or not run.killed):
            self.note(f"{'killed' if run.killed else 'survived'}: {run.name}")
        self.line.write(self.text(0.0))

    def note(self, text: str) -> None:
        self.noted = self.clock()
        self.line.clear()
        messages.note(text)
