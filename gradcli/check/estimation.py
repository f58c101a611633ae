"""Draw samples of an estimator until it is clear whether their mean is the derivative of an objective.

`expectation` has the true derivative, and `sequential` decides. A first stage calls an estimator that takes the number
of samples with n = 2: if its mean differs there, the samples of a call depend on each other, such as through a baseline
that includes the sample's own value.
"""

from __future__ import annotations

import numpy as np

from ..claims.claim import CallError, Claim
from ..claims.random_function import RandomFunction, seeds_of
from ..numeric.flat import Flat
from ..request import Request
from .expectation import FromSamples, FromValues, affordable, cost_of
from .sequential import BLOCKS, LEAST_ROWS, Blocks, Look, Mean, SamplePlan, level_share, parts_of_draw

LEVEL = 1e-6  # the level without --level
FINE_RESOLUTION = 0.01  # resolution to reach within these efforts: a choice
FINE_EFFORT, NAMED_EFFORT = 1 << 13, 1 << 14  # for a pass; for a fail, whose mean is to be named: a choice
ENOUGH, ENOUGH_EFFORT = 0.05, 1 << 16  # resolution that is enough afterwards, up to this effort: a choice
MOST_BIAS = 0.1  # a pass excludes a bias of this part of the largest derivative: a choice
ZERO_SIGMAS = 6.0  # a sampled derivative within so many standard errors of 0 may be zero: a choice
ZERO_SCALE = 0.1  # part of a sample's standard deviation that is the scale of such a derivative: a choice
SMALL_PART = 0.3  # part of the true derivative's error that the mean's may be if that cannot fall: a choice
FIRST_PAIRS, MOST_PAIRS = 1024, 1 << 14  # calls of the first stage, which double: a choice
PAIR_LOOKS = 5  # looks until then
PAIR_PART = 4  # part of all samples (1 / PAIR_PART) that it may take: a choice
PAIR_BIAS = 0.4  # bias that it excludes; a mean that includes the sample has one of a half in calls of two
STREAMS = {"estimator": 0, "objective": 1, "pairs": 2}
"""Streams of seeds, so that the numbers of one do not depend on how many another takes."""


class NotFiniteError(Exception):
    """Samples are nan or infinite. kind: nan or infinite."""

    def __init__(self, title: str, samples: np.ndarray):
        bad = int((~np.isfinite(samples).all(axis=1)).sum())
        self.kind = "nan" if np.isnan(samples).any() else "infinite"
        super().__init__(f"{bad} of {len(samples)} samples of {title} {'is' if bad == 1 else 'are'} {self.kind}")


class Estimation:
    """Samples of an estimator, look by look, compared with the true derivative.

    Arrays have shape (d,): the elements of all inputs, one after another. groups: those of each input. looks: what was
    seen; pairs: what the first stage saw, if there was one.
    """

    def __init__(self, claim: Claim, estimator: RandomFunction, request: Request):
        """Raises CallError."""
        self.claim, self.estimator, self.flat = claim, estimator, Flat(claim)
        if self.flat.f0.size != 1:
            raise CallError(f"{claim.title} returned shape {self.flat.out_shape}; an objective returns one number")
        objective: RandomFunction | None = getattr(claim, "objective", None)
        self.groups = [self.flat.columns(k) for k in range(len(claim.wrt))]
        self.leaves = {name: claim.at[name] for name in claim.wrt}
        self.seeds = {name: seeds_of(request.seed, k) for name, k in STREAMS.items()}
        self.cost = cost_of(estimator, self.flat.size)
        self.plan = SamplePlan.of(request.draws or affordable(self.cost), max(LEAST_ROWS, estimator.rows_at_once))
        self.truth: FromValues | FromSamples
        if objective is None:
            self.truth = FromValues(self.flat)
        else:
            self.truth = FromSamples(objective, self.flat, self.seeds["objective"], request.draws, self.groups)
        self.level = LEVEL if request.level is None else request.level
        self.share = level_share(self.level, self.flat.size, self.plan.looks + PAIR_LOOKS)
        self.samples = Blocks(self.flat.size, self.plan.most, self.groups)
        self.looks: list[Look] = []
        self.pairs: Look | None = None

    def run(self) -> None:
        """Draw samples until the verdict is clear. Raises CallError and NotFiniteError."""
        for k in range(self.plan.looks):
            self.draw(self.plan.rows_at(k))
            self.truth.draw(self.samples.mean)
            before = self.looks[-1] if self.looks else None
            look = self.look(self.samples.mean, before, last=k == self.plan.looks - 1)
            self.looks.append(look)
            if k == 0 and not (self.estimator.one or self.estimator.is_loss):
                self.pairs = self.look_at_pairs()
            if self.is_enough(look):
                return

    def draw(self, rows: int) -> None:
        """Draw the samples that are missing at a look."""
        for _ in range(self.samples.start_look(rows)):
            parts = parts_of_draw(rows, self.flat.size)
            self.samples.add(*(self.sample(next(self.seeds["estimator"]), count) for count in parts))
            self.claim.progress.report_progress("sample", self.samples.count, self.plan.most)

    def sample(self, seed: int, count: int) -> np.ndarray:
        return self.finite(self.estimator.samples(self.leaves, seed, count))

    def finite(self, samples: np.ndarray) -> np.ndarray:
        """Return samples. Raises NotFiniteError."""
        if not np.isfinite(samples).all():
            raise NotFiniteError(self.estimator.title, samples)
        return samples

    def look(self, claimed: Mean, before: Look | None, last: bool) -> Look:
        truth = self.truth.mean
        return Look(claimed, truth, self.scale(claimed, truth, last), self.share, before, last)

    def scale(self, claimed: Mean, truth: Mean, last: bool) -> np.ndarray:
        """Return what a bias of each element is compared with: the largest derivative by its input.

        If that is zero, it is the standard deviation of a sample. A derivative known from samples counts as zero only
        at the last look, and only a small part of the standard deviation is its scale.
        """
        scale = np.zeros(self.flat.size)
        size = np.where(np.isfinite(truth.value), np.abs(truth.value), 0.0)
        exact = self.truth.objective is None
        for group in self.groups:
            scale[group] = size[group].max(initial=0.0)
            zero = (size <= truth.doubt + ZERO_SIGMAS * truth.error)[group].all()
            if zero and (exact or last):
                part = 1.0 if exact else ZERO_SCALE
                scale[group] = part * claimed.deviation[group].max(initial=0.0)
        return scale

    def look_at_pairs(self) -> Look | None:
        """Return what calls of two samples show; None if the estimator cannot be called so."""
        plan = SamplePlan.of(min(2 * MOST_PAIRS, self.plan.most // PAIR_PART), 2 * FIRST_PAIRS // BLOCKS)
        blocks, look = Blocks(self.flat.size, plan.most, self.groups), None
        for k in range(plan.looks):
            calls = max(plan.rows_at(k) // 2, 1)
            try:
                for _ in range(blocks.start_look(2 * calls)):
                    pairs = self.estimator.pairs(self.leaves, next(self.seeds["pairs"]), calls)
                    blocks.add(self.finite(pairs))
            except (CallError, NotFiniteError):
                return None
            look = self.look(blocks.mean, None, last=k == plan.looks - 1)
            if look.within(PAIR_BIAS).all():
                break
        return look

    def is_enough(self, look: Look) -> bool:
        """Report whether more samples would not make the verdict, or what the mean is, clearer."""
        effort = self.cost * look.count + self.truth.effort
        if look.wrong.any() or not np.isfinite(self.truth.mean.value).all():
            return effort >= NAMED_EFFORT or bool((look.half_width <= FINE_RESOLUTION * look.scale).all())
        truth = self.truth.mean.error
        if self.truth.is_complete and truth.any() and (look.claimed.error <= SMALL_PART * truth).all():
            return True  # more samples of the estimator do not help
        enough = FINE_RESOLUTION if effort < FINE_EFFORT else ENOUGH if effort < ENOUGH_EFFORT else MOST_BIAS
        return bool(look.within(enough).all())

    @property
    def deciding(self) -> Look:
        """The look that decides: the last one, or that at calls of two samples if only it contradicts."""
        last = self.looks[-1]
        return self.pairs if self.pairs is not None and self.pairs.wrong.any() and not last.wrong.any() else last

    @property
    def word(self) -> str:
        """What was seen of all elements: right, wrong or undecided."""
        look = self.deciding
        return "wrong" if look.wrong.any() else "right" if look.within(MOST_BIAS).all() else "undecided"
