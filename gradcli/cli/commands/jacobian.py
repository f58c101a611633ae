"""gradcli jacobian: every derivative of every output element."""

from __future__ import annotations

import click

from ...analysis.transform import compute_jacobian as compute
from ...errors import GradcliError
from ...render import ARRAYS, PLOTS
from ...results.plots import HeatMaps
from .. import status
from ..context import Context
from ..exact import comparison, in_digits, verdict
from ..help import Command
from ..options import command_options


@click.command(
    cls=Command,
    epilog="Examples: gradcli jacobian '[x**2 + 3*y, y**2 + 2*x]' x=2 y=3; gradcli jacobian f.expr --sparse -f mtx; "
    "gradcli jacobian 'softmax(x)' x='randn(30)' --plot",
)
@command_options(
    "wrt",
    "out",
    "columns",
    "strict",
    "engine",
    "config",
    "arg",
    "mode",
    "chunk_size",
    "sparse",
    "symbolic",
    "digits",
    "max_symbols",
    "plot",
    formats=(*ARRAYS, "mtx", *PLOTS),
)
def jacobian(context: Context) -> int:
    """Print the Jacobian of TARGET: one block per input, of shape output.shape + input.shape."""
    program, values = context.program()
    options = context.options
    if options["digits"]:
        return in_digits(context, program, "jacobian")
    result = compute(
        program,
        values,
        wrt=context.names("wrt"),
        out=options["out"],
        mode=options["mode"],
        chunk_size=options["chunk_size"],
        max_elements=options["max_elements"],
        printed=context.output.prints_all,
        sparse=options["sparse"] or context.output.form == "mtx",
    )
    if result.products is not None:
        status.detail(f"the Jacobian took {result.products} products")
    code = 0
    if options["symbolic"]:
        if any(item.block is None for item in result.blocks):
            raise GradcliError("--symbolic needs a dense Jacobian", hint="leave out --sparse", kind="usage")
        inputs = {item.name: item.value for item in result.blocks}
        blocks = {item.name: item.block for item in result.blocks}
        result = result._replace(symbolic=comparison(context, program, None).jacobian(inputs, blocks))
        code = verdict(result.symbolic)
    drawn = options["plot"] or context.output.form in PLOTS
    if drawn and any(item.block is None for item in result.blocks):
        raise GradcliError("--plot needs a dense Jacobian", hint="leave out --sparse", kind="usage")
    picture = drawn and context.output.form in ("table", *PLOTS)
    return context.report(result, HeatMaps(result) if picture else result) or code
