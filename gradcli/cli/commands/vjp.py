"""gradcli vjp: the product of a vector with the Jacobian."""

from __future__ import annotations

import click

from ...analysis.transform import compute_vjp as compute
from ..context import Context
from ..help import Command
from ..options import command_options


@click.command(cls=Command, epilog="Example: gradcli vjp 'x * [1, 2, 3]' x=2 -g '[1, 0, 1]'")
@command_options("wrt", "out", "columns", "strict", "engine", "gradient", "config", "arg")
def vjp(context: Context) -> int:
    """Print the product of a vector (--gradient) with the Jacobian of TARGET, for every input."""
    program, values = context.program()
    result = compute(
        program,
        values,
        vector=context.vector(),
        wrt=context.names("wrt"),
        out=context.options["out"],
    )
    return context.report(result)
