"""Results as rows, documents and exit codes: names of elements, locations of nan, fields of JSON documents."""

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.sparse import coo_array

from gradcli.errors import GradcliError
from gradcli.results.base import (
    Gradients,
    Hessian,
    InputGradient,
    Jacobian,
    Products,
    Value,
    check_finite,
    declare,
    dense_arrays,
    document_of,
    exit_code_of,
    label,
    labels,
    nan_in,
    rows_of,
)

X, Y = np.array([1.0, 2.0]), np.float64(3.0)


def gradients(x=X, y=Y, **more):
    """Return a result with gradients x and y of inputs of the same shapes."""
    inputs = tuple(InputGradient(name, np.zeros(np.shape(g)), g) for name, g in (("x", x), ("y", y)))
    return Gradients("t", np.float64(5.0), inputs, {}, **more)


def jacobian(blocks, **more):
    return Jacobian("t", np.zeros(2), {"x": np.zeros(2), "y": np.zeros(())}, blocks, **more)


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0), (1, 1, 2), (12,)])
def test_there_is_a_label_for_each_element_in_order(shape):
    assert labels("x", shape) == [label("x", index) for index in np.ndindex(shape)]


def test_a_label_has_the_index_in_brackets():
    assert [label("x", index) for index in [(), (2,), (0, 11), ("loss", 1)]] == ["x", "x[2]", "x[0,11]", "x[loss,1]"]


def test_rows_of_gradients_have_the_last_axis_fastest():
    found = list(rows_of(gradients(np.array([[1.0, 2.0], [3.0, 4.0]]))))
    assert found == [("x[0,0]", 1.0), ("x[0,1]", 2.0), ("x[1,0]", 3.0), ("x[1,1]", 4.0), ("y", 3.0)]
    assert next(iter(rows_of(gradients(with_value=True)))) == ("value", 5.0)
    missing = Gradients("t", None, (InputGradient("x", X, None),), {"k": np.float64(7.0)}, with_value=True)
    assert list(rows_of(missing)) == [("x", None), ("k", 7.0)]  # a missing value has no row, a missing gradient has


def test_rows_of_jacobians_name_output_and_input():
    dense = jacobian({"x": np.array([[1.0, 2.0], [3.0, 4.0]]), "y": np.array([5.0, 6.0])}, output="z")
    assert list(rows_of(dense)) == [
        *[(("z[0]", "x[0]"), 1.0), (("z[0]", "x[1]"), 2.0), (("z[1]", "x[0]"), 3.0), (("z[1]", "x[1]"), 4.0)],
        *[(("z[0]", "y"), 5.0), (("z[1]", "y"), 6.0)],
    ]


def test_a_sparse_jacobian_has_rows_only_for_its_entries():
    sparse = jacobian({"x": coo_array((np.array([7.0]), ([1], [0])), shape=(2, 2))})
    assert not sparse.is_dense and dense_arrays(sparse) == {}
    assert list(rows_of(sparse)) == [(("out[1]", "x[0]"), 7.0)]
    document = sparse.jacobian["x"]
    assert (document["shape"], document["row"].tolist(), document["data"].tolist()) == ((2, 2), [1], [7.0])


def test_a_formula_is_in_the_row_of_its_number():
    formulas = (SimpleNamespace(name="y", texts=np.array("2*y")),)
    assert list(rows_of(gradients(symbolic=formulas))) == [("x[0]", 1.0, ""), ("x[1]", 2.0, ""), ("y", 3.0, "2*y")]


def test_rows_of_a_hessian_name_pairs_of_inputs():
    block = {"x": {"x": np.array(2.0), "y": np.array(1.0)}, "y": {"x": np.array(1.0), "y": np.array(0.0)}}
    result = Hessian("t", np.float64(1.0), {"x": np.zeros(()), "y": np.zeros(())}, block)
    assert list(rows_of(result)) == [(("x", "x"), 2.0), (("x", "y"), 1.0), (("y", "x"), 1.0), (("y", "y"), 0.0)]
    assert result.whole.tolist() == [[2, 1], [1, 0]]
    assert result._replace(inputs={"x": np.zeros(1), "y": np.zeros(())}).whole is None


def test_a_product_has_its_kind_as_key():
    tangents = Products("t", "jvp", X, {"z": np.array([3.0, 4.0])}, "z")
    assert document_of(tangents)["jvp"].tolist() == [3, 4]  # of the output's shape
    pulled = Products("t", "vjp", X, {"x": X}, "z")
    assert list(document_of(pulled)["vjp"]) == ["x"]  # by input


class Part(NamedTuple):
    name: str
    size: int


@declare(json="size=part.size name kept? other? parts{} seconds~2 *part")
class Whole(NamedTuple):
    part: Part
    name: str
    seconds: float
    parts: tuple[Part, ...] = ()
    kept: Any = None
    other: Any = ()


def test_a_document_follows_its_declaration():
    whole = Whole(Part("p", 3), "w", 0.123456, (Part("a", 1), Part("b", 2)), kept=0)
    assert document_of(whole) == {
        **{"size": 3, "name": "p", "kept": 0, "seconds": 0.12},  # *part comes last: its name replaces that of whole
        "parts": {"a": Part("a", 1), "b": Part("b", 2)},
    }
    assert document_of(Part("p", 3)) == {"name": "p", "size": 3}  # without a declaration: all fields
    assert document_of(whole, "shown=name kept") == {"shown": "w", "kept": 0}


@pytest.mark.parametrize("empty", [None, "", (), {}])
def test_optional_fields_that_are_empty_are_left_out(empty):
    assert "kept" not in document_of(Whole(Part("p", 3), "w", 0.0, kept=empty))


@pytest.mark.parametrize("kept", [0, 0.0, False, "x", (0,)])
def test_optional_fields_with_a_value_stay(kept):
    assert document_of(Whole(Part("p", 3), "w", 0.0, kept=kept))["kept"] == kept


NO = SimpleNamespace(agrees=False, name="x")


@pytest.mark.parametrize(
    ("result", "code"),
    [
        (gradients(), 0),
        (gradients(symbolic=(NO,)), 1),
        *((gradients(check=SimpleNamespace(verdict=v)), c) for v, c in [("pass", 0), ("fail", 1), ("error", 3)]),
        (gradients(check=SimpleNamespace(verdict="inconclusive")), 4),
        (gradients(symbolic=(NO,), check=SimpleNamespace(verdict="inconclusive")), 1),
        (SimpleNamespace(exit_code=3), 3),
    ],
)
def test_exit_codes_are_those_of_the_contract(result, code):
    assert exit_code_of(result) == code


NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("result", "text", "refused"),
    [
        (gradients(), None, None),
        (Value("t", np.array([1.0, NAN])), "the value contains nan", "the value is not finite: value[1] is nan"),
        (
            gradients(np.array([1.0, NAN])),
            "the gradient of x contains nan",
            "the gradient of x is not finite: x[1] is nan",
        ),
        (gradients(y=np.float64(-INF)), None, "the gradient of y is -inf"),
        (gradients(y=None), None, None),
        (
            jacobian({"x": np.array([[1.0, 2.0], [NAN, 4.0]])}),
            "the block of x contains nan first at out[1]/x[0]",
            "the block of x is not finite: out[1]/x[0] is nan",
        ),
        (
            jacobian({"x": coo_array((np.array([1.0, NAN]), ([0, 1], [0, 1])), shape=(2, 2))}),
            "the block of x contains nan first in row 1, column 1",
            "the block of x is not finite: row 1, column 1 is nan",
        ),
        (
            Products("t", "hvp", Y, {"x": np.array([NAN])}),
            "the hvp for x contains nan",
            "the hvp for x is not finite: x[0]",
        ),
        (SimpleNamespace(), None, None),
    ],
)
def test_nan_and_infinity_are_reported_with_their_location(result, text, refused):
    assert nan_in(result) == text
    if refused is None:
        check_finite(result)
    else:
        with pytest.raises(GradcliError) as raised:
            check_finite(result)
        assert raised.value.message.startswith(refused) and raised.value.exit_code == 1


def test_high_precision_numbers_may_exceed_the_range_of_floats():
    block = gradients()._replace(inputs=(InputGradient("x", X, np.array(["1e999", "nan"])),))
    assert nan_in(block) == "the gradient of x contains nan"  # 1e999 exceeds the range of floats, but is finite
    assert list(dense_arrays(block)) == []


@pytest.mark.parametrize(
    ("grads", "name"),
    [
        ({"x": None}, "x.grad"),
        ({"x": np.zeros(2)}, "x.grad"),
        ({"x": np.array([1.0, NAN])}, "x.grad"),
        ({"x": None, "y": np.zeros(1), "z": np.ones(1)}, "x.grad and 1 more"),
        ({"x": np.array([0.0, 1.0])}, None),
        ({"x": np.zeros(0)}, None),  # no elements: nothing is zero
    ],
)
def test_notes_suggest_why_if_gradients_are_none_zero_or_nan(grads, name):
    inputs = tuple(InputGradient(key, np.zeros(2), g) for key, g in grads.items())
    result = Gradients("s.py", np.float64(1.0), inputs, {}, why="gradcli why s.py")
    expected = () if name is None else (f"'gradcli why s.py' finds the cause of {name} being none, zero or nan",)
    assert result.notes == expected
    assert result._replace(why="").notes == ()


def test_equal_notes_of_inputs_are_combined():
    inputs = tuple(InputGradient(name, X, X, note) for name, note in [("a", "changed"), ("b", ""), ("c", "changed")])
    assert Gradients("t", np.float64(1.0), inputs, {}).notes == ("a, c: changed",)


def test_a_script_without_gradients_points_to_its_last_backward():
    (note,) = Gradients("t", None, (InputGradient("x", X, None),), {}).notes
    assert "every .grad is none" in note and "gradcli trace --pass last" in note
    assert Gradients("t", None, (InputGradient("x", X, X),), {}).notes == ()
