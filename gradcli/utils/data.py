"""Data sets, and loaders that go through them in batches."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..face.create import tensor
from ..face.draw import multinomial, stream_of
from ..face.join import stack
from ..face.stream import Generator
from ..face.wrap import missing
from ..tape.tensor import Tensor


class Dataset:
    """Samples by number; derived classes define `__getitem__`, and `__len__`."""

    def __class_getitem__(cls, item: Any) -> type:
        return cls

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Samples one after another; derived classes define `__iter__`."""


class TensorDataset(Dataset):
    """Rows of tensors of one length. Raises AssertionError for other lengths."""

    def __init__(self, *tensors: Tensor):
        if any(x.shape[0] != tensors[0].shape[0] for x in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple:
        return tuple(x[index] for x in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].shape[0]


class ConcatDataset(Dataset):
    """Several data sets, one behind the other."""

    def __init__(self, datasets: Iterable):
        self.datasets = list(datasets)
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        index += len(self) if index < 0 else 0
        for data, end in zip(self.datasets, self.cumulative_sizes, strict=True):
            if index < end:
                return data[index - end + len(data)]
        raise IndexError(index)


class Subset(Dataset):
    """The samples of a data set that have certain numbers."""

    def __init__(self, dataset: Any, indices: Sequence[int]):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Sequence[float], generator: Any = None) -> list[Subset]:
    """Return parts of the given lengths, or fractions, with samples drawn at random."""
    total = len(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        parts = [math.floor(total * part) for part in lengths]
        for i in range(total - sum(parts)):
            parts[i % len(parts)] += 1
        lengths = parts
    if sum(lengths) != total:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = stream_of(generator).permutation(total).tolist()
    ends = itertools.accumulate(int(n) for n in lengths)
    return [Subset(dataset, order[end - int(n) : end]) for n, end in zip(lengths, ends, strict=True)]


class SequentialSampler:
    """The numbers of the samples in order."""

    def __init__(self, data_source: Any):
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(SequentialSampler):
    """The numbers of the samples in random order, from a generator of its own that the common one seeds."""

    def __init__(
        self, data_source: Any, replacement: bool = False, num_samples: int | None = None, generator: Any = None
    ):
        super().__init__(data_source)
        self.replacement, self.wanted, self.generator = replacement, num_samples, generator

    @property
    def num_samples(self) -> int:
        """How many are drawn: one for each sample unless given."""
        return len(self.data_source) if self.wanted is None else self.wanted

    def __iter__(self) -> Iterator[int]:
        stream = self.generator or Generator(seed=int(stream_of(None).wide(1)[0]) % 2**63)
        size, left = len(self.data_source), self.num_samples
        while left > 0:
            drawn = stream.integers(0, size, (min(left, 32),)) if self.replacement else stream.permutation(size)
            yield from drawn[:left].tolist()
            left -= len(drawn)

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler:
    """The given numbers in random order."""

    def __init__(self, indices: Sequence[int], generator: Any = None):
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        for place in stream_of(self.generator).permutation(len(self.indices)).tolist():
            yield self.indices[place]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler:
    """Numbers of samples, drawn with probabilities proportional to weights."""

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True, generator: Any = None):
        self.weights, self.num_samples = tensor(weights, dtype=np.float64), num_samples
        self.replacement, self.generator = replacement, generator

    def __iter__(self) -> Iterator[int]:
        yield from multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler:
    """What a sampler gives, in lists of batch_size."""

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool):
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        count = len(self.sampler)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


def default_collate(batch: Sequence) -> Any:
    """Return samples joined: tensors, arrays and numbers stacked, structures part by part, strings in a list."""
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(list(batch))
    if isinstance(first, np.ndarray | np.generic):
        return tensor(np.stack([np.asarray(x) for x in batch]))
    if isinstance(first, float):
        return tensor(batch, dtype=np.float64)
    if isinstance(first, int):
        return tensor(batch)
    if isinstance(first, Mapping):
        return {key: default_collate([sample[key] for sample in batch]) for key in first}
    if isinstance(first, tuple | list):
        parts = [default_collate(list(column)) for column in zip(*batch, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else parts
    return list(batch)


class DataLoader:
    """Goes through a data set in batches, in this process: num_workers and pin_memory mean nothing here."""

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        generator: Any = None,
        **_: Any,
    ):
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.num_workers, self.pin_memory = num_workers, pin_memory
        self.collate_fn = collate_fn or (default_collate if batch_size is not None else lambda sample: sample)
        self.generator = generator
        shuffled = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        self.sampler = sampler or shuffled
        if batch_sampler is None and batch_size is not None:
            batch_sampler = BatchSampler(self.sampler, batch_size, drop_last)
        self.batch_sampler = batch_sampler

    def __iter__(self) -> Iterator:
        stream_of(self.generator).wide(1)  # PyTorch draws a seed for workers here, also without any
        if isinstance(self.dataset, IterableDataset):
            samples: Iterable = iter(self.dataset)  # type: ignore[call-overload]
            if self.batch_size is None:
                return map(self.collate_fn, samples)
            return map(self.collate_fn, BatchSampler(samples, self.batch_size, self.drop_last))
        if self.batch_sampler is None:
            return (self.collate_fn(self.dataset[i]) for i in self.sampler)
        return (self.collate_fn([self.dataset[i] for i in batch]) for batch in self.batch_sampler)

    def __len__(self) -> int:
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)


Sampler = SequentialSampler
__all__ = [
    "BatchSampler",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "default_collate",
    "random_split",
]
__getattr__ = missing(__name__, lambda: __all__)
