"""The node of one call of a custom function, which is also its `ctx`, and hooks on what is saved for backward."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import add_advice
from ..rules.shapes import fit
from .dtypes import naming
from .hooks import table_of
from .memory import name_in_messages, next_seq, separate, text_of_change
from .modes import no_grad, state
from .node import USED_UP, Node, OutputNode, Packed, Slots, is_array, refusing_node
from .record import Mode, begin, end, recorder
from .tensor import Tensor

Hooks = tuple[Callable[[Tensor], Any], Callable[[Any], Tensor]]


class _Stack(threading.local):
    """The pairs of hooks in force in this thread, the innermost last."""

    def __init__(self) -> None:
        self.pairs: list[tuple[Hooks, Packing]] = []


stack = _Stack()


class Packing(Mode):
    """Records nodes whose saved arrays go through the hooks in force.

    Such a node counts as one with hooks, so that backward unpacks what it saved.
    """

    def make_node(self, primitive: Any, nodes: tuple, out: Any, raws: list, params: dict) -> Node:
        """Return the node of a computed result. The last operand is packed first, as PyTorch does."""
        node = self.below.make_node(primitive, nodes, out, raws, params)
        hooks = hooks_of()
        if hooks is not None and stack.pairs[-1][1] is self:
            pairs = list(zip(node.kept, (node, *nodes), strict=True))
            node.kept = tuple([pack(x, parent, hooks) for x, parent in pairs[::-1]][::-1])
            table_of(node).packed = True
        return node


def hooks_of() -> Hooks | None:
    """Return the hooks in force in this thread."""
    return stack.pairs[-1][0] if stack.pairs else None


def pack_tensor(tensor: Tensor, hooks: Hooks) -> Packed:
    """Return a tensor packed. Raises RuntimeError when the hook changes it in place."""
    pack_hook, unpack_hook = hooks
    before = tensor._version
    with no_grad():
        content = pack_hook(tensor)
    if tensor._version != before:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot "
            "be modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if "
            "you need to perform in-place operations on the input to a pack hook."
        )
    return Packed(content, lambda content: unpacked_data(unpack_hook, content))


def unpacked_data(unpack_hook: Callable[[Any], Any], content: Any) -> Any:
    """Return the raw data that an unpack hook gives back. Raises TypeError when it returns no Tensor."""
    with no_grad():
        tensor = unpack_hook(content)
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(tensor).__name__}"
        )
    data = tensor._data
    return separate(data) if isinstance(data, np.ndarray) else data


def pack(x: Any, node: Any, hooks: Hooks) -> Any:
    """Return a saved value packed if it is an array; shapes and Python numbers stay as they are.

    node: of the operand or the result that x is the data of.
    """
    if type(x) is tuple and x and all(is_array(part) for part in x):
        return tuple([pack(part, None, hooks) for part in x])
    if not is_array(x):
        return x
    if node is not None and node.leaf and node.variable._data is x:
        return pack_tensor(node.variable, hooks)
    return pack_tensor(Tensor._wrap(x, node), hooks)


class saved_tensors_hooks:  # noqa: N801 - PyTorch's name
    """A context in which pack_hook(tensor) runs for every tensor saved for backward.

    Its result is kept instead; unpack_hook of it gives the tensor back when it is needed. Of nested contexts
    the innermost counts.
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]):
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        packing = Packing()
        stack.pairs.append(((self.pack_hook, self.unpack_hook), packing))
        begin(packing)

    def __exit__(self, *_: Any) -> None:
        if stack.pairs:
            end(stack.pairs.pop()[1])


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
            self.tensor = pack_tensor(tensor, hooks)


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
        self.all_parents = ()
        self._to_save: tuple = ()
        self.all_kept = ()
        self._dirty: tuple = ()
        self._constant: tuple = ()
        self._own: set[int] = set()
        self.origin = None
        recorder().note(self)

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
        if self.all_kept is None:
            raise RuntimeError(USED_UP)
        return tuple(None if s is None else self._unpack(s) for s in self.all_kept)

    def _unpack(self, saved: Saved) -> Tensor:
        tensor = saved.tensor
        node = saved.node if saved.place is None else self.output(saved.place)
        if type(tensor) is Packed:
            return Tensor._wrap(tensor.unpack(tensor.content), node)
        if tensor._version != saved.count:
            name = "" if tensor.grad_fn is None else tensor.grad_fn.name()
            origin = f", which is output {tensor.output_nr} of {name_in_messages(name)}," if name else ""
            raise RuntimeError(text_of_change(tensor.dtype, tensor.shape, origin, tensor._version, saved.count))
        if saved.place is not None:
            return Tensor._wrap(tensor._data, node)
        if state.grad and id(tensor) not in self._own and tensor._node is None and differentiable(tensor):
            return guard_stashed(tensor, self, "saved by save_for_backward")
        return tensor

    def __repr__(self) -> str:
        text = super().__repr__()
        return text.replace("<", "<torch.autograd.function.", 1) if naming.addresses else text

    def apply(self, *grads: Tensor) -> Any:
        """Return what the user's backward makes of gradients."""
        return self._function.backward(self, *grads)

    # -- what the engine calls ---------------------------------------------------------------------------

    @property
    def outline(self) -> Any:
        """Shape and type of the result, a list of them for several."""
        return self._outlines if self._several else self._outlines[0]

    @property
    def output_count(self) -> int:
        return len(self._outlines)

    def output(self, place: int) -> Node:
        if not self._several:
            return self
        reference = self._output_nodes[place]
        return (reference and reference()) or OutputNode(self, place)

    @property
    def public(self) -> Node:
        return self

    def standing_in(self, parents: tuple, wrap: Callable | None) -> Node:
        return self

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


def barrier(x: Tensor, message: str, parents: tuple) -> Tensor:
    """Return the same numbers with a node that leads to `parents`, through which backward raises RuntimeError."""
    return Tensor._wrap(x._data, refusing_node((x._data.shape, x._data.dtype), message, parents))


def differentiable(x: Tensor) -> bool:
    """Return whether a tensor's type can have a gradient."""
    return x._data.dtype.kind in "fcO"


def guard_stashed(x: Tensor, ctx: FunctionNode, how: str) -> Tensor:
    """Return a tensor that forward computed without recording, so that differentiating through it is noticed."""
    return barrier(
        x,
        f"{ctx.name()}: backward uses a tensor of shape {list(x.shape)}, {how}, that forward computed. "
        "Its own derivative was not recorded, so second derivatives would silently be wrong: return it as an "
        "output, or compute it again in backward from saved inputs and outputs",
        ctx.all_parents,
    )


def run_backward(ctx: Any, g: Any, method: Any) -> tuple:
    """Call `method`, the user's backward, on the cotangents of the outputs."""
    several = isinstance(g, Slots)
    given = [g.get(i) for i in range(len(ctx._outlines))] if several else [g]
    create = any(isinstance(x, Tensor) for x in given)
    known = next(i for i, x in enumerate(given) if x is not None)
    extra = given[known].ndim - len(ctx._outlines[known][0])
    if extra:
        return one_by_one(ctx, given, several, create, method)
    tensors = [cotangent(ctx, i, x) for i, x in enumerate(given)]
    hidden = hide_stashed(ctx) if create else {}
    try:
        grads = method(ctx, *tensors)
    finally:
        for name, x in hidden.items():
            setattr(ctx, name, x)
    return check_gradients(ctx, grads, create)


def cotangent(ctx: Any, i: int, g: Any) -> Any:
    """Return what backward gets for one output: a Tensor, zeros, or None."""
    outline = ctx._outlines[i]
    if g is None:
        if outline is None or not ctx.materialize_grads:
            return None
        if i in ctx._constant_places and not ctx._materialize_non_diff_grads:
            return None
        return Tensor._wrap(np.zeros(*outline), None)
    return g if isinstance(g, Tensor) else Tensor._wrap(g, None)


def hide_stashed(ctx: Any) -> dict:
    """Put barriers in place of tensors that forward stashed on ctx; return what was there."""
    hidden = {}
    for name, x in list(ctx.__dict__.items()):
        if isinstance(x, Tensor) and x._node is None and id(x) not in ctx._own and differentiable(x):
            hidden[name] = x
            setattr(ctx, name, guard_stashed(x, ctx, f"stashed as ctx.{name}"))
    return hidden


def one_by_one(ctx: Any, given: list, several: bool, create: bool, method: Any) -> tuple:
    """Run backward for every cotangent of a batch, and stack the results."""
    count = next(x.shape[0] for x in given if x is not None)
    rows = []
    for k in range(count):
        parts = [None if x is None else x[k] for x in given]
        row = Slots((i, x) for i, x in enumerate(parts) if x is not None) if several else parts[0]
        rows.append(run_backward(ctx, row, method))
    stacked: list = []
    for column in zip(*rows, strict=True):
        if all(x is None for x in column):
            stacked.append(None)
        elif create:
            from ..rules import entry

            stacked.append(entry("stack").function(list(column)))
        else:
            stacked.append(np.stack(column))
    return tuple(stacked)


def check_gradients(ctx: Any, grads: Any, create: bool) -> tuple:
    """Return the user's gradients as the engine carries them. Raises RuntimeError for a wrong number or shape."""
    returned = list(grads) if isinstance(grads, tuple | list) else [grads]
    wanted = len(ctx.all_parents)
    while len(returned) > wanted and returned[-1] is None:
        returned.pop()
    if len(returned) != wanted:
        raise RuntimeError(
            f"function {ctx.name()} returned an incorrect number of gradients (expected {wanted}, got {len(returned)})"
        )
    result: list = []
    for i, (g, outline) in enumerate(zip(returned, ctx._inputs, strict=True)):
        if g is None or ctx.all_parents[i] is None:
            if g is not None and outline is None:
                raise RuntimeError(
                    f"function {ctx.name()} returned a gradient different from None at position {i + 1}, but the "
                    "corresponding forward input was not a Tensor"
                )
            result.append(None)
            continue
        result.append(fit_gradient(ctx, i, g, outline, create))
    return tuple(result)


def fit_gradient(ctx: Any, i: int, g: Any, outline: tuple, create: bool) -> Any:
    """Return one gradient in the shape and type of its input."""
    if not isinstance(g, Tensor):
        raise add_advice(
            RuntimeError(f"expected Variable or None (got {type(g).__name__})"),
            f"backward of {ctx.name()} must return Tensors and None; this is at position {i}",
        )
    shape, dtype = outline
    given = tuple(g.shape)
    if given != shape:
        try:
            wide = np.broadcast_shapes(given, shape) == given
        except ValueError:
            wide = False
        if not wide:
            raise RuntimeError(
                f"Function {ctx.name()} returned an invalid gradient at index {i} - got {list(given)} but expected "
                f"shape compatible with {list(shape)}"
            )
        g = fit(g, shape, len(given))
    if g._data.dtype != dtype:
        if g._data.dtype.kind == "c" and dtype.kind != "c":
            g = g.real
        g = g.to(dtype)
    return g if create else g._data


FunctionCtx = BackwardCFunction = FunctionNode
"""PyTorch's names of what `forward` and `backward` of a Function are given."""
