"""Kullback-Leibler divergences, by the classes of both distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tape.tensor import Tensor
from .continuous import Exponential, Normal
from .discrete import Bernoulli, Categorical
from .distribution import Independent

known: dict[tuple[type, type], Callable] = {}


def register_kl(type_p: type, type_q: type) -> Callable:
    """Decorate the function that computes KL(p || q) for two classes."""

    def enter(function: Callable) -> Callable:
        known[type_p, type_q] = function
        return function

    return enter


def kl_divergence(p: Any, q: Any) -> Tensor:
    """Return E_p[log p - log q]. Raises NotImplementedError for classes without a formula."""
    for first in type(p).__mro__:
        for second in type(q).__mro__:
            if (first, second) in known:
                return known[first, second](p, q)
    raise NotImplementedError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
    )


@register_kl(Normal, Normal)
def of_normals(p: Normal, q: Normal) -> Tensor:
    """(r^2 + d^2 - 1 - log r^2) / 2, r the ratio of the scales, d the distance in units of q's."""
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Categorical, Categorical)
def of_categories(p: Categorical, q: Categorical) -> Tensor:
    """Sum p (log p - log q)."""
    return (p.probs * (p.logits - q.logits)).sum(-1)


@register_kl(Bernoulli, Bernoulli)
def of_coins(p: Bernoulli, q: Bernoulli) -> Tensor:
    """Sum p (log p - log q) over both sides."""
    zero, one = 1 - p.probs, p.probs
    return one * (one.log() - q.probs.log()) + zero * (zero.log() - (1 - q.probs).log())


@register_kl(Exponential, Exponential)
def of_exponentials(p: Exponential, q: Exponential) -> Tensor:
    """q/p - log(q/p) - 1 of the rates."""
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(Independent, Independent)
def of_independent(p: Independent, q: Independent) -> Tensor:
    """The sum over the axes of an event."""
    return p.summed(kl_divergence(p.base_dist, q.base_dist))
