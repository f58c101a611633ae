"""A table of vectors, looked up by number."""

from __future__ import annotations

from typing import Any

from ...tape.modes import no_grad
from ...tape.parameter import Parameter
from ...tape.tensor import Tensor
from .. import functional, init
from .linear import parameter
from .module import Module


class Embedding(Module):
    """Rows of a table (num_embeddings, embedding_dim) at the numbers in the input.

    The table is drawn from a normal distribution; the row padding_idx starts as zeros and gets no gradient.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        *,
        _weight: Tensor | None = None,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        rows, columns, given = num_embeddings, embedding_dim, _weight
        if padding_idx is not None:
            if not -rows <= padding_idx < rows:
                raise AssertionError("Padding_idx must be within num_embeddings")
            padding_idx %= rows
        self.num_embeddings, self.embedding_dim, self.padding_idx = rows, columns, padding_idx
        if given is None:
            self.weight = parameter(rows, columns, dtype=dtype, device=device)
            self.reset_parameters()
        elif tuple(given.shape) == (rows, columns):
            self.weight = Parameter(given)
        else:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")

    def reset_parameters(self) -> None:
        """Draw the table from a normal distribution."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx] = 0.0

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, **settings: Any) -> Embedding:
        """Return the module with a given table, which is not trained unless freeze is False."""
        if embeddings.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        made = cls(*embeddings.shape, _weight=embeddings, **settings)
        made.weight.requires_grad_(not freeze)
        return made

    def forward(self, input: Tensor) -> Tensor:
        return functional.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        padding = [] if self.padding_idx is None else [f"padding_idx={self.padding_idx}"]
        return ", ".join([str(self.num_embeddings), str(self.embedding_dim), *padding])
