"""gradcli symbolic: derivatives as formulas."""

from __future__ import annotations

import click
import numpy as np

from ...errors import GradcliError
from ...lang.values import read_values
from .. import status
from ..accept import shapes_of
from ..context import Context
from ..help import Command
from ..options import command_options

FORMATS = ("table", "text", "latex", "python", "c", "sql", "json")
CODE = ("python", "c", "sql")
"""The formats that hold a function, or columns."""


@click.command(
    cls=Command,
    epilog="Examples: gradcli symbolic 'x**2 * sin(y)'; gradcli symbolic 'x**2 * sin(y)' --at x=2 --at y=3; "
    "gradcli symbolic 'exp(-x**2)' --order 2 --simplify; gradcli symbolic loss.expr -f c; "
    "gradcli symbolic 'x**2 * sin(y)' -f sql",
)
@command_options(
    "wrt",
    "out",
    "columns",
    "high_order",
    "simplify",
    "at",
    "value_digits",
    "symbol_shape",
    "steps",
    "max_symbols",
    "gradient",
    formats=FORMATS,
)
def symbolic(context: Context) -> None:
    """Print the derivative of TARGET for every input as a formula, found by sympy.

    Inputs need no values: names without one are scalars. An array's elements become symbols such as x[0,1]; give it a
    value, or a shape as in --shape x=2,3. Of an output with several elements it is the Jacobian, with --order 2 the
    Hessian. With -f python and -f c the formulas come as a function, with -f sql as columns of a SELECT (DuckDB,
    PostgreSQL).
    """
    from ...analysis.symbolic import derive_formulas
    from ...analysis.symbols import TIMEOUT
    from ...exact.record import exactly
    from ...exact.symbolic import Symbolic

    program, values = context.program()
    options = context.options
    shapes = shapes_of(options["shapes"], options["max_elements"])
    if both := [name for name in shapes if name in values]:
        raise GradcliError(f"'{both[0]}' is given a value and a shape", hint="give one of them", kind="usage")
    point = None
    if options["at"] or options["digits"]:
        with exactly(Symbolic()):
            point = {**values, **read_values(options["at"], context.settings)} if options["at"] else context.values()
    form = context.output.form
    if form in CODE and options["order"] != 1:
        raise GradcliError(f"-f {form} writes first derivatives only", hint="leave out --order", kind="usage")
    if options["steps"] and form in CODE:
        raise GradcliError(
            f"-f {form} has no steps", hint="leave out --steps, or use -f text or -f latex", kind="usage"
        )
    if options["steps"] and (options["order"] != 1 or options["gradient"] is not None):
        raise GradcliError(
            "--steps shows first derivatives of a single number",
            hint="leave out --order and --gradient; --out chooses another output",
            kind="usage",
        )
    result, notes = derive_formulas(
        program,
        {**(point or {}), **values, **{name: np.full(shape, np.nan) for name, shape in shapes.items()}},
        wrt=context.names("wrt"),
        out=options["out"],
        order=options["order"],
        simplify=options["simplify"],
        timeout=options["timeout"] or TIMEOUT,
        at=point,
        max_symbols=options["max_symbols"],
        code=form if form in CODE else "",
        unicode=context.output.unicode,
        digits=options["digits"] or context.output.precision or 15,
        vector=context.vector(),
        steps=options["steps"],
    )
    context.output.show(result)
    for note in notes:
        status.note(note)
