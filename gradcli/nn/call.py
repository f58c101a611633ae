"""Hooks on modules, and calls of modules with hooks."""

from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from ..tape.function import alias
from ..tape.hooks import check_hook_results, name_of_hook
from ..tape.modes import observers, state
from ..tape.node import COUNTED, OutputNode, RemovableHandle, Rule, add_hook, new_node, to_parents
from ..tape.record import outline
from ..tape.tensor import Tensor


class HookLists:
    """The hooks of one module, in dictionaries by handle id.

    `_is_full_backward_hook`: kind of its backward hooks, None if never any. `_hooked`: whether it ever had a hook.
    """

    _forward_pre_hooks: OrderedDict
    _forward_hooks: OrderedDict
    _backward_pre_hooks: OrderedDict
    _backward_hooks: OrderedDict
    _hooked = False
    _is_full_backward_hook: bool | None = None

    def __init__(self) -> None:
        for name in ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks"):
            self.__dict__[name] = OrderedDict()

    def _add_hook(self, hooks: OrderedDict, hook: Callable) -> RemovableHandle:
        self.__dict__["_hooked"] = True
        return add_hook(hooks, hook)

    def register_forward_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call hook(module, args) before forward; its result, a tuple or a single argument, replaces args."""
        return self._add_hook(self._forward_pre_hooks, hook)

    def register_forward_hook(self, hook: Callable) -> RemovableHandle:
        """Call hook(module, args, output) after forward; its result replaces the output."""
        return self._add_hook(self._forward_hooks, hook)

    def register_full_backward_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call hook(module, grad_output) before backward enters the module; its result replaces grad_output."""
        return self._add_hook(self._backward_pre_hooks, hook)

    def register_full_backward_hook(self, hook: Callable) -> RemovableHandle:
        """Call hook(module, grad_input, grad_output) once the gradients of the module's inputs are computed.

        Its result replaces grad_input, which has None for arguments that are not tensors. Raises RuntimeError if the
        module has hooks of the old kind.
        """
        self._check_backward_kind(True)
        return self._add_hook(self._backward_hooks, hook)

    def register_backward_hook(self, hook: Callable) -> RemovableHandle:
        """Register a hook of the old kind, which sees the inputs of the last operation that forward ran.

        Prefer register_full_backward_hook, which sees the module's inputs.
        """
        self._check_backward_kind(False)
        return self._add_hook(self._backward_hooks, hook)

    def _check_backward_kind(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only "
                "one of them."
            )
        self.__dict__["_is_full_backward_hook"] = full


def call_with_hooks(module: Any, args: tuple, kwargs: dict) -> Any:
    """Call a module's forward with its hooks, and report it to observers."""
    for observer in observers:
        observer.enter_module(module)
    try:
        for hook in list(module._forward_pre_hooks.values()):
            new = run_hook("forward pre-hook", module, hook, args)
            if new is not None:
                args = new if isinstance(new, tuple) else (new,)
        pre_hooks, hooks = (list(x.values()) for x in (module._backward_pre_hooks, module._backward_hooks))
        full, old = (hooks, []) if module._is_full_backward_hook else ([], hooks)
        watch = BackwardWatch(module, full, pre_hooks) if full or pre_hooks else None
        if watch is not None:
            args = watch.wrap_inputs(args)
        result = module.forward(*args, **kwargs)
    finally:
        for observer in observers:
            observer.leave_module(module)
    for hook in list(module._forward_hooks.values()):
        new = run_hook("forward hook", module, hook, args, result)
        result = result if new is None else new
    if watch is not None:
        result = watch.wrap_outputs(result)
    if old:
        watch_last_operation(module, args, result, old)
    return result


def run_hook(kind: str, module: Any, hook: Callable, *given: Any) -> Any:
    """Call a hook; if it raises an error, add the names of the hook and the module."""
    try:
        return hook(module, *given)
    except Exception as error:
        error.add_note(f"raised in the {kind} {name_of_hook(hook)!r} of {type(module).__name__}")
        raise


class BackwardWatch:
    """One call of a module with full backward hooks.

    Identity operations before and after the module let the hooks see the gradients of all inputs and outputs, whatever
    forward does.
    """

    def __init__(self, module: Any, hooks: list[Callable], pre_hooks: list[Callable]):
        self.module = module
        self.hooks = hooks
        self.pre_hooks = pre_hooks
        self.places: list[int] = []
        self.given: tuple = ()
        self.grad_outputs: tuple | None = None

    def wrap_inputs(self, args: tuple) -> tuple:
        """Pass the arguments through the identity before the module."""
        self.given = tuple((x.shape, x.dtype) if isinstance(x, Tensor) and x.dtype.kind in "fc" else None for x in args)
        args, self.places, node = pass_identity(args)
        if node is not None:
            node.register_hook(self.leaves)
        return args

    def wrap_outputs(self, result: Any) -> Any:
        """Pass the module's result through the identity after it."""
        if not isinstance(result, Tensor | tuple):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but "
                f"received {type(result)}",
                stacklevel=4,
            )
            return result
        parts, places, node = pass_identity(result if isinstance(result, tuple) else (result,))
        if node is not None:
            node.register_hook(lambda grads, _: self.enters(grads, len(parts), places))
        return parts if isinstance(result, tuple) else parts[0]

    def enters(self, grads: tuple, count: int, places: list[int]) -> tuple | None:
        """Run the pre-hooks as backward enters the module, and also the hooks if no input requires grad."""
        shown = put_at(grads, places, count)
        for hook in self.pre_hooks:
            result = run_hook("full backward pre-hook", self.module, hook, shown)
            shown = shown if result is None else check_hook_results(result, shown, hook)
        self.grad_outputs = shown
        if not self.places:  # no input requires grad
            self.run_hooks((None,) * len(self.given))
        return tuple(shown[i] for i in places) if self.pre_hooks else None

    def run_hooks(self, shown: tuple) -> tuple:
        for hook in self.hooks:
            result = run_hook("full backward hook", self.module, hook, shown, self.grad_outputs)
            shown = shown if result is None else check_hook_results(result, shown, hook)
        self.grad_outputs = None
        return shown

    def leaves(self, grads: tuple, _: tuple) -> tuple | None:
        """Run the hooks as backward leaves the module."""
        if self.grad_outputs is None:
            return None  # backward started inside the module
        shown = self.run_hooks(self.add_zeros(put_at(grads, self.places, len(self.given))))
        return tuple(shown[i] if old is not None else None for i, old in zip(self.places, grads, strict=True))

    def add_zeros(self, grads: tuple) -> tuple:
        """Replace None by zeros for input tensors that no gradient reached, with the leading axes of the others."""
        pairs = list(zip(grads, self.given, strict=True))
        lead = next((tuple(g.shape[: g.ndim - len(like[0])]) for g, like in pairs if g is not None), ())
        return tuple(
            Tensor._wrap(np.zeros(lead + tuple(like[0]), like[1].numpy), None) if g is None and like else g
            for g, like in pairs
        )


IDENTITY = Rule(
    "BackwardHookFunctionBackward", to_parents(lambda node, g: tuple([g.get(i) for i in range(len(node.parents))]))
)


def pass_identity(values: tuple) -> tuple[tuple, list[int], Any]:
    """Pass the values that require grad through one identity. Return all values, the positions of these, and its node.

    Each of these values becomes a view, so that in-place changes to it get the right gradient. The node may be None.
    """
    places = [
        i
        for i, x in enumerate(values)
        if state.grad and (isinstance(x, Tensor) and x.record_level == 1 and x._node is not None)
    ]
    if not places:
        return values, places, None
    tensors = [values[i] for i in places]
    node = new_node(IDENTITY, tuple(x._node for x in tensors), (), [outline(x._data) for x in tensors])
    outputs = [OutputNode(node, i) for i in range(len(tensors))]
    node.output_nodes = tuple(map(weakref.ref, outputs))
    passed = list(values)
    for i, output in zip(places, outputs, strict=True):
        passed[i] = alias(values[i])
        passed[i]._node = output
    return (type(values)(*passed) if hasattr(values, "_fields") else tuple(passed)), places, node


def put_at(grads: tuple, places: list[int], count: int) -> tuple:
    """Return a tuple of length `count` with gradients at the given positions, and None elsewhere."""
    by_place = dict(zip(places, grads, strict=True))
    return tuple(by_place.get(i) for i in range(count))


def first_tensor(result: Any) -> Any:
    """Return the first tensor in a module's result, or None."""
    while isinstance(result, dict | tuple | list) and result:
        parts = list(result.values()) if isinstance(result, dict) else result
        result = next((x for x in parts if isinstance(x, Tensor)), parts[0])
    return result if isinstance(result, Tensor) else None


def watch_last_operation(module: Any, args: tuple, result: Any, hooks: list[Callable]) -> None:
    """Register hooks on the operation that made a module's result; warn once if they miss some gradients."""
    tensor = first_tensor(result)
    node = None if tensor is None else tensor.grad_fn
    if node is None:
        return
    # PyTorch multiplies a vector as a one-row matrix, so that its last operation is a view of the product
    is_row = name_of_entry(node) == "vector_matrix"
    shape = (1, *tensor.shape)
    for hook in hooks:
        if is_row:
            node.register_prehook(lambda outs, hook=hook: run_hook_on_view(module, hook, shape, outs))
        else:
            node.register_hook(lambda grads, outs, hook=hook: run_old_hook(module, hook, node, grads, outs))
    if (is_row or not is_one_operation(args, result, node)) and not module.__dict__.get("_warned_of_hooks"):
        module.__dict__["_warned_of_hooks"] = True
        warnings.warn(
            "Using a non-full backward hook when the forward contains multiple autograd Nodes is deprecated and will "
            "be removed in future versions. This hook will be missing some grad_input. Please use "
            "register_full_backward_hook to get the documented behavior.",
            FutureWarning,
            stacklevel=4,
        )


def name_of_entry(node: Any) -> str:
    """Return the name of the table entry that a node recorded, or ""."""
    return getattr(node.rule.primitive, "name", "")


def run_hook_on_view(module: Any, hook: Callable, shape: tuple[int, ...], outs: tuple) -> Any:
    """Call a hook of the old kind with the gradient of the last view's base; return the resulting gradient."""
    if outs[0] is None:
        return None
    left = run_hook("backward hook", module, hook, (outs[0].reshape(shape),), outs)
    left = left[0] if isinstance(left, tuple) else left
    return None if left is None else (left.reshape(outs[0].shape),)


def run_old_hook(module: Any, hook: Callable, node: Any, grads: tuple, outs: tuple) -> Any:
    """Call a hook of the old kind with the gradients that PyTorch's operation returns; return the new gradients.

    PyTorch's linear layer multiplies by the transposed weight, so the hook gets the gradient of the transpose.
    """
    places = range(len(grads))[COUNTED.get(node.name(), slice(None))]
    turned = 2 if name_of_entry(node) == "affine" else None

    def turn(i: int, grad: Any) -> Any:
        return grad.transpose(-1, -2) if i == turned and grad is not None else grad

    result = run_hook("backward hook", module, hook, tuple(turn(i, grads[i]) for i in places), outs)
    if not isinstance(result, tuple) or len(result) != len(places):
        return result
    left = {i: turn(i, grad) for i, grad in zip(places, result, strict=True)}
    return tuple(left.get(i, grad) for i, grad in enumerate(grads))


def is_one_operation(args: tuple, result: Any, node: Any) -> bool:
    """Report whether hooks on a node see all of the module's inputs and outputs."""
    if not all(isinstance(x, Tensor) for x in (*args, result)):
        return False
    return {x.grad_fn for x in args if x.grad_fn is not None} == {parent for parent, _ in node.next_functions}
