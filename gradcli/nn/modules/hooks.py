"""Hooks on modules: how they are registered, on one module or on all."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ...tape.hooks import RemovableHandle

MIXED = (
    "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one of them."
)


class HookLists:
    """The hooks of one module, or of all: dictionaries from handle ids to functions.

    `_hook_flags`: for hooks that are called in a special way, (whether with keyword arguments, whether also
    after an error). `_is_full_backward_hook`: what kind the backward hooks are; None where there were none.
    """

    _forward_pre_hooks: OrderedDict
    _forward_hooks: OrderedDict
    _backward_pre_hooks: OrderedDict
    _backward_hooks: OrderedDict
    _hook_flags: dict[int, tuple[bool, bool]]
    _is_full_backward_hook: bool | None

    def _make_hook_lists(self) -> None:
        for name in ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks"):
            object.__setattr__(self, name, OrderedDict())
        object.__setattr__(self, "_hook_flags", {})
        object.__setattr__(self, "_is_full_backward_hook", None)

    def _add_hook(
        self, hooks: OrderedDict, hook: Callable, prepend: bool = False, flags: tuple[bool, bool] = (False, False)
    ) -> RemovableHandle:
        if not callable(hook):
            raise TypeError(f"a hook must be callable, not {type(hook).__name__}")
        handle = RemovableHandle(hooks)
        earlier = dict(hooks) if prepend else {}
        if prepend:
            hooks.clear()
        hooks[handle.id] = hook
        hooks.update(earlier)
        if any(flags):
            self._hook_flags[handle.id] = flags
        return handle

    def register_forward_pre_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call hook(module, args) before forward; what it returns replaces the arguments.

        A single value stands for a tuple of one. with_kwargs: hook(module, args, kwargs), which returns None
        or (new args, new kwargs).
        """
        return self._add_hook(self._forward_pre_hooks, hook, prepend, (with_kwargs, False))

    def register_forward_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call hook(module, args, output) after forward; what it returns replaces the output.

        with_kwargs: hook(module, args, kwargs, output). always_call: also when forward raised.
        """
        return self._add_hook(self._forward_hooks, hook, prepend, (with_kwargs, always_call))

    def register_full_backward_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call hook(module, grad_output) before backward enters the module; what it returns replaces it."""
        return self._add_hook(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call hook(module, grad_input, grad_output) when the gradients of the module's inputs are known.

        What it returns replaces grad_input. Arguments that are no tensors have None. Raises RuntimeError when
        the module has hooks of the old kind.
        """
        self._check_backward_kind(True)
        return self._add_hook(self._backward_hooks, hook, prepend)

    def register_backward_hook(self, hook: Callable) -> RemovableHandle:
        """Register a hook of the old kind, which sees the inputs of the last operation that forward ran.

        Prefer register_full_backward_hook, which sees those of the module.
        """
        self._check_backward_kind(False)
        return self._add_hook(self._backward_hooks, hook)

    def _check_backward_kind(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(MIXED)
        object.__setattr__(self, "_is_full_backward_hook", full)


class Everywhere(HookLists):
    """The hooks of all modules."""

    def __init__(self) -> None:
        self._make_hook_lists()
        self.parameter_registered: OrderedDict = OrderedDict()
        self.buffer_registered: OrderedDict = OrderedDict()
        self.module_registered: OrderedDict = OrderedDict()

    def registered(self, hooks: OrderedDict, module: Any, name: str, value: Any) -> Any:
        """Return what a module is to hold under a name, after the hooks on registration."""
        for hook in list(hooks.values()):
            result = hook(module, name, value)
            value = value if result is None else result
        return value


everywhere = Everywhere()


def register_module_forward_pre_hook(hook: Callable) -> RemovableHandle:
    """Register a forward pre-hook on every module."""
    return everywhere.register_forward_pre_hook(hook)


def register_module_forward_hook(
    hook: Callable, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Register a forward hook on every module."""
    return everywhere.register_forward_hook(hook, with_kwargs=with_kwargs, always_call=always_call)


def register_module_full_backward_pre_hook(hook: Callable) -> RemovableHandle:
    """Register a full backward pre-hook on every module."""
    return everywhere.register_full_backward_pre_hook(hook)


def register_module_full_backward_hook(hook: Callable) -> RemovableHandle:
    """Register a full backward hook on every module. Raises RuntimeError while there are old ones."""
    _forget_kind()
    return everywhere.register_full_backward_hook(hook)


def register_module_backward_hook(hook: Callable) -> RemovableHandle:
    """Register a backward hook of the old kind on every module. Raises RuntimeError while there are full ones."""
    _forget_kind()
    return everywhere.register_backward_hook(hook)


def _forget_kind() -> None:
    if not everywhere._backward_hooks:
        everywhere._is_full_backward_hook = None


def register_module_parameter_registration_hook(hook: Callable) -> RemovableHandle:
    """Call hook(module, name, parameter) whenever a module gets a parameter; what it returns replaces it."""
    return everywhere._add_hook(everywhere.parameter_registered, hook)


def register_module_buffer_registration_hook(hook: Callable) -> RemovableHandle:
    """Call hook(module, name, buffer) whenever a module gets a buffer; what it returns replaces it."""
    return everywhere._add_hook(everywhere.buffer_registered, hook)


def register_module_module_registration_hook(hook: Callable) -> RemovableHandle:
    """Call hook(module, name, child) whenever a module gets a child; what it returns replaces it."""
    return everywhere._add_hook(everywhere.module_registered, hook)
