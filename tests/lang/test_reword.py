"""Messages of NumPy and Python in the words of the language, and hints for syntax from other languages."""

import operator

import numpy as np
import pytest

import gradcli
from gradcli.errors import GradcliError
from gradcli.lang.parse import parse
from gradcli.lang.reword import (
    INSTEAD,
    call_hint,
    called_number_hint,
    keyword_as_name,
    kinds_of,
    module_hint,
    no_value_hint,
    readable_message,
    syntax_hint,
    written_instead,
)


def raised(function, *args):
    """Return the exception that a call raises."""
    with pytest.raises(Exception) as caught:  # any error of NumPy or Python
        function(*args)
    return caught.value


T = gradcli.tensor([1.0, 2.0])
FAILING = [  # a function that fails in NumPy, Python or the engine, its operands, and the message to the user
    (np.bitwise_and, (1.5, 2), "bitwise_and is not defined for real and whole numbers"),
    (np.subtract, (np.array([True]), np.array([True])), "- is not defined for booleans; use not, != or where(...)"),
    (np.floor, (1j,), "floor is not defined for complex numbers"),
    (operator.add, (1.0, None), "None is not a number"),
    (operator.add, (1.0, (1, 2)), "a tuple is not an array; write a list: [1, 2]"),
    (operator.mul, (1.0, slice(3)), "a slice is not a number"),
    (operator.getitem, (3.0, 0), "this operation does not accept such operands"),
    (range, (1.5,), "a whole number is needed here"),
    (int, (np.nan,), "a whole number is needed here, not NaN"),
    (int, (np.inf,), "a whole number is needed here, not infinity"),
    (np.max, (np.zeros(0),), "an empty array has no maximum"),
    (np.zeros, (-1,), "a length cannot be negative"),
    (np.broadcast_to, (np.zeros(3), (2,)), None),
    (np.array, ([[1, 2], [3]],), "the rows must have the same length"),
    (np.zeros, ([1] * 70,), "an array has at most 64 axes"),
    (
        operator.getitem,
        (np.zeros(3), "a"),
        "an index must be a whole number in bounds, a slice, ..., None or an array of those",
    ),
    (operator.index, (1.5,), "a whole number is needed here"),
    (np.zeros, ((1 << 40, 1 << 40),), "this value would be too large"),
    (iter, (gradcli.tensor(1.0),), "a list of arrays is needed, not a number"),
    (bool, (T,), "a single number is needed, not an array"),
    (np.correlate, (np.zeros((2, 2)), np.zeros((2, 2))), "an array with fewer axes is needed"),
    (int, ("1" * 5000,), "a number has too many digits"),
]


@pytest.mark.parametrize(("function", "operands", "text"), FAILING, ids=[str(k) for k in range(len(FAILING))])
def test_messages_of_numpy_and_python(function, operands, text):
    found = readable_message(raised(function, *operands), operands)
    assert found == text if text else ("remapped" not in found and "(2,)" in found)


def test_only_the_first_line_is_kept():
    assert readable_message(ValueError("first \nsecond")) == "first"
    assert readable_message(ValueError()) == "ValueError"
    assert (
        readable_message(RuntimeError("ValueError: shapes (2,) and (3,) do not fit"))
        == "shapes (2,) and (3,) do not fit"
    )


def test_kinds_of_numbers():
    assert kinds_of((1, 2.5, 1j, np.True_, T, "text")) == "whole and real and complex and boolean"
    assert kinds_of(("text",)) == "such"


def hint_of(text):
    """Return the hint for a text that cannot be parsed."""
    with pytest.raises(GradcliError) as caught:
        parse(text)
    return caught.value.hint or ""


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("2 × x", "multiplication is *"),
        ("x ÷ y", "division is /"),
        ("x − 1", "minus is -"),
        ("x²", "a power is x**2"),
        ("√x", "a square root is sqrt(x)"),
        ("x ≤ 1", "write <="),
        ("x && y", "write a and b, or a & b"),
        ("x || y", "write a or b, or a | b"),
        ("|x|", "an absolute value is abs(x); a logical or is a | b"),
        ("x ? 1 : 2", "write a choice as: a if condition else b"),
        ("x!", "write not a, or a != b; a factorial is gamma(x + 1)"),
        ("$x$", "write formulas plainly"),
        ("2x", "a product needs *: 2*x"),
        ("2 x", "a product needs *: 2*x"),
        ("x y", "a product needs *: 2*x"),
        ("[2x, 1]", "a product needs *: 2*x"),
        ("[[1, 2], [3 x]]", "separate elements with commas"),
        ("linspace(0 1 5)", "separate elements with commas"),
        ("1 000", "write a number without blanks, as in 1000"),
        ("x^2 = y", "write only the formula, as in x**2, or assign it to a name"),
        ("sin x", "put the argument in brackets: sin(x)"),
        ("(x + 1", "add the bracket that closes it"),
        ("x + 1)", "brackets come in pairs"),
        ("2i*x", "the imaginary unit is j, after a number: 2j"),
        ("x mod 2", "a remainder is x % 2"),
        ("if (x > 0) x else y", "write a choice as: a if condition else b"),
        ("y = if(x > 0, x, 1)", "write a choice as: a if condition else b"),
        ("if(x > 0, x, 1)", "write a choice as: a if condition else b"),
        ("f(x) = x**2", "write only the formula, as in x**2, or assign it to a name"),
        ("x + * 2", "write an expression such as x**2 * sin(y)"),
        ("sin'(x)", "'gradcli grad' prints a derivative"),
        ("x = 1\n  y = 2", "lines must not be indented"),
    ],
)
def test_hints_for_other_spellings(text, hint):
    assert hint_of(text).startswith(hint)


def test_an_incomplete_expression_needs_no_hint():
    with pytest.raises(GradcliError, match="the expression is incomplete") as caught:
        parse("x +")
    assert caught.value.hint is None


def test_a_valid_sign_gets_no_hint():
    assert syntax_hint("some other message", "x | y", 2) is None
    assert syntax_hint("some other message", "x × y", 2) == "multiplication is *"  # never valid in a program


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [("lambda*2", 1, "lambda"), ("a = 1\nx*in + 2", 2, "in"), ("x + y", 1, None), ("x.lambda + (", 1, None)],
)
def test_python_keywords_as_names(text, line, word):
    found = keyword_as_name(text, line)
    assert (None if found is None else found.group()) == word


@pytest.mark.parametrize("name", INSTEAD)
def test_suggested_replacements_are_in_the_language(name):
    hint = written_instead(name)
    assert hint == f"write {INSTEAD[name]}"
    parse(INSTEAD[name])


def test_hints_for_well_known_names():
    assert "gradcli symbolic" in written_instead("Derivative") and written_instead("sin") is None
    assert (
        no_value_hint("np", "np.sin(x)") == no_value_hint("torch", "torch") == "functions need no module name: sin(x)"
    )
    assert no_value_hint("exp", "exp + 1") == "call a function with round brackets: exp(x)"
    assert no_value_hint("norm", "norm(x) + norm") == "call a function with round brackets: norm(x)"
    assert no_value_hint("norm", "2*norm.cdf(x)") == module_hint("stats", "stats.norm.cdf(x)") == "write ndtr(x)"
    assert no_value_hint("x", "x.cdf(y)") is None


def test_hints_for_calls():
    def hint(text):
        return call_hint(parse(text).statements[0].value)

    assert hint("max(x, y)").startswith("for two operands, use maximum(x, y)")
    assert hint("min(x, y)").startswith("for two operands, use minimum(x, y)")
    assert hint("log(x, 2)") == "log is the natural logarithm; for base 2, write log(x)/log(2)"
    assert "differences of neighbours" in hint("diff(x)")
    assert [hint(text) for text in ("max(x)", "log(x)", "sin(x, y)", "x + y")] == [None] * 4
    assert called_number_hint("3") == "a product needs *: 3*(x + 1)"
    assert called_number_hint("sin^") == called_number_hint("y + sin**") == "write a power of a function as sin(x)**2"
