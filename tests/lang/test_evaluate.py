"""The language's functions and rules, compared with NumPy."""

import contextlib

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gradcli.errors import GradcliError
from gradcli.lang.evaluate import Evaluator, find_function, function_names, lift_number
from gradcli.lang.parse import parse
from gradcli.request import Request
from gradcli.tape.tensor import Tensor

X = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, -0.75]])
V = np.array([1.0, 2.0, 4.0])
A = np.array([[4.0, 1.0], [1.0, 3.0]])
S = np.array([0.0, 5.0])
GIVEN = {"x": X, "v": V, "s": S, "a": A}


def value(text, settings=None, **names):
    given = {k: Tensor._wrap(np.asarray(x, float), None) for k, x in {**GIVEN, **names}.items()}
    return np.asarray(lift_number(Evaluator(parse(text), settings).run(given))._data)


LISTS = (
    "concatenate([v, s])", "concatenate([[1, 2], v], axis=0)", "hstack([v, s])", "vstack([v, v])", "stack([v, 2*v])",
    "block([v, s])", "block([v, v])", "block([[a, a], [a, a*0]])", "take(v, [0, 0, 1])", "take(x, [[0, 1], [5, 2]])",
    "take(x, [1, 1], axis=0)", "x.take([0, 2])", "delete(v, [0])", "delete(x, [0, 1], axis=1)", "pad(v, [1, 2])",
    "pad(x, [[1, 0], [0, 2]])", "choose([1, 0, 1], [v, 2])", "split(v, [1])[1]", "split(v, [20000])[0]",
    "repeat(v, [1, 0, 2])", "cat([v, s, v])", "select([v > 3, v > 1], [v, v^2], 0)",
    "take_along_axis(v, [0, 0, 1], 0)", "choose([1, 0, 1], (v, v^2))",
)  # fmt: skip
"""Calls with lists as arguments: lists of integers, and of arrays that may differ in length."""
SAME = (
    "x + 2*v", "x**2 - v/3 + x % 2 + x // 2", "x @ v", "a @ a", "sin(x)*cos(x) + tan(v)", "exp(x) + log(v) + sqrt(v)",
    "asin(x/4) + arcsin(x/4)", "atan2(x, v)", "maximum(x, 0) + minimum(x, 1)", "clip(x, -1, 1)",
    "where(x > 0, x, -x)", "x if 1 > 2 else v", "(v > 1) | ~(v > 3)", "sum(x)", "sum(x, axis=0)", "x.sum(1)",
    "mean(x, axis=(0, 1))", "max(x, axis=1)", "var(x) + std(x, axis=0)", "prod(v) + norm(x)",
    "norm(v, 1) + norm(v, inf)", "argmax(x, axis=1)", "cumsum(x, axis=1)", "cumprod(v)", "sort(x)", "x.T",
    "transpose(x)", "x.shape[0] * x.ndim + x.size", "reshape(x, (-1,))", "x.reshape(3, -1)", "expand_dims(v, 0)",
    "squeeze(v[None])", "swapaxes(x, 0, 1)", "broadcast_to(v, (2, 3))", "concatenate([v, v])",
    "stack([v, v], axis=1)", "flip(x, 1)", "roll(v, 1)", "tile(v, 2)", "tile(v, (2, 1))", "repeat(v, 2)", "v[0]",
    "v[-1]", "v[1:]", "v[::-1]", "x[:, 1]", "x[..., 0]", "x[[1, 0]]", "x[x > 0]", "x[0, [0, 2]]", "diag(v)",
    "diag(a)", "trace(a)", "triu(x) + tril(x, -1)", "outer(v, v)", "dot(v, v)", "inv(a)", "det(a)",
    "solve(a, [1, 2])", "cholesky(a)", "slogdet(a)[1]", "ones((2, 3))", "full((2,), 7)", "eye(3)", "arange(5)",
    "arange(1, 2, 0.25)", "linspace(0, 1, 5)", "logspace(0, 2, 3)", "zeros_like(x) + ones_like(x)",
    "[[1, 2], [3, 4]]", "[v[0], 2, v[2]]", "pi + e + tau", "inf > 1", "7 // 2 + 7 % 4", "2j * 1j",
    "floor(2.7) + ceil(2.1) + round(2.5) + sign(-3)", "abs(-3) + square(3) + cbrt(27)", "-x^2", "0 < v < 3",
    "v > 1 and not (v > 3)", "sum(x, dim=1, keepdim=True)", "reshape(x, 3, 2)", "zeros(2, 3)", "softmax(v)",
    "logsumexp(v)", "1/0", "0/0", "9**9**9",
)  # fmt: skip
OTHER = {
    "-x^2": -(X**2),
    "0 < v < 3": (V > 0) & (V < 3),
    "v > 1 and not (v > 3)": (V > 1) & ~(V > 3),
    "sum(x, dim=1, keepdim=True)": X.sum(1, keepdims=True),
    "reshape(x, 3, 2)": X.reshape(3, 2),
    "zeros(2, 3)": np.zeros((2, 3)),
    "softmax(v)": np.exp(V) / np.exp(V).sum(),
    "logsumexp(v)": np.log(np.exp(V).sum()),
    "1/0": np.array(np.inf),
    "0/0": np.array(np.nan),
    "9**9**9": np.array(np.inf),
    "cat([v, s, v])": np.concatenate([V, S, V]),
    "select([v > 3, v > 1], [v, v^2], 0)": np.select([V > 3, V > 1], [V, V**2], 0),
    "take_along_axis(v, [0, 0, 1], 0)": np.take_along_axis(V, np.array([0, 0, 1]), 0),
    "choose([1, 0, 1], (v, v^2))": np.choose([1, 0, 1], (V, V**2)),
}
"""Values of programs that are spelled differently in NumPy."""


def by_numpy(text):
    names = {**vars(np), **vars(np.linalg), **GIVEN, "tau": 2 * np.pi}
    return np.asarray(OTHER[text] if text in OTHER else eval(text, names))


@pytest.mark.parametrize("text", SAME + LISTS)
def test_same_as_numpy(text):
    got, expected = value(text), by_numpy(text)
    assert got.shape == expected.shape
    assert text in SAME or got.dtype == float
    assert_allclose(got, expected, rtol=1e-14 if text in SAME else 1e-15)


def test_assignments_and_outputs():
    assert value("b = v * 2; c = b + 1") == pytest.approx(V * 2 + 1)
    assert value("b = v[0] * 2; b; c = b + 1").item() == 2.0
    assert value("n = zeros(2); n[0] = v[1]; n[1] = n[0]*3; n").tolist() == [2.0, 6.0]
    assert value("n = zeros(2, 2); n[:, 0] = 1; n").tolist() == [[1, 0], [1, 0]]


def test_inputs_are_never_modified():
    raw = X.copy()
    assert value("x[0, 0] = 9; x", x=raw)[0, 0] == 9.0
    assert value("n = x[0]; n[0] = 9; x", x=raw).shape == (2, 3)
    assert raw[0, 0] == 0.5


def test_random_numbers_are_determined_by_the_seed():
    assert (value("randn(3, 4)") == value("randn(3, 4)")).all()
    assert (value("rand(3)", Request(seed=1)) != value("rand(3)", Request(seed=2))).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sin()", "missing a required argument"), ("sin(1, 2)", "too many"), ("sum(x, axis=5)", "out of bounds"),
        ("reshape(x, 4)", "cannot reshape"), ("x[7]", "out of bounds"), ("x[0, 0, 0]", "too many indices"),
        ("x[0.5]", "index"), ("x[None:]", ""), ("stack([v, x])", "equal size"), ("concatenate([])", "at least one"),
        ("solve(x, v)", "square"), ("einsum(v)", "unknown function"), ("(1, 2) + x", "tuple"),
        ("[None]", "a list can contain"), ("[v, x]", "same shape"), ("zeros(-1)", ""), ("eye(1.5)", ""),
        ("q + 1", "'q' has no value"), ("sin + 1", "'sin' has no value"), ("q[0] = 1", "'q' has no value yet"),
        ("linspace(0, 1, -3)", "negative"), ("clip(x)", "bound"), ("where(x)", "three arguments"),
        ("const()", "takes one"), ("norm(x, None)", ""), ("v @ (1, 2)", "tuple"), ("2 @ 3", "scalar"),
        ("repeat(v, [1.5, 1, 1])", "must be integers"), ("choose([0.5], (v, v))", "must be integers"),
        ("take_along_axis(v, [0.5], 0)", "must be integers"), ("rot90(x, 1.5)", "whole number"),
        ("interp(v, [1, 2, 3], [4, 5])", "a value for each"), ("interp(v, [1], [4, 5])", "a value for each"),
        ("solve(eye(2), v)", "2 equations"), ("solve(eye(2), 1)", "2 equations"),
    ],
)  # fmt: skip
def test_errors_are_gradcli_errors_with_a_location(text, message):
    if not message:
        with contextlib.suppress(GradcliError):
            value(text)
        return
    with pytest.raises(GradcliError, match=message) as caught:
        value(text)
    assert caught.value.exit_code == 2
    assert caught.value.span is not None


@pytest.mark.parametrize(
    "text",
    [
        "zeros(100000, 100000)", "ones((1e5, 1e5))", "eye(1e6)", "arange(1e12)", "arange(inf)",
        "linspace(0, 1, 1e12)", "randn(1e6, 1e6)", "full((1e6, 1e6), 1)", "tile(v, 1e9)", "repeat(v, 1e9)",
        "broadcast_to(v, (1e9, 3))", "outer(arange(1e5), arange(1e5))", "arange(1e5)[:, None] + arange(1e5)",
        "kron(arange(1e5), arange(1e5))", "diag(arange(1e5))", "arange(1e5)[:, None] @ arange(1e5)[None]",
        "where(arange(1e5)[:, None] > 0, arange(1e5), 0)",
    ],
)  # fmt: skip
def test_too_large_values_are_refused_before_allocation(text):
    with pytest.raises(GradcliError) as caught:
        value(text)
    assert caught.value.kind in ("limit", "value", "shape")


def test_every_function_of_the_language_has_a_description():
    for name in function_names():
        primitive = find_function(name)
        assert primitive is None or primitive.doc, name
