"""Gradients of parameters limited, in place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..api.create import tensor
from ..api.join import stack
from ..linalg import vector_norm
from ..tape.modes import no_grad
from ..tape.tensor import Tensor

Tensors = Tensor | Iterable[Tensor]


def as_list(tensors: Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def gradients(parameters: Tensors) -> list[Tensor]:
    """Return the gradients of those parameters that have one."""
    return [p._grad for p in as_list(parameters) if p._grad is not None]


@no_grad()
def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: Any = None
) -> Tensor:
    """Return the norm of tensors taken together as one vector. error_if_nonfinite: RuntimeError unless finite."""
    order = float(norm_type)
    parts = [vector_norm(x, order) for x in as_list(tensors)]
    if not parts:
        return tensor(0.0)
    total = vector_norm(stack(parts), order)
    if error_if_nonfinite and not np.isfinite(total.item()):
        raise RuntimeError(
            f"The total norm of order {order} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


@no_grad()
def clip_grads_with_norm_(parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: Any = None) -> None:
    """Multiply gradients by max_norm / (total_norm + 1e-6) where that is below 1."""
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for g in gradients(parameters):
        g.mul_(factor.to(g.dtype))


def clip_grad_norm_(
    parameters: Tensors, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: Any = None
) -> Tensor:
    """Scale gradients down so that their norm as one vector is at most max_norm; return what it was."""
    parameters = as_list(parameters)
    total = get_total_norm(gradients(parameters), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


@no_grad()
def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: Any = None) -> None:
    """Limit every element of the gradients to [-clip_value, clip_value]."""
    for g in gradients(parameters):
        g.clamp_(-float(clip_value), float(clip_value))
