"""Object arrays of exact numbers work with NumPy's functions, both in symbols and in many digits."""

import numpy as np
import pytest
import sympy

from gradcli.exact.field import ExactArray, Field, Literal, as_plain, compile_twin, exact, exact_numbers, unbox
from gradcli.exact.multiprecision import Multiprecision
from gradcli.exact.record import exactly
from gradcli.exact.symbolic import Symbolic
from gradcli.rules import entry
from gradcli.rules.exact import NoTwinError

DIGITS = 40


@pytest.fixture(params=["digits", "symbols"])
def field(request):
    """A field in which operations compute during the test."""
    made = Multiprecision(DIGITS) if request.param == "digits" else Symbolic()
    with exactly(made):
        yield made


def as_float(x):
    return np.array([complex(e) for e in as_plain(x).ravel()]).reshape(np.shape(x))


VALUES = np.array([[0.25, 1.5, -0.5], [2.0, -3.0, 0.75]])
FUNCTIONS = [
    np.sin, np.exp, np.abs, np.negative, np.square, np.floor, lambda x: np.sqrt(abs(x)),
    *(lambda x: x + 1, lambda x: 2 * x - x / 4, lambda x: x**2, lambda x: x @ x.T, lambda x: x.T[0]),
    *(lambda x: x.sum(axis=0), lambda x: np.cumsum(x, axis=1), lambda x: x.max(axis=1), np.prod),
    *(lambda x: np.where(x > 0, x, 0 * x), lambda x: np.concatenate([x, x]), lambda x: np.maximum(x, 0.5)),
    *(lambda x: np.sort(x, axis=1), lambda x: np.take(x, [2, 0], axis=1), lambda x: np.einsum("ij,kj->ik", x, x)),
    *(lambda x: x[x > 0], lambda x: x[..., None] * x[:, None], lambda x: np.outer(x, x), lambda x: np.stack([x, x], 1)),
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: getattr(f, "__name__", "f"))
def test_numpy_functions_return_exact_arrays(function, field):
    found = function(exact_numbers(field, VALUES))
    assert isinstance(found, ExactArray) and all(map(field.is_element, as_plain(found).ravel()))
    np.testing.assert_allclose(as_float(found), function(VALUES), rtol=1e-15)


@pytest.mark.parametrize("compare", [np.less, np.greater_equal, np.equal, np.isnan, np.isfinite, np.signbit])
def test_comparisons_of_numbers_are_booleans(compare, field):
    x = exact_numbers(field, VALUES)
    found = compare(x, 0.25) if compare.nin == 2 else compare(x)
    expected = compare(VALUES, 0.25) if compare.nin == 2 else compare(VALUES)
    assert found.dtype == bool
    np.testing.assert_array_equal(found, expected)


def test_elements_can_be_set(field):
    x = exact_numbers(field, np.zeros((2, 2)))
    x[0, 1] = exact_numbers(field, 3.0)
    x[1] = exact_numbers(field, [4.0, 5.0])
    np.testing.assert_array_equal(as_float(x), [[0, 3], [4, 5]])
    assert isinstance(x[0, 1], ExactArray) and x[0, 1].shape == ()
    np.add(x, x, out=x)
    np.testing.assert_array_equal(as_float(x), [[0, 6], [8, 10]])


def test_real_and_imaginary_parts(field):
    z = exact_numbers(field, [1 + 2j, 3 - 1j])
    assert z.is_complex and not exact_numbers(field, VALUES).is_complex
    np.testing.assert_array_equal(as_float(z.real), [1, 3])
    np.testing.assert_array_equal(as_float(z.imag), [2, -1])
    x = exact_numbers(field, VALUES)
    assert x.real is x and not as_float(x.imag).any()


def test_decimal_literals_are_exact(field):
    """0.1 in a program is a tenth, not the nearest float."""
    assert field.number(10) * field.number(Literal(0.1, "0.1")) - 1 == 0
    pi = as_plain(exact_numbers(field, Literal(np.pi, "pi"))).item()
    assert str(sympy.N(pi, 35)) == "3.1415926535897932384626433832795029"


def test_values_that_are_not_exact_are_left_alone():
    plain = np.array([1, 2])
    assert exact(plain) is plain and exact("text") == "text" and exact((1, [2])) == (1, [2])
    with exactly(Multiprecision(20)) as arithmetic:
        made = exact((np.array([arithmetic.field.number(1)], object), arithmetic.field.number(2)))
    assert [type(part) for part in made] == [ExactArray, ExactArray] and made[1].shape == ()
    nested = np.empty(2, object)
    nested[0], nested[1] = np.array(3), 4
    assert unbox(nested).tolist() == [3, 4] and type(unbox(nested)[0]) is int


def test_twins_are_compiled_with_their_parameters():
    code, names = compile_twin("a*sin(x) + Piecewise((x, x > b), (-x, True))", ("x",), frozenset({"sin"}), True)
    assert names == ("a", "b")
    assert eval(code, {"sin": np.sin})(0.5, 2, 0.3) == 2 * np.sin(0.5) + 0.5
    assert eval(code, {"sin": np.sin})(0.2, 2, 0.3) == 2 * np.sin(0.2) - 0.2


def test_pieces_that_are_not_chosen_are_not_evaluated():
    code, _ = compile_twin("Piecewise((1/x, x > 0), (x, True))", ("x",), frozenset(), True)
    assert eval(code)(0) == 0


def test_an_entry_without_a_twin_raises(field):
    primitive = entry("nextafter")
    with pytest.raises(NoTwinError, match="nextafter has no formula"):
        field.twin(primitive, {})


def test_default_conditions_of_a_field():
    class Floats(Field):
        number = staticmethod(float)

    made = Floats()
    assert made.is_condition(True) and not made.is_condition(1.0)
    assert (made.choose(True, 1, 2), made.choose(False, 1, 2), made.as_number(True), made.decide(0)) == (
        1,
        2,
        1.0,
        False,
    )
