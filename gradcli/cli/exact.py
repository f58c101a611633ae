"""What grad, jacobian and hessian do with --digits and --symbolic."""

from __future__ import annotations

from typing import Any

from ..errors import EXIT_FAIL, EXIT_OK, GradcliError
from ..program.base import Program
from . import status
from .context import Context, request_of


def in_digits(context: Context, program: Program, kind: str) -> int:
    """Print values and derivatives in many digits."""
    from ..analysis import digits

    options = context.options
    if options["symbolic"] or options.get("check"):
        raise GradcliError("--digits goes alone, without --symbolic and --check", kind="usage")
    work, request = getattr(digits, f"{kind}_in_digits"), request_of(context)
    count = options["digits"]
    seconds = options["timeout"] or digits.TIMEOUT
    result = digits.in_time(lambda: work(program, context.values, request, count), count, seconds)
    context.output.show(result)
    return context.code_of(result)


def comparison(context: Context, program: Program, engine_at: Any) -> Any:
    """Return the formulas that a result is to be compared with.

    engine_at: the engine's answer for other values of the inputs.
    """
    from ..analysis.agreement import TIMEOUT, Comparison

    options = context.options
    vector = context.vector() if "gradient" in options else None
    return Comparison(
        program,
        context.values,
        context.names("wrt"),
        options["out"],
        vector,
        options["max_symbols"],
        options["timeout"] or TIMEOUT,
        engine_at,
    )


def verdict(agreements: tuple[Any, ...]) -> int:
    """Report where formulas and engine disagree, and return the exit code."""
    for item in agreements:
        for note in item.notes:
            status.note(f"{item.name}: {note}")
    wrong = [item.name for item in agreements if not item.agrees]
    if wrong:
        status.warn(f"the formulas and the engine disagree on {', '.join(wrong)}")
    return EXIT_FAIL if wrong else EXIT_OK
