"""gradcli gradcheck: a verdict on derivatives."""

from __future__ import annotations

import contextlib
import re
import shlex
import signal
import time
from collections.abc import Iterator
from typing import Any

import click
from click.core import ParameterSource

from ...check.collect import run_all
from ...check.declare import Declared
from ...check.stored import SavedPoints
from ...check.targets import checks_of
from ...check.wanted import Wanted
from ...errors import EXIT_INCONCLUSIVE, EXIT_INTERRUPTED, EXIT_TARGET, GradcliError
from ...lang.patience import CPU_SECONDS, Bound, bounded
from ...lang.values import read_json_values, read_values
from ...program.target import Target
from ...render import PICTURES, TEXT
from ...render.checks import details
from ...results.checks import CheckList, CheckReport, CheckSummary, CheckTotal
from .. import status
from ..accept import shapes_of
from ..context import Context
from ..help import Command
from ..options import command_options
from ..output import check_writable, write_file
from ..waiting import Waiting

EXIT_SKIP = 125
"""What tells `git bisect run` that a revision can be called neither good nor bad."""
NOT_YET = ("file", "name", "syntax")
"""Errors that a revision gives in which the target is not there yet, or broken."""
VALUE = re.compile(r"@.|[^\W\d][\w.\[\]]*=[^=]")


@click.command(
    cls=Command,
    epilog="Examples: gradcli gradcheck 'x**2 * sin(y)' x=2 y=3; gradcli gradcheck grads.py:f --grad g --shape x=3; "
    "gradcli gradcheck tests/ -j 4 --junit report.xml; gradcli gradcheck tests/ -o report.html",
)
@command_options(
    "wrt",
    "out",
    "grad",
    "vjp",
    "jvp",
    "value_and_grad",
    "engine",
    "shape",
    "arg",
    "samples",
    "order",
    "fast",
    "calls",
    "taylor",
    "symbolic",
    "digits",
    "rtol",
    "atol",
    "eps",
    "show",
    "keyword",
    "list",
    "stop",
    "jobs",
    "search",
    "save_points",
    "config",
    "junit",
    "allow_inconclusive",
    "bisect",
    formats=(*TEXT, "csv", "github", "sarif", "html", *PICTURES),
)
def gradcheck(context: Context) -> int:
    """Check derivatives: of expressions, scripts and functions, and of gradients written by hand.

    TARGET is an expression, FILE.py:FUNCTION (with --grad, --vjp or --jvp for a derivative written by hand; a
    function of PyTorch, JAX or HIPS autograd is judged by the derivative that its framework gives), or files and
    folders whose checks are declared with @gradcli.check. It may run elsewhere, too: http://HOST:PORT/MODEL
    (UM-Bridge) or http://HOST:PORT (Tesseract), 'cmd:COMMAND', or 'LIB.so:DECLARATION' with a declaration for --grad
    or --vjp; then the derivative that it gives is checked. One file without such checks is run as a script, and its
    own gradient checked; among several it is left out. Checks of Python run in processes of their own,
    so that one that crashes, exits or (with --timeout) does not end is an error, and the others' verdicts are kept;
    where PyTorch or JAX is loaded, only -j 2 does that. -f html writes a page: of what did not pass all elements,
    maps, and the function with both slopes.
    """
    options = context.options
    context.output.check()
    if context.output.form in PICTURES and not options["taylor"]:
        raise GradcliError(f"gradcheck draws .{context.output.form} files with --taylor only", kind="usage")
    if options["junit"] is not None:
        check_writable(options["junit"])
    if options["save_points"] is not None:
        check_writable(options["save_points"])
    try:
        checks = select_checks(context)
    except GradcliError as error:
        if not options["bisect"] or (error.kind not in NOT_YET and error.exit_code != EXIT_TARGET):
            raise
        status.report(error)
        return EXIT_SKIP
    saved = saved_points(checks, options["save_points"])
    target = options["words"][0] if options["expression"] is None and options["words"] else options["expression"]
    if options["list"]:
        if options["save"]:
            raise GradcliError("--list shows no table to save", hint="leave out --save", kind="usage")
        return list_checks(context, target, checks)
    summary, interrupted = run_checks(context, target, checks)
    if saved is not None and (text := saved.text_with(list(summary.checks))) is not None:
        write_file(saved.path, text)
    if options["junit"]:
        from ...render import Style, junit

        write_file(options["junit"], junit.render_checksummary(summary, Style()))
    if interrupted:
        status.say(f"interrupted: {len(summary.checks)} of {len(checks)} checks done")
        return EXIT_INTERRUPTED
    code = exit_code(summary, options["allow_inconclusive"])
    return EXIT_SKIP if options["bisect"] and code in (EXIT_TARGET, EXIT_INCONCLUSIVE) else code


def saved_points(checks: list[Declared | CheckReport], path: str | None) -> SavedPoints | None:
    """Give checks the points that a file has for them; return the file's content, None without a file."""
    if path is None:
        return None
    saved = SavedPoints(path)
    for check in checks:
        if isinstance(check, Declared):
            check.saved = saved.of(check.file, check.name)
    return saved


WITH_ELEMENTS = ("csv",)
"""The formats that hold every element."""
STREAMED = ("table", "tsv", "github")
"""The formats in which a report stands by itself: it is shown when the check is done."""


def run_checks(context: Context, target: str, checks: list[Declared | CheckReport]) -> tuple[CheckSummary, bool]:
    """Run checks and show their reports in order; return all that were done, and whether they were interrupted.

    Files that could not be imported come first. Of interrupted checks, those are shown that others held up.
    """
    output, options, start = context.output, context.options, time.perf_counter()
    streamed = output.form in STREAMED and output.path is None
    waiting = [c for c in checks if isinstance(c, Declared)]
    reports = [c for c in checks if isinstance(c, CheckReport)]
    broken = len(reports)
    early: dict[int, CheckReport] = {}
    progress = Waiting([check.name for check in waiting])
    watch = progress.watch if progress.wanted else None
    interrupted = False

    def show(ready: list[CheckReport]) -> None:
        progress.clear()
        reports.extend(ready)
        for report in ready:
            for detail in details(report):
                status.detail(detail)
            if streamed:
                output.show_part(report)

    for report in reports if streamed else ():
        output.show_part(report)
    try:
        with ended_by_signals():
            progress.count()
            running = run_all(waiting, jobs=options["jobs"], stop_at_fail=options["stop"], watch=watch)
            for following, (place, report) in enumerate(running, 1):
                early[place], progress.done = report, following
                progress.count()
                while (place := len(reports) - broken) in early:
                    show([early.pop(place)])
    except KeyboardInterrupt:
        interrupted = True
    show([early[place] for place in sorted(early)])
    summary = CheckSummary(target, tuple(reports), time.perf_counter() - start)
    if streamed:
        output.save(summary)
        output.show_part(CheckTotal(summary))
    else:
        output.show(summary)
    return summary, interrupted


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def list_checks(context: Context, target: str, checks: list[Declared | CheckReport]) -> int:
    """List checks; of files that could not be imported, tell why. Return the exit code."""
    broken = [c for c in checks if isinstance(c, CheckReport)]
    context.output.show(CheckList(target, tuple((c.name, c.file, c.line) for c in checks if c not in broken)))
    for report in broken:
        status.report(GradcliError(report.message))
    return EXIT_TARGET if broken else 0


def select_checks(context: Context) -> list[Declared | CheckReport]:
    """Return the checks that the command line names; what could not be imported is always among them."""
    options = context.options
    words = options["words"]
    head = 0 if options["expression"] is not None else 1
    texts = [*words[:head], *(w for w in words[head:] if not VALUE.match(w))]
    targets = [context.as_target(text) for text in texts]
    if options["expression"] is not None:
        targets.insert(0, context.as_target(options["expression"], inline=True))
    if not targets:
        raise GradcliError(
            "no TARGET given", hint="for example: gradcli gradcheck 'x**2 * sin(y)' x=2 y=3", kind="usage"
        )
    with bounded(context.bound(targets[0])):
        found = find_checks(context, targets, tuple(w for w in words[head:] if VALUE.match(w)))
    every = options.get("show") == "all" or context.output.form in WITH_ELEMENTS
    for option in ("fast", "calls", "taylor"):
        if every and options.get(option):
            message = f"--{option} looks along directions, so there are no elements to show"
            raise GradcliError(message, hint=f"leave out --{option}", kind="usage")
    for check in found:
        if isinstance(check, Declared):
            check.bound, check.elements = bound_of(check, options), every or context.output.form == "html"
            check.arguments = f"-- {shlex.join(options['argv'])}" if options["argv"] else ""
        if isinstance(check, Declared) and check.is_script and str(check.file).endswith(".py"):
            status.note(f"{check.file} declares no checks: it is run as a script, and its own gradient is checked")
    pattern = options["keyword"]
    if options.get("samples") and not any(isinstance(c, Declared) and c.random for c in found):
        raise GradcliError(
            "--samples has no use here: the point is given", hint="--shape x=3 draws an input at random", kind="usage"
        )
    exact = any(c.name == pattern for c in found if isinstance(c, Declared))
    chosen = [c for c in found if pattern is None or isinstance(c, CheckReport) or is_meant(c, pattern, exact)]
    if not chosen:
        raise GradcliError(f"-k {pattern}: no check has that in its name", hint="--list shows them", kind="usage")
    return chosen


def bound_of(check: Declared, options: dict[str, Any]) -> Bound | None:
    """Return how long a check may take: --timeout, which elsewhere is the time of an answer, or some CPU a sample."""
    if check.bounds_answers:
        return None
    if options["timeout"] is not None:
        return Bound(options["timeout"])
    points = (options.get("samples") or 1) + (options.get("search") or 0) // 50
    return None if str(check.file).endswith(".py") else Bound(CPU_SECONDS * points, cpu=True)


def find_checks(context: Context, targets: list[Target], words: tuple[str, ...]) -> list[Declared | CheckReport]:
    """Return the checks of the targets, with the options of the command line. words: NAME=VALUE."""
    options = context.options
    values = read_values(words, context.settings, strings=context.of_python)
    values = {**values, **read_json_values(options.get("arguments", ()))}
    shapes = shapes_of(options["shapes"], options["max_elements"])
    if both := [name for name in shapes if name in values]:
        raise GradcliError(f"'{both[0]}' is given a value and a shape", hint="give one of them", kind="usage")
    for other in ("vjp", "jvp"):
        for first in ("grad", "value_and_grad"):
            if options.get(first) and options.get(other) is not None:
                message = f"--{first.replace('_', '-')} and --{other} go one at a time"
                raise GradcliError(message, hint="check one, then the other", kind="usage")
    if options["grad"] is not None and options.get("value_and_grad"):
        raise GradcliError("--grad and --value-and-grad go one at a time", hint="leave out one", kind="usage")
    tolerances = (options.get("eps"), options.get("atol"), options.get("rtol"))
    wanted = Wanted(
        values,
        shapes,
        options["grad"],
        options["vjp"],
        context.names("wrt"),
        options["out"],
        {
            "order": options.get("order"),
            "engine": options.get("engine"),
            "samples": options.get("samples"),
            "fast": options.get("fast") or None,
            "calls": options.get("calls"),
            "taylor": options.get("taylor") or None,
            "symbolic": options.get("symbolic") or None,
            "digits": options.get("digits"),
            "search": options.get("search"),
            "seed": options["seed"] or None,
            "max_elements": options["max_elements"],
            "tolerances": tolerances if any(t is not None for t in tolerances) else None,
        },
        jvp=options["jvp"],
        value_and_grad=bool(options.get("value_and_grad")),
        typed={name: text for name, sign, text in (w.partition("=") for w in words if VALUE.match(w))},
        repeated=repeated_options(),
        timeout=options.get("timeout"),
        config=options["config"],
    )
    return checks_of(targets, wanted)


def is_meant(check: Declared, pattern: str, exact: bool) -> bool:
    """Return whether -k means a check: by its name, where one has just that, else by a part of file and name."""
    return check.name == pattern if exact else pattern.lower() in f"{check.file}:{check.name}".lower()


APART = """words expression format output save precision color quiet verbose jobs junit list stop keyword
allow_inconclusive seed samples timeout show"""
"""What a repeated check does not need: how it is shown and chosen, and what replay lines say otherwise."""


def repeated_options() -> str:
    """Return the options given that change what is checked, as they would be typed again; shapes first."""
    context, found = click.get_current_context(), []
    options = [p for p in context.command.params if isinstance(p, click.Option) and p.name not in APART.split()]
    for option in sorted(options, key=lambda option: option.name != "shapes"):
        name, flag = str(option.name), max(option.opts, key=len)
        if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        values = context.params[name] if option.multiple and name != "wrt" else (context.params[name],)
        found += [flag] if option.is_flag else [f"{flag} {shlex.quote(str(x))}" for x in values]
    return " ".join(found)


def exit_code(summary: CheckSummary, allow_inconclusive: bool) -> int:
    """Return 1 for a fail, else 3 for an error, else 4 for what is inconclusive, else 0."""
    if summary.count("fail"):
        return 1
    if summary.count("error"):
        return EXIT_TARGET
    return EXIT_INCONCLUSIVE if summary.count("inconclusive") and not allow_inconclusive else 0
