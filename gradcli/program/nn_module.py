"""Modules defined in a Python file: inputs are those of forward and all parameters."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..errors import GradcliError
from ..func.functional_call import functional_call
from .failures import blame_user_code
from .function import FunctionProgram
from .parameters import pass_by_name


class ModuleProgram(FunctionProgram):
    """A module; its parameters, called weight, 0.weight and so on, have their own values unless given."""

    def __init__(self, module: Any, title: str, path: str, dtype: Any = None):
        super().__init__(module.forward, title, path, dtype)
        self.module = module
        self.weights = {name: p for name, p in module.named_parameters() if p.requires_grad}
        taken = [p.name for p in self.parameters if p.name in self.weights]
        if taken:
            raise GradcliError(
                f"{title}: '{taken[0]}' is both a parameter of the module and an argument of forward",
                hint="rename the argument of forward",
                kind="name",
            )

    def input_names(self, given: Iterable[str] = ()) -> list[str]:
        return [*super().input_names(), *self.weights]

    def defaults(self) -> dict[str, np.ndarray]:
        return {name: np.array(p._data) for name, p in self.weights.items()}

    def modules(self) -> dict[str, Any]:
        return {"": self.module}

    def check_shapes(self, arguments: dict[str, Any]) -> None:
        for name, p in self.weights.items():
            if name in arguments and arguments[name]._data.shape != p._data.shape:
                raise GradcliError(
                    f"'{name}' has shape {p._data.shape} in the module; the given value has shape "
                    f"{arguments[name]._data.shape}",
                    kind="shape",
                )

    def result(self, arguments: dict[str, Any]) -> Any:
        inputs = {name: x for name, x in arguments.items() if name not in self.weights}
        weights = {name: x for name, x in arguments.items() if name in self.weights}
        bare, named = pass_by_name(self.parameters, inputs)
        return functional_call(self.module, weights, tuple(bare), named)


def module_program(module: Any, title: str, path: str, dtype: Any) -> ModuleProgram:
    """Return the program of a module, or of a class of modules that can be made without arguments."""
    if isinstance(module, type):
        needed = [
            p.name
            for p in inspect.signature(module).parameters.values()
            if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ]
        if needed:
            raise GradcliError(
                f"{title} needs {', '.join(repr(name) for name in needed)} to be made",
                hint=f"make one in the file, net = {module.__name__}(...), and write {path}:net",
                kind="usage",
            )
        with blame_user_code(path, title):
            module = module()
    return ModuleProgram(module, title, path, dtype)
