"""Tensors made after the type of another or evenly spaced, and sizes."""

import numpy as np
import pytest

import gradcli as gc

FLOATS = gc.ones(2, dtype=gc.float32)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ((), []),
        ((2,), [0.0, 0.0]),
        ((1, 2), [[0.0, 0.0]]),
        ((gc.ones(1, 2).size(),), [[0.0, 0.0]]),
        (([1, 2],), [1.0, 2.0]),
    ],
)
def test_new(args, expected):
    made = FLOATS.new(*args)
    assert made.tolist() == expected
    assert made.dtype == gc.float32


def test_sizes_add_up_to_sizes():
    total = gc.ones(2, 3).shape + (4,)
    assert type(total) is gc.Size
    assert total == (2, 3, 4)
    assert total.numel() == 24


def test_evenly_spaced_numbers_are_counted_from_the_nearer_end():
    step = float(np.float32(1) / np.float32(9))
    expected = np.float32([*(step * i for i in range(5)), *(1 - step * (9 - i) for i in range(5, 10))])
    assert gc.linspace(0, 1, 10, dtype=gc.float32).tolist() == expected.tolist()
    assert gc.linspace(-1, 1, 5).tolist() == [-1.0, -0.5, 0.0, 0.5, 1.0]
    assert gc.linspace(3, 4, 1).tolist() == [3.0]
