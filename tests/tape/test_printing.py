"""How tensors are printed."""

import contextlib

import numpy as np
import pytest

import gradcli


@contextlib.contextmanager
def printing(**settings):
    before = gradcli.get_printoptions()
    gradcli.set_printoptions(**settings)
    try:
        yield
    finally:
        gradcli.set_printoptions(**before)


def test_blocks_of_matrices_stand_apart():
    assert repr(gradcli.arange(4.0).reshape(2, 1, 2)) == "tensor([[[0., 1.]],\n\n        [[2., 3.]]])"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, "tensor([1.1235, 2.5000])"),
        ({"precision": 2}, "tensor([1.12, 2.50])"),
        ({"sci_mode": True}, "tensor([1.1235e+00, 2.5000e+00])"),
        ({"linewidth": 16}, "tensor([1.1235,\n        2.5000])"),
    ],
)
def test_settings_hold_inside_their_context(settings, expected):
    x = gradcli.tensor([1.12345678, 2.5])
    before = gradcli.get_printoptions()
    with printing(**settings):
        assert repr(x) == expected
    assert gradcli.get_printoptions() == before


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"threshold": 5}, "tensor([0, 1, 2,  ..., 7, 8, 9])"),
        ({"threshold": 5, "edgeitems": 1}, "tensor([0,  ..., 9])"),
        ({"threshold": 10}, "tensor([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])"),
    ],
)
def test_long_tensors_are_elided_from_the_threshold_on(settings, expected):
    with printing(**settings):
        assert repr(gradcli.tensor(np.arange(10))) == expected


def test_scientific_notation_can_be_forbidden():
    with printing(sci_mode=False):
        assert repr(gradcli.tensor([10000.5, 0.001])) == "tensor([10000.5000,     0.0010])"
    assert repr(gradcli.tensor([10000.5, 0.001])) == "tensor([1.0000e+04, 1.0000e-03])"
