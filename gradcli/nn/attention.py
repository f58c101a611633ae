"""Attention: averages of values, weighted by how well keys match queries (Vaswani et al. 2017)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..api.create import empty
from ..rules import entry
from ..tape.tensor import Parameter, Tensor, as_raw
from . import init
from .layers import Linear, check_probability, dropout, linear
from .module import Module


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None, scale: float | None = None) -> Tensor:
    """Return softmax(query key^T scale + mask) over the keys; a boolean mask allows those that are True."""
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if as_raw(mask).dtype == bool else scores + mask
    return scores.softmax(-1)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """softmax(query key^T / sqrt(width) + attn_mask) value; is_causal: a query sees keys up to its own place."""
    if is_causal:
        attn_mask = entry("tril").function(Tensor._wrap(np.ones((query.shape[-2], key.shape[-2]), bool), None))
    return dropout(attention_weights(query, key, attn_mask, scale), dropout_p) @ value


class NonDynamicallyQuantizableLinear(Linear):
    __doc__ = Linear.__doc__


class MultiheadAttention(Module):
    """Attention of num_heads parts of queries, keys and values, each a linear function of the inputs.

    Inputs are (L, N, E), (N, L, E) with batch_first, or (L, E); the result is (outputs, weights or None).
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        *,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        check_probability(dropout)
        if num_heads < 1 or embed_dim % num_heads:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.in_proj_weight = Parameter(empty(3 * embed_dim, embed_dim, dtype=dtype, device=device))
        in_proj_bias = Parameter(empty(3 * embed_dim, dtype=dtype, device=device)) if bias else None
        self.register_parameter("in_proj_bias", in_proj_bias)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        init.xavier_uniform_(self.in_proj_weight)
        for x in (in_proj_bias, self.out_proj.bias):
            if x is not None:
                init.zeros_(x)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return (outputs, weights). Masks are added, or forbid the keys where they are True."""
        alone, turned = query.ndim == 2, query.ndim == 3 and not self.batch_first
        if is_causal and attn_mask is None:
            raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
        inputs = [x.unsqueeze(0) if alone else x.transpose(0, 1) if turned else x for x in (query, key, value)]
        biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        heads = [
            linear(x, weight, bias).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for x, weight, bias in zip(inputs, self.in_proj_weight.chunk(3), biases, strict=True)
        ]
        mask = None if attn_mask is None else as_added(attn_mask, query)
        if mask is not None and mask.ndim == 3:
            mask = mask.unflatten(0, (-1, self.num_heads))
        if key_padding_mask is not None:
            padding = as_added(key_padding_mask, query).reshape(-1, 1, 1, key_padding_mask.shape[-1])
            mask = padding if mask is None else mask + padding
        weights = attention_weights(heads[0], heads[1], mask)
        weights = dropout(weights, self.dropout, self.training)
        out = self.out_proj((weights @ heads[2]).transpose(1, 2).flatten(2))
        out = out.squeeze(0) if alone else out.transpose(0, 1) if turned else out
        if not need_weights:
            return out, None
        weights = weights.mean(1) if average_attn_weights else weights
        return out, weights.squeeze(0) if alone else weights


def as_added(mask: Tensor, query: Tensor) -> Tensor:
    """Return a mask to add to the scores, in query's type: -inf where a boolean mask is True."""
    forbidden = as_raw(mask)
    added = np.where(forbidden, -np.inf, 0.0).astype(query._data.dtype)
    return Tensor._wrap(added, None) if forbidden.dtype == bool else mask
