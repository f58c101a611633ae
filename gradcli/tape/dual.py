"""Leaves that stand for the primal part of dual numbers: recorded for tangents, not for gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from .leaf import AccumulateGrad


class duals:  # noqa: N801 - a namespace
    """Whether there were dual numbers yet, and the function that tells a tensor's tangent, if it has one."""

    ever = False
    tangent_of: Any = None


class DualLeaf(AccumulateGrad):
    """The node of a dual number whose primal part does not require grad; nobody is told of it."""

    __slots__ = ()
    listeners: ClassVar[list[Callable[[Any], None]]] = []


def hidden(node: Any) -> bool:
    """Return whether a graph was recorded for the sake of tangents only."""
    from .plan import reachable

    return all(type(found) is DualLeaf for found in reachable([node]) if found.leaf)


__all__ = ["DualLeaf", "duals", "hidden"]
