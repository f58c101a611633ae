"""Printed tensors: which elements are shown."""

import pytest

import gradcli


@pytest.fixture(autouse=True)
def few_elements():
    """Abbreviate tensors with more than five elements."""
    before = gradcli.get_printoptions()
    gradcli.set_printoptions(threshold=5)
    yield
    gradcli.set_printoptions(**before)


def test_axes_longer_than_both_edges_are_abbreviated():
    assert repr(gradcli.zeros(6)) == "tensor([0., 0., 0., 0., 0., 0.])"
    assert repr(gradcli.zeros(7)) == "tensor([0., 0., 0.,  ..., 0., 0., 0.])"
    assert repr(gradcli.zeros(6, 1)).count("...") == 0
    assert repr(gradcli.zeros(7, 1)).count("...") == 1
