"""Custom functions, with forward and backward written by the user. A call is one node, which is also the `ctx`."""

from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import NotBatchableError, add_advice
from ..rules import entry
from ..rules.shapes import fit_to_shape
from .dtypes import imitation
from .hooks import innermost, pack_tensor
from .inplace import adopt_history, broadcasts, check_allowed, leaf_error
from .memory import mark_changed, next_seq
from .modes import enable_grad, no_grad, observers, state
from .node import USED_UP, Node, OutputNode, Packed, Rule, Slots, refusing_node, to_parents
from .record import cast_cotangent, outline, recorder
from .tensor import CUSTOM, Tensor, track_view
from .torch_errors import name_in_messages, text_of_change


class Saved:
    """A tensor kept by save_for_backward. place: its index if it is an output, else None. node: its node if not."""

    __slots__ = ("count", "node", "place", "tensor")

    def __init__(self, tensor: Tensor, place: int | None):
        self.place = place
        self.count = tensor._version
        self.node = tensor._node if place is None else None
        # keeping an output together with its node would make a reference cycle
        self.tensor: Any = tensor if place is None else Tensor._wrap(tensor._array(), None)
        packing = innermost()
        if packing is not None:
            self.tensor = pack_tensor(tensor, packing.hooks)


class FunctionNode(Node):
    """The node of one call, which is also the `ctx` of forward and backward."""

    nameless = False
    _function: Any
    _inputs: list
    needs_input_grad: tuple[bool, ...] = ()
    materialize_grads = True

    def __init__(self) -> None:
        self.seq = next_seq()
        self.hooks = None
        self.all_parents = ()
        self._to_save: tuple = ()
        self.all_kept = ()
        self._dirty: tuple = ()
        self._constant: tuple = ()
        self._own: set[int] = set()
        recorder().note(self)

    def save_for_backward(self, *tensors: Any) -> None:
        """Save tensors (or None) for backward, which reads them from `saved_tensors`."""
        for x in tensors:
            if x is not None and not isinstance(x, Tensor):
                raise TypeError(f"save_for_backward can only save Tensors and None, got {type(x).__name__}")
        self._to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Save tensors for jvp."""
        if not self._to_save:
            self.save_for_backward(*tensors)

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Declare inputs that forward changed in place; they must be outputs as well."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Declare outputs that have no gradient."""
        self._constant = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Choose whether backward gets zeros (True) or None for unused outputs."""
        self.materialize_grads = bool(value)

    @property
    def saved_tensors(self) -> tuple:
        """The tensors saved by save_for_backward. Raises RuntimeError if they were freed or changed in place."""
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
        if state.grad and id(tensor) not in self._own and tensor._node is None and is_differentiable(tensor):
            return guard_stashed(tensor, self, "saved by save_for_backward")
        return tensor

    def __repr__(self) -> str:
        text = super().__repr__()
        return text.replace("<", "<torch.autograd.function.", 1) if imitation.of_torch else text

    def standing_in(self, parents: tuple, wrap: Callable | None) -> Node:
        return self


class Function:
    """A differentiable function defined by static methods; call it through `apply`.

    forward(ctx, *args), or forward(*args) and setup_context(ctx, inputs, output); backward(ctx, *gradients) returns a
    gradient (or None) per argument of forward; jvp(ctx, *tangents) is optional, for forward mode. vmap calls the
    function once per point.
    """

    _backward_cls: type[FunctionNode]

    def __init_subclass__(cls, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        name = f"{cls.__name__}Backward"
        rule = Rule(name, to_parents(backward_of), saves=True)
        rule.used_up = rule  # backward may run again if it does not read saved tensors
        cls._backward_cls = type(name, (FunctionNode,), {"_function": cls, "_rule": rule})

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = type(self).__name__
        raise RuntimeError(f"call a custom Function as {name}.apply(...), not as {name}()(...)")

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        """Save what backward needs, if forward takes no ctx."""
        raise NotImplementedError("setup_context is not implemented")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Return the gradients of the inputs."""
        raise NotImplementedError(
            "You must implement the backward method for your custom autograd.Function to use it with backward mode AD."
        )

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        """Return the tangents of the outputs."""
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the function and record it."""
        if any(isinstance(x, Tensor) and x.record_level > 1 for x in args):
            raise NotBatchableError(f"{cls.__name__} computes one point at a time")
        return call(cls, args, kwargs)


def has_setup(cls: type) -> bool:
    return cls.setup_context is not Function.setup_context  # type: ignore[attr-defined]


def call(cls: Any, args: tuple, kwargs: dict) -> Any:
    """Run a Function's forward, and record a node if a gradient is wanted."""
    ctx = cls._backward_cls()
    ctx.rule = type(ctx)._rule
    if has_setup(cls):
        args = complete_arguments(cls.forward, args)
    parents = tuple(x._node if isinstance(x, Tensor) else None for x in args)
    wanted = state.grad and any(p is not None for p in parents)
    ctx.needs_input_grad = tuple(p is not None for p in parents)
    ctx._own = {id(x) for x in args if isinstance(x, Tensor)}
    with no_grad():
        if has_setup(cls):
            output = cls.forward(*args, **kwargs)
            cls.setup_context(ctx, args, output)
        else:
            output = cls.forward(ctx, *args, **kwargs)
    outputs = output if isinstance(output, tuple) else (output,)
    ctx.all_parents = parents
    ctx._inputs = [outline(x._data) if isinstance(x, Tensor) else None for x in args]
    results = finish_outputs(ctx, args, outputs, wanted)
    keep_saved(ctx, results, outputs)
    if wanted:
        for observer in observers:
            observer.see_call(ctx, cls, args)
    return tuple(results) if isinstance(output, tuple) else results[0]


def complete_arguments(forward: Any, args: tuple) -> tuple:
    """Add the defaults of omitted arguments. (inspect.signature would take a third of the time of a call.)"""
    plain = getattr(forward, "__func__", forward)
    code, defaults = getattr(plain, "__code__", None), getattr(plain, "__defaults__", None) or ()
    if code is None or not defaults:
        return args
    required = code.co_argcount - (plain is not forward) - len(defaults)
    return args if len(args) < required else (*args, *defaults[len(args) - required :])


def finish_outputs(ctx: Any, args: tuple, outputs: tuple, wanted: bool) -> list:
    dirty = find_changed_inputs(ctx, args, outputs, wanted)
    constant = {id(x) for x in ctx._constant}
    outlines = [outline(x._data) if isinstance(x, Tensor) else None for x in outputs]
    several = len(outputs) > 1
    ctx.outline = outlines if several else outlines[0]
    nodes = [OutputNode(ctx, i) for i in range(len(outputs))] if several else [ctx]
    ctx.output_nodes = tuple(map(weakref.ref, nodes)) if several else None
    results: list = []
    made: dict[int, Tensor] = {}  # an output returned twice is one tensor, with the last index
    for x, own in zip(outputs, nodes, strict=True):
        if not isinstance(x, Tensor):
            results.append(x)
            continue
        if id(x) in made:
            result = made[id(x)]
        elif id(x) in dirty:
            result = x
        elif any(y is x for y in args):
            result = alias(x)
        else:
            result = x if x._node is None else Tensor._wrap(x._data, None)
        made[id(x)] = result
        if result._base is not None and state.grad and id(x) not in dirty:
            result._origin = CUSTOM
        node = own if wanted and id(x) not in constant and is_differentiable(x) else None
        if id(x) in dirty:
            if wanted:
                x._grad = None  # it belonged to the old value
                adopt_history(x, node)
        elif result._node is not node:  # the node of a tensor under vmap cannot be set
            result._node = node
        results.append(result)
    return results


def find_changed_inputs(ctx: Any, args: tuple, outputs: tuple, wanted: bool) -> set[int]:
    """Return the ids of inputs that forward changed in place. Raises RuntimeError if that is not allowed."""
    changed = set()
    for x in ctx._dirty:
        mark_changed(x._array())
        if not any(x is y for y in outputs):
            raise RuntimeError(
                f"{ctx.name()}: Some elements marked as dirty during the forward method were not returned as output. "
                "The inputs that are modified inplace must all be outputs of the Function."
            )
        if not any(x is y for y in args):
            continue  # forward made this tensor itself
        if wanted:
            if x._node is not None and x._node.leaf:
                raise leaf_error("a leaf Variable", "has been")
            check_allowed(x)
        changed.add(id(x))
    if wanted and any(np.may_share_memory(x._data, y._data) for x, y in itertools.combinations(ctx._dirty, 2)):
        raise RuntimeError(f"{ctx.name()}: inputs that are modified inplace must not overlap in memory: clone() one")
    return changed


def alias(x: Tensor) -> Tensor:
    view = Tensor._wrap(x._array(), None)
    track_view(view, x, entry("reshape"), {"shape": x._data.shape})
    return view


def keep_saved(ctx: Any, results: list, outputs: tuple) -> None:
    saved: list[Saved | None] = []
    for x in ctx._to_save:
        if x is None:
            saved.append(None)
            continue
        place = next((i for i, y in enumerate(outputs) if y is x), None)
        if place is not None and results[place]._node is None:
            ctx._own.add(id(x))
            place = None
        saved.append(Saved(x if place is None else results[place], place))
    ctx.all_kept, ctx._to_save = tuple(saved), ()


def backward_of(ctx: Any, g: Any) -> tuple:
    return call_backward(ctx, [g.get(i) for i in range(ctx.output_count)] if isinstance(g, Slots) else [g])


def barrier(x: Tensor, message: str, parents: tuple) -> Tensor:
    """Return the same values with a new node that has these parents and raises RuntimeError in backward."""
    return Tensor._wrap(x._data, refusing_node((x._data.shape, x._data.dtype), message, parents))


def is_differentiable(x: Tensor) -> bool:
    return x._data.dtype.kind in "fcO"


def guard_stashed(x: Tensor, ctx: FunctionNode, how: str) -> Tensor:
    """Guard a tensor that forward computed without recording: differentiating through it raises an error."""
    message = (
        f"{ctx.name()}: backward uses a tensor that forward computed (shape {list(x.shape)}, {how}). "
        "Its derivative was not recorded, so second derivatives would be silently wrong: return it as an "
        "output, or compute it again in backward from saved inputs and outputs"
    )
    return barrier(x, message, ctx.all_parents)


def call_backward(ctx: Any, given: list) -> tuple:
    """Call the user's backward on the outputs' cotangents, or for each element of a batch of them."""
    create = any(isinstance(x, Tensor) for x in given)
    known = next(i for i, x in enumerate(given) if x is not None)
    if given[known].ndim > len(ctx.outlines[known][0]):
        rows = [call_backward(ctx, [x if x is None else x[k] for x in given]) for k in range(len(given[known]))]
        stack = entry("stack").function if create else np.stack
        return tuple(None if all(x is None for x in part) else stack(list(part)) for part in zip(*rows, strict=True))
    tensors = [cotangent_or_zeros(ctx, outline, x) for outline, x in zip(ctx.outlines, given, strict=True)]
    hidden = hide_stashed(ctx) if create else {}
    try:
        grads = ctx._function.backward(ctx, *tensors)
    finally:
        for name, x in hidden.items():
            setattr(ctx, name, x)
    return check_backward_result(ctx, grads, create)


def cotangent_or_zeros(ctx: Any, outline: tuple | None, g: Any) -> Any:
    """Return the argument of the user's backward for one output: a Tensor, zeros, or None."""
    if g is None:
        if outline is None or not ctx.materialize_grads:
            return None
        return Tensor._wrap(np.zeros(*outline), None)
    return g if isinstance(g, Tensor) else Tensor._wrap(g, None)


def hide_stashed(ctx: Any) -> dict:
    """Replace tensors that forward stashed on ctx by barriers; return the originals."""
    hidden = {}
    for name, x in list(ctx.__dict__.items()):
        if isinstance(x, Tensor) and x._node is None and id(x) not in ctx._own and is_differentiable(x):
            hidden[name] = x
            setattr(ctx, name, guard_stashed(x, ctx, f"stashed as ctx.{name}"))
    return hidden


def check_backward_result(ctx: Any, grads: Any, create: bool) -> tuple:
    """Convert the user's gradients to the engine's form. Raises RuntimeError if their number or a type is wrong."""
    returned = list(grads) if isinstance(grads, tuple | list) else [grads]
    wanted = len(ctx.all_parents)
    while len(returned) > wanted and returned[-1] is None:
        returned.pop()
    if len(returned) != wanted:
        counts = f"(expected {wanted}, got {len(returned)})"
        raise RuntimeError(f"function {ctx.name()} returned an incorrect number of gradients {counts}")
    for i, (g, shape_and_type) in enumerate(zip(returned, ctx._inputs, strict=True)):
        if g is not None and shape_and_type is None:
            raise RuntimeError(
                f"function {ctx.name()} returned a gradient different from None at position {i + 1}, but the "
                "corresponding forward input was not a Tensor"
            )
        is_wanted = g is not None and ctx.all_parents[i] is not None
        returned[i] = fit_gradient(ctx, i, g, shape_and_type, create) if is_wanted else None
    return tuple(returned)


def fit_gradient(ctx: Any, i: int, g: Any, outline: tuple, create: bool) -> Any:
    if not isinstance(g, Tensor):
        failure = RuntimeError(f"expected Variable or None (got {type(g).__name__})")
        raise add_advice(failure, f"backward of {ctx.name()} must return Tensors or None; see its result at index {i}")
    shape, dtype = outline
    given = tuple(g.shape)
    if given != shape:
        if not broadcasts(shape, given):
            raise RuntimeError(
                f"Function {ctx.name()} returned an invalid gradient at index {i} - got {list(given)} but expected "
                f"shape compatible with {list(shape)}"
            )
        g = fit_to_shape(g, shape, len(given))
    g = cast_cotangent(g, dtype)
    return g if create else g._data


TWICE = "trying to differentiate twice a function that was marked with @once_differentiable"


def once_differentiable(function: Callable, message: str = TWICE) -> Callable:
    """Mark a backward whose result must not be differentiated again. Doing so raises RuntimeError."""

    @functools.wraps(function)
    def wrapper(ctx: Any, *grads: Any) -> Any:
        create = state.grad
        with no_grad():
            result = function(ctx, *grads)
        if not create or (imitation.of_torch and not any(getattr(g, "requires_grad", False) for g in grads)):
            return result
        parts = result if isinstance(result, tuple) else (result,)
        parents = (*ctx.all_parents, *(g._node for g in grads if isinstance(g, Tensor)))
        guarded = tuple(
            barrier(x, message, parents) if isinstance(x, Tensor) and is_differentiable(x) else x for x in parts
        )
        return guarded if isinstance(result, tuple) else guarded[0]

    return wrapper


def push_tangents(ctx: Any, tangents: list) -> Any:
    """Return the outputs' tangents from the user's jvp, or None if there is no jvp."""
    if ctx._function.jvp is Function.jvp:
        return None
    given = [None if t is None else t if isinstance(t, Tensor) else Tensor._wrap(t, None) for t in tangents]
    with enable_grad() if state.grad else no_grad():
        result = ctx._function.jvp(ctx, *given)
    return list(result) if isinstance(result, tuple) else result


FunctionCtx = BackwardCFunction = FunctionNode
"""PyTorch's names for the `ctx` of a Function."""
