"""Parameters that are computed from others by modules, each time they are looked up (torch.nn.utils.parametrize)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ...tape.modes import no_grad
from ...tape.parameter import Parameter
from ...tape.tensor import Tensor
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module


class cache:  # noqa: N801 - a namespace
    """What was computed while `cached` is in force, by module and name."""

    depth = 0
    found: dict[tuple[int, str], Any] = {}  # noqa: RUF012 - one for all


@contextlib.contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrized tensor once only inside this context."""
    cache.depth += 1
    try:
        yield
    finally:
        cache.depth -= 1
        if not cache.depth:
            cache.found.clear()


class ParametrizationList(ModuleList):
    """The modules that compute a tensor one after another, and what they start from: `original`, or several."""

    def __init__(self, modules: Any, original: Tensor, unsafe: bool = False):
        modules = list(modules)
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        start, shape, dtype = original, original.shape, original.dtype
        with no_grad():
            for module in reversed(modules):
                if hasattr(module, "right_inverse"):
                    with contextlib.suppress(NotImplementedError):
                        start = module.right_inverse(start)
        if not isinstance(start, Tensor | tuple | list):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(start).__name__}"
            )
        self.is_tensor = isinstance(start, Tensor)
        self.ntensors = 1 if self.is_tensor else len(start)
        for name, part in zip(self.names, [start] if self.is_tensor else start, strict=True):
            if isinstance(original, Parameter):
                kept = original if part is original else Parameter(part.detach(), original.requires_grad)
                self.register_parameter(name, kept)
            else:
                self.register_buffer(name, part)
        if not unsafe:
            self.check(self(), shape, dtype)

    @property
    def names(self) -> list[str]:
        """The names of what the modules start from."""
        return ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]

    def check(self, found: Any, shape: Any, dtype: Any) -> None:
        """Raise ValueError unless the tensor computed is like the one that was there before."""
        if not isinstance(found, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(found).__name__}.")
        if found.dtype != dtype:
            raise ValueError(
                "Registering a parametrization may not change the dtype of the tensor, unless `unsafe` flag is "
                f"enabled.\nunparametrized dtype: {dtype}\nparametrized dtype: {found.dtype}"
            )
        if found.shape != shape:
            raise ValueError(
                "Registering a parametrization may not change the shape of the tensor, unless `unsafe` flag is "
                f"enabled.\nunparametrized shape: {shape}\nparametrized shape: {found.shape}"
            )

    def right_inverse(self, value: Tensor) -> None:
        """Set what the modules start from so that they give a value. Raises RuntimeError where one cannot tell."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            parts: Any = [value] if self.is_tensor else value
            if len(parts) != self.ntensors:
                raise ValueError(f"'right_inverse' must return {self.ntensors} tensors, got {len(parts)}")
            for name, part in zip(self.names, parts, strict=True):
                kept = getattr(self, name)
                if part.dtype != kept.dtype:
                    raise ValueError(
                        f"'right_inverse' should return a tensor of dtype {kept.dtype}, not {part.dtype}"
                    )
                kept.data = part.detach()

    def forward(self) -> Tensor:
        """Compute the tensor."""
        first, *rest = list(self)
        found = first(*[getattr(self, name) for name in self.names])
        for module in rest:
            found = module(found)
        return found


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Any:
    """Have a module compute one of its parameters or buffers by parametrization(original) from now on.

    What the module had becomes `module.parametrizations[tensor_name].original`. Further parametrizations of the
    same tensor are applied after the earlier ones. unsafe: shape and type may change. Raises ValueError otherwise.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        known: Any = module.parametrizations[tensor_name]
        value = getattr(module, tensor_name)
        if not unsafe:
            with no_grad():
                known.check(parametrization(value), value.shape, value.dtype)
                if hasattr(parametrization, "right_inverse"):
                    known.check(parametrization.right_inverse(value), value.shape, value.dtype)
        known.append(parametrization)
        known.unsafe |= unsafe
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    parts = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        old = type(module)
        module.__class__ = type(f"Parametrized{old.__name__}", (old,), {"__module__": old.__module__})
        module.parametrizations = ModuleDict()
    setattr(type(module), tensor_name, computed(tensor_name))
    module.parametrizations[tensor_name] = parts
    return module


def computed(name: str) -> property:
    """Return the property that computes a tensor."""

    def get(self: Any) -> Tensor:
        if not cache.depth:
            return self.parametrizations[name]()
        key = id(self), name
        if key not in cache.found:
            cache.found[key] = self.parametrizations[name]()
        return cache.found[key]

    return property(get, lambda self, value: self.parametrizations[name].right_inverse(value))


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Return whether a module, or one tensor of it, is parametrized."""
    found = module._modules.get("parametrizations")
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Take the parametrizations of a tensor away; it keeps its value, or gets back its original."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parts: Any = module.parametrizations[tensor_name]
    if not leave_parametrized and not parts.is_tensor:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    original = parts._parameters.get(parts.names[0], parts._buffers.get(parts.names[0]))
    kept = original
    if leave_parametrized:
        with no_grad():
            value = getattr(module, tensor_name).detach()
        if isinstance(original, Parameter) and parts.is_tensor and value.shape == original.shape:
            original.data = value
        else:
            kept = Parameter(value, original.requires_grad) if isinstance(original, Parameter) else value
    kind = type(module)
    delattr(kind, tensor_name)
    del module.parametrizations[tensor_name]
    if isinstance(kept, Parameter):
        module.register_parameter(tensor_name, kept)
    else:
        module.register_buffer(tensor_name, kept)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = kind.__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """Return the class that a module had."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "type_before_parametrizations",
]
