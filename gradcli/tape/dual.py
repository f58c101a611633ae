"""Leaves that stand for the primal part of dual numbers: recorded for tangents, not for gradients."""

from __future__ import annotations

import weakref
from typing import Any

from .leaf import ACCUMULATE, AccumulateGrad
from .node import next_seq


class duals:  # noqa: N801 - a namespace
    """Whether there were dual numbers yet, and the function that tells a tensor's tangent, if it has one."""

    ever = False
    tangent_of: Any = None


class DualLeaf(AccumulateGrad):
    """The node of a dual number whose primal part does not require grad; nobody is told of it."""

    __slots__ = ()

    def __init__(self, tensor: Any):
        self.seq = next_seq()
        self.p = self.x = ()
        self.rule = ACCUMULATE
        self.hooks = None
        self.tensor_ref = weakref.ref(tensor)
        self.data = tensor._data
        duals.ever = True


def hidden(node: Any) -> bool:
    """Return whether a graph was recorded for the sake of tangents only."""
    from .plan import reachable

    return all(type(found) is DualLeaf for found in reachable([node]) if found.leaf)


__all__ = ["DualLeaf", "duals", "hidden"]
