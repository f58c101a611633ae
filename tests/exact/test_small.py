"""Twenty digits are right where the number is small beside what it comes from, and zero is zero."""

from __future__ import annotations

import mpmath
import pytest

from gradcli.analysis.digits import gradient_in_digits
from gradcli.analysis.gradient import Request
from gradcli.lang.settings import Settings
from gradcli.lang.values import read_values
from gradcli.program.target import Target, load_program

MP = mpmath.MPContext()
MP.dps = 1500
TINY = MP.mpf("1e-100")
CASES = [
    ("logaddexp(x, 1)", "738", None, 1 / (1 + MP.exp(-737))),
    ("logaddexp(1, x)", "-736", None, 1 / (1 + MP.exp(737))),
    ("log1p(x)", "1e-100", MP.log1p(TINY), 1 / (1 + TINY)),
    ("expm1(x)", "1e-100", MP.expm1(TINY), MP.exp(TINY)),
    ("expm1(x)", "-600", MP.expm1(-600), MP.exp(-600)),
    ("softplus(x)", "-800", MP.log1p(MP.exp(-800)), 1 / (1 + MP.exp(800))),
    ("tanh(x)", "-600", MP.tanh(-600), 1 / MP.cosh(600) ** 2),
    ("sigmoid(x)", "800", 1 / (1 + MP.exp(-800)), MP.exp(-800) / (1 + MP.exp(-800)) ** 2),
    ("x^3", "1e-150", MP.mpf("1e-450"), MP.mpf("3e-300")),
    ("x^2", "1e-300", MP.mpf("1e-600"), MP.mpf("2e-300")),
    ("sinc(x)", "1e-100", 1, None),
    ("log(cosh(x))", "1e-100", MP.log(MP.cosh(TINY)), MP.tanh(TINY)),
    ("(1 - cos(x))/x^2", "1e-100", MP.mpf("0.5"), -TINY / 12),
    ("1 + x - 1", "1e-100", TINY, MP.mpf(1)),
    ("sin(pi*x)", "600", MP.mpf(0), MP.pi),
    ("sin(pi*x)", "1e-100", MP.sin(MP.pi * TINY), MP.pi * MP.cos(MP.pi * TINY)),
    ("x*exp(-x)", "800", 800 * MP.exp(-800), -799 * MP.exp(-800)),
    ("relu(x)", "-3", MP.mpf(0), MP.mpf(0)),
    ("x - x", "0.1", MP.mpf(0), MP.mpf(0)),
    ("floor(x)", "2.5", MP.mpf(2), MP.mpf(0)),
]


@pytest.mark.parametrize(("text", "at", "value", "slope"), CASES, ids=[f"{c[0]} at {c[1]}" for c in CASES])
def test_twenty_digits(text, at, value, slope):
    program = load_program(Target(text, inline=True))
    settings = Settings()
    found = gradient_in_digits(program, lambda: read_values((f"x={at}",), settings), Request(), 20)
    for got, true in ((found.value, value), (found.parts["x"], slope)):
        if true is not None:
            assert abs(MP.mpf(str(got[()])) - true) <= 1e-19 * abs(true), (str(got[()]), MP.nstr(MP.mpf(true), 25))


def test_slope_of_sinc_near_zero():
    program = load_program(Target("sinc(x)", inline=True))
    found = gradient_in_digits(program, lambda: read_values(("x=1e-100",), Settings()), Request(), 20)
    assert abs(MP.mpf(str(found.parts["x"][()])) / (-(MP.pi**2) * TINY / 3) - 1) < 1e-19


def test_poles_stay():
    for text, slope in (("log(x)", "inf"), ("1/x", "-inf"), ("sqrt(x)", "inf")):
        program = load_program(Target(text, inline=True))
        found = gradient_in_digits(program, lambda: read_values(("x=0",), Settings()), Request(), 20)
        assert str(found.parts["x"][()]) == slope
