"""The state of a module: its parameters and buffers by name, given out and taken back."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...tape.hooks import RemovableHandle
from ...tape.modes import no_grad
from ...tape.parameter import Parameter
from ...tape.tensor import Size, Tensor
from .hooks import HookLists

EXTRA_STATE = "_extra_state"


class _IncompatibleKeys(namedtuple("_IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What load_state_dict found no value for, and what it had no use for."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()


class Stateful(HookLists):
    """How a module gives out its state and takes it back, and the hooks on that."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: OrderedDict
    _state_dict_pre_hooks: OrderedDict
    _load_state_dict_pre_hooks: OrderedDict
    _load_state_dict_post_hooks: OrderedDict

    def _make_state_hooks(self) -> None:
        for name in (
            "_state_dict_hooks",
            "_state_dict_pre_hooks",
            "_load_state_dict_pre_hooks",
            "_load_state_dict_post_hooks",
        ):
            self.__dict__[name] = OrderedDict()

    def _own_state(self) -> dict[str, Tensor]:
        """Return the parameters and persistent buffers of this module itself."""
        kept = {k: v for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set}
        return {name: x for name, x in {**self._parameters, **kept}.items() if x is not None}

    # -- giving it out ----------------------------------------------------------------------------

    def get_extra_state(self) -> Any:
        """Return what else belongs to the state: for derived classes to define, with set_extra_state."""
        raise NotImplementedError

    def set_extra_state(self, state: Any) -> None:
        """Take back what get_extra_state returned."""
        raise NotImplementedError

    def _save_to_state_dict(self, destination: dict, prefix: str, keep_vars: bool) -> None:
        """Put this module's own state into `destination`."""
        for name, x in self._own_state().items():
            destination[prefix + name] = x if keep_vars else x.detach()
        if type(self).get_extra_state is not Stateful.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def state_dict(self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Return parameters and persistent buffers by dotted name, sharing memory with them.

        keep_vars: the parameters themselves rather than detached tensors.
        """
        destination = OrderedDict() if destination is None else destination
        for hook in list(self._state_dict_pre_hooks.values()):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, child in self._modules.items():
            if child is not None:
                child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in list(self._state_dict_hooks.values()):
            hook(self, destination, prefix, {})
        return destination

    # -- taking it back ---------------------------------------------------------------------------

    def _load_from_state_dict(
        self,
        state_dict: Mapping,
        prefix: str,
        local_metadata: dict,
        strict: bool,
        missing_keys: list,
        unexpected_keys: list,
        error_msgs: list,
    ) -> None:
        """Take this module's own state from a dictionary, noting what is missing or does not fit."""
        for hook in list(self._load_state_dict_pre_hooks.values()):
            hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        for name, x in self._own_state().items():
            key = prefix + name
            if key in state_dict:
                message = self._load_one(name, x, key, state_dict[key], local_metadata.get("assign", False))
                error_msgs.extend([message] if message else [])
            elif strict:
                missing_keys.append(key)
        self._load_extra(state_dict, prefix, strict, missing_keys, unexpected_keys)
        if strict:
            own = {*self._own_state(), EXTRA_STATE}
            for key in state_dict:
                first, dot, _ = key[len(prefix) :].partition(".")
                if key.startswith(prefix) and first not in (self._modules if dot else own):
                    unexpected_keys.append(key)

    def _load_extra(self, state_dict: Mapping, prefix: str, strict: bool, missing: list, unexpected: list) -> None:
        key = prefix + EXTRA_STATE
        takes = type(self).set_extra_state is not Stateful.set_extra_state
        if takes and key in state_dict:
            self.set_extra_state(state_dict[key])
        elif takes and strict:
            missing.append(key)
        elif key in state_dict and strict:
            unexpected.append(key)

    def _load_one(self, name: str, x: Tensor, key: str, value: Any, assign: bool) -> str | None:
        """Copy a value into a tensor, or put it in its place; return what is wrong with it, if anything is."""
        if isinstance(value, np.ndarray | np.generic):
            value = Tensor._wrap(np.asarray(value), None)
        if not isinstance(value, Tensor):
            return (
                f'While copying the parameter named "{key}", expected a Tensor or an array from checkpoint but '
                f"received {type(value)}"
            )
        if value.shape != x.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {Size(value.shape)!r} from checkpoint, "
                f"the shape in current model is {Size(x.shape)!r}."
            )
        with no_grad():
            if not assign:
                x.copy_(value)
            elif name in self._parameters:
                setattr(self, name, Parameter(value, requires_grad=x.requires_grad))
            else:
                setattr(self, name, value)
        return None

    def load_state_dict(self, state_dict: Mapping, strict: bool = True, assign: bool = False) -> _IncompatibleKeys:
        """Copy values into parameters and buffers; return the names that were missing and those not expected.

        strict: both are errors. assign: take over the given tensors instead of copying. Raises RuntimeError
        listing all that does not fit.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []
        self._load(state_dict, "", assign, missing, unexpected, errors)
        keys = _IncompatibleKeys(missing, unexpected)
        self._run_load_post_hooks(keys)
        if strict:
            for title, names in (("Unexpected", unexpected), ("Missing", missing)):
                if names:
                    quoted = ", ".join(f'"{name}"' for name in names)
                    errors.insert(0, f"{title} key(s) in state_dict: {quoted}. ")
        if errors:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(errors))
        return keys

    def _load(self, state: Mapping, prefix: str, assign: bool, missing: list, unexpected: list, errors: list) -> None:
        self._load_from_state_dict(state, prefix, {"assign": assign}, True, missing, unexpected, errors)
        for name, child in self._modules.items():
            if child is not None:
                child._load(state, f"{prefix}{name}.", assign, missing, unexpected, errors)

    def _run_load_post_hooks(self, keys: _IncompatibleKeys) -> None:
        for child in self._modules.values():
            if child is not None:
                child._run_load_post_hooks(keys)
        for hook in list(self._load_state_dict_post_hooks.values()):
            hook(self, keys)

    # -- hooks ------------------------------------------------------------------------------------

    def register_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call hook(module, prefix, keep_vars) before the state is given out."""
        return self._add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call hook(module, state_dict, prefix, metadata) after this module's part was put into state_dict."""
        return self._add_hook(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call hook(module, state_dict, prefix, metadata, strict, missing, unexpected, errors) before loading."""
        return self._add_hook(self._load_state_dict_pre_hooks, hook)

    def register_load_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call hook(module, incompatible_keys) after loading; it may change the lists."""
        return self._add_hook(self._load_state_dict_post_hooks, hook)
