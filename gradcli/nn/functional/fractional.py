"""Maxima over windows of random places (Graham 2014, "Fractional max-pooling")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...face.draw import generator
from ...tape.tensor import Tensor
from .arguments import constant, per_axis
from .convolution import batched, described
from .pooling import at_places, largest_positions, with_indices


def random_table(size: int, out: int, kernel: int, sample: float) -> np.ndarray:
    """Return the positions (out, kernel) of windows whose starts advance by steps of nearly one length."""
    if out + kernel - 1 > size:
        raise RuntimeError(f"fractional_max_pool: kernel size {kernel} is too large relative to input size {size}")
    step = (size - kernel) / (out - 1) if out > 1 else 0.0
    starts = np.floor((np.arange(out) + sample) * step).astype(int) - int(sample * step)
    starts[-1:] = size - kernel
    return starts[:, None] + np.arange(kernel)


def lengths_of(size: tuple, n: int, output_size: Any, output_ratio: Any) -> tuple[int, ...]:
    """Return the output lengths. Raises ValueError unless exactly one of size and ratio is given."""
    if (output_size is None) == (output_ratio is None):
        raise ValueError("fractional_max_pool requires specifying either an output_size or an output_ratio")
    if output_size is not None:
        return per_axis(output_size, n, "output_size")
    ratios = output_ratio if isinstance(output_ratio, list | tuple) else (output_ratio,) * n
    if not all(0 < r < 1 for r in ratios):
        raise ValueError("fractional_max_pool requires output_ratio to be in (0, 1)")
    return tuple(int(m * r) for m, r in zip(size, ratios, strict=True))


def fractional_max_pool(n: int, name: str) -> tuple[Callable, Callable]:
    """Return the fractional max pool in n dimensions, and the form that returns the positions, too."""

    def function(
        input: Tensor,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:
        x, unbatched = batched(input, n, name)
        batch, channels, *size = x.shape
        kernels = per_axis(kernel_size, n, "kernel_size")
        outs = lengths_of(tuple(size), n, output_size, output_ratio)
        if _random_samples is None:
            samples = generator.rng.uniform(0, 1, (batch, channels, n), x._data.dtype)
        else:
            samples = np.asarray(_random_samples.detach().numpy()).reshape(batch, channels, n)
        order = (1, 0) if n == 2 else (0, 1, 2)
        data = x.detach().numpy()
        places = np.zeros((batch, channels, *outs), np.intp)
        for plane in np.ndindex(batch, channels):
            chosen = [float(samples[plane][i]) for i in order]
            axes = zip(size, outs, kernels, chosen, strict=True)
            places[plane] = largest_positions(data[plane], [random_table(*axis) for axis in axes])
        values, indices = at_places(x, places, n), constant(places)
        if unbatched:
            values, indices = values.squeeze(0), indices.squeeze(0)
        return (values, indices) if return_indices else values

    doc = f"Maxima over windows of random places in the last {n} axes, output_size of them or that part of the input."
    return described(function, name, doc), with_indices(function, name)


(
    (fractional_max_pool2d, fractional_max_pool2d_with_indices),
    (fractional_max_pool3d, fractional_max_pool3d_with_indices),
) = (fractional_max_pool(n, f"fractional_max_pool{n}d") for n in (2, 3))
