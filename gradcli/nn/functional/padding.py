"""Padding."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...api.shape import at
from ...rules import entry
from ...rules.index import Index
from ...tape.record import relabel
from ...tape.tensor import Tensor


def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """Elements added around input: pad = (before, behind) of the last axis, then of the one before it, ...

    mode: 'constant' (value, 0 unless given), 'reflect', 'replicate' or 'circular'; negative lengths cut off.
    Raises RuntimeError where pad does not fit, NotImplementedError for another mode.
    """
    lengths = [int(n) for n in pad]
    if len(lengths) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(lengths) > 2 * input.ndim:
        raise RuntimeError(
            f"Padding length should be less than or equal to two times the input dimension but got padding "
            f"length {len(lengths)} and input of dimension {input.ndim}"
        )
    pairs = list(zip(lengths[::2], lengths[1::2], strict=True))
    if mode == "constant":
        return relabel(constant_pad(input, pairs, 0.0 if value is None else value), "ConstantPadNdBackward0")
    if value is not None and value != 0:
        raise ValueError(f"Padding mode '{mode}' doesn't take in value argument")
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    for axis, (before, behind) in enumerate(pairs):
        if before or behind:
            length = input.shape[-1 - axis]
            input = at(input, -1 - axis, positions(mode, length, before, behind))
    return input


def constant_pad(input: Tensor, pairs: list, value: Any) -> Tensor:
    """Pad with a constant; pairs from the last axis on."""
    around = [(0, 0)] * (input.ndim - len(pairs)) + pairs[::-1]
    shape = tuple(n + a + b for n, (a, b) in zip(input.shape, around, strict=True))
    if min(shape, default=0) < 0:
        raise RuntimeError(f"pad {pairs} leaves a negative length of the shape {list(input.shape)}")
    cut = [slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(input.shape, around, strict=True)]
    if any(a < 0 or b < 0 for a, b in around):
        input = input[tuple(cut)]
    place = [slice(max(a, 0), m - max(b, 0)) for m, (a, b) in zip(shape, around, strict=True)]
    index = Index(tuple(place), shape)
    if value == 0:
        return entry("put_zeros")(input, index=index, lead=())
    return entry("setitem")(np.full(shape, value, input.dtype), input, index=index)


def positions(mode: str, length: int, before: int, behind: int) -> np.ndarray:
    """Return which elements of an axis the padded axis holds. Raises RuntimeError where it is too short."""
    steps = np.arange(-before, length + behind)
    if mode == "reflect" and max(before, behind) >= length:
        raise RuntimeError(
            "Padding size should be less than the corresponding input dimension, "
            f"but got: padding ({before}, {behind}) at an axis of length {length}"
        )
    if mode == "circular" and max(before, behind) > length:
        raise RuntimeError("Padding value causes wrapping around more than once.")
    if mode == "circular":
        first, last = max(-before, 0), length - max(-behind, 0)
        return first + (steps - first) % (last - first)
    if mode == "reflect":
        return length - 1 - np.abs(length - 1 - np.abs(steps))
    return np.clip(steps, 0, length - 1)


def constant_pad_nd(input: Tensor, pad: Any, value: float = 0) -> Tensor:
    """pad with a constant."""
    lengths = [int(n) for n in pad]
    return constant_pad(input, list(zip(lengths[::2], lengths[1::2], strict=True)), value)
