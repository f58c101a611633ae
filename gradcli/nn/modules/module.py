"""Module: what layers and networks are made of."""

from __future__ import annotations

from typing import Any

from ...tape.dtypes import naming
from ...tape.leaf import clear_grad
from ...tape.parameter import Parameter
from ...tape.tensor import Tensor
from .call import call_with_hooks
from .convert import Convertible
from .hooks import everywhere
from .state import Stateful
from .walk import Walkable

REGISTRIES: dict[str, tuple[str, Any, str]] = {
    "_parameters": ("parameter", (), "nn.Parameter"),
    "_modules": ("child module", (), "nn.Module"),
    "_buffers": ("buffer", Tensor, "Tensor"),
}
"""For each, what it holds, the type of values that need no registration of their own, and what an error asks for."""


class Module(Walkable, Stateful, Convertible):
    """A function with parameters, and with modules inside it.

    Derived classes call `super().__init__()`, assign parameters and modules as attributes, which registers
    them, and define `forward`.
    """

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    _non_persistent_buffers_set: set[str]

    def __init__(self) -> None:
        self.__dict__.update(
            training=True, _parameters={}, _buffers={}, _modules={}, _non_persistent_buffers_set=set()
        )
        self._make_hook_lists()
        self._make_state_hooks()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the result: what derived classes define."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call forward, and the hooks around it."""
        if (
            self._forward_hooks
            or self._forward_pre_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
            or everywhere._forward_hooks
            or everywhere._forward_pre_hooks
            or everywhere._backward_hooks
            or everywhere._backward_pre_hooks
        ):
            return call_with_hooks(self, args, kwargs)
        return self.forward(*args, **kwargs)

    # -- registration -----------------------------------------------------------------------------

    def _check_name(self, kind: str, name: Any, registered: dict) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {type(name).__name__}")
        if "." in name:
            got = f", got: {name}" if kind == "module" else ""
            raise KeyError(f'{kind} name can\'t contain "."{got}')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in registered:
            raise KeyError(f"attribute '{name}' already exists")

    def _hold(self, registry: str, name: str, value: Any) -> None:
        """Put a value into a registry; hooks on registration may replace it."""
        for hook in list(everywhere.registration_hooks[registry].values()):
            result = hook(self, name, value)
            value = value if result is None else result
        self.__dict__[registry][name] = value

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, or None for one that is left out. Raises KeyError and TypeError as PyTorch does."""
        self._check_name("parameter", name, self.__dict__.get("_parameters", {}))
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{type_name(param)}' object to parameter '{name}' "
                f"({naming.prefix}.nn.Parameter or None required)"
            )
        self._hold("_parameters", name, param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is no parameter but part of the state, such as a running mean.

        persistent: whether it is in the state_dict.
        """
        self._check_name("buffer", name, self.__dict__.get("_buffers", {}))
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{type_name(tensor)}' object to buffer '{name}' "
                f"({naming.prefix}.Tensor or None required)"
            )
        self._hold("_buffers", name, tensor)
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child under a name. Raises KeyError and TypeError as PyTorch does."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type_name(module)} is not a Module subclass")
        self._check_name("module", name, self.__dict__.get("_modules", {}))
        self._hold("_modules", name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """The same as add_module."""
        self.add_module(name, module)

    # -- attributes -------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        known = self.__dict__
        for registry in REGISTRIES:
            if registry in known and name in known[registry]:
                return known[registry][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        known = self.__dict__
        if isinstance(value, Parameter):
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if "_modules" not in known:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "_modules")
            self._hold("_modules", name, value)
        else:
            for registry, (kind, accepted, expected) in REGISTRIES.items():
                if name in known.get(registry, ()):
                    if value is not None and not isinstance(value, accepted):
                        raise TypeError(
                            f"cannot assign '{type_name(value)}' as {kind} '{name}' "
                            f"({naming.prefix}.{expected} or None expected)"
                        )
                    return self._hold(registry, name, value)
            object.__setattr__(self, name, value)

    def _forget(self, name: str, kept: str) -> None:
        """Take a name out of everywhere but one registry, before it is registered there."""
        known = self.__dict__
        for registry in REGISTRIES:
            if registry != kept:
                known.get(registry, {}).pop(name, None)
        known.pop(name, None)
        known.get("_non_persistent_buffers_set", set()).discard(name)

    def __delattr__(self, name: str) -> None:
        for registry in REGISTRIES:
            if name in self.__dict__.get(registry, ()):
                del self.__dict__[registry][name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self._parameters, *self._buffers, *self._modules})

    # -- modes --------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Module:
        """Set the module and all in it to training, where Dropout and BatchNorm behave differently."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self) -> Module:
        """Set the module and all in it to evaluation."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Have all parameters record, or not."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients of all parameters: to None, or to zeros."""
        for module in self.modules():
            for parameter in module._parameters.values():
                if parameter is not None:
                    clear_grad(parameter, set_to_none)

    # -- printing ---------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Return what to print between the parentheses."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {indent(repr(child))}" for name, child in self._modules.items()]
        return listing(self._get_name(), lines, children)


def listing(name: str, extra: list[str], children: list[str]) -> str:
    """Return Name(extra) in one line, or with one line for each child."""
    if len(extra) == 1 and not children:
        return f"{name}({extra[0]})"
    lines = extra + children
    return f"{name}(\n  " + "\n  ".join(lines) + "\n)" if lines else f"{name}()"


def indent(text: str) -> str:
    """Return a text with all lines but the first moved right by two."""
    return text.replace("\n", "\n  ")


def type_name(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"torch.{value.dtype.title}Tensor"
    return type(value).__name__ if not isinstance(value, type) else value.__name__


# -- hooks on all modules -------------------------------------------------------------------------

register_module_forward_pre_hook = everywhere.register_forward_pre_hook
register_module_forward_hook = everywhere.register_forward_hook
register_module_full_backward_pre_hook = everywhere.register_full_backward_pre_hook
register_module_full_backward_hook = everywhere.register_full_backward_hook
register_module_backward_hook = everywhere.register_backward_hook
register_module_parameter_registration_hook = everywhere.register_parameter_registration_hook
register_module_buffer_registration_hook = everywhere.register_buffer_registration_hook
register_module_module_registration_hook = everywhere.register_module_registration_hook
