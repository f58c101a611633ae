"""gradcli hvp: the product of the Hessian with a vector."""

from __future__ import annotations

import click

from ...analysis.transform import hvp as compute
from ..context import Context
from ..help import Command
from ..options import command_options


@click.command(cls=Command, epilog="Example: gradcli hvp 'x**2 * y' x=2 y=3 --tangent x=1")
@command_options("wrt", "out", "columns", "strict", "engine", "tangent", "config", "arg")
def hvp(context: Context) -> int:
    """Print the product of the Hessian of TARGET with the vector given by --tangent."""
    program, values = context.program()
    result = compute(
        program,
        values,
        tangent=context.tangents(),
        wrt=context.names("wrt"),
        out=context.options["out"],
    )
    return context.report(result)
