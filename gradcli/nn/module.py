"""Module, the base class of layers and networks. Its state is saved as NumPy's .npz, which cannot execute code."""

from __future__ import annotations

import contextlib
import os
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..files import replacing
from ..tape.dtypes import DType, as_numpy, package_name
from ..tape.modes import no_grad, observers
from ..tape.node import clear_grad
from ..tape.tensor import Parameter, Size, Tensor, as_raw
from .call import HookLists, call_with_hooks


class IncompatibleKeys(NamedTuple):
    """The keys for which load_state_dict found no value, and those that it did not use."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        listed = f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"
        return listed if any(self) else "<All keys matched successfully>"


REGISTRIES: dict[str, tuple[str, Any, str]] = {
    "_parameters": ("parameter", (), "nn.Parameter"),
    "_modules": ("child module", (), "nn.Module"),
    "_buffers": ("buffer", Tensor, "Tensor"),
}
"""For each registry: its content, the values that can be assigned to its names, and the type named in errors."""


class Module(HookLists):
    """A function with parameters and child modules.

    Subclasses call `super().__init__()`, register parameters and modules by assigning them as attributes, and
    define `forward`.
    """

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    _non_persistent_buffers_set: set[str]

    def __init__(self) -> None:
        self.__dict__.update(training=True, _parameters={}, _buffers={}, _modules={}, _non_persistent_buffers_set=set())
        super().__init__()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the result. Subclasses define this method."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call forward and the hooks around it."""
        if self._hooked or (observers and "_forward_hooks" in self.__dict__):  # absent before Module.__init__()
            return call_with_hooks(self, args, kwargs)
        return self.forward(*args, **kwargs)

    def _register(self, kind: str, name: Any, value: Any, wanted: type) -> None:
        """Register a parameter, buffer or module. Raises AttributeError, KeyError and TypeError as PyTorch does."""
        registered = self.__dict__.get(f"_{kind}s")
        if registered is None:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {type(name).__name__}")
        if not name or "." in name:
            raise KeyError(f'{kind} name must be a non-empty string without ".", got {name!r}')
        if hasattr(self, name) and name not in registered:
            raise KeyError(f"attribute '{name}' already exists")
        if value is not None and not isinstance(value, wanted):
            required = f"{package_name()}.{REGISTRIES[f'_{kind}s'][2]} or None required"
            raise TypeError(f"cannot assign '{type_name(value)}' object to {kind} '{name}' ({required})")
        registered[name] = value

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter; None stands for an omitted one."""
        self._register("parameter", name, param, Parameter)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is not a parameter but part of the state, such as a running mean.

        persistent: include it in state_dict.
        """
        self._register("buffer", name, tensor, Tensor)
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child under a name."""
        self._register("module", name, module, Module)

    def _registry_of(self, name: str) -> str | None:
        for registry in REGISTRIES:
            if name in self.__dict__.get(registry, ()):
                return registry
        return None

    def __getattr__(self, name: str) -> Any:
        registry = self._registry_of(name)
        if registry is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return self.__dict__[registry][name]

    def __setattr__(self, name: str, value: Any) -> None:
        registry = self._registry_of(name)
        if isinstance(value, Parameter):
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if "_modules" not in self.__dict__:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "_modules")
            self.__dict__["_modules"][name] = value
        elif registry is None:
            object.__setattr__(self, name, value)
        else:
            kind, accepted, expected = REGISTRIES[registry]
            if value is not None and not isinstance(value, accepted):
                raise TypeError(
                    f"cannot assign '{type_name(value)}' as {kind} '{name}' "
                    f"({package_name()}.{expected} or None expected)"
                )
            self.__dict__[registry][name] = value

    def _forget(self, name: str, kept: str) -> None:
        """Remove a name from everything but the registry `kept`, before it is registered there."""
        self.__dict__.pop(name, None)
        if self._registry_of(name) not in (None, kept):
            delattr(self, name)

    def __delattr__(self, name: str) -> None:
        registry = self._registry_of(name)
        if registry is None:
            object.__delattr__(self, name)
        else:
            del self.__dict__[registry][name]
            self._non_persistent_buffers_set.discard(name)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self._parameters, *self._buffers, *self._modules})

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """Yield (name, module) of the direct children, each once."""
        seen = set()
        for name, child in self._modules.items():
            if child is not None and id(child) not in seen:
                seen.add(id(child))
                yield name, child

    def children(self) -> Iterator[Any]:
        return (child for _, child in self.named_children())

    def named_modules(
        self, memo: set | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Yield (name, module) of this module and all modules inside it, by default each once."""
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
        """Yield (name, parameter) of this module and, with recurse, of all modules inside it."""
        return self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield (name, buffer) of this module and, with recurse, of all modules inside it."""
        return self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def apply(self, fn: Callable) -> Any:
        """Call fn(module) for all modules inside this one, then for this one."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def _state_places(self) -> dict[str, tuple[Module, str]]:
        """Return, for each entry of the state, its module and its name in that module."""
        return {
            f"{path}.{name}" if path else name: (module, name)
            for path, module in self.named_modules(remove_duplicate=False)
            for name, x in {**module._parameters, **module._buffers}.items()
            if x is not None and name not in module._non_persistent_buffers_set
        }

    def state_dict(self) -> OrderedDict[str, Tensor]:
        """Return parameters and persistent buffers by dotted name; the tensors share memory with them."""
        places = self._state_places()
        return OrderedDict((key, getattr(module, name).detach()) for key, (module, name) in places.items())

    def load_state_dict(self, state_dict: Mapping, strict: bool = True) -> IncompatibleKeys:
        """Copy values into parameters and buffers. Return the missing and the unexpected names.

        strict: treat these as errors. Raises a RuntimeError that lists all mismatches.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        places = self._state_places()
        keys = IncompatibleKeys([k for k in places if k not in state_dict], [k for k in state_dict if k not in places])
        errors = [
            f"{title} key(s) in state_dict: " + ", ".join(f'"{name}"' for name in names) + ". "
            for title, names in (("Missing", keys.missing_keys), ("Unexpected", keys.unexpected_keys))
            if strict and names
        ]
        for key, (module, name) in places.items():
            if key in state_dict:
                errors += copy_entry(getattr(module, name), key, state_dict[key])
        if errors:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(errors))
        return keys

    def _apply(self, convert: Callable[[Tensor], Tensor]) -> Any:
        """Convert the data of all parameters, gradients and buffers with a function."""
        with no_grad():
            for parameter in self.parameters():
                grad, parameter.data = parameter._grad, convert(parameter.data)
                if grad is not None:
                    grad.data = convert(grad)
                parameter._grad = grad
            for module in self.modules():
                for name, buffer in module._buffers.items():
                    module._buffers[name] = None if buffer is None else convert(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Convert floating-point and complex parameters and buffers to a type, in place. The device must be the CPU."""
        for kind in (*args, kwargs.get("dtype")):
            wanted = as_numpy(kind) if isinstance(kind, DType | np.dtype | type) else None
            if wanted is not None and wanted.kind not in "fc":
                raise TypeError("nn.Module.to only accepts floating point or complex dtypes")
        return self._apply(lambda t: t.to(*args, **kwargs) if t.dtype.kind in "fc" else t)

    def cpu(self) -> Any:
        """Return the module, which is on the CPU already."""
        return self

    def double(self) -> Any:
        return self._apply(lambda t: t.double() if t.dtype.kind == "f" else t)

    def float(self) -> Any:
        return self._apply(lambda t: t.float() if t.dtype.kind == "f" else t)

    def half(self) -> Any:
        return self._apply(lambda t: t.half() if t.dtype.kind == "f" else t)

    def train(self, mode: bool = True) -> Module:
        """Set training mode, which affects Dropout and BatchNorm, in this module and all modules inside it."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self) -> Module:
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Turn the recording of operations on all parameters on or off."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters to None, or to zeros."""
        for parameter in self.parameters():
            clear_grad(parameter, set_to_none)

    def extra_repr(self) -> str:
        """Return the text to print between the parentheses of repr()."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {indent(repr(child))}" for name, child in self._modules.items()]
        return listing(type(self).__name__, lines, children)


def copy_entry(x: Tensor, key: str, value: Any) -> list[str]:
    """Copy a value into a parameter or buffer. Return a list of errors, empty on success."""
    if isinstance(value, np.ndarray | np.generic):
        value = Tensor._wrap(np.asarray(value), None)
    if not isinstance(value, Tensor):
        return [
            f'While copying the parameter named "{key}", expected a Tensor or an array from checkpoint but '
            f"received {type(value)}"
        ]
    if value.shape != x.shape:
        return [
            f"size mismatch for {key}: copying a param with shape {Size(value.shape)!r} from checkpoint, "
            f"the shape in current model is {Size(x.shape)!r}."
        ]
    with no_grad():
        x.copy_(value)
    return []


def listing(name: str, extra: list[str], children: list[str]) -> str:
    """Return Name(extra), on one line or with one line per child."""
    if len(extra) == 1 and not children:
        return f"{name}({extra[0]})"
    lines = extra + children
    return f"{name}(\n  " + "\n  ".join(lines) + "\n)" if lines else f"{name}()"


def indent(text: str) -> str:
    """Indent all lines but the first by two spaces."""
    return text.replace("\n", "\n  ")


def type_name(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"torch.{value.dtype.title}Tensor"
    return type(value).__name__ if not isinstance(value, type) else value.__name__


def save(obj: Any, f: Any) -> None:
    """Write named tensors to a file in .npz format, whatever its name. `numpy.load` can read it as well.

    f: a path or binary file; a path is written completely or not at all. Raises TypeError for anything but a state.
    """
    members = {name: as_raw(x) for name, x in obj.items()} if isinstance(obj, Mapping) else None
    if members is None or not all(isinstance(name, str) and is_numbers(raw) for name, raw in members.items()):
        raise TypeError("save() takes a dictionary of tensors, such as a state_dict()")
    with (
        contextlib.nullcontext(f) if hasattr(f, "write") else replacing(f) as file,
        zipfile.ZipFile(file, "w") as archive,
    ):
        for name, raw in members.items():  # np.savez would reject "file", the name of its own argument
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(raw), allow_pickle=False)


def is_numbers(x: Any) -> bool:
    return isinstance(x, np.ndarray | np.generic) and x.dtype.kind in "biufc"


def load(f: Any, map_location: Any = None, *, weights_only: bool = True) -> Any:
    """Read tensors by name from a file that `save` wrote.

    Raises ValueError for a file that is not an .npz, or that contains pickled objects, which are never loaded.
    """
    where = f if isinstance(f, str | os.PathLike) else "the file"
    try:
        archive = np.load(f, allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise ValueError("it has a single array without a name")
        with archive:
            state = {name: archive[name] for name in archive.files}
        if stray := [name for name, x in state.items() if not is_numbers(x)]:
            raise ValueError(f"{stray[0]} is not an array of numbers")
        return {name: Tensor._wrap(np.array(x), None) for name, x in state.items()}
    except (ValueError, zipfile.BadZipFile, EOFError) as error:
        why = str(error).partition(". If you trust")[0]
        raise ValueError(f"{where} does not hold a state written by save() ({why}); pickled data is refused") from None


__all__ = ["load", "save"]
