"""Identity: one node that the gradients of several tensors pass unchanged, so that hooks see them together."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from ...rules import entry
from ...tape.node import Node, OutputNode, Slots, new_node
from ...tape.record import outline
from ...tape.rule import Rule, to_parents
from ...tape.tensor import Tensor
from ...tape.views import track_view


def pass_unchanged(node: Node, g: Slots) -> tuple:
    """Hand every cotangent on as it came, None where there is none."""
    return tuple([g.get(i) for i in range(len(node.parents))])


IDENTITY = Rule("BackwardHookFunctionBackward", to_parents(pass_unchanged))


def record_identity(tensors: Sequence[Tensor]) -> tuple[list[Tensor], Node]:
    """Return the tensors again, each as a view of the given one, and the one node behind all of them.

    All must require grad. Being views, the results may be changed in place: the gradient stays right.
    """
    node = new_node(IDENTITY, tuple(x._node for x in tensors), (), [outline(x._data) for x in tensors])
    outputs = [OutputNode(node, i) for i in range(len(tensors))]
    node.output_nodes = tuple(weakref.ref(output) for output in outputs)
    results = []
    for x, output in zip(tensors, outputs, strict=True):
        view = Tensor._wrap(x._array(), output)
        track_view(view, x, entry("reshape"), {"shape": tuple(x.shape)})
        results.append(view)
    return results, node


def is_recorded(x: Any) -> bool:
    """Return whether something is a tensor that can be passed on: one of the graph itself that requires grad."""
    return isinstance(x, Tensor) and x.record_level == 1 and x._node is not None
