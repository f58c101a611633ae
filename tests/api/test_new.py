"""Tensors made after the type of another, and sizes."""

import pytest

import gradcli

FLOATS = gradcli.ones(2, dtype=gradcli.float32)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ((), []),
        ((2,), [0.0, 0.0]),
        ((1, 2), [[0.0, 0.0]]),
        ((gradcli.ones(1, 2).size(),), [[0.0, 0.0]]),
        (([1, 2],), [1.0, 2.0]),
    ],
)
def test_new(args, expected):
    made = FLOATS.new(*args)
    assert made.tolist() == expected
    assert made.dtype == gradcli.float32


def test_sizes_add_up_to_sizes():
    total = gradcli.ones(2, 3).shape + (4,)
    assert type(total) is gradcli.Size
    assert total == (2, 3, 4)
    assert total.numel() == 24
