"""Tab-separated lines for shells and awk: NAME, tab, VALUE; one line per element, nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import visible
from ...results.labels import labels
from .. import Style, renders
from ..exact import formulas_by_element, long_elements
from ..numbers import elements, number, numbers

if TYPE_CHECKING:
    from ...results import Gradients, Value
    from ...results.checks import CheckList, CheckReport, CheckSummary, CheckTotal
    from ...results.exact import LongNumbers
    from ...results.graphs import Graph, Trace
    from ...results.locks import Lock, Verification
    from ...results.mutants import Mutation
    from ...results.operations import Operations
    from ...results.plots import Curve, Surface
    from ...results.precision import Precision
    from ...results.transforms import Hessian, Jacobian, Products


def pair_lines(row: str, above: tuple, column: str, across: tuple, block: np.ndarray, style: Style) -> str:
    """Return one line per element of a block of derivatives, named by its row and its column."""
    rows, columns = labels(one_line(row), above), [f"/{name}\t" for name in labels(one_line(column), across)]
    lines = []
    for name, values in zip(rows, block.reshape((len(rows), len(columns))), strict=True):
        lines += [f"{name}{c}{x}\n" for c, x in zip(columns, numbers(values, style.precision), strict=True)]
    return "".join(lines)


@renders()
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
    """Return a line for every element of arrays by name."""
    return "".join(
        line
        for name, array in arrays
        for line in map("{}\t{}\n".format, labels(one_line(name), np.shape(array)), numbers(array, style.precision))
    )


@renders()
def render_value(result: Value, style: Style) -> str:
    return lines_of([("value", result.value)], style)


@renders()
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


@renders()
def render_hessian(result: Hessian, style: Style) -> str:
    """Return one line per element, named by its two inputs: x[0]/y[1]."""
    lines = (
        pair_lines(name, result.inputs[name].shape, other, result.inputs[other].shape, block, style)
        for name, blocks in result.blocks.items()
        for other, block in blocks.items()
    )
    return with_formulas("".join(lines), result, "hessian")


@renders()
def render_products(result: Products, style: Style) -> str:
    return lines_of(result.parts.items(), style)


@renders()
def render_operations(result: Operations, style: Style) -> str:
    """Return one line per function: name, kind, derivatives, what it computes."""
    return "".join(
        f"{op.name}\t{op.kind}\t{'; '.join(f'{a}: {b}' for a, b in op.derivatives)}\t{op.doc}\n"
        for op in result.entries
    )


@renders()
def render_checksummary(result: CheckSummary, style: Style) -> str:
    return "".join(render_checkreport(check, style) for check in result.checks)


@renders()
def render_checkreport(result: CheckReport, style: Style) -> str:
    """Return one check in a line: verdict, name, file, line, seconds, reason."""
    from ..checks import headline

    place = f"{one_line(result.file or '')}\t{result.line or ''}\t{result.seconds:.3f}"
    line = f"{result.verdict}\t{one_line(result.name)}\t{place}\t{one_line(headline(result, style.precision))}\n"
    for row in result.taylor.rows if result.taylor is not None else ():
        rate = "rounding" if row.spoilt else "" if row.rate is None else repr(row.rate)
        line += f"taylor\t{one_line(result.name)}\t{row.step!r}\t{row.remainder!r}\t{rate}\n"
    if any(item.elements is not None for item in result.inputs):
        from ..check_elements import element_lines

        line += element_lines(result, style)
    return line


@renders()
def render_checktotal(result: CheckTotal, style: Style) -> str:
    """Return nothing: the lines are to be counted."""
    return ""


@renders()
def render_checklist(result: CheckList, style: Style) -> str:
    """Return one line per check: FILE:LINE, name; the name alone where there is no file."""
    places = [(f"{file}:{line or ''}\t" if file else "", name) for name, file, line in result.checks]
    return "".join(
        f"{one_line(place)}\t{one_line(name)}\n" if place else f"{one_line(name)}\n" for place, name in places
    )


@renders()
def render_mutation(result: Mutation, style: Style) -> str:
    """Return one line per mutant: killed or survived, relative error, seconds, name."""
    return "".join(
        f"{'killed' if run.killed else 'survived'}\t{'' if run.relative_error is None else run.relative_error!r}\t"
        f"{run.seconds:.3f}\t{one_line(run.name)}\n"
        for run in result.mutants
    )


@renders()
def render_lock(result: Lock, style: Style) -> str:
    """Return one line per check: name, file."""
    return "".join(f"{one_line(e['check'])}\t{one_line(e['file'])}\n" for e in result.entries)


@renders()
def render_verification(result: Verification, style: Style) -> str:
    """Return one line per check: verdict, name, file, the number furthest from its lock."""
    from ..locks import difference_text

    return "".join(
        f"{c.verdict}\t{one_line(c.name)}\t{one_line(c.file or '')}\t{one_line(difference_text(c))}\n"
        for c in result.checks
    )


def one_line(text: str) -> str:
    """Return text without tabs, line breaks and control characters."""
    return visible(" ".join(text.split()))


def row(*cells: str) -> str:
    return "\t".join(map(one_line, cells)) + "\n"


@renders()
def render_graph(result: Graph, style: Style) -> str:
    """Return one line per node: number, kind, operation, name, formula, shape, numbers of its inputs, line.

    With values also value and gradient, as JSON.
    """
    import json

    from ..json_document import as_plain_data

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


@renders()
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
            for to, array in sent:
                for name, x in elements(to, array):
                    value = number(x, style.precision)
                    lines.append(row(str(i), str(step.number), step.op, step.label, name, value))
    return "".join(lines)


@renders()
def render_longnumbers(result: LongNumbers, style: Style) -> str:
    return "".join(f"{name}\t{digits}\n" for name, digits in long_elements(result, result.with_value))


def columns(style: Style, *arrays: Any) -> str:
    """Return arrays of one shape side by side, an element a line."""
    return "".join(
        "\t".join(number(x, style.precision) for x in row) + "\n"
        for row in zip(*(a.ravel() for a in arrays), strict=True)
    )


@renders()
def render_curve(result: Curve, style: Style) -> str:
    """Return three columns: input, value, derivative."""
    return columns(style, result.x, result.value, result.derivative)


@renders()
def render_surface(result: Surface, style: Style) -> str:
    """Return five columns: both inputs, value, both derivatives."""
    x, y = np.meshgrid(result.x, result.y, indexing="ij")
    return columns(style, x, y, result.value, *result.slopes)


@renders()
def render_precision(result: Precision, style: Style) -> str:
    """Return columns: input, digits of the value, of each gradient."""
    return columns(style, result.x, *result.columns.values())
