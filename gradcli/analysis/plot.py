"""Sample value and derivatives over a range of one or two inputs, and find the breaks of a curve by bisection."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ..errors import GradcliError
from ..program.base import Program, Values, check_number, silence_prints
from ..request import Request
from ..results.graphs import Break, Sampled, Tabulated
from .gradient import compute_value
from .sweep.rows import Interpreted, Question

PLAIN_REQUEST = Request()
Ranges = Mapping[str, tuple[float, float]]  # both ends, by input


def points_over(
    over: Ranges, given: Mapping[str, Any], points: int
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the points along each range, and the coordinates of all grid points, by name."""
    refuse_values(over, given)
    axes = {name: np.linspace(low, high, points) for name, (low, high) in over.items()}
    grid = (x.ravel() for x in np.meshgrid(*axes.values(), indexing="ij"))
    return axes, dict(zip(axes, grid, strict=True))


def refuse_values(over: Iterable[str], given: Mapping[str, Any]) -> None:
    for name in over:
        if name in given:
            raise GradcliError(f"'{name}' has a value and a range", hint=f"leave out {name}=...")


def compute_values(program: Program, given: Values, over: Ranges, points: int, out: str | None) -> Tabulated:
    """Return the value over a range of one input, or on a grid of two. points: per input."""
    axes, grid = points_over(over, given, points)
    values = []
    with silence_prints(program):
        for point in zip(*grid.values(), strict=True):
            result = compute_value(program, {**given, **dict(zip(axes, point, strict=True))}, out)
            if result.value.size != 1:
                message = f"the output has shape {result.value.shape}; over a range it must be a single number"
                raise GradcliError(message, hint="take one element or the sum of it", kind="shape")
            values.append(result.value.ravel()[0])
    return Tabulated(program.title, axes, np.reshape(values, [len(x) for x in axes.values()]), output=result.output)


def sample_plot(
    program: Program, given: Values, over: Ranges, points: int, request: Request = PLAIN_REQUEST
) -> Sampled:
    """Sample value and derivatives over a range of one input, or on a grid of two. points: per input.

    Numeric derivatives show no breaks: each would take thousands of calls.
    """
    out = request.out
    axes, grid = points_over(over, given, points)
    first = {name: x[0] for name, x in grid.items()}
    label = check_plotted_output(program, {**given, **first}, list(grid), out)
    question = Question(program, given, tuple(grid), tuple(grid), (out,), numeric=request.numeric)
    evaluate = Interpreted(question, gaps=False)
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
        value, *columns = (np.array(x, float) for x in evaluate(grid).values())
        columns, errors = columns[: len(grid)], columns[len(grid) :]  # errors: of numeric derivatives
        for slope in columns:
            slope[np.isnan(value)] = np.nan
        find = len(grid) == 1 and not request.numeric
        breaks = breaks_between(grid, value, columns[0], evaluate) if find else ()
    shape = tuple(map(len, axes.values()))
    shaped = [tuple(x.reshape(shape) for x in part) for part in (columns, errors)]
    return Sampled(program.title, axes, value.reshape(shape), shaped[0], label, breaks, shaped[1])


def breaks_between(grid: Values, value: np.ndarray, slope: np.ndarray, evaluate: Interpreted) -> tuple[Break, ...]:
    """Return the breaks of a curve; none if the program raises between the points."""
    ((name, x),) = grid.items()

    def curve(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, slopes = (np.array(y, float) for y in evaluate({name: at}).values())
        return values, slopes

    try:
        with np.errstate(all="ignore"):
            return find_breaks(x, value, slope, curve)
    except GradcliError:
        return ()


def check_plotted_output(
    program: Program, given: Mapping[str, Any], wrt: list[str], out: str | None, verb: str = "plotted"
) -> str | None:
    """Run a program once and return the name of its output. Raises GradcliError unless the output is a real number."""
    missing = program.missing(given)
    if missing:
        message = f"no value for {', '.join(map(repr, missing))}"
        hint = f"add {' '.join(f'{name}=1' for name in missing)}"
        hint += f", or a range: {missing[0]}=FROM:TO" if verb == "plotted" else ""
        raise GradcliError(message, hint=hint, kind="name")
    run = program.run(given, wrt=wrt, out=out)
    if run.output is None:
        message = f"the script runs backward itself, so its output cannot be {verb}"
        raise GradcliError(message, hint="remove its call to backward", kind="target")
    check_number(run.output, f"only a real number can be {verb}")
    return run.output_name


Evaluate = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # from points to values and slopes

MOST_BISECTED = 24  # intervals to bisect
BREAK_HALVINGS = 30
FIRST_HALVINGS = 3
SMOOTH_BEND = 1 / 24  # share of a bend left after the first halvings: 1/64 if smooth, 1/8 at a kink, all at a jump
NEAR_BREAK = np.logspace(-5, -9, 5)  # distances from a break at which to sample, as shares of the range


def find_breaks(x: np.ndarray, value: np.ndarray, slope: np.ndarray, evaluate: Evaluate) -> tuple[Break, ...]:
    length = x[-1] - x[0]
    finite = np.isfinite(value) & np.isfinite(slope)
    alone = np.flatnonzero(~finite[1:-1] & finite[:-2] & finite[2:]) + 1
    places = [*x[alone].tolist(), *bisect_bends(x, value, slope, evaluate).tolist()]
    breaks: list[Break] = []
    for place in sorted(places):
        if breaks and place - breaks[-1].at < NEAR_BREAK[0] * length:
            continue
        margin = NEAR_BREAK[0] * length
        found = classify_break(place, length, evaluate) if x[0] + margin <= place <= x[-1] - margin else None
        if found is not None:
            breaks.append(found)
    return tuple(breaks)


def bends_of_curve(x: np.ndarray, value: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Return how far the curve is from a straight line in each interval, from values and slopes."""
    step = np.diff(x)
    with np.errstate(all="ignore"):
        unexplained = np.abs(np.diff(value) - step * (slope[..., 1:] + slope[..., :-1]) / 2)
        bend = unexplained + step * np.abs(np.diff(slope))
    return np.where(np.isfinite(bend), bend, 0.0)


def bisect_bends(x: np.ndarray, value: np.ndarray, slope: np.ndarray, evaluate: Evaluate) -> np.ndarray:
    """Bisect the most bent intervals, and return the places where the bend does not vanish."""
    bend = bends_of_curve(x, value, slope)
    padded = np.concatenate([[0.0], bend, [0.0]])
    largest = np.abs(value[np.isfinite(value)]).max(initial=0.0)
    peaks = np.flatnonzero((bend >= padded[:-2]) & (bend >= padded[2:]) & (bend > 1e-9 * largest))
    peaks = peaks[np.argsort(-bend[peaks], kind="stable")[:MOST_BISECTED]]
    left = np.array([x[peaks], value[peaks], slope[peaks]])
    right = np.array([x[peaks + 1], value[peaks + 1], slope[peaks + 1]])
    first = bend[peaks]
    for k in range(BREAK_HALVINGS):
        if not first.size:
            break
        at = (left[0] + right[0]) / 2
        middle = np.array([at, *evaluate(at)])
        lower, upper = bends_of_curve(*np.stack([left, middle, right], axis=-1)).T
        hit = ~np.isfinite(middle).all(axis=0)
        keep_left = lower >= upper
        left = np.where(hit | ~keep_left, middle, left)
        right = np.where(hit | keep_left, middle, right)
        if k + 1 == FIRST_HALVINGS:
            kept = hit | (np.maximum(lower, upper) > SMOOTH_BEND * first) | ~np.isfinite(left + right).all(axis=0)
            left, right, first = left[:, kept], right[:, kept], first[kept]
    return (left[0] + right[0]) / 2


def classify_break(at: float, length: float, evaluate: Evaluate) -> Break | None:
    """Classify a place by values and slopes close to it on both sides; None if the curve is smooth."""
    away = NEAR_BREAK * length
    x = np.concatenate([at - away, at + away])
    value, slope = (y.reshape(2, len(NEAR_BREAK)) for y in evaluate(x))
    if not np.isfinite(value).all() or not np.isfinite(slope).all():
        return None
    ends = enumerate((at - away[-1], at + away[-1]))
    sides = tuple((float(end), float(value[i, -1]), float(slope[i, -1])) for i, end in ends)
    size = np.abs(value)
    growth = np.diff(size, axis=1)  # at a pole, it does not shrink towards the pole
    with np.errstate(over="ignore"):
        gaps, turns = np.abs(value[1] - value[0]), np.abs(slope[1] - slope[0])
    steepest = np.abs(slope).max()
    grows = (growth[:, 1:] > 0.9 * growth[:, :-1]).all(axis=1) & (growth[:, 0] > 1e-3 * (1 + size[:, 0]))
    if grows.any():
        kind = "pole"
    elif gaps[-1] > 0.5 * gaps[0] and gaps[-1] > 10 * steepest * away[-1] + 1e-12 * size.max():
        kind = "jump"
    elif turns[-1] > 0.5 * turns[0] and turns[-1] > 1e-6 * steepest and not is_vertical(slope):
        kind = "kink"
    else:
        return None
    return Break(kind, round(float(at), 9 - math.floor(math.log10(length))) + 0.0, sides)


def is_vertical(slope: np.ndarray) -> bool:
    """Return whether slopes of one sign grow without bound towards a place: a vertical tangent, not a kink."""
    size = np.abs(slope)
    return bool((np.sign(slope) == np.sign(slope[0, 0])).all() and (size[:, -1] > 1.5 * size[:, 0]).all())
