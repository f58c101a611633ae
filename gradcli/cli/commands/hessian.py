"""gradcli hessian: the second derivatives of a scalar output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...analysis.transform import compute_hessian
from ..call import Call
from ..exact import formulas_of
from ..options import target_command

if TYPE_CHECKING:
    from ...results.transforms import Hessian


@target_command(
    "Examples: gradcli hessian 'x**2 * sin(y)' x=2 y=3; gradcli hessian loss.expr --wrt w --json",
    "wrt out columns strict engine chunk_size symbolic max_symbols",
)
def hessian(
    call: Call,
    chunk_size: int | None,
    symbolic: bool,
    max_symbols: int,
) -> Hessian:
    """Print all second derivatives of TARGET, whose output must be a single number."""
    program, values = call.program()
    result = compute_hessian(
        program,
        values,
        call.request(),
        chunk_size=chunk_size,
        max_elements=call.asked.max_elements,
        printed=call.output.prints_all,
    )
    if symbolic:
        blocks = {f"{a}/{b}": block for a, row in result.blocks.items() for b, block in row.items()}
        formulas = formulas_of(call, program, max_symbols)
        result = result._replace(symbolic=formulas.hessian(result.inputs, blocks))
    return result
