"""Terms in index notation: equal terms have equal keys, and operations give the right values."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from gradcli.matrix.index_terms import (
    ONE,
    Atom,
    Factor,
    Index,
    Product,
    Term,
    apply_function,
    as_product,
    assume_symmetric,
    common_factor,
    contract_indices,
    exact_power,
    expand_products,
    inverse_matrix,
    is_symmetric_term,
    multiply_elementwise,
    number_term,
    power_term,
    scale,
    size_term,
    term_of,
)

from .terms import numbers_of

LENGTHS = {"m": 2, "n": 3}
RNG = np.random.default_rng(0)
VALUES = {
    **{"A": RNG.uniform(0.5, 2, (2, 3)), "B": RNG.uniform(0.5, 2, (3, 3)) + 2 * np.eye(3), "x": RNG.uniform(0.5, 2, 3)},
    **{"y": RNG.uniform(0.5, 2, 2), "t": np.array(0.7), "C": RNG.uniform(0.5, 2, (3, 3)) + 2 * np.eye(3)},
}
DIMS = {"A": "mn", "B": "nn", "C": "nn", "x": "n", "y": "m", "t": ""}


def factor(name, *indices):
    return Factor(Atom("input", detail=name), indices)


def whole(name):
    """Return an input as a term with its own axes."""
    axes = [Index(d) for d in DIMS[name]]
    return term_of(factor(name, *axes), axes=axes)


def same(term, expected):
    np.testing.assert_allclose(numbers_of(term, VALUES, LENGTHS), expected, rtol=1e-13)


def test_products_that_differ_only_in_names_and_order_are_merged():
    i, j, k, p = (Index("n") for _ in range(4))
    one = Product(ONE, (factor("B", i, j), factor("x", j)))
    other = Product(ONE, (factor("x", k), factor("B", i, k)))
    turned = Product(ONE, (factor("B", p, i), factor("x", p)))
    term = Term([i], [one, other, turned])
    assert [p.coefficient for p in term.products] == [2, 1]
    same(term, 2 * VALUES["B"] @ VALUES["x"] + VALUES["B"].T @ VALUES["x"])
    assert Term([i], [one, Product(-ONE, other.factors)]).products == ()  # they cancel
    assert Term([i], [one]).key == Term([k], [Product(ONE, (factor("B", k, j), factor("x", j)))]).key


def test_interchangeable_indices_are_compared_in_every_order():
    """Compare triangles of bound indices that start at different corners."""
    a, b, c, d, e, f = (Index("n") for _ in range(6))
    one = Product(ONE, (factor("B", a, b), factor("B", b, c), factor("B", c, a)))
    other = Product(ONE, (factor("B", e, f), factor("B", f, d), factor("B", d, e)))
    against = Product(ONE, (factor("B", a, b), factor("B", b, c), factor("B", a, c)))
    assert len(Term([], [one, other]).products) == 1
    assert len(Term([], [one, against]).products) == 2
    same(Term([], [one, other]), 2 * np.trace(np.linalg.matrix_power(VALUES["B"], 3)))


def test_powers_of_one_factor_are_joined():
    t = factor("t")
    term = Term([], [Product(Fraction(2), (t, t, t._replace(exponent=Fraction(-1, 2))))])
    ((coefficient, (only,)),) = term.products
    assert (coefficient, only.exponent) == (2, Fraction(3, 2))
    assert Term([], [Product(ONE, (t, t._replace(exponent=-ONE)))]).number() == 1


def test_a_delta_is_eliminated():
    i, j, k = (Index("n") for _ in range(3))
    delta = Atom("delta")
    taken = Term([i], [Product(ONE, (Factor(delta, (i, j)), factor("x", j)))])
    assert taken.key == term_of(factor("x", i), axes=[i]).key
    trace = Term([], [Product(ONE, (Factor(delta, (j, k)), Factor(delta, (k, j))))])
    same(trace, 3.0)  # the length of the axis
    square = Term([i, j], [Product(ONE, (Factor(delta, (i, j)), factor("x", i), factor("x", j)))])
    same(square, np.diag(VALUES["x"] ** 2))


def test_a_constant_sum_is_multiplied_by_its_length():
    i, j = Index("m"), Index("n")
    same(contract_indices(Term([i, j], [Product(ONE, (factor("y", i),))]), j), 3 * VALUES["y"])
    same(contract_indices(Term([i, j], [Product(ONE)]), i, j), 6.0)
    assert Term([], [size_term(4)]).number() == 4 and Term([], [size_term("n")]).number() is None


def test_axes_of_length_one_are_interchangeable():
    i, j, k = Index(1), Index(1), Index("m")
    term = Term([i, j, k], [Product(ONE, (factor("y", k),))])
    assert numbers_of(term, VALUES, LENGTHS).shape == (1, 1, 2)


OPERATIONS = {
    "a product": (lambda v: multiply_all(v.A, v.t, v.t), lambda v: v.A * v.t * v.t),
    "a sum times a sum": (
        lambda v: multiply_elementwise((), plus(v.t, 2), plus(v.t, 3)),
        lambda v: (v.t + 2) * (v.t + 3),
    ),
    "a power of a product": (lambda v: power_term(scale(v.A, 4), Fraction(1, 2)), lambda v: np.sqrt(4 * v.A)),
    "a root of an even power": (
        lambda v: power_term(power_term(scale(v.t, -1), Fraction(2)), Fraction(1, 2)),
        lambda v: v.t,
    ),
    "a negative power of a sum": (
        lambda v: power_term(plus(scale(v.t, 6), 4), Fraction(-2)),
        lambda v: (6 * v.t + 4) ** -2.0,
    ),
    "a root of a sum with a factor": (
        lambda v: power_term(plus(scale(v.t, 8), 4), Fraction(1, 2)),
        lambda v: np.sqrt(8 * v.t + 4),
    ),
    "a sum of all elements": (lambda v: contract_indices(v.A, *v.A.axes), lambda v: v.A.sum()),
    "an inverse": (lambda v: inverse_matrix(v.B), lambda v: np.linalg.inv(v.B)),
    "an inverse of a multiple": (
        lambda v: inverse_matrix(multiply_all(scale(v.B, 3), v.t)),
        lambda v: np.linalg.inv(3 * v.t * v.B),
    ),
    "an inverse of a transpose": (
        lambda v: inverse_matrix(Term(v.B.axes[::-1], v.B.products)),
        lambda v: np.linalg.inv(v.B.T),
    ),
    "an inverse of a product": (lambda v: inverse_matrix(dot(v.B, v.C)), lambda v: np.linalg.inv(v.B @ v.C)),
    "an inverse of an inverse": (lambda v: inverse_matrix(inverse_matrix(v.B)), lambda v: v.B),
    "an inverse times its matrix": (lambda v: dot(inverse_matrix(v.B), v.B), lambda v: np.eye(3)),
    "a matrix times its inverse": (lambda v: dot(v.B, inverse_matrix(v.B)), lambda v: np.eye(3)),
    "an inverse times the transpose": (
        lambda v: dot(inverse_matrix(v.B), Term(v.B.axes[::-1], v.B.products)),
        lambda v: np.linalg.inv(v.B) @ v.B.T,
    ),
    "functions": (lambda v: apply_function("exp", v.A.axes, [scale(v.A, -1)]), lambda v: np.exp(-v.A)),
    "sums multiplied out": (
        lambda v: expand_products(multiply_elementwise((), plus(v.t, 2), plus(v.t, 3), v.t)),
        lambda v: (v.t + 2) * (v.t + 3) * v.t,
    ),
}


def plus(term, value):
    return Term(term.axes, [*term.products, *number_term(value).products])


def multiply_all(first, *others):
    return multiply_elementwise(first.axes, first, *others)


def dot(a, b):
    i, j, k = a.axes[0], Index(a.axes[1].dim), Index(b.axes[1].dim)
    return contract_indices(multiply_elementwise((i, j, k), a.with_axes((i, j)), b.with_axes((j, k))), j)


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_match_numpy(name):
    on_terms, on_arrays = OPERATIONS[name]
    same(on_terms(SimpleNamespace(**{n: whole(n) for n in VALUES})), on_arrays(SimpleNamespace(**VALUES)))


def test_terms_are_simplified():
    B, t = whole("B"), whole("t")
    identity = Term(B.axes, [Product(ONE, (Factor(Atom("delta"), B.axes),))])
    assert dot(inverse_matrix(B), B).key == dot(B, inverse_matrix(B)).key == identity.key
    assert inverse_matrix(inverse_matrix(B)).key == B.key and inverse_matrix(identity).key == identity.key
    assert dot(inverse_matrix(dot(B, B)), B).key == inverse_matrix(B).key  # inv(B) inv(B) B
    assert power_term(power_term(t, Fraction(3)), Fraction(1, 3)).key == t.key
    assert power_term(power_term(t, Fraction(2)), Fraction(1, 2)).key != t.key  # |t|
    assert power_term(t, Fraction(0)).number() == 1
    exp = apply_function("exp", [], [t])
    assert multiply_elementwise((), exp, power_term(plus(exp, 1), -ONE)).key == apply_function("sigmoid", [], [t]).key
    assert (
        power_term(plus(apply_function("exp", [], [scale(t, -1)]), 1), -ONE).key
        == apply_function("sigmoid", [], [t]).key
    )
    x = whole("x")
    e = apply_function("exp", x.axes, [x])
    ratio = multiply_elementwise(x.axes, e, power_term(contract_indices(e, *x.axes), -ONE))
    assert [f.atom.op for f in ratio.products[0].factors] == ["softmax"]
    same(ratio, np.exp(VALUES["x"]) / np.exp(VALUES["x"]).sum())


def test_sums_multiplied_out_have_no_parentheses():
    t = whole("t")
    grouped = multiply_elementwise((), plus(t, 2), plus(t, 3))
    assert any(f.atom.op == "group" for p in grouped.products for f in p.factors)
    assert sorted((p.coefficient, len(p.factors)) for p in expand_products(grouped).products) == [
        (1, 1),
        (5, 1),
        (6, 0),
    ]


def test_symmetric_inputs_equal_their_transposes():
    B = whole("B")
    turned = Term(B.axes[::-1], B.products)
    assert not is_symmetric_term(B) and is_symmetric_term(
        Term(B.axes, [*B.products, *turned.with_axes(B.axes).products])
    )
    both = [assume_symmetric(x, frozenset("B")) for x in (B, Term(B.axes, turned.with_axes(B.axes).products))]
    assert both[0].key == both[1].key and is_symmetric_term(both[0])
    assert assume_symmetric(B, frozenset("C")).key == B.key
    assert is_symmetric_term(dot(B, Term(B.axes[::-1], B.products)))  # B B^T


def test_as_product_puts_a_sum_in_parentheses():
    t = whole("t")
    made = as_product(plus(scale(t, -4), 6))
    assert made.coefficient == -2 and [f.atom.op for f in made.factors] == ["group"]  # -2 (2 t - 3)
    same(Term([], [made]), -4 * 0.7 + 6)
    assert as_product(number_term(0)).coefficient == 0
    assert as_product(t) == next(iter(t.products))


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([4, 6], 2),
        ([-4, 6], -2),
        ([Fraction(1, 2), Fraction(3, 4)], Fraction(1, 4)),
        ([Fraction(2, 3), 4], Fraction(2, 3)),
    ],
)
def test_the_common_factor_has_the_sign_of_the_first(numbers, expected):
    assert common_factor(list(map(Fraction, numbers))) == expected


@pytest.mark.parametrize(
    ("base", "exponent", "expected"),
    [
        (Fraction(4, 9), Fraction(1, 2), Fraction(2, 3)),
        (Fraction(8), Fraction(-2, 3), Fraction(1, 4)),
        (Fraction(-2), Fraction(3), Fraction(-8)),
        (Fraction(2), Fraction(1, 2), None),
        (Fraction(-8), Fraction(1, 3), None),
        (Fraction(0), Fraction(-1), None),
        (Fraction(0), Fraction(2), Fraction(0)),
        (Fraction(2), Fraction(10**6), None),  # too many digits to be useful
    ],
)
def test_powers_of_numbers_are_exact_or_none(base, exponent, expected):
    assert exact_power(base, exponent) == expected
