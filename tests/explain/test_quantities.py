"""Quantities that may be missing in a claim."""

import functools
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from scipy import special, stats

from gradcli.explain.block import InputBlock
from gradcli.explain.quantities import (
    ACTIVATION_SLOPES,
    INNER,
    SLOPES_BY_RESULT,
    SUBSTITUTED,
    VALUE_FUNCTIONS,
    fits,
    matrix_products,
)

AT = np.array([0.3, 0.8, 1.7])
SIGNED = np.array([-1.6, -0.4, 0.3, 2.1])
NAMES = {"x": AT, "sigmoid": special.expit, **{name: getattr(np, name) for name in dir(np) if name.islower()}}
ACTIVATIONS = {
    "tanh": mpmath.tanh,
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "softplus": lambda x: mpmath.log(1 + mpmath.exp(x)),
    "gelu": lambda x: x * mpmath.ncdf(x),
    "gelu (tanh)": lambda x: x * (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (x + 0.044715 * x**3))) / 2,
    "silu": lambda x: x / (1 + mpmath.exp(-x)),
    "elu": lambda x: x if x > 0 else mpmath.expm1(x),
    "arctan": mpmath.atan,
    "sqrt": mpmath.sqrt,
    "log": mpmath.log,
}


def activation_of(words):
    """Return the activation that "the derivative of ..." names, and its derivative."""
    name = next(name for name in sorted(ACTIVATIONS, key=len)[::-1] if words.startswith(f"the derivative of {name}"))
    f = ACTIVATIONS[name]
    return name, f, lambda x: mpmath.diff(f, x)


@pytest.mark.parametrize("words", {**VALUE_FUNCTIONS, **INNER})
def test_a_function_computes_what_its_name_says(words):
    function = {**VALUE_FUNCTIONS, **INNER}[words]
    if words.startswith("the normal"):
        expected = (stats.norm.pdf if "density" in words else stats.norm.cdf)(AT)
    else:
        expected = eval(words.format("x"), NAMES)
    np.testing.assert_allclose(function(AT), expected, rtol=1e-12)


@pytest.mark.parametrize("words", ACTIVATION_SLOPES)
def test_slopes_of_activations(words):
    slope = activation_of(words)[2]
    np.testing.assert_allclose(ACTIVATION_SLOPES[words](SIGNED), [float(slope(x)) for x in SIGNED], rtol=1e-10)


@pytest.mark.parametrize("words", SLOPES_BY_RESULT)
def test_slopes_of_activations_from_their_results(words):
    name, f, slope = activation_of(words)
    points = AT if name in ("sqrt", "log") else SIGNED
    results = np.array([float(f(x)) for x in points])
    np.testing.assert_allclose(SLOPES_BY_RESULT[words](results), [float(slope(x)) for x in points], rtol=1e-10)


def sigmoid_slope(x):
    return special.expit(x) * special.expit(-x)


def tanh_slope(x):
    return 1 / np.cosh(x) ** 2


CLAIMS = {
    "{0} (1 - {0})": (lambda x: x * (1 - x), sigmoid_slope),
    "the derivative of sigmoid": (lambda x: sigmoid_slope(special.expit(x)), sigmoid_slope),
    "the derivative of tanh": (lambda x: tanh_slope(np.tanh(x)), tanh_slope),
    "sigmoid({0}) in place of its derivative": (special.expit, sigmoid_slope),
}
"""Claims and derivatives of the substitutions whose words are not two formulas."""


@pytest.mark.parametrize("words", SUBSTITUTED)
def test_a_substitution_is_the_claim_divided_by_the_derivative(words):
    pair = next((pair for start, pair in CLAIMS.items() if words.startswith(start)), None)
    if pair is None:
        claim, slope = (eval(formula.format("x"), NAMES) for formula in words.split(" in place of "))
    else:
        claim, slope = (f(AT) for f in pair)
    np.testing.assert_allclose(SUBSTITUTED[words](AT), claim / slope, rtol=1e-12)


def test_arrays_that_fit_are_those_that_numpy_broadcasts():
    for shape in [(), (1,), (3,), (2,), (1, 3), (2, 3), (2, 1), (1, 2, 3), (3, 2)]:
        for into in [(), (3,), (2, 3), (4, 2, 3)]:
            try:
                expected = np.broadcast_shapes(shape, into) == into
            except ValueError:
                expected = False
            assert fits(shape, into) is expected, (shape, into)


def block(of, **at):
    made = SimpleNamespace(at=at, array=at[of], x=at[of].reshape(-1), columns=slice(None))
    made.numbers_of = functools.partial(InputBlock.numbers_of, made)
    return made


@pytest.mark.parametrize(
    ("shapes", "names"),
    [
        ({"w": (3, 2), "x": (4, 3), "y": (4, 2)}, ["x.T @ y"]),
        ({"w": (4, 2), "x": (4, 3), "y": (3, 2)}, ["x @ y"]),
        ({"w": (4, 2), "x": (4, 3), "y": (2, 3)}, ["x @ y.T"]),
        ({"w": (3, 2), "x": (3,), "y": (2,)}, ["outer(x, y)"]),
        ({"w": (3,), "x": (3, 2), "y": (2,)}, ["x @ y", "x @ y.T", "y @ x.T"]),
        ({"w": (), "x": (3,), "y": (3,)}, []),
    ],
)
def test_products_of_two_inputs_have_the_shape_of_a_third(shapes, names):
    rng = np.random.default_rng(0)
    at = {name: rng.standard_normal(shape) for name, shape in shapes.items()}
    one = block("w", **at)
    found = {q.name: q.of(one) for q in matrix_products(one)}
    assert sorted(found) == names
    for name, values in found.items():
        np.testing.assert_allclose(values, eval(name, {"outer": np.outer, **at}).reshape(-1), rtol=1e-14)


def test_no_product_is_computed_only_to_see_its_shape():
    """Otherwise the outer product of two inputs of 10 million elements would need 800 TB."""
    one = block("x", x=np.ones(10_000_000), y=np.ones(10_000_000))
    assert list(matrix_products(one)) == []
