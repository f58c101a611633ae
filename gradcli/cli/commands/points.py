"""gradcli eval, plot, precision and sweep: a target at a point, over ranges of inputs, or at the rows of a table."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from ...claims.open import load_program
from ...errors import GradcliError, count_of
from ...lang.values import read_value, split_value
from ...results.formats import ARRAY_FORMATS, PICTURE_FORMATS, TEXT
from .. import messages, output
from ..options import Call, open_program, target_command
from ..output import check_writable

if TYPE_CHECKING:
    from ...results.base import Swept, Value
    from ...results.graphs import Sampled, Tabulated
    from ...results.studies import LongNumbers, Precision

CURVE_POINTS = {1: 200, 2: 60}
"""Points along each input, by the number of inputs."""
RANGE = re.compile(r"[^=\[(@\"]*=[^=\[(@\"]*:")
"""NAME=FROM:TO. A colon may also be part of an index, of a file name after @, or of a string."""
FARTHEST_END = 1e300
"""The largest end of a range; the length of a longer range could overflow."""


@target_command(
    "Examples: gradcli eval 'x**2 * sin(y)' x=2 y=3; gradcli eval 'a @ x' a=@a.npy x='[1, 2, 3]' --strict; "
    "gradcli eval 'exp(-a*x)' x=0:5 a=2 --points 11; gradcli eval 'erf(x)' x=0.5 --digits 40",
    "over points digits out engine columns strict",
    formats=ARRAY_FORMATS,
)
def eval(call: Call, *, over: tuple[str, ...], points: int | None) -> Value | Tabulated | LongNumbers:
    """Print the value of TARGET at a point, or at points over ranges x=FROM:TO of one or two inputs."""
    from ...analysis.gradient import compute_value

    ranges, digits = take_ranges(call, over), call.request.digits
    if points and not ranges:
        raise GradcliError("--points needs a range, but no input has one", hint="write NAME=FROM:TO, such as x=-3:3")
    if digits and ranges:
        raise GradcliError("--digits works at a single point, not over a range", hint="leave out one")
    program, values = call.program()
    if digits:
        from ...analysis.precision import value_in_digits

        return value_in_digits(program, call.values, call.request, digits)
    if ranges:
        from ...analysis.plot import compute_values

        return compute_values(program, values, ranges, points or CURVE_POINTS[len(ranges)], call.request.out)
    return compute_value(program, values, call.request.out)


@target_command(
    "Examples: gradcli plot 'sin(x) / x' x=-10:10; gradcli plot 'exp(-a*x)' x=0:5 a=2 -f tsv; "
    "gradcli plot 'x*exp(-x^2-y^2)' x=-2:2 y=-2:2; gradcli plot 'tanh(w)' --over w=-pi:pi --json",
    "over points out columns numeric engine config arg",
    formats=(*TEXT, "csv", *PICTURE_FORMATS),
)
def plot(call: Call, *, over: tuple[str, ...], points: int | None) -> Sampled:
    """Draw TARGET and its derivative over a range of one input, or a map with gradients over two inputs.

    A range is x=FROM:TO, or --over x=FROM:TO. The other inputs keep their values. On a terminal, the plot is drawn with
    characters; -o FILE.svg or .png draws with matplotlib (pip install matplotlib). -f tsv prints columns: the inputs,
    the value and the derivatives. JSON also has the errors of --numeric. The curve has gaps at missing values (nan,
    inf), poles and jumps. Kinks are marked. A line below the plot lists all these places.
    """
    from ...analysis.plot import sample_plot

    ranges = take_ranges(call, over)
    call.target()
    if not ranges:
        raise GradcliError("plot needs a range for one or two inputs", hint="write NAME=FROM:TO, for example x=-3:3")
    program, values = call.program()
    return sample_plot(program, values, ranges, points or CURVE_POINTS[len(ranges)], call.request)


@target_command(
    "Examples: gradcli precision '(1 - cos(x))/x**2' x=1e-12:1; gradcli precision 'log(1 + exp(x))' "
    "x=-50:800; gradcli precision 'sqrt(x**2 + y**2)' x=1e-200:1e200 y=1 --json; gradcli precision 'exp(x) - 1' x=1e-9",
    "over wrt out range_points",
    formats=(*TEXT, *PICTURE_FORMATS),
)
def precision(call: Call, *, over: tuple[str, ...], points: int) -> Precision:
    """Print how many digits of TARGET's value and gradient are right, at NAME=VALUE or along NAME=FROM:TO.

    Every point is computed in floating point, and again with at least 50 digits from the same binary inputs. If more
    than a quarter of the digits is lost, the report names the operation that loses them, in the function or in its
    backward pass. In a wide range, the points are spaced by a constant factor. In a pipe, the columns are the input,
    the digits of the value, and the digits of each gradient.
    """
    from ...analysis.precision import measure_precision

    call.output.check()
    target = call.target()
    call.bound_time(target)
    ranges = take_ranges(call, over)
    if call.request.input_dtype.kind == "c":
        raise GradcliError("precision works with real numbers only", hint="use --dtype float32 or float64")
    values = call.values()
    if not ranges and len(values) == 1 and np.size(*values.values()) == 1:
        ((name, point),) = values.items()
        ranges, values = {name: bounds(point, point, f"{name}={point}", point=True)}, {}
    if len(ranges) != 1:
        raise GradcliError("precision needs one input with a range", hint="write NAME=FROM:TO, for example x=1e-12:1")
    program = load_program(target)
    ((name, (low, high)),) = ranges.items()
    return measure_precision(program, values, (name, low, high), call.asked(), points)


def take_ranges(call: Call, over: tuple[str, ...]) -> dict[str, tuple[float, float]]:
    """Remove the ranges from the words of a call, and return them and those of --over, by name."""
    words = tuple(word for word in call.words if RANGE.match(word))
    ranges = [parse_range(call, text, "") for text in words] + [parse_range(call, text) for text in over]
    found = dict(ranges)
    if len(found) < len(ranges):
        raise GradcliError("an input has two ranges", hint="leave out one")
    if len(found) > 2:
        raise GradcliError(f"{len(found)} inputs have a range; at most two can", hint="give the others a value")
    target = call.request.words[: len(call.request.words) - len(call.words)]
    call.request = call.request._replace(words=(*target, *(word for word in call.words if word not in words)))
    return found


def parse_range(call: Call, text: str, option: str = "--over ") -> tuple[str, tuple[float, float]]:
    """Return name and ends of NAME=FROM:TO. option: the flag before it, if any. Raises GradcliError."""
    name, ends = split_value(text)
    low, colon, high = ends.partition(":")
    if not colon or not low.strip() or not high.strip():
        raise GradcliError(f"{option}{text}: write NAME=FROM:TO", hint=f"for example: {option}x=-3:3")
    if ":" in high:
        raise GradcliError(
            f"{option}{text}: a range has two ends, FROM:TO, and no step",
            hint=f"for example: {option}{name}={low}:{high.partition(':')[0]} --points 50",
        )
    first, last = (read_value(end, call.request, f"{option}{name}") for end in (low, high))
    return name, bounds(first, last, f"{option}{text}")


def bounds(low: Any, high: Any, text: str, point: bool = False) -> tuple[float, float]:
    """Return the two ends of a range. text: how it was given; point: both ends may be equal. Raises GradcliError."""
    ends = [np.asarray(x) for x in (low, high)]
    if any(x.size != 1 or x.dtype.kind not in "iuf" or not np.isfinite(x).all() for x in ends):
        raise GradcliError(f"{text}: both ends must be finite numbers", kind="value")
    a, b = (float(x.ravel()[0]) for x in ends)
    if max(-a, b) > FARTHEST_END:
        raise GradcliError(f"{text}: both ends must be between -1e300 and 1e300", kind="value")
    if a > b or (a == b and not point):
        raise GradcliError(f"{text}: the first end must be less than the second", kind="value")
    return a, b


@target_command(
    "Examples: gradcli sweep 'x**2 * sin(y)' points.csv; "
    "gradcli sweep 'a*x^2' points.csv a=2 --diag -o out.csv; "
    "gradcli sweep 'x*y' points.csv --no-keep --json -o out.csv",
    "wrt outs numeric engine config arg diag keep no_keep delimiter shard sweep_jobs dask restart sweep_format "
    "sweep_output",
    formats=("csv", "tsv", "json"),
    common="expression dtype seed max_elements safe torch python json color quiet verbose",
    metavar="TARGET POINTS [NAME=VALUE]...",
)
def sweep(call: Call, **chosen: Any) -> Swept | None:
    """Compute the value and the gradient of TARGET at every row of the table POINTS.

    POINTS is a .csv, .tsv, .parquet or .npy file. CSV may also come from standard input (-) or from a pipe, such as
    <(COMMAND). Each column contains the values of the input of the same name; a cell may contain a list. Other columns
    are ignored. NAME=VALUE gives an input the same value in all rows. The result has a row for each row of POINTS.
    """
    from ...analysis.sweep.plan import SweepOptions, plan_sweep, run_sweep, table_at

    asked, options = call.request, SweepOptions(**chosen)
    table = options.table
    if table != "-":
        check_writable(table)
    if asked.format == "json" and table == "-":
        raise GradcliError("--json and the result would share standard output", hint="write the result with -o FILE")
    target = call.target()
    if not call.words or ("=" in call.words[0] and not os.path.exists(call.words[0])):
        example = "for example: gradcli sweep 'x**2 * sin(y)' points.csv"
        raise GradcliError("no POINTS given", hint=f"{example}; for a range: gradcli plot 'x**2' x=-1:1 -f csv")
    path = call.words[0]
    if path == target.text == "-":
        raise GradcliError("TARGET and POINTS cannot both be standard input", hint="put one into a file")
    program, given = open_program(target), call.values(call.words[1:])
    with table_at(path, options.delimiter) as points:
        plan = plan_sweep(program, target, options, points, given)
        if plan.portions.loop:
            messages.note(f"{target.text} is run row by row: {plan.portions.loop}")
        if points.mark == ",":
            messages.note(f"{points.title}: the commas in its numbers are read as decimal points")
        rows_on_terminal = table == "-" and messages.is_terminal(output.results())
        with SweepProgress(plan.stop - plan.start, shown=not rows_on_terminal) as progress:
            try:
                result = run_sweep(plan, path, progress.update, output.write)
            except KeyboardInterrupt:
                if os.path.isdir(plan.folder):
                    messages.note("finished parts are kept: run the same command to continue")
                raise
    rows = count_of(result.rows, "row")
    if result.not_finite:
        messages.note(f"{result.not_finite} of {rows} contain{'s' * (result.not_finite == 1)} nan or inf")
    if asked.format == "json":
        return result
    messages.detail(f"{rows}, {result.seconds:.1f} s")
    return None


class SweepProgress:
    """Shows rows, rate, rows that are not finite, and the remaining time while a block runs.

    With -q, or if standard error is not a terminal, it shows nothing and does not load rich. shown: False if the rows
    themselves go to the terminal, where a bar would break their lines.
    """

    def __init__(self, rows: int, shown: bool):
        self.rows, self.shown, self.bad = rows, shown, 0
        self.bar: Any = None

    def __enter__(self) -> SweepProgress:
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
