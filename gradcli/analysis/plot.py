"""The numbers behind a plot: a program's value and derivatives along one input or two."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import GradcliError
from ..program.base import Program, check_number
from ..show.results import Break, Sampled
from .breaks import find_breaks
from .gradient import points_over
from .sweep.rows import Interpreted, Question


def sample_plot(
    program: Program,
    given: Mapping[str, np.ndarray],
    over: Mapping[str, tuple[float, float]],
    points: int,
    out: str | None = None,
) -> Sampled:
    """Sample a program between two ends of one input, or on a grid of two.

    points: along each input. Raises GradcliError for an output that is no real number, and for what `run` raises.
    """
    axes, grid = points_over(over, given, points)
    first = {name: x[0] for name, x in grid.items()}
    label = check_plotted_output(program, {**given, **first}, list(grid), out)
    evaluate = Interpreted(Question(program, given, tuple(grid), tuple(grid), (out,)), gaps=False)
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
        value, *columns = (np.array(x, float) for x in evaluate(grid).values())
        for slope in columns:
            slope[np.isnan(value)] = np.nan
        breaks = breaks_between(grid, value, columns[0], evaluate) if len(grid) == 1 else ()
    shape = tuple(map(len, axes.values()))
    slopes = tuple(slope.reshape(shape) for slope in columns)
    return Sampled(program.title, axes, value.reshape(shape), slopes, label, breaks)


def breaks_between(
    grid: Mapping[str, np.ndarray], value: np.ndarray, slope: np.ndarray, evaluate: Interpreted
) -> tuple[Break, ...]:
    """Return the breaks of a curve; none where the program raises between the points."""
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
    """Run a program once, and return its output's name. Raises GradcliError when it is no real number."""
    missing = program.missing(given)
    if missing:
        raise GradcliError(
            "no value for " + ", ".join(f"'{name}'" for name in missing),
            hint=f"add {' '.join(f'{name}=1' for name in missing)}"
            + (f", or a range: {missing[0]}=FROM:TO" if verb == "plotted" else ""),
            kind="name",
        )
    run = program.run(given, wrt=wrt, out=out)
    if run.output is None:
        raise GradcliError(
            f"the script runs backward itself, so there is no output to be {verb}",
            hint="leave out its call of backward",
            kind="target",
        )
    check_number(run.output, f"only a real number can be {verb}")
    return run.output_name
