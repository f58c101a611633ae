"""Programs from the functions, custom Functions and modules that a Python file defines."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ..errors import GradcliError, TargetError, check_known
from ..func.reverse import functional_call
from ..tape.function import Function, has_setup
from ..tape.modes import methods_of_arrays
from ..tape.tensor import Tensor
from ..user.loading import check_callable
from ..user.tracebacks import blame_user_code
from .arguments import (
    WHOLE_ANNOTATIONS,
    WRAP_ADVICE,
    annotation_name,
    default_arrays,
    forward_parameters,
    missing_values,
    named_parameters,
    pass_by_name,
)
from .base import UNPREPARED, Names, Prepare, Program, Run, Values, as_leaf, is_module, line_of
from .meaning import means_arrays

NUMERIC_COMMANDS = ("grad", "jacobian", "hessian", "jvp", "plot", "sweep")
SCIPY_ADVICE = "gradcli differentiates NumPy functions, but not those of SciPy and the like"
ARRAY_ADVICE = f"write np.stack([a, b]) for np.array([a, b]), and x for np.asarray(x); {SCIPY_ADVICE}"
"""A hint where NumPy would turn a Tensor into an array: np.array and SciPy do that."""


class FunctionProgram(Program):
    """A function of Tensors; parameters with defaults may be left out.

    Parameters annotated as whole numbers receive whole numbers, and are not differentiated. apart: whether to return
    several outputs as they are instead of raising an error. arrays: whether methods in it have NumPy's meaning; None if
    that is not known yet.
    """

    apart = False
    arrays: bool | None = None
    weights: Mapping[str, Any] = {}  # parameters of a module, with their values
    modules: Mapping[str, Any] = {}  # by name; "" is the module itself

    def __init__(self, function: Callable, title: str, path: str, dtype: Any, command: str = "grad"):
        self.function, self.title, self.path, self.dtype, self.command = function, title, path, dtype, command
        try:
            self.parameters = named_parameters(function, title)
        except (TypeError, ValueError):
            raise GradcliError(f"cannot determine the parameters of {title}", hint=WRAP_ADVICE) from None
        self.whole = {
            p.name: kind for p in self.parameters if (kind := annotation_name(p.annotation)) in WHOLE_ANNOTATIONS
        }

    def run(self, given: Values, *, wrt: Names = None, out: str | None = None, prepare: Prepare = UNPREPARED) -> Run:
        leaves, wanted, counts = self.inputs(given, wrt, out)
        arguments = {name: t if name in wanted else t.detach() for name, t in leaves.items()}
        for name, module in self.modules.items():
            prepare.module(name, module)
        self.settle_meaning(leaves, counts)
        output = self.call({**arguments, **counts})
        prepare.tensors(leaves)
        return Run({name: leaves[name] for name in wanted}, output, dict(leaves), where=line_of, modules=self.modules)

    def inputs(
        self, given: Values, wrt: Names = None, out: str | None = None
    ) -> tuple[dict[str, Tensor], list[str], dict[str, Any]]:
        """Return leaves by name, the names to differentiate, and the whole numbers by name. Raises GradcliError."""
        names = self.input_names()
        check_known(given, names, "value")
        weights = {name: np.array(p._data) for name, p in self.weights.items()}
        given = {**default_arrays(self.parameters, given), **weights, **given}
        if missing := self.missing(given):
            raise missing_values(self.title, missing)
        counts = self.whole_numbers(given)
        known = [n for n in names if n in given and n not in counts]
        wanted = [n for n in known if n not in self.constants] if wrt is None else list(wrt)
        for name in counts.keys() & wanted:
            raise GradcliError(f"--wrt: '{name}' takes whole numbers, so it has no derivative", kind="value")
        check_known(wanted, known, "--wrt")
        if out is not None:
            raise GradcliError("--out names a variable of a program; a function has one output")
        return {name: as_leaf(given[name], self.dtype, name) for name in known}, wanted, counts

    def settle_meaning(self, leaves: Mapping[str, Tensor], counts: Mapping[str, Any]) -> None:
        """Find out what the methods in the function mean. Raises TargetError if that is open and makes a difference."""
        if self.arrays is None:

            def call(convert: Callable[[np.ndarray], Any]) -> Any:
                return self.result({**{name: convert(t._data) for name, t in leaves.items()}, **counts})

            self.arrays = means_arrays(self.function, self.title, call)

    def whole_numbers(self, given: Values) -> dict[str, Any]:
        """Return the values of parameters that take whole numbers: ints, and Tensors of int64."""
        values: dict[str, Any] = {}
        for name in self.whole.keys() & given.keys():
            raw = np.asarray(given[name])
            with np.errstate(invalid="ignore"):
                whole = raw.astype(np.int64) if raw.dtype.kind in "iuf" else None
            if whole is None or (whole != raw).any():
                raise GradcliError(f"{self.title}: '{name}' takes whole numbers", kind="value")
            values[name] = int(whole) if self.whole[name] == "int" and not whole.ndim else Tensor._wrap(whole, None)
        return values

    def missing(self, given: Mapping[str, Any]) -> list[str]:
        empty = inspect.Parameter.empty
        return [p.name for p in self.parameters if p.name not in given and p.default is empty]

    def input_names(self, given: Iterable[str] = ()) -> list[str]:
        return [*(p.name for p in self.parameters), *self.weights]

    def as_function(self, given: Values, out: str | None = None) -> tuple[Callable, dict[str, np.ndarray]]:
        leaves, names, counts = self.inputs(given, out=out)
        self.check_shapes(leaves)
        constants = {name: leaf.detach() for name, leaf in leaves.items() if name not in names}
        self.settle_meaning(leaves, counts)

        def call(*tensors: Any) -> Any:
            return self.call({**constants, **dict(zip(names, tensors, strict=True)), **counts})

        return call, {name: np.array(leaves[name]._data) for name in names}

    @property
    def instead(self) -> str:
        """What to do with a function that the engine cannot record."""
        command = self.command if self.command in NUMERIC_COMMANDS else "grad"
        check, numeric = f"gradcli gradcheck {self.title} --grad g", f"gradcli {command} {self.title} --numeric"
        return f"to check a hand-written gradient, run '{check}'; for a numeric derivative, '{numeric}'"

    def call(self, arguments: dict[str, Tensor]) -> Any:
        self.check_shapes(arguments)
        try:
            with blame_user_code(self.path, self.title), methods_of_arrays(bool(self.arrays)):
                result = self.result(arguments)
        except TargetError as error:
            if "would lose its graph" not in error.message:
                raise
            joined = "NumPy would lose" in error.message
            error.message = error.message.partition(": use tensor.detach()")[0]
            error.hint = f"{ARRAY_ADVICE if joined else SCIPY_ADVICE}; {self.instead}"
            raise
        if self.apart and isinstance(result, tuple | list | dict):
            return result
        if not isinstance(result, Tensor):
            hint = "gradcheck accepts several outputs" if isinstance(result, tuple | list | dict) else None
            if isinstance(result, int | float | np.ndarray | np.generic):
                hint = f"{self.instead}; otherwise compute with gradcli's or NumPy's functions on the arguments, "
                hint += "without item(), numpy() or detach()"
            raise TargetError(f"{self.title} returned {type(result).__name__}, not a Tensor", hint=hint)
        return result

    def check_shapes(self, arguments: dict[str, Any]) -> None:
        """Raise GradcliError if a parameter of the module is given a value of another shape."""
        for name, p in self.weights.items():
            if name in arguments and arguments[name]._data.shape != p._data.shape:
                given = f"the given value has shape {arguments[name]._data.shape}"
                raise GradcliError(f"'{name}' has shape {p._data.shape} in the module; {given}", kind="shape")

    def result(self, arguments: dict[str, Tensor]) -> Any:
        positional, named = pass_by_name(self.parameters, arguments)
        return self.function(*positional, **named)


class ModuleProgram(FunctionProgram):
    """A module; its parameters (weight, 0.weight and so on) keep their values unless others are given."""

    arrays = False

    def __init__(self, module: Any, title: str, path: str, dtype: Any, command: str = "grad"):
        super().__init__(module.forward, title, path, dtype, command)
        self.module, self.modules = module, {"": module}
        self.weights = {name: p for name, p in module.named_parameters() if p.requires_grad}
        if taken := [p.name for p in self.parameters if p.name in self.weights]:
            message = f"{title}: '{taken[0]}' is both a parameter of the module and an argument of forward"
            raise GradcliError(message, hint="rename the argument of forward", kind="name")

    def result(self, arguments: dict[str, Any]) -> Any:
        inputs = {name: x for name, x in arguments.items() if name not in self.weights}
        weights = {name: x for name, x in arguments.items() if name in self.weights}
        positional, named = pass_by_name(self.parameters, inputs)
        return functional_call(self.module, weights, tuple(positional), named)


def module_program(module: Any, title: str, path: str, dtype: Any, command: str) -> ModuleProgram:
    """Return the program of a module, or of a class of modules whose constructor needs no arguments."""
    if isinstance(module, type):
        parameters = inspect.signature(module).parameters.values()
        starred = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        if needed := [p.name for p in parameters if p.kind not in starred and p.default is p.empty]:
            hint = f"make one in the file, net = {module.__name__}(...), and write {path}:net"
            raise GradcliError(f"{title} cannot be made without {', '.join(repr(name) for name in needed)}", hint=hint)
        with blame_user_code(path, title):
            module = module()
    return ModuleProgram(module, title, path, dtype, command)


def as_function(function: Any) -> Callable:
    parameters = forward_parameters(function, has_setup(function))

    def call(**given: Any) -> Any:
        return function.apply(*(given.get(p.name, p.default) for p in parameters))

    call.__signature__ = inspect.Signature([p.replace(kind=p.KEYWORD_ONLY) for p in parameters])  # type: ignore[attr-defined]
    return call


def native_program(function: Any, title: str, path: str, dtype: Any, command: str = "grad") -> Program:
    """Return the program of a function, custom Function or module that gradcli's engine runs.

    command: the one that asks, for hints.
    """
    if isinstance(function, type) and issubclass(function, Function):
        return FunctionProgram(as_function(function), title, path, dtype, command)
    if is_module(function):
        return module_program(function, title, path, dtype, command)
    return FunctionProgram(check_callable(function, title), title, path, dtype, command)
