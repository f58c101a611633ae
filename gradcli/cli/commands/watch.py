"""gradcli watch: the derivatives that a command uses, judged where it uses them."""

from __future__ import annotations

import click

from ...check.watch import watch_command
from ...errors import EXIT_FAIL, EXIT_INCONCLUSIVE, EXIT_INTERRUPTED, GradcliError
from ...request import Request
from ...show import TEXT
from .. import messages, output
from ..messages import Command
from ..option_table import OPTIONS, Count, Finite
from ..options import format_option
from ..output import Output

FORMATS = (*TEXT, "csv", "github", "junit", "sarif", "concise", "gitlab", "html")
WITH_USES = ("table", "tsv", "csv", "json")
"""The formats that say as what, and how often, a derivative was used; to the others it is a check."""


@click.command(
    cls=Command,
    epilog="Examples: gradcli watch -- python fit.py; gradcli watch -f json -o report.json -- python fit.py",
)
@click.option("--points", type=Count(1000), default=3, metavar="N", help="At how many of its calls to judge each (3).")
@OPTIONS["calls"]
@click.option(
    "--timeout",
    type=Finite(positive=True),
    default=30.0,
    metavar="S",
    help="Seconds for one point of one derivative (30).",
)
@OPTIONS["allow_inconclusive"]
@format_option(FORMATS)
@OPTIONS["json"]
@OPTIONS["output"]
@OPTIONS["color"]
def watch(
    points: int,
    calls: int | None,
    timeout: float,
    allow_inconclusive: bool,
    format: str | None,
    output: str | None,
    color: str,
) -> int:
    """Run the COMMAND after -- unchanged, and judge every derivative that it hands to a solver or a framework.

    Seen are those handed to scipy.optimize (minimize with its constraints, least_squares, root, root_scalar, newton,
    curve_fit, fsolve, leastsq, fmin_*) and to scipy.integrate (solve_ivp, odeint), every torch.autograd.Function that
    is applied where a gradient is wanted, every jax.custom_vjp and custom_jvp that is called with values, and every
    primitive of HIPS autograd with its vjps; in every process that the command starts. Each is judged as gradcheck
    does, at the first, the last and some call between, and where the solver's value rose, after the command's own
    work. A second derivative is compared with the first one that was handed over, where that is right.

    The command's output and its exit code stay what they are. The report goes to standard error, or with -o to a file.
    Exit code: the command's where it is not 0; else 1 if a derivative is wrong, 4 if one is inconclusive.
    """
    messages.settings.color = color
    command = click.get_current_context().obj
    if not command:
        raise GradcliError("no command to run", hint="write it after --: gradcli watch -- python fit.py")
    shown = report_output(format, output)
    run = watch_command(command, points, calls, timeout)
    for trouble in run.troubles:
        messages.warn(trouble)
    summary = run.summary
    if summary.derivatives or not run.interrupted:
        shown.show(summary if shown.form in WITH_USES else summary.checks)
    if run.interrupted:
        more = "there may be more derivatives than these" if summary.derivatives else "nothing was judged yet"
        messages.say(f"interrupted: {more}")
    if run.status or run.interrupted:
        return run.status or EXIT_INTERRUPTED
    if summary.checks.count("fail"):
        return EXIT_FAIL
    return EXIT_INCONCLUSIVE if summary.checks.count("inconclusive") and not allow_inconclusive else 0


def report_output(format: str | None, path: str | None) -> Output:
    """Return where the report goes: a file, or standard error, because standard output is the command's."""
    output.results_to_stderr()
    shown = Output(Request(command="watch", format=format or (None if path else "table"), output=path), FORMATS)
    shown.check()
    return shown
