"""Random zeros when training."""

from __future__ import annotations

from ...api.random import source
from ...api.wrap import operand
from ...tape.tensor import Tensor
from .activation import compute_into


def check_probability(p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero elements with probability p when training, the others divided by 1 - p.

    Raises ValueError unless 0 <= p <= 1.
    """
    check_probability(p)
    if not training or p == 0:
        return input
    kept = operand(source.rng.random(tuple(input.shape)) < 1 - p).to(input.dtype)
    return compute_into(input, inplace, lambda: input * (kept if p == 1 else kept / (1 - p)))
