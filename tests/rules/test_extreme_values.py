"""Values and gradients where numbers are as large, as small, or as infinite as they get."""

import mpmath
import numpy as np
import pytest

import gradcli

TINY = 5e-324


@pytest.mark.parametrize("x", [0.0, -0.0])
@pytest.mark.parametrize("y", [TINY, -TINY, 1e-310])
def test_quotients_of_zero_have_a_finite_slope_in_the_divisor(x, y):
    x, y = (gradcli.tensor(v, requires_grad=True) for v in (x, y))
    (x / y).backward()
    assert y.grad.item() == 0


@pytest.mark.parametrize(("re", "im"), [(np.inf, 0.0), (0.0, np.inf), (1.0, -np.inf), (np.nan, 1.0)])
def test_complex_keeps_the_parts_that_it_is_given(re, im):
    x, y = (gradcli.tensor(v, requires_grad=True) for v in (re, im))
    z = gradcli.complex(x, y)
    assert np.array_equal([z.detach().numpy().real, z.detach().numpy().imag], [re, im], equal_nan=True)
    (z.real * 2 + z.imag * 3).backward()
    assert (x.grad.item(), y.grad.item()) == (2, 3)


@pytest.mark.parametrize("z", [complex(np.inf, 0), complex(0, -np.inf), complex(1e-310, 0), complex(0, 1e308)])
def test_the_slope_of_the_modulus_is_a_direction(z):
    x = gradcli.tensor(z, requires_grad=True)
    x.abs().backward()
    assert x.grad.item() == pytest.approx(complex(np.sign(z.real), np.sign(z.imag)))


def test_pairs_get_the_gradient_of_a_real_part():
    x = gradcli.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    gradcli.view_as_complex(x).real.sum().backward()
    assert x.grad.tolist() == [[1.0, 0.0], [1.0, 0.0]]


@pytest.mark.parametrize("gap", [0.0, 1.0, 27.0, 36.0, 300.0])
def test_softmax_keeps_its_digits_beside_a_large_element(gap):
    """The probability of the other element is sigmoid(-gap), for any way to ask for it."""
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
