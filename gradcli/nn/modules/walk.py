"""Walking through a module: its children, its parameters, all modules in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...tape.parameter import Parameter
from ...tape.tensor import Tensor


class Walkable:
    """How to get at what a module holds. Names of nested things are joined by dots."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """Yield (name, module) of the modules directly inside, each one once."""
        seen = set()
        for name, child in self._modules.items():
            if child is not None and id(child) not in seen:
                seen.add(id(child))
                yield name, child

    def children(self) -> Iterator[Any]:
        """Yield the modules directly inside."""
        return (child for _, child in self.named_children())

    def named_modules(
        self, memo: set | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Yield (name, module) of this module and all inside it, each one once unless told otherwise."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, child in self._modules.items():
            if child is not None:
                yield from child.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self) -> Iterator[Any]:
        """Yield this module and all inside it, each one once."""
        return (module for _, module in self.named_modules())

    def _named_members(self, registry: str, prefix: str, recurse: bool, remove_duplicate: bool) -> Iterator:
        seen = set()
        whole = self.named_modules(None, prefix, remove_duplicate) if recurse else [(prefix, self)]
        for path, module in whole:
            for name, value in getattr(module, registry).items():
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield (f"{path}.{name}" if path else name), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yield (name, parameter) of this module and, with recurse, of all inside it."""
        return self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield the parameters."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield (name, buffer) of this module and, with recurse, of all inside it."""
        return self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield the buffers."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def apply(self, fn: Callable) -> Any:
        """Call fn(module) for all modules inside, then this one."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    # -- by name ----------------------------------------------------------------------------------

    def get_submodule(self, target: str) -> Any:
        """Return the module of a dotted name. Raises AttributeError where there is none."""
        module: Any = self
        for name in target.split(".") if target else ():
            child = getattr(module, name, MISSING)
            if child is MISSING:
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
            if not isinstance(child, Walkable):
                raise AttributeError(f"`{name}` is not an nn.Module")
            module = child
        return module

    def set_submodule(self, target: str, module: Any) -> None:
        """Replace the module of a dotted name."""
        if not target:
            raise ValueError("Cannot set the submodule without a target name!")
        path, _, name = target.rpartition(".")
        setattr(self.get_submodule(path), name, module)

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter of a dotted name. Raises AttributeError where there is none."""
        return self._get(target, "_parameters", "an nn.Parameter")

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer of a dotted name. Raises AttributeError where there is none."""
        return self._get(target, "_buffers", "a buffer")

    def _get(self, target: str, registry: str, what: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        if name not in getattr(module, registry):
            raise AttributeError(f"`{name}` is not {what}")
        return getattr(module, name)


MISSING = object()
