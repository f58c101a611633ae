"""Hooks that see the gradients of several tensors together."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from .edges import get_gradient_edge, node_of
from .hooks import RemovableHandle
from .modes import state
from .tensor import Tensor


class ManyHandles(RemovableHandle):
    """The handles of hooks that were registered as one."""

    def __init__(self, handles: Sequence[RemovableHandle]):
        super().__init__(OrderedDict())
        self.handles = tuple(handles)

    def remove(self) -> None:
        """Take all the hooks away."""
        for handle in self.handles:
            handle.remove()


class Gathering:
    """The gradients that one backward pass has brought so far."""

    def __init__(self, count: int):
        self.plan: Any = None
        self.count = count

    def start(self, plan: Any) -> bool:
        """Return whether this is the first call in a backward pass."""
        first = self.plan is not plan
        if first:
            self.plan = plan
            self.grads: list = [None] * self.count
            self.missing = -1
        return first


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable, *, mode: str = "all") -> RemovableHandle:
    """Call fn(gradients) once the gradients of all tensors that backward reaches are there, None for the others.

    With mode="any", call fn(gradient) with the first one that comes. Raises ValueError for another mode.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    nodes = [node_of(get_gradient_edge(x)) for x in tensors]
    gathering = Gathering(len(nodes))

    def hook_of(i: int) -> Callable:
        def hook(grad: Any) -> None:
            plan = state.plan
            first = gathering.start(plan)
            if mode == "any":
                if first:
                    fn(grad)
                return
            if first:
                reached = plan.reached()
                gathering.missing = sum(node in reached for node in nodes)
            gathering.grads[i] = grad
            gathering.missing -= 1
            if gathering.missing == 0:
                fn(gathering.grads)
                gathering.plan = None

        return hook

    return ManyHandles([x.register_hook(hook_of(i)) for i, x in enumerate(tensors)])


__all__ = ["register_multi_grad_hook"]
