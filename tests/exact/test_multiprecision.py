"""Numbers of many digits: every digit is right, even with cancellation, at poles, on branches and at kinks."""

import mpmath
import numpy as np
import pytest

from gradcli.exact.field import Literal
from gradcli.exact.multiprecision import Multiprecision, is_single, numeric_slope, settle
from gradcli.exact.record import exactly
from gradcli.rules import entry

DIGITS = 30
MP = mpmath.MPContext()
MP.dps = 60


@pytest.fixture
def field():
    return Multiprecision(DIGITS)


def close(number, expected):
    expected = MP.mpmathify(expected)
    assert abs(MP.mpmathify(number) - expected) <= MP.mpf(10) ** (2 - DIGITS) * abs(expected), (number, expected)


def test_floats_are_read_as_decimals_or_exactly():
    close(Multiprecision(DIGITS).number(0.1), "0.1")
    close(Multiprecision(DIGITS, decimal=False).number(0.1), MP.mpf(0.1))
    assert Multiprecision(DIGITS).number(0.1) != Multiprecision(DIGITS, decimal=False).number(0.1)


def test_numbers_of_every_type(field):
    mp = field.context
    for x, expected in [(3, 3), (np.int8(3), 3), (np.True_, 1), (np.float32(0.5), 0.5), (Literal(2.5, "2.5"), 2.5)]:
        assert isinstance(field.number(x), mp.mpf) and field.number(x) == expected
    assert field.number(1 + 2j) == mp.mpc(1, 2) and field.number(field.number(3)) == 3
    close(field.number(Literal(np.pi, "pi")), MP.pi)
    close(field.number(Literal(np.e, "e")), MP.e)
    assert field.as_float(field.number(0.25)) == 0.25 and field.as_float(field.number(1j)) is None
    assert field.parts(field.number(1 - 2j)) == (1, -2) and field.parts(3.0) == (3, 0)
    assert [field.is_element(x) for x in (field.number(1), field.number(1j), 1.0, "1")] == [True, True, False, False]


def twin(field, name, *xs, **params):
    function, more = field.twin(entry(name), params)
    return function(*(field.number(x) for x in xs), *(x.item() for x in more))


VALUES = [  # function, operands, right result
    ("log1p", ["1e-80"], MP.log1p),
    ("expm1", ["1e-80"], MP.expm1),
    ("logaddexp", ["1e-70", "-200"], lambda x, y: MP.log(MP.exp(x) + MP.exp(y))),
    ("sinc", ["1e-50"], lambda x: MP.sin(MP.pi * x) / (MP.pi * x)),
    ("hypot", ["1e-60", "1"], lambda x, y: MP.sqrt(x * x + y * y)),
    ("sigmoid", ["500"], lambda x: 1 / (1 + MP.exp(-x))),
    ("erfc", ["20"], MP.erfc),
    ("gammaln", ["0.001"], MP.loggamma),
    ("digamma", ["2.5"], MP.digamma),
    ("cbrt", ["-27"], lambda x: -3),
]


@pytest.mark.parametrize(("name", "operands", "right"), VALUES, ids=[row[0] for row in VALUES])
def test_every_digit_of_a_function_is_right(name, operands, right, field):
    xs = [Literal(float(x), x) for x in operands]
    with MP.workdps(250):
        expected = right(*(MP.mpf(x) for x in operands))
        close(twin(field, name, *xs), expected)


def test_poles_and_branches_are_as_in_floating_point(field):
    mp = field.context
    assert twin(field, "log", 0) == -mp.inf and twin(field, "reciprocal", 0) in (mp.inf, -mp.inf)
    assert mp.isnan(twin(field, "log", -1)) and mp.isnan(twin(field, "sqrt", -1)) and mp.isnan(twin(field, "arccos", 2))
    assert twin(field, "sqrt", -1 + 0j) == mp.mpc(0, 1)  # a complex operand has a complex result
    assert mp.isnan(twin(field, "maximum", np.nan, 1))


def slope(field, name, *xs, place=0, **params):
    with exactly(field):
        operands = tuple(field.input_array("x", x) for x in xs)
        return np.asarray(field.partial(entry(name), place, operands, params), object).item()


SLOPES = [
    ("sin", ["0.7"], 0, MP.cos),
    ("log1p", ["1e-80"], 0, lambda x: 1 / (1 + x)),
    ("tanh", ["300"], 0, lambda x: 1 / MP.cosh(x) ** 2),
    ("sigmoid", ["-300"], 0, lambda x: MP.exp(x) / (1 + MP.exp(x)) ** 2),
    ("power", ["1e-100", "3"], 0, lambda x, y: 3 * x**2),
    ("power", ["2", "0.5"], 1, lambda x, y: x**y * MP.log(x)),
    ("arctan2", ["0.3", "-0.4"], 1, lambda x, y: -x / (x * x + y * y)),
    ("multiply", ["0", "2.5"], 0, lambda x, y: y),
]


@pytest.mark.parametrize(("name", "operands", "place", "right"), SLOPES, ids=[f"{r[0]} by {r[2]}" for r in SLOPES])
def test_every_digit_of_a_derivative_is_right(name, operands, place, right, field):
    xs = [Literal(float(x), x) for x in operands]
    with MP.workdps(250):
        close(slope(field, name, *xs, place=place), right(*(MP.mpf(x) for x in operands)))


def test_derivatives_of_complex_functions_are_conjugate(field):
    z = 0.3 + 0.4j
    close(slope(field, "exp", z), MP.conj(MP.exp(MP.mpc("0.3", "0.4"))))
    found = slope(field, "absolute", 3 + 4j)  # not holomorphic: dL/dRe + i dL/dIm
    close(found, MP.mpc("0.6", "0.8"))


@pytest.mark.parametrize(
    ("name", "xs", "place", "expected"),
    [
        ("absolute", [0.0], 0, 0),
        ("relu", [0.0], 0, 0),
        ("maximum", [2.0, 2.0], 0, 0.5),
        ("floor", [2.0], 0, 0),
        ("cbrt", [0.0], 0, np.inf),
    ],
)
def test_kinks_and_jumps_have_the_slope_of_the_table(name, xs, place, expected, field):
    assert slope(field, name, *xs, place=place) == expected


def test_a_numeric_slope_is_none_where_undefined(field):
    mp = field.context
    close(numeric_slope(mp, mp.sin, mp.mpf(1)), MP.cos(1))
    for function in (abs, mp.sign, mp.sqrt, lambda x: mp.sign(x) * mp.cbrt(abs(x))):
        assert numeric_slope(mp, function, mp.mpf(0)) is None
    close(numeric_slope(mp, lambda x: mp.exp(3000 * x), mp.mpf(1)), 3000 * MP.exp(3000))  # large and finite


def test_digits_are_added_until_the_result_settles(field):
    mp = field.context
    close(settle(mp, lambda: (1 + mp.mpf("1e-50")) - 1), "1e-50")
    assert settle(mp, lambda: mp.sin(mp.pi)) == 0  # shrinks with every digit added, so it is rounding
    assert settle(mp, lambda: mp.mpf(1) - 1) == 0 and settle(mp, lambda: None) is None
    assert settle(mp, lambda: mp.inf) == mp.inf
    assert mp.dps == DIGITS  # the precision is restored


@pytest.mark.parametrize(
    ("twin", "single"),
    [
        *[("sin(x)", True), ("x + y", True), ("x*sin(y)", True), ("1 + x*y", False), ("log(1 + x)", False)],
        *[("exp(x) - 1", False), (None, False), ("sin(2)*x**2", True), ("erf(sin(x))", False)],
    ],
)
def test_formulas_that_cannot_cancel(twin, single):
    assert is_single(twin) == single
