"""Matrix formulas: identities of the Matrix Cookbook, random programs compared with the engine, generated code."""

import inspect
import random
from pathlib import Path

import numpy as np
import pytest

from gradcli.analysis.gradient import compute_gradient
from gradcli.analysis.transform import compute_hessian, compute_jacobian
from gradcli.errors import EXIT_DEFECT, GradcliError
from gradcli.lang.parse import parse
from gradcli.matrix import reader
from gradcli.matrix.symbolic import matrix_formulas
from gradcli.program.expression import ExpressionProgram
from gradcli.request import Request

BOOK = [
    [part.strip() for part in line.split("|")]
    for line in (Path(__file__).parent / "matrix_cookbook.txt").read_text().splitlines()
    if not line.startswith("#")
]
SIZES = ({"m": 5, "n": 3, "k": 4, "l": 2, "d": 3}, {"m": 4, "n": 2, "k": 3, "l": 5, "d": 2})


def program_of(text):
    return ExpressionProgram(parse(text), text)


def shapes_in(text):
    pairs = (word.split("=") for word in text.split())
    return {name: tuple(dims.split(",")) for name, dims in pairs}


def evaluate(text, values):
    program = program_of(text)
    return np.asarray(program.run({n: values[n] for n in program.free_names(values)}, wrt=()).output._data)


def draw(program, shapes, lengths, seed, spd=(), symmetric=()):
    """Return random values of the inputs, and the dimensions that formulas read."""
    rng = np.random.default_rng(seed)
    values = {name: np.float64(n) for name, n in lengths.items()}
    for name in program.free_names(shapes):
        if name in lengths and name not in shapes:
            continue
        x = rng.standard_normal([lengths[d] for d in shapes.get(name, ())])
        if name in spd:
            x = x @ x.T + np.eye(len(x))
        elif name in symmetric:
            x = x + x.T
        values[name] = np.asarray(x)
    if "logdet" in program.title:
        for name in program.free_names(shapes):
            x = values[name]
            if x.ndim == 2 and x.shape[0] == x.shape[1] and np.linalg.det(x) < 0:
                x[0] = -x[0]
    return values


@pytest.mark.parametrize("line", BOOK, ids=lambda line: f"{line[0]} by {line[1]}")
def test_identities_are_correct_and_short(line):
    text, label, shapes, assumed, book = line
    shapes, program = shapes_in(shapes), program_of(text)
    spd, symmetric = ([w[2:] for w in assumed.split() if w[0] == kind] for kind in "ps")
    order = 2 if "/" in label else 1
    request = Request(wrt=[label.split("/")[0]], order=order)
    result = matrix_formulas(program, shapes, request, spd=spd, symmetric=symmetric)
    (derivative,) = result.derivatives
    assert derivative.name == label
    assert len(derivative.formula.text) <= 1.5 * len(book)
    for seed, lengths in enumerate(SIZES):
        values = draw(program, shapes, lengths, seed, spd, symmetric)
        ours, theirs = evaluate(derivative.formula.text, values), evaluate(book, values)
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-9, err_msg=derivative.formula.text)


def test_there_are_at_least_sixty_identities():
    assert len(BOOK) >= 60


# -- random programs ----------------------------------------------------------------------------------------

SHAPES = {name: tuple(dims) for name, dims in zip("ABXYxybcst", "mn mn nn nn n n m m".split() + ["", ""], strict=True)}
ELEMENTWISE = ("tanh", "exp", "sin", "sigmoid", "softplus", "abs", "square")


def random_text(kind, depth, rng):
    """Return a random program whose value has these dimensions, one letter each."""
    if depth == 0:
        return rng.choice([name for name, dims in SHAPES.items() if "".join(dims) == kind])

    def part(kind):
        return random_text(kind, depth - 1, rng)

    vector = rng.choice("nm")
    axis = 0 if kind == "n" else 1
    forms = {
        "": [
            f"sum({part(vector)})",
            f"({part(vector)})@({part(vector)})",
            f"trace({part('nn')})",
            f"mean({part('mn')})",
            f"norm({part('mn')})",
            f"logsumexp({part(vector)})",
            f"({part('')}) * ({part('')})",
            f"logdet(X@X.T + eye(n)) - ({part('')})",
            f"x@({part('nn')})@y",
            f"det(X)*({part('')})",
            f"dot({part('n')}, solve(X@X.T + eye(n), {part('n')}))",
        ],
        "vector": [
            f"({part(kind)}) + ({part(kind)})" if kind else "",
            f"({part(kind)}) * ({part(kind)})" if kind else "",
            f"{rng.choice(ELEMENTWISE)}({part(kind)})" if kind else "",
            f"({part('')}) * ({part(kind)})" if kind else "",
            f"A@({part('n')})" if kind == "m" else f"({part('m')})@B",
            f"sum({part('mn')}, axis={axis})",
            f"norm({part('mn')}, axis={axis})",
            f"softmax({part(kind)})" if kind else "",
            f"({part(kind)})/(1 + ({part(kind)})^2)" if kind else "",
            f"maximum({part(kind)}, {part(kind)})" if kind else "",
            f"where({part(kind)} > 0, {part(kind)}, 1)" if kind else "",
        ],
        "mn": [
            f"({part('mn')}) * ({part('mn')})",
            f"{rng.choice(ELEMENTWISE)}({part('mn')})",
            f"({part('mn')})@({part('nn')})",
            f"outer({part('m')}, {part('n')})",
            f"({part('mn')}) - ({part('n')})",
            f"softmax({part('mn')}, axis={rng.choice('01')})",
        ],
        "nn": [
            f"({part('mn')}).T@({part('mn')})",
            f"({part('nn')})@({part('nn')})",
            f"({part('nn')}) + ({part('nn')}).T",
            f"diag({part('n')})",
            f"{rng.choice(ELEMENTWISE)}({part('nn')})",
        ],
    }
    return rng.choice(forms[kind if kind in ("", "mn", "nn") else "vector"])


def engine(program, values, kind, labels):
    request = Request(wrt=list(dict.fromkeys(name for label in labels for name in label.split("/"))))
    if kind == "hessian":
        blocks = compute_hessian(program, values, request).blocks
        return {label: blocks[label.split("/")[0]][label.split("/")[1]] for label in labels}
    if kind == "jacobian":
        return compute_jacobian(program, values, request).blocks
    return {item.name: item.slope for item in compute_gradient(program, values, request).inputs}


def formulas_of(seed):
    """Return a random program, its shapes and its formulas, skipping programs without a matrix form."""
    rng = random.Random(seed)
    while True:
        kind = rng.choice(["", "", "n", "m"])
        program = program_of(random_text(kind, rng.choice([1, 2, 2]), rng))
        shapes = {name: dims for name, dims in SHAPES.items() if name in program.free_names()}
        order = 2 if not kind and rng.random() < 0.3 else 1
        try:
            return program, shapes, matrix_formulas(program, shapes, Request(order=order), code=order == 1)
        except GradcliError as error:
            assert "more than two axes" in error.message, (program.title, error.message)  # vectors by matrices


def close(x, y):
    return np.shape(x) == np.shape(y) and np.abs(x - y).max(initial=0) <= 1e-7 * np.abs(y).max(initial=1)


@pytest.mark.parametrize("seed", [*range(100), *(pytest.param(k, marks=pytest.mark.nightly) for k in range(100, 200))])
def test_a_random_program_agrees_with_the_engine(seed):
    program, shapes, result = formulas_of(seed)
    lengths = {"m": 3, "n": 4}
    values = draw(program, shapes, lengths, seed)
    given = {name: x for name, x in values.items() if name in program.free_names(values)}
    theirs = engine(program, given, result.kind, [d.name for d in result.derivatives])
    ours = {d.name: evaluate(d.formula.text, values) for d in result.derivatives}
    for name, x in ours.items():
        assert close(x, np.asarray(theirs[name])), (program.title, name)
    if result.code:
        scope = {}
        exec(result.code, scope)
        function = scope["value_and_gradient"]
        value, *slopes = function(*(values[name] for name in inspect.signature(function).parameters))
        assert close(value, evaluate(program.title, values))
        for d, slope in zip(result.derivatives, slopes, strict=True):
            assert close(slope, ours[d.name]), (result.code, d.name)


# -- errors ---------------------------------------------------------------------------------------------------


def test_a_formula_that_disagrees_with_the_engine_is_a_defect(monkeypatch):
    monkeypatch.setitem(reader.TABLE_SLOPES, "exp", ("2*exp(x)",))
    reader.slope_formula.cache_clear()
    try:
        with pytest.raises(GradcliError, match="disagrees") as caught:
            matrix_formulas(program_of("sum(exp(x))"), {"x": ("n",)}, Request())
        assert caught.value.exit_code == EXIT_DEFECT
    finally:
        reader.slope_formula.cache_clear()


@pytest.mark.parametrize(
    ("text", "shapes", "place"),
    [
        ("sum(A@x)", "A=m,n x=m", "A@x"),
        ("sum(a + b)", "a=n b=m", "a + b"),
        ("trace(A)", "A=m,n", "trace(A)"),
        ("sum(cumsum(x))", "x=n", "cumsum"),
        ("sum(leaky_relu(x))", "x=n", "leaky_relu"),
        ("sum(x, axis=1)", "x=n", "sum(x, axis=1)"),
        ("sum(x[0])", "x=n", "x[0]"),
        ("sum(A@s)", "A=n,n", "A@s"),
        ("outer(A, x)@x", "A=n,n x=n", "outer(A, x)"),
    ],
)
def test_errors_point_at_the_faulty_expression(text, shapes, place):
    with pytest.raises(GradcliError) as caught:
        matrix_formulas(program_of(text), shapes_in(shapes), Request())
    span = caught.value.span
    assert text[span.start : span.end] == place


@pytest.mark.parametrize("shape", [("m", "n"), ("n",), ("n", "n", "n")])
@pytest.mark.parametrize("option", ["symmetric", "spd"])
def test_symmetric_and_spd_require_a_square_matrix(option, shape):
    with pytest.raises(GradcliError, match=f"--{option}: 'A' is not a square matrix"):
        matrix_formulas(program_of("sum(A)"), {"A": shape}, Request(), **{option: ["A"]})
