"""Distributions of whole numbers."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..face.draw import multinomial
from ..face.shape import broadcast_tensors
from ..nn import functional
from ..tape.modes import no_grad
from ..tape.tensor import Tensor
from .distribution import Distribution, broadcast


def inside(probs: Tensor) -> Tensor:
    """Return probabilities a rounding unit away from 0 and 1."""
    eps = float(np.finfo(probs.dtype.numpy).eps)
    return probs.clamp(min=eps, max=1 - eps)


def only_one(probs: Any, logits: Any) -> None:
    """Raise ValueError unless one of both is given."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


class Categorical(Distribution):
    """Numbers 0..n-1 with probabilities proportional to probs, or to exp(logits), along the last axis."""

    parameters = ("probs", "logits")

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        only_one(probs, logits)
        given = probs if probs is not None else logits
        if given.ndim < 1:
            raise ValueError("`probs` parameter must be at least one-dimensional.")
        if probs is not None:
            self.probs = probs
            if validate_args is not False:
                self.refuse_unless("probs", probs >= 0, "Simplex()")
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = logits - logits.logsumexp(-1, keepdim=True)
        self._num_events = given.shape[-1]
        super().__init__(given.shape[:-1])

    @functools.cached_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return functional.softmax(self.logits, -1)

    @functools.cached_property
    def logits(self) -> Tensor:
        """Their logarithms."""
        return inside(self.probs).log()

    @property
    def mode(self) -> Tensor:
        """The most probable number."""
        return self.probs.argmax(-1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Return samples."""
        wanted = self._extended(sample_shape)
        count = int(np.prod(wanted[: len(wanted) - len(self._batch_shape)]))
        with no_grad():
            rows = multinomial(self.probs.reshape(-1, self._num_events), count, True)
            return rows.T.reshape(wanted)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability."""
        value, logits = broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        """Return the entropy in nats."""
        least = float(np.finfo(self.logits.dtype.numpy).min)
        return -(self.logits.clamp(min=least) * self.probs).sum(-1)


class Bernoulli(Distribution):
    """1 with probability probs, or sigmoid(logits), else 0."""

    parameters = ("probs", "logits")

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        only_one(probs, logits)
        if probs is not None:
            (self.probs,) = broadcast(probs)
            if validate_args is not False:
                holds = (self.probs >= 0) & (self.probs <= 1)
                self.refuse_unless("probs", holds, "Interval(lower_bound=0.0, upper_bound=1.0)")
        else:
            (self.logits,) = broadcast(logits)
        super().__init__((self.probs if probs is not None else self.logits).shape)

    @functools.cached_property
    def probs(self) -> Tensor:
        """The probability of 1."""
        return self.logits.sigmoid()

    @functools.cached_property
    def logits(self) -> Tensor:
        """log(p / (1 - p))."""
        p = inside(self.probs)
        return p.log() - (-p).log1p()

    @property
    def mean(self) -> Tensor:
        """The probability of 1."""
        return self.probs

    @property
    def variance(self) -> Tensor:
        """p (1 - p)."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Return samples."""
        with no_grad():
            return self.probs.expand(self._extended(sample_shape)).bernoulli()

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability."""
        logits, value = broadcast_tensors(self.logits, value)
        return -functional.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        """Return the entropy in nats."""
        return functional.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
