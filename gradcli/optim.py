"""Optimizers and learning rate schedules with the names and arguments of torch.optim."""

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
from .tape.modes import enable_grad, report_event
from .tape.node import clear_grad
from .tape.tensor import Tensor

NOT_NEGATIVE = {
    "lr": "learning rate", "eps": "epsilon value", "momentum": "momentum value", "weight_decay": "weight_decay value",
    "alpha": "alpha value", "lr_decay": "lr_decay value",
}  # fmt: skip


class Optimizer:
    """Changes parameters in place, given their gradients. Derived classes define `update`.

    params: tensors, or dicts with `params` and the settings of one group. Raises TypeError and ValueError as PyTorch
    does.
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
        """Add a group: a dict with `params` and settings that differ from the defaults."""
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
        for p in listed:
            report_event("optimizer", p)
        param_group["params"] = listed
        self.param_groups.append({**self.defaults, **param_group})

    def step(self, closure: Callable | None = None) -> Any:
        """Update every parameter that has a gradient. closure: recomputes the loss, which step then returns."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with np.errstate(all="ignore"):
            for group in self.param_groups:
                for p in group["params"]:
                    report_event("step", p)
                    if p._grad is not None:
                        data = p._array()
                        grad = p._grad._array()
                        self.update(data, -grad if group.get("maximize") else grad, self.state[p], group)
                        mark_changed(data)
        return loss

    def update(self, data: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Change one parameter's data in place, with its own `state` and the settings of its `group`."""
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


class Decaying(Optimizer):
    """An optimizer with checked settings and weight decay. Derived classes define `move`.

    sums: names of the arrays that it keeps for each parameter, in addition to the number of steps. is_decoupled:
    whether the decay changes the parameters themselves instead of their gradients.
    """

    sums: tuple[str, ...] = ()
    is_decoupled = False

    def __init__(self, params: Any, settings: dict[str, Any]):
        for name, title in NOT_NEGATIVE.items():
            if not settings.get(name, 0) >= 0:
                raise ValueError(f"Invalid {title}: {settings[name]}")
        super().__init__(params, settings)

    def update(self, data: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        if group["weight_decay"] and self.is_decoupled:
            data *= 1 - float(group["lr"]) * group["weight_decay"]
        elif group["weight_decay"]:
            grad = grad + group["weight_decay"] * data
        if self.sums and not state:
            state["step"] = Tensor._wrap(np.zeros((), defaults.float), None)
            state |= {name: Tensor._wrap(np.zeros_like(data), None) for name in self.sums}
        if self.sums:
            state["step"]._array()[...] += 1
        self.move(data, grad, state, group)

    def move(self, data: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        raise NotImplementedError


class SGD(Decaying):
    """Stochastic gradient descent: p -= lr * d, where d is the gradient plus weight_decay * p.

    With momentum, the step is the running sum b = momentum * b + (1 - dampening) * d instead of d; with nesterov, it is
    d + momentum * b (Sutskever et al. 2013). maximize: ascend instead of descending.
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
        super().__init__(params, {**settings, "nesterov": nesterov, "maximize": maximize})

    def move(self, data: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        momentum = group["momentum"]
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


class Adam(Decaying):
    """p -= lr * mean / (sqrt(mean of squares) + eps), with bias-corrected running means (Kingma and Ba 2015).

    weight_decay * p is added to the gradient. maximize: ascend instead of descending.
    """

    sums = ("exp_avg", "exp_avg_sq")
    usual_decay = 0.0

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
        super().__init__(params, settings)

    def move(self, data: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        data, grad = as_real_pairs(data), as_real_pairs(grad)
        mean, squares = (as_real_pairs(state[name]._array()) for name in self.sums)
        (beta1, beta2), count = group["betas"], state["step"].item()
        mean += (1 - beta1) * (grad - mean)
        squares *= beta2
        squares += (1 - beta2) * grad * grad
        root = np.sqrt(squares) / math.sqrt(1 - beta2**count) + group["eps"]
        data -= float(group["lr"]) / (1 - beta1**count) * mean / root


def as_real_pairs(raw: np.ndarray) -> np.ndarray:
    """Return complex numbers as pairs of real ones that share their memory, and real numbers unchanged."""
    return np.atleast_1d(raw).view(raw.real.dtype) if raw.dtype.kind == "c" else raw


class AdamW(Adam):
    """Adam that subtracts weight decay from the parameters themselves (Loshchilov and Hutter 2019)."""

    usual_decay = 1e-2
    is_decoupled = True


class RMSprop(Decaying):
    """p -= lr * d, where d = gradient / (sqrt(running mean of its squares) + eps) (Hinton 2012).

    centered: subtract the square of the running mean of gradients under the root. momentum: step by a running sum of d.
    """

    sums = ("square_avg", "grad_avg", "momentum_buffer")

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        *,
        maximize: bool = False,
    ):
        settings = {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay, "momentum": momentum}
        super().__init__(params, {**settings, "centered": centered, "maximize": maximize})

    def move(self, data: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        data, grad = as_real_pairs(data), as_real_pairs(grad)
        squares, mean, buffer = (as_real_pairs(state[name]._array()) for name in self.sums)
        squares *= group["alpha"]
        squares += (1 - group["alpha"]) * grad * grad
        mean += (1 - group["alpha"]) * (grad - mean)
        spread = squares - mean * mean if group["centered"] else squares
        buffer *= group["momentum"]
        buffer += grad / (np.sqrt(spread) + group["eps"])
        data -= float(group["lr"]) * buffer


class Adagrad(Decaying):
    """p -= lr / (1 + steps * lr_decay) * g / (sqrt(sum of squares of g) + eps) (Duchi et al. 2011)."""

    sums = ("sum",)

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
    ):
        settings = {"lr": lr, "lr_decay": lr_decay, "weight_decay": weight_decay, "eps": eps}
        super().__init__(
            params, {**settings, "initial_accumulator_value": initial_accumulator_value, "maximize": maximize}
        )

    def move(self, data: np.ndarray, grad: np.ndarray, state: dict[str, Any], group: dict[str, Any]) -> None:
        before = state["step"].item() - 1
        if not before:
            state["sum"]._array()[...] += group["initial_accumulator_value"]
        rate = float(group["lr"]) / (1 + before * group["lr_decay"])
        data, grad, total = as_real_pairs(data), as_real_pairs(grad), as_real_pairs(state["sum"]._array())
        total += grad * grad
        data -= rate * grad / (np.sqrt(total) + group["eps"])


class LRScheduler:
    """A learning rate schedule. Derived classes define `get_lr`, which returns the groups' rates at `last_epoch`."""

    def __init__(self, optimizer: Optimizer):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer, self.last_epoch = optimizer, -1
        self.base_lrs = [group.setdefault("initial_lr", group["lr"]) for group in optimizer.param_groups]
        self.step()

    def get_lr(self) -> list[float]:
        """Return the rates at `last_epoch`."""
        raise NotImplementedError

    def get_last_lr(self) -> list[float]:
        return [group["lr"] for group in self.optimizer.param_groups]

    def step(self) -> None:
        """Advance by one epoch."""
        self.last_epoch += 1
        for group, rate in zip(self.optimizer.param_groups, self.get_lr(), strict=True):
            group["lr"] = rate


class StepLR(LRScheduler):
    """Multiplies the rates by gamma every step_size epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer)

    def get_lr(self) -> list[float]:
        due = self.last_epoch > 0 and self.last_epoch % self.step_size == 0
        return [rate * self.gamma if due else rate for rate in self.get_last_lr()]


class ExponentialLR(StepLR):
    """Multiplies the rates by gamma every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float):
        super().__init__(optimizer, 1, gamma)


class CosineAnnealingLR(LRScheduler):
    """Lowers the rates to eta_min along half a cosine within T_max epochs, then raises them again."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0):  # noqa: N803 - PyTorch's name
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer)

    def get_lr(self) -> list[float]:
        share = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (rate - self.eta_min) * share for rate in self.base_lrs]


class LambdaLR(LRScheduler):
    """Multiplies the initial rates by lr_lambda(epoch): one function for all groups, or a list with one per group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any):
        count = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, list | tuple) else [lr_lambda] * count
        if len(self.lr_lambdas) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer)

    def get_lr(self) -> list[float]:
        return [rate * f(self.last_epoch) for rate, f in zip(self.base_lrs, self.lr_lambdas, strict=True)]


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the rates by factor when the metric has not improved for more than patience epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float = 0,
        eps: float = 1e-8,
    ):
        if factor >= 1:
            raise ValueError("Factor should be < 1.0.")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown = threshold, threshold_mode, cooldown
        self.min_lr, self.eps = min_lr, eps
        self.best, self.last_epoch = math.inf if mode == "min" else -math.inf, 0
        self.num_bad_epochs = self.cooldown_counter = 0

    def step(self, metrics: Any) -> None:  # type: ignore[override]
        """Advance by one epoch. metrics: the loss, or another metric, at its end."""
        value, sign = float(metrics), 1 if self.mode == "min" else -1
        margin = self.threshold * (abs(self.best) if self.threshold_mode == "rel" else 1)
        self.last_epoch += 1
        if value == value and (math.isinf(self.best) or sign * (self.best - value) > margin):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group in self.optimizer.param_groups:
                rate = max(group["lr"] * self.factor, self.min_lr)
                group["lr"] = rate if group["lr"] - rate > self.eps else group["lr"]
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0


SCHEDULES = "LRScheduler StepLR ExponentialLR CosineAnnealingLR LambdaLR ReduceLROnPlateau"
__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]
lr_scheduler = namespace(f"{__name__}.lr_scheduler", {"gradcli.optim": SCHEDULES})
__getattr__ = missing(__name__, lambda: __all__)
