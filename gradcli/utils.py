"""Data sets and loaders with the names of torch.utils.data."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .api.create import tensor
from .api.shape import stack
from .api.wrap import missing, namespace
from .tape.modes import random_numbers
from .tape.tensor import Tensor


class Dataset:
    """Samples by index. Derived classes define `__getitem__` and `__len__`."""

    def __class_getitem__(cls, item: Any) -> type:
        return cls

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")


class TensorDataset(Dataset):
    """Rows of tensors of the same length. Raises AssertionError if their lengths differ."""

    def __init__(self, *tensors: Tensor):
        if any(x.shape[0] != tensors[0].shape[0] for x in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple:
        return tuple(x[index] for x in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].shape[0]


class Subset(Dataset):
    """The samples of a data set with the given indices."""

    def __init__(self, dataset: Any, indices: Sequence[int]):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Sequence[float]) -> list[Subset]:
    """Split at random into parts of the given lengths, or fractions that add up to 1."""
    total = len(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = [math.floor(total * part) for part in lengths]
        lengths = [n + (i < total - sum(lengths)) for i, n in enumerate(lengths)]
    if sum(lengths) != total:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = iter(random_numbers.rng.permutation(total).tolist())
    return [Subset(dataset, list(itertools.islice(order, int(n)))) for n in lengths]


def default_collate(batch: Sequence) -> Any:
    """Join samples: stack tensors, arrays and numbers, join tuples and dicts element by element, list others."""
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(list(batch))
    if isinstance(first, np.ndarray | np.generic):
        return tensor(np.stack([np.asarray(x) for x in batch]))
    if isinstance(first, int | float):
        return tensor(batch, dtype=np.float64 if isinstance(first, float) else None)
    if isinstance(first, Mapping):
        return {key: default_collate([sample[key] for sample in batch]) for key in first}
    if isinstance(first, tuple | list):
        parts = [default_collate(column) for column in zip(*batch, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else parts
    return list(batch)


class DataLoader:
    """Iterates over a data set in batches, in this process; num_workers and pin_memory are ignored."""

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool = False,
        *,
        num_workers: int = 0,
        collate_fn: Callable | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
    ):
        self.dataset, self.batch_size, self.shuffle, self.drop_last = dataset, batch_size, shuffle, drop_last
        self.collate_fn = collate_fn or default_collate

    def __iter__(self) -> Iterator:
        count = len(self.dataset)
        order = iter(random_numbers.rng.permutation(count).tolist() if self.shuffle else range(count))
        if self.batch_size is None:
            return (self.dataset[i] for i in order)
        numbers = (list(itertools.islice(order, self.batch_size)) for _ in range(len(self)))
        return (self.collate_fn([self.dataset[i] for i in batch]) for batch in numbers)

    def __len__(self) -> int:
        count, size = len(self.dataset), self.batch_size or 1
        return count // size if self.drop_last else -(-count // size)


__all__ = ["data"]
data = namespace(
    f"{__name__}.data", {"gradcli.utils": "DataLoader Dataset Subset TensorDataset default_collate random_split"}
)
__getattr__ = missing(__name__, lambda: __all__)
