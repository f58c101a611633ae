"""gradcli eval: the value of an output, and nothing else."""

from __future__ import annotations

from ...analysis.gradient import compute_value
from ...results import Value
from ..call import Call
from ..options import target_command


@target_command(
    "Examples: gradcli eval 'x**2 * sin(y)' x=2 y=3; gradcli eval 'a @ x' a=@a.npy x='[1, 2, 3]' --strict",
    "out engine columns strict",
)
def eval(call: Call) -> Value:
    """Print the value of TARGET."""
    program, values = call.program()
    return compute_value(program, values, call.asked.out)
