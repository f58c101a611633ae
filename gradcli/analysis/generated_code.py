"""A program's value and gradient as a function in another language, which computes as the engine does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..code.languages import language_of
from ..code.nodes import CodeNode, NodeGraph
from ..code.record import GraphNumbers, Recorded
from ..code.write import write_code
from ..errors import GradcliError, TimeIsUp
from ..exact.field import ExactArray, as_plain
from ..exact.record import exactly
from ..lang.limits import SHORTEST_TIME, time_left, within
from ..program.base import Program, Run, line_span, silence_prints
from ..request import Request
from ..results.studies import Formulas
from ..rules.exact import map_elements
from .gradient import check_has_inputs, run_backward, run_for, value_of

CODE_TIMEOUT = 20.0  # time limit in seconds, unless --timeout is given


def generate_code(program: Program, given: Mapping[str, Any], request: Request, form: str) -> Formulas:
    """Write the value and the gradient of a program as a function. form: the language. Raises GradcliError.

    Inputs without a value are numbers; of those with a value, only the shape matters.
    """
    language = language_of(form)
    seconds = request.timeout or CODE_TIMEOUT
    try:
        with within(time_left(max(seconds, SHORTEST_TIME))):
            graph = NodeGraph()
            inputs, value, derivatives = record_gradient(program, given, request, GraphNumbers(graph))
            text = write_code(language, program.title, inputs, graph.number(value), derivatives)
    except TimeIsUp:
        hint = "wait longer with --timeout, or choose inputs with --wrt"
        raise GradcliError(f"writing the code takes longer than {seconds:g} s", hint=hint, kind="limit") from None
    return Formulas(program.title, (), (), 1, code=text)


def record_gradient(program: Program, given: Mapping[str, Any], request: Request, field: GraphNumbers) -> tuple:
    """Return name and shape of each input, the value, and label, shape and elements of each derivative, as nodes."""
    alone = program.missing(given)
    given = {**given, **dict.fromkeys(alone, np.float64(np.nan))}
    refuse_large(sum(np.size(x) for x in given.values()), request.max_symbols)
    with exactly(field, Recorded):
        run = run_on_nodes(program, given, request, alone)
        leaves = {name: leaf._data for name, leaf in run.leaves.items()}
        refuse_large(sum(x.size for x in leaves.values()), request.max_symbols)
        value = in_nodes(field, value_of(run))
        if request.gradient is not None:
            value = np.sum(in_nodes(field, request.gradient) * value)
        derivatives = []
        for name, leaf in run.leaves.items():
            slope = np.zeros(leaf._data.shape) if leaf._grad is None else leaf._grad._data
            derivatives.append((name, leaf._data.shape, in_nodes(field, slope).ravel().tolist()))
        inputs = [(name, x.shape) for name, x in arrays_of_inputs(run, leaves).items()]
    return inputs, np.asarray(value).item(), derivatives


def run_on_nodes(program: Program, given: Mapping[str, Any], request: Request, alone: list[str]) -> Run:
    """Run a program and backward on nodes. alone: inputs without value, hence numbers. Raises GradcliError."""
    try:
        with silence_prints(program):
            run = run_for(program, given, request)
        if run.output is not None:
            check_has_inputs(run)
            check_single(run.output._data, request)
            run_backward(run.output, request)
        return run
    except GradcliError as error:
        if needs_number(error):
            message = "the program needs a number here, but generated code must work for all numbers"
            hint = "use where(condition, x, y), which works in generated code, instead of an if"
            span = line_span(*error.cause_line) if error.cause_line else error.span
            raise GradcliError(message, span=span, hint=hint, kind="exact") from None
        if isinstance(error.cause, GradcliError):
            raise error.cause from None
        if alone and error.kind == "shape" and error.hint is None:
            error.hint = f"'{alone[0]}' has no value, so it is a single number; for a vector: --shape {alone[0]}=3"
        raise


def needs_number(error: GradcliError) -> bool:
    return isinstance(error.cause, TypeError) and "truth value" in str(error.cause)


def check_single(output: Any, request: Request) -> None:
    if request.gradient is None and output.size != 1:
        message = f"the output has shape {output.shape}; second derivatives and code need a single number"
        raise GradcliError(message, hint="sum it, choose an element with --out, or give --gradient", kind="shape")


def refuse_large(count: int, limit: int) -> None:
    if count > limit:
        message = f"the inputs have {count} elements; code can be written for at most {limit}"
        hint = "use smaller arrays, choose inputs with --wrt, or raise --max-symbols"
        raise GradcliError(message, hint=hint, kind="limit")


def in_nodes(field: GraphNumbers, x: Any) -> np.ndarray:
    return np.asarray(map_elements(field.as_number, (as_plain(np.asarray(x)),))).view(ExactArray)


def arrays_of_inputs(run: Run, leaves: Mapping[str, ExactArray]) -> dict[str, ExactArray]:
    """Return the arrays of all inputs, including those that are not differentiated."""
    found = dict(leaves)
    for name, tensor in run.names.items():
        data = getattr(tensor, "_data", None)
        if isinstance(data, ExactArray) and data.size:
            elements = as_plain(data).ravel().tolist()
            first = elements[0]
            if isinstance(first, CodeNode) and first.op == "input" and first.value.partition("[")[0] == name:
                found.setdefault(name, data)
    return found
