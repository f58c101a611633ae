"""Register functions under PyTorch's names, and look them up."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from ..errors import describe_missing
from ..rules.table import rename_keywords
from ..tape.record import name_nodes
from ..tape.tensor import Tensor, as_raw
from ..tape.torch_errors import as_pytorch

PUBLIC: dict[str, Callable] = {}
OFFERED_METHODS: set[str] = set()
METHOD_FORMS: dict[str, Callable] = {}
"""Methods whose arguments have a different order than those of the function of the same name."""
NUMPY_WORDS = {"axis": "dim", "keepdims": "keepdim", "x": "input", "x1": "input", "x2": "other", "a": "input"}


def as_method_operand(x: Any) -> Any:
    """Convert a list or an array to a Tensor, for its methods."""
    return x if isinstance(x, Tensor) else Tensor._wrap(as_raw(x), None)


def records_as(node: str) -> Callable[[Callable], Callable]:
    """Name a function's result nodes after the single operation that PyTorch has for it; "" changes nothing."""

    def decorate(function: Callable) -> Callable:
        if not node:
            return function

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return name_nodes(function(*args, **kwargs), node, (*args, *kwargs.values()))

        return call

    return decorate


def public(
    function: Callable | None = None, *, names: tuple[str, ...] = (), method: bool = True, node: str = ""
) -> Any:
    """Register a function under its PyTorch names, and make it also accept NumPy's names for its arguments.

    method: also register it as a method of Tensors. node: name of the result's node, by default of its last operation.
    """

    def enter(function: Callable) -> Callable:
        call = guard(records_as(node)(function))
        own = function.__name__
        for name in (own.rstrip("_") if own in UNDERSCORED else own, *names):
            PUBLIC[name] = call
            if method:
                OFFERED_METHODS.add(name)
        return call

    return enter(function) if function is not None else enter


def guard(function: Callable) -> Callable:
    """Wrap a function to accept NumPy's names for its arguments as well, and to raise PyTorch's errors."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            kwargs = rename_keywords(kwargs, NUMPY_WORDS)
        try:
            result = function(*args, **kwargs)
        except ValueError as error:
            raise as_pytorch(error, [x for x in args if isinstance(x, Tensor)]) from None
        if type(result) is Tensor and result._base is not None:
            stand_alone(result, (*args, *kwargs.values()))
        return result

    call.__qualname__ = call.__name__
    return call


def stand_alone(result: Tensor, operands: tuple) -> None:
    """Detach a result from its base if that is an intermediate value rather than an operand."""
    if result._base is None:
        return
    for x in operands:
        for t in x if isinstance(x, tuple | list) else (x,):
            if isinstance(t, Tensor) and (t is result._base or t._base is result._base):
                return
    result._base, result._chain = None, ()
    if not result._data.flags.c_contiguous:
        result._data = np.ascontiguousarray(result._data)


def offer(names: str, function: Callable, doc: str, method: bool = True, node: str = "") -> Callable:
    """Register a function under its first name and aliases, as `public` does."""
    name, *aliases = names.split()
    return public(rename_function(function, name, doc), names=tuple(aliases), method=method, node=node)


UNDERSCORED = {"pow_", "round_", "complex_", "type_"}
"""Functions whose names end in an underscore only because Python has a builtin of that name."""


def rename_function(function: Callable, name: str, doc: str | None) -> Callable:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def missing(module: str, names: Callable[[], Any]) -> Callable[[str], Any]:
    """Return a module's `__getattr__` that suggests the closest of `names()` for a missing name."""

    def getattr_(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        raise AttributeError(describe_missing(f"{module.removeprefix('gradcli.')}.{name}", names()))

    return getattr_


def lazy(package: str, names: Mapping[str, str], *submodules: str) -> tuple[list[str], Callable[[str], Any]]:
    """Return `__all__` and `__getattr__` of a package that imports a module when a name in it is first looked up.

    names: the names that each module provides, separated by spaces. submodules: modules to provide themselves.
    """
    homes = {name: module for module, listed in names.items() for name in listed.split()}
    offered = sorted({*homes, *submodules})
    absent = missing(package, lambda: sorted({*offered, *vars(sys.modules[package]).get("__all__", ())}))

    def getattr_(name: str) -> Any:
        if name in submodules:
            return import_module(f"{package}.{name}")
        if name not in homes:
            return absent(name)
        home = homes[name] if homes[name].startswith("gradcli.") else f"{package}.{homes[name]}"
        attribute = getattr(import_module(home), name)
        vars(sys.modules[package])[name] = attribute
        return attribute

    return offered, getattr_


def namespace(name: str, names: Mapping[str, str]) -> ModuleType:
    """Make a module without a file, where PyTorch has names that are defined elsewhere and imported on first use."""
    module: Any = ModuleType(name, f"The names of torch{name.removeprefix('gradcli')}.")
    package, _, last = name.rpartition(".")
    sys.modules[name] = vars(sys.modules[package])[last] = module
    module.__all__, module.__getattr__ = lazy(name, names)
    return module
