"""Formulas in the form that people read."""

import pytest
import sympy

from gradcli.analysis.symbolic import shortest_form


@pytest.mark.parametrize(
    "text", ["1/(x**2+1) - 2*x**2/(x**2+1)**2", "x**2/s**4*exp(-x**2/s) - exp(-x**2/s)/s**2", "2*x*cos(x) + 2*x"]
)
def test_the_form_to_read_has_the_same_values(text):
    expr = sympy.sympify(text)
    short = shortest_form(expr)
    assert sympy.count_ops(short) <= sympy.count_ops(expr)
    for point in ({"x": sympy.Rational(3, 7), "s": 2}, {"x": -3, "s": sympy.Rational(5, 3)}):
        assert sympy.simplify((short - expr).subs(point)) == 0


def test_no_form_to_read_has_fewer_poles():
    x = sympy.Symbol("x")
    expr = x / (x - 1) ** 2 - 1 / (x - 1) ** 2  # is 1/(x - 1), and both have a pole at 1
    assert sympy.fraction(shortest_form(expr))[1].subs(x, 1) == 0
    assert shortest_form(0.1 * x + 0.2 * x**2) == 0.1 * x + 0.2 * x**2
