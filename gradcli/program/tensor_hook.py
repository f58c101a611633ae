"""Hooks given on the command line: NAME=ACTION."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ..errors import GradcliError
from ..lang import tree
from ..lang.evaluate import Evaluator
from ..lang.operands import lift_number
from ..lang.parse import parse
from ..lang.settings import CONSTANTS, Settings
from ..tape.modes import enable_grad, no_grad
from ..tape.printing import tensor_text
from ..tape.tensor import Tensor
from .failures import blame_user_code
from .import_file import load_module
from .import_scope import Folders


class Hook:
    """A function to run on the gradient of a named tensor; what it returns replaces the gradient."""

    def __init__(self, name: str, action: str, settings: Settings, safe: bool, stream: Any):
        self.name = name
        self.action = action
        self.__name__ = f"{name}={action}"
        self.stream = stream
        if action == "print":
            self.function: Any = self.show
        elif ".py:" in action:
            self.from_user = self.from_file(action, safe)
            self.function = self.from_user
        else:
            self.function = self.from_expression(action, settings)

    from_user: Any = None

    def __call__(self, gradient: Tensor) -> Any:
        return self.function(gradient)

    def show(self, gradient: Tensor) -> None:
        self.show_as("", gradient)

    def show_as(self, what: str, value: Any) -> None:
        """Print a value under the hook's name and a word for what it is."""
        text = tensor_text(value) if isinstance(value, Tensor) else repr(value)
        print(f"{self.name}{what}: {text}", file=self.stream)

    def from_expression(self, action: str, settings: Settings) -> Any:
        """Return the function g -> value of an expression in g."""
        program = parse(action)
        for statement in program.statements:
            for node in statement.value.walk():
                if isinstance(node, tree.Name) and node.name != "g" and node.name not in CONSTANTS:
                    raise GradcliError(
                        f"--hook {self.name}: the action may use only the gradient, 'g', not '{node.name}'",
                        span=program.span(node),
                        hint="for example --hook y='g*2' or --hook y='clip(g, -1, 1)'",
                        kind="name",
                    )

        def function(gradient: Tensor, recorded: bool = False) -> Tensor:
            with enable_grad() if recorded else no_grad():
                result = lift_number(Evaluator(program, settings).run({"g": gradient}))
            if result._data.shape != gradient._data.shape:
                raise GradcliError(
                    f"--hook {self.name}: the action changed the gradient's shape from {gradient._data.shape} to "
                    f"{result._data.shape}",
                    span=program.span(program.statements[-1].value),
                    kind="shape",
                )
            if result._data.dtype.kind == "c" and gradient._data.dtype.kind != "c":
                raise GradcliError(
                    f"--hook {self.name}: the action made a real gradient complex",
                    span=program.span(program.statements[-1].value),
                    hint="take real(...) of it",
                    kind="value",
                )
            if recorded or result._data.dtype == gradient._data.dtype:
                return result
            return Tensor._wrap(np.asarray(result._data, gradient._data.dtype)[()], None)

        return function

    def from_file(self, action: str, safe: bool) -> Any:
        """Return the function that FILE.py:NAME names."""
        path, _, name = action.partition(".py:")
        path += ".py"
        if safe:
            raise GradcliError(f"--safe: {path} is Python, which would have to be executed", kind="usage")
        from .target import read_source

        source = read_source(path)
        folders = Folders()
        module = load_module(path, sys.stderr, folders, source)
        function = getattr(module, name, None)
        if not callable(function):
            raise GradcliError(f"--hook {self.name}: {path} defines no function '{name}'", kind="name")

        def call(*given: Any) -> Any:
            with folders.of(path), blame_user_code(path, f"--hook {self.name}={action}"):
                return function(*given)

        return call
