"""Custom functions: a forward and a backward pass written by the user, as one node of the graph."""

from __future__ import annotations

import functools
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from ..rules import entry
from .function_node import FunctionNode, Saved, barrier, differentiable, run_backward
from .inplace import adopt_history, check_allowed, leaf_error
from .memory import CUSTOM, SEVERAL, mark_changed, track_view
from .modes import allowed, enable_grad, no_grad, observers, state
from .node import OutputNode, Rule, to_parents
from .tensor import Tensor


class Function:
    """A differentiable function defined by static methods.

    forward(ctx, *args), or forward(*args) and setup_context(ctx, inputs, output); backward(ctx, *gradients) returns a
    gradient (or None) per argument of forward. Call it through `apply`. jvp(ctx, *tangents) serves forward mode,
    vmap(info, in_dims, *args) batching; both are optional.
    """

    generate_vmap_rule = False
    _backward_cls: type[FunctionNode]

    def __init_subclass__(cls, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        name = f"{cls.__name__}Backward"
        rule = Rule(name, to_parents(backward_of), saves=True)
        rule.used_up = rule  # it may run again, as long as it does not ask for what was saved
        cls._backward_cls = type(name, (FunctionNode,), {"_function": cls, "_rule": rule})

    def __init__(self, *args: Any, **kwargs: Any):
        warnings.warn(
            f"{type(self).__name__} should not be instantiated: its methods are static, and it is called through "
            f"{type(self).__name__}.apply(...)",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse what PyTorch allowed long ago."""
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
            "function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
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

    @staticmethod
    def vmap(info: Any, in_dims: tuple, *args: Any) -> Any:
        """Return the outputs for batched arguments, and the places of their batch axes."""
        raise NotImplementedError("vmap is not implemented for this Function: see 'vmap' of autograd.Function")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the function and record it."""
        batched = next((x for x in args if isinstance(x, Tensor) and x.record_level > 1), None)
        if batched is not None:
            return batched.apply_function(cls, args)
        return call(cls, args, kwargs)


def has_setup(cls: type) -> bool:
    """Return whether a Function is written with setup_context."""
    return cls.setup_context is not Function.setup_context  # type: ignore[attr-defined]


def call(cls: Any, args: tuple, kwargs: dict) -> Any:
    """Run a Function's forward, and leave a node behind where a gradient is wanted."""
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
    ctx._inputs = [(x._data.shape, x._data.dtype) if isinstance(x, Tensor) else None for x in args]
    results = finish_outputs(ctx, args, outputs, wanted)
    keep(ctx, results, outputs)
    if wanted:
        for observer in observers:
            observer.see_call(ctx, cls, args)
    return tuple(results) if isinstance(output, tuple) else results[0]


def complete_arguments(forward: Any, args: tuple) -> tuple:
    """Return positional arguments with the default values of those that were left out."""
    plain = getattr(forward, "__func__", forward)
    code, defaults = getattr(plain, "__code__", None), getattr(plain, "__defaults__", None) or ()
    if code is None or not defaults:
        return args
    required = code.co_argcount - (plain is not forward) - len(defaults)
    return args if len(args) < required else (*args, *defaults[len(args) - required :])


def finish_outputs(ctx: Any, args: tuple, outputs: tuple, wanted: bool) -> list:
    """Return the outputs with their place in the graph."""
    dirty = find_changed_inputs(ctx, args, outputs, wanted)
    constant = {id(x) for x in ctx._constant}
    ctx._outlines = [(x._data.shape, x._data.dtype) if isinstance(x, Tensor) else None for x in outputs]
    ctx._constant_places = {i for i, x in enumerate(outputs) if id(x) in constant}
    ctx._output_nodes = [None] * len(outputs)
    ctx._several = len(outputs) > 1
    made: dict[int, Any] = {}  # what is returned twice is one tensor, and counts as the last
    results: list = []
    for i, x in enumerate(outputs):
        if not isinstance(x, Tensor):
            results.append(x)
            continue
        result = made.get(id(x))
        if result is None:
            result = made[id(x)] = output_tensor(x, any(y is x for y in args), id(x) in dirty)
            if result._base is not None and state.grad and id(x) not in dirty:
                result._origin = (SEVERAL if len(outputs) > 1 else CUSTOM, i)
        node = None
        if wanted and id(x) not in constant and differentiable(x):
            node = OutputNode(ctx, i) if ctx._several else ctx
            ctx._output_nodes[i] = weakref.ref(node)
        if id(x) in dirty and result is x:
            if wanted:
                x._grad = None  # it was that of another value
                adopt_history(x, node)
        elif node is not None or result is not x or id(x) in constant:
            result._node = node
        results.append(result)
    return results


def find_changed_inputs(ctx: Any, args: tuple, outputs: tuple, wanted: bool) -> set[int]:
    """Return the ids of what forward changed in place. Raises RuntimeError where that is not allowed."""
    changed = set()
    for x in ctx._dirty:
        mark_changed(x._array())
        if not any(x is y for y in outputs):
            raise RuntimeError(
                f"{ctx.name()}: Some elements marked as dirty during the forward method were not returned as output. "
                "The inputs that are modified inplace must all be outputs of the Function."
            )
        if not any(x is y for y in args):
            warnings.warn(
                f"{ctx.name()}: only inputs are to be given to ctx.mark_dirty(), not what forward itself made",
                UserWarning,
                stacklevel=5,
            )
            continue
        if wanted:
            if x._node is not None and x._node.leaf:
                raise leaf_error("a leaf Variable", "has been")
            check_allowed(x)
            if x._base is not None and len(outputs) > 1:
                raise RuntimeError(
                    f"{ctx.name()}: your Function modifies inplace an input that is a view of another Tensor; such a "
                    "Function must return that one Tensor only. clone() the view first"
                )
        changed.add(id(x))
    return changed


def output_tensor(x: Tensor, given: bool, dirty: bool) -> Tensor:
    """Return the tensor that stands for an output; given: whether it was an argument."""
    if given:
        return x if dirty else alias(x)
    return x if x._node is None else Tensor._wrap(x._data, None)


def alias(x: Tensor) -> Tensor:
    """Return a view of a whole tensor, without a node."""
    view = Tensor._wrap(x._array(), None)
    track_view(view, x, entry("reshape"), {"shape": x._data.shape})
    return view


def keep(ctx: Any, results: list, outputs: tuple) -> None:
    """Take over what save_for_backward was given."""
    saved: list[Saved | None] = []
    for x in ctx._to_save:
        if x is None:
            saved.append(None)
            continue
        place = next((i for i, y in enumerate(outputs) if y is x), None)
        if place is not None and ctx._output_nodes[place] is None:
            ctx._own.add(id(x))
            place = None
        saved.append(Saved(x if place is None else results[place], place))
    ctx.all_kept, ctx._to_save = tuple(saved), ()


# -- backward ---------------------------------------------------------------------------------------------


def backward_of(ctx: Any, g: Any) -> tuple:
    """Call the backward that the user wrote, under either of its names."""
    function = ctx._function
    written = [name for name in ("backward", "vjp") if getattr(function, name) is not Function.backward]
    if len(written) > 1:
        raise RuntimeError(
            f"Implementing both 'backward' and 'vjp' for a custom Function is not allowed: {function.__name__} must "
            "have one of them, they are the same thing"
        )
    return run_backward(ctx, g, getattr(function, written[0] if written else "backward"))


TWICE = "trying to differentiate twice a function that was marked with @once_differentiable"


def once_differentiable(function: Callable, message: str = TWICE) -> Callable:
    """Mark a backward whose result must not be differentiated again: doing so raises RuntimeError."""

    @functools.wraps(function)
    def wrapper(ctx: Any, *grads: Any) -> Any:
        create = state.grad
        with no_grad():
            result = function(ctx, *grads)
        if not create or (allowed.float_of_grad and not any(getattr(g, "requires_grad", False) for g in grads)):
            return result
        parts = result if isinstance(result, tuple) else (result,)
        parents = (*ctx.all_parents, *(g._node for g in grads if isinstance(g, Tensor)))
        guarded = tuple(
            barrier(x, message, parents) if isinstance(x, Tensor) and differentiable(x) else x for x in parts
        )
        return guarded if isinstance(result, tuple) else guarded[0]

    return wrapper


def push_tangents(ctx: Any, tangents: list) -> Any:
    """Return the tangents of the outputs by the user's jvp; None where there is none."""
    if ctx._function.jvp is Function.jvp:
        return None
    given = [None if t is None else t if isinstance(t, Tensor) else Tensor._wrap(t, None) for t in tangents]
    with enable_grad() if state.grad else no_grad():
        result = ctx._function.jvp(ctx, *given)
    return list(result) if isinstance(result, tuple) else result
