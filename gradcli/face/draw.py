"""Random tensors, and numbers drawn with given probabilities."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..tape.dtypes import as_numpy, defaults
from ..tape.tensor import Tensor, as_raw
from .create import finished, lengths, like, new_shape, tensor
from .stream import Generator
from .wrap import face


class _Common:
    """The source of random numbers of this process, made when it is first used."""

    @functools.cached_property
    def rng(self) -> Generator:
        return Generator()


generator = _Common()


def stream_of(given: Any) -> Generator:
    """Return the generator that was given, the common one for None, or one that NumPy's generator seeds.

    Raises TypeError for anything else.
    """
    if given is None:
        return generator.rng
    if isinstance(given, np.random.Generator):
        return Generator(seed=int(given.integers(2**63)))
    if not isinstance(given, Generator):
        raise TypeError(f"argument 'generator' must be a gradcli.Generator, not {type(given).__name__}")
    return given


@face(method=False)
def rand(
    *size: Any, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Uniform random numbers in [0, 1)."""
    kind = as_numpy(dtype) or defaults.float
    return finished(stream_of(generator).uniform(0, 1, new_shape(size), kind), kind, requires_grad, device)


@face(method=False)
def randn(
    *size: Any, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Standard normal random numbers (both parts of complex ones with variance 1/2)."""
    kind = as_numpy(dtype) or defaults.float
    return finished(stream_of(generator).normal(0, 1, new_shape(size), kind), kind, requires_grad, device)


@face(method=False)
def randint(
    low: int,
    high: Any,
    size: Any = None,
    *,
    generator: Any = None,
    dtype: Any = np.int64,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Random integers from low (0) up to, not including, high."""
    low, high, size = (0, low, high) if size is None else (low, high, size)
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    return finished(stream_of(generator).integers(low, high, lengths((size,))), dtype, requires_grad, device)


@face(method=False)
def randperm(
    n: int, *, generator: Any = None, dtype: Any = np.int64, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """The numbers 0 to n - 1 in random order."""
    return finished(stream_of(generator).permutation(n), dtype, requires_grad, device)


for _make in (rand, randn):
    like(_make, f"{_make.__name__}_like")


@face(method=False)
def randint_like(input: Tensor, low: int, high: int | None = None, *, dtype: Any = None) -> Tensor:
    """randint in the shape and type of input."""
    low, high = (0, low) if high is None else (low, high)
    return randint(low, high, tuple(input.shape), dtype=dtype or input._data.dtype)


@face
def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """Numbers of columns, drawn for each row of weights (n,) or (rows, n) with probabilities proportional to them.

    Raises RuntimeError for weights that cannot be probabilities, or for too few of them without replacement.
    """
    if input.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    weights = np.atleast_2d(np.asarray(input.detach()._data))
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (weights.sum(-1) <= 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    if not replacement and num_samples > weights.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if not replacement and (np.count_nonzero(weights, -1) < num_samples).any():
        raise RuntimeError(
            "invalid multinomial distribution (with replacement=False, not enough non-negative category)"
        )
    rows = drawn(stream_of(generator), weights, num_samples, replacement)
    return tensor(rows[0] if input.ndim == 1 else rows)


def drawn(stream: Generator, weights: np.ndarray, count: int, replacement: bool) -> np.ndarray:
    """Return numbers drawn for each row of weights.

    Several with replacement are places in the sums of the weights; others win a race of exponential numbers.
    """
    if replacement and count > 1:
        sums = np.cumsum(weights, -1)
        sums = sums / sums[:, -1:]
        spots = stream.unit((len(weights), count))
        return np.array([np.searchsorted(row, spot) for row, spot in zip(sums, spots, strict=True)], np.int64)
    race = weights / stream.exponential(1.0, weights.shape).astype(weights.dtype)
    return np.argsort(-race, -1, kind="stable")[:, :count].astype(np.int64)


@face(method=False)
def normal(
    mean: Any,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Normal random numbers of a mean and a deviation: tensors that are broadcast, or numbers and a size."""
    if np.any(as_raw(std) < 0):
        raise RuntimeError(f"normal expects std >= 0.0, but found std {np.min(as_raw(std)):g}")
    stream = stream_of(generator)
    if size is not None:
        kind = as_numpy(dtype) or defaults.float
        return finished(stream.normal(mean, std, new_shape((size,)), kind), kind, requires_grad, device)
    kinds = [x._data.dtype for x in (mean, std) if isinstance(x, Tensor)]
    kind = as_numpy(dtype) or (kinds[0] if kinds else defaults.float)
    shape = np.broadcast_shapes(as_raw(mean).shape, as_raw(std).shape)
    raw = stream.normal(0, 1, shape, kind) * as_raw(std) + as_raw(mean)
    return finished(np.asarray(raw), kind, requires_grad, device)


def refilled(input: Tensor, draw: Callable[[tuple[int, ...]], np.ndarray]) -> Tensor:
    """Return a tensor with its elements replaced by random numbers of a shape, drawn in the order of its memory."""
    data = np.asarray(input.detach()._data)
    order = sorted(range(data.ndim), key=lambda i: -abs(data.strides[i]))
    raw = draw(tuple(data.shape[i] for i in order)).transpose(np.argsort(order).tolist())
    return input.copy_(Tensor._wrap(raw, None).to(input.dtype))


@face
def normal_(input: Tensor, mean: float = 0, std: float = 1, *, generator: Any = None) -> Tensor:
    """Fill in place with normal random numbers."""
    stream, kind, blocks = stream_of(generator), input.dtype.numpy, input.is_contiguous()
    return refilled(input, lambda shape: stream.normal(mean, std, shape, kind, blocks))


@face
def uniform_(input: Tensor, low: float = 0, high: float = 1, *, generator: Any = None) -> Tensor:
    """Fill in place with uniform random numbers."""
    return refilled(input, lambda shape: stream_of(generator).uniform(low, high, shape, input.dtype.numpy))


LARGEST = {"f4": 2**24 + 1, "f8": 2**53 + 1, "i1": 2**7, "u1": 2**8, "i2": 2**15, "i4": 2**31, "i8": 2**63}


@face
def random_(input: Tensor, low: int | None = None, high: int | None = None, *, generator: Any = None) -> Tensor:
    """Fill in place with random integers from low up to, not including, high, or all that the type has."""
    stream, kind = stream_of(generator), input.dtype.numpy
    if low is None:
        largest, words = np.uint64(LARGEST.get(kind.str[1:], 2)), stream.wide if kind.itemsize == 8 else stream.words
        return refilled(input, lambda shape: (words(math.prod(shape)) % largest).astype(np.int64).reshape(shape))
    low, high = (0, low) if high is None else (low, high)
    return refilled(input, functools.partial(stream.integers, low, high))


@face
def exponential_(input: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill in place with exponential random numbers of a rate."""
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    return refilled(input, functools.partial(stream_of(generator).exponential, lambd))


@face
def bernoulli(input: Tensor, p: float | None = None, *, generator: Any = None) -> Tensor:
    """1 with the probabilities that the input holds (or p), else 0. Raises RuntimeError for other numbers."""
    chance = input._data if p is None else np.float64(p)
    if not ((chance >= 0) & (chance <= 1)).all():
        raise RuntimeError(
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If "
            "so, please report an enhancement request to PyTorch.)"
        )
    drawn = stream_of(generator).chances(chance, tuple(input.shape))
    return Tensor._wrap(drawn.astype(input._data.dtype), None)


@face
def bernoulli_(input: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill in place with 1, of the probability p (a number, or one for each element), else 0."""
    given = (p.expand(input.shape),) if isinstance(p, Tensor) else (input, p)
    return input.copy_(bernoulli(*given, generator=generator).to(input.dtype))
