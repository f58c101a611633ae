"""Formulas as text: printed formulas evaluate to the same number."""

import re

import numpy as np
import pytest
import sympy
from scipy.special import betainc

from gradcli.claims.open import load_program
from gradcli.exact.printing import join_cube_root, latex, text, with_decimals
from gradcli.exact.symbolic import maximum, minimum
from gradcli.program.target import Target

X, Y = sympy.symbols("x y", real=True)
X01, W2 = sympy.Symbol("x[0,1]", real=True), sympy.Symbol("w[2]", real=True)


def in_language(formula, **values):
    """Print a formula and evaluate it with the engine."""
    program = load_program(Target(text(formula), inline=True))
    return program.run({name: np.array(x) for name, x in values.items()}, wrt=[]).output.item()


FORMULAS = [
    (sympy.sqrt(X) * sympy.exp(-Y) / 3, None),
    (sympy.Rational(1, 3) * X**2 - X / Y, None),
    (sympy.Abs(X - Y) * sympy.ceiling(Y) + sympy.floor(X), None),
    (sympy.loggamma(X) + sympy.digamma(Y) + sympy.polygamma(1, X), None),
    (sympy.besselj(0, X) + sympy.bessely(1, Y) + sympy.besseli(1, X) + sympy.besselk(0, Y), None),
    (sympy.airyai(X) * sympy.airyaiprime(X) + sympy.Ei(Y), None),
    (sympy.expint(1, X) + sympy.zeta(X + 2), None),
    (sympy.uppergamma(Y, X) + 2 * sympy.lowergamma(Y, X), None),
    (sympy.erf(X) * sympy.erfc(Y) + sympy.erfi(X), None),
    (sympy.polylog(2, -X), None),
    (sympy.betainc_regularized(X, Y, 0, sympy.Rational(1, 3)), lambda x, y: betainc(x, y, 1 / 3)),
    (sympy.pi * X + sympy.E, None),
    (sympy.Piecewise((X**2, X < Y), (Y, True)), None),
    (sympy.Piecewise((X, sympy.And(X > 0, Y > 5)), (Y, sympy.Or(X > 3, Y > 1)), (1, True)), None),
    (sympy.Piecewise((X, sympy.Not(X > 1)), (Y, True)), None),
    (sympy.sign(X) * sympy.atan2(X, Y) + sympy.acosh(Y) + sympy.asin(X), None),
    (maximum(X, Y) + 10 * minimum(X, Y), lambda x, y: y + 10 * x),
    (maximum(X, Y, 1), lambda x, y: max(x, y, 1)),
    (sympy.sympify("-x**2 - (x - 1)**(-2)", {"x": X}), None),
]


@pytest.mark.parametrize(("formula", "value"), FORMULAS)
def test_a_printed_formula_has_the_same_value(formula, value):
    at = {"x": 0.3, "y": 1.7}
    given = {name: x for name, x in at.items() if name in {s.name for s in formula.free_symbols}}
    expected = sympy.N(formula.subs({X: at["x"], Y: at["y"]}), 25) if value is None else value(**at)
    assert in_language(formula, **given) == pytest.approx(float(expected), rel=1e-12)


def test_constants_of_the_language():
    printed = [text(x) for x in (sympy.oo, -sympy.oo, sympy.E, sympy.I, sympy.zoo)]
    assert printed == ["inf", "-inf", "e", "1j", "inf"]
    assert text(sympy.Piecewise((X, X > 0))) == "where(x > 0, x, nan)"  # no other piece exists


def test_terms_with_pieces_have_a_fixed_order():
    pieces = [sympy.Piecewise((i * X, i < X), (0, True)) for i in range(1, 6)]
    printed = text(sympy.Add(*pieces))
    assert printed == text(sympy.Add(*pieces[::-1])) and re.findall(r"x > (\d)", printed) == list("12345")


def test_long_fractions_are_printed_as_decimals_if_exact():
    decimal = sympy.Rational("1.0507009873554804934")
    assert text(with_decimals(decimal * X)) == "1.0507009873554804934*x"
    third = sympy.Rational(10**20, 3)
    assert with_decimals(third) == third and with_decimals(sympy.Rational(1, 8) * X) == X / 8


@pytest.mark.parametrize(
    ("formula", "written"),
    [
        (X01**2, r"x_{0,1}^{2}"),
        (sympy.Symbol("theta1") * 2, r"2 \theta_{1}"),
        (sympy.Symbol("rate") / 2, r"\frac{\mathrm{rate}}{2}"),
        (sympy.sqrt(2) * sympy.sqrt(sympy.pi) * X, r"x \sqrt{2 \pi}"),
        (sympy.sqrt(2) / (2 * sympy.sqrt(sympy.pi)), r"\frac{1}{\sqrt{2 \pi}}"),
        (maximum(X, Y), r"\max\left(x, y\right)"),
    ],
)
def test_latex(formula, written):
    assert latex(formula) == written


def test_cube_roots_of_negative_numbers_are_real():
    root = sympy.sign(X) * sympy.Abs(X) ** sympy.Rational(1, 3)
    assert latex(root) == r"\sqrt[3]{x}"
    assert join_cube_root(3 * root) == 3 * sympy.cbrt(X)
    assert latex(sympy.Abs(X) ** sympy.Rational(1, 3)) != r"\sqrt[3]{x}"  # without the sign, it is a different function
