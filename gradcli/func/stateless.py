"""Modules as functions of their parameters, and several modules as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..face.join import stack
from ..tape.tensor import Tensor
from .functional_call import functional_call


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return the parameters and the buffers of modules of one class by name, each stacked to one leaf."""
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    params = [dict(m.named_parameters()) for m in models]
    buffers = [dict(m.named_buffers()) for m in models]
    return tuple({name: stacked([p[name] for p in parts]) for name in parts[0]} for parts in (params, buffers))  # type: ignore[return-value]


def stacked(tensors: list[Tensor]) -> Tensor:
    """Return tensors stacked to one leaf, which requires grad as they do."""
    wanted = {x.requires_grad for x in tensors}
    if len(wanted) > 1:
        raise RuntimeError(f"Expected {tensors} to either all require grad or not")
    return stack(tensors).detach().requires_grad_(wanted == {True})


def make_functional_with_buffers(
    model: Any, disable_autograd_tracking: bool = False
) -> tuple[Callable, tuple, tuple]:
    """Return (function(params, buffers, *inputs), params, buffers); functional_call has taken its place."""
    names = [n for n, _ in model.named_parameters()], [n for n, _ in model.named_buffers()]
    params = tuple(p.detach().requires_grad_(not disable_autograd_tracking) for p in model.parameters())

    def function(params: tuple, buffers: tuple, *args: Any, **kwargs: Any) -> Any:
        given = zip((*names[0], *names[1]), (*params, *buffers), strict=True)
        return functional_call(model, dict(given), args, kwargs)

    return function, params, tuple(model.buffers())


def make_functional(model: Any, disable_autograd_tracking: bool = False) -> tuple[Callable, tuple]:
    """Return (function(params, *inputs), params) of a module without buffers."""
    function, params, _ = make_functional_with_buffers(model, disable_autograd_tracking)
    return lambda params, *args, **kwargs: function(params, (), *args, **kwargs), params


__all__ = ["make_functional", "make_functional_with_buffers", "stack_module_state"]
