"""Matrix formulas are built in their shortest form."""

from fractions import Fraction

from gradcli.matrix.form import ONE, Form, chain, cost, factors_of, literal, product_form, split_scalars, transpose_form

A, B, S = Form("name", (), "A", 2), Form("name", (), "B", 2), Form("name", (), "S", 2, symmetric=True)
x, t = Form("name", (), "x", 1), Form("name", (), "t", 0)


def test_products_combine_equal_factors_and_numbers():
    assert product_form(ONE, [(A, ONE)]) == A
    assert product_form(ONE, [(A, ONE), (A, -ONE)]) == literal(1)
    assert product_form(Fraction(0), [(A, ONE)]) == literal(0)
    joined = product_form(Fraction(2), [(t, ONE), (literal(3), ONE), (t, Fraction(2))])
    assert factors_of(joined) == (6, {t: 3})
    assert factors_of(product_form(ONE, [(joined, Fraction(2)), (A, ONE)])) == (36, {t: 6, A: 1})
    assert split_scalars(product_form(Fraction(5), [(t, ONE), (A, ONE)])) == (5, [(t, ONE)], A)


def test_a_transpose_moves_inward():
    assert transpose_form(transpose_form(A)) == A
    assert transpose_form(S) == S and transpose_form(t) == t
    assert transpose_form(transpose_form(x)) == x and transpose_form(x).rank == 2
    assert transpose_form(chain(A, B)) == chain(transpose_form(B), transpose_form(A))
    assert transpose_form(chain(A, S)) == chain(S, transpose_form(A))


def test_a_chain_is_flat_with_its_scalars_outside():
    assert chain(chain(A, B), x) == chain(A, chain(B, x)) == chain(A, B, x)
    assert chain(A, x).rank == 1 and chain(x, A, x).rank == 0
    doubled = product_form(Fraction(2), [(t, ONE), (A, ONE)])
    assert factors_of(chain(doubled, B)) == (2, {t: 1, chain(A, B): 1})
    assert cost(chain(A, B)) > cost(A)
