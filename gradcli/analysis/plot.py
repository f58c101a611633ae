"""The numbers behind a plot: a program's value and derivatives along one input or two."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import GradcliError
from ..func import vmap
from ..program.base import Program, as_leaf, silence_prints
from ..results.plots import Curve, Surface
from ..tape.backward import backward
from ..tape.tensor import Tensor
from .gradient import Request, check_output, compute_gradient, grad_array

Samples = tuple[np.ndarray, dict[str, np.ndarray]]
"""Values, and the slopes by input: all of the same length."""

FARTHEST = 1e300
"""The largest end of a range: beyond, the length of the range overflows."""


def sample_plot(
    program: Program,
    given: Mapping[str, np.ndarray],
    over: Mapping[str, tuple[float, float]],
    points: int,
    out: str | None = None,
) -> Curve | Surface:
    """Sample a program between two ends of one input, or on a grid of two.

    points: along each input. Raises GradcliError for an output that is no real number, and for what `run` raises.
    """
    for name in over:
        if name in given:
            raise GradcliError(f"'{name}' has a value and a range", hint=f"leave out {name}=...", kind="usage")
    axes = {name: np.linspace(low, high, points) for name, (low, high) in over.items()}
    grid = dict(zip(axes, (x.ravel() for x in np.meshgrid(*axes.values(), indexing="ij")), strict=True))
    label = check_plotted_output(program, at(given, grid, 0), list(grid), out)
    with silence_prints(program), open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
        value, slopes = sample_at_once(program, given, grid, out) or one_by_one(program, given, grid, out)
    for slope in slopes.values():
        slope[np.isnan(value)] = np.nan
    if len(axes) == 1:
        ((over_name, x),) = axes.items()
        return Curve(program.title, over_name, x, value, slopes[over_name], label)
    (first, x), (second, y) = axes.items()
    shape = (len(x), len(y))
    sides = (slopes[first].reshape(shape), slopes[second].reshape(shape))
    return Surface(program.title, (first, second), x, y, value.reshape(shape), sides, label)


def check_plotted_output(
    program: Program, given: Mapping[str, Any], wrt: list[str], out: str | None, verb: str = "plotted"
) -> str | None:
    """Run a program once, and return its output's name. Raises GradcliError when it is no real number."""
    missing = program.missing(given)
    if missing:
        raise GradcliError(
            "no value for " + ", ".join(f"'{name}'" for name in missing),
            hint=f"add {' '.join(f'{name}=1' for name in missing)}"
            + (f", or one more --over {missing[0]}=FROM:TO" if verb == "plotted" else ""),
            kind="name",
        )
    run = program.run(given, wrt=wrt, out=out)
    if run.output is None:
        raise GradcliError(
            f"the script runs backward itself, so there is no output to be {verb}",
            hint="leave out its call of backward",
            kind="target",
        )
    check_output(run.output)
    if run.output._data.size != 1 or run.output._data.dtype.kind == "c":
        what = "is complex" if run.output._data.size == 1 else f"has shape {run.output._data.shape}"
        raise GradcliError(
            f"the output {what}; only a real number can be {verb}",
            hint="take real(...) or abs(...) of it" if what == "is complex" else "take one element or the sum of it",
            kind="shape",
        )
    return run.output_name


def at(given: Mapping[str, np.ndarray], grid: Mapping[str, np.ndarray], place: int) -> dict[str, Any]:
    """Return the values of all inputs at one point of the grid."""
    return {**given, **{name: x[place] for name, x in grid.items()}}


def sample_at_once(
    program: Program, given: Mapping[str, np.ndarray], grid: Mapping[str, np.ndarray], out: str | None
) -> Samples | None:
    """Return the samples from one run for all points; None where the program does not allow that."""
    if program.dtype is None:
        return None  # a script is run anew for each point
    call, values = program.as_function(at(given, grid, 0), out)
    lines = {name: as_leaf(x, program.dtype, name) for name, x in grid.items()}
    rest = {name: Tensor._wrap(np.asarray(x)[()], None) for name, x in values.items()}
    places = tuple(0 if name in lines else None for name in values)
    try:
        result = vmap(call, in_dims=places)(*(lines.get(name, rest[name]) for name in values))
        value = np.array(result._data, float).reshape(len(next(iter(grid.values()))), -1)[:, 0]
        if result._node is not None:
            backward(result, Tensor._wrap(np.ones_like(result._data), None))
    except Exception:  # whatever it is, the single points will say it, or do without
        return None
    return value, {name: np.asarray(grad_array(line), float) for name, line in lines.items()}


def one_by_one(
    program: Program, given: Mapping[str, np.ndarray], grid: Mapping[str, np.ndarray], out: str | None
) -> Samples:
    count = len(next(iter(grid.values())))
    value = np.empty(count)
    slopes = {name: np.empty(count) for name in grid}
    for i in range(count):
        result = compute_gradient(program, at(given, grid, i), Request(wrt=list(grid), out=out))
        value[i] = np.ravel(np.asarray(result.value))[0]
        for item in result.inputs:
            slopes[item.name][i] = scalar(item.slope, item.name)
    return value, slopes


def scalar(x: np.ndarray, name: str) -> float:
    """Return the only element of an array. Raises GradcliError when there are more."""
    if x.size != 1:
        raise GradcliError(f"'{name}' has shape {x.shape}; a range is for a single number", kind="shape")
    return float(np.ravel(x)[0])


def bounds(low: Any, high: Any, text: str) -> tuple[float, float]:
    """Return the two ends of a range. text: how it was given. Raises GradcliError when they are none."""
    ends = [np.asarray(x) for x in (low, high)]
    if any(x.size != 1 or x.dtype.kind not in "iuf" or not np.isfinite(x).all() for x in ends):
        raise GradcliError(f"{text}: both ends must be finite numbers", kind="value")
    a, b = (float(x.ravel()[0]) for x in ends)
    if max(-a, b) > FARTHEST:
        raise GradcliError(f"{text}: both ends must be between -1e300 and 1e300", kind="value")
    if not a < b:
        raise GradcliError(f"{text}: the first end must be less than the second", kind="value")
    return a, b
