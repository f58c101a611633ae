"""Hooks from the command line: NAME=ACTION; for modules also NAME.forward=ACTION and NAME.forward_pre=ACTION."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import GradcliError, visible
from ..lang import tree
from ..lang.evaluate import Evaluator, lift_number
from ..lang.limits import CONSTANTS
from ..lang.parse import parse
from ..request import Request
from ..tape.modes import enable_grad, no_grad
from ..tape.printing import tensor_text
from ..tape.tensor import Tensor
from ..user.address import split_name
from ..user.loading import Folders, load_module
from ..user.tracebacks import blame_user_code
from .target import read_source, refuse_python


class Hook:
    """A function that runs on the gradient of a named tensor; its result, if any, replaces the gradient."""

    def __init__(self, name: str, action: str, request: Request, stream: Any):
        self.name, self.action, self.stream = name, action, stream
        self.__name__ = f"{name}={action}"
        self.from_user: Any = None
        if action == "print":
            self.function: Any = functools.partial(self.show_as, "")
        elif ".py:" in action:
            self.function = self.from_user = self.from_file(action, request)
        else:
            self.function = self.from_expression(action, request)

    def __call__(self, gradient: Tensor) -> Any:
        return self.function(gradient)

    def show_as(self, what: str, value: Any) -> None:
        text = tensor_text(value) if isinstance(value, Tensor) else repr(value)
        print(visible(f"{self.name}{what}: {text}"), file=self.stream)

    def from_expression(self, action: str, request: Request) -> Any:
        program = parse(action)
        for statement in program.statements:
            for node in statement.value.walk():
                if isinstance(node, tree.Name) and node.name != "g" and node.name not in CONSTANTS:
                    message = f"--hook {self.name}: the expression may use only the gradient, 'g', not '{node.name}'"
                    hint = "for example --hook y='g*2' or --hook y='clip(g, -1, 1)'"
                    raise GradcliError(message, span=program.span(node), hint=hint, kind="name")

        def function(gradient: Tensor, recorded: bool = False) -> Tensor:
            with enable_grad() if recorded else no_grad():
                result = lift_number(Evaluator(program, request).run({"g": gradient}))
            given, made, span = gradient._data, result._data, program.span(program.statements[-1].value)
            if made.shape != given.shape:
                what = f"the expression changes the gradient's shape from {given.shape} to {made.shape}"
                raise GradcliError(f"--hook {self.name}: {what}", span=span, kind="shape")
            if made.dtype.kind == "c" and given.dtype.kind != "c":
                message = f"--hook {self.name}: the expression makes a real gradient complex"
                raise GradcliError(message, span=span, hint="take real(...) of it", kind="value")
            if recorded or result._data.dtype == gradient._data.dtype:
                return result
            return Tensor._wrap(np.asarray(result._data, gradient._data.dtype)[()], None)

        return function

    def from_file(self, action: str, request: Request) -> Any:
        path, name = split_name(action)
        refuse_python(path, request)
        folders = Folders()
        function = getattr(load_module(path, sys.stderr, folders, read_source(path)), str(name), None)
        if not callable(function):
            raise GradcliError(f"--hook {self.name}: {path} defines no function '{name}'", kind="name")

        def call(*given: Any) -> Any:
            with folders.of(path), blame_user_code(path, f"--hook {self.name}={action}"):
                return function(*given)

        return call


MODULE_HOOKS = {
    "": ("register_full_backward_hook", ("grad_output", "grad_input")),
    ".forward": ("register_forward_hook", ("input", "output")),
    ".forward_pre": ("register_forward_pre_hook", ("input",)),
}
"""For each ending of a name: the method that registers a hook, and the hook's arguments; it may replace the last."""


def attach(name: str, module: Any, hooks: Sequence[Hook], known: dict[str, list]) -> None:
    """Attach the hooks that name a module. known: the modules that already have the hooks, by name."""
    for suffix, (register, _) in MODULE_HOOKS.items():
        done = known.setdefault(name + suffix, [])
        if not any(x is module for x in done):
            done.append(module)
            for hook in hooks:
                if hook.name == name + suffix:
                    getattr(module, register)(as_module_hook(hook, suffix))


def as_module_hook(hook: Hook, suffix: str) -> Callable:
    if hook.from_user is not None:
        return hook.from_user

    def call(module: Any, *values: Any) -> Any:
        seen = list(zip(MODULE_HOOKS[suffix][1], values if suffix else reversed(values), strict=True))
        if hook.action == "print":
            for word, value in seen:
                for i, x in enumerate(value if isinstance(value, tuple) else (value,)):
                    what = f" {word}[{i}]" if isinstance(value, tuple) else f" {word}"
                    hook.show_as(what, x.detach() if isinstance(x, Tensor) else x)
            return None
        word, value = seen[-1]
        recorded, parts = word != "grad_input", value if isinstance(value, tuple) else (value,)
        new = tuple(hook.function(x, recorded) if isinstance(x, Tensor) and x.dtype.kind in "fc" else x for x in parts)
        return new if isinstance(value, tuple) else new[0]

    return call
