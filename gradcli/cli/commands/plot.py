"""gradcli plot: a function and its derivative, drawn."""

from __future__ import annotations

from ...analysis.plot import bounds, sample_plot
from ...errors import GradcliError
from ...lang.values import read_value, split_value
from ...show import PICTURES, TEXT
from ...show.results import Sampled
from ..options import Call, target_command

POINTS = {1: 200, 2: 60}


@target_command(
    "Examples: gradcli plot 'sin(x) / x' --over x=-10:10; gradcli plot 'exp(-a*x)' --over x=0:5 a=2 -f tsv; "
    "gradcli plot 'x*exp(-x^2-y^2)' --over x=-2:2 --over y=-2:2; gradcli plot 'tanh(w)' --over w=-pi:pi --json",
    "over points out columns",
    formats=(*TEXT, "csv", *PICTURES),
)
def plot(call: Call, over: tuple[str, ...], points: int | None) -> Sampled:
    """Draw TARGET and its derivative over a range of one input; over two, a map with arrows along the gradient.

    All other inputs keep the values given. On a terminal it is drawn with characters; -o FILE.svg or .png
    draws with matplotlib (pip install matplotlib). -f tsv prints columns: input, value, derivative (two inputs:
    both, value, both derivatives). Where there is no value (nan, inf) there is a gap, and so at poles and jumps;
    kinks are marked, and a line below says where all these are.
    """
    program, values = call.program()
    ranges = dict(parse_range(call, text) for text in over)
    if not 1 <= len(ranges) <= 2 or len(ranges) < len(over):
        raise GradcliError("plot needs --over with one input or two", hint="for example: --over x=-3:3")
    return sample_plot(program, values, ranges, points or POINTS[len(ranges)], call.request.out)


def parse_range(call: Call, text: str, option: str = "--over ") -> tuple[str, tuple[float, float]]:
    """Return name and ends of NAME=FROM:TO. Raises GradcliError. option: what stands before it."""
    name, ends = split_value(text)
    low, colon, high = ends.partition(":")
    if not colon or not low.strip() or not high.strip():
        raise GradcliError(f"{option}{text}: write NAME=FROM:TO", hint=f"for example: {option}x=-3:3")
    if ":" in high:
        raise GradcliError(
            f"{option}{text}: a range is FROM:TO, its two ends, without a step",
            hint=f"for example: {option}{name}={low}:{high.partition(':')[0]} --points 50",
        )
    first, last = (read_value(end, call.request, f"{option}{name}") for end in (low, high))
    return name, bounds(first, last, f"{option}{text}")
