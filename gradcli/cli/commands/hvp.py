"""gradcli hvp: the product of the Hessian with a vector."""

from __future__ import annotations

from ...analysis.transform import compute_hvp
from ...lang.values import read_values
from ...results.transforms import Products
from ..call import Call
from ..exact import check_derivative
from ..options import target_command


@target_command(
    "Example: gradcli hvp 'x**2 * y' x=2 y=3 --tangent x=1", "wrt out columns strict engine tangent config arg check"
)
def hvp(call: Call, tangent: tuple[str, ...], check: bool) -> Products:
    """Print the product of the Hessian of TARGET with the vector given by --tangent."""
    program, values = call.program()
    result = compute_hvp(program, values, call.request(), read_values(tangent, call.settings))
    return result._replace(witnesses=(check_derivative(call, order=2),)) if check else result
