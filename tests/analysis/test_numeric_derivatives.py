"""`gradcli.numeric`: derivatives of any Python function, with their errors."""

import math

import numpy as np
import pytest

import gradcli
import gradcli.numeric.flat


def test_a_number():
    value, error = gradcli.numeric(math.gamma, 2.5)
    assert isinstance(value, float) and isinstance(error, float)
    assert abs(value - 0.9347345216260855) <= error < 1e-6


def test_an_array_and_several_outputs():
    value, error = gradcli.numeric(lambda x: np.array([x[0] * x[1], math.sin(x[1])]), [1.0, 2.0])
    right = np.array([[2, 1], [0, math.cos(2)]])
    assert value.shape == error.shape == (2, 2) and (np.abs(value - right) <= error).all() and error.max() < 1e-6


def test_arguments_by_name():
    value, error = gradcli.numeric(lambda x, y, n: x**n * y, {"x": 2.0, "y": np.array([1.0, 3.0]), "n": 3})
    assert list(value) == list(error) == ["x", "y"]
    assert np.allclose(value["x"], [12, 36]) and np.allclose(value["y"], np.diag([8, 8]))


def test_whole_numbers_are_numbers():
    assert gradcli.numeric(math.sin, 0)[0] == pytest.approx(1)
    assert gradcli.numeric(lambda x: x @ x, [1, 2]).value == pytest.approx(np.array([2, 4]))


def test_a_missing_derivative_is_nan_with_a_warning():
    with pytest.warns(RuntimeWarning, match="kink, with slope -1 on the left and 1 on the right"):
        value, error = gradcli.numeric(abs, 0.0)
    assert math.isnan(value) and error == math.inf


def test_exceptions_are_those_of_the_function():
    with pytest.raises(ZeroDivisionError):
        gradcli.numeric(lambda x: 1 / 0, 1.0)


def test_complex_numbers():
    """For f(z) = |z|^2, the derivative with respect to the parts of z is 2 z."""
    value, _ = gradcli.numeric(lambda z: abs(z) ** 2, 1 + 2j)
    assert value == pytest.approx(2 + 4j)


def test_the_name_is_both_a_package_and_a_function():
    from gradcli import numeric

    assert numeric is gradcli.numeric and gradcli.numeric.flat.Flat.__module__ == "gradcli.numeric.flat"
    assert callable(numeric) and "numeric" in dir(gradcli)
