"""torch.autograd.graph: nodes and edges of the graph, and hooks on what it saves."""

from __future__ import annotations

from collections.abc import Iterable

from ..tape.edges import GradientEdge, get_gradient_edge
from ..tape.node import Node
from ..tape.saved_hooks import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks
from ..tape.tensor import Tensor
from ..tape.versions import mark_changed


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Note that the memory of tensors was changed in place by other means."""
    for x in [tensor] if isinstance(tensor, Tensor) else tensor:
        mark_changed(x._array())


__all__ = [
    "GradientEdge",
    "Node",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "save_on_cpu",
    "saved_tensors_hooks",
]
