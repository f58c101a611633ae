"""Derivatives from textbooks: what sympy finds by running the program equals the known formula."""

import numpy as np
import pytest
import sympy

from gradcli.analysis.precision import gradient_in_digits
from gradcli.analysis.symbolic import Symbols, derivatives_of_order
from gradcli.lang.parse import parse
from gradcli.program.expression import ExpressionProgram
from gradcli.request import Request

# program, input, derivative with respect to that input
SCALARS = [
    ("x**n", "x", "n * x**(n - 1)"),
    ("a**x", "x", "log(a) * a**x"),
    ("sin(x)**2 + cos(x)**2", "x", "0 * x"),
    ("x**x", "x", "x**x * (log(x) + 1)"),
    ("log(x + sqrt(x**2 + 1))", "x", "1 / sqrt(1 + x**2)"),
    ("exp(-x**2 / 2) / sqrt(2 * pi)", "x", "-x * exp(-x**2 / 2) / sqrt(2 * pi)"),
    ("x * log(x) - x", "x", "log(x)"),
    # log-densities: normal, exponential, gamma, Laplace (away from its kink), Cauchy, Poisson
    ("-((x - m) / s)**2 / 2 - log(s) - log(2 * pi) / 2", "s", "((x - m)**2 - s**2) / s**3"),
    ("log(r) - r * x", "r", "1 / r - x"),
    ("a * log(b) - gammaln(a) + (a - 1) * log(x) - b * x", "a", "log(b) - digamma(a) + log(x)"),
    ("-abs(x - m) / b - log(2 * b)", "m", "sign(x - m) / b"),
    ("-log(pi) - log(1 + x**2)", "x", "-2 * x / (1 + x**2)"),
    ("k * log(l) - l - gammaln(k + 1)", "l", "k / l - 1"),
]
# program, shapes, input, gradient in NumPy's notation
MATRICES = [
    ("trace(A @ X)", {"A": (2, 3), "X": (3, 2)}, "X", "A.T"),
    ("x @ A @ x", {"x": (3,), "A": (3, 3)}, "x", "(A + A.T) @ x"),
    ("logdet(A @ A.T + eye(2))", {"A": (2, 2)}, "A", "2 * inv(A @ A.T + eye(2)) @ A"),
    ("det(A)", {"A": (3, 3)}, "A", "det(A) * inv(A).T"),
    ("trace(inv(A))", {"A": (2, 2)}, "A", "-(inv(A) @ inv(A)).T"),
    ("sum((A @ x - b)**2)", {"A": (3, 2), "x": (2,), "b": (3,)}, "x", "2 * A.T @ (A @ x - b)"),
    ("-log_softmax(x)[1]", {"x": (3,)}, "x", "exp(x) / exp(x).sum() - array([0, 1, 0])"),
    ("norm(x)", {"x": (3,)}, "x", "x / norm(x)"),
    ("u @ solve(A, w)", {"u": (2,), "A": (2, 2), "w": (2,)}, "A", "-outer(solve(A.T, u), solve(A, w))"),
]


def expression(text):
    return ExpressionProgram(parse(text), text, Request())


@pytest.mark.parametrize(("text", "name", "expected"), SCALARS, ids=[case[0] for case in SCALARS])
def test_scalar(text, name, expected):
    ((_, _, (found,)),) = derivatives_of_order(Symbols(expression(text), {}, Request(wrt=[name])), 1)
    known = Symbols(expression(expected), {}, Request()).output.item()
    rng = np.random.default_rng(1)
    for _ in range(3):
        point = {s: sympy.Rational(round(float(rng.uniform(0.3, 2.5)), 3)) for s in (found - known).free_symbols}
        assert abs(sympy.N((found - known).xreplace(point), 30)) < 1e-25


@pytest.mark.parametrize(("text", "shapes", "name", "expected"), MATRICES, ids=[case[0] for case in MATRICES])
def test_matrix_identity(text, shapes, name, expected):
    rng = np.random.default_rng(2)
    values = {n: np.round(rng.uniform(0.5, 2.0, shape), 2) for n, shape in shapes.items()}
    wanted = eval(expected, {**vars(np), **vars(np.linalg), **values})
    symbols = Symbols(expression(text), values, Request(wrt=[name]))
    ((_, shape, exprs),) = derivatives_of_order(symbols, 1)
    point = {
        sympy.Symbol(f"{n}[{','.join(map(str, i))}]", real=True): sympy.Rational(repr(float(v[i])))
        for n, v in values.items()
        for i in np.ndindex(v.shape)
    }
    found = np.array([float(sympy.N(e.xreplace(point), 20)) for e in exprs]).reshape(shape)
    assert np.allclose(found, wanted, 1e-11, 1e-12)
    digits = gradient_in_digits(expression(text), lambda: values, Request(wrt=[name]), 30).parts[name]
    assert np.allclose(digits.astype(float), wanted, 1e-11, 1e-12)
