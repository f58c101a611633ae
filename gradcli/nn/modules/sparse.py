"""Tables of vectors, looked up by number."""

from __future__ import annotations

from typing import Any

from ...tape.modes import no_grad
from ...tape.parameter import Parameter
from ...tape.tensor import Tensor
from .. import functional, init
from .linear import parameter
from .module import Module


class Lookup(Module):
    """What both kinds of tables share: the weight (num_embeddings, embedding_dim), drawn from a normal distribution.

    The row padding_idx starts as zeros and gets no gradient.
    """

    def __init__(
        self, rows: int, columns: int, padding_idx: int | None, given: Tensor | None, device: Any, dtype: Any
    ):
        super().__init__()
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
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, **settings: Any) -> Any:
        """Return the module with a given table, which is not trained unless freeze is False."""
        if embeddings.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        made = cls(*embeddings.shape, _weight=embeddings, **settings)  # type: ignore[call-arg, misc]
        made.weight.requires_grad_(not freeze)
        return made


class Embedding(Lookup):
    """Rows of a table at the numbers in the input."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__(num_embeddings, embedding_dim, padding_idx, _weight, device, dtype)
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        if _freeze:
            self.weight.requires_grad_(False)

    def forward(self, input: Tensor) -> Tensor:
        """Look up."""
        return functional.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self) -> str:
        """Return the settings that differ from the usual."""
        usual = {
            "padding_idx": None,
            "max_norm": None,
            "norm_type": 2,
            "scale_grad_by_freq": False,
            "sparse": False,
        }
        more = [f"{k}={getattr(self, k)}" for k, v in usual.items() if getattr(self, k) != v]
        return ", ".join([str(self.num_embeddings), str(self.embedding_dim), *more])


class EmbeddingBag(Lookup):
    """Sum, mean or maximum of the rows of a table in bags."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__(num_embeddings, embedding_dim, padding_idx, _weight, device, dtype)
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        self.mode, self.include_last_offset = mode, include_last_offset

    def forward(
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        """Look up and reduce each bag."""
        return functional.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        """Return the settings that differ from the usual, and the mode."""
        usual = {"max_norm": None, "norm_type": 2, "scale_grad_by_freq": False}
        more = [f"{k}={getattr(self, k)}" for k, v in usual.items() if getattr(self, k) != v]
        last = [] if self.padding_idx is None else [f"padding_idx={self.padding_idx}"]
        return ", ".join([str(self.num_embeddings), str(self.embedding_dim), *more, f"mode={self.mode!r}", *last])


__all__ = ["Embedding", "EmbeddingBag"]
