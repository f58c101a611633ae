"""Adam and AdamW."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..tape.dtypes import defaults
from .optimizer import Optimizer, own, refuse_unless
from .rounding import add_product, plus_product


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
        """Take one step."""
        lr, (beta1, beta2), decay = float(group["lr"]), group["betas"], group["weight_decay"]
        if not state:  # moments of complex parameters are those of real and imaginary parts
            state["step"] = own(np.zeros((), defaults.float))
            for name in ("exp_avg", "exp_avg_sq", *(["max_exp_avg_sq"] if group["amsgrad"] else [])):
                state[name] = own(np.zeros_like(data))
        state["step"]._array()[...] += 1
        if decay and group["decoupled_weight_decay"]:
            data *= 1 - lr * decay
        elif decay:
            grad = plus_product(grad, decay, data)
        data, grad = as_real(data), as_real(grad)
        mean, squares = as_real(state["exp_avg"]._array()), as_real(state["exp_avg_sq"]._array())
        add_product(mean, 1 - beta1, grad - mean)
        squares *= beta2
        add_product(squares, 1 - beta2, grad, grad)
        if group["amsgrad"]:
            largest = as_real(state["max_exp_avg_sq"]._array())
            squares = np.maximum(largest, squares, out=largest)
        steps = state["step"].item()
        root = np.sqrt(squares) / math.sqrt(1 - beta2**steps) + group["eps"]
        data -= lr / (1 - beta1**steps) * mean / root


def as_real(raw: np.ndarray) -> np.ndarray:
    """Return the memory of complex numbers as pairs of real ones."""
    return np.atleast_1d(raw).view(raw.real.dtype) if raw.dtype.kind == "c" else raw


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
        **settings: Any,
    ):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, **settings, decoupled_weight_decay=True)


__all__ = ["Adam", "AdamW"]
