"""Functions written by `symbolic -f python` and `-f c` compute the same as the engine."""

import contextlib
import ctypes
import re
import shutil

import numpy as np
import pytest

from gradcli.analysis.gradient import compute_gradient
from gradcli.analysis.symbolic import derive_formulas
from gradcli.errors import GradcliError
from gradcli.exact.printing import python_code
from gradcli.exact.symbolic import symbols_for
from gradcli.lang.parse import parse
from gradcli.program.expression import ExpressionProgram
from gradcli.request import Request
from gradcli.rules import full_table

from ..command import compile_c

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
"""Inputs with names that the generated functions would use themselves, or that C reserves."""
TIES = [
    ("maximum(x, y) + 3*minimum(x, 2*y)", {"x": 2.0, "y": 2.0}),
    ("maximum(x, 0) + 3*minimum(0, y)", {"x": 0.0, "y": 0.0}),
    ("fmax(x, y) + 3*fmin(y, x)", {"x": 1.0, "y": 1.0}),
    ("relu(x) + 3*relu6(y) + 5*abs(x)", {"x": 0.0, "y": 6.0}),
    ("hardtanh(x) + 3*hardsigmoid(y) + 5*hardswish(y)", {"x": 1.0, "y": 3.0}),
    ("hardswish(x) + 3*hardsigmoid(x) + 5*softshrink(y)", {"x": -3.0, "y": 0.5}),
    ("clip(x, 1, 2) + 3*clip(y, 1, 2)", {"x": 1.0, "y": 2.0}),
    ("max([x, x*y]) + selu(x)", {"x": 1.0, "y": 1.0}),
    ("max([x, y, z, 1]) + 3*amin([x, y, z, 2*y])", {"x": 1.0, "y": 1.0, "z": 1.0}),
    ("max(w) + 3*min(v)", {"w": [2.0, 2.0, 2.0], "v": [1.0, 0.0, 0.0, 0.0]}),
]
CASES += CLASHES + TIES


def prepared(text, values, code):
    program = ExpressionProgram(parse(text), text)
    given = {name: np.array(x, float) for name, x in values.items()}
    result = derive_formulas(program, given, Request(), code=code)
    return result.code, given, compute_gradient(program, given, Request())


def assert_right(value, slopes, expected):
    assert value == pytest.approx(float(expected.value), rel=1e-12), expected.target
    for item, slope in zip(expected.inputs, slopes, strict=True):
        assert np.allclose(slope, item.grad, 1e-11, 1e-13), expected.target


@pytest.mark.parametrize(("text", "values"), CASES, ids=[c[0] for c in CASES])
def test_python(text, values):
    source, given, expected = prepared(text, values, "python")
    space: dict = {}
    exec(source, space)
    arguments = [given[item.name] if given[item.name].ndim else float(given[item.name]) for item in expected.inputs]
    value, *slopes = space["value_and_gradient"](*arguments)
    assert_right(value, slopes, expected)


def every_function():
    """Yield code, inputs and expected results for each elementwise function that C has."""
    for name, entry in full_table().items():
        if (entry.kind == "elementwise" and entry.public and entry.arity < 3) or name == "clip":
            inputs = "xy"[: 1 if name == "clip" else entry.arity]
            text = f"{name}({', '.join([*inputs, *(['0', '1'] if name == 'clip' else [])])}) + pi + log(2) * x"
            values = {n: low + 0.37 * (high - low) for n, (low, high) in zip(inputs, entry.domain, strict=False)}
            with contextlib.suppress(GradcliError):
                yield prepared(text, values, "c")


def test_c(tmp_path):
    """Check the form of the C code and, if there is a compiler, its warnings and values."""
    written = [*(prepared(*case, "c") for case in CASES), *every_function()]
    assert len(written) >= 80 + len(CASES)
    for source, *_ in written:
        parameters = re.findall(r"(\w+)[,)]", source.split("double value_and_gradient(")[1].split("\n")[0])
        assert len(parameters) == len({*parameters, "sin", "long", "default", "M_PI"}) - 4
        assert source.startswith("#include <math.h>\n")
        assert source.count("{") == source.count("}")
    if shutil.which("cc") is None:
        return
    sources = [source.replace("value_and_gradient(", f"function_{k}(") for k, (source, *_) in enumerate(written)]
    (tmp_path / "f.c").write_text("\n".join(sources))
    flags = ("-std=c99", "-pedantic", "-Wall", "-Werror")
    library = ctypes.CDLL(str(compile_c(tmp_path / "f.c", tmp_path / "f.so", *flags)))
    for k, (_, given, expected) in enumerate(written):
        function = library[f"function_{k}"]
        function.restype = ctypes.c_double
        inputs = [given[item.name] for item in expected.inputs]
        arguments = [x.ctypes.data_as(ctypes.c_void_p) if x.ndim else ctypes.c_double(float(x)) for x in inputs]
        slopes = [np.zeros(item.grad.shape) for item in expected.inputs]
        value = function(*arguments, *(s.ctypes.data_as(ctypes.c_void_p) for s in slopes))
        assert_right(value, slopes, expected)


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("digamma(x)", "python", "has no polygamma"),
        ("digamma(x)", "c", "has no polygamma"),
        ("sqrt(-1) * x", "c", "C's math library has no complex numbers"),
    ],
)
def test_functions_that_a_language_lacks(text, code, message):
    with pytest.raises(GradcliError, match=message):
        prepared(text, {"x": 1.5}, code)


def test_dotted_names_become_parameters():
    """Inputs whose names have dots are parameters, too; arrays are indexed."""
    x, w = symbols_for("0.x", ()).tolist(), symbols_for("net.w", (2, 1)).tolist()
    inputs = [("0.x", ()), ("net.w", (2, 1))]
    source = python_code("f", inputs, x * w[1][0], [("0.x", (), [w[1][0]])])
    space: dict = {}
    exec(source, space)
    assert space["value_and_gradient"](3.0, np.array([[5.0], [7.0]])) == (21.0, 7.0)
