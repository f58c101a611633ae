"""The chain rule, node by node: what `gradcli trace` shows in numbers, in formulas."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import GradcliError
from ..exact import printing
from ..exact.record import exactly
from ..exact.symbolic import Symbolic
from ..lang.parse import parse
from ..program.base import Program
from ..program.expression import ExpressionProgram
from ..results.exact import Formula
from ..results.graphs import Flow, Step, Trace
from .gradient import Request
from .trace import trace_program


def chain_rule(program: Program, given: Mapping[str, Any], request: Request) -> tuple[Formula, ...]:
    """Return the lines of the chain rule from the output down to the inputs, as text and as LaTeX.

    Inputs without a value get 1: the formulas do not depend on it.
    """
    values = {**given, **dict.fromkeys(program.missing(given), np.float64(1))}
    values = {name: as_floats(x) for name, x in values.items()}
    found: Trace = trace_program(program, values, request)
    lines: list[Formula] = []
    for run in found.passes:
        lines += steps_of(run.output, run.steps)
    return tuple(lines)


def as_floats(x: Any) -> np.ndarray:
    """Return exact numbers as floats, others as they are."""
    raw = np.asarray(x).view(np.ndarray)
    if raw.dtype != object:
        return raw
    raw = raw.astype(complex)
    return raw if raw.imag.any() else raw.real


def steps_of(output: str, steps: tuple[Step, ...]) -> list[Formula]:
    """Return the lines of one pass."""
    lines: list[Formula] = []
    sums: dict[str, list[str]] = {}
    for step in steps:
        if not step.leaf:
            lines.append(
                Formula(f"{step.label} = {step.formula}", f"{name(step.label)} = {write_latex(step.formula)}")
            )
        ways = sums.get(step.label, [])
        if ways and ways != [output]:
            lines.append(total(output, step.label, ways))
        for flow in step.flows:
            lines.append(local_line(step, flow))
            sums.setdefault(flow.to, []).append(step.label)
    return lines


def total(output: str, label: str, ways: list[str]) -> Formula:
    """Return the line that adds up what reaches a result along every way."""
    text = [ratio(via, label) if via == output else f"{ratio(output, via)} * {ratio(via, label)}" for via in ways]
    latex = [
        fraction(via, label) if via == output else rf"{fraction(output, via)} \, {fraction(via, label)}"
        for via in ways
    ]
    return Formula(
        f"  {ratio(output, label)} = {' + '.join(text)}", rf"\quad {fraction(output, label)} = " + " + ".join(latex)
    )


def local_line(step: Step, flow: Flow) -> Formula:
    """Return the line with a local derivative; a rule that is no formula is told in words."""
    left, left_latex = ratio(step.label, flow.to), fraction(step.label, flow.to)
    if flow.slope:
        return Formula(f"  {left} = {flow.formula}", rf"\quad {left_latex} = {write_latex(flow.formula)}")
    return Formula(f"  {left}: {flow.formula}", rf"\quad {left_latex}: \text{{{flow.formula}}}")


def ratio(above: str, below: str) -> str:
    """Return a derivative of one result for another as text."""
    return f"d{above}/d{below}"


def fraction(above: str, below: str) -> str:
    """Return a derivative of one result for another as LaTeX."""
    return rf"\frac{{\partial {name(above)}}}{{\partial {name(below)}}}"


def name(label: str) -> str:
    """Return a label as LaTeX: v_{1} for v1."""
    match = re.fullmatch(r"([A-Za-z])(\d+)", label)
    return f"{match[1]}_{{{match[2]}}}" if match else printing.latex_name(label)


def write_latex(formula: str) -> str:
    """Return a formula as LaTeX where it can be read as one, else as text."""
    try:
        program = ExpressionProgram(parse(formula), formula)
        names = program.free_names()
        with exactly(Symbolic()):
            run = program.run({n: np.zeros(()) for n in names})
        if run.output is None or run.output._data.ndim:
            return rf"\text{{{formula}}}"
        return printing.latex(run.output._data.item())
    except (GradcliError, TypeError, ValueError, AttributeError):
        return rf"\text{{{formula}}}"
