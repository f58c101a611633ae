"""Modules that apply one function with fixed settings: activations, losses, pooling and the like."""

from __future__ import annotations

import inspect
from typing import Any

from .. import functional
from .module import Module

REQUIRED = inspect.Parameter.empty
KEYWORD, EITHER = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD


class Applied(Module):
    """A module that calls a function of `nn.functional` with its settings: its attributes, named by `__signature__`.

    Derived classes are made by `module_for`. `_tensors` are settings that hold a tensor or None and become
    buffers; `_shown` are those to print, None for all but inplace, which is printed where it is set.
    """

    _function = ""
    _tensors: tuple[str, ...] = ()
    _shown: tuple[str, ...] | None = None
    _modes = False
    __signature__: inspect.Signature

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()
        try:
            given = self.__signature__.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}(): {error}") from None
        given.apply_defaults()
        for name, value in given.arguments.items():
            if name in self._tensors:
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)
        self.check()

    def check(self) -> None:
        """Complete the settings, or refuse them."""

    def forward(self, *inputs: Any, **named: Any) -> Any:
        settings = {name: getattr(self, name) for name in self.__signature__.parameters}
        if self._modes:
            settings["training"] = self.training
        return getattr(functional, self._function)(*inputs, **named, **settings)

    def extra_repr(self) -> str:
        names = self._shown
        if names is None:
            names = tuple(n for n in self.__signature__.parameters if n != "inplace" or self.inplace)
        return ", ".join(
            str(getattr(self, n[1:])) if n.startswith("=") else f"{n}={getattr(self, n)!r}" for n in names
        )


def module_for(
    name: str,
    function: str,
    doc: str,
    *,
    base: type = Applied,
    shown: tuple[str, ...] | None = None,
    tensors: tuple[str, ...] = (),
    modes: bool = False,
    keyword_only: bool = False,
    module: str = "",
    **settings: Any,
) -> Any:
    """Return the class of modules that apply a function of `nn.functional`.

    settings: the function's further arguments, in order, with their defaults (REQUIRED for none). shown: what
    is printed; `=name` prints the value alone. modes: whether the function asks if the module is in training.
    """
    kind = KEYWORD if keyword_only else EITHER
    signature = inspect.Signature([inspect.Parameter(n, kind, default=value) for n, value in settings.items()])
    members = {
        "__doc__": doc,
        "__module__": module,
        "__signature__": signature,
        "_function": function,
        "_tensors": tensors,
        "_shown": shown,
        "_modes": modes,
    }
    return type(name, (base,), members)
