"""Probability distributions with the names and arguments of torch.distributions."""

from __future__ import annotations

from ..face.wrap import missing
from .continuous import Exponential, Laplace, MultivariateNormal, Normal, Uniform
from .discrete import Bernoulli, Categorical
from .distribution import Distribution, Independent
from .divergence import kl_divergence, register_kl

__all__ = [
    "Bernoulli",
    "Categorical",
    "Distribution",
    "Exponential",
    "Independent",
    "Laplace",
    "MultivariateNormal",
    "Normal",
    "Uniform",
    "kl_divergence",
    "register_kl",
]
__getattr__ = missing(__name__, lambda: __all__)
