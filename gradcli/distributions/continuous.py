"""Distributions of real numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..face.create import empty
from ..face.draw import exponential_, rand, randn, uniform_
from ..linalg import cholesky, solve_triangular
from ..tape.tensor import Tensor
from .distribution import Distribution, broadcast


class Symmetric(Distribution):
    """Densities of |x - loc| / scale."""

    parameters, positive, has_rsample = ("loc", "scale"), ("scale",), True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None):
        self.loc, self.scale = broadcast(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """loc."""
        return self.loc

    mode = mean


class Normal(Symmetric):
    """exp(-((x - loc) / scale)^2 / 2) / (scale sqrt(2 pi))."""

    @property
    def stddev(self) -> Tensor:
        """The scale."""
        return self.scale

    @property
    def variance(self) -> Tensor:
        """The scale squared."""
        return self.stddev.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Return loc + scale times standard normal numbers."""
        return self.loc + randn(*self._extended(sample_shape), dtype=self.loc.dtype) * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        return -((value - self.loc) ** 2) / (2 * self.scale**2) - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of less than a value."""
        return 0.5 * (1 + ((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)).erf())

    def icdf(self, value: Tensor) -> Tensor:
        """Return the value below which there is a probability."""
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self) -> Tensor:
        """Return the entropy in nats."""
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()


class Laplace(Symmetric):
    """exp(-|x - loc| / scale) / (2 scale)."""

    @property
    def variance(self) -> Tensor:
        """Twice the scale squared."""
        return 2 * self.scale.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Return loc - scale sign(u) log(1 - |u|), u uniform between -1 and 1."""
        u = empty(*self._extended(sample_shape), dtype=self.loc.dtype)
        limits = np.finfo(u.dtype.numpy)
        u = uniform_(u, float(limits.eps) - 1, 1)
        return self.loc - self.scale * u.sign() * (-u.abs().clamp(min=float(limits.tiny))).log1p()

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def entropy(self) -> Tensor:
        """Return the entropy in nats."""
        return 1 + (2 * self.scale).log()


class Uniform(Distribution):
    """1 / (high - low) from low to high."""

    parameters, has_rsample = ("low", "high"), True

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None):
        self.low, self.high = broadcast(low, high)
        super().__init__(self.low.shape)
        if validate_args is not False and not bool((self.low < self.high).all()):
            raise ValueError("Uniform is not defined when low>= high")

    @property
    def mean(self) -> Tensor:
        """The middle."""
        return (self.high + self.low) / 2

    @property
    def variance(self) -> Tensor:
        """The width squared over 12."""
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Return low + u (high - low)."""
        return self.low + rand(*self._extended(sample_shape), dtype=self.low.dtype) * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density, -inf outside."""
        inside = (self.low <= value).to(self.low.dtype) * (self.high > value).to(self.low.dtype)
        return inside.log() - (self.high - self.low).log()

    def entropy(self) -> Tensor:
        """Return the entropy in nats."""
        return (self.high - self.low).log()


class Exponential(Distribution):
    """rate exp(-rate x) for x >= 0."""

    parameters, positive, has_rsample = ("rate",), ("rate",), True

    def __init__(self, rate: Any, validate_args: bool | None = None):
        (self.rate,) = broadcast(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """1 / rate."""
        return self.rate.reciprocal()

    @property
    def variance(self) -> Tensor:
        """1 / rate^2."""
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Return exponential numbers over the rate."""
        return exponential_(empty(*self._extended(sample_shape), dtype=self.rate.dtype)) / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        return self.rate.log() - self.rate * value

    def entropy(self) -> Tensor:
        """Return the entropy in nats."""
        return 1.0 - self.rate.log()


class MultivariateNormal(Distribution):
    """Normal vectors of mean loc and covariance L L^T, given by covariance_matrix or scale_tril, L."""

    parameters, has_rsample = ("loc", "covariance_matrix", "scale_tril"), True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ):
        if (covariance_matrix is not None) + (scale_tril is not None) + (precision_matrix is not None) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        self.loc = loc
        if scale_tril is not None:
            self.scale_tril = self._factor = scale_tril
        elif covariance_matrix is not None:
            self.covariance_matrix, self._factor = covariance_matrix, cholesky(covariance_matrix)
        else:
            self._factor = cholesky(precision_matrix.inverse())  # type: ignore[union-attr]
        super().__init__(loc.shape[:-1], loc.shape[-1:])

    @property
    def mean(self) -> Tensor:
        """loc."""
        return self.loc

    mode = mean

    @property
    def variance(self) -> Tensor:
        """The diagonal of the covariance."""
        return self._factor.pow(2).sum(-1).expand(self.loc.shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Return loc + L times standard normal numbers."""
        eps = randn(*self._extended(sample_shape), dtype=self.loc.dtype)
        return self.loc + (self._factor @ eps.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        whitened = solve_triangular(self._factor, (value - self.loc).unsqueeze(-1), upper=False).squeeze(-1)
        return -0.5 * (self.loc.shape[-1] * math.log(2 * math.pi) + whitened.pow(2).sum(-1)) - self.log_volume()

    def log_volume(self) -> Tensor:
        """Return log det L."""
        return self._factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def entropy(self) -> Tensor:
        """Return the entropy in nats."""
        return 0.5 * self.loc.shape[-1] * (1.0 + math.log(2 * math.pi)) + self.log_volume()
