"""Rows of a table of vectors."""

from __future__ import annotations

import numpy as np

from ...api.where_search import where
from ...api.wrap import operand, records_as
from ...tape.dtypes import as_dtype
from ...tape.tensor import Tensor


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
    return operand((classes[..., None] == np.arange(num_classes)).astype(np.int64))


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


@records_as("EmbeddingBackward0")
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
) -> Tensor:
    """Rows of weight at the numbers in input; the row padding_idx gets no gradient.

    Raises IndexError for a number of no row.
    """
    indices = np.asarray(input.detach().numpy())
    check_rows(indices, weight)
    padding = padding_row(padding_idx, weight.shape[0])
    rows = weight[indices]
    if padding is not None:
        rows = where(operand((indices == padding)[..., None]), rows.detach(), rows)
    return rows
