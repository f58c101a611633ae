"""gradcli vjp: the product of a vector with the Jacobian."""

from __future__ import annotations

from ...analysis.transform import compute_vjp
from ...results.transforms import Products
from ..call import Call
from ..exact import check_derivative
from ..options import target_command


@target_command(
    "Example: gradcli vjp 'x * [1, 2, 3]' x=2 -g '[1, 0, 1]'",
    "wrt out columns strict engine gradient config library_grad library_vjp library_jvp arg check",
)
def vjp(call: Call, check: bool) -> Products:
    """Print the product of a vector (--gradient) with the Jacobian of TARGET, for every input."""
    program, values = call.program()
    result = compute_vjp(program, values, call.request())
    return result._replace(witnesses=(check_derivative(call),)) if check else result
