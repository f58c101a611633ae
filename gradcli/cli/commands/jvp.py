"""gradcli jvp: the derivative of the output in a direction."""

from __future__ import annotations

import click

from ...analysis.transform import compute_jvp as compute
from ..context import Context
from ..help import Command
from ..options import command_options


@click.command(cls=Command, epilog="Example: gradcli jvp '[x*y, x+y]' x=2 y=3 --tangent x=1")
@command_options("wrt", "out", "columns", "strict", "engine", "tangent", "config", "arg")
def jvp(context: Context) -> int:
    """Print the derivative of TARGET in the direction given by --tangent."""
    program, values = context.program()
    result = compute(
        program,
        values,
        tangent=context.tangents(),
        wrt=context.names("wrt"),
        out=context.options["out"],
    )
    return context.report(result)
