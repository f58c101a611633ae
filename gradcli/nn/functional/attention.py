"""Attention: averages of values, weighed by how well keys fit queries (Vaswani et al. 2017)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...face.join import cat
from ...face.linalg import product
from ...face.select import where
from ...tape.tensor import Tensor
from .activation import softmax
from .arguments import constant
from .dropping import dropout
from .linear_maps import linear
from .padding import pad


def lower_triangle(rows: int, columns: int) -> Tensor:
    """Return where a query may look at a key: no later one."""
    return constant(np.tri(rows, columns, dtype=bool))


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query key^T scale + mask) value; query (..., L, E), key (..., S, E), value (..., S, V).

    attn_mask: True where a query may look, or numbers to add. enable_gqa: several heads of queries (axis -3)
    share one of keys and values. A query that may look at nothing gives 0.
    """
    if is_causal and attn_mask is not None:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if enable_gqa:
        key, value = (x.repeat_interleave(query.shape[-3] // x.shape[-3], -3) for x in (key, value))
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = product(query, key.swapaxes(-1, -2)) * factor
    if is_causal:
        attn_mask = lower_triangle(query.shape[-2], key.shape[-2])
    weights = masked_softmax(scores, attn_mask)
    return product(dropout(weights, dropout_p, dropout_p > 0), value)


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Return softmax over the last axis under a mask; a row where nothing is allowed gives 0."""
    if mask is None:
        return softmax(scores, -1)
    scores = where(mask, scores, -np.inf) if mask.dtype.kind == "b" else scores + mask
    empty = constant((scores.detach().numpy() == -np.inf).all(-1, keepdims=True))
    if not bool(empty.any()):
        return softmax(scores, -1)
    return where(empty, 0.0, softmax(where(empty, 0.0, scores), -1))


# -- several heads --------------------------------------------------------------------------------


def projected(
    query: Tensor, key: Tensor, value: Tensor, weight: Tensor | None, bias: Tensor | None, weights: tuple
) -> list:
    """Return query, key and value times their projections: parts of one weight, or three weights."""
    width = query.shape[-1]
    if weights[0] is None:
        assert weight is not None
        weights = tuple(weight[i * width : (i + 1) * width] for i in range(3))
    biases = [None] * 3 if bias is None else [bias[i * width : (i + 1) * width] for i in range(3)]
    return [linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)]


def as_bias(mask: Tensor | None, like: Tensor) -> Any:
    """Return a mask (True: do not look) as numbers to add."""
    if mask is None or mask.dtype.kind == "f":
        return mask
    return constant(np.where(mask.detach().numpy(), -np.inf, 0.0)).to(like.dtype)


def heads(x: Tensor, count: int) -> Tensor:
    """Return (L, N, heads * E) as (N, heads, L, E)."""
    return x.reshape(x.shape[0], x.shape[1], count, x.shape[2] // count).permute(1, 2, 0, 3)


def joined_mask(mask: Tensor | None, padding: Tensor | None, like: Tensor, count: int, more: int) -> Tensor | None:
    """Return both masks as one to add to scores (N, heads, L, S); `more` keys at the end are always seen."""
    batch = like.shape[1]
    mask, padding = as_bias(mask, like), as_bias(padding, like)
    if mask is not None and mask.ndim == 3:
        mask = mask.reshape(batch, count, *mask.shape[1:])
    if padding is not None:
        padding = padding.reshape(batch, 1, 1, -1)
    parts = [pad(m, (0, more)) if more else m for m in (mask, padding) if m is not None]
    return sum(parts[1:], parts[0]) if parts else None


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention of several heads with projections: (output, weights or None).

    query (L, N, E) or (L, E); key and value (S, N, ...) alike. Masks: True where not to look, or numbers to add;
    attn_mask (L, S) or (N heads, L, S), key_padding_mask (N, S). bias_k, bias_v and add_zero_attn add keys and
    values at the end. The weights are averaged over the heads unless average_attn_weights is False.
    """
    unbatched = query.ndim == 2
    if unbatched:
        query, key, value = (x.unsqueeze(1) for x in (query, key, value))
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    width = query.shape[-1]
    if width != embed_dim_to_check or width % num_heads:
        raise AssertionError(
            f"was expecting embedding dimension of {embed_dim_to_check} divisible by {num_heads} heads, got {width}"
        )
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else (None,) * 3
    q, k, v = projected(query, key, value, in_proj_weight, in_proj_bias, separate)
    if bias_k is not None and bias_v is not None:
        k, v = (cat([x, b.repeat(1, x.shape[1], 1)]) for x, b in ((k, bias_k), (v, bias_v)))
    q, k, v = heads(q, num_heads), heads(k, num_heads), heads(v, num_heads)
    batch, size = query.shape[1], width // num_heads
    k, v = (x if s is None else s.reshape(batch, num_heads, *s.shape[1:]) for x, s in ((k, static_k), (v, static_v)))
    if add_zero_attn:
        zeros = constant(np.zeros((batch, num_heads, 1, size), q.dtype))
        k, v = (cat([x, zeros], 2) for x in (k, v))
    more = k.shape[2] - key.shape[0] if static_k is None else int(add_zero_attn)
    mask = joined_mask(attn_mask, key_padding_mask, query, num_heads, more)
    scores = product(q, k.swapaxes(-1, -2)) * (1.0 / math.sqrt(size))
    weights = dropout(softmax(scores if mask is None else scores + mask, -1), dropout_p if training else 0.0)
    flat = product(weights, v).permute(2, 0, 1, 3).reshape(query.shape[0] * batch, width)
    out = linear(flat, out_proj_weight, out_proj_bias).reshape(query.shape[0], batch, -1)
    shown = (weights.mean(1) if average_attn_weights else weights) if need_weights else None
    if unbatched:
        return out.squeeze(1), None if shown is None else shown.squeeze(0)
    return out, shown
