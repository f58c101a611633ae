"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tape.tensor import Tensor
from .optimizer import Optimizer, refuse_unless


class SGD(Optimizer):
    """p -= lr d, with d the gradient plus weight_decay p, or a running sum of those with momentum.

    The sum is momentum sum + (1 - dampening) d; nesterov steps by d + momentum sum (Sutskever et al. 2013).
    maximize: climb instead.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ):
        refuse_unless(
            [
                (lr >= 0, f"Invalid learning rate: {lr}"),
                (momentum >= 0, f"Invalid momentum value: {momentum}"),
                (weight_decay >= 0, f"Invalid weight_decay value: {weight_decay}"),
                (
                    not nesterov or (momentum > 0 and dampening == 0),
                    "Nesterov momentum requires a momentum and zero dampening",
                ),
            ]
        )
        settings = {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay}
        settings |= {"nesterov": nesterov, "maximize": maximize}
        ignored = {"foreach": foreach, "differentiable": differentiable, "fused": fused}
        super().__init__(params, {**settings, **ignored})

    def update(self, data: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        momentum = group["momentum"]
        if group["weight_decay"]:
            grad = grad + group["weight_decay"] * data
        if momentum:
            if state.get("momentum_buffer") is None:
                state["momentum_buffer"] = Tensor._wrap(np.array(grad), None)
                buffer = grad
            else:
                buffer = state["momentum_buffer"]._array()
                buffer *= momentum
                buffer += (1 - group["dampening"]) * grad
            grad = grad + momentum * buffer if group["nesterov"] else buffer
        data -= float(group["lr"]) * grad
