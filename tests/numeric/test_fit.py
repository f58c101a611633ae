"""A single fit: exact for polynomials, with an error that covers noise and truncation of the series."""

import numpy as np
import pytest

from gradcli.numeric.fit import chebyshev_matrix, fit, nodes

from .lines import sampler_of


@pytest.mark.parametrize("degree", [4, 8, 16])
def test_a_fit_of_a_polynomial_is_exact(degree):
    line = sampler_of(lambda x: 1 + 2 * x + 3 * x**3, 0.0).element(0)
    found = fit(line, 0.5, degree)
    assert found.value[0] == pytest.approx(2, abs=1e-12)
    assert found.change(np.array([0.1]))[0, 0] == pytest.approx(0.2 + 3 * 0.001, abs=1e-13)
    right = fit(line, 0.5, degree, side=1)
    assert right.value[0] == pytest.approx(2, abs=1e-10)
    assert right.change(np.array([0.1]))[0, 0] == pytest.approx(0.2 + 3 * 0.001, abs=1e-13)
    assert fit(line, 0.5, degree, start=0.25).value[0] == pytest.approx(2 + 9 * 0.0625, abs=1e-11)


def test_chebyshev_polynomials_match_numpy():
    points = nodes(8).points
    np.testing.assert_allclose(chebyshev_matrix(points), np.polynomial.chebyshev.chebvander(points, 8), atol=1e-14)


@pytest.mark.parametrize("f, slope", [(np.exp, 1.0), (np.sin, 1.0), (lambda x: 1 / (1 - x), 1.0)])
@pytest.mark.parametrize("noise", [0.0, 1e-9, 1e-5])
def test_the_error_covers_noise_and_truncation(f, slope, noise):
    drawn = np.random.default_rng(0)
    for width in (0.01, 0.1, 0.3):
        line = sampler_of(lambda x: f(x) + noise * drawn.standard_normal(), 0.0).element(0)
        found = fit(line, width, 8)
        assert abs(found.value[0] - slope) <= found.error[0], (width, found.value, found.error)
        assert found.error[0] <= 0.01 + 200 * noise / width
