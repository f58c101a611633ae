"""gradcli grad: the value of an output and its gradient for every input."""

from __future__ import annotations

from typing import Any

import click

from ...analysis.finite import nan_in
from ...analysis.gradient import Request, compute_gradient, first_nan
from .. import status
from ..context import Context, request_of
from ..help import Command
from ..options import command_options

SHOWN_WHOLE = 50
"""A script's parameters with more elements than this are summed up on a terminal."""


@click.command(
    cls=Command,
    epilog="Examples: gradcli grad 'x**2 * sin(y)' x=2 y=3; gradcli grad model.expr --wrt w; gradcli grad train.py",
)
@command_options(
    "wrt",
    "out",
    "columns",
    "strict",
    "value",
    "engine",
    "config",
    "arg",
    "gradient",
    "hook",
    "retain",
    "retain_all",
    "check",
    "symbolic",
    "digits",
    "max_symbols",
    "detect_anomaly",
)
def grad(context: Context) -> int:
    """Print the value and the gradient of TARGET for every input."""
    program, values = context.program()
    options = context.options
    if options["digits"]:
        from ..exact import in_digits

        return in_digits(context, program, "gradient")

    result = compute_gradient(program, values, request_of(context))
    elements = sum(item.value.size for item in result.inputs)
    if program.is_script and elements > SHOWN_WHOLE and options["wrt"] is None:
        result = result._replace(summary=True)
    code = 0
    if options["symbolic"]:
        from ..exact import comparison, verdict

        inputs = {item.name: item.value for item in result.inputs}
        grads = {item.name: item.slope for item in result.inputs}

        def engine_at(near: Any) -> dict[str, Any]:
            again = compute_gradient(
                program, near, Request(wrt=context.names("wrt"), out=options["out"], vector=vector)
            )
            return {item.name: item.slope for item in again.inputs}

        vector = context.vector()
        result = result._replace(symbolic=comparison(context, program, engine_at).gradient(inputs, grads))
        code = verdict(result.symbolic)
    if options["check"]:
        report = check_result(context, result)
        result = result._replace(witnesses=(report,))
        code = code or {"fail": 1, "error": 3, "inconclusive": 4}.get(report.verdict, 0)
    context.output.show(result)
    if program.is_script and result.value is None and all(item.grad is None for item in result.inputs):
        status.note(
            "every .grad is none at the end of the script; 'gradcli trace --pass last' shows its last backward"
        )
    if result.detached:
        nothing = "none" if program.is_script else "zeros"
        status.warn(
            f"the output does not depend on any input, so all gradients are {nothing}",
            hint="detach(), no_grad() and numpy() cut the graph",
        )
    nan = None if options["strict"] else nan_in(result)
    if nan is not None:
        found = first_nan(program, values, request_of(context)) if options["detect_anomaly"] else None
        advice = None if options["detect_anomaly"] else "--detect-anomaly names the operation that makes it"
        status.warn(nan + (f": {found[0]}" if found else ""), found[1] if found else None, advice)
    return code or context.code_of(result)


def check_result(context: Context, result: Any) -> Any:
    """Return the report on the gradient: numeric, forward mode, 50 digits and formulas beside it."""
    from ...check.declare import Declared
    from ...check.targets import checks_of
    from ...check.wanted import Wanted

    target, _ = context.target()
    at = {item.name: item.value for item in result.inputs}
    options: dict[str, Any] = {
        "digits": 50,
        "symbolic": sum(x.size for x in at.values()) <= context.options["max_symbols"] or None,
    }
    if context.options["engine"]:
        options["engine"] = context.options["engine"]
    wanted = Wanted(context.values(), {}, None, None, context.names("wrt"), context.options["out"], options)
    wanted.timeout, wanted.config = target.timeout, target.config
    (check,) = checks_of([target], wanted)
    return check.run() if isinstance(check, Declared) else check
