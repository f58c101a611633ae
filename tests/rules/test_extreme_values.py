"""Values and gradients where numbers are as large, as small, or as infinite as they get."""

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
