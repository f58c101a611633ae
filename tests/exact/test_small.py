"""Twenty digits are right in results much smaller than the numbers they come from, and zero is exact."""

import mpmath
import pytest

from gradcli.analysis.precision import gradient_in_digits
from gradcli.claims.open import load_program
from gradcli.lang.values import read_values
from gradcli.program.target import Target
from gradcli.request import Request

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
    ("sinc(x)", "1e-100", 1, -(MP.pi**2) * TINY / 3),
    ("log(cosh(x))", "1e-100", MP.log(MP.cosh(TINY)), MP.tanh(TINY)),
    ("(1 - cos(x))/x^2", "1e-100", MP.mpf("0.5"), -TINY / 12),
    ("1 + x - 1", "1e-100", TINY, MP.mpf(1)),
    ("sin(pi*x)", "600", MP.mpf(0), MP.pi),
    ("sin(pi*x)", "1e-100", MP.sin(MP.pi * TINY), MP.pi * MP.cos(MP.pi * TINY)),
    ("x*exp(-x)", "800", 800 * MP.exp(-800), -799 * MP.exp(-800)),
    ("relu(x)", "-3", MP.mpf(0), MP.mpf(0)),
    ("x - x", "0.1", MP.mpf(0), MP.mpf(0)),
    ("floor(x)", "2.5", MP.mpf(2), MP.mpf(0)),
    ("log(x)", "0", None, MP.inf),
    ("1/x", "0", None, -MP.inf),
    ("sqrt(x)", "0", None, MP.inf),
]


@pytest.mark.parametrize(("text", "at", "value", "slope"), CASES, ids=[f"{c[0]} at {c[1]}" for c in CASES])
def test_twenty_digits(text, at, value, slope):
    program = load_program(Target(text, inline=True))
    settings = Request()
    found = gradient_in_digits(program, lambda: read_values((f"x={at}",), settings), Request(), 20)
    for got, true in ((found.value, value), (found.parts["x"], slope)):
        if true is not None:
            number = MP.mpf(str(got[()]))
            assert number == true or abs(number - true) <= 1e-19 * abs(true), (str(number), MP.nstr(MP.mpf(true), 25))
