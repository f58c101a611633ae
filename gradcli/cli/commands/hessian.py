"""gradcli hessian: the second derivatives of a scalar output."""

from __future__ import annotations

import click

from ...analysis.transform import compute_hessian as compute
from ..context import Context
from ..exact import comparison, in_digits, verdict
from ..help import Command
from ..options import command_options


@click.command(
    cls=Command, epilog="Examples: gradcli hessian 'x**2 * sin(y)' x=2 y=3; gradcli hessian loss.expr --wrt w --json"
)
@command_options("wrt", "out", "columns", "strict", "engine", "chunk_size", "symbolic", "digits", "max_symbols")
def hessian(context: Context) -> int:
    """Print all second derivatives of TARGET, whose output must be a single number."""
    program, values = context.program()
    options = context.options
    if options["digits"]:
        return in_digits(context, program, "hessian")
    result = compute(
        program,
        values,
        wrt=context.names("wrt"),
        out=options["out"],
        chunk_size=options["chunk_size"],
        max_elements=options["max_elements"],
        printed=context.output.prints_all,
    )
    code = 0
    if options["symbolic"]:
        blocks = {f"{a}/{b}": block for a, row in result.blocks.items() for b, block in row.items()}
        result = result._replace(symbolic=comparison(context, program, None).hessian(result.inputs, blocks))
        code = verdict(result.symbolic)
    return context.report(result) or code
