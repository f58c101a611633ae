"""Generated code is as accurate as the engine, over the whole range of its inputs, compared with 50 digits."""

import contextlib
import functools
import math
import shutil

import mpmath
import numpy as np
import pytest

from gradcli.analysis.generated_code import generate_code
from gradcli.analysis.gradient import compute_gradient
from gradcli.errors import GradcliError
from gradcli.lang.parse import parse
from gradcli.program.expression import ExpressionProgram
from gradcli.request import Request
from gradcli.results.formats import CODE
from gradcli.rules import full_table

from .functions import FUNCTIONS, exact_results
from .runners import RUNNERS

ULP = 2.0**-52
SMALLEST_NORMAL = mpmath.mpf(2) ** -1022
LIBRARIES = 8  # rounding units by which the mathematical functions of a language may differ from the engine's
WORSE = 4  # the error may be so many times that of the engine, because roundings differ by chance


def points_of(function):
    return [at if isinstance(at, tuple) else (at,) for at in function.points]


def program_of(function):
    return ExpressionProgram(parse(function.text), function.text)


@functools.cache
def expected():
    """Return exact results and those of the engine for every point of every function."""
    rows = []
    for function in FUNCTIONS:
        program = program_of(function)
        for at in points_of(function):
            given = {name: np.array(x) for name, x in zip(function.inputs, at, strict=True)}
            found = compute_gradient(program, given, Request())
            engine = [float(found.value), *(float(item.grad) for item in found.inputs)]
            rows.append((f"{function.text} at {at}", exact_results(function, at), engine))
    return rows


def error_in_ulps(x, exact):
    """Return the relative error in rounding units; overflow is right where the exact result overflows."""
    if not math.isfinite(x):
        return 0.0 if float(exact) == x else math.inf
    return float(abs(mpmath.mpf(x) - exact) / max(abs(exact), SMALLEST_NORMAL) / ULP)


@pytest.mark.parametrize("form", CODE)
def test_code_is_as_accurate_as_the_engine(form, tmp_path):
    command, runner = RUNNERS[form]
    if command and not shutil.which(command):
        pytest.skip(f"needs {command}")
    sources = [generate_code(program_of(f), {}, Request(), form).code for f in FUNCTIONS]
    found = runner(tmp_path, sources, [points_of(f) for f in FUNCTIONS])
    wrong = []
    for (title, exact, engine), result in zip(expected(), found, strict=True):
        for x, right, own in zip(result, exact, engine, strict=True):
            error, usual = error_in_ulps(x, right), error_in_ulps(own, right)
            if not (error <= LIBRARIES + WORSE * usual):
                wrong.append(f"{title}: {x!r}, exact {mpmath.nstr(right, 17)}, off by {error:.3g} (engine {usual:.3g})")
    assert not wrong, "\n".join(wrong)
    assert len(FUNCTIONS) >= 40 and all(len(f.points) >= 3 for f in FUNCTIONS)


ENDS = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e308, -1e308, 1e17, -1.0, 1.0]


def unary_functions():
    """Return the functions of one number that can be written as code."""
    entries = full_table().values()
    names = [p.name for p in entries if p.kind == "elementwise" and p.public and (p.arity or 1) == 1]
    for name in names:
        with contextlib.suppress(GradcliError):
            text = f"{name}(x)"
            generate_code(ExpressionProgram(parse(text), text), {}, Request(), "python")
            yield text


@pytest.mark.parametrize("form", CODE)
def test_code_has_the_values_of_the_engine_at_the_ends(form, tmp_path):
    """No language raises at infinity, at nan or where a function overflows."""
    command, runner = RUNNERS[form]
    if command and not shutil.which(command):
        pytest.skip(f"needs {command}")
    programs = [ExpressionProgram(parse(text), text) for text in unary_functions()]
    sources = [generate_code(program, {}, Request(), form).code for program in programs]
    found = iter(runner(tmp_path, sources, [[(x,) for x in ENDS]] * len(programs)))
    wrong = []
    for program in programs:
        for x in ENDS:
            with np.errstate(all="ignore"):
                engine = compute_gradient(program, {"x": np.array(x)}, Request())
            usual, result = [float(engine.value), float(engine.inputs[0].grad)], next(found)
            same = np.allclose(result, usual, rtol=1e-9, atol=0, equal_nan=True)
            if not same and (program.title, x) != ("gammaln(x)", -math.inf):  # no limit: inf in C, -inf in SciPy
                wrong.append(f"{program.title} at {x}: {result}, engine {usual}")
    assert not wrong, "\n".join(wrong)
    assert len(programs) > 70
