"""Modules that hold modules."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, MutableMapping, MutableSequence
from itertools import groupby
from typing import Any

from .module import Module, indent, listing


class Numbered(Module, MutableSequence):
    """Modules in order, named 0, 1, 2 ..., which behave like a list."""

    def _refill(self, modules: list[Any]) -> None:
        self._modules.clear()
        for module in modules:
            self.append(module)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __getitem__(self, index: Any) -> Any:
        return list(self)[index]

    def __setitem__(self, index: Any, module: Any) -> None:
        setattr(self, list(self._modules)[operator.index(index)], module)

    def __delitem__(self, index: Any) -> None:
        modules = list(self)
        del modules[index]
        self._refill(modules)

    def append(self, module: Any) -> Any:
        """Add a module at the end; return self."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Any]) -> Any:
        """Add modules at the end; return self."""
        super().extend(modules)
        return self

    def insert(self, index: int, module: Any) -> Any:
        """Insert a module before a place; return self."""
        modules = list(self)
        modules.insert(index, module)
        self._refill(modules)
        return self


class Sequential(Numbered):
    """Modules called one after another, given one by one or as an ordered dictionary by name."""

    def __init__(self, *args: Any):
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], dict) else enumerate(args)
        for name, module in named:
            self.add_module(str(name), module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)  # type: ignore[misc]
        return input

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(dict(list(self._modules.items())[index]))
        return super().__getitem__(index)


class ModuleList(Numbered):
    """A list of registered modules, without a forward."""

    def __init__(self, modules: Iterable[Module] | None = None):
        super().__init__()
        self.extend(modules or ())

    def __getitem__(self, index: Any) -> Any:
        return type(self)(list(self)[index]) if isinstance(index, slice) else super().__getitem__(index)

    def __repr__(self) -> str:
        lines, place = [], 0
        for text, group in groupby(repr(child) for child in self):
            count = len(list(group))
            name = f"({place})" if count == 1 else f"({place}-{place + count - 1})"
            times = "" if count == 1 else f"{count} x "
            lines.append(f"{name}: {indent(times + text)}")
            place += count
        return listing(type(self).__name__, [], lines)


class ModuleDict(Module, MutableMapping):
    """A dictionary of registered modules, without a forward."""

    __eq__ = object.__eq__  # by identity, like other modules
    __hash__ = object.__hash__

    def __init__(self, modules: Any = ()):
        super().__init__()
        self.update(modules or ())

    def __setitem__(self, key: str, value: Module) -> None:
        if key in self._modules:
            setattr(self, key, value)
        else:
            self.add_module(key, value)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)
