"""Sequences of several lengths in one batch: padded, or packed step after step (torch.nn.utils.rnn)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...face.create import full
from ...face.create import tensor as as_tensor
from ...face.join import cat, stack
from ...face.wrap import missing
from ...tape.tensor import Tensor


class PackedSequence(NamedTuple):
    """The elements of all sequences at the first step, at the second, and so on; the longest sequences come first.

    batch_sizes: how many sequences have a step. sorted_indices: the places of the sequences before sorting.
    """

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None = None
    unsorted_indices: Tensor | None = None

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Convert the elements to another type."""
        return self._replace(data=self.data.to(*args, **kwargs))


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Return the permutation that undoes another."""
    return None if permutation is None else as_tensor(np.argsort(permutation.numpy()))


def pad_sequence(
    sequences: Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Return sequences (L, ...) as one tensor (longest, N, ...), or (N, longest, ...) with batch_first."""
    sequences = list(sequences)
    longest = max(x.shape[0] for x in sequences)
    padded = []
    for x in sequences:
        rest = full((longest - x.shape[0], *x.shape[1:]), padding_value, dtype=x.dtype)
        padded.append(cat([x, rest] if padding_side == "right" else [rest, x]) if rest.numel() else x)
    return stack(padded, 0 if batch_first else 1)


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack a padded batch; the sequences are sorted by length first unless they are (enforce_sorted)."""
    numbers = np.asarray(lengths.tolist() if isinstance(lengths, Tensor) else lengths, np.int64)
    x = input.transpose(0, 1) if batch_first else input
    order = None
    if not enforce_sorted:
        order = np.argsort(-numbers, kind="stable")
        numbers, x = numbers[order], x.index_select(1, as_tensor(order))
    if (numbers <= 0).any():
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if (np.diff(numbers) > 0).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
            "do not need ONNX exportability."
        )
    sizes = [int((numbers > t).sum()) for t in range(int(numbers[0]))]
    data = cat([x[t, :n] for t, n in enumerate(sizes)])
    places = None if order is None else as_tensor(order)
    return PackedSequence(data, as_tensor(sizes), places, invert_permutation(places))


def padded_rows(packed: PackedSequence, padding_value: float = 0.0, total_length: int | None = None) -> Tensor:
    """Return the elements as (L, N, ...), sorted as they are packed."""
    sizes = packed.batch_sizes.tolist()
    rows, start = [], 0
    for n in sizes:
        rows.append(packed.data[start : start + n])
        start += n
    empty = [rows[0][:0]] * ((total_length or len(sizes)) - len(sizes))
    return stack([pad_row(row, sizes[0], padding_value) for row in rows + empty])


def pad_row(row: Tensor, count: int, value: float) -> Tensor:
    """Return elements with as many padding elements behind them as make up a count."""
    if row.shape[0] == count:
        return row
    return cat([row, full((count - row.shape[0], *row.shape[1:]), value, dtype=row.dtype)])


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """Return a packed batch as a padded one, and the lengths of its sequences."""
    sizes = sequence.batch_sizes.numpy()
    if total_length is not None and total_length < len(sizes):
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {len(sizes)}"
        )
    x = padded_rows(sequence, padding_value, total_length)
    lengths = as_tensor(np.array([(sizes > i).sum() for i in range(sizes[0])]))
    if sequence.unsorted_indices is not None:
        x = x.index_select(1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices]
    return (x.transpose(0, 1) if batch_first else x), lengths


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences (L, ...)."""
    lengths = [x.shape[0] for x in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpad_sequence(padded_sequences: Tensor, lengths: Any, batch_first: bool = False) -> list[Tensor]:
    """Return the sequences of a padded batch."""
    x = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[: int(n)] for row, n in zip(x.unbind(0), lengths, strict=True)]


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Return the sequences of a packed batch."""
    return unpad_sequence(*pad_packed_sequence(packed_sequences, batch_first=True), batch_first=True)


__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]
__getattr__ = missing(__name__, lambda: __all__)
