"""Optimizers and schedules of learning rates with the names and arguments of torch.optim."""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from .api.wrap import missing, namespace
from .tape.dtypes import defaults
from .tape.memory import mark_changed
from .tape.modes import enable_grad
from .tape.node import clear_grad
from .tape.tensor import Tensor

NOT_NEGATIVE = {
    "lr": "learning rate", "eps": "epsilon value", "momentum": "momentum value", "weight_decay": "weight_decay value",
}  # fmt: skip


class Optimizer:
    """Changes parameters in place, given their gradients. Derived classes define `update`.

    params: tensors, or dicts with `params` and settings of a group of their own. Raises TypeError and ValueError as
    PyTorch does.
    """

    def __init__(self, params: Any, defaults: dict[str, Any]):
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"torch.{params.dtype.title}Tensor"
            )
        self.defaults = defaults
        self.state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(dict(group))

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group: a dict with `params` and settings that differ from the usual."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        listed = [params] if isinstance(params, Tensor) else list(params)
        for p in listed:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
            if not p.is_leaf:
                raise ValueError("can't optimize a non-leaf Tensor")
        if len(set(listed)) != len(listed):
            warnings.warn("optimizer contains a parameter group with duplicate parameters", stacklevel=3)
        others = {id(p) for group in self.param_groups for p in group["params"]}
        if not others.isdisjoint(map(id, listed)):
            raise ValueError("some parameters appear in more than one parameter group")
        param_group["params"] = listed
        self.param_groups.append({**self.defaults, **param_group})

    def step(self, closure: Callable | None = None) -> Any:
        """Change every parameter that has a gradient. closure: computes the loss anew, which is returned."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with np.errstate(all="ignore"):
            for group in self.param_groups:
                for p in group["params"]:
                    if p._grad is not None:
                        data = p._array()
                        grad = p._grad._array()
                        self.update(data, -grad if group.get("maximize") else grad, self.state[p], group)
                        mark_changed(data)
        return loss

    def update(self, data: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Change one parameter's data in place; `state` is its own, `group` has the settings."""
        raise NotImplementedError

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients: to None, or to zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                clear_grad(p, set_to_none)

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for i, group in enumerate(self.param_groups):
            settings = "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
            text += f"\nParameter Group {i}\n{settings}"
        return text + ")"


def check_not_negative(settings: dict[str, Any]) -> None:
    """Raise ValueError for a setting that is negative, or no number."""
    for name, title in NOT_NEGATIVE.items():
        if not settings.get(name, 0) >= 0:
            raise ValueError(f"Invalid {title}: {settings[name]}")


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
    ):
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        settings = {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay}
        check_not_negative(settings)
        super().__init__(params, {**settings, "nesterov": nesterov, "maximize": maximize})

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


class Adam(Optimizer):
    """Steps of lr mean / (sqrt(mean of squares) + eps), both means running and corrected (Kingma and Ba 2015).

    weight_decay p is added to the gradient. maximize: climb instead.
    """

    usual_decay = 0.0
    is_decoupled = False

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float | None = None,
        *,
        maximize: bool = False,
    ):
        weight_decay = self.usual_decay if weight_decay is None else weight_decay
        for i, beta in enumerate(betas):
            if not 0 <= beta < 1:
                raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
        settings = {"lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay, "maximize": maximize}
        check_not_negative(settings)
        super().__init__(params, settings)

    def update(self, data: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state["step"] = Tensor._wrap(np.zeros((), defaults.float), None)
            state.update({name: Tensor._wrap(np.zeros_like(data), None) for name in ("exp_avg", "exp_avg_sq")})
        state["step"]._array()[...] += 1
        if group["weight_decay"] and self.is_decoupled:
            data *= 1 - float(group["lr"]) * group["weight_decay"]
        elif group["weight_decay"]:
            grad = grad + group["weight_decay"] * data
        data, grad = as_real(data), as_real(grad)
        mean, squares = as_real(state["exp_avg"]._array()), as_real(state["exp_avg_sq"]._array())
        (beta1, beta2), count = group["betas"], state["step"].item()
        mean += (1 - beta1) * (grad - mean)
        squares *= beta2
        squares += (1 - beta2) * grad * grad
        root = np.sqrt(squares) / math.sqrt(1 - beta2**count) + group["eps"]
        data -= float(group["lr"]) / (1 - beta1**count) * mean / root


def as_real(raw: np.ndarray) -> np.ndarray:
    """Return the memory of complex numbers as pairs of real ones."""
    return np.atleast_1d(raw).view(raw.real.dtype) if raw.dtype.kind == "c" else raw


class AdamW(Adam):
    """Adam that takes weight decay off the parameters themselves (Loshchilov and Hutter 2019)."""

    usual_decay = 1e-2
    is_decoupled = True


class StepLR:
    """A schedule: the rates times gamma every step_size epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer, self.step_size, self.gamma, self.last_epoch = optimizer, step_size, gamma, 0

    def get_last_lr(self) -> list[float]:
        """Return the rates of the groups."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def step(self) -> None:
        """Go on by one epoch."""
        self.last_epoch += 1
        if self.last_epoch % self.step_size == 0:
            for group in self.optimizer.param_groups:
                group["lr"] *= self.gamma


__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "lr_scheduler"]
lr_scheduler = namespace(f"{__name__}.lr_scheduler", {"gradcli.optim": "StepLR"})
__getattr__ = missing(__name__, lambda: __all__)
