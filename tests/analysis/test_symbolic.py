"""Formulas in their most readable form."""

import pytest
import sympy

from gradcli.analysis.symbolic import kink_at, shortest_form


@pytest.mark.parametrize(
    "text", ["1/(x**2+1) - 2*x**2/(x**2+1)**2", "x**2/s**4*exp(-x**2/s) - exp(-x**2/s)/s**2", "2*x*cos(x) + 2*x"]
)
def test_the_shortest_form_has_the_same_values(text):
    expr = sympy.sympify(text)
    short = shortest_form(expr)
    assert sympy.count_ops(short) <= sympy.count_ops(expr)
    for point in ({"x": sympy.Rational(3, 7), "s": 2}, {"x": -3, "s": sympy.Rational(5, 3)}):
        assert sympy.simplify((short - expr).subs(point)) == 0


def test_the_shortest_form_keeps_its_poles():
    x = sympy.Symbol("x")
    expr = x / (x - 1) ** 2 - 1 / (x - 1) ** 2  # equals 1/(x - 1), and both have a pole at 1
    assert sympy.fraction(shortest_form(expr))[1].subs(x, 1) == 0
    assert shortest_form(0.1 * x + 0.2 * x**2) == 0.1 * x + 0.2 * x**2


def test_a_note_at_a_kink_gives_the_slopes_on_both_sides():
    x = sympy.Symbol("x")
    slope = sympy.Piecewise((-1, x < 0), (3, True))
    assert kink_at(slope, {x: sympy.Integer(0)}) == (
        "at a kink: the slopes on both sides are -1 and 3; the formula gives 3"
    )
    assert kink_at(slope, {x: sympy.Rational(1, 10)}) is None
    assert kink_at(2 * x, {x: sympy.Integer(0)}) is None
