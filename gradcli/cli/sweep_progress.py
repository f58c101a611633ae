"""How far a sweep is, on a terminal."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

from . import messages


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
        """Take note of rows that are done."""
        self.bad += bad
        if self.bar is not None:
            self.bar.update(self.task, advance=rows, bad=self.bad)

    def __exit__(self, *_: Any) -> None:
        if self.bar is not None:
            with contextlib.suppress(OSError):
                self.bar.stop()
