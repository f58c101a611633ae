"""gradcli precision: how many digits of a value and its gradient are right."""

from __future__ import annotations

import numpy as np

from ...analysis.precision import POINTS, measure_precision
from ...errors import GradcliError
from ...program.target import load_program
from ...show import PICTURES, TEXT
from ...show.formula_results import Precision
from ..options import Call, target_command
from ..ranges import bounds, take_ranges


@target_command(
    "Examples: gradcli precision '(1 - cos(x))/x**2' x=1e-12:1; gradcli precision 'log(1 + exp(x))' "
    "x=-50:800; gradcli precision 'sqrt(x**2 + y**2)' x=1e-200:1e200 y=1 --json; gradcli precision 'exp(x) - 1' x=1e-9",
    "over wrt out range_points",
    formats=(*TEXT, *PICTURES),
)
def precision(call: Call, over: tuple[str, ...], points: int | None) -> Precision:
    """Print how many digits of TARGET's value and gradient are right, along NAME=FROM:TO, or at NAME=VALUE.

    Every point is computed in floating point and again with at least 50 digits, from the same binary inputs. Where
    more than a quarter of the digits is lost, the operation that loses them is named: one of the formula, or a sum of
    backward. The points of a wide range grow by a factor. In a pipe: columns of the input, digits of the value,
    digits of each gradient.
    """
    call.output.check()
    target = call.target()
    call.bound_time(target)
    ranges = take_ranges(call, over)
    if call.request.input_dtype.kind == "c":
        raise GradcliError("precision measures real numbers", hint="--dtype float32 or float64")
    values = call.values()
    if not ranges and len(values) == 1 and np.size(*values.values()) == 1:
        ((name, point),) = values.items()
        ranges, values = {name: bounds(point, point, f"{name}={point}", point=True)}, {}
    if len(ranges) != 1:
        raise GradcliError("precision needs one input with a range", hint="write NAME=FROM:TO, for example x=1e-12:1")
    program = load_program(target)
    ((name, (low, high)),) = ranges.items()
    over_range, count = (name, low, high), points or POINTS
    return measure_precision(program, values, over_range, call.asked(), count, call.request.input_dtype)
