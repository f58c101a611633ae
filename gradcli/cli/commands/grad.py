"""gradcli grad: value and gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...analysis.gradient import compute_gradient, first_nan
from ...request import Request
from ...show.results import Gradients, nan_in
from ..options import Call, add_check, formulas_of, target_command

if TYPE_CHECKING:
    from ...show.study_results import LongNumbers

SHOWN_WHOLE = 50
"""A terminal shows only the sizes of a script's parameters if they have more elements."""


@target_command(
    "Examples: gradcli grad 'x**2 * sin(y)' x=2 y=3; gradcli grad model.expr --wrt w; gradcli grad train.py",
    "wrt out columns strict value engine config library_grad library_vjp library_jvp arg gradient hook retain "
    "retain_all check symbolic digits max_symbols detect_anomaly",
)
def grad(call: Call, *, retain_all: bool, check: bool, detect_anomaly: bool) -> Gradients | LongNumbers:
    """Print the value and the gradient of TARGET for every input."""
    asked = call.request
    program, values = call.program()

    def request() -> Request:
        return call.asked(retain=None) if retain_all else call.asked()

    if asked.digits:
        from ...analysis.precision import gradient_in_digits

        return gradient_in_digits(program, call.values, request(), asked.digits)
    result = compute_gradient(program, values, request())
    if detect_anomaly and not asked.strict and nan_in(result) is not None:
        result = result._replace(anomaly=first_nan(program, values, request()) or ("", None))
    count = sum(item.value.size for item in result.inputs)
    if program.is_script and count > SHOWN_WHOLE and asked.wrt is None:
        result = result._replace(summary=True)
    if asked.symbolic:
        formulas = formulas_of(call, program)
        inputs = {item.name: item.value for item in result.inputs}
        slopes = {item.name: item.slope for item in result.inputs}
        result = result._replace(symbolic=formulas.gradient(inputs, slopes))
    result = result._replace(why=call.why(program))
    return add_check(call, result, symbolic=count <= asked.max_symbols) if check else result
