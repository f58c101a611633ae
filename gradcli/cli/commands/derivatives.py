"""gradcli grad, jacobian, hessian, vjp, jvp, hvp and symbolic: derivatives as numbers and as formulas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...analysis.gradient import compute_gradient, first_nan
from ...errors import GradcliError
from ...lang.values import read_values
from ...request import Request
from ...results.base import Gradients, Hessian, Jacobian, Products, nan_in
from ...results.formats import ARRAY_FORMATS, CODE, PICTURE_FORMATS
from .. import messages
from ..option_values import dimensions_of, shapes_of
from ..options import COMMON, Call, add_check, comparison_of, target_command

if TYPE_CHECKING:
    from ...results.studies import Formulas, LongNumbers

MOST_SHOWN_PARAMETERS = 50
"""If a script's parameters have more elements than this, a terminal shows only their sizes."""


@target_command(
    "Examples: gradcli grad 'x**2 * sin(y)' x=2 y=3; gradcli grad model.expr --wrt w; gradcli grad train.py; "
    "gradcli grad simulate.py:drag speed=30 --numeric",
    "wrt out columns strict value numeric engine config library_grad library_vjp library_jvp output_shape arg gradient "
    "hook retain retain_all check symbolic digits max_symbols detect_anomaly",
)
def grad(call: Call, *, retain_all: bool, check: bool, detect_anomaly: bool) -> Gradients | LongNumbers:
    """Print the value of TARGET, and its gradient with respect to every input."""
    asked = call.request
    program, values = call.program()
    if asked.numeric:
        from ...analysis.numeric_program import numeric_gradient

        return numeric_gradient(program, values, call.asked())

    def request() -> Request:
        return call.asked(retain=None) if retain_all else call.asked()

    if asked.digits:
        from ...analysis.precision import gradient_in_digits

        return gradient_in_digits(program, call.values, request(), asked.digits)
    result = compute_gradient(program, values, request())
    if detect_anomaly and not asked.strict and nan_in(result) is not None:
        result = result._replace(anomaly=first_nan(program, values, request()) or ("", None))
    count = sum(item.value.size for item in result.inputs)
    if program.is_script and count > MOST_SHOWN_PARAMETERS and asked.wrt is None:
        result = result._replace(summary=True)
    if asked.symbolic:
        formulas = comparison_of(call, program)
        inputs = {item.name: item.value for item in result.inputs}
        slopes = {item.name: item.slope for item in result.inputs}
        result = result._replace(symbolic=formulas.gradient(inputs, slopes))
    result = result._replace(why=call.why(program))
    return add_check(call, result, symbolic=count <= asked.max_symbols) if check else result


@target_command(
    "Examples: gradcli jacobian '[x**2 + 3*y, y**2 + 2*x]' x=2 y=3; gradcli jacobian f.expr --sparse; "
    "gradcli jacobian 'softmax(x)' x='randn(30)' --plot",
    "wrt out columns strict numeric engine config library_grad library_vjp library_jvp output_shape arg mode "
    "chunk_size sparse symbolic max_symbols check plot",
    formats=(*ARRAY_FORMATS, *PICTURE_FORMATS),
)
def jacobian(call: Call, *, check: bool, mode: str, sparse: bool) -> Jacobian:
    """Print the Jacobian of TARGET: one block of shape output.shape + input.shape for each input."""
    from ...analysis.transform import compute_jacobian

    program, values = call.program()
    asked, form = call.request, call.form
    if asked.numeric:
        from ...analysis.numeric_program import numeric_jacobian

        result = numeric_jacobian(program, values, call.asked(), printed=call.output.prints_all)
        return result._replace(drawn=asked.plot and form == "table")
    printed = call.output.prints_all
    result = compute_jacobian(program, values, call.asked(), mode=mode or "auto", sparse=sparse, printed=printed)
    if result.products is not None:
        messages.detail(f"the Jacobian took {result.products} products")
    for option, given in (("--symbolic", asked.symbolic), ("--plot", asked.plot or form in PICTURE_FORMATS)):
        if given and not result.is_dense:
            raise GradcliError(f"{option} needs a dense Jacobian", hint="leave out --sparse")
    if asked.symbolic:
        formulas = comparison_of(call, program)
        result = result._replace(symbolic=formulas.jacobian(result.inputs, result.blocks))
    result = add_check(call, result) if check else result
    return result._replace(drawn=asked.plot and form == "table")


@target_command(
    "Examples: gradcli hessian 'x**2 * sin(y)' x=2 y=3; gradcli hessian loss.expr --wrt w --json",
    "wrt out columns strict numeric engine config arg chunk_size symbolic max_symbols",
)
def hessian(call: Call) -> Hessian:
    """Print all second derivatives of TARGET, whose output must be a single number."""
    from ...analysis.transform import compute_hessian

    program, values = call.program()
    if call.request.numeric:
        from ...analysis.numeric_program import numeric_hessian

        return numeric_hessian(program, values, call.asked(), printed=call.output.prints_all)
    result = compute_hessian(program, values, call.asked(), printed=call.output.prints_all)
    if call.request.symbolic:
        blocks = {f"{a}/{b}": block for a, row in result.blocks.items() for b, block in row.items()}
        formulas = comparison_of(call, program)
        result = result._replace(symbolic=formulas.hessian(result.inputs, blocks))
    return result


@target_command(
    "Example: gradcli vjp 'x * [1, 2, 3]' x=2 -g '[1, 0, 1]'",
    "wrt out columns strict engine gradient config library_grad library_vjp library_jvp output_shape arg check",
)
def vjp(call: Call, *, check: bool) -> Products:
    """Print the product of a vector (--gradient) with the Jacobian of TARGET, for every input."""
    from ...analysis.transform import compute_vjp

    program, values = call.program()
    result = compute_vjp(program, values, call.asked())
    return add_check(call, result) if check else result


@target_command(
    "Example: gradcli jvp '[x*y, x+y]' x=2 y=3 --tangent x=1",
    "wrt out columns strict numeric engine tangent config library_grad library_vjp library_jvp output_shape arg check",
)
def jvp(call: Call, *, tangent: tuple[str, ...], check: bool) -> Products:
    """Print the derivative of TARGET in the direction given by --tangent."""
    from ...analysis.transform import compute_jvp

    program, values = call.program()
    if call.request.numeric:
        from ...analysis.numeric_program import numeric_jvp

        return numeric_jvp(program, values, call.asked(), read_values(tangent, call.request))
    result = compute_jvp(program, values, call.asked(), read_values(tangent, call.request))
    return add_check(call, result) if check else result


@target_command(
    "Example: gradcli hvp 'x**2 * y' x=2 y=3 --tangent x=1", "wrt out columns strict engine tangent config arg check"
)
def hvp(call: Call, *, tangent: tuple[str, ...], check: bool) -> Products:
    """Print the product of the Hessian of TARGET with the vector given by --tangent."""
    from ...analysis.transform import compute_hvp

    program, values = call.program()
    result = compute_hvp(program, values, call.asked(), read_values(tangent, call.request))
    return add_check(call, result, order=2) if check else result


@target_command(
    "Examples: gradcli symbolic 'x**2 * sin(y)'; gradcli symbolic 'x**2 * sin(y)' --at x=2 --at y=3; "
    "gradcli symbolic 'exp(-x**2)' --order 2 --simplify; gradcli symbolic loss.expr -f c",
    "wrt out columns high_order simplify at value_digits symbol_shape matrix symmetric spd steps max_symbols gradient",
    formats=("table", "text", "latex", *CODE, "json"),
    common=COMMON.replace("dtype ", ""),
)
def symbolic(
    call: Call,
    *,
    at: tuple[str, ...],
    matrix: bool,
    simplify: bool,
    steps: bool,
    symmetric: Sequence[str],
    spd: Sequence[str],
) -> Formulas:
    """Print the derivative of TARGET for every input as a formula, by SymPy.

    Inputs do not need values. A name without a value is a scalar, unless --shape x=2,3 makes it an array. The elements
    of an array become symbols such as x[0,1]. If every input has a value, or with --at, the formulas are evaluated at
    that point. For an output with several elements, the result is the Jacobian; with --order 2, it is the Hessian.
    -f c, fortran, js, julia, matlab, python and rust print value and gradient as a function in that language. This
    function performs the same operations as gradcli's engine, and is as accurate.

    With --matrix, the formulas contain vectors and matrices of any size. Their lengths may be names (--shape A=m,n),
    and inputs without a shape are numbers. Each formula is compared with the engine at random sizes before printing.
    """
    asked, form = call.request, call.form
    if matrix:
        from ...matrix.symbolic import matrix_formulas

        program, values = call.program()
        properties = {"symmetric": symmetric or (), "spd": spd or ()}
        shapes = dimensions_of(asked.shapes, values)
        return matrix_formulas(program, shapes, asked, **properties, code=form in CODE, steps=steps)
    program, values = call.program()
    drawn = shapes_of(asked.shapes, asked.max_elements, values)
    if form in CODE:
        from ...analysis.generated_code import generate_code

        sized = {**values, **{name: np.full(shape, np.nan) for name, shape in drawn.items()}}
        return generate_code(program, sized, call.asked(), form)
    from ...analysis.symbolic import derive_formulas  # importing sympy does not count towards --timeout
    from ...exact.record import exactly
    from ...exact.symbolic import Symbolic

    point, missing = None, [*drawn, *program.missing({**values, **drawn})]
    if missing and not at and any(np.size(x) == 1 for x in values.values()):
        messages.note(f"not evaluated: there is no value for {', '.join(missing)}")
    if at or asked.digits or (values and not missing):
        with exactly(Symbolic()):
            point = {**values, **read_values(at, asked)} if at else call.values()
    given = {**(point or {}), **values, **{name: np.full(shape, np.nan) for name, shape in drawn.items()}}
    digits = asked.digits or call.output.precision or 15
    shown = {"simplify": simplify, "steps": steps, "unicode": call.output.unicode}
    return derive_formulas(program, given, call.asked(digits=digits), at=point, **shown)
