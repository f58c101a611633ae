"""Modules that hold modules."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, MutableMapping
from itertools import groupby
from typing import Any

from .module import Module, indent, listing


class Numbered(Module):
    """Modules in order, named 0, 1, 2 ..., with the ways of a list."""

    def _place(self, index: Any, end: bool = False) -> int:
        """Return a non-negative place. Raises IndexError outside the list; end: the place behind it is fine."""
        n = len(self)
        place = operator.index(index)
        if not -n <= place < n + end:
            raise IndexError(f"index {place} is out of range")
        return place % n if place < 0 else place

    def _key(self, index: Any) -> str:
        return list(self._modules)[self._place(index)]

    def _refill(self, modules: Iterable[Any]) -> None:
        modules = list(modules)
        self._modules.clear()
        for i, module in enumerate(modules):
            self.add_module(str(i), module)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __getitem__(self, index: Any) -> Any:
        return self._modules[self._key(index)]

    def __setitem__(self, index: Any, module: Module) -> None:
        setattr(self, self._key(index), module)

    def __delitem__(self, index: Any) -> None:
        modules = list(self)
        del modules[index if isinstance(index, slice) else self._place(index)]
        self._refill(modules)

    def append(self, module: Module) -> Any:
        """Add a module at the end; return this."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """Add modules at the end; return this."""
        if not isinstance(modules, Iterable):
            name = f"{type(self).__name__}.extend"
            raise TypeError(f"{name} should be called with an iterable, but got {type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Put a module before a place; return this."""
        modules = list(self)
        modules.insert(self._place(index, end=True), module)
        self._refill(modules)
        return self

    def pop(self, index: Any) -> Module:
        """Take a module out and return it."""
        module = self[index]
        del self[index]
        return module

    def __iadd__(self, other: Iterable[Module]) -> Any:
        return self.extend(other)


class Sequential(Numbered):
    """Modules called one after another; given one by one, or as an ordered dictionary of names."""

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

    def __add__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return Sequential(*self, *other)


class ModuleList(Numbered):
    """A list of modules, which are registered; it has no forward."""

    def __init__(self, modules: Iterable[Module] | None = None):
        super().__init__()
        self.extend(modules or ())

    def __getitem__(self, index: Any) -> Any:
        return type(self)(list(self)[index]) if isinstance(index, slice) else super().__getitem__(index)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __repr__(self) -> str:
        lines, place = [], 0
        for text, group in groupby(repr(child) for child in self):
            count = len(list(group))
            name = f"({place})" if count == 1 else f"({place}-{place + count - 1})"
            times = "" if count == 1 else f"{count} x "
            lines.append(f"{name}: {indent(times + text)}")
            place += count
        return listing(self._get_name(), [], lines)


class ModuleDict(Module, MutableMapping):
    """A dictionary of modules, which are registered; it has no forward."""

    __eq__ = object.__eq__  # as modules are: by identity
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
