"""Weights divided by a norm before each call of a module, the old way: by a hook."""

from __future__ import annotations

import warnings
from typing import Any

from ...face.draw import randn
from ...tape.facade import as_one
from ...tape.modes import no_grad
from ...tape.parameter import Parameter
from ...tape.tensor import Tensor
from .. import functional
from ..modules.module import Module


def norm_except_dim(x: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """Return the norms over all axes but one, which keep their places with length 1; dim -1: over all axes."""
    if dim == -1:
        return x.norm(pow)
    axes = tuple(i for i in range(x.ndim) if i != dim % x.ndim)
    return (x.abs() ** pow).sum(axes, keepdim=True) ** (1 / pow) if pow != 2 else x.norm(2, axes, keepdim=True)


def of_length(v: Tensor, g: Tensor, dim: int) -> Tensor:
    """Return g v / |v|."""
    found = v * (g / norm_except_dim(v, 2, dim))
    return as_one("WeightNormInterface(v, g)", found, {"v": v, "g": g})


def flat(weight: Tensor, dim: int) -> Tensor:
    """Return a weight as a matrix whose rows are those of axis `dim`."""
    return weight.movedim(dim, 0).reshape(weight.shape[dim], -1)


def random_unit(matrix: Tensor, axis: int, eps: float) -> Tensor:
    """Return a random vector of length 1."""
    return functional.normalize(randn(matrix.shape[axis], dtype=matrix.dtype), dim=0, eps=eps)


def power_iteration(matrix: Tensor, u: Tensor, v: Tensor, count: int, eps: float) -> None:
    """Move u and v towards the singular vectors of the largest singular value."""
    with no_grad():
        for _ in range(count):
            u.copy_(functional.normalize(matrix.mv(v), dim=0, eps=eps))
            v.copy_(functional.normalize(matrix.mT.mv(u), dim=0, eps=eps))


class Recomputed:
    """A forward pre-hook that computes a weight from what replaced it."""

    parts: tuple[str, ...] = ()

    def __init__(self, name: str):
        self.name = name

    def compute(self, module: Any) -> Tensor:
        """Return the weight."""
        raise NotImplementedError

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute(module))


class WeightNorm(Recomputed):
    """w = g v / |v| (Salimans and Kingma 2016)."""

    parts = ("_g", "_v")

    def __init__(self, name: str, dim: int):
        super().__init__(name)
        self.dim = dim

    def compute(self, module: Any) -> Tensor:
        """Return the weight."""
        return of_length(getattr(module, f"{self.name}_v"), getattr(module, f"{self.name}_g"), self.dim)


class SpectralNorm(Recomputed):
    """W / sigma, sigma from power iterations, which go on in training (Miyato et al. 2018)."""

    parts = ("_orig", "_u", "_v")

    def __init__(self, name: str, count: int, dim: int, eps: float):
        super().__init__(name)
        self.n_power_iterations, self.dim, self.eps = count, dim, eps

    def compute(self, module: Any, count: int | None = None) -> Tensor:
        """Return the weight."""
        weight, u, v = (getattr(module, f"{self.name}{part}") for part in self.parts)
        matrix = flat(weight, self.dim)
        if module.training:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(functional.normalize(matrix.detach().mT.mv(u), dim=0, eps=self.eps))
                    u.copy_(functional.normalize(matrix.detach().mv(v), dim=0, eps=self.eps))
            u, v = u.clone(), v.clone()
        return weight / u.dot(matrix.mv(v))


def installed(module: Module, hook: Recomputed, *parts: Tensor) -> Module:
    """Replace a module's parameter by parts, and compute it before each call."""
    if any(isinstance(h, type(hook)) and h.name == hook.name for h in module._forward_pre_hooks.values()):
        raise RuntimeError(f"Cannot register two {type(hook).__name__} hooks on the same parameter {hook.name}")
    del module._parameters[hook.name]
    for suffix, part in zip(hook.parts, parts, strict=True):
        register: Any = module.register_parameter if isinstance(part, Parameter) else module.register_buffer
        register(hook.name + suffix, part)
    setattr(module, hook.name, hook.compute(module))
    module.register_forward_pre_hook(hook)
    return module


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Split a parameter into its lengths, name_g, and its directions, name_v."""
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    hook = WeightNorm(name, -1 if dim is None else dim)
    weight = getattr(module, name)
    lengths = norm_except_dim(weight.detach(), 2, hook.dim)
    return installed(module, hook, Parameter(lengths), Parameter(weight.detach()))


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a parameter by its largest singular value; name_orig is what is trained."""
    if n_power_iterations <= 0:
        raise ValueError(
            f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
        )
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    weight = getattr(module, name)
    matrix = flat(weight.detach(), dim)
    u, v = random_unit(matrix, 0, eps), random_unit(matrix, 1, eps)
    return installed(module, SpectralNorm(name, n_power_iterations, dim, eps), weight, u, v)


def remove(module: Module, name: str, kind: type[Recomputed]) -> Module:
    """Make a weight that is recomputed a parameter again, with the value that it has."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and hook.name == name:
            with no_grad():
                value = hook.compute(module).detach()
            delattr(module, name)
            for suffix in hook.parts:
                delattr(module, name + suffix)
            del module._forward_pre_hooks[key]
            module.register_parameter(name, Parameter(value))
            return module
    raise ValueError(f"{kind.__name__} of '{name}' not found in {module}")


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Take weight_norm away."""
    return remove(module, name, WeightNorm)


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Take spectral_norm away."""
    return remove(module, name, SpectralNorm)


__all__ = ["remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"]
