"""gradcli eval: the value alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...analysis.gradient import compute_value, compute_values
from ...errors import GradcliError
from ...show.results import Value, Values
from ..options import Call, compute_in_digits, target_command
from ..ranges import POINTS, take_ranges

if TYPE_CHECKING:
    from ...show.formula_results import LongNumbers


@target_command(
    "Examples: gradcli eval 'x**2 * sin(y)' x=2 y=3; gradcli eval 'a @ x' a=@a.npy x='[1, 2, 3]' --strict; "
    "gradcli eval 'exp(-a*x)' x=0:5 a=2 --points 11; gradcli eval 'erf(x)' x=0.5 --digits 40",
    "over points digits out engine columns strict",
)
def eval(call: Call, over: tuple[str, ...], points: int | None, digits: int | None) -> Value | Values | LongNumbers:
    """Print the value of TARGET; over ranges, x=FROM:TO, of one input or two: columns of the inputs and the value."""
    ranges = take_ranges(call, over)
    if points and not ranges:
        raise GradcliError("--points has no use here: no input has a range", hint="write NAME=FROM:TO, such as x=-3:3")
    if digits and ranges:
        raise GradcliError("--digits is for one point, and there is a range", hint="leave out one")
    program, values = call.program()
    if digits:
        from ...analysis.precision import value_in_digits

        return compute_in_digits(call, value_in_digits, program, call.request, digits, alone=True)
    if ranges:
        return compute_values(program, values, ranges, points or POINTS[len(ranges)], call.request.out)
    return compute_value(program, values, call.request.out)
