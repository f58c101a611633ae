"""LaTeX of results: numbers, arrays as matrices, and derivatives on the left side."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import coo_array

from gradcli.results.base import Gradients, Hessian, InputGradient, Jacobian, Products, Value
from gradcli.results.formats import Style, render
from gradcli.results.studies import Derivative, FormulaMatrix, Formulas, LongNumbers, PrintedFormula
from gradcli.show.latex import latex_array, latex_names, latex_number, partial


def written(result, precision=None):
    return render(result, "latex", Style(precision)).splitlines()


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (2.0, "2.0"),
        (1e-7, r"1 \times 10^{-7}"),
        (-2.5e300, r"-2.5 \times 10^{300}"),
        (1e16, r"1 \times 10^{16}"),
        (np.inf, r"\infty"),
        (-np.inf, r"-\infty"),
        (np.nan, r"\mathrm{nan}"),
        (1 - 2j, r"1.0-2.0\,\mathrm{i}"),
        (3e-8 + 1j, r"3 \times 10^{-8}+1.0\,\mathrm{i}"),
        ("x^{2}", "x^{2}"),
    ],
)
def test_a_number(x, text):
    assert latex_number(x, None) == text


def test_arrays_are_columns_and_matrices():
    assert latex_array(np.array([1.0, 2.0]), None) == r"\begin{bmatrix} 1.0 \\ 2.0 \end{bmatrix}"
    assert latex_array(np.array([[1.0, 2.0], [3.0, 4.0]]), 3) == r"\begin{bmatrix} 1 & 2 \\ 3 & 4 \end{bmatrix}"
    inner = r"\begin{bmatrix} 1 \end{bmatrix}"
    assert latex_array(np.ones((2, 1, 1)), 3) == rf"\left[{inner},\; {inner}\right]"
    assert (latex_array(np.array(1 / 3), 2), latex_array(None, None)) == ("0.33", r"\text{none}")


@pytest.mark.parametrize(
    ("name", "left"),
    [
        ("x", r"\frac{\partial f}{\partial x}"),
        ("x1", r"\frac{\partial f}{\partial x_{1}}"),
        ("x[0,1]", r"\frac{\partial f}{\partial x_{0,1}}"),
        ("x1[0]", r"\frac{\partial f}{\partial {x_{1}}_{0}}"),  # two subscripts in a row are an error in LaTeX
        ("theta", r"\frac{\partial f}{\partial \theta}"),
        ("rate", r"\frac{\partial f}{\partial \mathrm{rate}}"),
        ("a_b", r"\frac{\partial f}{\partial \mathrm{a\_b}}"),
        ("x/y", r"\frac{\partial^{2} f}{\partial x \,\partial y}"),
        ("x/x", r"\frac{\partial^{2} f}{\partial x^{2}}"),
        ("x/y/x", r"\frac{\partial^{3} f}{\partial x^{2} \,\partial y}"),
    ],
)
def test_a_partial_derivative(name, left):
    assert partial(name) == left


def test_up_to_twelve_names_of_elements_are_listed():
    assert (latex_names("x", ()), latex_names("x", (1,)), latex_names("x", (2,))) == ("x", "x_{0}", "(x_{0}, x_{1})")
    assert latex_names("x", (13,)) == r"(x_{0}, x_{1}, x_{2}, \dots, x_{12})"
    assert latex_names("x", (3, 4)).count(",") == 11 + 12  # between twelve names, and one in each index


FORMULA = SimpleNamespace(name="x", latex=np.array("2 x", object), agrees=True, texts=np.array("2*x"))


def test_gradients_with_formulas():
    result = Gradients("t", np.array(9.0), (InputGradient("x", np.array(3.0), np.array(6.0)),), {}, "y")
    left = r"\frac{\partial y}{\partial x}"
    assert written(result) == ["y = 9.0", f"{left} = 6.0"]
    assert written(result._replace(symbolic=(FORMULA,)))[1] == f"{left} = 2 x = 6.0"
    wrong = SimpleNamespace(**{**vars(FORMULA), "agrees": False})
    assert written(result._replace(symbolic=(wrong,)))[1] == rf"{left} = 2 x \neq 6.0"
    assert written(result._replace(value=None)) == [f"{left} = 6.0"]


def test_a_jacobian_has_a_row_for_each_output():
    block = np.arange(6.0).reshape(3, 2)
    dense = Jacobian("t", np.zeros(3), {"x": np.zeros(2)}, {"x": block})
    (line,) = written(dense, 3)
    assert line == (
        r"\frac{\partial (f_{0}, f_{1}, f_{2})}{\partial (x_{0}, x_{1})} = "
        r"\begin{bmatrix} 0 & 1 \\ 2 & 3 \\ 4 & 5 \end{bmatrix}"
    )
    assert written(dense._replace(blocks={"x": coo_array(block)}), 3) == [line]
    square = Jacobian("t", np.zeros((2, 1)), {"x": np.zeros((1, 2))}, {"x": np.arange(4.0).reshape(2, 1, 1, 2)})
    assert written(square, 3)[0].endswith(r"= \begin{bmatrix} 0 & 1 \\ 2 & 3 \end{bmatrix}")


def test_a_hessian_is_one_matrix_for_scalars_and_blocks_for_arrays():
    second = {"x": {"x": np.array(2.0), "y": np.array(1.0)}, "y": {"x": np.array(1.0), "y": np.array(0.0)}}
    result = Hessian("t", np.array(1.0), dict.fromkeys("xy", np.array(0.0)), second)
    assert written(result, 2) == [r"\nabla^{2} f = \begin{bmatrix} 2 & 1 \\ 1 & 0 \end{bmatrix}"]
    formulas = tuple(
        SimpleNamespace(name=f"{a}/{b}", latex=np.array(f"{a}{b}", object), agrees=True) for a in "xy" for b in "xy"
    )
    assert written(result._replace(symbolic=formulas), 2)[0].startswith(
        r"\nabla^{2} f = \begin{bmatrix} xx & xy \\ yx & yy \end{bmatrix} = "
    )
    one = Hessian("t", np.array(1.0), {"x": np.zeros(1)}, {"x": {"x": np.array([[2.0]])}})
    assert written(one, 2) == [r"\frac{\partial^2 f}{\partial x_{0}\, \partial x_{0}} = 2"]


@pytest.mark.parametrize(("kind", "sign"), [("vjp", r"v^\top J"), ("jvp", "J v"), ("hvp", "H v")])
def test_products_name_their_factors(kind, sign):
    result = Products("t", kind, np.array(1.0), {"x1": np.array(5.0)})
    assert written(result) == [rf"\left({sign}\right)_{{x_{{1}}}} = 5.0"]


def derivative(name, latex, value=None):
    return Derivative(name, PrintedFormula(latex, latex), value)


def formulas(*derivatives, **more):
    return Formulas("t", (), derivatives, 1, **more)


def test_formulas():
    one = formulas(derivative("x", "2 x", "6.0"), single=True)
    assert written(one) == [r"\frac{d f}{d x} = 2 x = 6.0"]
    assert written(one._replace(single=False, function="loss")) == [
        r"\frac{\partial \mathrm{loss}}{\partial x} = 2 x = 6.0"
    ]
    assert written(one._replace(steps=(PrintedFormula("", "a = b"), PrintedFormula("", "c = d")))) == ["a = b", "c = d"]
    entries = ((derivative("", "1"), derivative("", "0")), (derivative("", "x"), derivative("", "y")))
    square = FormulaMatrix("jacobian", ("[0]", "[1]"), ("x", "y"), entries)
    assert written(formulas(matrix=square)) == [
        r"\frac{\partial (f_{0}, f_{1})}{\partial (x, y)} = \begin{bmatrix} 1 & 0 \\ x & y \end{bmatrix}"
    ]
    assert written(formulas(matrix=square._replace(kind="hessian")))[0].startswith(r"\nabla^{2} f = \begin{bmatrix} 1")


def test_formulas_in_matrix_form_have_bold_arrays():
    shapes = {"A": ("m", "n"), "t": (), "beta": ("n",)}
    gradient = formulas(derivative("A", "B"), derivative("t", "1"), kind="gradient", shapes=shapes)
    assert written(gradient) == [r"\frac{\partial f}{\partial \mathbf{A}} = B", r"\frac{\partial f}{\partial t} = 1"]
    second = formulas(derivative("beta/beta", "C"), derivative("A/t", "D"), kind="hessian", shapes=shapes)
    assert written(second) == [
        r"\frac{\partial^{2} f}{\partial \boldsymbol{\beta}\, \partial \boldsymbol{\beta}^\top} = C",
        r"\frac{\partial^{2} f}{\partial \mathbf{A} \partial t} = D",
    ]
    (line,) = written(formulas(derivative("A", "B"), kind="jacobian", shapes=shapes))
    assert line == r"\frac{\partial \mathbf{f}}{\partial \mathbf{A}} = B"


def test_high_precision_numbers_are_not_rounded():
    result = LongNumbers("t", 20, np.array("1.5"), {"x": np.array(["0.1", "0.2"]), "k": None})
    assert written(result, 2) == [
        r"\frac{\partial f}{\partial x_{0}} = 0.1",
        *[r"\frac{\partial f}{\partial x_{1}} = 0.2", r"\frac{\partial f}{\partial k} = \text{none}"],
    ]
    assert written(result._replace(parts={}), 1) == ["f = 1.5"]
    assert written(Value("t", np.array(1.25), "y"), 2) == ["y = 1.2"]
