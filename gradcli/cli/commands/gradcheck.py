"""gradcli gradcheck: run the checks that a command line selects, and report a verdict on each."""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from click.core import ParameterSource

from ...check.check import Check
from ...check.keeper import keep_alive, kept
from ...check.targets import checks_of
from ...check.workers import interrupted_report, run_all
from ...errors import EXIT_FAIL, EXIT_INCONCLUSIVE, EXIT_INTERRUPTED, EXIT_TARGET, GradcliError, count_of, visible
from ...lang.limits import CPU_SECONDS, Bound, enforce
from ...request import SHORT_TYPES, Request
from ...results.checks import CheckList, CheckReport, CheckSummary, ListedCheck
from ...results.formats import FORMATS, PICTURE_FORMATS, TEXT, Style, render
from ...show.checks import details, summary_line
from .. import messages
from ..option_values import shapes_of
from ..options import COMMON, Call, no_target, target_command
from ..output import StatusLine, check_writable, duration, handed_on, write_file

if TYPE_CHECKING:
    from ...check.search import SavedPoints

EXIT_SKIP = 125
"""The exit code that makes `git bisect run` skip a revision."""


@target_command(
    "Examples: gradcli gradcheck 'x**2 * sin(y)' x=2 y=3; gradcli gradcheck 'x^3' --grad '3*x^2'; "
    "gradcli gradcheck grads.py:f --grad g --shape x=3; gradcli gradcheck tests/ -j 4 --junit report.xml; "
    "gradcli gradcheck tests/ -o report.html",
    "wrt out grad vjp jvp hess value_and_grad elementwise on reference stochastic level draws device engine shape arg "
    "samples order calls fix no_as_called taylor check_symbolic check_digits rtol atol eps nondet_tol "
    "check_strict show keyword list stop jobs search save_points config stress junit allow_inconclusive exit_zero "
    "bisect",
    formats=(*TEXT, "csv", "github", "sarif", "concise", "gitlab", "html", *PICTURE_FORMATS),
    common=COMMON.replace("dtype", "check_dtype"),
    metavar="[TARGET]... [NAME=VALUE]...",
)
def gradcheck(
    call: Call,
    *,
    list: bool,
    stop: bool,
    junit: str | None,
    save_points: str | None,
    allow_inconclusive: bool,
    exit_zero: bool,
    bisect: bool,
    fix: bool,
) -> int:
    """Check derivatives that PyTorch, JAX, HIPS autograd or gradcli computes, or that you wrote by hand.

    You can give several files and folders. TARGET is one of these:

    \b
    EXPRESSION              a formula such as 'x^2 * y', or a file with one
    FILE.py                 a Python script that declares no checks: gradcheck
                            checks the gradient that the script computes
    FILE.py, FOLDER         all checks that @gradcli.check declares there
    FILE.py:FUNCTION        a Python function
    http://HOST:PORT/MODEL  a UM-Bridge model
    http://HOST:PORT        a server of Tesseract Core
    'cmd:COMMAND'           a program that answers requests in JSON
    MODEL.fmu               a Functional Mock-up Unit (FMI 2.0)
    'LIB.so:DECLARATION'    a function in a C library
    ase:FILE.py:CALCULATOR STRUCTURE
                            the forces of an ASE calculator

    --grad, --vjp and --jvp name a derivative that you wrote by hand. Without them, gradcheck checks the derivatives
    that a file declares, or that PyTorch, JAX, HIPS autograd, a server or a program computes. For formulas and NumPy
    functions, it checks the derivative that gradcli computes.

    For an expression, --grad, --vjp, --jvp and --hess take formulas that use its inputs, such as --grad '2*x'. For
    several inputs, repeat the option: --grad 'x=2*x*y' --grad 'y=x^2'. You can also give a list in the order of the
    inputs: --grad '[2*x*y, x^2]'. The axes of a gradient are those of the output, followed by those of the input.

    If an input z = a + ib is complex and the output L is real, the gradient is dL/da + i dL/db. If the output is also
    complex, the gradient is the complex derivative. --hess 'x,y=FORMULA' gives a second derivative of a scalar output.
    To check it, gradcheck computes the gradient in high precision and differentiates this gradient numerically.

    If a formula is claimed, gradcheck checks it at 20 random points, or at 5 for --hess; --samples changes this number.
    Inputs without a value get random values for which the function is finite. --shape makes such an input an
    array. SymPy also compares the formula with the derivative, to prove that they are equal or to describe the
    mistake. Without a proof, gradcheck also checks points around constants of the formulas, such as the 3 in
    where(x > 3, ...). If the formula is wrong at a point, the report gives a counterexample.

    If no formula is claimed, give each input a value or a --shape, unless it has a default.
    """
    began = time.perf_counter()
    output = call.output
    output.check()
    if output.form in PICTURE_FORMATS and not call.request.taylor:
        raise GradcliError(f"gradcheck draws .{output.form} files with --taylor only")
    for path in (junit, save_points):
        if path is not None:
            check_writable(path)
    if fix:
        from ...repair.search import SearchLimits

        call.request = call.request._replace(repair=SearchLimits())
    if any(os.path.isdir(word) or ".py" in word for word in target_words(call)):
        with handed_on():
            keep_alive()
    try:
        checks = select_checks(call)
    except GradcliError as error:
        if not bisect or error.kind == "usage":
            raise
        messages.report(error)
        return EXIT_SKIP
    saved = None
    if save_points is not None:
        saved = saved_points(save_points, call.request.search)
        checks = [replace(c, saved=saved.of(c.file, c.name)) if isinstance(c, Check) else c for c in checks]
    if list:
        return list_checks(call, checks)
    summary, interrupted = run_checks(call, checks, began, stop)
    messages.say_counts(summary_line(summary), not (summary.count("fail") or summary.count("error")))
    if saved is not None and (text := saved.text_with([*summary.checks])) is not None:
        write_file(saved.path, text)
    if junit:
        write_file(junit, render(summary, "junit", Style()))
    if interrupted:
        done = len(summary.checks) - interrupted
        messages.say(f"interrupted: {done} of {count_of(len(checks), 'check')} done")
        return EXIT_INTERRUPTED
    project = call.request.project
    allowed = allow_inconclusive or (project is not None and project.settings.get("allow-inconclusive"))
    code = 0 if exit_zero else exit_code(summary, bool(allowed))
    return EXIT_SKIP if bisect and code in (EXIT_TARGET, EXIT_INCONCLUSIVE) else code


def saved_points(path: str, search: int) -> SavedPoints:
    """Return the points of a file. Raises GradcliError if it does not exist, and no search may find some."""
    if not search and not os.path.exists(path):
        raise GradcliError(f"--save-points: no such file {path}", hint="--search 100 finds points to save")
    from ...check.search import SavedPoints

    return SavedPoints(path)


def run_checks(call: Call, checks: Sequence[Check | CheckReport], began: float, stop: bool) -> tuple[CheckSummary, int]:
    """Run checks, show their reports in order, and return all reports. Files that could not be imported come first.

    If Ctrl-C interrupts the checks, those that were running are inconclusive. The second value is their number.
    began: when the command started. stop: whether to stop at the first fail.
    """
    start, output = time.perf_counter(), call.output
    streamed = FORMATS[output.form].streamed and output.path is None
    waiting = [c for c in checks if isinstance(c, Check)]
    reports = [c for c in checks if isinstance(c, CheckReport)]
    broken = len(reports)
    early: dict[int, CheckReport] = {}
    progress, jobs = Waiting([check.name for check in waiting]), call.request.jobs or 1
    interrupted = 0

    def show(ready: list[CheckReport]) -> None:
        progress.line.clear()
        reports.extend(ready)
        print_reports(len(reports) - len(ready), ready)

    def print_reports(first: int, some: Sequence[CheckReport]) -> None:
        for place, report in enumerate(some, first):
            if place < kept.by.found.shown:  # by a process that has died since
                continue
            for detail in details(report) if place >= broken else ():
                messages.detail(detail)
            if streamed:
                output.show(report)
                kept.by.show(place + 1)

    print_reports(0, reports)
    try:
        progress.count()
        running = run_all(waiting, jobs=jobs, stop_at_fail=stop, on_progress=progress.report_progress)
        for place, report in running:
            early[place] = progress.finish(place, report)
            progress.count()
            while (place := len(reports) - broken) in early:
                show([early.pop(place)])
    except KeyboardInterrupt:
        running_since = time.monotonic() - progress.finished
        for place in progress.unfinished[:jobs]:
            early[place] = interrupted_report(waiting[place], progress.known.get(place, ""), running_since)
            interrupted += 1
    show([early[place] for place in sorted(early)])
    now = time.perf_counter()
    summary = CheckSummary(names_of_targets(call), tuple(reports), now - start, now - began)
    output.show(summary._replace(shown=streamed))
    return summary, interrupted


def run_quietly(call: Call, checks: Sequence[Check | CheckReport]) -> list[CheckReport]:
    """Run checks without showing them, and return their reports in order; those on broken files come first."""
    waiting = [c for c in checks if isinstance(c, Check)]
    progress = Waiting([check.name for check in waiting])
    found = dict(run_all(waiting, jobs=call.request.jobs or 1, on_progress=progress.report_progress))
    progress.line.clear()
    return [*(c for c in checks if isinstance(c, CheckReport)), *(found[place] for place in sorted(found))]


def list_checks(call: Call, checks: Sequence[Check | CheckReport]) -> int:
    """List checks, and say why files could not be imported. Return the exit code."""
    broken = [c for c in checks if isinstance(c, CheckReport)]
    listed = tuple(ListedCheck(c.name, c.file, c.line) for c in checks if c not in broken)
    call.output.show(CheckList(names_of_targets(call), listed))
    for report in broken:
        if report.verdict == "skipped":
            messages.note(f"{report.file} is skipped: {report.message}")
        else:
            messages.report(GradcliError(report.message))
    return EXIT_TARGET if any(report.verdict == "error" for report in broken) else 0


def exit_code(summary: CheckSummary, allow_inconclusive: bool) -> int:
    """Return 1 for a fail, else 3 for an error, else 4 for an inconclusive check, else 0."""
    if summary.count("fail"):
        return EXIT_FAIL
    if summary.count("error"):
        return EXIT_TARGET
    return EXIT_INCONCLUSIVE if summary.count("inconclusive") and not allow_inconclusive else 0


LONG_CHECK = 1.0
"""Seconds after which the progress of a check is shown."""
OFTEN = 0.1
MANY_CHECKS = 5


class Waiting:
    """Shows the progress of checks on standard error, in one line that is rewritten; nothing without a terminal.

    names: the names of all checks. done: the numbers of those that have finished. known: what running checks have
    found, by number.
    """

    def __init__(self, names: list[str]):
        self.names, self.last, self.line = names, time.monotonic(), StatusLine()
        self.done: set[int] = set()
        self.finished = self.last
        self.starts: dict[tuple[int, str, int], tuple[float, int]] = {}
        self.known: dict[int, str] = {}

    def report_progress(self, place: int, what: str, done: int, total: int, known: str = "") -> None:
        """Show the progress of check number `place` if it takes long. known: what it has found so far."""
        if known:
            self.known[place] = known
        if known or not self.line.possible:
            return
        now = time.monotonic()
        start, first = self.starts.setdefault((place, what, total), (now, done))
        if now - start < LONG_CHECK or now - self.last < (OFTEN if total else LONG_CHECK):
            return
        self.last = now
        left = (now - start) * (total - done) / max(done - first, 1)
        text = f"{what} {done}/{total}, {duration(left)} left" if total else f"{what} {done}"
        text += f"  {visible(self.names[place])}"
        if len(self.names) > 1:
            text = f"{len(self.done)}/{len(self.names)} checks, {text}"
        self.line.write(text)

    def count(self) -> None:
        if len(self.names) >= MANY_CHECKS:
            self.line.write(f"checking {len(self.done)}/{len(self.names)}")

    @property
    def unfinished(self) -> list[int]:
        """The numbers of checks that have not finished, in the order in which they start."""
        return [place for place in range(len(self.names)) if place not in self.done]

    def finish(self, place: int, report: CheckReport) -> CheckReport:
        """Return the report on a check that has finished; one that failed to end keeps what it had found."""
        self.done.add(place)
        self.finished = time.monotonic()
        known = self.known.pop(place, None)
        return replace(report, notes=(*report.notes, known)) if known and report.verdict == "error" else report


VALUE = re.compile(r"@.|(?:\d+\.)*[^\W\d][\w.\[\]]*=[^=]")
"""Matches NAME=VALUE, also 0.weight=VALUE, but not NAME==..., which is an expression."""

FEW_TARGETS = 4
"""A report lists up to this many targets by name."""


def target_words(call: Call) -> list[str]:
    """Return the words that are targets. Without -e, the first one is, whatever it looks like."""
    first = () if call.inline else call.request.words[:1]
    return [*first, *(word for word in call.words if not VALUE.match(word))]


def names_of_targets(call: Call, most: float = FEW_TARGETS) -> str:
    if call.request.expression is not None:
        return call.request.expression
    names = target_words(call)
    return ", ".join(names) if len(names) <= most else f"{len(names)} files"


def select_checks(call: Call) -> list[Check | CheckReport]:
    """Return the checks that the command line selects, with reports on files that could not be imported."""
    targets = [call.as_target(text) for text in target_words(call)]
    if call.request.expression is not None:
        targets.insert(0, call.as_target(call.request.expression, inline=True))
    if not targets:
        raise no_target()
    with enforce(call.bound(targets[0]) if targets[0].is_language else None):
        checks = checks_of(targets, request_of(call))
    timeout = call.request.timeout
    checks = [replace(c, bound=bound_of(c, timeout)) if isinstance(c, Check) else c for c in checks]
    for check in (c for c in checks if isinstance(c, Check)):
        if check.is_script and str(check.file).endswith(".py"):
            messages.note(f"{check.file} declares no checks, so it runs as a script, and its own gradient is checked")
    if "samples" in call.request.named and not any(isinstance(c, Check) and c.random for c in checks):
        raise GradcliError("--samples needs an input with random values", hint="--shape x=3 gives x random values")
    refuse_level(call, checks)
    pattern = call.request.keyword
    exact = any(c.name == pattern for c in checks if isinstance(c, Check))
    chosen = [
        c
        for c in checks
        if pattern is None
        or isinstance(c, CheckReport)
        or (c.name == pattern if exact else pattern.lower() in f"{c.file}:{c.name}".lower())
    ]
    if not chosen:
        raise GradcliError(f"-k {pattern}: no check has this in its name", hint="--list shows their names", kind="name")
    return chosen


def refuse_level(call: Call, checks: Sequence[Check | CheckReport]) -> None:
    """Raise GradcliError for --level and --draws if no estimator is checked."""
    estimators = any(isinstance(c, Check) and c.request.stochastic is not None for c in checks)
    for name in () if estimators else sorted({"level", "draws"} & call.request.named):
        raise GradcliError(f"--{name} is for estimators", hint="--stochastic NAME checks one")


def bound_of(check: Check, timeout: float | None) -> Bound | None:
    """Return the time limit of a check: --timeout, or CPU seconds per sample for programs of the language."""
    if check.bounds_answers:  # --timeout bounds each answer
        return None
    if timeout is not None:
        return Bound(timeout)
    points = check.request.samples + check.request.search // 50
    return None if str(check.file).endswith(".py") else Bound(CPU_SECONDS * points, cpu=True)


def request_of(call: Call) -> Request:
    """Return the request with values, shapes, and the options that repeat a check. Raises GradcliError."""
    words = tuple(w for w in call.words if VALUE.match(w))
    values = call.values(words)
    shapes = shapes_of(call.request.shapes, call.request.max_elements, values)
    asked = call.request
    ways = ("grad", "value_and_grad", "vjp", "jvp")
    if asked.dtype in SHORT_TYPES and asked.reference is None:
        hint = "add --reference NAME, a plain function that computes the same values"
        raise GradcliError(f"--dtype {asked.dtype} needs --reference", hint=hint)
    claims = [way.replace("_", "-") for way in ways if getattr(asked, way) not in (None, False)]
    if len(claims) > 1 and claims != ["vjp", "jvp"]:
        raise GradcliError(f"--{claims[0]} and --{claims[1]} cannot be combined", hint="check one, then the other")
    if claims and asked.symbolic and not call.is_any("expression"):
        raise GradcliError(f"--{claims[0]} takes arrays, so it cannot run on symbols", hint="leave out --symbolic")
    refuse_small_step(asked.eps, values)
    typed = {name: text for name, _, text in (w.partition("=") for w in words)}
    show = "all" if call.output.form in ("csv", "html") else asked.show  # these formats contain every element
    return asked._replace(values=values, shapes=shapes, typed=typed, repeated=repeated_options(), show=show)


def refuse_small_step(eps: float | None, values: Mapping[str, Any]) -> None:
    """Raise GradcliError for a step that does not change an element of a value."""
    for name, value in values.items() if eps is not None else ():
        x = np.asarray(value)
        if x.dtype.kind in "fc" and bool((x + eps == x)[np.isfinite(x)].any()):
            message = f"--eps {eps:g} is too small: it does not change all elements of '{name}'"
            raise GradcliError(message, hint="leave out --eps, or use a step such as 1e-06")


OUTSIDE_REPLAY = """words expression format output precision color quiet verbose jobs junit list stop keyword
allow_inconclusive exit_zero bisect seed samples timeout show write fix candidates seconds"""
"""Options that do not change what is checked, or that a replay line contains anyway."""


def repeated_options() -> str:
    """Return the options that change what is checked, as typed; shapes first."""
    context, words = click.get_current_context(), []
    names = context.params.keys() - set(OUTSIDE_REPLAY.split())
    options = [p for p in context.command.params if isinstance(p, click.Option) and p.name in names]
    for option in sorted(options, key=lambda option: option.name != "shapes"):
        name, flag = str(option.name), max(option.opts, key=len)
        if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        given = context.params[name]
        texts = given if isinstance(given, tuple) else (",".join(given) if isinstance(given, list) else given,)
        words += [flag] if option.is_flag else [f"{flag} {shlex.quote(str(text))}" for text in texts]
    return " ".join(words)
