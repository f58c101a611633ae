"""Relatives of Adam and others by formula: Adamax, NAdam, RAdam, ASGD and Rprop."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..tape.dtypes import defaults
from .adam import averaged, decayed
from .optimizer import own
from .rounding import add_product
from .scaled import Buffers, Scaled

COMMON = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}


class Variant(Scaled):
    """An optimizer whose settings are keyword arguments of the names in `usual`, checked as they are made."""

    usual: dict[str, Any] = {}  # noqa: RUF012 - read only

    def __init__(self, params: Any, lr: float | None = None, *args: Any, **given: Any):
        unknown = given.keys() - self.usual.keys() - COMMON.keys()
        if unknown:
            first = next(name for name in given if name in unknown)
            raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument '{first}'")
        named = dict(zip([name for name in self.usual if name != "lr"], args, strict=False))
        settings = {**self.usual, **COMMON, **({} if lr is None else {"lr": lr}), **named, **given}
        words = {"lr": "learning rate", "eps": "epsilon"}
        words |= {"weight_decay": "weight_decay", "momentum_decay": "momentum_decay"}
        for i, beta in enumerate(settings.get("betas", ())):
            if not 0 <= beta < 1:
                raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
        less, more = settings.get("etas", (0.5, 1.2))
        if not 0 < less < 1 < more:
            raise ValueError(f"Invalid eta values: {less}, {more}")
        super().__init__(params, settings, {k: w for k, w in words.items() if k in settings})


class Adamax(Variant):
    """p -= lr / (1 - b1^t) m / u, u the largest decayed |g| (Kingma and Ba 2015)."""

    buffers = ("exp_avg", "exp_inf")
    usual = {"lr": 2e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0}  # noqa: RUF012 - read only

    def move(self, data: np.ndarray, grad: np.ndarray, buffers: Buffers, steps: float, group: dict[str, Any]) -> None:
        """Change real data in place."""
        (beta1, beta2), mean, largest = group["betas"], buffers["exp_avg"], buffers["exp_inf"]
        add_product(mean, 1 - beta1, grad - mean)
        np.maximum(largest * beta2, np.abs(grad) + group["eps"], out=largest)
        data -= float(group["lr"]) / (1 - beta1**steps) * mean / largest


class NAdam(Variant):
    """Adam with Nesterov's momentum, whose share grows with time (Dozat 2016)."""

    buffers = ("exp_avg", "exp_avg_sq")
    usual = {  # noqa: RUF012 - read only
        **{"lr": 2e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0},
        **{"momentum_decay": 4e-3, "decoupled_weight_decay": False},
    }

    def update(self, data: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Take one step; the product of the shares so far is kept."""
        product = state.pop("mu_product", None) or own(np.ones((), defaults.float))
        steps = state["step"].item() + 1 if state else 1
        now, after = (group["betas"][0] * (1 - 0.5 * 0.96 ** ((steps + i) * group["momentum_decay"])) for i in (0, 1))
        product._array()[...] *= now
        self.shares = now, after, product.item()
        super().update(data, grad, state, decayed(data, group))
        state["mu_product"] = product

    def move(self, data: np.ndarray, grad: np.ndarray, buffers: Buffers, steps: float, group: dict[str, Any]) -> None:
        """Change real data in place."""
        (now, after, product), lr = self.shares, float(group["lr"])
        mean, squares = averaged(buffers, grad, group["betas"])
        root = np.sqrt(squares / (1 - group["betas"][1] ** steps)) + group["eps"]
        data -= lr * (1 - now) / (1 - product) * grad / root
        data -= lr * after / (1 - product * after) * mean / root


class RAdam(Variant):
    """Adam whose division by the mean of squares waits until that is known well enough (Liu et al. 2020)."""

    buffers = ("exp_avg", "exp_avg_sq")
    usual = {  # noqa: RUF012 - read only
        **{"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0, "decoupled_weight_decay": False}
    }

    def move(self, data: np.ndarray, grad: np.ndarray, buffers: Buffers, steps: float, group: dict[str, Any]) -> None:
        """Change real data in place."""
        beta1, beta2 = group["betas"]
        mean, squares = averaged(buffers, grad, group["betas"])
        step = mean / (1 - beta1**steps) * float(group["lr"])
        left, most = 1 - beta2**steps, 2 / (1 - beta2) - 1
        length = most - 2 * steps * beta2**steps / left
        if length > 5:
            known = (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)
            step *= math.sqrt(left) / (np.sqrt(squares) + group["eps"])
            step *= math.sqrt(known)
        data -= step


class ASGD(Variant):
    """Gradient descent with a shrinking rate; ax is the mean of the places from step t0 on (Polyak 1992)."""

    buffers = ("ax",)
    usual = {"lr": 1e-2, "lambd": 1e-4, "alpha": 0.75, "t0": 1e6, "weight_decay": 0}  # noqa: RUF012 - read only

    def move(self, data: np.ndarray, grad: np.ndarray, buffers: Buffers, steps: float, group: dict[str, Any]) -> None:
        """Change real data in place."""
        lr, before = float(group["lr"]), steps - 1
        eta = lr if not before else lr / (1 + group["lambd"] * lr * before) ** group["alpha"]
        data *= 1 - group["lambd"] * eta
        add_product(data, -eta, grad)
        buffers["ax"] += (data - buffers["ax"]) / max(1, before - group["t0"])


class Rprop(Variant):
    """Steps by the sign of g, each of a length of its own that grows or shrinks (Riedmiller and Braun 1993)."""

    buffers = ("prev", "step_size")
    filled = {"step_size": "lr"}  # noqa: RUF012 - read only
    usual = {"lr": 1e-2, "etas": (0.5, 1.2), "step_sizes": (1e-6, 50)}  # noqa: RUF012 - read only

    def update(self, data: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Take one step: there is no weight decay."""
        super().update(data, grad, state, {**group, "weight_decay": 0})

    def move(self, data: np.ndarray, grad: np.ndarray, buffers: Buffers, steps: float, group: dict[str, Any]) -> None:
        """Change real data in place."""
        turned = np.sign(grad * buffers["prev"])
        sizes, (less, more) = buffers["step_size"], group["etas"]
        sizes *= np.where(turned > 0, more, np.where(turned < 0, less, 1)).astype(sizes.dtype)
        np.clip(sizes, *group["step_sizes"], out=sizes)
        grad = np.where(turned < 0, 0, grad)
        data -= np.sign(grad) * sizes
        buffers["prev"][...] = grad


__all__ = ["ASGD", "Adamax", "NAdam", "RAdam", "Rprop"]
