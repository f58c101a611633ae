"""Parameters that are computed from others by modules, each time they are looked up (torch.nn.utils.parametrize)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

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


class Check(NamedTuple):
    """What to say where a tensor has not the type or shape that one asks of it, "dtype" or "shape" standing for {}.

    no_tensor: what to say where it is no tensor at all, its type standing for {}.
    """

    no_tensor: str
    changed: str
    before: str
    after: str

    def check(self, found: Any, shape: Any, dtype: Any) -> None:
        """Raise ValueError unless a tensor has a type and a shape."""
        if not isinstance(found, Tensor):
            raise ValueError(self.no_tensor.format(type(found).__name__))
        for word, old, new in (("dtype", dtype, found.dtype), ("shape", shape, found.shape)):
            if old != new:
                lines = self.changed.format(word), f"{self.before.format(word)}: {old}", self.after.format(word)
                raise ValueError("\n".join(lines) + f": {new}")


NO_TENSOR = "A parametrization must return a tensor. Got {}."
CHANGED = "Registering a parametrization may not change the {} of the tensor, unless"
ALONE = Check(NO_TENSOR, f"{CHANGED} `unsafe` flag is enabled.", "unparametrized {}", "parametrized {}")


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
        if isinstance(start, Tensor) and start.dtype != dtype:
            raise ValueError(
                "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                f"original.dtype: {dtype}\nright_inverse(original).dtype: {start.dtype}"
            )
        for name, part in zip(self.names, [start] if self.is_tensor else start, strict=True):
            kept: Any = original if self.is_tensor else part
            if kept is not part:  # the tensor stays the one that optimizers know
                kept.data = part.detach()
            if isinstance(original, Parameter):
                kept = kept if self.is_tensor else Parameter(part.detach(), original.requires_grad)
                self.register_parameter(name, kept)
            else:
                self.register_buffer(name, kept)
        if not unsafe:
            ALONE.check(self(), shape, dtype)

    @property
    def names(self) -> list[str]:
        """The names of what the modules start from."""
        return ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]

    def right_inverse(self, value: Tensor) -> None:
        """Set what the modules start from so that they give a value. Raises RuntimeError where one cannot tell."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            for name, part in self.parts(value).items():
                getattr(self, name).data = part.detach()

    def parts(self, value: Any) -> dict[str, Tensor]:
        """Return what right_inverse gave by name. Raises ValueError where it is not what it once was."""
        kind = type(value).__name__
        if self.is_tensor and not isinstance(value, Tensor):
            raise ValueError(f"`right_inverse` should return a tensor. Got {kind}")
        if not self.is_tensor and not isinstance(value, Sequence):
            raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {kind}.")
        if not self.is_tensor and len(value) != self.ntensors:
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of "
                f"length {len(value)}."
            )
        parts = dict(zip(self.names, [value] if self.is_tensor else value, strict=True))
        for i, (name, part) in enumerate(parts.items()):
            wanted = getattr(self, name).dtype
            if part.dtype != wanted:
                returned = "The tensor" if self.is_tensor else f"Tensor {i}"
                raise ValueError(
                    f"{returned} returned by `right_inverse` has dtype {part.dtype} while `{name}` has dtype {wanted}"
                )
        return parts

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
            check_further(parametrization, tensor_name, value)
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
        module.__class__ = type(f"Parametrized{old.__name__}", (old,), {"__module__": ParametrizationList.__module__})
        module.parametrizations = ModuleDict()
    setattr(type(module), tensor_name, computed(tensor_name))
    module.parametrizations[tensor_name] = parts
    return module


def check_further(parametrization: Any, name: str, value: Tensor) -> None:
    """Raise ValueError unless a parametrization keeps the type and shape of a tensor, and its inverse does."""
    before = f"module.{name}.{{}}"
    forward = Check(
        NO_TENSOR, f"{CHANGED} the `unsafe` flag is enabled.", before, f"parametrization(module.{name}).{{}}"
    )
    inverse = Check(
        "parametrization.right_inverse must return a tensor. Got: {}",
        f"The tensor returned by parametrization.right_inverse must have the same {{}} as module.{name}, unless the "
        "`unsafe` flag is enabled.",
        before,
        "returned {}",
    )
    with no_grad():
        found = parametrization(value)
        forward.check(found, value.shape, value.dtype)
        if hasattr(parametrization, "right_inverse"):
            with contextlib.suppress(NotImplementedError):
                inverse.check(parametrization.right_inverse(found), value.shape, value.dtype)


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
        if isinstance(original, Parameter) and parts.is_tensor:
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


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Parametrize a module's tensors, or the one of a name, as another's are, by the same modules and parameters."""
    if not is_parametrized(from_module):
        return to_module
    known: Any = from_module.parametrizations
    for name in known if tensor_name is None else [tensor_name]:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach()))
        for part in known[name]:
            register_parametrization(to_module, name, part)
        theirs: Any = to_module.parametrizations
        for original in known[name].names:
            setattr(theirs[name], original, getattr(known[name], original))
    return to_module


__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]
