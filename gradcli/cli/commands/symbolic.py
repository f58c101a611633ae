"""gradcli symbolic and ops: derivatives as formulas, of a target and of the functions of the language."""

from __future__ import annotations

import numpy as np

from ...errors import GradcliError, did_you_mean
from ...lang.values import read_values
from ...show import CODE, TEXT
from ...show.study_results import Formulas, Operations
from .. import messages
from ..option_table import dimensions_of, shapes_of
from ..options import COMMON, Call, target_command


@target_command(
    "Examples: gradcli symbolic 'x**2 * sin(y)'; gradcli symbolic 'x**2 * sin(y)' --at x=2 --at y=3; "
    "gradcli symbolic 'exp(-x**2)' --order 2 --simplify; gradcli symbolic loss.expr -f c",
    "wrt out columns high_order simplify at value_digits symbol_shape matrix symmetric spd steps max_symbols gradient",
    formats=("table", "text", "latex", *CODE, "json"),
    common=COMMON.replace("dtype ", ""),
)
def symbolic(call: Call, *, at: tuple[str, ...], matrix: bool) -> Formulas:
    """Print the derivative of TARGET for every input as a formula, by sympy.

    Inputs need no values: names without one are scalars. An array's elements become symbols such as x[0,1]; give it a
    value, or a shape as in --shape x=2,3. If every input has a value, or with --at, the formulas are evaluated at that
    point. For an output with several elements the result is the Jacobian, with --order 2 the Hessian. -f python and
    -f c write a function.

    With --matrix, the formulas are of vectors and matrices of any size: shapes may have names (--shape A=m,n), and
    inputs without a shape are numbers. Each formula is compared with the engine at random sizes before it is printed.
    """
    asked, form = call.request, call.form
    if matrix:
        from ...analysis.matrix_symbolic import matrix_formulas

        program, values = call.program()
        return matrix_formulas(program, dimensions_of(asked.shapes, values), asked, code=form in CODE)
    from ...analysis.symbolic import derive_formulas  # importing sympy does not count for --timeout
    from ...exact.record import exactly
    from ...exact.symbolic import Symbolic

    program, values = call.program()
    drawn = shapes_of(asked.shapes, asked.max_elements, values)
    point, missing = None, [*drawn, *program.missing({**values, **drawn})]
    if missing and not at and form not in CODE and any(np.size(x) == 1 for x in values.values()):
        messages.note(f"not evaluated: there is no value for {', '.join(missing)}")
    if at or asked.digits or (values and form not in CODE and not missing):
        with exactly(Symbolic()):
            point = {**values, **read_values(at, asked)} if at else call.values()
    given = {**(point or {}), **values, **{name: np.full(shape, np.nan) for name, shape in drawn.items()}}
    digits = asked.digits or call.output.precision or 15
    code = form if form in CODE else ""
    return derive_formulas(program, given, call.asked(digits=digits), at=point, code=code, unicode=call.output.unicode)


@target_command(
    "Examples: gradcli ops; gradcli ops tanh; gradcli ops --json",
    formats=TEXT,
    common="format json output color",
    metavar="[NAME]...",
    complete="functions",
)
def ops(call: Call) -> Operations:
    """List the functions of the language with their derivatives, or describe those named."""
    from ...lang.operations import describe
    from ...rules import full_table
    from ...rules.table import NAMES

    call.output.check()
    names = call.request.words
    public = {name: entry for name, entry in full_table().items() if entry.public}
    for name in names:
        if name not in NAMES or not NAMES[name].public:
            raise GradcliError(f"no function '{name}'", hint=did_you_mean(name, NAMES), kind="name")
    chosen = [NAMES[name] for name in names] if names else [public[name] for name in sorted(public)]
    return Operations(tuple(describe(entry) for entry in chosen), bool(names))
