"""Hooks on modules: how they are registered, on one module or on all (see the end of `module`)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

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
            self.__dict__[name] = OrderedDict()
        self.__dict__.update(_hook_flags={}, _is_full_backward_hook=None)

    def _add_hook(
        self, hooks: OrderedDict, hook: Callable, prepend: bool = False, flags: tuple[bool, bool] = (False, False)
    ) -> RemovableHandle:
        if not callable(hook):
            raise TypeError(f"a hook must be callable, not {type(hook).__name__}")
        handle = RemovableHandle(hooks)
        hooks[handle.id] = hook
        if prepend:
            hooks.move_to_end(handle.id, last=False)
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
        self.__dict__["_is_full_backward_hook"] = full


class Everywhere(HookLists):
    """The hooks of all modules; `registration_hooks` see what is about to enter a registry of any."""

    def __init__(self) -> None:
        self._make_hook_lists()
        self.registration_hooks: dict[str, OrderedDict] = {
            name: OrderedDict() for name in ("_parameters", "_buffers", "_modules")
        }

    def _check_backward_kind(self, full: bool) -> None:
        if not self._backward_hooks:
            self._is_full_backward_hook = None  # those of the other kind are gone
        super()._check_backward_kind(full)

    def register_parameter_registration_hook(self, hook: Callable) -> RemovableHandle:
        """Call hook(module, name, parameter) whenever a module gets a parameter; what it returns replaces it."""
        return self._add_hook(self.registration_hooks["_parameters"], hook)

    def register_buffer_registration_hook(self, hook: Callable) -> RemovableHandle:
        """Call hook(module, name, buffer) whenever a module gets a buffer; what it returns replaces it."""
        return self._add_hook(self.registration_hooks["_buffers"], hook)

    def register_module_registration_hook(self, hook: Callable) -> RemovableHandle:
        """Call hook(module, name, child) whenever a module gets a child; what it returns replaces it."""
        return self._add_hook(self.registration_hooks["_modules"], hook)


everywhere = Everywhere()
