"""gradcli gradcheck: a verdict on derivatives."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from ...check.check import Check
from ...check.workers import run_all
from ...errors import EXIT_FAIL, EXIT_INCONCLUSIVE, EXIT_INTERRUPTED, EXIT_TARGET, GradcliError, visible
from ...show import FORMATS, PICTURES, TEXT, Style, render
from ...show.check_results import CheckList, CheckReport, CheckSummary
from ...show.checks import details, summary_line
from .. import messages
from ..check_options import names_of_targets, select_checks
from ..options import COMMON, Call, target_command
from ..output import check_writable, terminal_size, write_file

if TYPE_CHECKING:
    from ...check.search import SavedPoints

EXIT_SKIP = 125
"""What tells `git bisect run` that a revision can be called neither good nor bad."""


@target_command(
    "Examples: gradcli gradcheck 'x**2 * sin(y)' x=2 y=3; gradcli gradcheck 'x^3' --grad '3*x^2'; "
    "gradcli gradcheck grads.py:f --grad g --shape x=3; gradcli gradcheck tests/ -j 4 --junit report.xml; "
    "gradcli gradcheck tests/ -o report.html",
    "wrt out grad vjp jvp hess value_and_grad elementwise reference engine shape arg samples order fast calls "
    "no_as_called taylor symbolic digits rtol atol eps show keyword list stop jobs search save_points config junit "
    "allow_inconclusive exit_zero bisect",
    formats=(*TEXT, "csv", "github", "sarif", "concise", "gitlab", "html", *PICTURES),
    common=COMMON.replace("dtype", "check_dtype"),
)
def gradcheck(call: Call) -> int:
    """Check derivatives: of expressions, scripts and functions, and of gradients written by hand.

    TARGET is an expression, FILE.py:FUNCTION (with --grad, --vjp or --jvp for a derivative written by hand; a
    function of PyTorch, JAX or HIPS autograd is judged by the derivative that its framework gives), or files and
    folders whose checks are declared with @gradcli.check. It may run elsewhere, too: http://HOST:PORT/MODEL
    (UM-Bridge) or http://HOST:PORT (Tesseract), 'cmd:COMMAND', MODEL.fmu (FMI 2.0, with gradcli[fmu]), or
    'LIB.so:DECLARATION' with a declaration for --grad or --vjp; then the derivative that it gives is checked. One
    file without such checks is run as a script, and its own gradient checked; among several it is left out.

    Of an expression, --grad, --vjp, --jvp and --hess are formulas, in its inputs and names: --grad '2*x', or
    --grad x=FORMULA for each of several inputs (or a list of all, in order). A gradient has the output's shape with
    the input's behind it; of a complex output by a complex input it is the complex derivative, of a real one
    dL/dRe + i dL/dIm. In --vjp the cotangent is v, in --jvp the tangent of x is v_x (of a single input also v).
    --hess x,y=FORMULA is the block of second derivatives of a single number, held against the slopes of its
    gradient, which is computed from values in many digits. Inputs without a value are drawn where the function is
    finite (20 points, 5 for --hess, or --samples; --shape for arrays); then sympy is asked whether the formulas are
    equal, and a wrong one gets a counterexample of small numbers.

    With --reference, the derivative is compared with that of another function, computed in float64, instead of with
    values: for surrogate gradients, such as straight-through estimators. With --dtype bfloat16, float16 or float32 the
    function runs in that type, at inputs rounded to it, and so does the reference: a derivative that is about as
    accurate as the reference's own in that type passes.

    Checks of Python run in processes of their own, so that one that crashes, exits or (with --timeout) does not
    end is an error, and the others' verdicts are kept; what they leave running is ended. Where PyTorch or JAX is
    loaded, only -j 2 does that. -f html writes a page: of what did not pass all elements, maps, and the function
    with both slopes.
    """
    began = time.perf_counter()
    output, options = call.output, call.options
    output.check()
    if output.form in PICTURES and not call.request.taylor:
        raise GradcliError(f"gradcheck draws .{output.form} files with --taylor only")
    for path in (options.junit, options.save_points):
        if path is not None:
            check_writable(path)
    try:
        checks = select_checks(call)
    except GradcliError as error:
        if not options.bisect or error.kind == "usage":
            raise
        messages.report(error)
        return EXIT_SKIP
    saved = saved_points(checks, options.save_points)
    if options.list:
        return list_checks(call, checks)
    summary, interrupted = run_checks(call, checks, began)
    messages.summarize(summary_line(summary), not (summary.count("fail") or summary.count("error")))
    if saved is not None and (text := saved.text_with([*summary.checks])) is not None:
        write_file(saved.path, text)
    if options.junit:
        write_file(options.junit, render(summary, "junit", Style()))
    if interrupted is not None:
        for name, known in interrupted:
            messages.say(f"{name}: interrupted; {known}")
        messages.say(f"interrupted: {len(summary.checks)} of {len(checks)} checks done")
        return EXIT_INTERRUPTED
    code = 0 if options.exit_zero else exit_code(summary, options.allow_inconclusive)
    return EXIT_SKIP if options.bisect and code in (EXIT_TARGET, EXIT_INCONCLUSIVE) else code


def saved_points(checks: list[Check | CheckReport], path: str | None) -> SavedPoints | None:
    """Give checks the points that a file has for them; return the file's content, None without a file."""
    if path is None:
        return None
    from ...check.search import SavedPoints

    saved = SavedPoints(path)
    for check in checks:
        if isinstance(check, Check):
            check.saved = saved.of(check.file, check.name)
    return saved


def run_checks(
    call: Call, checks: list[Check | CheckReport], began: float
) -> tuple[CheckSummary, list[tuple[str, str]] | None]:
    """Run checks and show their reports in order; return all that were done.

    With them comes what checks under way had found, where they were interrupted, with their names; else None. Files
    that could not be imported come first. Of interrupted checks, those are shown that others held up. began: when the
    command did.
    """
    start, output, options = time.perf_counter(), call.output, call.options
    streamed = FORMATS[output.form].streamed and output.path is None
    waiting = [c for c in checks if isinstance(c, Check)]
    reports = [c for c in checks if isinstance(c, CheckReport)]
    broken = len(reports)
    early: dict[int, CheckReport] = {}
    progress = Waiting([check.name for check in waiting])
    on_progress = None if messages.settings.quiet else progress.report_progress
    interrupted: list[tuple[str, str]] | None = None

    def show(ready: list[CheckReport]) -> None:
        progress.clear()
        reports.extend(ready)
        for report in ready:
            for detail in details(report):
                messages.detail(detail)
            if streamed:
                output.show(report)

    for report in reports if streamed else ():
        output.show(report)
    try:
        progress.count()
        running = run_all(waiting, jobs=options.jobs, stop_at_fail=options.stop, on_progress=on_progress)
        for following, (place, report) in enumerate(running, 1):
            early[place], progress.done = report, following
            progress.known.pop(place, None)
            progress.count()
            while (place := len(reports) - broken) in early:
                show([early.pop(place)])
    except KeyboardInterrupt:
        interrupted = [(waiting[place].name, known) for place, known in sorted(progress.known.items())]
    show([early[place] for place in sorted(early)])
    now = time.perf_counter()
    summary = CheckSummary(names_of_targets(call), tuple(reports), now - start, now - began)
    output.show(summary._replace(told=streamed))
    return summary, interrupted


def list_checks(call: Call, checks: list[Check | CheckReport]) -> int:
    """List checks; of files that could not be imported, tell why. Return the exit code."""
    broken = [c for c in checks if isinstance(c, CheckReport)]
    listed = tuple((c.name, c.file, c.line) for c in checks if c not in broken)
    call.output.show(CheckList(names_of_targets(call), listed))
    for report in broken:
        if report.verdict == "skipped":
            messages.note(f"{report.file} is skipped: {report.message}")
        else:
            messages.report(GradcliError(report.message))
    return EXIT_TARGET if any(report.verdict == "error" for report in broken) else 0


def exit_code(summary: CheckSummary, allow_inconclusive: bool) -> int:
    """Return 1 for a fail, else 3 for an error, else 4 for what is inconclusive, else 0."""
    if summary.count("fail"):
        return EXIT_FAIL
    if summary.count("error"):
        return EXIT_TARGET
    return EXIT_INCONCLUSIVE if summary.count("inconclusive") and not allow_inconclusive else 0


LONG = 1.0
"""Seconds from which on a check is long."""
OFTEN = 0.1
MANY = 5


class Waiting:
    """How far checks are, on standard error: one line that changes on a terminal, and nothing elsewhere.

    names: those of all checks. done: how many are. known: what checks under way have found so far, by number.
    """

    def __init__(self, names: list[str]):
        self.names, self.done, self.shown, self.last = names, 0, False, time.monotonic()
        self.starts: dict[tuple[int, str, int], tuple[float, int]] = {}
        self.known: dict[int, str] = {}
        self.changes = messages.shows_progress()

    def report_progress(self, place: int, what: str, done: int, total: int, known: str = "") -> None:
        """Show how far check number `place` is, where it has gone on for a while; note what it has found so far."""
        if known:
            self.known[place] = known
        if known or not self.changes:
            return
        now = time.monotonic()
        start, first = self.starts.setdefault((place, what, total), (now, done))
        if now - start < LONG or now - self.last < (OFTEN if total else LONG):
            return
        self.last = now
        left = (now - start) * (total - done) / max(done - first, 1)
        text = f"{what} {done}/{total}, {duration(left)} left" if total else f"{what} {done}"
        text += f"  {visible(self.names[place])}"
        if len(self.names) > 1:
            text = f"{self.done}/{len(self.names)} checks, {text}"
        self.write(text)

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
