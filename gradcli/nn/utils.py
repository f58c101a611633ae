"""Clip the gradients of parameters in place."""

from __future__ import annotations

from collections.abc import Iterable

from ..api.create import tensor
from ..api.shape import stack
from ..linalg import vector_norm
from ..tape.modes import no_grad
from ..tape.tensor import Tensor


def gradients_in(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    given = [parameters] if isinstance(parameters, Tensor) else parameters
    return [g for g in (p.grad for p in given) if g is not None]


@no_grad()
def clip_grad_norm_(parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0) -> Tensor:
    """Scale gradients down so that their norm, as one vector, is at most max_norm; return the old norm."""
    order, grads = float(norm_type), gradients_in(parameters)
    if not grads:
        return tensor(0.0)
    total = vector_norm(stack([vector_norm(g, order) for g in grads]), order)
    factor = (float(max_norm) / (total + 1e-6)).clamp(max=1.0)
    for g in grads:
        g.mul_(factor.to(g.dtype))
    return total


@no_grad()
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float) -> None:
    """Limit every element of the gradients to [-clip_value, clip_value]."""
    for g in gradients_in(parameters):
        g.clamp_(-float(clip_value), float(clip_value))
