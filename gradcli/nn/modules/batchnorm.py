"""Normalization with the moments of batches."""

from __future__ import annotations

from typing import Any

from ...api.create import ones, tensor, zeros
from ...tape.dtypes import int64
from ...tape.tensor import Tensor
from .. import functional
from .normalization import Scaled


class RunningNorm(Scaled):
    """What batch and instance normalization share: running moments, and an affine map of each channel.

    running_mean, running_var and num_batches_tracked are buffers; momentum None averages over all batches.
    """

    _ranks: tuple[int, ...] = ()
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        how = {"dtype": dtype, "device": device}
        self._make(num_features, device, dtype, weight=affine, bias=affine and bias)
        tracked = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, **how) if tracked else None)
        self.register_buffer("running_var", ones(num_features, **how) if tracked else None)
        self.register_buffer("num_batches_tracked", tensor(0, dtype=int64) if tracked else None)

    def reset_running_stats(self) -> None:
        """Forget the running moments."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Forget the running moments, and make the affine map the identity."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check(self, input: Tensor) -> None:
        if input.ndim not in self._ranks:
            ranks = " or ".join(f"{n}D" for n in self._ranks)
            raise ValueError(f"expected {ranks} input (got {input.ndim}D input)")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class BatchNorm(RunningNorm):
    """Standardize each channel with the batch's moments when training, else with the running ones."""

    def forward(self, input: Tensor) -> Tensor:
        """Standardize, and move the running moments when training."""
        self._check(input)
        step = 0.0 if self.momentum is None else self.momentum
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                step = 1.0 / self.num_batches_tracked.item()
        use_batch = self.training or self.running_mean is None
        moves = not self.training or self.track_running_stats
        return functional.batch_norm(
            input,
            self.running_mean if moves else None,
            self.running_var if moves else None,
            self.weight,
            self.bias,
            use_batch,
            step,
            self.eps,
        )


def norm(name: str, base: type, ranks: tuple[int, ...]) -> Any:
    """Return the class of a norm for inputs of so many axes."""
    return type(name, (base,), {"_ranks": ranks, "__doc__": base.__doc__, "__module__": __name__})


BatchNorm1d = norm("BatchNorm1d", BatchNorm, (2, 3))
BatchNorm2d = norm("BatchNorm2d", BatchNorm, (4,))
