"""Sampling at the places of a grid, and grids from affine maps."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from ...face.linalg import product as matrix_product
from ...face.select import where
from ...tape.tensor import Tensor
from .arguments import constant
from .interpolation import CUBIC


def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """Places theta (x, y, 1) for all pixels of (N, C, H, W), or of (N, C, D, H, W) with theta (N, 3, 4)."""
    sizes = [int(n) for n in size][2:]
    n = len(sizes)
    if n not in (2, 3) or tuple(theta.shape) != (int(size[0]), n, n + 1):
        raise RuntimeError(
            f"Expected a batch of {n}D affine matrices of shape N x {n} x {n + 1} for size {list(size)}. "
            f"Got {list(theta.shape)}."
        )
    axes = [centres(m, bool(align_corners)) for m in sizes]
    grid = np.meshgrid(*axes, indexing="ij")
    points = np.stack([*grid[::-1], np.ones(sizes)], -1).reshape(-1, n + 1).astype(theta.dtype)
    return matrix_product(constant(points), theta.swapaxes(-1, -2)).reshape(theta.shape[0], *sizes, n)


def centres(size: int, align_corners: bool) -> np.ndarray:
    """Return the places of pixels in [-1, 1]."""
    if size <= 1:
        return np.zeros(size)
    places = np.linspace(-1, 1, size)
    return places if align_corners else places * (size - 1) / size


def as_pixels(x: Tensor, size: int, align_corners: bool) -> Tensor:
    """Return places in [-1, 1] as pixel numbers."""
    return (x + 1) * ((size - 1) / 2) if align_corners else ((x + 1) * size - 1) / 2


def clipped(x: Tensor, size: int) -> Tensor:
    """Limit pixel numbers to the image; no slope from its border on."""
    inner = (x > 0) & (x < size - 1)
    return where(inner, x, x.detach().clamp(0, size - 1))


def reflected(x: Tensor, low: float, high: float) -> Tensor:
    """Reflect pixel numbers at two borders."""
    span = high - low
    if span <= 0:
        return x * 0.0
    fixed = np.asarray(x.detach().numpy())
    side = np.where(fixed - low < 0, -1.0, 1.0).astype(fixed.dtype)
    away = np.abs(fixed - low)
    flips = np.floor(away / span)
    odd = flips % 2 == 1
    distance = (x - low) * constant(side) - constant((flips * span).astype(fixed.dtype))
    return where(constant(odd), high - distance, distance + low)


def located(x: Tensor, size: int, padding_mode: str, align_corners: bool) -> Tensor:
    """Return pixel numbers inside the image, unless padding with zeros."""
    if padding_mode == "zeros":
        return x
    if padding_mode == "reflection":
        x = reflected(x, 0, size - 1) if align_corners else reflected(x, -0.5, size - 0.5)
    return clipped(x, size)


def linear_weights(x: Tensor) -> tuple[np.ndarray, list]:
    """Return the left neighbours and the weights of two."""
    first = np.floor(x.detach().numpy())
    part = x - constant(first)
    return first, [1 - part, part]


def nearest_weights(x: Tensor) -> tuple[np.ndarray, list]:
    """Return the nearest neighbours, halves to even, and no weights."""
    return np.round(x.detach().numpy()), [None]


def cubic_weights(x: Tensor) -> tuple[np.ndarray, list]:
    """Return the first of four neighbours, and their weights."""
    first = np.floor(x.detach().numpy())
    part = x - constant(first)
    a = CUBIC

    def near(s: Tensor) -> Tensor:
        return ((a + 2) * s - (a + 3)) * s * s + 1

    def far(s: Tensor) -> Tensor:
        return ((a * s - 5 * a) * s + 8 * a) * s - 4 * a

    return first - 1, [far(part + 1), near(part), near(1 - part), far(2 - part)]


WEIGHTS: dict[str, Callable] = {"bilinear": linear_weights, "nearest": nearest_weights, "bicubic": cubic_weights}


def check(input: Tensor, grid: Tensor, mode: str, padding_mode: str) -> int:
    """Return the number of spatial axes. Raises ValueError or RuntimeError for what does not fit."""
    if mode not in WEIGHTS:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', "
            f"but got: '{padding_mode}'"
        )
    n = input.ndim - 2
    if n not in (2, 3) or grid.ndim != n + 2 or grid.shape[-1] != n or grid.shape[0] != input.shape[0]:
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with the same batch size and number of axes, "
            f"but got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if mode == "bicubic" and n != 2:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    return n


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Sample (N, C, ...) at the places grid (N, ..., n), in [-1, 1], the last axis first.

    mode: 'bilinear', 'nearest' or (two axes) 'bicubic'. padding_mode: outside lie 'zeros', the 'border' or the
    'reflection' of the image.
    """
    n = check(input, grid, mode, padding_mode)
    sizes = input.shape[2:]
    firsts, weights = [], []
    for i, size in enumerate(sizes):
        pixels = as_pixels(grid[..., n - 1 - i], size, bool(align_corners))
        if mode != "bicubic":
            pixels = located(pixels, size, padding_mode, bool(align_corners))
        first, parts = WEIGHTS[mode](pixels)
        firsts.append(np.nan_to_num(first, nan=-1e9).clip(-1e9, 1e9).astype(np.intp))
        weights.append(parts)
    total: Any = None
    for corner in product(*(range(len(parts)) for parts in weights)):
        places = [first + k for first, k in zip(firsts, corner, strict=True)]
        term = pixels_at(input, places, padding_mode if mode == "bicubic" else "zeros", bool(align_corners))
        for parts, k in zip(weights, corner, strict=True):
            term = term if parts[k] is None else term * parts[k][:, None]
        total = term if total is None else total + term
    if mode == "nearest" and grid.requires_grad:
        still = where(constant(np.isfinite(grid.detach().numpy())), grid, 0.0) * 0.0
        total = total + still.sum(-1)[:, None]
    return total


def pixels_at(input: Tensor, places: list, padding_mode: str, align_corners: bool) -> Tensor:
    """Return the elements of (N, C, ...) at whole pixel numbers (N, ...); 0 outside."""
    sizes = input.shape[2:]
    if padding_mode != "zeros":
        places = [
            located(constant(p.astype(float)), m, padding_mode, align_corners).detach().numpy().astype(np.intp)
            for p, m in zip(places, sizes, strict=True)
        ]
    inside = np.logical_and.reduce([(p >= 0) & (p < m) for p, m in zip(places, sizes, strict=True)])
    safe = [np.clip(p, 0, m - 1)[:, None] for p, m in zip(places, sizes, strict=True)]
    shape = (-1, 1, *(1,) * (inside.ndim - 1))
    lead = (np.arange(input.shape[0]).reshape(shape), np.arange(input.shape[1]).reshape((1, *shape[:1], *shape[2:])))
    found = input[(*lead, *safe)]
    return found if inside.all() else found * constant(inside[:, None]).to(input.dtype)
