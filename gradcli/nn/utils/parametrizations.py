"""Parametrizations for common use: lengths apart from directions, matrices of norm 1, and orthogonal ones."""

from __future__ import annotations

from typing import Any

from ...face.wrap import missing
from ...tape.modes import no_grad
from ...tape.tensor import Tensor
from .. import functional
from ..modules.module import Module
from .norms import flat, norm_except_dim, of_length, power_iteration, random_unit
from .orthogonal import orthogonal
from .parametrize import register_parametrization


class _WeightNorm(Module):
    """w = g v / |v|, the norm taken over all axes but one (Salimans and Kingma 2016)."""

    def __init__(self, dim: int | None = 0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        """Return w."""
        return of_length(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Return g and v."""
        return norm_except_dim(weight, 2, self.dim), weight


class _SpectralNorm(Module):
    """W / sigma, sigma the largest singular value, from power iterations (Miyato et al. 2018)."""

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12):
        super().__init__()
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim, self.eps, self.n_power_iterations = dim % max(weight.ndim, 1), eps, n_power_iterations
        if weight.ndim > 1:
            matrix = flat(weight.detach(), self.dim)
            self.register_buffer("_u", random_unit(matrix, 0, eps))
            self.register_buffer("_v", random_unit(matrix, 1, eps))
            power_iteration(matrix, self._u, self._v, 15, eps)

    def forward(self, weight: Tensor) -> Tensor:
        """Return the matrix over its norm; u and v move on in training."""
        if weight.ndim == 1:
            return functional.normalize(weight, dim=0, eps=self.eps)
        matrix = flat(weight, self.dim)
        if self.training:
            power_iteration(matrix.detach(), self._u, self._v, self.n_power_iterations, self.eps)
        u, v = self._u.clone(), self._v.clone()
        return weight / u.dot(matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """Return the value itself: it is taken to have norm 1."""
        return value


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Any:
    """Split a tensor into its lengths, original0, and its directions, original1."""
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Divide a tensor by its largest singular value."""
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    with no_grad():
        part = _SpectralNorm(weight, n_power_iterations, dim, eps)
    return register_parametrization(module, name, part)


__all__ = ["orthogonal", "spectral_norm", "weight_norm"]
__getattr__ = missing(__name__, lambda: __all__)
