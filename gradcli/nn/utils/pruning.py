"""The hook that holds a part of a parameter at zero, and several of them on one parameter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from ...tape.tensor import Tensor
from ..modules.module import Module


class BasePruningMethod(ABC):
    """A forward pre-hook that masks one parameter; derived classes define compute_mask and PRUNING_TYPE.

    PRUNING_TYPE says what a further pruning of the same parameter sees: only the elements that are left
    ("unstructured"), only the channels along `dim` of which something is left ("structured"), or all ("global").
    """

    _tensor_name: str
    PRUNING_TYPE: str

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask for a tensor, 0 where default_mask is, and where else to prune."""

    def apply_mask(self, module: Any) -> Tensor:
        """Return the parameter with zeros where the mask has them."""
        orig = getattr(module, f"{self._tensor_name}_orig")
        return getattr(module, f"{self._tensor_name}_mask").to(orig.dtype) * orig

    @classmethod
    def apply(cls, module: Module, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any) -> Any:
        """Prune a parameter from now on, on top of what pruned it before, and return the hook.

        The rest of the arguments are those of the class. importance_scores: what to compute the mask from instead
        of the parameter, of its shape. Raises AssertionError for another shape; a module whose mask cannot be
        computed stays as it was.
        """
        earlier = {key: hook for key, hook in module._forward_pre_hooks.items() if is_pruning(hook, name)}
        if len(earlier) > 1:
            raise AssertionError(
                f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. "
                "Use a PruningContainer."
            )
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        tensor = getattr(module, name)
        what = f"parameter {name} of {module}"
        scores = scores_like(tensor, importance_scores, what)
        if earlier:
            mask = further_mask(method, scores, getattr(module, f"{name}_mask").detach())
            ((key, before),) = earlier.items()
            container = before if isinstance(before, PruningContainer) else PruningContainer(before)
            container.add_pruning_method(method)
            del module._forward_pre_hooks[key]
            method = container
        else:
            mask = method.compute_mask(scores, default_mask=tensor.new_ones(tensor.shape))
            module.register_parameter(f"{name}_orig", tensor)
            del module._parameters[name]
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Any = None, importance_scores: Any = None) -> Tensor:
        """Return a tensor pruned, on top of a mask if one is given; nothing is registered."""
        scores = scores_like(t, importance_scores, "tensor t")
        return t * self.compute_mask(
            scores, default_mask=t.new_ones(t.shape) if default_mask is None else default_mask
        )

    def remove(self, module: Any) -> None:
        """Make what is left of the parameter the parameter; the hook stays registered."""
        name, value = self._tensor_name, self.apply_mask(module)
        orig = module._parameters[f"{name}_orig"]
        orig.data = value.detach()
        for gone in (name, f"{name}_orig", f"{name}_mask"):
            delattr(module, gone)
        setattr(module, name, orig)


def is_pruning(hook: Any, name: str | None = None) -> bool:
    """Return whether a hook prunes a parameter, or the one of a name."""
    return isinstance(hook, BasePruningMethod) and name in (None, hook._tensor_name)


def scores_like(t: Tensor, scores: Any, what: str) -> Tensor:
    """Return scores, or the tensor itself where there are none. Raises AssertionError for another shape."""
    if scores is not None and scores.shape != t.shape:
        raise AssertionError(
            f"importance_scores should have the same shape as {what}, got {scores.shape} vs {t.shape}"
        )
    return t if scores is None else scores


def further_mask(method: Any, t: Tensor, mask: Tensor) -> Tensor:
    """Return a mask with more zeros, for which a method sees only what its PRUNING_TYPE leaves it."""
    if method.PRUNING_TYPE == "unstructured":
        part: Any = mask == 1
    elif method.PRUNING_TYPE == "structured":
        if not hasattr(method, "dim"):
            raise AttributeError(
                'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.'
            )
        dim = method.dim if method.dim >= 0 else method.dim + t.ndim
        if dim < 0:
            raise IndexError(f"Index is out of bounds for tensor with dimensions {t.ndim}")
        part = (slice(None),) * dim + (mask.movedim(dim, 0).reshape(mask.shape[dim], -1).sum(1) != 0,)
    elif method.PRUNING_TYPE == "global":
        part = ...
    else:
        raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
    found = mask.to(t.dtype, copy=True)
    found[part] = method.compute_mask(t[part], default_mask=mask[part]).to(t.dtype)
    return found


class PruningContainer(BasePruningMethod):
    """Methods that prune one parameter one after another."""

    def __init__(self, *args: Any):
        self._pruning_methods: tuple[Any, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a method. Raises TypeError for anything else, ValueError for a method for another parameter."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to "
                f"PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask of the latest method, on top of the one so far."""
        return further_mask(self._pruning_methods[-1], t, default_mask)


__all__ = ["BasePruningMethod", "PruningContainer", "further_mask", "is_pruning"]
