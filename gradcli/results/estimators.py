"""What a check of an estimator measured: the bias of its mean, and how the mean settled as samples were added."""

from typing import NamedTuple

from .base import declare


class MeanSoFar(NamedTuple):
    """The mean after a number of samples, and the half-width of its interval at the level of the check."""

    samples: int
    mean: float
    half_width: float


@declare(json="level samples draws bias standard_error half_width tail_index? mean_so_far")
class Bias(NamedTuple):
    """The bias of an estimator in the element where it is worst: its mean minus the derivative.

    level: the probability that an estimator without bias fails. samples: how many were drawn; draws: how many may be.
    half_width: of the interval of the bias at this level. tail_index: Hill's index, if large samples carry much of the
    variance, which is infinite below 2. mean_so_far: after each look.
    """

    level: float
    samples: int
    draws: int
    bias: float
    standard_error: float
    half_width: float
    tail_index: float | None
    mean_so_far: tuple[MeanSoFar, ...]

    @property
    def cells(self) -> tuple[float | str, ...]:
        return (self.bias, self.standard_error, self.level, str(self.samples))

    def text(self, mean: float, derivative: float, precision: int) -> str:
        """Compare the mean with the derivative: both numbers, and the bias with its standard error."""
        numbers = f"the mean is {mean:.{precision}g}, the derivative {derivative:.{precision}g}"
        return f"{numbers}; bias {self.bias:.{precision}g} ± {self.standard_error:.1g}"
