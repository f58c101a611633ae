"""The interface of claims: shapes are checked, calls are counted, and errors name what failed."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import gradcli
from gradcli.claims.claim import (
    CallBudget,
    CallError,
    Capabilities,
    Claim,
    ComplexError,
    OutOfCallsError,
    Progress,
    WrongShapeError,
    as_kind_of_input,
    as_point,
    callable_name,
    failing_as,
    free_name,
    in_shape,
    nearby_point,
    plain_array,
    second_order,
)
from gradcli.errors import GradcliError, TimeIsUp


class Squares(Claim):
    """x*x*y for an array x and a number y, with its derivative."""

    capabilities = Capabilities(vjp=True, jvp=True)

    def evaluate(self, arrays):
        self.budget.made += 1
        if arrays["y"] == 13:
            raise CallError("unlucky")
        return arrays["x"] ** 2 * arrays["y"]

    def vjp(self, arrays, cotangent):
        x, y = arrays["x"], arrays["y"]
        return {"x": 2 * x * y * cotangent, "y": np.sum(cotangent * x * x)}

    def jvp(self, arrays, tangents):
        return 2 * arrays["x"] * arrays["y"] * tangents["x"]


def claim(**more):
    return Squares("squares", {"x": [1.0, 2.0], "y": 3.0}, **more)


def test_a_claim_has_values_and_products():
    made = claim()
    assert made.value_here().tolist() == [3, 12] and made.value_here() is made.here
    assert made.budget.made == 1  # at the claim's own point f is called only once
    assert made.output(made.at) is made.here and made.output({**made.at, "y": np.array(1.0)}).tolist() == [1, 4]
    products = made.pull(made.at, np.array([1.0, 1.0]))
    assert products["x"].tolist() == [6, 12] and products["y"] == 5
    assert made.push(made.at, {"x": np.array([1.0, 0.0])}).tolist() == [6, 0]


def test_products_must_have_the_shape_of_their_input():
    made = claim()
    made.vjp = lambda arrays, cotangent: {"x": np.ones((2, 1)), "y": 1.0}
    with pytest.raises(WrongShapeError, match=r"the gradient of 'x' has shape \(2, 1\); it must have shape \(2,\)"):
        made.pull(made.at, np.ones(2))
    made.jvp = lambda arrays, tangents: 1.0
    with pytest.raises(WrongShapeError, match="the derivative along a direction has shape"):
        made.push(made.at, {})


def test_only_gradients_named_by_wrt_are_pulled():
    assert list(claim(wrt=["y"]).pull(claim().at, np.ones(2))) == ["y"]


def test_values_at_many_points_are_nan_where_the_function_fails():
    made = claim()
    rows = made.values({"y": np.array([1.0, 13.0, 2.0])}, 3, made.value_here())
    np.testing.assert_array_equal(rows, [[1, 4], [np.nan, np.nan], [2, 8]])
    assert made.trouble == "unlucky"
    other = made.moved({"y": np.array(4.0)})
    assert (other.trouble, other.here, other.at["x"].tolist()) == (None, None, [1, 2])
    assert made.at["y"] == 3 and other.budget is made.budget


def test_a_different_output_shape_nearby_is_reported():
    made = claim()
    made.evaluate = lambda arrays: np.zeros(int(arrays["y"]))
    rows = made.values({"y": np.array([2.0, 3.0])}, 2, np.zeros(2))
    assert not np.isnan(rows[0]).any() and np.isnan(rows[1]).all()
    assert made.trouble == "the function returns shape (2,) here and float64 (3,) nearby"


@pytest.mark.parametrize(
    ("wrt", "message", "hint"),
    [
        (["z"], "wrt names 'z', which is not an input; the inputs are x, n, b", None),
        (["n"], "'n' holds int64, which has no derivative", "write 3.0 instead of 3"),
        (["b"], "'b' holds bool, which has no derivative", None),
    ],
)
def test_inputs_without_a_derivative_are_refused(wrt, message, hint):
    made = Claim("f", {"x": 1.0, "n": 3, "b": True}, wrt)
    with pytest.raises(CallError) as raised:
        made.check_wrt()
    assert (raised.value.message, raised.value.hint) == (message, hint)
    assert Claim("f", {"x": 1.0}).wrt == ["x"]


def test_a_budget_says_how_many_calls_are_needed():
    budget = CallBudget(made=7, allowed=10)
    budget.require(3)
    with pytest.raises(OutOfCallsError) as raised:
        budget.require(4)
    assert raised.value.needed == 4
    assert CallBudget(made=10**9).left == np.inf
    made = claim()
    made.budget.allowed = 1
    with pytest.raises(OutOfCallsError):
        made.values({"y": np.ones(2)}, 2, np.zeros(2))
    assert made.budget.made == 0  # refused before the first call
    assert made.value_here().tolist() == [3, 12]  # the one call that is left
    with pytest.raises(OutOfCallsError):
        made.value(made.at)


def test_capabilities_are_determined_only_when_they_are_read():
    asked = []
    found = Capabilities(vjp=lambda: asked.append("vjp") or True)
    assert asked == []
    assert (found.pull, found.push, asked) == (True, False, ["vjp"])


def test_progress_is_reported_to_the_callback():
    reported = []
    progress = Progress(lambda *what: reported.append(what))
    progress.report_progress("call", 3, 10)
    progress.report_partial("2 passed")
    assert reported == [("call", 3, 10), ("", 0, 0, "2 passed")]
    Progress().report_progress("call", 1, 1)  # without a callback


def test_a_point_is_a_copy_and_keeps_its_type():
    x = np.ones(2, np.float32)
    point = as_point("x", x)
    point[0] = 7
    assert x[0] == 1 and point.dtype == np.float32
    assert as_point("n", [1, 2]).dtype == np.int64
    assert as_point("t", gradcli.tensor([1.0], requires_grad=True)).tolist() == [1.0]
    for wrong in ("text", None, [[1, 2], [3]], object()):
        with pytest.raises(CallError, match="the value of 'x' is not an array of numbers"):
            as_point("x", wrong)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (2, 2.0),
        ([True, False], [1.0, 0.0]),
        (csr_matrix([[0.0, 3.0]]), [[0.0, 3.0]]),
        (gradcli.tensor([1.0], requires_grad=True), [1.0]),
        (np.array([1, 2.5], object), [1.0, 2.5]),
        (1j, 1j),
    ],
)
def test_results_are_plain_arrays_of_numbers(result, expected):
    found = plain_array(result, "f")
    assert found.tolist() == expected and found.dtype.kind in "fc"


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, "f returned None"),
        ("text", "f returned str of type <U4, not numbers"),
        ([[1, 2], [3]], "f returned list, which is not an array"),
        ({"x": 1}, "f returned dict of type object, not numbers"),
    ],
)
def test_results_that_are_not_numbers_are_errors(result, message):
    with pytest.raises(CallError) as raised:
        plain_array(result, "f")
    assert raised.value.message.startswith(message) and raised.value.exit_code == 3


def test_in_shape_names_both_shapes():
    assert in_shape([1.0, 2.0], (2,), "g").tolist() == [1, 2]
    with pytest.raises(WrongShapeError, match=r"g has shape \(2,\); it must have shape \(\)"):
        in_shape([1.0, 2.0], (), "g")


def test_gradients_of_real_inputs_are_real_up_to_rounding():
    real, wide = np.ones(2), np.ones(2, complex)
    assert as_kind_of_input(np.array([2 + 1e-12j, 0]), real, "x").dtype == np.float64
    assert as_kind_of_input(np.array([2 + 1e-6j], np.complex64), real, "x").dtype == np.float32
    assert as_kind_of_input(np.array([2 + 1j]), wide, "x").tolist() == [2 + 1j]
    for wrong in (2 + 1e-6j, 1j, complex(0, np.nan)):
        with pytest.raises(ComplexError, match="'x' is real"):
            as_kind_of_input(np.array([wrong]), real, "x")


def test_an_exception_becomes_an_error_that_names_the_function():
    def failing(error):
        with failing_as("g"):
            raise error

    for error, message in [
        (ZeroDivisionError("by 0"), "g raised ZeroDivisionError: by 0"),
        (SystemExit(3), "g exited with status 3"),
        (GradcliError("known"), "known"),
        (CallError("as it is"), "as it is"),
    ]:
        with pytest.raises(CallError) as raised:
            failing(error)
        assert raised.value.message == message
    for ending in (KeyboardInterrupt(), TimeIsUp()):
        with pytest.raises(type(ending)):
            failing(ending)


def test_free_name_and_callable_name():
    assert free_name("gradient", ["x", "gradient", "gradient_"]) == "gradient__"
    assert (callable_name(np.sin), callable_name(Squares("s", {}))) == ("sin", "Squares")


def test_a_nearby_point_differs_in_every_element():
    at = {"x": np.array([0.0, 1e6, -1e-9]), "z": np.float32(2.0)}
    nearby = nearby_point(at)
    assert (nearby["x"] != at["x"]).all() and nearby["z"].dtype == np.float32
    assert (np.abs(nearby["x"] - at["x"]) <= 0.1 * (1 + np.abs(at["x"]))).all()


def test_second_order_needs_a_backward_that_can_be_differentiated():
    with pytest.raises(CallError, match="reverse mode, which does not work through the function"):
        second_order(claim(), 0)
