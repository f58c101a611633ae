"""Connectionist temporal classification (Graves et al. 2006): the likelihood of a sequence without alignment."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...face.join import cat, stack
from ...face.reduce import logsumexp, picked
from ...face.select import where
from ...tape.tensor import Tensor
from .arguments import constant, reduced

NEVER = -1e30
"""The logarithm of a probability 0, finite so that nothing becomes nan."""


def as_lengths(lengths: Any) -> np.ndarray:
    """Return lengths given as a tensor, a list or a number as a vector."""
    return np.asarray(getattr(lengths, "_data", lengths), np.intp).reshape(-1)


def padded_targets(targets: Tensor, lengths: np.ndarray) -> np.ndarray:
    """Return targets (N, longest), also where they came joined into one vector."""
    given = np.asarray(targets.detach().numpy())
    if given.ndim == 2:
        return given[:, : lengths.max(initial=0)]
    if len(lengths) == 1:
        return given.reshape(1, -1)[:, : lengths[0]]
    starts = np.cumsum(lengths) - lengths
    places = starts[:, None] + np.arange(lengths.max(initial=0))
    return given[np.minimum(places, max(given.size - 1, 0))] if given.size else np.zeros(places.shape, np.intp)


def extended(labels: np.ndarray, blank: int) -> tuple[np.ndarray, np.ndarray]:
    """Return labels with blanks around each (N, 2 L + 1), and where a blank between two may be skipped."""
    states = np.full((labels.shape[0], 2 * labels.shape[1] + 1), blank, np.intp)
    states[:, 1::2] = labels
    skips = np.zeros(states.shape, bool)
    skips[:, 3::2] = labels[:, 1:] != labels[:, :-1]
    return states, skips


def moved(alpha: Tensor, steps: int) -> Tensor:
    """Return alpha moved to later states; nothing comes from before the first."""
    gap = np.full((alpha.shape[0], steps), NEVER, alpha.dtype)
    return cat([constant(gap), alpha[:, :-steps]], 1)


def negative_log_likelihood(
    scores: Tensor, labels: np.ndarray, times: np.ndarray, lengths: np.ndarray, blank: int
) -> Tensor:
    """Return -log p(labels) per sequence, from log-probabilities (T, N, C), by the forward recursion."""
    states, skips = extended(labels, blank)
    count, width = states.shape
    emitted = picked(scores, np.broadcast_to(states, (scores.shape[0], count, width)), -1, "GatherBackward0")
    first = constant(np.broadcast_to(np.arange(width) < 2, states.shape))
    alpha = where(first, emitted[0], NEVER)
    for t in range(1, scores.shape[0]):
        ways = [alpha]
        if width > 1:
            ways += [moved(alpha, 1), where(constant(skips), moved(alpha, 2), NEVER)]
        after = np.maximum(logsumexp(stack(ways), 0) + emitted[t], NEVER)
        running = t < times
        alpha = after if running.all() else where(constant(running[:, None]), after, alpha)
    ends = np.stack([2 * lengths, np.maximum(2 * lengths - 1, 0)], -1)
    last = picked(alpha, ends, -1, "GatherBackward0")
    last = where(constant(np.stack([lengths >= 0, lengths > 0], -1)), last, NEVER)
    return -logsumexp(last, -1)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """-log of the probability that log_probs (T, N, C) or (T, C) spell the targets, in any alignment.

    targets: (N, longest) or one vector of all. The mean divides by the target lengths first. The gradient is
    that of PyTorch: of log_probs as they come out of log_softmax, whose own gradient leaves it as it is.
    """
    scores = log_probs if log_probs.ndim == 3 else log_probs.unsqueeze(1)
    times, lengths = as_lengths(input_lengths), as_lengths(target_lengths)
    if not len(times) == len(lengths) == scores.shape[1]:
        raise RuntimeError("input_lengths and target_lengths must be of size batch_size")
    if times.max(initial=0) > scores.shape[0]:
        raise RuntimeError(f"Expected input_lengths to have value at most {scores.shape[0]}")
    labels = padded_targets(targets, lengths)
    if not 0 <= blank < scores.shape[2]:
        raise RuntimeError("blank must be in label range")
    loss = negative_log_likelihood(scores, labels, times, lengths, blank)
    inside = constant((np.arange(scores.shape[0])[:, None] < times)[:, :, None])
    total = where(inside, scores.exp(), 0.0).sum((0, 2))
    loss = loss + (total - total.detach())
    return finished(loss, log_probs, lengths, reduction, zero_infinity)


def finished(loss: Tensor, log_probs: Tensor, lengths: np.ndarray, reduction: str, zero_infinity: bool) -> Tensor:
    """Return losses of impossible targets as inf or 0, and all reduced."""
    impossible = loss.detach() > -NEVER / 2
    loss = where(impossible, 0.0 if zero_infinity else np.inf, loss)
    if reduction == "mean":
        return (loss / constant(np.maximum(lengths, 1)).to(loss.dtype)).mean()
    return reduced(loss.squeeze(0) if log_probs.ndim == 2 else loss, reduction)
