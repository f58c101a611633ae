"""The functions that `symbolic -f python` and `-f c` write compute what the engine computes."""

import ctypes
import re
import shutil
import subprocess

import numpy as np
import pytest

from gradcli.analysis.gradient import Request, compute_gradient
from gradcli.analysis.symbolic import derive_formulas
from gradcli.errors import GradcliError
from gradcli.lang.parse import parse
from gradcli.program.expression import ExpressionProgram

CASES = [
    ("sin(x*y) + exp(-x**2) / y", {"x": 0.7, "y": 1.3}),
    ("log(1 + x**2) * tanh(y) - sqrt(x + 4)", {"x": 0.7, "y": -1.3}),
    ("maximum(x, y) * abs(x) + where(x > y, x**3, y)", {"x": 0.7, "y": -1.3}),
    ("erf(x) * gamma(3) + arctan2(x, y) + hypot(x, y)", {"x": 0.7, "y": 1.3}),
    ("sum(softmax(w * x) * w)", {"x": 0.7, "w": [0.5, -0.2, 1.1]}),
    ("sum(A @ A)", {"A": [[1.0, 2.0], [0.5, -1.0]]}),
    ("abs(floor(x) / 2) * 1e20 * y", {"x": -1.5, "y": 2.0}),
]
CLASHES = [
    ("value * rate", {"value": 3.0, "rate": 5.0}),
    ("x * d_x * d_x", {"x": 3.0, "d_x": 5.0}),
    ("d_x_ * d_x * x + d_d_x", {"d_x_": 2.0, "d_x": 5.0, "x": 3.0, "d_d_x": 7.0}),
    ("sin * cos(x) + sin_ * x", {"sin": 2.0, "x": 0.5, "sin_": 3.0}),
    ("abs * abs(x) * copysign * sign(x)", {"abs": 2.0, "x": -3.0, "copysign": 5.0}),
    ("math * exp(x) * numpy + float", {"math": 2.0, "x": 0.5, "numpy": 3.0, "float": 4.0}),
    ("sin(lat) * cos(long)", {"lat": 0.5, "long": 0.7}),
    ("short * int**2 * double * default * restrict", dict.fromkeys("short int double default restrict".split(), 2.0)),
    ("pi * M_PI + NAN * INFINITY", {"M_PI": 2.0, "NAN": 3.0, "INFINITY": 5.0}),
    ("t1 * sin(t0[0] * t0[1]) * cos(t0[0] * t0[1])", {"t1": 0.5, "t0": [0.7, 1.1]}),
    ("value_and_gradient * y1", {"value_and_gradient": 2.0, "y1": 3.0}),
]
"""Inputs whose names the functions that are written would use themselves, or that C reserves."""
CASES += CLASHES


def prepared(text, values, code):
    program = ExpressionProgram(parse(text), text)
    given = {name: np.array(x, float) for name, x in values.items()}
    result = derive_formulas(program, given, Request(), code=code)
    return result.code, given, compute_gradient(program, given, Request())


@pytest.mark.parametrize(("text", "values"), CASES, ids=[c[0] for c in CASES])
def test_python(text, values):
    source, given, expected = prepared(text, values, "python")
    space: dict = {}
    exec(source, space)
    arguments = [given[item.name] if given[item.name].ndim else float(given[item.name]) for item in expected.inputs]
    value, *slopes = space["value_and_gradient"](*arguments)
    assert value == pytest.approx(float(expected.value), rel=1e-12)
    for item, slope in zip(expected.inputs, slopes, strict=True):
        assert np.allclose(slope, item.grad, 1e-11, 1e-13)


def test_c(tmp_path):
    """All cases in one library, where there is a compiler; everywhere, what was written looks like C."""
    sources, wanted = [], []
    for i, (text, values) in enumerate(CASES):
        source, given, expected = prepared(text, values, "c")
        parameters = re.findall(r"(\w+)[,)]", source.split("double value_and_gradient(")[1].split("\n")[0])
        assert len(parameters) == len({*parameters, "sin", "long", "default", "M_PI"}) - 4
        assert source.startswith("#include <math.h>\n")
        assert source.count("{") == source.count("}")
        sources.append(source.replace("double value_and_gradient(", f"double f{i}("))
        wanted.append((given, expected))
    compiler = shutil.which("cc")
    if compiler is None:
        return
    (tmp_path / "f.c").write_text("\n".join(sources))
    library = tmp_path / "f.so"
    subprocess.run(
        [compiler, "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, tmp_path / "f.c", "-lm"], check=True
    )
    loaded = ctypes.CDLL(str(library))
    for i, (given, expected) in enumerate(wanted):
        function = loaded[f"f{i}"]
        function.restype = ctypes.c_double
        arguments: list = []
        for item in expected.inputs:
            x = given[item.name]
            arguments.append(x.ctypes.data_as(ctypes.c_void_p) if x.ndim else ctypes.c_double(float(x)))
        slopes = [np.zeros(item.grad.shape) for item in expected.inputs]
        value = function(*arguments, *(s.ctypes.data_as(ctypes.c_void_p) for s in slopes))
        assert value == pytest.approx(float(expected.value), rel=1e-12)
        for item, slope in zip(expected.inputs, slopes, strict=True):
            assert np.allclose(slope, item.grad, 1e-11, 1e-13)


@pytest.mark.parametrize("code", ["python", "c"])
def test_functions_that_a_language_does_not_have(code):
    with pytest.raises(GradcliError, match="has no polygamma"):
        prepared("digamma(x)", {"x": 1.5}, code)


def test_complex_numbers_are_nothing_for_c():
    with pytest.raises(GradcliError, match="C's math library has no complex numbers"):
        prepared("sqrt(-1) * x", {"x": 1.5}, "c")


def test_modules_become_parameters():
    """Names with dots and places are parameters, too; those of arrays are indexed."""
    from gradcli.exact.code import python_code
    from gradcli.exact.symbolic import symbols_for

    x, w = symbols_for("0.x", ()).tolist(), symbols_for("net.w", (2, 1)).tolist()
    inputs = [("0.x", ()), ("net.w", (2, 1))]
    source = python_code("f", inputs, x * w[1][0], [("0.x", (), [w[1][0]])])
    space: dict = {}
    exec(source, space)
    assert space["value_and_gradient"](3.0, np.array([[5.0], [7.0]])) == (21.0, 7.0)
