"""Schedules that go up and down, and schedules made of others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .optimizer import Optimizer
from .schedule import LRScheduler, Schedule


def mixed(start: float, end: float, part: float, how: str) -> float:
    """Return what is a part of the way from start to end, along a cosine or a line."""
    return end + (start - end) / 2 * (1 + math.cos(math.pi * part)) if how == "cos" else start + (end - start) * part


def momentum_name(group: dict[str, Any]) -> str | None:
    """Return which setting of a group is its momentum."""
    return "momentum" if "momentum" in group else "betas" if "betas" in group else None


class OneCycleLR(LRScheduler):
    """Up from max_lr / div_factor to max_lr, then down to a small rate (Smith and Topin 2017)."""

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float = 0.85,
        max_momentum: float = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ):
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
            total_steps = epochs * steps_per_epoch
        self.total_steps, self.how = total_steps, anneal_strategy
        up = float(pct_start * total_steps) - 1
        self.ends = [up, 2 * up, total_steps - 1] if three_phase else [up, total_steps - 1]
        tops = list(max_lr) if isinstance(max_lr, list | tuple) else [max_lr] * len(optimizer.param_groups)
        self.levels = []
        for group, top in zip(optimizer.param_groups, tops, strict=True):
            low = top / div_factor
            group["initial_lr"] = group["lr"] = low
            rest = [low, low / final_div_factor] if three_phase else [low / final_div_factor]
            self.levels.append([low, top, *rest])
        self.momenta = (
            [max_momentum, base_momentum, *([max_momentum] * (1 + three_phase))] if cycle_momentum else None
        )
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the rates at `last_epoch`. Raises ValueError beyond the last step."""
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"Tried to step {self.last_epoch} times. The specified number of total steps is {self.total_steps}"
            )
        phase = next((i for i, end in enumerate(self.ends) if self.last_epoch <= end), len(self.ends) - 1)
        start = 0.0 if phase == 0 else self.ends[phase - 1]
        part = (self.last_epoch - start) / (self.ends[phase] - start)
        if self.momenta is not None:
            momentum = mixed(self.momenta[phase], self.momenta[phase + 1], part, self.how)
            for group in self.optimizer.param_groups:
                name = momentum_name(group)
                if name is not None:
                    group[name] = momentum if name == "momentum" else (momentum, *group["betas"][1:])
        return [mixed(levels[phase], levels[phase + 1], part, self.how) for levels in self.levels]


class CyclicLR(LRScheduler):
    """Between base_lr and max_lr and back, each way in as many steps as given (Smith 2017)."""

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float,
        max_lr: float,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Any = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ):
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        down = step_size_up if step_size_down is None else step_size_down
        self.total_size, self.ratio = float(step_size_up + down), step_size_up / (step_size_up + down)
        self.base_lr = base_lr
        self.max_lr, self.mode, self.gamma, self.scale_fn, self.scale_mode = max_lr, mode, gamma, scale_fn, scale_mode
        self.momenta = (base_momentum, max_momentum) if cycle_momentum else None
        for group in optimizer.param_groups:
            if last_epoch == -1:
                group["lr"] = base_lr
        super().__init__(optimizer, last_epoch)

    def scale(self, cycle: int) -> float:
        """Return the factor of the height."""
        if self.scale_fn is not None:
            return self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        return {"triangular": 1.0, "triangular2": 0.5 ** (cycle - 1), "exp_range": self.gamma**self.last_epoch}[
            self.mode
        ]

    def get_lr(self) -> list[float]:
        """Return the rates at `last_epoch`."""
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.ratio if x <= self.ratio else (x - 1) / (self.ratio - 1)
        share = height * self.scale(cycle)
        if self.momenta is not None:
            low, high = self.momenta
            for group in self.optimizer.param_groups:
                if "momentum" in group:
                    group["momentum"] = high - (high - low) * share
        return [self.base_lr + (self.max_lr - self.base_lr) * share for _ in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Down along half a cosine within T_0 epochs, again and again, each time T_mult times as long."""

    recursive = False

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1):  # noqa: N803
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the rates at `last_epoch`, which may be a fraction."""
        at, length = self.last_epoch, self.T_0
        while at >= length:
            at, length = at - length, length * self.T_mult
        share = (1 + math.cos(math.pi * at / length)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]


class ChainedScheduler(Schedule):
    """Several schedules, one after another at each step."""

    def __init__(self, schedulers: Sequence[Any], optimizer: Optimizer | None = None):
        if not schedulers:
            raise ValueError("ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.")
        self._schedulers = list(schedulers)
        self.optimizer = optimizer or self._schedulers[0].optimizer
        self._last_lr = self.rates

    def step(self) -> None:
        """Go on by one epoch."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self.rates


class SequentialLR(LRScheduler):
    """One schedule until the first milestone, the next until the second, and so on."""

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[Any], milestones: Sequence[int], last_epoch: int = -1
    ):
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to "
                f"be equal to {len(milestones)}"
            )
        self.optimizer, self._schedulers, self._milestones = optimizer, list(schedulers), list(milestones)
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        for scheduler in self._schedulers:
            scheduler.last_epoch -= 1
        self._schedulers[0].step()
        self._last_lr = self._schedulers[0].get_last_lr()

    def step(self, epoch: int | None = None) -> None:
        """Go on by one epoch."""
        self.last_epoch += 1
        place = sum(m <= self.last_epoch for m in self._milestones)
        begins = place > 0 and self._milestones[place - 1] == self.last_epoch
        self._schedulers[place].step(*([0] if begins else []))
        self._last_lr = self._schedulers[place].get_last_lr()


__all__ = ["ChainedScheduler", "CosineAnnealingWarmRestarts", "CyclicLR", "OneCycleLR", "SequentialLR"]
