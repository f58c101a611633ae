"""What schedules of learning rates have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .optimizer import Optimizer


class Schedule:
    """Something that changes the rates of an optimizer's groups, and knows which it set last."""

    optimizer: Optimizer
    _last_lr: list[float]

    @property
    def rates(self) -> list[float]:
        """The present rates of the groups."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def get_last_lr(self) -> list[float]:
        """Return the rates that were set last."""
        return self._last_lr


class LRScheduler(Schedule):
    """A schedule. Derived classes define `get_lr`, the rates of the groups at `last_epoch`."""

    recursive = True
    """Whether a rate comes from the one before."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError("param 'initial_lr' is not specified in the groups when resuming an optimizer")
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self.step()

    def get_lr(self) -> list[float]:
        """Return the rates at `last_epoch`."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Go on by one epoch, or begin anew and go on to the given one."""
        if epoch is not None and self.recursive:
            self.set_rates(self.base_lrs)
            for self.last_epoch in range(epoch + 1):
                self.set_rates(self.get_lr())
            return
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self.set_rates(self.get_lr())

    def set_rates(self, rates: Sequence[float]) -> None:
        """Give each group its rate."""
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        self._last_lr = self.rates

    def scaled(self, factor: float) -> list[float]:
        """Return the present rates times a factor."""
        return [rate * factor for rate in self.rates]

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimizer, and functions."""
        return {k: v for k, v in self.__dict__.items() if k != "optimizer" and not callable(v)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what state_dict returned."""
        self.__dict__.update(state_dict)


__all__ = ["LRScheduler", "Schedule"]
