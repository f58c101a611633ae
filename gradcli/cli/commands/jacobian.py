"""gradcli jacobian: every derivative of every output element."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...analysis.transform import compute_jacobian
from ...errors import GradcliError
from ...render.formats import ARRAYS, PLOTS
from .. import messages
from ..call import Call
from ..exact import check_derivative, formulas_of
from ..options import target_command

if TYPE_CHECKING:
    from ...results.transforms import Jacobian


@target_command(
    "Examples: gradcli jacobian '[x**2 + 3*y, y**2 + 2*x]' x=2 y=3; gradcli jacobian f.expr --sparse; "
    "gradcli jacobian 'softmax(x)' x='randn(30)' --plot",
    "wrt out columns strict engine config library_grad library_vjp library_jvp arg mode chunk_size sparse symbolic "
    "max_symbols check plot",
    formats=(*ARRAYS, *PLOTS),
)
def jacobian(
    call: Call,
    mode: str,
    chunk_size: int | None,
    sparse: bool,
    symbolic: bool,
    max_symbols: int,
    check: bool,
) -> Jacobian:
    """Print the Jacobian of TARGET: one block per input, of shape output.shape + input.shape."""
    program, values = call.program()
    form, plot = call.output.form, call.asked.plot
    result = compute_jacobian(
        program,
        values,
        call.request(),
        mode=mode,
        chunk_size=chunk_size,
        max_elements=call.asked.max_elements,
        printed=call.output.prints_all,
        sparse=sparse,
    )
    if result.products is not None:
        messages.detail(f"the Jacobian took {result.products} products")
    dense = all(item.block is not None for item in result.blocks)
    for option, given in (("--symbolic", symbolic), ("--plot", plot or form in PLOTS)):
        if given and not dense:
            raise GradcliError(f"{option} needs a dense Jacobian", hint="leave out --sparse", kind="usage")
    if symbolic:
        inputs = {item.name: item.value for item in result.blocks}
        blocks = {item.name: item.block for item in result.blocks}
        formulas = formulas_of(call, program, max_symbols)
        result = result._replace(symbolic=formulas.jacobian(inputs, blocks))
    if check:
        result = result._replace(witnesses=(check_derivative(call),))
    return result._replace(drawn=plot and form == "table")
