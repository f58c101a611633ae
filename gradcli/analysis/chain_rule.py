"""The chain rule node by node, in formulas; `gradcli trace` shows the same in numbers.

∂ marks a local derivative, d a derivative of the output: dz/dx = dz/dv1 * ∂v1/∂x + dz/dv2 * ∂v2/∂x.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import sympy

from ..errors import GradcliError
from ..exact import printing
from ..exact.record import exactly
from ..exact.symbolic import Symbolic
from ..lang.parse import parse
from ..program.base import Program
from ..program.expression import ExpressionProgram
from ..request import Request
from ..results.graphs import Flow, Pass, Step
from ..results.studies import Derivative, PrintedFormula, element_symbol
from ..rules.exact import without_field
from .trace import trace_program

LONGEST_FORMULA = 100  # longer formulas are not substituted into others, which use the symbol of the derivative instead


def chain_rule(
    program: Program, given: Mapping[str, Any], out: str | None, derivatives: Sequence[Derivative], at_point: bool
) -> tuple[PrintedFormula, ...]:
    """Return the lines of the chain rule from the output to the inputs, as text and as LaTeX.

    Inputs without a value get 1; the formulas do not depend on it. out: the name of the output. derivatives: the final
    formulas, in the inputs alone. at_point: whether to show numbers at the given values, too.
    """
    results: dict[str, list[Derivative]] = {}
    for d in derivatives:
        results.setdefault(d.name.partition("[")[0], []).append(d)
    values = {**given, **dict.fromkeys(program.missing(given), np.float64(1))}
    values = {name: exact_as_floats(x) for name, x in values.items()}
    passes = trace_program(program, values, Request(out=out)).passes  # all inputs, so that none becomes a number
    chains = [ChainLines(run, results, at_point, last=len(passes) == 1) for run in passes]
    lines = [line for chain in chains for line in chain.lines()]
    for d in derivatives if len(chains) > 1 else ():
        left = PrintedFormula(f"{d.name}.grad", rf"\left({element_symbol(d.name)}\right)_{{\mathrm{{grad}}}}")
        lines.append(equation(left, d.formula, value_suffix(d)))
    return tuple(lines)


def exact_as_floats(x: Any) -> np.ndarray:
    raw = without_field(x)
    if raw.dtype != object:
        return raw
    raw = raw.astype(complex)
    return raw if raw.imag.any() else raw.real


class ChainLines:
    """The lines of one backward pass. results: final derivatives by input, which end the lines of the inputs."""

    def __init__(self, run: Pass, results: Mapping[str, Sequence[Derivative]], at_point: bool, last: bool):
        self.run = run
        self.output = run.output
        self.results = results if last else {}
        self.at_point = at_point
        self.shown = set(results)
        for step in reversed(run.steps):
            if any(flow.to in self.shown for flow in step.flows):
                self.shown.add(step.label)
        self.values = {line.label: line.value for line in run.forward}
        self.ways: dict[str, list[tuple[str, Any]]] = {}
        self.totals: dict[str, Any] = {run.output: sympy.Integer(1)}

    def lines(self) -> list[PrintedFormula]:
        lines: list[PrintedFormula] = []
        for step in self.run.steps:
            if not step.leaf:
                value = self.number(self.values.get(step.label), step.formula)
                left = PrintedFormula(step.label, element_symbol(step.label))
                lines.append(equation(left, PrintedFormula(step.formula, write_latex(step.formula)), value))
            lines += self.total(step) if step.label in self.shown else []
            flows = [flow for flow in step.flows if flow.to in self.shown]
            for to in dict.fromkeys(flow.to for flow in flows):
                lines += self.local(step, [flow for flow in flows if flow.to == to])
        for name in self.results:
            if name not in self.ways and name != self.output:  # no gradient flows there
                lines.append(equation(total_derivative(self.output, name), PrintedFormula("0", "0")))
        return lines

    def number(self, x: Any, formula: str) -> str:
        """Return " = value" for a formula at the point; "" for an array, or if the formula is the value itself."""
        if not self.at_point or x is None or np.ndim(x):
            return ""
        text = f"{np.asarray(x)[()]:z.6g}"
        return "" if text == formula else f" = {text}"

    def local(self, step: Step, flows: list[Flow]) -> list[PrintedFormula]:
        """Return the line with the local derivative for one operand. flows: one for each place where it occurs."""
        to = flows[0].to
        single = all(x is not None and x.ndim == 0 for x in (step.incoming, *(flow.grad for flow in flows)))
        slopes: list[Any] = [expression_of(flow.formula) if flow.slope else None for flow in flows]
        slope = sum(slopes) if single and None not in slopes else None
        self.ways.setdefault(to, []).append((step.label, slope))
        left = local(step.label, to)
        if not all(flow.slope for flow in flows):
            words = [PrintedFormula(flow.formula, rf"\text{{{flow.formula}}}") for flow in flows]
            return [equation(left, rule, inner=True, sign=": ") for rule in words]
        text = " + ".join(flow.formula for flow in flows)
        value = self.number(sum(np.asarray(flow.local) for flow in flows) if slope is not None else None, text)
        latex = " + ".join(write_latex(flow.formula) for flow in flows)
        return [equation(left, PrintedFormula(text, latex), value, inner=True)]

    def total(self, step: Step) -> list[PrintedFormula]:
        label, left = step.label, total_derivative(self.output, step.label)
        chain: list[PrintedFormula] = []
        if label != self.output:
            ways = [self.way(via, label) for via, _ in self.ways.get(label, [])]
            chain.append(PrintedFormula(" + ".join(way.text for way in ways), " + ".join(way.latex for way in ways)))
            chain += self.substitute(label, left.text)
        elif not step.leaf:
            return []
        if not step.leaf:
            right = PrintedFormula(*(" = ".join(dict.fromkeys(x[i] for x in chain)) for i in (0, 1)))
            return [equation(left, right, self.number(step.incoming, chain[-1].text), inner=True)]
        derivatives = self.results.get(label, ())
        chain += [d.formula for d in derivatives if d.name == label]
        chain += [PrintedFormula(d.value, d.value) for d in derivatives if d.name == label and d.value is not None]
        lines: list[PrintedFormula] = []
        for text, latex in dict.fromkeys((x.text, x.latex) for x in chain):
            above = PrintedFormula(" " * len(left.text), r"\quad") if lines else left
            lines.append(equation(above, PrintedFormula(text, latex)))
        others = [d for d in derivatives if d.name != label]
        return lines + [
            equation(total_derivative(self.output, d.name), d.formula, value_suffix(d), inner=True) for d in others
        ]

    def way(self, via: str, label: str) -> PrintedFormula:
        below = local(via, label)
        if via == self.output:
            return below
        above = total_derivative(self.output, via)
        return PrintedFormula(f"{above.text} * {below.text}", rf"{above.latex} \, {below.latex}")

    def substitute(self, label: str, left: str) -> list[PrintedFormula]:
        """Return the sum over all paths as a formula, if possible, and keep it for the nodes below."""
        symbol = sympy.Symbol(left)
        self.totals[label] = symbol
        pairs = [(self.totals[via], slope) for via, slope in self.ways.get(label, ())]
        if not pairs or any(slope is None for _, slope in pairs):
            return []
        names = {sympy.Symbol(x.text): x.latex for x in (total_derivative(self.output, via) for via in self.totals)}
        text = " + ".join(product_text([printing.text(x) for x in pair], pair, "({})", " * ") for pair in pairs)
        latex = " + ".join(
            product_text([printing.latex(x, names) for x in pair], pair, r"\left({}\right)", r" \cdot ")
            for pair in pairs
        )
        combined = sympy.Add(*(above * slope for above, slope in pairs))
        if len(printing.text(combined)) <= LONGEST_FORMULA:
            self.totals[label] = combined
        return [PrintedFormula(text, latex)] if len(text) <= 3 * LONGEST_FORMULA else []


def equation(
    left: PrintedFormula, right: PrintedFormula, value: str = "", inner: bool = False, sign: str = " = "
) -> PrintedFormula:
    """Return an equation as a line. inner: indent it. value: what follows, such as ` = 2`."""
    text, latex = f"{left.text}{sign}{right.text}{value}", f"{left.latex}{sign}{right.latex}{value}"
    return PrintedFormula(f"  {text}", rf"\quad {latex}") if inner else PrintedFormula(text, latex)


def value_suffix(d: Derivative) -> str:
    return "" if d.value is None else f" = {d.value}"


def product_text(texts: list[str], factors: tuple[Any, ...], brackets: str, times: str) -> str:
    """Write a product of formulas, leaving out factors of 1."""
    pairs = [(text, factor) for text, factor in zip(texts, factors, strict=True) if factor != 1]
    parts = [brackets.format(text) if factor.is_Add or text.startswith("-") else text for text, factor in pairs]
    return times.join(parts) if len(parts) > 1 else texts[0 if factors[1] == 1 else 1]


def quotient(sign: str, latex_sign: str, above: str, below: str) -> PrintedFormula:
    latex = rf"\frac{{{latex_sign} {element_symbol(above)}}}{{{latex_sign} {element_symbol(below)}}}"
    return PrintedFormula(f"{sign}{above}/{sign}{below}", latex)


local = partial(quotient, "∂", r"\partial")  # the derivative of an operation's result with respect to its operand
total_derivative = partial(quotient, "d", "d")  # the derivative of the output with respect to a result, along all paths


def expression_of(formula: str) -> Any:
    """Convert a formula of single numbers to an expression of sympy; None if that fails."""
    try:
        program = ExpressionProgram(parse(formula), formula)
        names = program.free_names()
        with exactly(Symbolic()):
            run = program.run({n: np.zeros(()) for n in names})
        return None if run.output is None or run.output._data.ndim else sympy.sympify(run.output._data.item())
    except (GradcliError, TypeError, ValueError, AttributeError):
        return None


def write_latex(formula: str) -> str:
    expression = expression_of(formula)
    return rf"\text{{{formula}}}" if expression is None else printing.latex(expression)
