"""Dual numbers: tensors that carry a tangent, which every operation on them hands on.

What is computed with a dual number is recorded; its tangent is pushed through that graph when it is asked for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..rules import entry
from ..tape.dual import DualLeaf, duals, hidden
from ..tape.function import Function, watchers
from ..tape.modes import enable_grad, record_in_this_thread, state
from ..tape.node import Node, labelled
from ..tape.tensor import Tensor
from .batched import active
from .forward import Forward, tensor


class UnpackedDualTensor(NamedTuple):
    """The parts of a dual number; tangent is None for tensors that are none."""

    primal: Tensor
    tangent: Tensor | None


class dual_level:  # noqa: N801 - PyTorch's name
    """A context for dual numbers: their tangents are forgotten at its end. There can be one at a time."""

    current: dual_level | None = None

    def __init__(self) -> None:
        self.tangents: dict[Node, Tensor] = {}
        self.none: set[Node] = set()

    def __enter__(self) -> int:
        if dual_level.current is not None:
            raise RuntimeError("Nested forward mode AD is not supported at the moment")
        self.recorded = state.grad
        record_in_this_thread(True)
        dual_level.current = self
        watchers.append(self.watch)
        return 0

    def __exit__(self, *_: Any) -> None:
        if dual_level.current is not self:
            raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created.")
        dual_level.current = None
        watchers.remove(self.watch)
        record_in_this_thread(self.recorded)

    def watch(self, node: Any, function: Any, args: tuple) -> None:
        """Push tangents through a custom function that has its own way to do it, as soon as it was called."""
        if function.jvp is not Function.jvp and not node._several:
            self.tangent_of(node)

    def tangent_of(self, node: Node | None) -> Tensor | None:
        """Return the tangent of what a node made; None if it does not depend on a dual number."""
        if node is None or not self.tangents:
            return None
        if node not in self.tangents and node not in self.none:
            create = any(t._node is not None for t in self.tangents.values()) or (self.recorded and not hidden(node))
            seeds = self.tangents if create else {n: t._data for n, t in self.tangents.items()}
            found = Forward(False, create).push([node], seeds)
            if node in found:
                self.tangents[node] = self.plain(tensor(found[node]))
            else:
                self.none.add(node)
        return self.tangents.get(node)

    def plain(self, part: Tensor) -> Tensor:
        """Note that a part of a dual number is no dual number, though it was computed from some."""
        if part._node is not None and part._node not in self.tangents:
            self.none.add(part._node)
        return part


def enter_dual_level() -> int:
    """Begin a level; what dual_level does in a with statement."""
    return dual_level().__enter__()


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level. Raises RuntimeError when there is none."""
    if dual_level.current is None:
        raise RuntimeError("Trying to exit a forward AD level but none is active")
    dual_level.current.__exit__()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """Return a dual number of the given parts, which share their memory with it.

    Raises RuntimeError outside a level or for parts of different shapes, ValueError for whole numbers.
    """
    current = dual_level.current
    if current is None:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first."
        )
    for part, word in ((tensor, "primal"), (tangent, "tangent")):
        if not (part.dtype.is_floating_point or part.dtype.is_complex):
            raise ValueError(f"Expected {word} to be floating point or complex, but got: {part.dtype}")
    if active.levels:
        raise RuntimeError("dual numbers cannot be made inside vmap; use gradcli.func.jvp there")
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is "
            f"not supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )
    if tensor._node is None:
        dual = Tensor._wrap(tensor._data, None)
        dual._node = DualLeaf(dual)
    else:
        with enable_grad():
            dual = labelled(entry("alias").function(tensor), "ViewBackward0")
    duals.ever, duals.tangent_of = True, shown_tangent
    current.tangents[dual._node] = tangent
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Return (primal, tangent) of a dual number; the tangent of other tensors is None."""
    current = dual_level.current
    tangent = None if current is None else current.tangent_of(tensor._node)
    if tangent is None or current is None:
        return UnpackedDualTensor(tensor, None)
    if hidden(tensor._node):
        return UnpackedDualTensor(tensor.detach(), tangent)
    with enable_grad():
        primal = current.plain(labelled(entry("alias").function(tensor), "Identity"))
    return UnpackedDualTensor(primal, tangent)


def shown_tangent(x: Tensor) -> Tensor | None:
    """Return the tangent that a tensor prints."""
    return None if dual_level.current is None else dual_level.current.tangent_of(x._node)


__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]
