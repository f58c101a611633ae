"""gradcli jvp: the derivative of the output in a direction."""

from __future__ import annotations

from ...analysis.transform import compute_jvp
from ...lang.values import read_values
from ...results.transforms import Products
from ..call import Call
from ..exact import check_derivative
from ..options import target_command


@target_command(
    "Example: gradcli jvp '[x*y, x+y]' x=2 y=3 --tangent x=1",
    "wrt out columns strict engine tangent config library_grad library_vjp library_jvp arg check",
)
def jvp(call: Call, tangent: tuple[str, ...], check: bool) -> Products:
    """Print the derivative of TARGET in the direction given by --tangent."""
    program, values = call.program()
    result = compute_jvp(program, values, call.request(), read_values(tangent, call.settings))
    return result._replace(witnesses=(check_derivative(call),)) if check else result
