"""Schedules of learning rates: each `step()` sets the rate of every group for the next epoch."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from ..face.wrap import missing
from ..tape.tensor import Tensor
from .cyclic import ChainedScheduler, CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR, SequentialLR
from .optimizer import Optimizer
from .schedule import LRScheduler, Schedule


class LambdaLR(LRScheduler):
    """The first rate times lr_lambda(epoch); one function for all groups, or a list of them."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1):
        count = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, list | tuple) else [lr_lambda] * count
        if len(self.lr_lambdas) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the rates at `last_epoch`."""
        pairs = zip(self.base_lrs, self.lr_lambdas, strict=True)
        return [base * function(self.last_epoch) for base, function in pairs]


class MultiplicativeLR(LambdaLR):
    """The rate times lr_lambda(epoch) at each step."""

    def get_lr(self) -> list[float]:
        """Return the rates at `last_epoch`."""
        if self.last_epoch <= 0:
            return self.rates
        return [rate * function(self.last_epoch) for rate, function in zip(self.rates, self.lr_lambdas, strict=True)]


class StepLR(LRScheduler):
    """The rate times gamma every step_size epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the rates at `last_epoch`."""
        due = self.last_epoch > 0 and self.last_epoch % self.step_size == 0
        return self.scaled(self.gamma) if due else self.rates


class MultiStepLR(LRScheduler):
    """The rate times gamma at each of the milestones."""

    def __init__(self, optimizer: Optimizer, milestones: Sequence[int], gamma: float = 0.1, last_epoch: int = -1):
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the rates at `last_epoch`."""
        times = self.milestones.get(self.last_epoch, 0)
        return self.scaled(self.gamma**times) if times else self.rates


class ConstantLR(LRScheduler):
    """The first rate times factor until total_iters epochs are over."""

    def __init__(self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1):
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the rates at `last_epoch`."""
        if self.last_epoch == 0:
            return self.scaled(self.factor)
        return self.scaled(1.0 / self.factor) if self.last_epoch == self.total_iters else self.rates


class LinearLR(LRScheduler):
    """The first rate times a factor that goes from start_factor to end_factor within total_iters epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ):
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the rates at `last_epoch`."""
        if self.last_epoch == 0:
            return self.scaled(self.start_factor)
        if self.last_epoch > self.total_iters:
            return self.rates
        span = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * span
        return self.scaled(1.0 + span / before)


class ExponentialLR(LRScheduler):
    """The rate times gamma at each step."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the rates at `last_epoch`."""
        return self.scaled(self.gamma) if self.last_epoch > 0 else self.rates


class PolynomialLR(LRScheduler):
    """The first rate times (1 - epoch / total_iters)^power."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the rates at `last_epoch`."""
        if self.last_epoch == 0 or self.last_epoch > self.total_iters:
            return self.rates
        left, before = (1.0 - (self.last_epoch - i) / self.total_iters for i in (0, 1))
        return self.scaled((left / before) ** self.power)


class CosineAnnealingLR(LRScheduler):
    """From the first rate to eta_min along a cosine of half a period T_max (Loshchilov and Hutter 2017)."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1):  # noqa: N803
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the rates at `last_epoch`."""
        if self.last_epoch == 0:
            return self.rates
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            bump = (1 - math.cos(math.pi / self.T_max)) / 2
            pairs = zip(self.rates, self.base_lrs, strict=True)
            return [rate + (base - self.eta_min) * bump for rate, base in pairs]
        now, before = (1 + math.cos(math.pi * (self.last_epoch - i) / self.T_max) for i in (0, 1))
        return [now / before * (rate - self.eta_min) + self.eta_min for rate in self.rates]


class ReduceLROnPlateau(Schedule):
    """The rate times factor once a measure has not become better for more than `patience` epochs."""

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
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ValueError(f"mode {mode} or threshold mode {threshold_mode} is unknown!")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown = threshold, threshold_mode, cooldown
        self.min_lr, self.eps = min_lr, eps
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = self.last_epoch = 0
        self._last_lr = self.rates

    def is_better(self, value: float) -> bool:
        """Return whether a value is better than the best, by more than the threshold."""
        sign = 1 if self.mode == "min" else -1
        margin = self.threshold * (abs(self.best) if self.threshold_mode == "rel" else 1)
        return math.isinf(self.best) or sign * value < sign * self.best - margin

    def step(self, metrics: Any, epoch: int | None = None) -> None:
        """Take in the measure of one epoch."""
        value = float(metrics.item() if isinstance(metrics, Tensor) else metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(value):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group in self.optimizer.param_groups:
                lower = max(group["lr"] * self.factor, self.min_lr)
                if group["lr"] - lower > self.eps:
                    group["lr"] = lower
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self.rates


_LRScheduler: Callable = LRScheduler
__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
__getattr__ = missing(__name__, lambda: __all__)
