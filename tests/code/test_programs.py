"""Generated functions compute the same as the engine: arrays, clashing names, ties, and every function of the table."""

import contextlib
import shutil

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

from .runners import RUNNERS

CASES = [
    ("sin(x*y) + exp(-x**2) / y", {"x": 0.7, "y": 1.3}),
    ("log(1 + x**2) * tanh(y) - sqrt(x + 4)", {"x": 0.7, "y": -1.3}),
    ("maximum(x, y) * abs(x) + where(x > y, x**3, y)", {"x": 0.7, "y": -1.3}),
    ("erf(x) * gamma(3) + arctan2(x, y) + hypot(x, y)", {"x": 0.7, "y": 1.3}),
    ("sum(softmax(w * x) * w)", {"x": 0.7, "w": [0.5, -0.2, 1.1]}),
    ("sum(A @ A)", {"A": [[1.0, 2.0], [0.5, -1.0]]}),
    ("abs(floor(x) / 2) * 1e20 * y", {"x": -1.5, "y": 2.0}),
    ("sum(inv(A) @ b) + det(A)", {"A": [[0.0, 2.0, 1.0], [0.5, -1.0, 3.0], [1.0, 1.0, 1.0]], "b": [1.0, 2.0, 3.0]}),
    ("sum(solve(A, b) * [1, 2])", {"A": [[0.0, 2.0], [3.0, 1.0]], "b": [1.0, -1.0]}),
    ("det([[x, 1], [1, x]])", {"x": 1.0}),
    ("sum(cholesky(A @ A.T + 3 * eye(2)))", {"A": [[1.0, 2.0], [0.5, -1.0]]}),
    ("sum(cumsum(w) * cumprod(w)) + prod(w)", {"w": [2.0, 0.0, -1.5]}),
    ("sum(logcumsumexp(w)) + var(w) + std(w) + norm(w, ord=3)", {"w": [2.0, 0.0, -1.5]}),
    ("sum(A[:, 0] * A[::-1, 1]) + A[1, 0]", {"A": [[1.0, 2.0], [0.5, -1.0], [4.0, 3.0]]}),
    ("sum(convolve(w, [1, 2])^2)", {"w": [2.0, 0.25, -1.5]}),
    ("w[0] * x % 3 + floor(x) * fmod(x, w[1]) + x // w[1]", {"x": -7.3, "w": [2.0, 1.7]}),
    ("sum(where((A > 0) & (A < 3), A**3, 0)) * any(A > 3)", {"A": [[1.0, 2.0], [0.5, 4.0]]}),
    ("max(A) * min(A) + sum(max(A, axis=0))", {"A": [[1.0, 2.0], [0.5, -1.0]]}),
    ("3 - rsqrt(x) - x / -y * rsqrt(y)", {"x": 0.7, "y": 1.3}),
    ("boxcox(x, y) + boxcox1p(x, 0.5)", {"x": 0.0, "y": 2.0}),
    ("binom(x, y) + poch(y, x)", {"x": 7.3, "y": 165.5}),
    ("mean(sigmoid(A @ w)) + logsumexp(A, axis=1)[0]", {"A": [[1.0, 2.0], [0.5, -1.0]], "w": [0.3, -0.2]}),
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
    ("X * x * sin(T0) * D_X * gradients * dp", dict.fromkeys("X x T0 D_X gradients dp".split(), 1.5)),
    ("mu * \u03bc + \u03b8[1]", {"mu": 2.0, "\u03bc": 3.0, "\u03b8": [5.0, 7.0]}),
    ("end * let * fn * function * i * pi * choose", dict.fromkeys("end let fn function i choose".split(), 2.0)),
    (
        "maximum * x + maximum(x, sign * sign(x)) + exp(divide) / divide",
        dict.fromkeys("maximum x sign divide".split(), 2.0),
    ),
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


def program_of(text):
    return ExpressionProgram(parse(text), text)


def as_arrays(values):
    return {name: np.array(x, float) for name, x in values.items()}


def source_of(text, values, form):
    return generate_code(program_of(text), as_arrays(values), Request(), form).code


def engine_results(text, values):
    """Return the inputs in order, and the value and the elements of the gradients."""
    found = compute_gradient(program_of(text), as_arrays(values), Request())
    parts = [found.value, *(item.grad for item in found.inputs)]
    return [values[item.name] for item in found.inputs], [float(e) for part in parts for e in np.ravel(part)]


def every_function():
    """Yield an expression and values for each elementwise function of one or two inputs that code can compute."""
    for name, entry in full_table().items():
        if (entry.kind == "elementwise" and entry.public and entry.arity < 3) or name == "clip":
            inputs = "xy"[: 1 if name == "clip" else entry.arity]
            text = f"{name}({', '.join([*inputs, *(['0', '1'] if name == 'clip' else [])])}) + pi + log(2) * x"
            values = {n: low + 0.37 * (high - low) for n, (low, high) in zip(inputs, entry.domain, strict=False)}
            with contextlib.suppress(GradcliError):
                source_of(text, values, "python")
                yield text, values


@pytest.mark.parametrize("form", CODE)
def test_code_computes_what_the_engine_computes(form, tmp_path):
    command, runner = RUNNERS[form]
    if command and not shutil.which(command):
        pytest.skip(f"needs {command}")
    cases = [*CASES, *every_function()]
    assert len(cases) >= 95 + len(CASES)
    sources = [source_of(text, values, form) for text, values in cases]
    expected = [engine_results(text, values) for text, values in cases]
    found = runner(tmp_path, sources, [[tuple(inputs)] for inputs, _ in expected])
    for (text, _), (_, right), result in zip(cases, expected, found, strict=True):
        assert np.allclose(result, right, 1e-11, 1e-13, equal_nan=True), f"{text}: {result}, the engine has {right}"


@pytest.mark.parametrize("form", CODE)
def test_every_language_has_its_names(form):
    """Inputs have names of their own in each language; the value and the derivatives are returned in order."""
    for text, values in CLASHES:
        source = source_of(text, values, form)
        assert "value_and_gradient" in source and f"of {text[:9]}" in source


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gammainc(2, x)", "gammainc cannot be written as code"),
        ("bessel_j0(x)", "bessel_j0 cannot be written as code"),
        ("x * 1j", "no complex numbers"),
        ("sort([x, 2*x])[0]", "compares values, but symbols have no values"),
        ("[x, 2*x]", "code need a single number"),
        ("x[x > 1]", "depend on the inputs"),
    ],
)
def test_programs_that_cannot_be_written_as_code(text, message):
    values = {"x": [1.0, 2.0]} if "x[" in text else {"x": 1.5}
    with pytest.raises(GradcliError, match=message) as raised:
        source_of(text, values, "c")
    assert raised.value.hint


def test_size_and_time_are_limited():
    with pytest.raises(GradcliError, match="have 3 elements; code can be written for at most 2"):
        generate_code(program_of("sum(x)"), {"x": np.ones(3)}, Request(max_symbols=2), "c")
    with pytest.raises(GradcliError, match="takes longer than"):
        generate_code(
            program_of("sum(A @ A @ A)"), {"A": np.ones((20, 20))}, Request(timeout=0.01, max_symbols=400), "c"
        )
