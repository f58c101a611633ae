"""Gradients at special points: kinks, ties, zeros, infinities. Expected values are exact, or PyTorch's choice."""

import math

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

import gradcli
from gradcli.rules import entry
from gradcli.tape.backward import grad
from gradcli.tape.tensor import Tensor

INF, NAN = math.inf, math.nan
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy warns at poles and of means of nothing

# name, operands, gradients of the sum of the result
FIRST = [
    ("absolute", [[-2.0, 0.0, 3.0]], [[-1, 0, 1]]),
    ("sign", [[-2.0, 0.0, 3.0]], [[0, 0, 0]]),
    ("relu", [[-1.0, 0.0, 2.0]], [[0, 0, 1]]),
    ("leaky_relu", [[-1.0, 0.0, 2.0]], [[0.01, 0.01, 1]]),
    ("elu", [[0.0, 2.0]], [[1, 1]]),
    ("sqrt", [[0.0, 4.0]], [[INF, 0.25]]),
    ("log", [[0.0, 2.0]], [[INF, 0.5]]),
    ("reciprocal", [[0.0]], [[-INF]]),
    ("sigmoid", [[-800.0, 0.0, 800.0]], [[0, 0.25, 0]]),
    ("softplus", [[-800.0, 0.0, 800.0]], [[0, 0.5, 1]]),
    ("logsigmoid", [[-800.0, 0.0, 800.0]], [[1, 0.5, 0]]),
    ("hypot", [[3e200], [4e200]], [[0.6], [0.8]]),
    ("arctan2", [[1.0], [0.0]], [[0], [-1]]),
    ("arctan2", [[1e-200], [1e-200]], [[5e199], [-5e199]]),
    ("logaddexp", [[-INF, 1000.0], [0.0, 1000.0]], [[0, 0.5], [1, 0.5]]),
    ("maximum", [[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]], [[0.5, 0, 1], [0.5, 1, 0]]),
    ("minimum", [[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]], [[0.5, 1, 0], [0.5, 0, 1]]),
    ("fmax", [[1.0, NAN, 3.0], [1.0, 3.0, NAN]], [[1, 0, 1], [0, 1, 0]]),
    ("power", [[0.0, 0.0, 2.0], [2.0, 1.0, 3.0]], [[0, 1, 12], [0, 0, 8 * math.log(2)]]),
    ("power", [[0.0, 2.0], [0.0, 0.0]], [[0, 0], [0, math.log(2)]]),
    ("power", [[-2.0], 3], [[12], None]),
    ("power", [[0.0], 0], [[0], None]),
    ("power", [[0.0], -1], [[-INF], None]),
    ("remainder", [[7.0, -7.0], [3.0, 3.0]], [[1, 1], [-2, 3]]),
    ("divide", [[1.0, 0.0], [0.0, 2.0]], [[INF, 0.5], [-INF, 0]]),
    ("clip", [[-1.0, 0.0, 1.0, 2.0], 0.0, 1.0], [[0, 1, 1, 0], None, None]),
    ("copysign", [[0.0, -3.0], [1.0, 2.0]], [[0, -1], [0, 0]]),
    ("prod", [[0.0, 2.0, 3.0]], [[6, 0, 0]]),
    ("prod", [[0.0, 0.0, 3.0]], [[0, 0, 0]]),
    ("prod", [[[0.0, 2.0], [5.0, 3.0]]], [[[30, 0], [0, 0]]]),
    ("cumprod", [[2.0, 0.0, 3.0]], [[1, 8, 0]]),
    ("max", [[1.0, 3.0, 3.0]], [[0, 0.5, 0.5]]),
    ("min", [[NAN, 3.0]], [[1, 0]]),
    ("std", [[2.0, 2.0]], [[0, 0]]),
    ("norm", [[0.0, 0.0]], [[0, 0]]),
    ("norm", [[3e200, 4e200]], [[0.6, 0.8]]),
    ("logsumexp", [[-INF, 0.0]], [[0, 1]]),
    ("logsumexp", [[1000.0, 1000.0]], [[0.5, 0.5]]),
    ("softmax", [[1000.0, 0.0]], [[0, 0]]),
    ("sort", [[3.0, 1.0, 1.0]], [[1, 1, 1]]),
    ("det", [[[1.0, 2.0], [2.0, 4.0]]], [[[4, -2], [-2, 1]]]),
    ("det", [[[0.0, 0.0], [0.0, 0.0]]], [[[0, 0], [0, 0]]]),
    ("erf", [[0.0, 40.0]], [[2 / math.sqrt(math.pi), 0]]),
    ("arctan2", [[0.0], [0.0]], [[0], [0]]),
    ("maximum", [[NAN, 1.0], [0.0, NAN]], [[1, 1], [1, 1]]),
    ("remainder", [[1.0], [-INF]], [[1], [1]]),
    ("clip", [[1.0], [INF], INF], [[0], [1], None]),
    ("power", [[INF, NAN], 0], [[0, 0], None]),
    ("frac", [[-1.5, 2.0]], [[1, 1]]),
    ("rsqrt", [[0.0, 4.0]], [[-INF, -1 / 16]]),
    ("nan_to_num", [[NAN, INF, 2.0]], [[0, 0, 1]]),
    ("nextafter", [[1.0, 1.0], [2.0, 1.0]], [[1, 0], [0, 0]]),
    ("xlogy", [[0.0, 0.0], [0.0, 2.0]], [[0, math.log(2)], [NAN, 0]]),
    ("xlog1py", [[0.0, 0.0], [-1.0, 1.0]], [[0, math.log(2)], [NAN, 0]]),
    ("entr", [[0.0, 1.0]], [[INF, -1]]),
    ("logit", [[-0.5, 0.5, 1.0]], [[NAN, 4, INF]]),
    ("logit", [[-0.5, 0.5, 1.0], 0.1], [[0, 4, 0], None]),
    ("i1e", [[0.0]], [[0.5]]),
    ("log_ndtr", [[-INF, 0.0, INF]], [[INF, math.sqrt(2 / math.pi), 0]]),
    ("lerp", [[INF, 1.0], [2.0, INF], 0.0], [[1, 1], [0, 0], None]),
    ("divide", [[0.0, -0.0, 0.0], [5e-324, -5e-324, 1e-310]], [[INF, -INF, INF], [0, 0, 0]]),
    ("softmax", [[1.0, INF]], [[NAN, NAN]]),
    ("log_softmax", [[1.0, INF]], [[NAN, NAN]]),
    ("log_softmax", [[1.0, -INF]], [[-1, 1]]),
    ("logsumexp", [[INF, 1.0]], [[NAN, 0]]),
    ("power", [[-0.0, 0.0, INF, -INF], 0.5], [[-INF, INF, 0, NAN], None]),
]


def leaves_of(operands):
    return [x if isinstance(x, int | float) else Tensor._wrap(np.array(x), None).requires_grad_() for x in operands]


@pytest.mark.parametrize(("name", "operands", "expected"), FIRST, ids=lambda x: x if isinstance(x, str) else "")
@pytest.mark.parametrize("create", [False, True], ids=["raw", "graph"])
def test_first_derivative(name, operands, expected, create):
    arguments = leaves_of(operands)
    out = entry(name).function(*arguments)
    wanted = [x for x in arguments if isinstance(x, Tensor)]
    got = grad(out.sum(), wanted, create_graph=create)
    for g, want in zip(got, [e for e in expected if e is not None], strict=True):
        assert_allclose(g._data, np.array(want, float), rtol=1e-14, atol=1e-300)


@pytest.mark.parametrize(("name", "x", "expected"), [("sgn", 0.0, 0.0), ("arcsin", 1.0, INF), ("arccos", -1.0, INF)])
def test_second_derivative(name, x, expected):
    leaf = gradcli.tensor(x, requires_grad=True)
    (first,) = grad(entry(name).function(leaf), leaf, create_graph=True)
    second = grad(first, leaf, allow_unused=True)[0] if first.requires_grad else None
    assert (0.0 if second is None else second.item()) == pytest.approx(expected, abs=1e-15)


def test_second_derivatives_of_prod_with_zeros():
    """d2/dx0dx1 of x0 x1 x2 is x2, even if elements are zero."""
    x = gradcli.tensor([0.0, 0.0, 5.0], requires_grad=True)
    (g,) = grad(x.prod(), x, create_graph=True)
    rows = [grad(g[i], x, retain_graph=True)[0]._data.tolist() for i in range(3)]
    assert rows == [[0, 5, 0], [5, 0, 0], [0, 0, 0]]


def test_where_gives_no_gradient_to_the_branch_not_taken():
    x = gradcli.tensor([1.0, 4.0], requires_grad=True)
    y = gradcli.tensor([2.0, 3.0], requires_grad=True)
    gradcli.where(x > 2, x, y).sum().backward(gradcli.tensor(INF))
    assert x.grad._data.tolist() == [0.0, INF]
    assert y.grad._data.tolist() == [INF, 0.0]


def test_empty_arrays():
    x = gradcli.tensor(np.zeros((0, 3)), requires_grad=True)
    x.sum().backward()
    assert x.grad.shape == (0, 3)
    assert gradcli.tensor(np.zeros((0,))).prod().item() == 1.0
    assert math.isnan(gradcli.tensor(np.zeros((0,))).mean().item())


@pytest.mark.parametrize(("re", "im"), [(INF, 0.0), (0.0, INF), (1.0, -INF), (NAN, 1.0)])
def test_complex_keeps_infinite_and_nan_parts(re, im):
    x, y = (gradcli.tensor(v, requires_grad=True) for v in (re, im))
    z = gradcli.complex(x, y)
    assert np.array_equal([z.detach().numpy().real, z.detach().numpy().imag], [re, im], equal_nan=True)
    (z.real * 2 + z.imag * 3).backward()
    assert (x.grad.item(), y.grad.item()) == (2, 3)


@pytest.mark.parametrize("z", [complex(INF, 0), complex(0, -INF), complex(1e-310, 0), complex(0, 1e308)])
def test_the_gradient_of_the_modulus_is_its_direction(z):
    x = gradcli.tensor(z, requires_grad=True)
    x.abs().backward()
    assert x.grad.item() == pytest.approx(complex(np.sign(z.real), np.sign(z.imag)))


@pytest.mark.parametrize("gap", [0.0, 1.0, 27.0, 36.0, 300.0])
def test_softmax_is_accurate_next_to_a_large_element(gap):
    """The probability of the first element is sigmoid(-gap), however it is computed."""
    small = mpmath.mp.mpf(1) / (1 + mpmath.mp.exp(gap))
    x = gradcli.tensor([0.0, gap], dtype=gradcli.float64, requires_grad=True)
    slope = float(small * (1 - small))
    for y, value, gradient, rounding in (
        (gradcli.softmax(x, 0)[0], float(small), [slope, -slope], 0),
        (gradcli.softmax(x, 0)[1], float(1 - small), [-slope, slope], 0),
        (gradcli.log_softmax(x, 0)[1], float(mpmath.log1p(-small)), [-float(small), float(small)], 0),
        (gradcli.logsumexp(x, 0) - gap, float(-mpmath.log1p(-small)), [float(small), float(1 - small)], 1e-14 * gap),
    ):
        (first,) = gradcli.autograd.grad(y, x, create_graph=True)
        assert y.item() == pytest.approx(value, rel=1e-13, abs=rounding)
        assert first.tolist() == pytest.approx(gradient, rel=1e-13)
    (first,) = gradcli.autograd.grad(gradcli.log_softmax(x, 0)[1], x, create_graph=True)
    assert gradcli.autograd.grad(first[1], x)[0].tolist() == pytest.approx([slope, -slope], rel=1e-13)
