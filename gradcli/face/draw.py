"""Random numbers, and numbers drawn with given probabilities."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ..tape.dtypes import as_numpy, defaults
from ..tape.tensor import Tensor, as_raw
from .create import finished, lengths, like, new_shape, tensor
from .wrap import face


class _Generator:
    """The source of random numbers of this process, made when it is first used."""

    @functools.cached_property
    def rng(self) -> Any:
        return np.random.default_rng()


generator = _Generator()


def manual_seed(seed: int) -> None:
    """Start the random numbers of rand, randn and the like from a seed."""
    generator.rng = np.random.default_rng(int(seed) % 2**64)


@face(method=False)
def rand(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Uniform random numbers in [0, 1)."""
    return finished(np.asarray(generator.rng.random(new_shape(size))), dtype or defaults.float, requires_grad, device)


@face(method=False)
def randn(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Standard normal random numbers (both parts of complex ones with variance 1/2)."""
    shape, wanted = new_shape(size), as_numpy(dtype)
    raw = np.asarray(generator.rng.standard_normal(shape))
    if wanted is not None and wanted.kind == "c":
        raw = (raw + 1j * generator.rng.standard_normal(shape)) / math.sqrt(2)
    return finished(raw, wanted or defaults.float, requires_grad, device)


@face(method=False)
def randint(
    low: int,
    high: Any,
    size: Any = None,
    *,
    dtype: Any = np.int64,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Random integers from low (0) up to, not including, high."""
    low, high, size = (0, low, high) if size is None else (low, high, size)
    return finished(np.asarray(generator.rng.integers(low, high, lengths((size,)))), dtype, requires_grad, device)


@face(method=False)
def randperm(n: int, *, dtype: Any = np.int64, device: Any = None, requires_grad: bool = False) -> Tensor:
    """The numbers 0 to n - 1 in random order."""
    return finished(generator.rng.permutation(n), dtype, requires_grad, device)


for _make in (rand, randn):
    like(_make, f"{_make.__name__}_like")


@face(method=False)
def randint_like(input: Tensor, low: int, high: int | None = None, *, dtype: Any = None) -> Tensor:
    """randint in the shape and type of input."""
    low, high = (0, low) if high is None else (low, high)
    return randint(low, high, tuple(input.shape), dtype=dtype or input._data.dtype)


@face
def multinomial(input: Tensor, num_samples: int, replacement: bool = False, **_: object) -> Tensor:
    """Numbers of columns, drawn for each row of weights (n,) or (rows, n) with probabilities proportional to them.

    Raises RuntimeError for weights that cannot be probabilities, or for too few of them without replacement.
    """
    weights = np.atleast_2d(np.asarray(input.detach()._data, np.float64))
    if input.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (weights.sum(-1) <= 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    if not replacement and num_samples > weights.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    rows = [drawn(row / row.sum(), num_samples, replacement) for row in weights]
    return tensor(np.array(rows)[0] if input.ndim == 1 else np.array(rows))


def drawn(share: np.ndarray, count: int, replacement: bool) -> np.ndarray:
    """Return numbers drawn with given probabilities."""
    if not replacement and np.count_nonzero(share) < count:
        raise RuntimeError(
            "invalid multinomial distribution (with replacement=False, not enough non-negative category)"
        )
    return generator.rng.choice(len(share), count, replacement, share)


@face(method=False)
def normal(
    mean: Any,
    std: Any = 1.0,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Normal random numbers of a mean and a deviation: tensors that are broadcast, or numbers and a size."""
    if np.any(as_raw(std) < 0):
        raise RuntimeError(f"normal expects std >= 0.0, but found std {np.min(as_raw(std)):g}")
    shape = new_shape((size,)) if size is not None else np.broadcast_shapes(as_raw(mean).shape, as_raw(std).shape)
    kinds = [x._data.dtype for x in (mean, std) if isinstance(x, Tensor)]
    raw = np.asarray(generator.rng.standard_normal(shape)) * as_raw(std) + as_raw(mean)
    return finished(raw, dtype or (kinds[0] if kinds else defaults.float), requires_grad, device)


@face
def normal_(input: Tensor, mean: float = 0, std: float = 1) -> Tensor:
    """Fill in place with normal random numbers."""
    return input.copy_(Tensor._wrap(generator.rng.normal(mean, std, input.shape), None).to(input.dtype))


@face
def uniform_(input: Tensor, low: float = 0, high: float = 1) -> Tensor:
    """Fill in place with uniform random numbers."""
    return input.copy_(Tensor._wrap(generator.rng.uniform(low, high, input.shape), None).to(input.dtype))


@face
def random_(input: Tensor, low: int = 0, high: int | None = None) -> Tensor:
    """Fill in place with random integers from low up to, not including, high."""
    low, high = (0, low or 2**24) if high is None else (low, high)
    return input.copy_(Tensor._wrap(generator.rng.integers(low, high, input.shape), None).to(input.dtype))


@face
def bernoulli(input: Tensor) -> Tensor:
    """1 with the given probabilities, else 0 (no gradient). Raises RuntimeError for other numbers."""
    if not ((input._data >= 0) & (input._data <= 1)).all():
        raise RuntimeError(
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If "
            "so, please report an enhancement request to PyTorch.)"
        )
    return Tensor._wrap((generator.rng.random(input.shape) < input._data).astype(input._data.dtype), None)
