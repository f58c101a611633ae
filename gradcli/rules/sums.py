"""Sums of floats: NumPy's, or in the order in which PyTorch adds on a CPU, so that the last digits agree, too."""

from __future__ import annotations

import math

import numpy as np

LANES = {"f": 8, "d": 4}
"""Numbers in one of PyTorch's vectors (32 bytes)."""
ROWS = 4
"""Sums that are made side by side, of every fourth number each."""
LEVELS = 4
NARROW_LEVELS = 8
"""Levels of sums of single numbers."""
SHARED = 32768
"""Numbers from which on PyTorch shares a sum among threads: its order depends on their number."""


class order:  # noqa: N801 - a namespace
    """Whether floats are added in PyTorch's order: scripts for PyTorch ask for that."""

    pytorch = False


def total(x, axis, keepdims=False):
    """Return the sum of an array over negative axes."""
    if order.pytorch and type(x) is np.ndarray and x.dtype.char in LANES and 0 < x.size < SHARED:
        found = in_order(x, axis)
        if found is not None:
            return np.expand_dims(found, axis) if keepdims else found[()]
    return np.add.reduce(x, axis=axis, keepdims=keepdims)


def in_order(x, axis):
    """Return the sum over the last or the first axes in PyTorch's order; None for other axes and memory orders."""
    places = range(-x.ndim, 0)
    long = [i for i in places if x.shape[i] > 1]
    summed = [i for i in long if i in axis]
    if not summed or not x.flags.c_contiguous:
        return None
    size = math.prod(x.shape[i] for i in summed)
    shape = tuple(x.shape[i] for i in places if i not in axis)
    if summed == long[-len(summed) :]:
        return along_rows(x.reshape(-1, size)).reshape(shape)
    if summed == long[: len(summed)]:
        return along_columns(x.reshape(size, -1)).reshape(shape)
    return None


def along_rows(x):
    """Return the sum of each row: whole vectors first, then what is left, then the lanes of the vectors."""
    lanes = LANES[x.dtype.char]
    rows, size = x.shape
    if size < lanes:
        return side_by_side(x.T)
    whole = size - size % lanes
    vectors = side_by_side(np.moveaxis(x[:, :whole].reshape(rows, -1, lanes), 1, 0))
    return one_by_one(np.concatenate([x[:, whole:], vectors], 1))


def along_columns(x):
    """Return the sum of each column: as many columns at a time as four vectors hold run straight down."""
    group = ROWS * LANES[x.dtype.char] if x.shape[1] >= LANES[x.dtype.char] else ROWS
    straight = x.shape[1] - x.shape[1] % group
    return np.concatenate([cascade(x[:, :straight]), side_by_side(x[:, straight:])])


def one_by_one(x):
    """Return the sum of each row, added from left to right."""
    return np.add.accumulate(x, axis=1)[:, -1]


def side_by_side(x):
    """Return the sum over the first axis: four sums of every fourth element, the rest added to the first of them."""
    whole = len(x) - len(x) % ROWS
    sums = cascade(x[:whole].reshape(whole // ROWS, ROWS, *x.shape[1:]))
    for part in (*x[whole:], *sums[1:]):
        sums[0] = sums[0] + part
    return sums[0]


def cascade(x):
    """Return the sum over the first axis: sums of blocks are summed in blocks again, and so on (Higham 1993)."""
    size = len(x)
    power = max(4, (max(size, 2) - 1).bit_length() // LEVELS)
    step = 1 << power
    levels = np.zeros((LEVELS, *x.shape[1:]), x.dtype)
    for i in range(step, size + 1, step):
        levels[0] = straight_down(x[i - step : i], levels[0])
        for j in range(1, LEVELS):
            levels[j] += levels[j - 1]
            levels[j - 1] = 0
            if i & ((step - 1) << (j * power)):
                break
    levels[0] = straight_down(x[size - size % step :], levels[0])
    for j in range(1, LEVELS):
        levels[0] += levels[j]
    return levels[0]


def straight_down(x, start):
    """Return start and the elements along the first axis added one after another."""
    return np.add.accumulate(np.concatenate([start[None], x]), axis=0)[-1]


def cascade_of_rows(x):
    """Return the sum of few numbers as PyTorch's loss of classes adds them: blocks, blocks of blocks, and so on.

    Unlike elsewhere, the first number is a block of its own.
    """
    power = max(4, (max(len(x), 2) - 1).bit_length() // NARROW_LEVELS)
    levels = np.zeros(NARROW_LEVELS, x.dtype)
    start, step = 0, 1 << power
    for last in range(0, len(x), step):
        levels[0] = np.add.accumulate(x[start : last + 1])[-1]
        start = last + 1
        for j in range(NARROW_LEVELS - 1):
            if last & ((step - 1) << (j * power)):
                break
            levels[j + 1] += levels[j]
            levels[j] = 0
    levels[0] = np.add.reduce(x[start:]) if start == len(x) else np.add.accumulate(x[start:])[-1]
    return np.add.accumulate(levels)[-1]
