"""The derivative of an expectation, the true value of an estimator: from values, or from samples of the objective.

Samples are taken at six displaced points with common random numbers, so that most of the noise cancels. The mean of the
sixth-order difference is the derivative up to h^6. Its distance from the fourth-order difference, whose error is h^4,
bounds what is left. A sample that jumps with the input, such as a random choice, has a difference of order 1/h with a
probability of order h: the mean is still right, but with more noise. A pilot selects the step with the least error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..claims.claim import CallError
from ..claims.random_function import RandomFunction
from ..explain.evidence import estimated_columns
from ..numeric.compare import MARGIN
from ..numeric.flat import Flat
from ..numeric.sampler import Sampler
from .sequential import LEAST_ROWS, Blocks, Mean, SamplePlan, parts_of_draw

SIXTH = np.array([-1, 9, -45, 45, -9, 1]) / 60
FOURTH = np.array([0, 1, -8, 8, -1, 0]) / 12
SECOND_ORDER = np.array([-1, 1]) / 2
WIDER_WEIGHTS = np.array([-1, 0, 0, 1]) / 4
"""Weights of central differences (Fornberg, Mathematics of Computation 51, 1988, table 1)."""
TRIED_STEPS = (0.3, 0.1, 0.03)  # steps to try, relative to an element's size: a choice
AT_ONE = (0.5, 0.2, 0.1)  # steps to try for small elements, whose size may not be their scale: a choice
SMALL_STEP = 1e-3  # step for samples that are smooth functions of the input: a choice
SMOOTH_ERROR = 1e-4  # part of the derivative, or of a sample's deviation, that its error may be: a choice
PILOT, PILOT_LOOP = 2048, 256  # samples that select the step, and if each takes a call: a choice
STEP_SIGMAS = 2.0  # standard errors that are added to the distance between two differences: a choice
MOST_DRAWS = 1 << 23  # most samples without --draws: a choice
EFFORT = 1 << 19  # most calls of one sample each, or as much work, without --draws: a choice
VECTORIZED_NUMBERS = 256  # numbers of a vectorized call that take as long as a call of one sample: a choice
FIRST_ROWS = 128  # samples in each block of the first look, whose calls are many: a choice
PRECISE_ENOUGH = 1.0
"""No more samples of the objective are drawn if its error is this part of the estimator's: a choice."""


def cost_of(function: RandomFunction, size: int) -> float:
    """Return the work of one sample of `size` numbers, in calls of one sample each."""
    return 1.0 if function.is_loop else size / VECTORIZED_NUMBERS


def affordable(cost: float) -> int:
    """Return how many samples of a cost are drawn without --draws."""
    return min(MOST_DRAWS, int(EFFORT / cost))


def numeric_derivative(flat: Flat) -> tuple[np.ndarray, np.ndarray]:
    """Return the numeric derivative of a scalar function and the half-width of its interval: (d,); nan if unknown."""
    value, error = estimated_columns(Sampler(flat), range(flat.size), None)
    return value[0], MARGIN * error[0]


class FromValues:
    """The derivative of an exact expectation, by numeric differentiation."""

    objective = None
    effort = 0.0
    is_complete = True

    def __init__(self, flat: Flat):
        self.mean = Mean.exact(*numeric_derivative(flat))

    def draw(self, claimed: Mean) -> None:
        """Do nothing: the derivative is known."""


class CentralDifference(NamedTuple):
    """A central difference along an element: its step, offsets in steps, and weights.

    other: weights of a difference with another error, at the same points; None if the error is known: doubt.
    """

    step: float
    offsets: tuple[int, ...]
    weights: np.ndarray
    other: np.ndarray | None = None
    doubt: float = 0.0


class FromSamples:
    """The derivative of an expectation from samples of the objective."""

    def __init__(
        self, objective: RandomFunction, flat: Flat, seeds: Iterator[int], draws: int | None, groups: Sequence[slice]
    ):
        """draws: how many samples there may be [what a usual effort allows]. Raises CallError."""
        self.objective, self.flat, self.seeds = objective, flat, seeds
        pilot, seed = PILOT_LOOP if objective.is_loop else PILOT, next(seeds)
        self.chosen = [self.best(i, float(flat.scales[i]), seed, pilot) for i in range(flat.size)]
        self.cost = sum(len(way.offsets) for way in self.chosen) * cost_of(objective, 1)
        rows = LEAST_ROWS if objective.is_loop else max(FIRST_ROWS, objective.rows_at_once)
        self.plan = SamplePlan.of(draws or affordable(self.cost), rows)
        shifted = [slice(g.start + flat.size, g.stop + flat.size) for g in groups]
        self.blocks = Blocks(2 * flat.size, self.plan.most, [*groups, *shifted])

    def best(self, i: int, size: float, seed: int, count: int) -> CentralDifference:
        """Return the difference to use along element i. Raises CallError if the objective has no values nearby."""
        smooth = CentralDifference(SMALL_STEP * size, (-2, -1, 1, 2), np.array([0, *SECOND_ORDER, 0]), WIDER_WEIGHTS)
        trouble, found = "its samples are not finite", []
        wide = [step for step in AT_ONE if TRIED_STEPS[0] * size < step]
        for step in (0.0, *wide, *(part * size for part in TRIED_STEPS)):
            tried = CentralDifference(step, (-3, -2, -1, 1, 2, 3), SIXTH, FOURTH) if step else smooth
            try:
                samples = self.samples_of(tried, i, seed, count)
            except CallError as error:
                trouble = str(error)
                continue
            if not np.isfinite(samples).all():
                continue
            mean, noise = np.abs(samples.mean(axis=0)), samples.std(axis=0)
            doubt = float(mean[1] + STEP_SIGMAS * noise[1] / np.sqrt(count))
            if step:  # zeros only come last: jumps are too rare at this step
                found.append((not samples.any(), doubt + float(noise[0]) / np.sqrt(count), tried))
            elif samples.any() and doubt <= SMOOTH_ERROR * max(mean[0], noise[0]):
                return CentralDifference(smooth.step, (-1, 1), SECOND_ORDER, None, doubt)
        if not found:
            name, index, _ = self.flat.label(i)
            place = f"{name}{list(index) or ''}"
            raise CallError(f"{self.objective.title} cannot be sampled at other values of {place}: {trouble}")
        return min(found, key=lambda item: item[:2])[2]

    def samples_of(self, difference: CentralDifference, i: int, seed: int, count: int) -> np.ndarray:
        """Return samples of a difference along element i, and of its distance from the other one: (count, 2)."""
        flat, unit, values = self.flat, np.zeros(self.flat.size), []
        unit[i] = difference.step
        for offset in difference.offsets:
            point = flat.arrays_at(flat.x + offset * unit)
            values.append(self.objective.samples(point, seed, count)[:, 0])
        stack = np.stack(values, axis=-1) / difference.step
        own = stack @ difference.weights
        other = own if difference.other is None else stack @ difference.other
        return np.stack([own, other - own], axis=-1)

    def draw(self, claimed: Mean) -> None:
        """Double the samples until the derivative is known better than an estimator's mean. Raises CallError."""
        rows = self.plan.rows
        while rows <= self.plan.last_rows and not (self.blocks.rows and self.is_precise(claimed)):
            for _ in range(self.blocks.start_look(rows)):
                self.blocks.add(
                    *(self.sample(next(self.seeds), count) for count in parts_of_draw(rows, 2 * self.flat.size))
                )
            rows *= 2

    def is_precise(self, claimed: Mean) -> bool:
        return bool((self.mean.error <= PRECISE_ENOUGH * claimed.error).all())

    @property
    def is_complete(self) -> bool:
        """Whether all samples that are allowed were drawn."""
        return self.blocks.rows == self.plan.last_rows

    def sample(self, seed: int, count: int) -> np.ndarray:
        """Return samples of the derivative, and of the distance between two differences: (count, 2 d)."""
        columns = [self.samples_of(way, i, seed, count) for i, way in enumerate(self.chosen)]
        return np.transpose(columns, (1, 2, 0)).reshape(count, -1)

    @property
    def effort(self) -> float:
        """The work so far, in calls of one sample each."""
        return self.blocks.count * self.cost

    @property
    def mean(self) -> Mean:
        both, d = self.blocks.mean, self.flat.size
        own, rest = slice(0, d), slice(d, None)
        doubt = np.abs(both.value[rest]) + STEP_SIGMAS * both.error[rest] + [way.doubt for way in self.chosen]
        return Mean(both.value[own], both.error[own], both.spread[own], doubt, both.tail[own], both.count)
