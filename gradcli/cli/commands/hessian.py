"""gradcli hessian: the second derivatives of a scalar output."""

from __future__ import annotations

import click

from ...program.transform import hessian as compute
from ...program.transform import nan_in
from ..options import Context, command_options


@click.command(epilog="Examples: gradcli hessian 'x**2 * sin(y)' x=2 y=3; gradcli hessian loss.expr --wrt w --json")
@command_options("wrt", "out", "chunk_size")
def hessian(context: Context) -> None:
    """Print all second derivatives of TARGET, whose output must be a single number."""
    program, values = context.program()
    options = context.options
    result = compute(
        program,
        values,
        wrt=context.names("wrt"),
        out=options["out"],
        chunk_size=options["chunk_size"],
        max_elements=options["max_elements"],
    )
    context.report(result, nan_in(result))
