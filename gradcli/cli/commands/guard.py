"""gradcli lock, mutate and watch: guard gradients with a file, with tests, and in the programs that use them."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from ...errors import EXIT_FAIL, EXIT_INCONCLUSIVE, EXIT_INTERRUPTED, GradcliError
from ...request import Request
from ...results.formats import TEXT
from ...user.address import as_file
from ...user.project import activate
from .. import messages
from ..messages import ProgramCommand
from ..option_table import OPTIONS, file_option, import_completion, option
from ..option_values import Count, as_finite, as_positive, as_steps
from ..options import COMMON, Call, format_option, show_result, target_command
from ..output import output_of, results_to_stderr

if TYPE_CHECKING:
    from ...guard.step_summary import StepOptions
    from ...results.steps import StepSummary
    from ...results.studies import Lock, Verification, WatchSummary

TARGET = ("words", "expression", "engine", "config", "torch")
CLAIM = ("wrt", "out", "grad", "vjp", "jvp", "stochastic", "level", "draws", "shapes", "keyword")
"""Options that a lock file stores, so that --verify works without repeating them."""


@target_command(
    "Examples: gradcli lock tests -o gradients.lock; gradcli lock tests -o a.lock && gradcli lock --verify "
    "a.lock; gradcli lock grads.py:f --grad g x='[1, 2]' | cat",
    "verify wrt out grad vjp jvp stochastic level draws engine shape keyword config",
    formats=("table", "json", "tsv"),
    common=COMMON.replace("precision ", ""),
)
def lock(call: Call, *, verify: str | None) -> Lock | Verification:
    """Write the gradients of declared checks to a file, or compare them with such a file (--verify FILE).

    TARGET is the same as for gradcheck. The file has a line for each check: its file, name, point, value and gradient,
    and the errors of both. The error of a number is its uncertainty due to rounding. It is the sum of these parts:

    \b
    - 32 rounding units of the number;
    - 4 rounding units of the largest number in the array;
    - 5 times the change of the number when the inputs change by up to two
      ulps. If values at nearby points scatter about a smooth curve by more
      than this change, the scatter replaces it.

    With --verify, value and gradient are computed again at the points in the file. The verdict on a check is `same` if
    old and new numbers agree within both errors, and `changed` otherwise. If a check has changed, the exit code is 1,
    and the report shows both numbers with their errors. The verdict is `new` if the file lacks the check, and `gone` if
    only the file has it. Without TARGET, the target that the file names is used.
    """
    from ...check.lock import read_lock
    from ...check.lock import verify as verify_checks
    from ...check.lock import write_lock as lock_checks
    from .gradcheck import names_of_targets, select_checks

    call.output.check()
    if verify is None:
        checks = select_checks(call)
        return lock_checks(names_of_targets(call, most=math.inf), checks, settings_of(call.request))
    locked = read_lock(verify)
    if call.inline or call.request.words:
        checks = select_checks(call)
    else:
        again = as_locked(call, locked.settings)
        again.move_to_project()
        with again.contexts:
            checks = select_checks(again)
    asked = call.request
    if asked.format is None and call.output.form == "json" and not str(asked.output).endswith(".json"):
        call.output.form = "tsv"
    return verify_checks(verify, locked, checks)


def settings_of(asked: Request) -> dict[str, Any]:
    options = {name: getattr(asked, name) for name in (*TARGET, *CLAIM)}
    options["wrt"] = ",".join(asked.wrt or ())
    return {**{name: value for name, value in options.items() if value}, "words": [*asked.words]}


def as_locked(call: Call, settings: Mapping[str, Any]) -> Call:
    options = {name: Request._field_defaults[name] for name in CLAIM}
    options |= {name: settings[name] for name in (*TARGET, *CLAIM) if name in settings}
    options["wrt"] = options["wrt"].split(",") if options["wrt"] else None
    options |= {name: tuple(options.get(name, ())) for name in ("words", "shapes")}
    return Call(call.request._replace(**options), call.output.formats)


@click.command(
    cls=ProgramCommand,
    epilog="Examples: gradcli mutate grads.py:g -- pytest -q check_grads.py; gradcli mutate grads.py:g "
    "-- gradcli gradcheck grads.py:f --grad g x=2",
)
@click.argument("target", metavar="FILE.py:FUNCTION", shell_complete=import_completion("words"))
@option(
    "--at-least X",
    "Smallest relative error that counts [0.001]. Exit with 1 if a mutant with a larger error survives.",
    callback=as_finite,
    default="0.001",
)
@option(
    "--timeout S",
    "Time limit in seconds for a run [automatic]. The default is 5 times the time without a mutant, at least "
    "10 s. Slower mutants count as killed.",
    callback=as_positive,
)
@OPTIONS["command_python"]
@OPTIONS["quiet"]
@format_option(TEXT)
@OPTIONS["json"]
@OPTIONS["output"]
@OPTIONS["color"]
def mutate(target: str, at_least: float, timeout: float | None, python: str | None, quiet: bool, **shown: Any) -> int:
    """Run the COMMAND after -- with wrong versions of a function, and report which versions it notices.

    Some wrong versions (mutants) change the results of the function. They multiply the results by 1 + 10^-k for k =
    1 to 12, change their sign, set them to zero, shift them by one place, transpose them, drop the last element, or
    double one element. Other mutants change the source: they drop a term or a factor, or change a sign, an index
    or a constant. A mutant is left out if it returns the same values as the function at 20 random points near the
    arguments of COMMAND's calls.

    COMMAND must pass with the original function. It then runs once for each mutant. If COMMAND fails, it has noticed
    (killed) the mutant. Mutants exist only in memory, and no file changes. The exit code is 1 if a mutant with an error
    above --at-least survives.
    """
    from ...guard.mutate import run_mutants as run_mutants

    output, command = output_of("mutate", TEXT, quiet=quiet, **shown), click.get_current_context().obj
    if not command:
        raise GradcliError("no command to run", hint=f"write it after --: gradcli mutate {target} -- pytest -q")
    activate(command, python)
    from .mutants import MutantProgress

    with MutantProgress() as progress:
        mutation = run_mutants(as_file(target), command, at_least, timeout, progress)
    return show_result(output, mutation)


REPORT_FORMATS = (*TEXT, "csv", "github", "junit", "sarif", "concise", "gitlab", "html")
WITH_USES = ("table", "tsv", "csv", "json")
"""Formats that show the role and the uses of a derivative; the others show only its check."""


@click.command(
    cls=ProgramCommand,
    epilog="Examples: gradcli watch -- python fit.py; gradcli watch -f json -o report.json -- python fit.py; "
    "gradcli watch --loss training.py:full_loss -- python training.py",
)
@option(
    "--loss FILE:NAME",
    "Check training steps against this declared loss. NAME(model, batches) returns the loss that a whole step should "
    "reduce, as a number or as a dict of named terms that add up. FILE may be the training script itself.",
    complete="complete_function",
)
@option(
    "--steps N,N",
    "With --loss: steps to check [1, 2, 4, 8 and so on]. By default, watch also checks the last step of some epochs.",
    callback=as_steps,
)
@option("--clip NORM", "With --loss: allow clipping to this norm.", callback=as_positive)
@option("--rules", "With --loss: check derivatives, too. These are the derivatives that watch checks without --loss.")
@option("--points N", "Check each derivative at N of its calls [3].", type=Count(1000), default=3)
@OPTIONS["calls"]
@option(
    "--timeout S",
    "Time limit in seconds for each checked call [30]. With --loss, the default is 600 s for each step.",
    callback=as_positive,
)
@option(
    "--check-time S",
    "Seconds for a process's checks [as long as it ran]. If it ran for less than 20 s, the default is 20.",
    callback=as_positive,
)
@OPTIONS["command_python"]
@OPTIONS["allow_inconclusive"]
@option("-q --quiet", "Report only the derivatives that fail. The summary stays.")
@format_option(REPORT_FORMATS, "table; with -o, tsv")
@OPTIONS["json"]
@file_option("-o --output FILE", "Write the report to FILE [standard error].")
@OPTIONS["color"]
def watch(
    loss: str | None,
    steps: tuple[int, ...] | None,
    clip: float | None,
    rules: bool,
    points: int,
    calls: int | None,
    timeout: float | None,
    check_time: float | None,
    python: str | None,
    allow_inconclusive: bool,
    quiet: bool,
    **shown: Any,
) -> int:
    """Run the COMMAND after --, and check the hand-written derivatives that it uses.

    COMMAND does not need any changes. `watch` checks these derivatives in every Python process that COMMAND starts:

    \b
    scipy.optimize     derivatives passed to minimize (also in constraints),
                       least_squares, root, root_scalar, newton, curve_fit,
                       fsolve, leastsq, fmin_*, basinhopping, dual_annealing,
                       shgo, line_search, check_grad
    scipy.integrate    Jacobians passed to solve_ivp, odeint, ode, solve_bvp
    xgboost, lightgbm  second derivatives that custom objectives of train()
                       return, compared with the first derivatives
    PyTorch            the backward of torch.autograd.Function classes and of
                       torch.library operators, if an input requires grad
    JAX                the rules of custom_vjp and custom_jvp functions
    HIPS autograd      the derivatives of custom primitives

    While COMMAND runs, `watch` records the arguments with which the program calls these derivatives. When a process
    ends, `watch` checks each of its derivatives as `gradcli gradcheck` does, at the arguments of up to three calls: the
    first, a middle and the last one. `--points` changes this number. If a step of a solver increases the objective,
    `watch` also checks the derivative at the point that this step reaches. If there are several such steps, it uses the
    last of these points.

    The checks of a process may take as long as the process ran, or 20 s if it ran for less time. Derivatives that have
    not been checked by then are checked at one call each, for up to 60 s more in total. With `--check-time S`, all
    checks of a process stop after S seconds instead.

    With `--loss`, `watch` checks steps of training instead. NAME declares the loss of a whole step. `watch` compares
    the gradient of this loss with the gradient that an optimizer of PyTorch or optax gets. It computes the declared
    loss at the same parameters, on the batches that the program has used since the step before, and with the same
    random numbers. If the gradients differ, the report names the cause, such as a sum over batches that was not divided
    by their number.

    The output of COMMAND does not change. The report goes to standard error, or to a file with -o.
    """
    from ...guard.watch import watch_command

    messages.settings.color = shown["color"]
    command = click.get_current_context().obj
    if not command:
        raise GradcliError("no command to run", hint="write it after --: gradcli watch -- python fit.py")
    wanted = step_options(loss, steps, clip, rules, timeout)
    activate(command, python)
    results_to_stderr()  # standard output is the command's
    shown["format"] = shown["format"] or (None if shown["output"] else "table")
    output = output_of("watch", REPORT_FORMATS, **shown)
    limits = (points, calls, timeout or 30.0, check_time)
    run = watch_command(command, *limits, wanted, wanted is None or rules, show_steps if wanted else None)
    for trouble in run.troubles:
        messages.warn(trouble)
    summary = run.summary
    if run.problem is not None and not run.interrupted:
        if not summary.status:
            raise run.problem
        messages.report(run.problem)
    elif wanted is None or summary.checks.checks:
        show_watched(output, summary, quiet, run.interrupted)
    if run.interrupted:
        more = "there may be more results than these" if summary.checks.checks else "nothing was checked yet"
        messages.say(f"interrupted: {more}")
    if summary.status or run.interrupted:
        return summary.status or EXIT_INTERRUPTED
    if summary.checks.count("fail"):
        return EXIT_FAIL
    return EXIT_INCONCLUSIVE if summary.checks.count("inconclusive") and not allow_inconclusive else 0


def step_options(
    loss: str | None, steps: tuple[int, ...] | None, clip: float | None, rules: bool, timeout: float | None
) -> StepOptions | None:
    """Return what to check of training steps, or None without --loss. Raises GradcliError."""
    if loss is None:
        for flag, given in (("--steps", steps), ("--clip", clip), ("--rules", rules)):
            if given:
                raise GradcliError(f"{flag} needs --loss", hint="add --loss FILE.py:NAME")
        return None
    from ...guard.declared_loss import read_address
    from ...guard.step_summary import StepOptions

    return StepOptions(read_address(loss), steps, clip, timeout or StepOptions._field_defaults["step_timeout"])


def show_watched(output: Any, summary: WatchSummary | StepSummary, quiet: bool, interrupted: bool) -> None:
    """Print the report, with --quiet only what failed."""
    printed = summary.failed if quiet else summary
    if printed.checks.checks or not (interrupted or (quiet and output.form == "table")):
        output.show(printed if output.form in WITH_USES else printed.checks)


@contextlib.contextmanager
def show_steps(folder: str) -> Iterator[None]:
    """While the command runs, show a line on the terminal when a step is being checked."""
    from ...guard.step_progress import following

    with following(folder, messages.note, messages.shows_progress(), sys.stderr):
        yield
