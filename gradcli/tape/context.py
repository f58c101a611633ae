"""The node of one call of a custom function, which is also the `ctx` that its methods share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .barrier import barrier
from .dtypes import naming
from .kinds import active, caller
from .modes import state
from .node import FREED, Node, OutputNode, next_seq
from .packing import Packed, hooks_of, packed
from .tensor import Tensor
from .versions import changed_text, spoken

SLOT_NAMES = ("p", "q", "x", "y", "out")
"""Names of a node's slots, which a custom function's node leaves to its user: `ctx.x = ...`."""


class Saved:
    """A tensor kept by save_for_backward. place: which output it is, None for anything else; node: its node."""

    __slots__ = ("count", "node", "place", "tensor")

    def __init__(self, tensor: Tensor, place: int | None):
        self.place = place
        self.count = tensor._version
        self.node = tensor._node if place is None else None
        # an output is kept without its node, which would be a reference cycle
        self.tensor: Any = tensor if place is None else Tensor._wrap(tensor._array(), None)
        hooks = hooks_of()
        if hooks is not None:
            self.tensor = packed(tensor, hooks)


class FunctionNode(Node):
    """The node of one call, and the `ctx` that forward and backward share."""

    leaf = False
    _function: Any
    _inputs: list
    _output_nodes: list
    _outlines: list
    _several = False
    needs_input_grad: tuple[bool, ...] = ()
    materialize_grads = True
    _materialize_non_diff_grads = True

    def __init__(self) -> None:
        self.seq = next_seq()
        self.hooks = None
        self._freed = False
        self._parents: tuple = ()
        self._to_save: tuple = ()
        self._kept: tuple = ()
        self._dirty: tuple = ()
        self._constant: tuple = ()
        self._own: set[int] = set()
        if active.traced:
            self.made_at = caller()
            self.made_by = state.running

    # -- what the user calls ---------------------------------------------------------------------------

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors (or None) for backward, where `saved_tensors` gives them."""
        for x in tensors:
            if x is not None and not isinstance(x, Tensor):
                raise TypeError(f"save_for_backward can only save Tensors and None, got {type(x).__name__}")
        self._to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for jvp."""
        if not self._to_save:
            self.save_for_backward(*tensors)

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Tell that forward changed these inputs in place; they must be outputs as well."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Tell that these outputs have no gradient."""
        self._constant = tensors

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Do nothing: memory shared by inputs and outputs is found without being told."""

    def set_materialize_grads(self, value: bool) -> None:
        """Say whether backward gets zeros (True) or None for outputs that nothing used."""
        self.materialize_grads = bool(value)

    @property
    def saved_tensors(self) -> tuple:
        """What save_for_backward kept. Raises RuntimeError when it was freed, or changed in place since."""
        if self._freed:
            raise RuntimeError(FREED)
        return tuple(None if s is None else self._unpacked(s) for s in self._kept)

    def _unpacked(self, saved: Saved) -> Tensor:
        tensor = saved.tensor
        node = saved.node if saved.place is None else self.output(saved.place)
        if type(tensor) is Packed:
            return Tensor._wrap(tensor.open(), node)
        if tensor._version != saved.count:
            name = "" if tensor.grad_fn is None else tensor.grad_fn.name()
            origin = f", which is output {tensor.output_nr} of {spoken(name)}," if name else ""
            raise RuntimeError(changed_text(tensor.dtype, tensor.shape, origin, tensor._version, saved.count))
        if saved.place is not None:
            return Tensor._wrap(tensor._data, node)
        if state.grad and id(tensor) not in self._own and tensor._node is None and differentiable(tensor):
            return stashed(tensor, self, "saved by save_for_backward")
        return tensor

    def __repr__(self) -> str:
        text = super().__repr__()
        return text.replace("<", "<torch.autograd.function.", 1) if naming.addresses else text

    def apply(self, *grads: Tensor) -> Any:
        """Return what the user's backward makes of gradients."""
        return self._function.backward(self, *grads)

    # -- what the engine calls ---------------------------------------------------------------------------

    @property
    def parents(self) -> tuple:
        """The parent of each argument, None where no gradient is wanted."""
        return self._parents

    @property
    def saved(self) -> tuple:
        """Nothing that the engine itself looks after."""
        return ()

    @property
    def outline(self) -> Any:
        """Shape and type of the result, a list of them for several."""
        return self._outlines if self._several else self._outlines[0]

    @property
    def output_count(self) -> int:
        """How many outputs forward returned."""
        return len(self._outlines)

    def output(self, place: int) -> Node:
        """Return the node of one output."""
        if not self._several:
            return self
        reference = self._output_nodes[place]
        return (reference and reference()) or OutputNode(self, place)

    @property
    def public(self) -> Node:
        """The node itself: users see it as grad_fn, and as ctx."""
        return self

    def standing_in(self, parents: tuple, wrap: Callable | None) -> Node:
        """Return the node itself: it has no copies."""
        return self

    def release(self) -> None:
        """Let go of what was saved."""
        self._freed = True
        self._kept = ()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


def differentiable(x: Tensor) -> bool:
    """Return whether a tensor's type can have a gradient."""
    return x._data.dtype.kind in "fcO"


def stashed(x: Tensor, ctx: FunctionNode, how: str) -> Tensor:
    """Return a tensor that forward computed without recording, so that differentiating through it is noticed."""
    return barrier(
        x,
        f"{ctx.name()}: backward uses a tensor of shape {list(x.shape)}, {how}, that forward computed. "
        "Its own derivative was not recorded, so second derivatives would silently be wrong: return it as an "
        "output, or compute it again in backward from saved inputs and outputs",
        ctx._parents,
    )
