"""How far long checks and sweeps are: one line on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import Any

from ..errors import visible
from . import messages
from .output import terminal_size

LONG = 1.0
"""Seconds from which on a check is long."""
OFTEN = 0.1
SILENCE = 10.0
"""Seconds after which a check says in a log that it goes on; then after twice as many, and so on."""
MANY = 5


class Waiting:
    """How far checks are, on standard error: one line that changes on a terminal, else a line for a long silence.

    names: those of all checks. done: how many are. known: what checks under way have found so far, by number.
    """

    def __init__(self, names: list[str]):
        self.names, self.done, self.shown, self.last = names, 0, False, time.monotonic()
        self.starts: dict[tuple[int, str, int], tuple[float, int]] = {}
        self.known: dict[int, str] = {}
        self.changes = messages.is_terminal(sys.stderr) and os.environ.get("TERM") != "dumb"
        self.long, self.often = (LONG, OFTEN) if self.changes else (0.0, SILENCE)

    def watch(self, place: int, what: str, done: int, total: int, known: str = "") -> None:
        """Show how far check number `place` is, where it has gone on for a while; note what it has found so far."""
        if known:
            self.known[place] = known
            return
        now = time.monotonic()
        start, first = self.starts.setdefault((place, what, total), (now, done))
        if now - start < self.long or now - self.last < (self.often if total else max(self.often, LONG)):
            return
        self.last = now
        left = (now - start) * (total - done) / max(done - first, 1)
        text = f"{what} {done}/{total}, {duration(left)} left" if total else f"{what} {done}"
        text += f"  {visible(self.names[place])}"
        if len(self.names) > 1:
            text = f"{self.done}/{len(self.names)} checks, {text}"
        if self.changes:
            self.write(text)
        else:
            self.often *= 2
            messages.say(text)

    def count(self) -> None:
        if len(self.names) >= MANY and self.changes:
            self.write(f"checking {self.done}/{len(self.names)}")

    def write(self, text: str) -> None:
        self.shown = bool(text)
        sys.stderr.write("\r\x1b[2K" + messages.printable(text, sys.stderr)[: terminal_size()[0] - 1])
        sys.stderr.flush()

    def clear(self) -> None:
        if self.shown:
            self.write("")


def duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


class Progress:
    """Shows rows, rate, rows that are not finite, and the time that is left, while a block runs.

    On standard error where that is a terminal, and not with -q; elsewhere it shows nothing, and rich is not loaded.
    """

    def __init__(self, rows: int):
        self.rows, self.bad = rows, 0
        self.bar: Any = None

    def __enter__(self) -> Progress:
        if messages.is_terminal(sys.stderr) and not messages.settings.quiet:
            from rich import progress as rich
            from rich.console import Console

            class Rate(rich.ProgressColumn):
                def render(self, task: Any) -> str:
                    return f"{task.speed:,.0f}/s" if task.speed else ""

            self.bar = rich.Progress(
                rich.BarColumn(),
                rich.TaskProgressColumn(),
                rich.TextColumn("{task.completed:,.0f} of {task.total:,.0f} rows, {task.fields[bad]:,} not finite"),
                Rate(),
                rich.TimeRemainingColumn(),
                console=Console(stderr=True, no_color=not messages.colourful(sys.stderr)),
            )
            self.task = self.bar.add_task("", total=self.rows, bad=0)
            self.bar.start()
        return self

    def tell(self, rows: int, bad: int) -> None:
        self.bad += bad
        if self.bar is not None:
            self.bar.update(self.task, advance=rows, bad=self.bad)

    def __exit__(self, *_: Any) -> None:
        if self.bar is not None:
            with contextlib.suppress(OSError):
                self.bar.stop()
