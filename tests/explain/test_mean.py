"""What a biased mean is: named if it is clear, and not named otherwise."""

import numpy as np
import pytest

from gradcli.explain.mean import Means, explain_mean, numbers_in_code, sizes_in

TRUTH = np.array([1.0, -2.0, 0.5, 4.0])
INPUTS = [("a", (2,), slice(0, 2)), ("b", (2,), slice(2, 4))]
OTHER = np.array([0.7, 1.1, -0.2, 3.0])


def explain(mean, truth=TRUTH, error=1e-4, inputs=INPUTS, sizes=None, others=()):
    mean = np.broadcast_to(mean, truth.shape).astype(float)
    errors = np.full(truth.shape, error)
    wrong = np.abs(mean - truth) > 8 * errors
    found = explain_mean(Means(mean, truth, errors, np.zeros_like(truth), wrong), inputs, sizes or {}, others)
    return [(x.kind, x.text) for x in found]


@pytest.mark.parametrize(
    ("factor", "sizes", "text"),
    [
        (2, {}, "twice the derivative"),
        (0.5, {}, "half the derivative"),
        (-2, {}, "minus twice the derivative"),
        (7, {}, "7 times the derivative, n for n = 7"),
        (7 / 8, {}, "0.875 times the derivative, (n-1)/n for n = 8"),
        (20 / 19, {20: "which is N"}, "1.053 times the derivative, n/(n-1) for n = 20, which is N"),
        (-1 / 50, {50: "the length of data"}, "-0.02 times the derivative, -1/n for n = 50, the length of data"),
        (1.3, {}, "1.3 ± 2e-05 times the derivative"),  # 1e-4 / norm of TRUTH
    ],
)
def test_multiples(factor, sizes, text):
    assert explain(factor * TRUTH, sizes=sizes) == [("factor", f"the mean is {text}")]


def test_minus_and_zero():
    assert explain(-TRUTH) == [("sign", "the mean is minus the derivative")]
    ((kind, text),) = explain(0 * TRUTH)
    assert kind == "zero"
    assert text.startswith("the mean is 0: ")


def test_parts():
    assert explain(TRUTH * [1, 1, 0, 0]) == [("zero", "the mean is 0 for b: this part of the gradient is missing")]
    assert explain(TRUTH * [1, 0, 1, 1]) == [("zero", "the mean is 0 at a[1]: this part of the gradient is missing")]
    assert explain(TRUTH * [2, 2, 1, 1]) == [("factor", "the mean is twice the derivative for a, and right elsewhere")]


def test_another_gradient():
    others = [("f", lambda: None), ("g", lambda: (OTHER, np.full(4, 1e-6)))]
    assert explain(OTHER, others=others) == [("other function", "the mean is the gradient of g")]
    assert explain(OTHER + 0.1, others=others) == []


def test_another_gradient_where_the_derivative_is_0():
    """An element that is always 0 has no error."""
    mean, error = np.array([0.5, -0.2, 0, 0]), np.array([1e-3, 1e-3, 0, 0])
    others = [("g", lambda: (mean, 0 * error))]
    with np.errstate(all="ignore"):
        found = explain(mean, truth=np.zeros(4), error=error, others=others)
    assert found == [("other function", "the mean is the gradient of g")]


def test_no_cause_is_invented():
    assert explain(TRUTH + [0.1, 0, 0.2, -0.3]) == []
    assert explain(1.0, truth=np.full(4, np.nan)) == []


def test_an_unusual_factor_needs_two_elements_that_are_known():
    def factor(*truth):
        return explain(1.3 * np.array(truth), np.array(truth), 1e-3, [("a", (2,), slice(0, 2))])

    assert [kind for kind, _ in factor(4.0, 3.0)] == ["factor"]
    assert factor(4.0, 5e-3) == []


@pytest.mark.parametrize("factor", [0.774, 1.06, 3.1416, -0.3])
def test_a_single_element_has_few_multiples(factor):
    assert explain(factor * 4, truth=np.array([4.0]), error=4e-3, inputs=[("x", (), slice(0, 1))]) == []


@pytest.mark.parametrize(("factor", "kind"), [(2, "factor"), (-1, "sign"), (0, "zero"), (5, "factor"), (0.8, "factor")])
def test_usual_multiples_of_a_single_element(factor, kind):
    ((found, _),) = explain(factor * 4, truth=np.array([4.0]), error=1e-3, inputs=[("x", (), slice(0, 1))])
    assert found == kind


def test_a_factor_that_is_close_to_others_is_not_attributed():
    """Within its error, 0.93 may be 12/13, 13/14 or 14/15."""
    sizes = {13: "a", 14: "b", 15: "c"}
    ((_, text),) = explain(0.93 * TRUTH, error=0.03, sizes=sizes)
    assert " for n = " not in text


SIZE, WEIGHTS, FLAG = 6, np.array([0.5, 1.5, 2.5]), True


def helper(x):
    return x * SIZE * FLAG


def objective(x, k=9):
    return helper(x) + WEIGHTS.sum() + 17 * k


def test_sizes_and_numbers_of_a_function_and_its_helpers():
    sizes = sizes_in(objective, {"x": np.zeros((4, 5))})
    assert sizes.items() >= {6: "which is SIZE", 3: "the length of WEIGHTS", 9: "which is k"}.items()
    assert sizes.items() >= {4: "the length of x", 17: "a number in objective"}.items()
    found = [x.tolist() for x in numbers_in_code(objective)]
    assert all(x in found for x in (6.0, 9.0, [0.5, 1.5, 2.5]))
