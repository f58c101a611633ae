"""gradcli plot: a function and its derivative, drawn."""

from __future__ import annotations

from ...analysis.plot import sample_plot
from ...errors import GradcliError
from ...show import PICTURES, TEXT
from ...show.results import Sampled
from ..options import Call, target_command
from ..ranges import POINTS, take_ranges


@target_command(
    "Examples: gradcli plot 'sin(x) / x' x=-10:10; gradcli plot 'exp(-a*x)' x=0:5 a=2 -f tsv; "
    "gradcli plot 'x*exp(-x^2-y^2)' x=-2:2 y=-2:2; gradcli plot 'tanh(w)' --over w=-pi:pi --json",
    "over points out columns",
    formats=(*TEXT, "csv", *PICTURES),
)
def plot(call: Call, over: tuple[str, ...], points: int | None) -> Sampled:
    """Draw TARGET and its derivative over a range of one input; over two, a map with arrows along the gradient.

    A range is x=FROM:TO, also after --over; all other inputs keep the values given. On a terminal it is drawn with
    characters; -o FILE.svg or .png draws with matplotlib (pip install matplotlib). -f tsv prints columns: input, value,
    derivative (two inputs: both, value, both derivatives). Where there is no value (nan, inf) there is a gap, and so at
    poles and jumps; kinks are marked, and a line below says where all these are.
    """
    ranges = take_ranges(call, over)
    call.target()
    if not ranges:
        raise GradcliError("plot needs a range of one input or two", hint="write NAME=FROM:TO, for example x=-3:3")
    program, values = call.program()
    return sample_plot(program, values, ranges, points or POINTS[len(ranges)], call.request.out)
