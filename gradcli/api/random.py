"""Random tensors, and numbers drawn with given probabilities: NumPy's random numbers."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ..tape.dtypes import as_numpy, defaults
from ..tape.tensor import Tensor, as_raw
from .create import lengths, like, make_leaf, new_shape, tensor
from .wrap import public


class _Source:
    """Where the random numbers of this process come from: made when it is first used, and by manual_seed."""

    @functools.cached_property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng()


source = _Source()


@public(method=False)
def manual_seed(seed: int) -> None:
    """Start the random numbers of rand, randn and the like from a seed."""
    source.rng = np.random.default_rng(int(seed) % 2**64)


def draw_normal(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return standard normal numbers; the parts of complex ones have the variance 1/2."""
    dtype = np.dtype(dtype)
    if dtype.kind == "c":
        return source.rng.normal(0, math.sqrt(0.5), (*shape, 2)).view(np.complex128)[..., 0].astype(dtype)
    return source.rng.standard_normal(shape).astype(dtype)


@public(method=False)
def rand(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Uniform random numbers in [0, 1)."""
    kind = as_numpy(dtype) or defaults.float
    shape = new_shape(size)
    raw = source.rng.random((*shape, 2)).view(np.complex128)[..., 0] if kind.kind == "c" else source.rng.random(shape)
    return make_leaf(raw, kind, requires_grad, device)


@public(method=False)
def randn(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Standard normal random numbers (both parts of complex ones with variance 1/2)."""
    kind = as_numpy(dtype) or defaults.float
    return make_leaf(draw_normal(new_shape(size), kind), kind, requires_grad, device)


@public(method=False)
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
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    return make_leaf(source.rng.integers(low, high, lengths((size,))), dtype, requires_grad, device)


@public(method=False)
def randperm(n: int, *, dtype: Any = np.int64, device: Any = None, requires_grad: bool = False) -> Tensor:
    """The numbers 0 to n - 1 in random order."""
    return make_leaf(source.rng.permutation(n), dtype, requires_grad, device)


for _make in (rand, randn):
    like(_make)


@public(method=False)
def randint_like(input: Tensor, low: int, high: int | None = None, *, dtype: Any = None) -> Tensor:
    """randint in the shape and type of input."""
    low, high = (0, low) if high is None else (low, high)
    return randint(low, high, tuple(input.shape), dtype=dtype or input._data.dtype)


@public(method=False)
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
    kinds = [x._data.dtype for x in (mean, std) if isinstance(x, Tensor)]
    kind = as_numpy(dtype) or (kinds[0] if kinds else defaults.float)
    shape = np.broadcast_shapes(as_raw(mean).shape, as_raw(std).shape) if size is None else new_shape((size,))
    raw = draw_normal(shape, kind) * as_raw(std) + as_raw(mean)
    return make_leaf(np.asarray(raw), kind, requires_grad, device)


@public
def normal_(input: Tensor, mean: float = 0, std: float = 1) -> Tensor:
    """Fill in place with normal random numbers."""
    raw = draw_normal(tuple(input.shape), input.dtype.numpy) * std + mean
    return input.copy_(Tensor._wrap(np.asarray(raw), None).to(input.dtype))


@public
def uniform_(input: Tensor, low: float = 0, high: float = 1) -> Tensor:
    """Fill in place with uniform random numbers."""
    return input.copy_(tensor(source.rng.uniform(low, high, tuple(input.shape))).to(input.dtype))


@public
def bernoulli(input: Tensor, p: float | None = None) -> Tensor:
    """1 with the probabilities that the input holds (or p), else 0. Raises RuntimeError for other numbers."""
    chance = input._data if p is None else np.float64(p)
    if not ((chance >= 0) & (chance <= 1)).all():
        raise RuntimeError(
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If "
            "so, please report an enhancement request to PyTorch.)"
        )
    drawn = source.rng.random(tuple(input.shape)) < chance
    return Tensor._wrap(np.asarray(drawn).astype(input._data.dtype), None)


@public
def bernoulli_(input: Tensor, p: Any = 0.5) -> Tensor:
    """Fill in place with 1, of the probability p (a number, or one for each element), else 0."""
    given = (p.expand(input.shape),) if isinstance(p, Tensor) else (input, p)
    return input.copy_(bernoulli(*given).to(input.dtype))
