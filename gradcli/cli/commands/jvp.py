"""gradcli jvp: the derivative of the output in a direction."""

from __future__ import annotations

import click

from ...analysis.transform import compute_jvp as compute
from ...analysis.transform import nan_in
from ..context import Context
from ..help import Command
from ..options import command_options


@click.command(cls=Command, epilog="Example: gradcli jvp '[x*y, x+y]' x=2 y=3 --tangent x=1")
@command_options("wrt", "out", "engine", "tangent")
def jvp(context: Context) -> None:
    """Print the derivative of TARGET in the direction given by --tangent."""
    program, values = context.program()
    result = compute(
        program,
        values,
        tangent=context.tangents(),
        wrt=context.names("wrt"),
        out=context.options["out"],
    )
    context.report(result, nan_in(result))
