"""Parameters of which a part is held at zero: weight = weight_mask * weight_orig before each call of a module."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

from ...face.draw import rand
from ...face.wrap import missing
from ...tape.tensor import Tensor
from ..modules.module import Module
from .convert_parameters import parameters_to_vector
from .pruning import BasePruningMethod, PruningContainer, further_mask, is_pruning

for kind in (BasePruningMethod, PruningContainer):
    kind.__module__ = __name__


class Identity(BasePruningMethod):
    """Prunes nothing."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask so far."""
        return default_mask


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask that is given."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor):
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return both masks' product. Raises AssertionError for different shapes."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            )
        return default_mask * self.mask.to(default_mask.dtype)


class Lowest(BasePruningMethod):
    """Prunes the elements with the lowest scores: `amount` of them, or that share of them where it is a float.

    Raises TypeError for an amount that is no number, ValueError for one that is out of range.
    """

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: Any):
        if not isinstance(amount, Real):
            raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
        if float(amount) < 0 or (float(amount) > 1 and not isinstance(amount, Integral)):
            raise ValueError(
                f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer"
            )
        self.amount = amount

    def count(self, size: int) -> int:
        """Return how many of so many to prune. Raises ValueError for more than there are."""
        if not isinstance(self.amount, Integral):
            return round(float(self.amount) * size)
        if int(self.amount) > size:
            raise ValueError(f"amount={self.amount} should be smaller than the number of parameters to prune={size}")
        return int(self.amount)

    @abstractmethod
    def scores(self, t: Tensor) -> Tensor:
        """Return a score for each element, or for each channel."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask with zeros at the lowest scores."""
        count = self.count(t.numel())
        mask = default_mask.clone()
        if count:
            mask.view(-1)[self.scores(t).reshape(-1).topk(count, largest=False).indices] = 0
        return mask


class RandomUnstructured(Lowest):
    """Prunes elements at random."""

    def scores(self, t: Tensor) -> Tensor:
        """Return random numbers, negative ones, so that PyTorch prunes the same elements: the largest."""
        return -rand(*t.shape, dtype=t.dtype)


class L1Unstructured(Lowest):
    """Prunes the elements of the lowest absolute values."""

    def scores(self, t: Tensor) -> Tensor:
        """Return absolute values."""
        return t.abs()

    @classmethod
    def apply(cls, module: Any, name: str, amount: Any, importance_scores: Any = None) -> Any:  # type: ignore
        """Prune a parameter; see BasePruningMethod.apply."""
        return super().apply(module, name, amount, importance_scores=importance_scores)


class LowestChannels(Lowest):
    """Prunes the channels along an axis that have the lowest scores.

    Raises ValueError for tensors of less than two axes, IndexError for an axis that there is not.
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1):
        super().__init__(amount)
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask with zeros in the channels of the lowest scores."""
        if t.ndim < 2:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                f"{t.shape} with {t.ndim} dims"
            )
        if self.dim >= t.ndim:
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        size = t.shape[self.dim]
        count = self.count(size)
        if not count:
            return default_mask
        kept = t.new_zeros(size)
        kept[self.scores(t).topk(size - count).indices] = 1
        return default_mask.to(t.dtype) * kept.reshape(-1, *[1] * (t.ndim - 1 - self.dim % t.ndim))


class RandomStructured(LowestChannels):
    """Prunes channels at random."""

    def scores(self, t: Tensor) -> Tensor:
        """Return random numbers."""
        return rand(t.shape[self.dim])


class LnStructured(LowestChannels):
    """Prunes the channels of the lowest norms; n is the order of the norm."""

    def __init__(self, amount: Any, n: Any, dim: int = -1):
        super().__init__(amount, dim)
        self.n = n

    def scores(self, t: Tensor) -> Tensor:
        """Return the norms."""
        return t.norm(self.n, [i for i in range(t.ndim) if i != self.dim % t.ndim])

    @classmethod
    def apply(cls, module: Any, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None) -> Any:  # type: ignore
        """Prune a parameter; see BasePruningMethod.apply."""
        return super().apply(module, name, amount, n, dim, importance_scores=importance_scores)


def identity(module: Any, name: str) -> Any:
    """Give a parameter a mask of ones, and return the module, as all of the functions here do."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: Any) -> Any:
    """Prune elements at random; amount: how many, or as a float which share of them."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Any, name: str, amount: Any, importance_scores: Any = None) -> Any:
    """Prune the elements of the lowest absolute values, of the parameter or of scores of its shape."""
    L1Unstructured.apply(module, name, amount, importance_scores)
    return module


def random_structured(module: Any, name: str, amount: Any, dim: int) -> Any:
    """Prune channels along an axis at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Any, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None) -> Any:
    """Prune the channels along an axis that have the lowest n-norms."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Tensor) -> Any:
    """Prune where a mask is zero."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Any, str]], pruning_method: Any, importance_scores: Any = None, **kwargs: Any
) -> None:
    """Prune several parameters, given as (module, name), as if they were one.

    pruning_method: an unstructured one, called with the rest of the arguments. importance_scores: by
    (module, name), where the parameter itself is not to be the score. Raises TypeError for anything else.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    given = {} if importance_scores is None else importance_scores
    if not isinstance(given, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. '
            f"Found method {pruning_method} of type {method.PRUNING_TYPE}"
        )
    places = list(parameters)
    tensors = [getattr(module, name) for module, name in places]
    scores = [given.get(place, x) for place, x in zip(places, tensors, strict=True)]
    masks = [getattr(m, f"{name}_mask", x.new_ones(x.shape)) for (m, name), x in zip(places, tensors, strict=True)]
    mask = further_mask(method, parameters_to_vector(scores), parameters_to_vector(masks))
    parts = mask.split([x.numel() for x in tensors])
    for (module, name), x, part in zip(places, tensors, parts, strict=True):
        custom_from_mask(module, name, part.view_as(x))


def remove(module: Any, name: str) -> Any:
    """Make what is left of a parameter the parameter, for good. Raises ValueError for one that is not pruned."""
    for key, hook in module._forward_pre_hooks.items():
        if is_pruning(hook, name):
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Return whether a parameter of a module, or of a module in it, is pruned."""
    return any(is_pruning(hook) for part in module.modules() for hook in part._forward_pre_hooks.values())


__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]
__getattr__ = missing(__name__, lambda: __all__)
