"""Formulas that claim derivatives of an expression program."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import GradcliError, refuse_unknown, unknown_name
from ..lang import tree
from ..lang.evaluate import Evaluator, lift_number
from ..lang.limits import CONSTANTS, as_written
from ..lang.parse import parse
from ..program.expression import ExpressionProgram
from ..request import Request
from ..tape.modes import no_grad
from .claim import Arrays, in_shape
from .hand_written import HandWritten
from .recorded import Traced, new_tensor

OF_INPUTS = re.compile(r"\s*([^\W\d]\w*)\s*(?:,\s*([^\W\d]\w*)\s*)?=(?!=)")
"""The prefix of a formula: NAME= or, for second derivatives, NAME,NAME=."""


class Formula(NamedTuple):
    """A formula for a derivative with respect to `names`. vectors: the names of vectors that it may use."""

    option: str
    names: tuple[str, ...]
    parsed: tree.ParsedProgram
    vectors: tuple[str, ...] = ()


class FormulaProgram:
    """An expression program and the formulas that options claim for its derivatives."""

    def __init__(self, program: ExpressionProgram, request: Request):
        self.program, self.request = program, request
        self.inputs = program.input_names([*request.values, *request.shapes])
        if not self.inputs:
            raise GradcliError("the program has no inputs, so there is nothing to check", kind="name")
        self.names = {*self.inputs, *program.bound}

    def formulas(self, option: str) -> dict[tuple[str, ...], Formula]:
        given = getattr(self.request, option)
        formulas: dict[tuple[str, ...], Formula] = {}
        for text in () if given is None else [given] if isinstance(given, str) else given:
            for formula in self.read(option, text):
                if formula.names in formulas:
                    raise GradcliError(f"--{option}: there are two formulas for {','.join(formula.names)}")
                known = self.names.union(formula.vectors)
                for node in formula.parsed.statements[0].value.walk():
                    if isinstance(node, tree.Name) and node.name not in known and node.name not in CONSTANTS:
                        message, span = f"--{option}: the program has no '{node.name}'", formula.parsed.span(node)
                        raise unknown_name(message, node.name, sorted(known), "a formula may use", span)
                formulas[formula.names] = formula
        missing = [name for name in self.request.wrt or () if formulas and not any(name in names for names in formulas)]
        if missing:
            hint = f"add --{option} {missing[0]}=FORMULA, or leave it out of --wrt"
            raise GradcliError(f"--{option} has no formula for '{missing[0]}', which --wrt names", hint=hint)
        return formulas

    def read(self, option: str, text: str) -> Iterator[Formula]:
        """Yield the formulas in the text of an option: one, or a list with one for each input."""
        before = OF_INPUTS.match(text)
        names = () if before is None else tuple(as_written(name) for name in before.groups() if name)
        text = (text if before is None else text[before.end() :]).strip()
        try:
            parsed = parse(text)
        except GradcliError as error:
            error.message = f"--{option}: {error.message}"
            raise
        if len(parsed.statements) > 1 or parsed.statements[0].target is not None:
            raise GradcliError(f"--{option} {text}: a formula must be a single expression", kind="syntax")
        for name in names:
            refuse_unknown([name], self.inputs, f"--{option} {name}=...: the program has no input", "its inputs are")
        if len(names) > 1 and option != "hess":
            raise GradcliError(f"--{option} takes a derivative with respect to one input, not to {' and '.join(names)}")
        by, value = names or tuple(self.request.wrt or self.inputs), parsed.statements[0].value
        if names or option == "jvp" or len(by) == 1:
            twice = 2 if option == "hess" and len(by) == 1 else 1
            yield Formula(option, by * twice, parsed, self.vectors(option, by))
        elif isinstance(value, tree.Sequence) and len(value.items) == len(by) and option != "hess":
            for name, item in zip(by, value.items, strict=True):
                alone = tree.ParsedProgram(parsed.source, [tree.Statement(item, None, (0, 0), None)], None)
                yield Formula(option, (name,), alone, self.vectors(option, (name,)))
        else:
            hint = f"write --{option} {by[0]}=FORMULA, once for each input to check"
            raise GradcliError(f"--{option}: name the input that the formula is for ({', '.join(by)})", hint=hint)

    def vectors(self, option: str, names: Sequence[str]) -> tuple[str, ...]:
        """Return the names of vectors: v in --vjp; in --jvp v_x for the tangent of x, and v if there is one input."""
        if option == "vjp" and "v" in self.names:
            hint = "rename v in the program"
            raise GradcliError("v is the vector in --vjp, but also a name in the program", hint=hint, kind="name")
        if option == "jvp":
            return (*(f"v_{name}" for name in names), *(["v"] if len(names) == 1 and "v" not in self.names else []))
        return ("v",) if option == "vjp" else ()

    def run(self, leaves: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        evaluator = Evaluator(self.program.parsed, self.request)
        return lift_number(evaluator.run(leaves, self.request.out)), {**evaluator.names, **leaves}

    def value_of(self, formula: Formula, names: Mapping[str, Any], vectors: Mapping[str, Any]) -> Any:
        """Return the value of a formula as a Tensor. names: the named values of a run. Raises GradcliError."""
        try:
            return lift_number(Evaluator(formula.parsed, self.request).run({**names, **vectors}))
        except GradcliError as error:
            error.message = f"--{formula.option}: {error.message}"
            error.span = error.span or formula.parsed.span(formula.parsed.statements[0].value)
            raise


class FormulaClaim(HandWritten):
    """The output of an expression program, and formulas for its derivatives, each evaluated separately.

    A gradient has the shape output.shape + input.shape. In --vjp, v is the cotangent; in --jvp, v or v_x the tangent.
    """

    def __init__(
        self, program: FormulaProgram, at: Mapping[str, Any], formulas: Iterable[Formula], elementwise: bool = False
    ):
        self.program = program
        self.by_option: dict[str, list[Formula]] = {}
        for formula in formulas:
            self.by_option.setdefault(formula.option, []).append(formula)
        named = {name for given in self.by_option.values() for formula in given for name in formula.names}
        options = {"grad": self.grad_formula, "vjp": self.vjp_formula, "jvp": self.jvp_formula}
        given_options: Any = {option: call for option, call in options.items() if option in self.by_option}
        wrt = [name for name in at if name in named]
        super().__init__(self.output_of, at, wrt=wrt, elementwise=elementwise, **given_options)
        self.title = program.program.title
        self.many = Traced(lambda *xs: program.run(dict(zip(self.at, xs, strict=True)))[0], self.at)

    def moved(self, at: Arrays) -> FormulaClaim:
        other = copy.copy(self)
        vars(other).update(vars(super().moved(at)), many=self.many.moved(at))
        return other

    def output_of(self, *arrays: np.ndarray) -> np.ndarray:
        with no_grad():
            return np.asarray(self.program.run(self.leaves(arrays))[0]._data)

    def values(self, stacks: Arrays, count: int, like: np.ndarray) -> np.ndarray:
        if like.dtype.kind == "c":
            return super().values(stacks, count, like)
        self.budget.require(count)
        self.budget.made += count
        rows, self.trouble = self.many.values(stacks, count, like), self.many.trouble
        return rows

    def leaves(self, arrays: Iterable[np.ndarray]) -> dict[str, Any]:
        return {name: new_tensor(np.asarray(x)) for name, x in zip(self.at, arrays, strict=True)}

    def evaluate_formulas(
        self, formulas: Sequence[Formula], arrays: Iterable[np.ndarray], vectors: Arrays
    ) -> list[np.ndarray]:
        given = {name: new_tensor(np.asarray(x)) for name, x in vectors.items()}
        with no_grad():
            names = self.program.run(self.leaves(arrays))[1]
            own = ({name: given[name] for name in formula.vectors} for formula in formulas)
            values = [self.program.value_of(f, names, v) for f, v in zip(formulas, own, strict=True)]
        return [np.asarray(value._data) for value in values]

    def gradients(self, option: str, arrays: Iterable[np.ndarray], vectors: Arrays) -> dict[str, np.ndarray]:
        formulas = self.by_option[option]
        values = self.evaluate_formulas(formulas, arrays, vectors)
        return {formula.names[0]: value for formula, value in zip(formulas, values, strict=True)}

    def grad_formula(self, *arrays: np.ndarray) -> dict[str, np.ndarray]:
        return self.gradients("grad", arrays, {})

    def vjp_formula(self, cotangent: np.ndarray, *arrays: np.ndarray) -> dict[str, np.ndarray]:
        return self.gradients("vjp", arrays, {"v": cotangent})

    def jvp_formula(self, tangents: Sequence[np.ndarray], *arrays: np.ndarray) -> np.ndarray:
        (formula,) = self.by_option["jvp"]
        vectors = {f"v_{name}": x for name, x in zip(self.at, tangents, strict=True)}
        return self.evaluate_formulas([formula], arrays, {**vectors, "v": vectors[f"v_{formula.names[0]}"]})[0]

    def jvp(self, arrays: Arrays, tangents: Arrays) -> np.ndarray:
        every = tuple(tangents.get(name, np.zeros_like(x)) for name, x in arrays.items())
        return self.call(self.jvp_formula, arrays, "jvp_formula", every)

    def fit_shape(self, part: Any, out: np.ndarray, name: str) -> np.ndarray:
        """Return a gradient in the form of `whole`; for complex output and input, `part` is the complex derivative."""
        if out.dtype.kind != "c" or self.at[name].dtype.kind != "c":
            return super().fit_shape(part, out, name)
        raw = in_shape(part, out.shape + self.at[name].shape, f"the gradient of '{name}'")
        return np.stack([raw.conj(), 1j * raw.conj()], out.ndim)
