"""Adam and AdamW."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..tape.dtypes import defaults
from ..tape.tensor import Tensor
from .optimizer import Optimizer, refuse_unless


class Adam(Optimizer):
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
        super().__init__(params, {**settings, "maximize": maximize, **ignored, **last})

    def update(self, data: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        names = ("exp_avg", "exp_avg_sq", *(("max_exp_avg_sq",) if group["amsgrad"] else ()))
        if not state:
            state["step"] = Tensor._wrap(np.zeros((), defaults.float), None)
            state.update({name: Tensor._wrap(np.zeros_like(data), None) for name in names})
        state["step"]._array()[...] += 1
        if group["weight_decay"] and group["decoupled_weight_decay"]:
            data *= 1 - float(group["lr"]) * group["weight_decay"]
        elif group["weight_decay"]:
            grad = grad + group["weight_decay"] * data
        buffers = [as_real(state[name]._array()) for name in names]
        step(as_real(data), as_real(grad), buffers, state["step"].item(), group)


def as_real(raw: np.ndarray) -> np.ndarray:
    """Return the memory of complex numbers as pairs of real ones."""
    return np.atleast_1d(raw).view(raw.real.dtype) if raw.dtype.kind == "c" else raw


def step(data: np.ndarray, grad: np.ndarray, buffers: list[np.ndarray], count: float, group: dict[str, Any]) -> None:
    """Change real data in place; buffers: the running means of g and g^2, and the largest of these for amsgrad."""
    beta1, beta2 = group["betas"]
    mean, squares, *largest = buffers
    mean += (1 - beta1) * (grad - mean)
    squares *= beta2
    squares += (1 - beta2) * grad * grad
    if largest:
        squares = np.maximum(largest[0], squares, out=largest[0])
    root = np.sqrt(squares) / math.sqrt(1 - beta2**count) + group["eps"]
    data -= float(group["lr"]) / (1 - beta1**count) * mean / root


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
