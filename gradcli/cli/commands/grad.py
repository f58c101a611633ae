"""gradcli grad: the value of an output and its gradient for every input."""

from __future__ import annotations

import sys

import click
import numpy as np

from ...errors import GradcliError
from ...program.differentiate import Request, first_nan, gradient
from .. import status
from ..options import Context, command_options


@click.command(
    epilog="Examples: gradcli grad 'x**2 * sin(y)' x=2 y=3; gradcli grad model.expr --wrt w; gradcli grad train.py"
)
@command_options("wrt", "out", "gradient", "hook", "retain", "retain_all", "detect_anomaly")
def grad(context: Context) -> None:
    """Print the value and the gradient of TARGET for every input."""
    program, values = context.program()
    options = context.options

    def request() -> Request:
        return Request(
            wrt=context.names("wrt"),
            out=options["out"],
            vector=context.vector(),
            hooks=hooks_of(context),
            retain=None if options["retain_all"] else options["retain"],
        )

    result = gradient(program, values, request())
    context.output.show(result)
    arrays = [(f"the gradient of {item.name}", item.grad) for item in result.inputs]
    if result.value is not None:
        arrays.insert(0, ("the value", result.value))
    for what, array in arrays:
        if np.isnan(array).any():
            found = first_nan(program, values, request()) if options["detect_anomaly"] else None
            advice = None if options["detect_anomaly"] else "--detect-anomaly names the operation that makes it"
            status.warn(f"{what} holds nan" + (f": {found[0]}" if found else ""), found[1] if found else None, advice)
            break


def hooks_of(context: Context) -> list:
    """Return the hooks of the command line. Raises GradcliError for one that is no NAME=ACTION."""
    hooks: list = []
    if not context.options["hooks"]:
        return hooks
    from ...program.hook import Hook

    for word in context.options["hooks"]:
        name, sign, action = word.partition("=")
        if not sign or not name or not action:
            raise GradcliError(
                f"--hook {word}: write NAME=ACTION",
                hint="ACTION is print, an expression in g such as g*2, or FILE.py:function",
                kind="usage",
            )
        stream = sys.stderr if context.output.form == "json" else sys.stdout
        hooks.append(Hook(name, action, context.settings, context.options["safe"], stream))
    return hooks
