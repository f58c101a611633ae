"""The language's functions and rules, compared with NumPy itself."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gradcli.errors import GradcliError
from gradcli.lang.evaluate import Evaluator, Settings
from gradcli.lang.names import function_names
from gradcli.lang.operands import lift_number
from gradcli.lang.parse import parse

X = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, -0.75]])
V = np.array([1.0, 2.0, 4.0])
A = np.array([[4.0, 1.0], [1.0, 3.0]])


def value(text, settings=None, **names):
    given = {"x": X, "v": V, "a": A, **names}
    return np.asarray(
        lift_number(Evaluator(parse(text), settings).run({k: as_value(v) for k, v in given.items()}))._data
    )


def as_value(raw):
    from gradcli.tape.tensor import Tensor

    return Tensor._wrap(np.asarray(raw, float), None)


# expression -> the same in NumPy
SAME = {
    "x + 2*v": X + 2 * V,
    "-x^2": -(X**2),
    "x**2 - v/3 + x % 2 + x // 2": X**2 - V / 3 + X % 2 + X // 2,
    "x @ v": X @ V,
    "a @ a": A @ A,
    "sin(x)*cos(x) + tan(v)": np.sin(X) * np.cos(X) + np.tan(V),
    "exp(x) + log(v) + sqrt(v)": np.exp(X) + np.log(V) + np.sqrt(V),
    "asin(x/4) + arcsin(x/4)": 2 * np.arcsin(X / 4),
    "atan2(x, v)": np.arctan2(X, V),
    "maximum(x, 0) + minimum(x, 1)": np.maximum(X, 0) + np.minimum(X, 1),
    "clip(x, -1, 1)": np.clip(X, -1, 1),
    "where(x > 0, x, -x)": np.abs(X),
    "x if 1 > 2 else v": V,
    "0 < v < 3": (V > 0) & (V < 3),
    "v > 1 and not (v > 3)": (V > 1) & ~(V > 3),
    "(v > 1) | ~(v > 3)": (V > 1) | ~(V > 3),
    "sum(x)": X.sum(),
    "sum(x, axis=0)": X.sum(0),
    "x.sum(1)": X.sum(1),
    "sum(x, dim=1, keepdim=True)": X.sum(1, keepdims=True),
    "mean(x, axis=(0, 1))": X.mean(),
    "max(x, axis=1)": X.max(1),
    "var(x) + std(x, axis=0)": X.var() + X.std(0),
    "prod(v) + norm(x)": V.prod() + np.linalg.norm(X),
    "norm(v, 1) + norm(v, inf)": V.sum() + 4,
    "argmax(x, axis=1)": X.argmax(1),
    "cumsum(x, axis=1)": X.cumsum(1),
    "cumprod(v)": V.cumprod(),
    "sort(x)": np.sort(X),
    "x.T": X.T,
    "transpose(x)": X.T,
    "x.shape[0] * x.ndim + x.size": np.array(10.0),
    "reshape(x, 3, 2)": X.reshape(3, 2),
    "reshape(x, (-1,))": X.reshape(-1),
    "x.reshape(3, -1)": X.reshape(3, -1),
    "expand_dims(v, 0)": V[None],
    "squeeze(v[None])": V,
    "swapaxes(x, 0, 1)": X.T,
    "broadcast_to(v, (2, 3))": np.broadcast_to(V, (2, 3)),
    "concatenate([v, v])": np.concatenate([V, V]),
    "stack([v, v], axis=1)": np.stack([V, V], 1),
    "flip(x, 1)": X[:, ::-1],
    "roll(v, 1)": np.roll(V, 1),
    "tile(v, 2)": np.tile(V, 2),
    "tile(v, (2, 1))": np.tile(V, (2, 1)),
    "repeat(v, 2)": np.repeat(V, 2),
    "v[0]": V[0],
    "v[-1]": V[-1],
    "v[1:]": V[1:],
    "v[::-1]": V[::-1],
    "x[:, 1]": X[:, 1],
    "x[..., 0]": X[..., 0],
    "x[[1, 0]]": X[[1, 0]],
    "x[x > 0]": X[X > 0],
    "x[0, [0, 2]]": X[0, [0, 2]],
    "diag(v)": np.diag(V),
    "diag(a)": np.diag(A),
    "trace(a)": np.trace(A),
    "triu(x) + tril(x, -1)": X,
    "outer(v, v)": np.outer(V, V),
    "dot(v, v)": V @ V,
    "inv(a)": np.linalg.inv(A),
    "det(a)": np.linalg.det(A),
    "solve(a, [1, 2])": np.linalg.solve(A, [1, 2]),
    "cholesky(a)": np.linalg.cholesky(A),
    "slogdet(a)[1]": np.linalg.slogdet(A)[1],
    "zeros(2, 3)": np.zeros((2, 3)),
    "ones((2, 3))": np.ones((2, 3)),
    "full((2,), 7)": np.full(2, 7.0),
    "eye(3)": np.eye(3),
    "arange(5)": np.arange(5.0),
    "arange(1, 2, 0.25)": np.arange(1, 2, 0.25),
    "linspace(0, 1, 5)": np.linspace(0, 1, 5),
    "logspace(0, 2, 3)": np.logspace(0, 2, 3),
    "zeros_like(x) + ones_like(x)": np.ones((2, 3)),
    "[[1, 2], [3, 4]]": np.array([[1.0, 2], [3, 4]]),
    "[v[0], 2, v[2]]": np.array([1.0, 2.0, 4.0]),
    "softmax(v)": np.exp(V) / np.exp(V).sum(),
    "logsumexp(v)": np.log(np.exp(V).sum()),
    "pi + e + tau": np.array(np.pi + np.e + 2 * np.pi),
    "inf > 1": np.array(True),
    "1/0": np.array(np.inf),
    "0/0": np.array(np.nan),
    "7 // 2 + 7 % 4": np.array(6.0),
    "2j * 1j": np.array(-2 + 0j),
    "9**9**9": np.array(np.inf),
    "floor(2.7) + ceil(2.1) + round(2.5) + sign(-3)": np.array(6.0),
    "abs(-3) + square(3) + cbrt(27)": np.array(15.0),
}


@pytest.mark.parametrize("text", SAME)
def test_same_as_numpy(text):
    got, expected = value(text), np.asarray(SAME[text])
    assert got.shape == expected.shape
    assert_allclose(got, expected, rtol=1e-14)


def test_assignments_and_outputs():
    assert value("b = v * 2; c = b + 1") == pytest.approx(V * 2 + 1)
    assert value("b = v[0] * 2; b; c = b + 1").item() == 2.0
    assert value("n = zeros(2); n[0] = v[1]; n[1] = n[0]*3; n").tolist() == [2.0, 6.0]
    assert value(
        "n = zeros(2, 2); n[:, 0] = 1; n[1] += 0" if False else "n = zeros(2, 2); n[:, 0] = 1; n"
    ).tolist() == [[1, 0], [1, 0]]


def test_an_input_itself_is_never_written_into():
    raw = X.copy()
    assert value("x[0, 0] = 9; x", x=raw)[0, 0] == 9.0
    assert value("n = x[0]; n[0] = 9; x", x=raw).shape == (2, 3)
    assert raw[0, 0] == 0.5


def test_random_numbers_repeat_with_their_seed():
    assert (value("randn(3, 4)") == value("randn(3, 4)")).all()
    assert (value("rand(3)", Settings(seed=1)) != value("rand(3)", Settings(seed=2))).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sin()", "missing a required argument"), ("sin(1, 2)", "too many"), ("sum(x, axis=5)", "out of bounds"),
        ("reshape(x, 4)", "cannot reshape"), ("x[7]", "out of bounds"), ("x[0, 0, 0]", "too many indices"),
        ("x[0.5]", "index"), ("x[None:]", ""), ("stack([v, x])", "equal size"), ("concatenate([])", "at least one"),
        ("solve(x, v)", "square"), ("einsum(v)", "unknown function"), ("(1, 2) + x", "tuple"),
        ("[None]", "a list may hold"), ("[v, x]", "one shape"), ("zeros(-1)", ""), ("eye(1.5)", ""),
        ("q + 1", "'q' has no value"), ("sin + 1", "'sin' has no value"), ("q[0] = 1", "'q' has no value yet"),
        ("linspace(0, 1, -3)", "negative"), ("clip(x)", "bound"), ("where(x)", "three arguments"),
        ("const()", "takes one"), ("norm(x, None)", ""),
    ],
)  # fmt: skip
def test_errors_have_a_place_and_no_python_in_them(text, message):
    if message == "":
        try:
            value(text)
        except GradcliError:
            return
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
def test_too_large_values_are_refused_before_they_are_made(text):
    with pytest.raises(GradcliError) as caught:
        value(text)
    assert caught.value.kind in ("limit", "value", "shape")


def test_every_function_of_the_language_has_a_description():
    from gradcli.lang.names import find_function

    for name in function_names():
        primitive = find_function(name)
        assert primitive is None or primitive.doc, name


S = np.array([0.0, 5.0])
# a list among the arguments is a list, of arrays of several lengths and of whole numbers
LISTS = {
    "concatenate([v, s])": np.concatenate([V, S]),
    "concatenate([[1, 2], v], axis=0)": np.concatenate([[1, 2], V]),
    "cat([v, s, v])": np.concatenate([V, S, V]),
    "hstack([v, s])": np.hstack([V, S]),
    "vstack([v, v])": np.vstack([V, V]),
    "stack([v, 2*v])": np.stack([V, 2 * V]),
    "block([v, s])": np.block([V, S]),
    "block([v, v])": np.block([V, V]),
    "block([[a, a], [a, a*0]])": np.block([[A, A], [A, A * 0]]),
    "select([v > 3, v > 1], [v, v^2], 0)": np.select([V > 3, V > 1], [V, V**2], 0),
    "take(v, [0, 0, 1])": np.take(V, [0, 0, 1]),
    "take(x, [[0, 1], [5, 2]])": np.take(X, [[0, 1], [5, 2]]),
    "take(x, [1, 1], axis=0)": np.take(X, [1, 1], axis=0),
    "x.take([0, 2])": X.take([0, 2]),
    "take_along_axis(v, [0, 0, 1], 0)": np.take_along_axis(V, np.array([0, 0, 1]), 0),
    "delete(v, [0])": np.delete(V, [0]),
    "delete(x, [0, 1], axis=1)": np.delete(X, [0, 1], axis=1),
    "pad(v, [1, 2])": np.pad(V, [1, 2]),
    "pad(x, [[1, 0], [0, 2]])": np.pad(X, [[1, 0], [0, 2]]),
    "insert(v, [1, 2], 7)": np.insert(V, [1, 2], 7),
    "choose([1, 0, 1], (v, v^2))": np.choose([1, 0, 1], (V, V**2)),
    "choose([1, 0, 1], [v, 2])": np.choose([1, 0, 1], [V, 2]),
    "split(v, [1])[1]": np.split(V, [1])[1],
    "repeat(v, [1, 0, 2])": np.repeat(V, [1, 0, 2]),
}


@pytest.mark.parametrize("text", LISTS)
def test_lists_are_lists(text):
    got = value(text, s=S)
    assert_allclose(got, LISTS[text], rtol=1e-15)
    assert got.dtype == float
