"""gradcli fix: search for an edit of a derivative's source with which its check passes, and write it down."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ...errors import EXIT_FAIL, EXIT_INCONCLUSIVE, EXIT_OK, EXIT_TARGET, GradcliError
from ...results.repairs import FixReport
from .. import messages
from ..options import Call, target_command
from .gradcheck import names_of_targets, run_quietly, select_checks

if TYPE_CHECKING:
    from ...results.checks import CheckReport


@target_command(
    "Examples: gradcli fix grads.py:f --grad g x='[1, 2]'; gradcli fix grads.py:f --grad g --shape x=3 --write",
    "write candidates seconds wrt out edited_grad edited_vjp edited_jvp elementwise engine edited_shape arg "
    "edited_samples keyword jobs",
    formats=("table", "diff", "json"),
    metavar="TARGET [NAME=VALUE]...",
)
def fix(call: Call, *, write: bool, candidates: int | None, seconds: float | None) -> int:
    """Search for a small source edit that makes the check of a wrong derivative pass.

    TARGET is a Python function or file, written as for gradcheck. The derivative is a function written by hand (--grad,
    --vjp, --jvp, or declared in the file), the backward() of a custom Function, or a rule of custom_vjp or custom_jvp.

    `fix` checks the derivative as gradcheck does. If it is wrong, `fix` tries small edits of its source, in memory. An
    edit may change a sign, a constant, a name, an index, an axis or a mask, add a missing factor or term, or transpose
    a matrix. `fix` accepts an edit only if the edited derivative agrees with the numeric one at several points, and if
    the whole check passes with it.

    The shortest accepted edit is printed as a unified diff, for `git apply` or `patch -p1`. Only --write changes a
    file. The exit code is 0 if the derivative is right or an edit was found, and 1 if the derivative is wrong and no
    edit was found.
    """
    from ...repair.search import CANDIDATES, SEARCH_SECONDS, SearchLimits

    began = time.perf_counter()
    output = call.output
    output.check()
    limits = SearchLimits(candidates or CANDIDATES, seconds or SEARCH_SECONDS)
    call.request = call.request._replace(repair=limits)
    checks = select_checks(call)
    reports = run_quietly(call, checks)
    refuse_alone(reports)
    written = write_patches(reports) if write else ()
    result = FixReport(names_of_targets(call), tuple(reports), written, time.perf_counter() - began)
    output.show(result)
    for line in result.sentences():
        messages.say(line)
    for report in result.unrepaired if output.form == "diff" else ():
        messages.say(str(report).rstrip())
    return exit_code_of_repairs(reports)


def refuse_alone(reports: list[CheckReport]) -> None:
    """Raise GradcliError if the only derivative is wrong, and its source cannot be edited."""
    if len(reports) == 1 and reports[0].no_patch:
        raise GradcliError(f"{reports[0].name} is wrong, but cannot be edited: {reports[0].no_patch}", kind="target")


def exit_code_of_repairs(reports: list[CheckReport]) -> int:
    """Return 1 if a derivative stays wrong, else 3 for an error, 4 for an inconclusive check, else 0."""
    wrong = [report for report in reports if report.verdict == "fail" and report.patch is None]
    if wrong:
        return EXIT_FAIL
    verdicts = {report.verdict for report in reports if report.patch is None}
    return EXIT_TARGET if "error" in verdicts else EXIT_INCONCLUSIVE if "inconclusive" in verdicts else EXIT_OK


def write_patches(reports: list[CheckReport]) -> tuple[str, ...]:
    """Change the files of all patches, each completely or not at all; return their names. Raises GradcliError."""
    from ...repair.write import write_all

    return write_all([report.patch for report in reports if report.patch is not None])
