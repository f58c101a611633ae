"""Taking and replacing elements anywhere: by flat positions, masks, several indices, slices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..rules.index import Index
from ..tape.tensor import Tensor, as_raw
from .gather_scatter import add_at, broadcast_to_index, positions, set_at
from .shape import expand
from .wrap import public


@public(node="TakeBackward0")
def take(input: Tensor, index: Tensor) -> Tensor:
    """Elements at positions in the flattened tensor."""
    return input.reshape((-1,))[positions(index, input.numel(), "take", wrap=True)]


@public
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """input with elements replaced (or added) at positions in the flattened tensor."""
    flat = Index(positions(index, input.numel(), "put", wrap=True).reshape(-1), (input.numel(),))
    source = source.reshape((-1,))
    x = input.reshape((-1,))
    return (x + add_at(source, flat) if accumulate else set_at(x, flat, source)).reshape(tuple(input.shape))


@public
def index_put(input: Tensor, indices: Any, values: Any, accumulate: bool = False) -> Tensor:
    """input with values put (or added) at input[indices]."""
    key = tuple(slice(None) if i is None else as_raw(i) for i in indices)
    index = Index(key, tuple(input.shape))
    return (
        input + add_at(broadcast_to_index(values, input, index), index)
        if accumulate
        else set_at(input, index, values, "IndexPut")
    )


@public(node="MaskedScatterBackward0")
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """input with the first elements of source where the mask holds."""
    shape = np.broadcast_shapes(tuple(input.shape), tuple(mask.shape))
    index = Index(np.broadcast_to(as_raw(mask), shape), shape)
    n = int(index.key[0].sum())
    if source.numel() < n:
        raise RuntimeError(f"masked_scatter: the mask holds at {n} places, but source has {source.numel()} elements")
    return set_at(expand(input, shape), index, source.reshape((-1,))[:n], "MaskedScatter")
