"""Lines for shells and tables: NAME, tab, VALUE per element, or the same with commas and a heading."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import visible
from . import RENDERERS, Style, renders
from .numbers import formulas_by_element, long_elements, number, numbers
from .results import labels

if TYPE_CHECKING:
    from .check_results import CheckList, CheckReport, CheckSummary, CheckTotal, Lock, Mutation, Verification
    from .formula_results import LongNumbers, Precision
    from .graph_results import Graph, Trace
    from .results import Curve, Gradients, Hessian, Jacobian, Operations, Products, Surface, Value


def pair_lines(row: str, above: tuple, column: str, across: tuple, block: np.ndarray, style: Style) -> str:
    rows, columns = labels(one_line(row), above), [f"/{name}\t" for name in labels(one_line(column), across)]
    lines = []
    for name, values in zip(rows, block.reshape((len(rows), len(columns))), strict=True):
        lines += [f"{name}{c}{x}\n" for c, x in zip(columns, numbers(values, style.precision), strict=True)]
    return "".join(lines)


@renders("tsv")
def render_gradients(result: Gradients, style: Style) -> str:
    """Return the gradient of every input, then the retained ones; the value first, where it is wanted."""
    arrays = [*((item.name, item.grad) for item in result.inputs), *result.retained.items()]
    if result.with_value and result.value is not None:
        arrays.insert(0, ("value", result.value))
    return with_formulas(lines_of(arrays, style), result, "grad")


def with_formulas(lines: str, result: Any, kind: str) -> str:
    """Return lines with a third column: the formula of each element, where formulas were asked for."""
    if not result.symbolic:
        return lines
    formulas = formulas_by_element(result, kind)
    rows = (line.split("\t") for line in lines.splitlines())
    return "".join(f"{name}\t{x}\t{formulas.get(name, '')}\n" for name, x in rows)


def lines_of(arrays: Iterable[tuple[str, Any]], style: Style) -> str:
    return "".join(
        line
        for name, array in arrays
        for line in map("{}\t{}\n".format, labels(one_line(name), np.shape(array)), numbers(array, style.precision))
    )


@renders("tsv")
def render_value(result: Value, style: Style) -> str:
    return lines_of([("value", result.value)], style)


@renders("tsv")
def render_jacobian(result: Jacobian, style: Style) -> str:
    """Return one line per element, named OUTPUT/INPUT: y[0]/x[1]; of a sparse one those that are stored."""
    output = result.output or "out"
    lines = []
    for item in result.blocks:
        if item.block is not None:
            lines.append(pair_lines(output, result.value.shape, item.name, item.value.shape, item.block, style))
            continue
        rows, columns = labels(output, result.value.shape), labels(item.name, item.value.shape)
        entries = item.sparse.tocoo()
        lines += [
            f"{rows[i]}/{columns[j]}\t{number(x, style.precision)}\n"
            for i, j, x in zip(entries.row, entries.col, entries.data, strict=True)
        ]
    return with_formulas("".join(lines), result, "jacobian")


@renders("tsv")
def render_hessian(result: Hessian, style: Style) -> str:
    """Return one line per element, named by its two inputs: x[0]/y[1]."""
    lines = (
        pair_lines(name, result.inputs[name].shape, other, result.inputs[other].shape, block, style)
        for name, blocks in result.blocks.items()
        for other, block in blocks.items()
    )
    return with_formulas("".join(lines), result, "hessian")


@renders("tsv")
def render_products(result: Products, style: Style) -> str:
    return lines_of(result.parts.items(), style)


@renders("tsv")
def render_operations(result: Operations, style: Style) -> str:
    """Return one line per function: name, kind, derivatives, what it computes."""
    return "".join(
        f"{op.name}\t{op.kind}\t{'; '.join(f'{a}: {b}' for a, b in op.derivatives)}\t{op.doc}\n"
        for op in result.entries
    )


@renders("tsv")
def render_checksummary(result: CheckSummary, style: Style) -> str:
    return "".join(render_checkreport(check, style) for check in result.checks)


@renders("tsv")
def render_checkreport(result: CheckReport, style: Style) -> str:
    """Return one check in a line: verdict, name, file, line, seconds, reason."""
    from .checks import headline

    place = f"{one_line(result.file or '')}\t{result.line or ''}\t{result.seconds:.3f}"
    line = f"{result.verdict}\t{one_line(result.name)}\t{place}\t{one_line(headline(result, style.precision))}\n"
    for row in result.taylor.rows if result.taylor is not None else ():
        rate = "rounding" if row.spoilt else "" if row.rate is None else repr(row.rate)
        line += f"taylor\t{one_line(result.name)}\t{row.step!r}\t{row.remainder!r}\t{rate}\n"
    if any(item.elements is not None for item in result.inputs):
        from .checks import element_lines

        line += element_lines(result, style)
    return line


@renders("tsv")
def render_checktotal(result: CheckTotal, style: Style) -> str:
    """Return nothing: the lines are to be counted."""
    return ""


@renders("tsv")
def render_checklist(result: CheckList, style: Style) -> str:
    """Return one line per check: FILE:LINE, name; the name alone where there is no file."""
    places = [(f"{file}:{line or ''}\t" if file else "", name) for name, file, line in result.checks]
    return "".join(
        f"{one_line(place)}\t{one_line(name)}\n" if place else f"{one_line(name)}\n" for place, name in places
    )


@renders("tsv")
def render_mutation(result: Mutation, style: Style) -> str:
    """Return one line per mutant: killed or survived, relative error, seconds, name."""
    return "".join(
        f"{'killed' if run.killed else 'survived'}\t{'' if run.relative_error is None else run.relative_error!r}\t"
        f"{run.seconds:.3f}\t{one_line(run.name)}\n"
        for run in result.mutants
    )


@renders("tsv")
def render_lock(result: Lock, style: Style) -> str:
    """Return one line per check: name, file."""
    return "".join(f"{one_line(e['check'])}\t{one_line(e['file'])}\n" for e in result.entries)


@renders("tsv")
def render_verification(result: Verification, style: Style) -> str:
    """Return one line per check: verdict, name, file, the number furthest from its lock."""
    from .studies import difference_text

    return "".join(
        f"{c.verdict}\t{one_line(c.name)}\t{one_line(c.file or '')}\t{one_line(difference_text(c))}\n"
        for c in result.checks
    )


def one_line(text: str) -> str:
    """Return text without tabs, line breaks and control characters."""
    return visible(" ".join(text.split()))


def row(*cells: str) -> str:
    return "\t".join(map(one_line, cells)) + "\n"


@renders("tsv")
def render_graph(result: Graph, style: Style) -> str:
    """Return one line per node: number, kind, operation, name, formula, shape, numbers of its inputs, line.

    With values also value and gradient, as JSON.
    """
    import json

    from .json import as_plain_data

    return "".join(
        row(
            str(node.number),
            node.kind,
            node.op,
            node.name or "",
            node.formula,
            "" if node.shape is None else ",".join(map(str, node.shape)),
            ",".join(map(str, node.inputs)),
            str(node.line or ""),
            *(json.dumps(as_plain_data(x, style.precision)) for x in (node.value, node.grad) if result.values),
        )
        for node in result.nodes
    )


@renders("tsv")
def render_trace(result: Trace, style: Style) -> str:
    """Return one line per element sent: pass, step, operation, result, receiver, value.

    The receiver of the last step of each leaf is its `.grad`.
    """
    lines = []
    for i, run in enumerate(result.passes, result.first):
        for step in run.steps:
            sent = [(flow.to, flow.grad) for flow in step.flows]
            if step.leaf and step.incoming is not None:
                sent.append((f"{step.label}.grad", step.incoming if step.after is None else step.after))
            head = row(str(i), str(step.number), step.op, step.label, "").rstrip("\n")
            for to, array in sent:
                values = numbers(array, style.precision)
                lines += [
                    f"{head}{name}\t{x}\n" for name, x in zip(labels(one_line(to), array.shape), values, strict=True)
                ]
    return "".join(lines)


@renders("tsv")
def render_longnumbers(result: LongNumbers, style: Style) -> str:
    return "".join(f"{name}\t{digits}\n" for name, digits in long_elements(result, result.with_value))


def columns(style: Style, *arrays: Any) -> str:
    """Return arrays of one shape side by side, an element a line."""
    return "".join(
        "\t".join(number(x, style.precision) for x in row) + "\n"
        for row in zip(*(a.ravel() for a in arrays), strict=True)
    )


@renders("tsv")
def render_curve(result: Curve, style: Style) -> str:
    """Return three columns: input, value, derivative."""
    return columns(style, result.x, result.value, result.derivative)


@renders("tsv")
def render_surface(result: Surface, style: Style) -> str:
    """Return five columns: both inputs, value, both derivatives."""
    x, y = np.meshgrid(result.x, result.y, indexing="ij")
    return columns(style, x, y, result.value, *result.slopes)


@renders("tsv")
def render_precision(result: Precision, style: Style) -> str:
    """Return columns: input, digits of the value, of each gradient."""
    return columns(style, result.x, *result.columns.values())


HEADINGS: dict[str, Callable[[Any], Iterable[str]]] = {
    "Jacobian": lambda result: ("output", "input", "value"),
    "Hessian": lambda result: ("first", "second", "value"),
    "Curve": lambda result: (result.name, "value", f"d_{result.name}"),
    "Surface": lambda result: (*result.names, "value", *(f"d_{name}" for name in result.names)),
}
"""The columns of results whose lines are not name and value."""


def rows_as_csv(heading: tuple[str, ...], rows: Iterable[Iterable[Any]]) -> str:
    import csv

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heading)
    writer.writerows([visible(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return text.getvalue()


@renders("csv")
def render_elements(
    result: Gradients | Value | Jacobian | Hessian | Products | LongNumbers | Curve | Surface, style: Style
) -> str:
    """Return the lines of `tsv`; names of two parts have a column for each, and formulas one where there are any."""
    kind = type(result).__name__
    heading = tuple(HEADINGS.get(kind, lambda _: ("name", "value"))(result))
    rows = [line.split("\t") for line in RENDERERS["tsv", kind](result, style).splitlines()]
    if kind in ("Jacobian", "Hessian"):
        rows = [[*name.split("/"), *more] for name, *more in rows]
    return rows_as_csv(heading if not rows or len(rows[0]) == len(heading) else (*heading, "formula"), rows)


ELEMENT = "check file line output output_part input index part claimed numeric error ratio verdict message"
"""The columns of checks."""


@renders("csv")
def render_csv_summary(result: CheckSummary, style: Style) -> str:
    """Return every element of every check; one line for a check without any."""
    return rows_as_csv(tuple(ELEMENT.split()), (row for check in result.checks for row in element_rows(check, style)))


def element_rows(check: CheckReport, style: Style) -> list[list[Any]]:
    from .checks import rows_of

    head, rows = [check.name, check.file or "", check.line or ""], []
    for item in check.inputs:
        for row in rows_of(item):
            output, index = (" ".join(map(str, place)) for place in (row.output, row.place))
            numbers = row.numbers(style.precision)
            rows.append([*head, output, row.output_part, item.name, index, row.part, *numbers, row.verdict, ""])
    return rows or [[*head, *[""] * 9, check.verdict, check.message]]


@renders("csv")
def render_csv_list(result: CheckList, style: Style) -> str:
    return rows_as_csv(
        ("check", "file", "line"), ((name, file or "", line or "") for name, file, line in result.checks)
    )
