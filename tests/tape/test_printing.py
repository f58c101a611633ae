"""Printed tensors: which elements are shown."""

import pytest

import gradcli


@pytest.fixture(autouse=True)
def as_before():
    before = gradcli.get_printoptions()
    yield
    gradcli.set_printoptions(**before)


def test_axes_longer_than_both_edges_are_abbreviated():
    gradcli.set_printoptions(threshold=5)
    assert repr(gradcli.zeros(6)) == "tensor([0., 0., 0., 0., 0., 0.])"
    assert repr(gradcli.zeros(7)) == "tensor([0., 0., 0.,  ..., 0., 0., 0.])"
    assert repr(gradcli.zeros(6, 1)).count("...") == 0
    assert repr(gradcli.zeros(7, 1)).count("...") == 1


INF, NAN = float("inf"), float("nan")
PRINTED = [
    ([1, 2, 30], "[ 1,  2, 30]"),
    ([True, False], "[ True, False]"),
    ([0.5, INF], "[0.5000,    inf]"),
    ([1.0, NAN], "[1., nan]"),
    ([1.0, 10000.0], "[1.0000e+00, 1.0000e+04]"),
    ([2.0, 1e3], "[   2., 1000.]"),
    ([1e-5, 1.0], "[1.0000e-05, 1.0000e+00]"),
    ([1e9], "[1.0000e+09]"),
    ([0.0, 1e-3, 1.0], "[0.0000, 0.0010, 1.0000]"),
    ([-1.5, 2.25], "[-1.5000,  2.2500]"),
    ([1.0, -20.0], "[  1., -20.]"),
    ([], "[]"),
    (3.5, "3.5000"),
    (7, "7"),
    ([1 + 2j], "[1.+2.j]"),
    ([0.5 - 2j, -1 + 0.25j], "[ 0.5000-2.0000j, -1.0000+0.2500j]"),
    ([[1.0, 2.0], [3.0, 4.5]], "[[1.0000, 2.0000],\n        [3.0000, 4.5000]]"),
    ([[[1, 2]], [[5, 6]]], "[[[1, 2]],\n\n        [[5, 6]]]"),
]
"""Numbers, and how PyTorch 2 prints them."""


@pytest.mark.parametrize(("data", "text"), PRINTED, ids=[text for _, text in PRINTED])
def test_numbers_print_as_in_pytorch(data, text):
    assert repr(gradcli.tensor(data)) == f"tensor({text})"


def test_what_is_special_about_a_tensor_follows_its_numbers():
    x = gradcli.tensor([1.0], requires_grad=True)
    assert repr(x) == "tensor([1.], requires_grad=True)"
    assert repr(x * 2) == "tensor([2.], grad_fn=<MulBackward0>)"
    assert repr(gradcli.zeros(2, 0)) == "tensor([], size=(2, 0))"
    assert repr(gradcli.tensor([1], dtype=gradcli.int32)).endswith("[1], dtype=gradcli.int32)")
    assert repr(gradcli.tensor([], dtype=gradcli.int64)).endswith("[], dtype=gradcli.int64)")
    assert repr(gradcli.nn.Parameter(x)) == "Parameter containing:\ntensor([1.], requires_grad=True)"


def test_lines_are_as_long_as_in_pytorch():
    gradcli.set_printoptions(linewidth=30)
    assert repr(gradcli.arange(4) + 100) == "tensor([100, 101, 102, 103])"
    assert repr(gradcli.arange(5) + 100) == "tensor([100, 101, 102, 103,\n        104])"
    x = gradcli.tensor([1.5] * 3, requires_grad=True)
    assert repr(x) == "tensor([1.5000, 1.5000,\n        1.5000],\n       requires_grad=True)"


@pytest.mark.parametrize(
    ("width", "wrapped"),
    [(59, ", dtype=gradcli.float32,\n       requires_grad=True"), (60, ", dtype=gradcli.float32, requires_grad=True"),
     (36, ",\n       dtype=gradcli.float32,\n       requires_grad=True")],
)  # fmt: skip
def test_suffixes_that_do_not_fit_begin_a_line(width, wrapped):
    """As in PyTorch, a line may be as long as the width, of which the closing parenthesis takes one."""
    gradcli.set_printoptions(linewidth=width)
    x = gradcli.tensor([1.0, 2.0], dtype=gradcli.float32, requires_grad=True)
    assert repr(x) == f"tensor([1., 2.]{wrapped})"


def test_options_of_printed_numbers():
    x = gradcli.tensor([1.2345])
    gradcli.set_printoptions(precision=2)
    assert repr(x) == "tensor([1.23])"
    gradcli.set_printoptions(sci_mode=True)
    assert repr(x) == "tensor([1.23e+00])"
    gradcli.set_printoptions(profile="default")
    assert repr(x) == "tensor([1.2345])" and gradcli.get_printoptions()["sci_mode"] is None
    gradcli.set_printoptions(profile="short", edgeitems=1, threshold=3)
    assert repr(x) == "tensor([1.23])"
    field = "tensor([[ 0,  ...,  3],\n        ...,\n        [ 8,  ..., 11]])"
    assert repr(gradcli.arange(12).reshape(3, 4)) == field
