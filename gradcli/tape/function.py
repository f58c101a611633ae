"""Custom functions: a forward and a backward pass written by the user, as one node of the graph."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..rules.shapes import fit
from . import versions
from .modes import enable_grad, no_grad, state
from .node import FREED, MANY, Node, OutputNode, Rule, Slots, next_seq
from .tensor import Tensor

watchers: list[Callable[[Any, type, tuple], None]] = []
"""Called with (node, Function class, arguments) for every recorded call of a custom function."""


SLOT_NAMES = ("p", "q", "x", "y", "out")
"""Names of a node's slots, which a custom function's node leaves to its user: `ctx.x = ...`."""


class Saved:
    """A tensor kept by save_for_backward. place: which output it is, None for anything else."""

    __slots__ = ("count", "place", "tensor")

    def __init__(self, tensor: Tensor, place: int | None, stashed: bool):
        self.place = place
        self.count = tensor._version
        # an output is kept without its node, which would be a reference cycle
        self.tensor = tensor if place is None else Tensor._wrap(tensor._data, None)


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

    def set_materialize_grads(self, value: bool) -> None:
        """Say whether backward gets zeros (True) or None for outputs that nothing used."""
        self.materialize_grads = bool(value)

    @property
    def saved_tensors(self) -> tuple:
        """What save_for_backward kept. Raises RuntimeError when it was freed, or changed in place since."""
        if self._freed:
            raise RuntimeError(FREED)
        return tuple(None if s is None else self._unpacked(s) for s in self._kept)

    @property
    def saved_variables(self) -> tuple:
        """The old name of saved_tensors."""
        return self.saved_tensors

    def _unpacked(self, saved: Saved) -> Tensor:
        tensor = saved.tensor
        if tensor._version != saved.count:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: a "
                f"tensor of shape {list(tensor.shape)} that {self.name()} saved is at version {tensor._version}; "
                f"expected version {saved.count} instead"
            )
        if saved.place is not None:
            return Tensor._wrap(tensor._data, self._output_nodes[saved.place])
        if state.grad and id(tensor) not in self._own and tensor._node is None and differentiable(tensor):
            return stashed(tensor, self, "saved by save_for_backward")
        return tensor

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


def barrier(x: Tensor, message: str, parents: tuple) -> Tensor:
    """Return the same numbers with a node that leads to `parents`, through which backward raises RuntimeError."""

    def refuse(node: Node, g: Any) -> tuple:
        raise RuntimeError(message)

    node = Node()
    node.seq = next_seq()
    node.rule = Rule("Error", MANY, refuse, False)
    node.hooks = None
    node.p, node.x = parents, ()
    node.y = (x._data.shape, x._data.dtype)
    return Tensor._wrap(x._data, node)


class Function:
    """A differentiable function defined by static methods.

    forward(ctx, *args), or forward(*args) and setup_context(ctx, inputs, output); backward(ctx, *gradients) returns a
    gradient (or None) per argument of forward. Call it through `apply`. jvp(ctx, *tangents) serves forward mode,
    vmap(info, in_dims, *args) batching; both are optional.
    """

    generate_vmap_rule = False

    def __init__(self, *args: Any, **kwargs: Any):
        raise RuntimeError(
            f"{type(self).__name__} is not to be instantiated: make forward and backward static methods and call "
            f"{type(self).__name__}.apply(...)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        """Save for backward what it needs, when forward takes no ctx."""
        raise NotImplementedError("setup_context is not implemented")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Return the gradients of the inputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        """Return the tangents of the outputs."""
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the function and record it."""
        batched = next((x for x in args if isinstance(x, Tensor) and x.record_level > 1), None)
        if batched is not None:
            return batched.apply_function(cls, args)
        return call(cls, args, kwargs)


@functools.cache
def node_class(function: type) -> type[FunctionNode]:
    """Return the class of a Function's nodes, named as PyTorch names it."""
    name = f"{function.__name__}Backward"
    kind = type(name, (FunctionNode,), {"_function": function, "_rule": Rule(name, MANY, run_backward, True)})
    return kind


def has_setup(cls: type) -> bool:
    """Return whether a Function is written with setup_context."""
    return cls.setup_context is not Function.setup_context  # type: ignore[attr-defined]


def call(cls: Any, args: tuple, kwargs: dict) -> Any:
    """Run a Function's forward, and leave a node behind where a gradient is wanted."""
    ctx = node_class(cls)()
    ctx.rule = type(ctx)._rule  # type: ignore[attr-defined]
    parents = tuple(x._node if isinstance(x, Tensor) else None for x in args)
    wanted = state.grad and any(p is not None for p in parents)
    ctx.needs_input_grad = tuple(p is not None for p in parents)
    ctx._own = {id(x) for x in args if isinstance(x, Tensor)}
    before = [x._version if isinstance(x, Tensor) else 0 for x in args]
    with no_grad():
        if has_setup(cls):
            output = cls.forward(*args, **kwargs)
            cls.setup_context(ctx, args, output)
        else:
            output = cls.forward(ctx, *args, **kwargs)
    outputs = output if isinstance(output, tuple) else (output,)
    ctx._parents = parents
    ctx._inputs = [(x._data.shape, x._data.dtype) if isinstance(x, Tensor) else None for x in args]
    results = finished(ctx, args, outputs, wanted, before)
    keep(ctx, args, results, outputs)
    if wanted:
        for watch in watchers:
            watch(ctx, cls, args)
    return tuple(results) if isinstance(output, tuple) else results[0]


def finished(ctx: Any, args: tuple, outputs: tuple, wanted: bool, before: list) -> list:
    """Return the outputs with their place in the graph."""
    dirty = {id(x) for x in ctx._dirty}
    for x in ctx._dirty:
        if not any(x is y for y in outputs):
            raise RuntimeError(f"{ctx.name()}: a tensor that mark_dirty names must be an output of forward")
        if wanted and x._node is not None and x._node.leaf:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        if wanted and x._base is not None:
            raise RuntimeError(
                f"{ctx.name()}: a view cannot be changed in place by a custom function; clone() it first"
            )
    constant = {id(x) for x in ctx._constant}
    places = [i for i, x in enumerate(outputs) if isinstance(x, Tensor)]
    ctx._outlines = [(x._data.shape, x._data.dtype) if isinstance(x, Tensor) else None for x in outputs]
    ctx._output_nodes = [None] * len(outputs)
    ctx._several = len(outputs) > 1
    results: list = []
    for i, x in enumerate(outputs):
        if not isinstance(x, Tensor):
            results.append(x)
            continue
        place = next((k for k, y in enumerate(args) if y is x), None)
        if place is not None and id(x) in dirty:
            result = x
            if x._version == before[place] and isinstance(x._data, np.ndarray):
                versions.mark_changed(x._data)
        else:
            result = Tensor._wrap(x._data, None) if place is not None or x._node is not None else x
        if wanted and id(x) not in constant and differentiable(x):
            node = ctx if len(places) == 1 and len(outputs) == 1 else OutputNode(ctx, i)
            result._node = ctx._output_nodes[i] = node
        elif result is not x or id(x) in constant:
            result._node = None
        results.append(result)
    return results


def keep(ctx: Any, args: tuple, results: list, outputs: tuple) -> None:
    """Take over what save_for_backward was given."""
    found: list[Saved | None] = []
    for x in ctx._to_save:
        if x is None:
            found.append(None)
            continue
        place = next((i for i, y in enumerate(outputs) if y is x), None)
        if place is not None and ctx._output_nodes[place] is None:
            ctx._own.add(id(x))
            place = None
        found.append(Saved(x, place, id(x) not in ctx._own))
    ctx._kept, ctx._to_save = tuple(found), ()


# -- backward ---------------------------------------------------------------------------------------------


def run_backward(ctx: Any, g: Any) -> tuple:
    """Call the user's backward on the cotangents of the outputs."""
    if ctx._freed:
        raise RuntimeError(FREED)
    several = isinstance(g, Slots)
    given = [g.get(i) for i in range(len(ctx._outlines))] if several else [g]
    create = any(isinstance(x, Tensor) for x in given)
    known = next(i for i, x in enumerate(given) if x is not None)
    extra = given[known].ndim - len(ctx._outlines[known][0])
    if extra:
        return one_by_one(ctx, given, several, create)
    tensors = [cotangent(ctx, i, x) for i, x in enumerate(given)]
    hidden = hide_stashed(ctx) if create else {}
    try:
        function = ctx._function
        method = function.backward if function.backward is not Function.backward else function.vjp
        grads = method(ctx, *tensors)
    finally:
        for name, x in hidden.items():
            setattr(ctx, name, x)
    return checked(ctx, grads, create)


def cotangent(ctx: Any, i: int, g: Any) -> Any:
    """Return what backward gets for one output: a Tensor, zeros, or None."""
    outline = ctx._outlines[i]
    if g is None:
        if outline is None or not ctx.materialize_grads:
            return None
        return Tensor._wrap(np.zeros(*outline), None)
    return g if isinstance(g, Tensor) else Tensor._wrap(g, None)


def hide_stashed(ctx: Any) -> dict:
    """Put barriers in place of tensors that forward stashed on ctx; return what was there."""
    found = {}
    for name in [*ctx.__dict__, *SLOT_NAMES]:
        x = getattr(ctx, name, None)
        if isinstance(x, Tensor) and x._node is None and id(x) not in ctx._own and differentiable(x):
            found[name] = x
            setattr(ctx, name, stashed(x, ctx, f"stashed as ctx.{name}"))
    return found


def one_by_one(ctx: Any, given: list, several: bool, create: bool) -> tuple:
    """Run backward for every cotangent of a batch, and stack the results."""
    count = next(x.shape[0] for x in given if x is not None)
    rows = []
    for k in range(count):
        parts = [None if x is None else x[k] for x in given]
        rows.append(
            run_backward(ctx, Slots((i, x) for i, x in enumerate(parts) if x is not None) if several else parts[0])
        )
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


def checked(ctx: Any, grads: Any, create: bool) -> tuple:
    """Return the user's gradients as the engine carries them. Raises RuntimeError for a wrong number or shape."""
    found = list(grads) if isinstance(grads, tuple | list) else [grads]
    wanted = len(ctx._parents)
    while len(found) > wanted and found[-1] is None:
        found.pop()
    if len(found) != wanted:
        raise RuntimeError(
            f"function {ctx.name()} returned an incorrect number of gradients (expected {wanted}, got {len(found)})"
        )
    result: list = []
    for i, (g, outline) in enumerate(zip(found, ctx._inputs, strict=True)):
        if g is None or ctx._parents[i] is None:
            if g is not None and outline is None:
                raise RuntimeError(
                    f"function {ctx.name()} returned a gradient different from None at position {i + 1}, but the "
                    "corresponding forward input was not a Tensor"
                )
            result.append(None)
            continue
        result.append(fitted(ctx, i, g, outline, create))
    return tuple(result)


def fitted(ctx: Any, i: int, g: Any, outline: tuple, create: bool) -> Any:
    """Return one gradient in the shape and type of its input."""
    if not isinstance(g, Tensor):
        raise TypeError(f"function {ctx.name()} must return Tensors and None, got {type(g).__name__} at position {i}")
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


def once_differentiable(function: Callable) -> Callable:
    """Mark a backward whose result must not be differentiated again: doing so raises RuntimeError."""

    @functools.wraps(function)
    def wrapper(ctx: Any, *grads: Any) -> Any:
        create = state.grad
        with no_grad():
            result = function(ctx, *grads)
        if not create:
            return result
        message = "trying to differentiate twice a function that was marked with @once_differentiable"
        parts = result if isinstance(result, tuple) else (result,)
        parents = (*ctx._parents, *(g._node for g in grads if isinstance(g, Tensor)))
        guarded = tuple(
            barrier(x, message, parents) if isinstance(x, Tensor) and differentiable(x) else x for x in parts
        )
        return guarded if isinstance(result, tuple) else guarded[0]

    return wrapper


# -- forward mode -------------------------------------------------------------------------------------------


def push_tangents(ctx: Any, tangents: list) -> Any:
    """Return the tangents of the outputs by the user's jvp; None where there is none."""
    if ctx._function.jvp is Function.jvp:
        return None
    given = [None if t is None else t if isinstance(t, Tensor) else Tensor._wrap(t, None) for t in tangents]
    with enable_grad() if state.grad else no_grad():
        result = ctx._function.jvp(ctx, *given)
    return list(result) if isinstance(result, tuple) else result
