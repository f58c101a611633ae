"""gradcli jacobian, hessian, vjp, jvp and hvp."""

from __future__ import annotations

from ...analysis.transform import compute_hessian, compute_hvp, compute_jacobian, compute_jvp, compute_vjp
from ...errors import GradcliError
from ...lang.values import read_values
from ...show import ARRAYS, PICTURES
from ...show.results import Hessian, Jacobian, Products
from .. import messages
from ..options import Call, add_check, formulas_of, target_command


@target_command(
    "Examples: gradcli jacobian '[x**2 + 3*y, y**2 + 2*x]' x=2 y=3; gradcli jacobian f.expr --sparse; "
    "gradcli jacobian 'softmax(x)' x='randn(30)' --plot",
    "wrt out columns strict engine config library_grad library_vjp library_jvp arg mode chunk_size sparse symbolic "
    "max_symbols check plot",
    formats=(*ARRAYS, *PICTURES),
)
def jacobian(call: Call, *, check: bool) -> Jacobian:
    """Print the Jacobian of TARGET: one block per input, of shape output.shape + input.shape."""
    program, values = call.program()
    asked, form = call.request, call.form
    result = compute_jacobian(program, values, call.asked(), printed=call.output.prints_all)
    if result.products is not None:
        messages.detail(f"the Jacobian took {result.products} products")
    for option, given in (("--symbolic", asked.symbolic), ("--plot", asked.plot or form in PICTURES)):
        if given and not result.is_dense:
            raise GradcliError(f"{option} needs a dense Jacobian", hint="leave out --sparse")
    if asked.symbolic:
        formulas = formulas_of(call, program)
        result = result._replace(symbolic=formulas.jacobian(result.inputs, result.blocks))
    result = add_check(call, result) if check else result
    return result._replace(drawn=asked.plot and form == "table")


@target_command(
    "Examples: gradcli hessian 'x**2 * sin(y)' x=2 y=3; gradcli hessian loss.expr --wrt w --json",
    "wrt out columns strict engine chunk_size symbolic max_symbols",
)
def hessian(call: Call) -> Hessian:
    """Print all second derivatives of TARGET, whose output must be a single number."""
    program, values = call.program()
    result = compute_hessian(program, values, call.asked(), printed=call.output.prints_all)
    if call.request.symbolic:
        blocks = {f"{a}/{b}": block for a, row in result.blocks.items() for b, block in row.items()}
        formulas = formulas_of(call, program)
        result = result._replace(symbolic=formulas.hessian(result.inputs, blocks))
    return result


@target_command(
    "Example: gradcli vjp 'x * [1, 2, 3]' x=2 -g '[1, 0, 1]'",
    "wrt out columns strict engine gradient config library_grad library_vjp library_jvp arg check",
)
def vjp(call: Call, *, check: bool) -> Products:
    """Print the product of a vector (--gradient) with the Jacobian of TARGET, for every input."""
    program, values = call.program()
    result = compute_vjp(program, values, call.asked())
    return add_check(call, result) if check else result


@target_command(
    "Example: gradcli jvp '[x*y, x+y]' x=2 y=3 --tangent x=1",
    "wrt out columns strict engine tangent config library_grad library_vjp library_jvp arg check",
)
def jvp(call: Call, *, tangent: tuple[str, ...], check: bool) -> Products:
    """Print the derivative of TARGET in the direction given by --tangent."""
    program, values = call.program()
    result = compute_jvp(program, values, call.asked(), read_values(tangent, call.request))
    return add_check(call, result) if check else result


@target_command(
    "Example: gradcli hvp 'x**2 * y' x=2 y=3 --tangent x=1", "wrt out columns strict engine tangent config arg check"
)
def hvp(call: Call, *, tangent: tuple[str, ...], check: bool) -> Products:
    """Print the product of the Hessian of TARGET with the vector given by --tangent."""
    program, values = call.program()
    result = compute_hvp(program, values, call.asked(), read_values(tangent, call.request))
    return add_check(call, result, order=2) if check else result
