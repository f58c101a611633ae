"""What a command returns: shown, with what there is to say beside it, and its exit code."""

from __future__ import annotations

from typing import Any

from ..errors import EXIT_OK, GradcliError
from . import status
from .output import Output


def answer(output: Output, result: Any, strict: bool = False) -> int:
    """Show a result, say on standard error what else is to be known, and return the exit code.

    A command that showed its results by itself returns the code, or None. strict: a number that is not finite is an
    error.
    """
    if result is None or isinstance(result, int):
        return result or EXIT_OK
    output.show(result)
    for agreement in getattr(result, "symbolic", ()):
        for note in agreement.notes:
            status.note(f"{agreement.name}: {note}")
    if wrong := [item.name for item in getattr(result, "symbolic", ()) if not item.agrees]:
        status.warn(f"the formulas and the engine disagree on {', '.join(wrong)}")
    for report in getattr(result, "witnesses", ()) if output.form not in ("table", "json") else ():
        from ..render.checks import headline

        status.note(f"check of {report.name}: {report.verdict}, {headline(report)}")
    for text in getattr(result, "notes", ()):
        status.note(text)
    for name in getattr(result, "unused", ()):
        status.note(f"the output does not depend on '{name}'; its derivatives are zeros")
    if getattr(result, "detached", False):
        nothing = "none" if any(item.grad is None for item in result.inputs) else "zeros"
        status.warn(
            f"the output does not depend on any input, so all gradients are {nothing}",
            hint="detach(), no_grad() and numpy() cut the graph",
        )
    from ..analysis.nonfinite import check_finite

    code = getattr(result, "exit_code", EXIT_OK)
    if not strict:
        warn_of_nan(result)
        return code
    try:
        check_finite(result)
    except GradcliError as error:
        status.report(error)
        return code or error.exit_code
    return code


def warn_of_nan(result: Any) -> None:
    """Say where a result holds nan, and which operation made it, where that was looked for."""
    from ..analysis.nonfinite import nan_in

    nan = nan_in(result)
    if nan is None:
        return
    if not hasattr(result, "anomaly"):
        status.warn(nan)
    elif result.anomaly is None:
        status.warn(nan, hint="--detect-anomaly names the operation that makes it")
    else:
        message, span = result.anomaly
        status.warn(f"{nan}: {message}" if message else nan, span)
