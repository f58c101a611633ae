"""Derivatives written by hand: the forms that are accepted, and the errors for others."""

import functools
from typing import NamedTuple

import numpy as np
import pytest

from gradcli.claims.claim import CallError, NotElementwiseError, WrongShapeError
from gradcli.claims.hand_written import HandWritten, claim_by_hand, value_and_gradient, with_cache
from gradcli.claims.object_engine import with_objects

X, W = np.array([1.0, 2.0, 3.0]), np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def by_hand(f, at, grad=None, vjp=None, jvp=None, wrt=None, **more):
    return claim_by_hand(f, at, {"grad": grad, "vjp": vjp, "jvp": jvp}, wrt, **more)


def energy(w, x):
    return (w @ x) @ (w @ x)


def energy_gradients(w, x):
    return 2 * np.outer(w @ x, x), 2 * w.T @ (w @ x)


@pytest.mark.parametrize(
    "grad",
    [
        energy_gradients,
        lambda w, x: [*energy_gradients(w, x)],
        lambda w, x: dict(zip("wx", energy_gradients(w, x), strict=True)),
        lambda w, x: dict(zip(("dw", "dx"), energy_gradients(w, x), strict=True)),  # dw is the gradient of w
        lambda w, x: {"more": 1, **dict(zip("xw", energy_gradients(w, x)[::-1], strict=True))},
    ],
    ids=["tuple", "list", "dict", "dict with dw", "dict in any order"],
)
def test_gradients_come_in_order_or_by_name(grad):
    found = by_hand(energy, {"w": W, "x": X}, grad).whole({"w": W, "x": X})
    np.testing.assert_array_equal(found["w"], [[28, 56, 84], [64, 128, 192]])  # w @ x is (14, 32)
    np.testing.assert_array_equal(found["x"], [2 * (14 + 4 * 32), 2 * (28 + 5 * 32), 2 * (42 + 6 * 32)])


def test_a_jacobian_has_the_shape_of_output_and_input():
    at = {"w": W, "x": X}
    jacobian = by_hand(lambda w, x: w @ x, at, lambda w, x: w, wrt=["x"]).whole(at)["x"]
    assert jacobian.shape == (2, 3)
    for f, grad, shape in [
        (lambda x: x, lambda x: np.eye(3)[:2], (2, 3)),
        (lambda x: x, lambda x: np.ones(3), (3,)),
        (lambda x: x.sum(), lambda x: np.ones((3, 1)), (3, 1)),
    ]:
        with pytest.raises(WrongShapeError, match="the gradient of 'x' has shape") as raised:
            by_hand(f, {"x": X}, grad).whole({"x": X})
        assert f"has shape {shape}; it must" in raised.value.message
        assert bool(raised.value.hint) == (shape == (3,))  # it may be an elementwise derivative
    one = by_hand(lambda x: x.sum(keepdims=True), {"x": X}, lambda x: np.ones(3)).whole({"x": X})["x"]
    assert one.shape == (1, 3)  # for a single number, the input's shape is enough
    assert by_hand(lambda x: x[0] ** 2, {"x": X[:1]}, lambda x: 2.0).whole({"x": X[:1]})["x"].tolist() == [2.0]


def test_products_by_hand():
    at = {"w": W, "x": X}
    pulled = by_hand(lambda w, x: w @ x, at, vjp=lambda v, w, x: (np.outer(v, x), v @ w))
    v = np.array([1.0, -1.0])
    assert pulled.pull(at, v)["x"].tolist() == [-3, -3, -3]
    assert pulled.pull(at, v)["w"].tolist() == [[1, 2, 3], [-1, -2, -3]]
    assert pulled.whole(at) is None and pulled.claims == "vjp"
    pushed = by_hand(lambda w, x: w @ x, at, jvp=lambda t, w, x: t[0] @ x + w @ t[1])
    assert pushed.push(at, {"x": np.array([1.0, 0.0, 0.0])}).tolist() == [1, 4]  # the tangent of w is 0
    assert pushed.claims == "jvp"
    single = by_hand(lambda x: 3 * x, {"x": X[:1]}, vjp=lambda v, x: 3 * v[0])  # a number for an array of one element
    assert single.pull({"x": X[:1]}, np.ones(1))["x"].tolist() == [3]
    with pytest.raises(WrongShapeError, match=r"returns a gradient for 'x' of shape \(\); it must have shape \(3,\)"):
        by_hand(lambda x: 3 * x, {"x": X}, vjp=lambda v, x: 3.0).pull({"x": X}, np.ones(3))
    with pytest.raises(WrongShapeError, match="not the output's shape"):
        by_hand(lambda x: x, {"x": X}, jvp=lambda t, x: 1.0).push({"x": X}, {"x": X})


@pytest.mark.parametrize(
    ("result", "message", "hint"),
    [
        (None, "g returned None", None),
        ({"w": 1.0}, "g returns no gradient for 'x'", None),
        (
            W,
            "g returned ndarray; a tuple of 2 gradients is needed",
            "--wrt w (wrt= in a declaration) checks that input",
        ),
        ((W,), "g returned 1 gradient for 2 inputs", "--wrt w (wrt= in a declaration) checks these inputs alone"),
        ((W, X, X), "g returned 3 gradients for 2 inputs", None),
        (("a", "b"), "g for 'w' returned str of type <U1, not numbers", None),
    ],
)
def test_gradients_in_an_unknown_form_are_errors(result, message, hint):
    def g(w, x):
        return result

    with pytest.raises(CallError) as raised:
        by_hand(energy, {"w": W, "x": X}, g).whole({"w": W, "x": X})
    assert raised.value.message == message
    assert hint is None or raised.value.hint.startswith(hint)


def test_a_tuple_for_one_input_is_its_gradient():
    at = {"x": X, "k": np.array(2.0)}
    made = by_hand(lambda x, k: k * (x @ x), at, lambda x, k: (2 * k * x,), wrt=["x"])
    assert made.whole(at)["x"].tolist() == [4, 8, 12]
    alone = by_hand(lambda x: x @ x, {"x": X}, lambda x: tuple(2 * x))  # a tuple of the gradient's elements
    assert alone.whole({"x": X})["x"].tolist() == [2, 4, 6]


def test_changing_an_argument_in_place_is_reported_and_harmless():
    def g(x):
        x *= 2
        return x

    made = by_hand(lambda x: x @ x, {"x": X.copy()}, g)
    assert made.whole(made.at)["x"].tolist() == [2, 4, 6]
    assert made.at["x"].tolist() == [1, 2, 3]
    (found,) = made.as_called()
    assert (found.rule, found.text) == ("writes-into", "g changes its argument 'x' in place; it must work on a copy")


def test_elementwise_derivatives_are_the_diagonal():
    made = by_hand(lambda x: x**2, {"x": X}, lambda x: 2 * x, elementwise=True)
    np.testing.assert_array_equal(made.whole({"x": X})["x"], np.diag([2.0, 4.0, 6.0]))
    number = by_hand(lambda x, k: k * x, {"x": X, "k": np.array(3.0)}, lambda x, k: (k, x), elementwise=True)
    whole = number.whole(number.at)
    np.testing.assert_array_equal(whole["x"], 3 * np.eye(3))
    np.testing.assert_array_equal(whole["k"], X)
    with pytest.raises(WrongShapeError, match="with elementwise it must have the output's shape"):
        by_hand(lambda x: x**2, {"x": X}, lambda x: x[:2], elementwise=True).whole({"x": X})


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (np.cumsum, "depends on input elements other than its own"),
        (lambda x: x[::-1] * 1.0, "depends on input elements"),
        (lambda x: x / x.sum(), "depends on input elements"),
        (lambda x: np.outer(x, x), "'x' has shape (3,), but the output has shape (3, 3)"),
    ],
)
def test_functions_that_mix_elements_are_not_elementwise(f, text):
    with pytest.raises(NotElementwiseError) as raised:
        by_hand(f, {"x": X}, np.ones_like, elementwise=True).whole({"x": X})
    assert text in raised.value.message


def test_a_claim_in_float32_is_noted():
    made = by_hand(lambda x: x @ x, {"x": X}, lambda x: (2 * x).astype(np.float32))
    made.whole({"x": X})
    assert made.capabilities.claim_unit == 2.0**-24
    assert made.notes == ("the claimed derivative is float32, so that type sets the tolerance",)


def test_complex_outputs_give_pairs_and_complex_inputs_do_not_take_complex_gradients():
    made = by_hand(lambda x: 1j * x**2, {"x": X}, lambda x: np.diag(2j * x))
    block = made.whole({"x": X})["x"]
    np.testing.assert_array_equal(block[:, 1], np.diag(2 * X))  # the imaginary part
    assert block.shape == (3, 2, 3) and not block[:, 0].any()
    with pytest.raises(CallError, match="returns complex numbers for the complex input 'x'"):
        by_hand(lambda x: x**2, {"x": X + 0j}, lambda x: np.diag(2 * x)).whole({"x": X + 0j})


def test_a_function_that_returns_value_and_gradient():
    value, gradient = value_and_gradient(lambda x: (x @ x, 2 * x))
    assert value(X) == 14 and gradient(X).tolist() == [2, 4, 6]
    for result, what in [((1, 2, 3), "3 things"), (1.0, "float"), (None, "NoneType")]:
        with pytest.raises(CallError, match=rf"returned {what}, not \(value, gradient\)"):
            value_and_gradient(lambda x, r=result: r)[0](X)


def test_forward_may_return_a_cache_for_backward():
    def forward(x):
        return x**2, {"x": x}

    def backward(dout, cache):
        return 2 * cache["x"] * dout

    value, pull = with_cache(forward, backward, ["x"])
    assert value(X).tolist() == [1, 4, 9] and pull(np.ones(3), X).tolist() == [2, 4, 6]
    plain = (lambda x: x**2, lambda v, x: 2 * x * v)
    assert with_cache(*plain, ["x"]) == plain  # backward's other parameter is the input, not a cache
    made = by_hand(forward, {"x": X}, vjp=backward)
    assert made.pull({"x": X}, np.ones(3))["x"].tolist() == [2, 4, 6]


def test_the_cotangent_may_be_the_last_argument():
    _, pull = with_cache(lambda x, w: x * w, lambda x, w, g: (g * w, g * x), ["x", "w"])
    assert [y.tolist() for y in pull(np.ones(3), X, 2 * X)] == [(2 * X).tolist(), X.tolist()]
    made = by_hand(lambda x: x**2, {"x": X}, vjp=lambda x, g: 2 * x * g)
    assert made.pull({"x": X}, np.array([1.0, 0, 3]))["x"].tolist() == [2, 0, 18]


class Layer(NamedTuple):
    w: np.ndarray
    b: np.ndarray


def test_nested_arguments_are_inputs_named_by_path():
    def loss(layers, x, name="relu"):
        return sum((layer.w @ x + layer.b).sum() for layer in layers)

    def grads(layers, x, name="relu"):
        each = [Layer(np.outer(np.ones(2), x), np.ones(2)) for _ in layers]
        return each, sum(layer.w.sum(axis=0) for layer in layers)

    at = {"layers": [Layer(W, np.zeros(2)), Layer(-W, np.zeros(2))], "x": X, "name": "relu"}
    made = by_hand(loss, at, grads)
    assert made.wrt == ["layers[0][0]", "layers[0][1]", "layers[1][0]", "layers[1][1]", "x"]
    assert made.value_here() == 0
    whole = made.whole(made.at)
    assert whole[made.wrt[2]].tolist() == [[1, 2, 3], [1, 2, 3]] and whole["x"].tolist() == [0, 0, 0]
    assert by_hand(loss, at, grads, wrt=["layers[1]"]).wrt == made.wrt[2:4]
    with pytest.raises(CallError, match="no input is an array of floating-point numbers: name") as raised:
        by_hand(loss, {"name": "relu"}, grads)
    assert raised.value.hint is None


class Number:
    """A number of an engine such as micrograd."""

    def __init__(self, data, parents=(), rule=lambda g: ()):
        self.data, self.grad, self.parents, self.rule = data, 0.0, parents, rule

    def __mul__(self, other):
        return Number(self.data * other.data, (self, other), lambda g: (g * other.data, g * self.data))

    def __add__(self, other):
        return Number(self.data + other.data, (self, other), lambda g: (g, g))

    def total(self):
        return Number(np.sum(self.data), (self,), lambda g: (g * np.ones_like(self.data),))

    def backward(self, g=1.0):
        self.grad = self.grad + g
        for parent, part in zip(self.parents, self.rule(g), strict=True):
            parent.backward(part)


def test_an_engine_of_objects_gives_value_and_gradient():
    def f(x, w):
        return functools.reduce(Number.__add__, x * w)

    value, gradient = with_objects(f, f, "f")
    assert value(X, 2 * X) == 28
    assert [g.tolist() for g in gradient(X, 2 * X)] == [[2, 4, 6], [1, 2, 3]]
    value, gradient = with_objects(lambda x: (x * x).total(), f, "f")  # an engine of arrays takes whole arrays
    assert value(X) == 14 and gradient(X)[0].tolist() == [2, 4, 6]
    with pytest.raises(CallError, match="returned 3 numbers; the engine of its file needs one"):
        with_objects(lambda x: x * x, f, "f")[0](X)
    with pytest.raises(CallError, match="its file has no class"):
        with_objects(np.sum, eval("lambda x: x", {}), "f")


def test_the_title_is_the_functions_name():
    assert HandWritten(energy, {"w": W, "x": X}, grad=energy_gradients).title == "energy"
