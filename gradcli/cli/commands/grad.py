"""gradcli grad and gradcli eval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...analysis.gradient import compute_gradient, compute_value, compute_values, first_nan
from ...errors import GradcliError
from ...request import Request
from ...show.results import Gradients, Value, Values, nan_in
from ..options import Call, check_derivative, compute_in_digits, formulas_of, target_command
from ..ranges import POINTS, take_ranges

if TYPE_CHECKING:
    from ...show.formula_results import LongNumbers

SHOWN_WHOLE = 50
"""A script's parameters with more elements than this are summed up on a terminal."""


@target_command(
    "Examples: gradcli grad 'x**2 * sin(y)' x=2 y=3; gradcli grad model.expr --wrt w; gradcli grad train.py",
    "wrt out columns strict value engine config library_grad library_vjp library_jvp arg gradient hook retain "
    "retain_all check symbolic digits max_symbols detect_anomaly",
)
def grad(
    call: Call,
    retain: tuple[str, ...],
    retain_all: bool,
    with_value: bool,
    check: bool,
    symbolic: bool,
    digits: int | None,
    max_symbols: int,
    detect_anomaly: bool,
) -> Gradients | LongNumbers:
    """Print the value and the gradient of TARGET for every input."""
    asked = call.request
    program, values = call.program()

    def request() -> Request:
        return call.asked(retain=None if retain_all else retain, with_value=with_value)

    if digits:
        from ...analysis.precision import gradient_in_digits

        return compute_in_digits(call, gradient_in_digits, program, request(), digits, alone=not (symbolic or check))
    result = compute_gradient(program, values, request())
    if detect_anomaly and not asked.strict and nan_in(result) is not None:
        result = result._replace(anomaly=first_nan(program, values, request()) or ("", None))
    if program.is_script and sum(item.value.size for item in result.inputs) > SHOWN_WHOLE and asked.wrt is None:
        result = result._replace(summary=True)
    if symbolic:
        formulas = formulas_of(call, program, max_symbols)
        inputs = {item.name: item.value for item in result.inputs}
        slopes = {item.name: item.slope for item in result.inputs}
        result = result._replace(symbolic=formulas.gradient(inputs, slopes))
    if check:
        count = sum(item.value.size for item in result.inputs)
        result = result._replace(witnesses=(check_derivative(call, symbolic=count <= max_symbols),))
    return result


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
