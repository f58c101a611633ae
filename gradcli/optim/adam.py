"""Adam and AdamW."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .optimizer import refuse_unless
from .rounding import add_product
from .scaled import Buffers, Scaled


class Adam(Scaled):
    """Steps of lr mean / (sqrt(mean of squares) + eps), both means running and corrected (Kingma and Ba 2015).

    weight_decay p is added to the gradient, or with decoupled_weight_decay taken off p itself. amsgrad divides by
    the largest mean of squares so far (Reddi et al. 2018). maximize: climb instead.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ):
        refuse_unless(
            [
                (lr >= 0, f"Invalid learning rate: {lr}"),
                (eps >= 0, f"Invalid epsilon value: {eps}"),
                (0 <= betas[0] < 1, f"Invalid beta parameter at index 0: {betas[0]}"),
                (0 <= betas[1] < 1, f"Invalid beta parameter at index 1: {betas[1]}"),
                (weight_decay >= 0, f"Invalid weight_decay value: {weight_decay}"),
            ]
        )
        settings = {"lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad}
        ignored = {"foreach": foreach, "capturable": capturable, "differentiable": differentiable, "fused": fused}
        last = {"decoupled_weight_decay": decoupled_weight_decay}
        super().__init__(params, {**settings, "maximize": maximize, **ignored, **last}, checked={})

    def wanted(self, group: dict[str, Any]) -> tuple[str, ...]:
        """Return the names of the buffers that a group needs."""
        return ("exp_avg", "exp_avg_sq", *(("max_exp_avg_sq",) if group["amsgrad"] else ()))

    def update(self, data: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Take one step."""
        super().update(data, grad, state, decayed(data, group))

    def move(self, data: np.ndarray, grad: np.ndarray, buffers: Buffers, steps: float, group: dict[str, Any]) -> None:
        """Change real data in place."""
        beta1, beta2 = group["betas"]
        mean, squares = averaged(buffers, grad, group["betas"])
        if group["amsgrad"]:
            largest = buffers["max_exp_avg_sq"]
            squares = np.maximum(largest, squares, out=largest)
        root = np.sqrt(squares) / math.sqrt(1 - beta2**steps) + group["eps"]
        data -= float(group["lr"]) / (1 - beta1**steps) * mean / root


def decayed(data: np.ndarray, group: dict[str, Any]) -> dict[str, Any]:
    """Take decoupled weight decay off the data; return the settings for the rest of the step."""
    if not (group["weight_decay"] and group["decoupled_weight_decay"]):
        return group
    data *= 1 - float(group["lr"]) * group["weight_decay"]
    return {**group, "weight_decay": 0}


def averaged(buffers: Buffers, grad: np.ndarray, betas: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Move the running means of g and g^2, and return them."""
    mean, squares = buffers["exp_avg"], buffers["exp_avg_sq"]
    add_product(mean, 1 - betas[0], grad - mean)
    squares *= betas[1]
    add_product(squares, 1 - betas[1], grad, grad)
    return mean, squares


class AdamW(Adam):
    """Adam that takes weight decay off the parameters themselves (Loshchilov and Hutter 2019)."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ):
        ignored = {"foreach": foreach, "capturable": capturable, "differentiable": differentiable, "fused": fused}
        plain = (lr, betas, eps, weight_decay, amsgrad)
        super().__init__(params, *plain, maximize=maximize, **ignored, decoupled_weight_decay=True)  # type: ignore


__all__ = ["Adam", "AdamW"]
