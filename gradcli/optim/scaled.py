"""Optimizers that divide each step by a measure of the gradients so far: RMSprop, Adagrad and Adadelta."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tape.dtypes import defaults
from .optimizer import Optimizer, own, refuse_unless
from .rounding import add_product, plus_product

Buffers = dict[str, np.ndarray]


class Scaled(Optimizer):
    """What these, Adam and its relatives have in common: settings that must not be negative, weight decay, buffers.

    A buffer named in `filled` starts at that setting's value, others at 0. Complex numbers are pairs of real ones.
    """

    buffers: tuple[str, ...] = ()
    filled: dict[str, str] = {}  # noqa: RUF012 - read only

    def __init__(self, params: Any, settings: dict[str, Any], checked: dict[str, str], **ignored: Any):
        words = {k: word if k == "lr" else f"{word} value" for k, word in checked.items()}
        refuse_unless((settings[k] >= 0, f"Invalid {word}: {settings[k]}") for k, word in words.items())
        super().__init__(params, {**settings, **ignored})

    def wanted(self, group: dict[str, Any]) -> tuple[str, ...]:
        """Return the names of the buffers that a group needs."""
        return self.buffers

    def update(self, data: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Take one step."""
        if not state:
            state["step"] = own(np.zeros((), defaults.float))
            for name in self.wanted(group):
                state[name] = own(np.full_like(data, group.get(self.filled.get(name, ""), 0)))
        state["step"]._array()[...] += 1
        if group["weight_decay"]:
            grad = plus_product(grad, group["weight_decay"], data)
        buffers = {name: as_real(state[name]._array()) for name in self.wanted(group)}
        self.move(as_real(data), as_real(grad), buffers, state["step"].item(), group)

    def move(self, data: np.ndarray, grad: np.ndarray, buffers: Buffers, steps: float, group: dict[str, Any]) -> None:
        """Change real data in place."""
        raise NotImplementedError


def as_real(raw: np.ndarray) -> np.ndarray:
    """Return the memory of complex numbers as pairs of real ones."""
    return np.atleast_1d(raw).view(raw.real.dtype) if raw.dtype.kind == "c" else raw


class RMSprop(Scaled):
    """p -= lr g / (sqrt(s) + eps), s the running mean of g^2 (Hinton 2012), less its squared mean if centered."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ):
        settings: dict[str, Any] = {"lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered}
        settings |= {"weight_decay": weight_decay, "capturable": capturable, "foreach": foreach}
        checked = {"lr": "learning rate", "eps": "epsilon", "momentum": "momentum"}
        checked |= {"weight_decay": "weight_decay", "alpha": "alpha"}
        super().__init__(params, settings, checked, maximize=maximize, differentiable=differentiable)

    def wanted(self, group: dict[str, Any]) -> tuple[str, ...]:
        """Return the names of the buffers that a group needs."""
        momentum = ("momentum_buffer",) if group["momentum"] > 0 else ()
        return ("square_avg", *momentum, *(("grad_avg",) if group["centered"] else ()))

    def move(self, data: np.ndarray, grad: np.ndarray, buffers: Buffers, steps: float, group: dict[str, Any]) -> None:
        """Change real data in place."""
        alpha, lr, squares = group["alpha"], float(group["lr"]), buffers["square_avg"]
        squares *= alpha
        add_product(squares, 1 - alpha, grad, grad)
        spread = squares
        if group["centered"]:
            mean = buffers["grad_avg"]
            add_product(mean, 1 - alpha, grad - mean)
            spread = plus_product(squares, -1, mean, mean)
        root = np.sqrt(spread) + group["eps"]
        if group["momentum"] > 0:
            buffer = buffers["momentum_buffer"]
            buffer *= group["momentum"]
            buffer += grad / root
            add_product(data, -lr, buffer)
        else:
            data -= lr * grad / root


class Adagrad(Scaled):
    """p -= lr / (1 + (t - 1) lr_decay) g / (sqrt(s) + eps), s the sum of g^2 (Duchi, Hazan and Singer 2011)."""

    buffers = ("sum",)
    filled = {"sum": "initial_accumulator_value"}  # noqa: RUF012 - read only

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ):
        settings: dict[str, Any] = {"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay}
        settings |= {"initial_accumulator_value": initial_accumulator_value, "foreach": foreach}
        checked = {"lr": "learning rate", "lr_decay": "lr_decay", "weight_decay": "weight_decay"}
        checked |= {"initial_accumulator_value": "initial_accumulator_value", "eps": "epsilon"}
        super().__init__(params, settings, checked, maximize=maximize, differentiable=differentiable, fused=fused)

    def move(self, data: np.ndarray, grad: np.ndarray, buffers: Buffers, steps: float, group: dict[str, Any]) -> None:
        """Change real data in place."""
        total = buffers["sum"]
        add_product(total, 1, grad, grad)
        rate = float(group["lr"]) / (1 + (steps - 1) * group["lr_decay"])
        data -= rate * grad / (np.sqrt(total) + group["eps"])


class Adadelta(Scaled):
    """p -= lr sqrt(d + eps) / sqrt(s + eps) g, with running means s of g^2 and d of squared steps (Zeiler 2012)."""

    buffers = ("square_avg", "acc_delta")

    def __init__(
        self,
        params: Any,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ):
        settings: dict[str, Any] = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
        }
        settings |= {"capturable": capturable, "foreach": foreach}
        refuse_unless([(0 <= rho <= 1, f"Invalid rho value: {rho}")])
        checked = {"lr": "learning rate", "eps": "epsilon", "weight_decay": "weight_decay"}
        super().__init__(params, settings, checked, differentiable=differentiable)

    def move(self, data: np.ndarray, grad: np.ndarray, buffers: Buffers, steps: float, group: dict[str, Any]) -> None:
        """Change real data in place."""
        rho, eps, squares, deltas = group["rho"], group["eps"], buffers["square_avg"], buffers["acc_delta"]
        squares *= rho
        add_product(squares, 1 - rho, grad, grad)
        delta = np.sqrt(deltas + eps) / np.sqrt(squares + eps) * grad
        deltas *= rho
        add_product(deltas, 1 - rho, delta, delta)
        add_product(data, -float(group["lr"]), delta)


__all__ = ["Adadelta", "Adagrad", "RMSprop"]
