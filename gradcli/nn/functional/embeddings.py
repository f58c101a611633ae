"""Rows of a table of vectors, and sums, means and maxima over bags of them."""

from __future__ import annotations

import numpy as np

from ...face.select import where
from ...rules.index import Index
from ...tape.dtypes import as_dtype
from ...tape.modes import no_grad
from ...tape.tensor import Tensor
from .arguments import constant, run, with_slope


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """A last axis with 1 at the class, else 0; as many classes as needed unless given."""
    classes = np.asarray(tensor.detach().numpy())
    if classes.dtype.kind not in "iu":
        raise RuntimeError("one_hot is only applicable to index tensor.")
    if classes.size and classes.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        if not classes.size:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        num_classes = int(classes.max()) + 1
    elif classes.size and classes.max() >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return constant((classes[..., None] == np.arange(num_classes)).astype(np.int64))


def check_rows(indices: np.ndarray, weight: Tensor) -> None:
    """Raise TypeError or IndexError unless indices are numbers of rows of a matrix."""
    if indices.dtype.kind not in "iu":
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{as_dtype(indices.dtype).title}Tensor instead (while checking arguments for embedding)"
        )
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if indices.size and not 0 <= indices.min() <= indices.max() < weight.shape[0]:
        raise IndexError("index out of range in self")


def padding_row(padding_idx: int | None, rows: int) -> int | None:
    """Return the padding row counted from the front. Raises RuntimeError where there is no such row."""
    if padding_idx is None:
        return None
    if not -rows <= padding_idx < rows:
        raise RuntimeError("Padding_idx must be within num_embeddings")
    return padding_idx % rows


def renormalize(weight: Tensor, indices: np.ndarray, max_norm: float | None, norm_type: float) -> None:
    """Shrink, in place, those of the rows used whose norm exceeds max_norm."""
    if max_norm is None:
        return
    used = np.unique(indices)
    with no_grad():
        chosen = weight.detach()[used]
        size = chosen.norm(norm_type, 1, keepdim=True)
        weight[used] = where(size > max_norm, chosen * (max_norm / (size + 1e-7)), chosen)


def scaled_by_frequency(rows: Tensor, indices: np.ndarray) -> Tensor:
    """Return rows with gradients divided by how often their row is used."""
    _, inverse, counts = np.unique(indices, return_inverse=True, return_counts=True)
    return with_slope(rows, constant((1.0 / counts)[inverse.reshape(indices.shape)][..., None]).to(rows.dtype))


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of weight at the numbers in input; the row padding_idx gets no gradient.

    max_norm: rows used are first, in place, shrunk to this norm. Raises IndexError for a number of no row.
    """
    indices = np.asarray(input.detach().numpy())
    check_rows(indices, weight)
    padding = padding_row(padding_idx, weight.shape[0])
    renormalize(weight, indices, max_norm, norm_type)
    rows = weight[indices]
    if scale_grad_by_freq:
        rows = scaled_by_frequency(rows, indices)
    if padding is not None:
        rows = where(constant((indices == padding)[..., None]), rows.detach(), rows)
    return rows


# -- bags -----------------------------------------------------------------------------------------


def bags_of(input: Tensor, offsets: Tensor | None, include_last_offset: bool) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the row numbers, the bag of each, and the number of bags. Raises ValueError for wrong shapes."""
    indices = np.asarray(input.detach().numpy())
    if indices.ndim == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as input is treated as a mini-batch")
        return indices.reshape(-1), np.repeat(np.arange(indices.shape[0]), indices.shape[1]), indices.shape[0]
    if indices.ndim != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {indices.ndim}")
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    starts = np.asarray(offsets.detach().numpy())
    if starts.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    if include_last_offset:
        indices, starts = indices[: starts[-1]], starts[:-1]
    if starts.size and (starts[0] != 0 or starts.max() > indices.size):
        raise RuntimeError("offsets[0] has to be 0 and no offset may exceed the length of input")
    return indices, np.searchsorted(starts, np.arange(indices.size), side="right") - 1, starts.size


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sum, mean or maximum of the rows of weight in each bag.

    Bags: the rows of a 2-D input, or the parts of a 1-D one that begin at offsets. per_sample_weights multiply
    rows (mode 'sum'). The row padding_idx does not count. An empty bag gives 0.
    """
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None: it is only supported for mode='sum'"
        )
    indices, bags, count = bags_of(input, offsets, include_last_offset)
    check_rows(indices, weight)
    padding = padding_row(padding_idx, weight.shape[0])
    renormalize(weight, indices, max_norm, norm_type)
    used = np.arange(indices.size) if padding is None else np.flatnonzero(indices != padding)
    indices, bags = indices[used], bags[used]
    rows = weight[indices]
    if scale_grad_by_freq:
        rows = scaled_by_frequency(rows, indices)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1)[used][:, None]
    if mode == "max":
        return largest(rows, bags, count)
    total = run("put_zeros", rows, index=Index((bags,), (count, weight.shape[1])), lead=())
    if mode == "sum":
        return total
    sizes = np.maximum(np.bincount(bags, minlength=count), 1)
    return total / constant(sizes[:, None]).to(total.dtype)


def largest(rows: Tensor, bags: np.ndarray, count: int) -> Tensor:
    """Return the first largest element of each column in each bag; 0 for an empty bag."""
    data = np.asarray(rows.detach().numpy())
    places = np.zeros((count, data.shape[1]), np.intp)
    filled = np.zeros((count, 1), bool)
    for bag in np.unique(bags):
        members = np.flatnonzero(bags == bag)
        places[bag] = members[data[members].argmax(0)]
        filled[bag] = True
    if not filled.any():
        return constant(np.zeros((count, data.shape[1]), data.dtype))
    return where(constant(filled), rows[places, np.arange(data.shape[1])], 0.0)
