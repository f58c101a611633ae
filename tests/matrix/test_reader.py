"""Programs as terms: values match the same text in NumPy, and derivatives match complex steps."""

import numpy as np
import pytest
from scipy.special import expit, log_softmax, logsumexp, softmax

from gradcli.errors import GradcliError
from gradcli.lang.parse import parse
from gradcli.matrix.index_terms import Index
from gradcli.matrix.reader import TermReader, derive, input_term

from .terms import numbers_of

LENGTHS = {"m": 2, "n": 3}
RNG = np.random.default_rng(1)
DIMS = {"A": "mn", "B": "nn", "C": "nn", "x": "n", "y": "m", "z": "n", "s": "", "t": ""}
VALUES = {name: RNG.uniform(0.3, 1.5, [LENGTHS[d] for d in dims]) for name, dims in DIMS.items()}
VALUES |= {"B": VALUES["B"] + 2 * np.eye(3), "C": VALUES["C"] + 2 * np.eye(3), **LENGTHS}
NUMPY = {
    **{name: getattr(np, name) for name in "sum mean trace outer diag exp log sin tanh sqrt eye dot".split()},
    **{name: getattr(np, name) for name in "inner transpose e pi square where".split()},
    **{name: getattr(np.linalg, name) for name in "inv det solve slogdet".split()},
    **{"sigmoid": lambda x: 1 / (1 + np.exp(-x)), "logdet": lambda a: np.log(np.linalg.det(a))},
    **{"vdot": lambda x, y: np.sum(x * y), "ones": lambda *lengths: np.ones(lengths)},  # vdot conjugates
    "norm": lambda x: np.sqrt(np.sum(x * x)),
    "softmax": lambda x, axis=-1: np.exp(x) / np.exp(x).sum(axis=axis, keepdims=True),
    "logsumexp": lambda x, axis=-1: np.log(np.exp(x).sum(axis=axis)),
    "log_softmax": lambda x, axis=-1: x - np.log(np.exp(x).sum(axis=axis, keepdims=True)),
}


def test_helper_functions_match_scipy():
    a = VALUES["A"]
    np.testing.assert_allclose(NUMPY["softmax"](a, 0), softmax(a, 0))
    np.testing.assert_allclose(NUMPY["logsumexp"](a, 1), logsumexp(a, 1))
    np.testing.assert_allclose(NUMPY["log_softmax"](a), log_softmax(a, -1))
    np.testing.assert_allclose(NUMPY["sigmoid"](a), expit(a))


def read(text, dims=frozenset("mn"), **shapes):
    names = {name: input_term(name, own) for name, own in (shapes or DIMS).items()}
    return TermReader(parse(text), names, dims).run()


PROGRAMS = [
    *["A @ x", "x @ B @ z", "y @ A", "x @ z", "A.T @ y", "(B + B.T) @ x", "A @ B @ C", "trace(B @ C)"],
    *["sum(A**2)", "sum(A, axis=0) * x", "mean(A)", "mean(A, axis=1) @ y", "sum(A * A, axis=1, keepdims=True) * A"],
    *["x * z / s", "x / sum(x)", "(x - z)**3 / (1 + x**2)", "s**-2 * x", "sqrt(s*x)", "square(x) - x", "A - x"],
    *["norm(x)", "norm(A)", "norm(A @ x - y)**2", "inv(B) @ x", "solve(B, x)", "solve(B @ C, z)", "x @ inv(B) @ x"],
    *["det(B)", "logdet(B)", "logdet(B @ C)", "det(s*B) / det(C)", "trace(inv(B))", "inv(B + s*eye(n))"],
    *["exp(A @ x)", "tanh(x) @ z", "log(x) / x", "sin(s*x) * exp(-x)", "exp(s) / (1 + exp(s)) * x", "sigmoid(x)"],
    *["softmax(x)", "softmax(B @ x) @ z", "softmax(A, axis=0)", "logsumexp(x) * x", "logsumexp(A, axis=0)"],
    *[
        "-log_softmax(B @ x) @ z",
        "exp(x) / sum(exp(x))",
        "outer(x, y)",
        "outer(x, x) @ B",
        "diag(x) @ B",
        "diag(B) * x",
    ],
    *["dot(x, z)", "dot(s, x)", "inner(A, x)", "vdot(A, A)", "transpose(A) @ y", "ones(n, m) @ y", "eye(n) @ x"],
    *["e**s * x + pi", "x if s > 0 else z", "where(x > 1, x*x, z)", "n * s + A.shape[0]", "A.size * s + x.ndim"],
    *["a = A @ x; b = a * a; sum(b) * s", "2*x - 3*x + x", "x", "1.5e-1 * s", "(A @ x) @ (A @ x)"],
]


def in_numpy(text, values):
    *statements, last = text.split("; ")
    names = {**NUMPY, **values}
    for statement in statements:
        exec(statement, names)
    return eval(last, names)


@pytest.mark.parametrize("text", PROGRAMS)
def test_programs_match_numpy(text):
    found = numbers_of(read(text), VALUES, LENGTHS)
    expected = in_numpy(text, VALUES)
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("text", PROGRAMS)
def test_derivatives_match_complex_steps(text):
    term = read(text)
    for name, dims in DIMS.items():
        seeds = [Index(d) for d in dims]
        found = numbers_of(derive(term, name, seeds), VALUES, LENGTHS)
        x, step = VALUES[name], 1e-20
        expected = np.zeros(np.shape(in_numpy(text, VALUES)) + x.shape)
        for place in np.ndindex(x.shape):
            moved = x.astype(complex)
            moved[place] += 1j * step
            expected[(..., *place)] = np.imag(in_numpy(text, {**VALUES, name: moved})) / step
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13, err_msg=f"by {name}")


def test_second_derivatives_are_derivatives_of_the_first():
    term = read("sum(exp(A @ x))")
    first, second = [Index("n")], [Index("n")]
    found = numbers_of(derive(derive(term, "x", first), "x", second), VALUES, LENGTHS)
    a, x = VALUES["A"], VALUES["x"]
    np.testing.assert_allclose(found, a.T @ np.diag(np.exp(a @ x)) @ a, rtol=1e-13)


def test_derivatives_of_step_functions_and_absolute_values():
    for text, slope in [("sign(x)", 0), ("floor(x)", 0), ("abs(x)", 1), ("abs(-x)", 1), ("maximum(x, 9)", 0)]:
        term = read(f"sum({text})")
        found = numbers_of(derive(term, "x", [Index("n")]), VALUES, LENGTHS)
        np.testing.assert_array_equal(found, np.full(3, slope))


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("A @ y", "(m, n) @ (m,): n is not m", "transpose the first operand: A.T"),
        ("x @ A", "(n,) @ (m, n): n is not m", "transpose the second operand: B.T"),
        ("x + y", "shapes (n,) and (m,) do not match: n is not m", "if equal, give them the same name in --shape"),
        ("s @ x", "matmul: a scalar has no axis to sum over; use *", "set shapes with --shape"),
        ("inv(A)", "inv takes a square matrix, not shape (m, n)", "give both axes the same length: --shape A=n,n"),
        ("sum(x, axis=1)", "this axis does not exist: the shape is (n,)", None),
        ("q * x", "'q' has no value", None),
        ("sinn(x)", "unknown function 'sinn'", "did you mean 'sin'?"),
        ("x[0]", "--matrix does not support an element of an array", "'gradcli symbolic' without --matrix"),
        ("x * 2j", "--matrix does not support a complex number", None),
        ("svdvals(B)", "--matrix does not support 'svdvals'", None),
        ("cumsum(x)", "--matrix does not support 'cumsum'", None),
        ("[1, 2] * x", "--matrix does not support a list of numbers", None),
        ("exp(x, s)", "exp takes 1 argument", None),
        ("x / 0", "this divides by zero", None),
        ("A.shape[2] * s", "there are 2 parts; use an index from 0 to 1", None),
        ("norm(B, 3)", "--matrix does not support matrix norms other than Frobenius", None),
        ("norm(x, 3)", "--matrix does not support a norm of this order", None),
        ("ones(s)", "a length must be a number, a name from --shape, or part of a shape", None),
        ("x = 1; x[0] = 2; x", "--matrix does not support assignment to elements", None),
        ("outer(A, x)", "outer takes two vectors, not shapes (m, n) and (n,)", None),
    ],
)
def test_errors_for_programs_without_a_matrix_form(text, message, hint):
    with pytest.raises(GradcliError) as raised:
        read(text)
    assert raised.value.message.startswith(message)
    assert hint is None or raised.value.hint.startswith(hint)
    assert raised.value.span is not None


def test_numeric_lengths_are_checked():
    assert read("A @ x", A=(2, 3), x=(3,)).dims == (2,)
    assert read("A + x", A=(2, 3), x=(1,)).dims == (2, 3)
    with pytest.raises(GradcliError, match="3 is not 4"):
        read("A @ x", A=(2, 3), x=(4,))


def test_the_output_may_be_chosen_by_name():
    reader = TermReader(parse("a = s*x; b = a*a"), {"s": input_term("s", ()), "x": input_term("x", "n")})
    np.testing.assert_allclose(numbers_of(reader.run("a"), VALUES, LENGTHS), VALUES["s"] * VALUES["x"])
    with pytest.raises(GradcliError, match="--out: the program does not define 'c'"):
        reader.run("c")
