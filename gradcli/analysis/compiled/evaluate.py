"""A program's value and derivatives at blocks of rows, in machine code."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ...program.expression import ExpressionProgram
from ..sweep.rows import Columns, Interpreted, Question, result_names
from .build import load
from .expression import RefusedError, differentiate
from .record import record
from .source import write_source

MOST = 64
"""Elements of the inputs of a row that are compiled: each is a variable of its own."""
Shapes = Mapping[str, tuple[int, ...]]
"""The shapes that inputs have in a row."""


class Compiled:
    """Evaluates blocks of rows in machine code: what `Interpreted` does, for programs that C has the functions of.

    There is a library for every combination of shapes that the columns have in a row.
    """

    def __init__(self, question: Question):
        self.question = question
        self.names = result_names(question)
        self.functions: dict[Any, Any] = {}

    def prepare(self, first: Columns) -> None:
        """Make the function for rows of the shapes that these have. Raises RefusedError for what is not compiled."""
        self.function_for(self.shapes_of(first))

    def shapes_of(self, columns: Columns) -> dict[str, tuple[int, ...]]:
        """Return the shapes that the columns have in a row, and those of other inputs that are differentiated."""
        others = {name: np.shape(self.question.given[name]) for name in self.question.wrt if name not in columns}
        return {**{name: x.shape[1:] for name, x in columns.items()}, **others}

    def function_for(self, shapes: Shapes) -> Any:
        """Return the function for rows of these shapes, made when it is first asked for. Raises RefusedError."""
        key = tuple(shapes.items())
        if key not in self.functions:
            self.functions[key] = load(source_of(self.question, shapes))
        return self.functions[key]

    def __call__(self, columns: Columns) -> dict[str, np.ndarray]:
        shapes = self.shapes_of(columns)
        try:
            function = self.function_for(shapes)
        except RefusedError:  # rows of another length than the first
            return Interpreted(self.question)(columns)
        size = len(next(iter(columns.values())))
        inputs = [by_element(columns.get(name), self.question.given.get(name), size, shapes[name]) for name in shapes]
        outputs = [np.empty((int(np.prod(shape)), size)) for shape in result_shapes(self.question, shapes)]
        function(size, addresses(inputs), addresses(outputs))
        columns_of_results = (
            x.T.reshape(size, *s) for x, s in zip(outputs, result_shapes(self.question, shapes), strict=True)
        )
        return dict(zip(self.names, columns_of_results, strict=True))


def by_element(column: Any, value: Any, size: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return an input of a block with a row for each of its elements. value: what it is where it has no column."""
    rows = np.broadcast_to(value, (size, *shape)) if column is None else column
    return np.ascontiguousarray(np.reshape(rows, (size, -1)).T, float)


def addresses(arrays: Iterable[np.ndarray]) -> Any:
    """Return where the elements of arrays begin, for C."""
    starts = [x.ctypes.data + k * x.strides[0] for x in arrays for k in range(len(x))]
    return (ctypes.c_void_p * len(starts))(*starts)


def result_shapes(question: Question, shapes: Shapes) -> list[tuple[int, ...]]:
    """Return the shapes that the results have in a row, in their order."""
    slopes = [shapes[name] for name in question.wrt]
    return [(), *slopes, *(slopes if question.diag else [])] * len(question.outs)


def source_of(question: Question, shapes: Shapes) -> str:
    """Return the C for rows of these shapes. Raises RefusedError."""
    program = question.program
    if not isinstance(program, ExpressionProgram):
        raise RefusedError("a program that is not in the expression language")
    if program.dtype != np.float64:
        raise RefusedError(f"a program in {np.dtype(program.dtype)}")
    if sum(int(np.prod(shape)) for shape in shapes.values()) > MOST:
        raise RefusedError(f"a row of more than {MOST} numbers")
    given = {**question.given, **{name: np.zeros(shape) for name, shape in shapes.items()}}
    graph = None
    outputs: list[Any] = []
    inputs: dict[str, list] = {}
    for out in question.outs:
        value, graph = record(program, given, tuple(shapes), out, graph)
        inputs = {name: [graph.input(name, i) for i in np.ndindex(shape)] for name, shape in shapes.items()}
        wanted = [x for name in question.wrt for x in inputs[name]]
        slopes = differentiate(value, wanted)
        outputs += [value, *slopes]
        if question.diag:
            outputs += [differentiate(slope, [x])[0] for slope, x in zip(slopes, wanted, strict=True)]
    assert graph is not None
    return write_source(graph, [x for name in shapes for x in inputs[name]], outputs)
