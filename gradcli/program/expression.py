"""Programs of the expression language: parsed and analysed for their inputs, never executed as Python."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ..errors import GradcliError, check_known, did_you_mean, refuse_unknown
from ..lang import tree
from ..lang.evaluate import CONSTRUCTORS, Evaluator, find_function, lift_number, not_called
from ..lang.limits import CONSTANTS
from ..request import Request
from ..tape.dtypes import defaults
from ..tape.modes import no_grad
from .base import UNPREPARED, Names, Prepare, Program, Run, Values, as_leaf


class ExpressionProgram(Program):
    def __init__(self, parsed: tree.ParsedProgram, title: str, request: Request | None = None, dtype: Any = None):
        self.parsed = parsed
        self.title = title
        self.request = request or Request()
        self.dtype = dtype or defaults.float
        self.bound = list(dict.fromkeys(s.target for s in parsed.statements if s.target is not None))
        self.literals = dict.fromkeys(literal_names(parsed))

    def free_names(self, given: Iterable[str] = ()) -> dict[str, tree.Expr]:
        """Return names read before they are bound, each with its first node; constants such as pi only if given."""
        return {name: node for name, node in self.parsed.free.items() if name not in CONSTANTS or name in given}

    def input_names(self, given: Iterable[str] = ()) -> list[str]:
        """Return the names of the inputs: free names, and those bound once to a literal or a constructor."""
        free = self.free_names(given)
        return [*free, *(name for name in self.literals if name not in free)]

    def missing(self, given: Mapping[str, Any]) -> list[str]:
        return [name for name in self.free_names(given) if name not in given]

    def run(self, given: Values, *, wrt: Names = None, out: str | None = None, prepare: Prepare = UNPREPARED) -> Run:
        names = self.input_names(given)
        self.check_given(given, names)
        wanted = set(names) if wrt is None else dict.fromkeys(wrt)
        check_known(wanted, names, "--wrt")
        evaluator = Evaluator(self.parsed, self.request)
        values: dict[Any, Any] = dict(given)
        with no_grad():
            for statement in self.parsed.statements:
                if statement.target in self.literals and statement.target not in given:
                    values[statement.target] = lift_number(evaluator.value(statement.value))._data
        leaves = {name: as_leaf(values[name], self.dtype, name) for name in names if name in wanted}
        fixed = {name: as_leaf(values[name], self.dtype, name).detach() for name in names if name not in wanted}
        output = evaluator.run({**leaves, **fixed}, out)
        if isinstance(output, tuple):
            raise GradcliError("the output is a tuple", hint="choose one part of it, as in `f(x)[0]`", kind="shape")
        tensor = lift_number(output)
        prepare.tensors(evaluator.names)
        targets = [statement.target for statement in self.parsed.statements]
        name = out or (None if None in targets else targets[-1])
        return Run(leaves, tensor, evaluator.names, name, evaluator.places.get, evaluator.first_nan)

    def as_function(self, given: Values, out: str | None = None) -> tuple[Callable, dict[str, np.ndarray]]:
        run = self.run(given, out=out)
        names = list(run.leaves)

        def call(*tensors: Any) -> Any:
            evaluator = Evaluator(self.parsed, self.request)
            return lift_number(evaluator.run(dict(zip(names, tensors, strict=True)), out))

        return call, {name: np.array(leaf._data) for name, leaf in run.leaves.items()}

    def check_given(self, given: Mapping[str, Any], names: list[str]) -> None:
        """Raise GradcliError if a given name is not an input, or an input has no value."""
        for name in given:
            if name not in names:
                for node in (n for s in self.parsed.statements for n in s.value.walk() if isinstance(n, tree.Call)):
                    if node.function == name and find_function(name) is None:
                        raise not_called(name, self.parsed.span(node))
                if name in self.bound:
                    message = f"'{name}' is computed by the program, so it cannot be given a value"
                    hint = f"the inputs are {', '.join(names)}" if names else "the program has no inputs"
                    raise GradcliError(message, hint=hint, kind="name")
                one = next((x for x in names if x.isalpha() and 1 < len(x) < 4 and name in x and x not in given), "")
                if one and len(name) == 1:
                    hint = f"'{one}' is one name; a product needs *: {'*'.join(one)}"
                    raise GradcliError(f"the program has no input '{name}'", hint=hint, kind="name")
                refuse_unknown([name], names, "the program has no input", "its inputs are" if names else "it has none")
        if missing := self.missing(given):
            raise self.missing_error(missing, given, self.free_names(given))

    def missing_error(self, missing: list[str], given: Mapping[str, Any], free: dict[str, tree.Expr]) -> GradcliError:
        words = " ".join(f"{name}=1" for name in missing)
        command = f"gradcli {self.request.command}"
        if missing == [self.title] and self.request.expression is None:  # probably the name of a file or a folder
            from ..lang.tables import nearest_file

            advice = f"if it is a formula, give the input a value: {command} {self.title} {self.title}=1"
            hint = " ".join(filter(None, (nearest_file(self.title), advice)))
            return GradcliError(f"no such file or folder: {self.title}", hint=hint, kind="file")
        from ..lang.reword import no_value_hint

        known = next(filter(None, (no_value_hint(name, self.parsed.source) for name in missing)), None)
        near = [(name, did_you_mean(name, [*self.bound, *given])) for name in missing]
        advice = next((f"'{name}': {text} or " for name, text in near if text), "")
        listed = ", ".join(f"'{name}'" for name in missing)
        line = " ".join([shlex.quote(self.title), *(show_value(*item) for item in given.items()), words])
        hint = known or f"{advice}give {'it' if len(missing) == 1 else 'them'} on the command line: {command} {line}"
        return GradcliError(f"no value for {listed}", span=self.parsed.span(free[missing[0]]), hint=hint, kind="name")


def show_value(name: str, value: np.ndarray) -> str:
    """Return NAME=VALUE for the command line; NAME=... for large values."""
    if value.size > 12:
        return f"{name}=..."
    if value.dtype == object:
        value = value.astype(complex)  # exact numbers
        value = value.real if not value.imag.any() else value
    return shlex.quote(f"{name}={value.tolist()}") if value.ndim else shlex.quote(f"{name}={value.item():g}")


def literal_names(parsed: tree.ParsedProgram) -> list[str]:
    """Return the names that are bound once, to a literal or an array constructor, and never changed."""
    bound = [s for s in parsed.statements if s.target is not None]
    counts = Counter(s.target for s in bound)
    names = set(map(str, counts))
    once = (s for s in bound if counts[s.target] == 1 and s.index is None)
    return [str(s.target) for s in once if is_literal(s.value, names)]


def is_literal(node: tree.Expr, bound: set[str]) -> bool:
    for part in node.walk():
        match part:
            case tree.Call(function=name) if name not in CONSTRUCTORS:
                return False
            case tree.Name(name=name) if name not in CONSTANTS or name in bound:
                return False
            case tree.Binary(op=op) if op not in ("add", "subtract", "multiply", "divide", "power"):
                return False
            case tree.Item() | tree.Property() | tree.Choice():
                return False
    return not isinstance(node, tree.Constant)
