"""gradcli sweep: compute a target at every row of a table."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any

from ...errors import GradcliError
from ...program.target import load_program
from .. import messages, output
from ..options import Call, target_command
from ..output import check_writable

if TYPE_CHECKING:
    from ...show.results import Swept


@target_command(
    "Examples: gradcli sweep 'x**2 * sin(y)' points.csv; "
    "gradcli sweep 'a*x^2' points.csv a=2 --diag -o out.csv; "
    "gradcli sweep 'x*y' points.csv --keep x --json -o out.csv",
    "wrt outs engine diag keep no_keep delimiter shard sweep_jobs dask restart sweep_format sweep_output",
    formats=("csv", "tsv", "json"),
    common="expression dtype seed max_elements safe torch python json color quiet verbose",
    metavar="TARGET POINTS [NAME=VALUE]...",
)
def sweep(call: Call) -> Swept | None:
    """Compute value and gradient of TARGET at every row of POINTS.

    POINTS is a .csv, .tsv, .parquet or .npy file, or CSV on standard input (-) or from a pipe (<(COMMAND)). Its
    columns are inputs by name, and columns of lists are arrays; NAME=VALUE gives the other inputs. The result has
    the inputs, value, d_NAME, with --diag d2_NAME, and the columns of --keep. Rows that are not finite are kept and
    counted. The same command again goes on where it was stopped.
    """
    from ...analysis.sweep.plan import plan_sweep, run_sweep, table_at

    asked, table = call.request, call.request.table
    if table != "-":
        check_writable(table)
    if asked.format == "json" and table == "-":
        raise GradcliError("--json and the result would share standard output", hint="write the result with -o FILE")
    target = call.target()
    if not call.words or ("=" in call.words[0] and not os.path.exists(call.words[0])):
        raise GradcliError("no POINTS given", hint="for example: gradcli sweep 'x**2 * sin(y)' points.csv")
    path = call.words[0]
    if path == target.text == "-":
        raise GradcliError("TARGET and POINTS cannot both be standard input", hint="put one into a file")
    program, given = load_program(target), call.values(call.words[1:])
    with table_at(path, asked.delimiter) as points:
        plan = plan_sweep(program, target, points, given)
        if plan.portions.loop:
            messages.note(f"{target.text} is run row by row: {plan.portions.loop}")
        if points.mark == ",":
            messages.note(f"{points.title}: the commas in its numbers are read as decimal points")
        rows_on_terminal = table == "-" and messages.is_terminal(output.results())
        with Progress(plan.stop - plan.start, shown=not rows_on_terminal) as progress:
            try:
                result = run_sweep(plan, path, progress.update, output.write)
            except KeyboardInterrupt:
                if os.path.isdir(plan.folder):
                    messages.note("the parts that are done are kept: the same command goes on from there")
                raise
    if result.not_finite:
        messages.note(f"{result.not_finite} of {result.rows} rows not finite: they hold nan or inf")
    if asked.format == "json":
        return result
    messages.detail(f"{result.rows} rows, {result.seconds:.1f} s")
    return None


class Progress:
    """Shows rows, rate, rows that are not finite, and the remaining time while a block runs.

    Only if standard error is a terminal, and not with -q; else rich is not loaded. shown: False if the rows themselves
    go to the terminal, where a bar would break their lines.
    """

    def __init__(self, rows: int, shown: bool):
        self.rows, self.shown, self.bad = rows, shown, 0
        self.bar: Any = None

    def __enter__(self) -> Progress:
        if self.shown and messages.shows_progress():
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
                transient=True,
                console=Console(stderr=True, no_color=not messages.colourful(sys.stderr)),
            )
            self.task = self.bar.add_task("", total=self.rows, bad=0)
            self.bar.start()
        return self

    def update(self, rows: int, bad: int) -> None:
        self.bad += bad
        if self.bar is not None:
            self.bar.update(self.task, advance=rows, bad=self.bad)

    def __exit__(self, *_: Any) -> None:
        if self.bar is not None:
            with contextlib.suppress(OSError):
                self.bar.stop()
