"""Formulas for derivatives of an expression: what each option accepts, and the products that formulas claim."""

import numpy as np
import pytest

from gradcli.claims.claim import CallError
from gradcli.claims.formula import FormulaClaim, FormulaProgram
from gradcli.claims.open import load_program
from gradcli.errors import GradcliError
from gradcli.program.target import Target
from gradcli.request import Request

X = np.array([1.0, 2.0])


def formulas(text, option="grad", given=None, **more):
    """Return the program of an expression, with formulas given to an option."""
    request = Request(**{option: given}, **more)
    return FormulaProgram(load_program(Target(text, request, inline=True)), request)


def names(*asked, **more):
    return list(formulas(*asked, **more).formulas(asked[1] if len(asked) > 1 else "grad"))


@pytest.mark.parametrize(
    ("text", "option", "given", "expected"),
    [
        ("x**2", "grad", "2*x", [("x",)]),
        ("x*y", "grad", ("x=y", "y=x"), [("x",), ("y",)]),
        ("x*y", "grad", "y, x", [("x",), ("y",)]),
        ("x*y", "grad", "[y, x]", [("x",), ("y",)]),
        ("x*y", "grad", "x = y", [("x",)]),
        ("x*y", "jvp", "v_x*y + x*v_y", [("x", "y")]),
        ("x*y", "vjp", "x=v*y", [("x",)]),
        ("x**2", "hess", ("2.0",), [("x", "x")]),
        ("x*y", "hess", ("x=0.0", "x,y=1.0"), [("x", "x"), ("x", "y")]),
        ("a = 2; x*a", "grad", "x=a", [("x",)]),  # uses a name of the program
        ("x*(x==1)", "grad", "x==1", [("x",)]),  # a comparison, not an input's name
        ("x", "grad", None, []),
    ],
)
def test_the_inputs_that_formulas_differentiate_by(text, option, given, expected):
    assert names(text, option, given) == expected


def test_wrt_chooses_the_input_of_a_formula():
    assert names("x*y", "grad", "x", wrt=["y"]) == [("y",)]
    with pytest.raises(GradcliError, match="--grad has no formula for 'y', which --wrt names"):
        names("x*y", "grad", "x=y", wrt=["x", "y"])


@pytest.mark.parametrize(
    ("text", "option", "given", "message"),
    [
        ("x*y", "grad", "y", "--grad: name the input that the formula is for (x, y)"),
        ("x*y", "grad", ("x=y", "x=y"), "--grad: there are two formulas for x"),
        ("x*y", "grad", "z=y", "--grad z=...: the program has no input 'z'"),
        ("x*y", "grad", "x=k", "--grad: the program has no 'k'"),
        ("x*y", "grad", "x,y=1", "--grad takes a derivative with respect to one input, not to x and y"),
        ("x**2", "grad", "x=a=2*x", "--grad a=2*x: a formula must be a single expression"),
        ("x**2", "grad", "2*x; 3", "--grad 2*x; 3: a formula must be a single expression"),
        ("x**2", "grad", "2*", "--grad: "),
        ("x**2", "grad", "v*2*x", "--grad: the program has no 'v'"),  # only --vjp and --jvp have a vector
        ("v*x", "vjp", "x=v", "v is the vector in --vjp, but also a name in the program"),
        ("x*y", "jvp", "v*y", "--jvp: the program has no 'v'"),  # with two inputs, v is ambiguous
        ("2+3", "grad", "1", "the program has no inputs"),
    ],
)
def test_formulas_that_are_refused(text, option, given, message):
    with pytest.raises(GradcliError) as raised:
        names(text, option, given)
    assert raised.value.message.startswith(message)


def claim(text, at, option, given, **more):
    asked = formulas(text, option, given)
    return FormulaClaim(asked, at, asked.formulas(option).values(), **more)


def test_a_gradient_may_use_names_of_the_program():
    made = claim("k = x*y; sin(k) + k", {"x": 0.5, "y": 2.0}, "grad", ("x=(cos(k) + 1)*y", "y=(cos(k) + 1)*x"))
    assert made.value_here() == pytest.approx(np.sin(1) + 1, rel=1e-15)
    whole = made.whole(made.at)
    assert [whole[name] for name in "xy"] == pytest.approx([2 * (np.cos(1) + 1), 0.5 * (np.cos(1) + 1)], rel=1e-15)
    assert claim("x*y", {"x": 1.0, "y": 2.0}, "grad", "y=x").wrt == ["y"]


def test_products_take_vectors_by_name():
    at = {"A": np.array([[1.0, 2.0], [3.0, 4.0]]), "x": X}
    pulled = claim("A @ x", at, "vjp", ("A=v[:, None]*x", "x=A.T @ v"))
    v = np.array([1.0, -1.0])
    found = pulled.pull(at, v)
    assert found["x"].tolist() == [-2, -2] and found["A"].tolist() == [[1, 2], [-1, -2]]
    pushed = claim("A @ x", at, "jvp", "v_A @ x + A @ v_x")
    assert pushed.push(at, {"x": v}).tolist() == [-1, -1]  # the tangent of A is 0
    assert claim("sin(x)", {"x": X}, "jvp", "cos(x)*v").push({"x": X}, {"x": v}) == pytest.approx(np.cos(X) * v)


def test_values_at_many_points_equal_those_at_single_points():
    made = claim("sum(x**2)*y", {"x": X, "y": 3.0}, "grad", "x=2*x*y")
    stacks = {"x": np.array([[1.0, 2.0], [0.0, 1.0], [3.0, 4.0]])}
    assert made.values(stacks, 3, made.value_here()).tolist() == [15, 3, 75]
    assert made.budget.made == 1 + 3


def test_elementwise_and_complex_formulas():
    diagonal = claim("x**2", {"x": X}, "grad", "2*x", elementwise=True)
    assert diagonal.whole({"x": X})["x"].tolist() == [[2, 0], [0, 4]]
    at = {"z": np.array(1 + 2j)}
    block = claim("z**2", at, "grad", "2*z").whole(at)["z"]  # for re and im: conj(f') and i conj(f')
    assert block.tolist() == [2 - 4j, 1j * (2 - 4j)]
    with pytest.raises(CallError, match=r"the gradient of 'x' has shape \(2,\); it must have shape \(2, 2\)"):
        claim("x**2", {"x": X}, "grad", "2*x").whole({"x": X})


def test_an_error_in_a_formula_names_the_option():
    with pytest.raises(CallError, match="--grad: "):
        claim("x @ x", {"x": X}, "grad", "x @ [1, 2, 3]").whole({"x": X})
