"""What a terminal shows: names, shapes, values and gradients, colour by sign, large arrays elided."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Group
from rich.table import Column
from rich.text import Text

from . import Style, formulas, plot, renders, studies, trace  # noqa: F401 - they register more
from .arrays import Row, plain_table, shade, shape_text, table_of_arrays
from .check_results import CheckList, CheckReport, CheckSummary, CheckTotal
from .checks import summary_line
from .numbers import NONE, number
from .results import Gradients, Hessian, Jacobian, Operation, Operations, Products, Value
from .terminal import again_text, blocks_of, check_text, element_table, head_of, more_of
from .tsv import render_checklist as lines_of_checks


@renders("table")
def render_gradients(result: Gradients, style: Style) -> Group:
    """Return the value and a table of the gradients, or of what there is to say about many."""
    rows = [
        Row(Text(item.name, style="bold"), item.value, [(item.value, False), (item.grad, True)])
        for item in result.inputs
        if not result.summary
    ]
    rows += [
        Row(Text(name, style="italic"), np.zeros(()) if grad is None else grad, [None, (grad, True)])
        for name, grad in result.retained.items()
    ]
    head = head_of(result, style) if result.value is not None else []
    parts = gradient_sizes(result, style) if result.summary else []
    parts += table_of_arrays(("input", "shape", "value", "gradient"), rows, style) if rows else []
    return Group(*head, *parts, *more_of(result, style))


def gradient_sizes(result: Gradients, style: Style) -> list[Any]:
    """Return a table of the gradients' sizes: norm, least and greatest element, share of zeros."""
    sizes = (Column(heading, justify="right", no_wrap=True) for heading in ("norm", "least", "greatest", "zeros"))
    table = plain_table("input", Column("shape", no_wrap=True), *sizes)
    for item in result.inputs:
        name, shape = Text(item.name, style="bold"), Text(shape_text(item.value), style="dim")
        if item.grad is None or not item.grad.size:
            table.add_row(name, shape, Text("empty" if item.grad is not None else NONE, style="dim"))
            continue
        size, g = np.linalg.norm(item.grad), item.grad if item.grad.dtype.kind != "c" else np.abs(item.grad)
        numbers = (Text(number(x, style.precision or 4)) for x in (size, g.min(), g.max()))
        table.add_row(name, shape, *numbers, f"{np.mean(g == 0):.0%}")
    count = sum(item.value.size for item in result.inputs)
    return [table, Text(f"\n{count} elements: --wrt NAME shows those of one, -f tsv or -o FILE all", style="dim")]


@renders("table")
def render_value(result: Value, style: Style) -> Group:
    return Group(*head_of(result, style)[:1])


@renders("table")
def render_jacobian(result: Jacobian, style: Style) -> Group:
    """Return the value, and one labelled matrix or heat map per input."""
    from .arrays import matrix

    output = (result.output or "out", result.value.shape)
    items = []
    for item in result.blocks:
        if item.block is not None:
            over = f"∂{output[0]}/∂{item.name}"
            items.append(matrix(item.block, over, output, (item.name, item.value.shape), style, result.drawn))
        else:
            items.append(sparse_text(item, result))
    return Group(*head_of(result, style), *blocks_of(items), *more_of(result, style))


def sparse_text(item: Any, result: Jacobian) -> Text:
    rows, columns = item.sparse.shape
    text = Text().append(f"d{result.output or 'out'}/d{item.name}", "bold")
    share = item.sparse.nnz / max(rows * columns, 1)
    text.append(
        f"   sparse {rows}×{columns}, {item.sparse.nnz} entries ({share:.2%}), {result.products} products", "dim"
    )
    entries = item.sparse.tocoo()
    for i, j, x in list(zip(entries.row, entries.col, entries.data, strict=True))[:10]:
        text.append(f"\n  ({i}, {j})  ", "dim")
        text.append(number(x, 6), shade(x, 0.0))
    if item.sparse.nnz > 10:
        text.append("\n  …", "dim")
    return text


@renders("table")
def render_hessian(result: Hessian, style: Style) -> Group:
    """Return the value, and one labelled matrix or heat map per pair of inputs; for numbers, one for all."""
    from .arrays import label_matrix, matrix

    names = list(result.inputs)
    whole = result.whole
    if whole is not None:
        over = Text(f"Hessian of {result.output or 'the value'}", style="bold")
        items: list[Any] = [Group(over, label_matrix(whole, names, names, style))]
        return Group(*head_of(result, style), *items, *more_of(result, style))
    items = [
        matrix(
            block,
            f"∂²{result.output or 'out'}/∂{name}∂{other}",
            (name, result.inputs[name].shape),
            (other, result.inputs[other].shape),
            style,
        )
        for name, row in result.blocks.items()
        for other, block in row.items()
    ]
    return Group(*head_of(result, style), *blocks_of(items), *more_of(result, style))


@renders("table")
def render_products(result: Products, style: Style) -> Group:
    rows = [Row(Text(name, style="bold"), x, [(x, True)]) for name, x in result.parts.items()]
    headings = ("output" if result.kind == "jvp" else "input", "shape", result.kind)
    return Group(*head_of(result, style), *table_of_arrays(headings, rows, style), *more_of(result, style))


@renders("table")
def render_operations(result: Operations, style: Style) -> Any:
    """Return a table of functions; everything about one when only one is shown."""
    if result.full:
        return Group(*blocks_of([operation_text(op) for op in result.entries]))
    table = plain_table("function", "derivative", "what it computes")
    for op in result.entries:
        table.add_row(
            Text(op.name, style="bold"), "; ".join(text for _, text in op.derivatives), Text(op.doc, style="dim")
        )
    return table


def operation_text(op: Operation) -> Text:
    text = Text().append(f"{op.name}{op.signature}", "bold")
    text.append(f"\n  {op.doc}")
    facts = [(f"derivative for {name}", rule) for name, rule in op.derivatives]
    facts += [
        ("kind", op.kind),
        ("domain of tests", op.domain),
        ("at kinks", op.subgradient),
        ("exact twin", op.twin),
        ("also called", ", ".join(op.aliases)),
        ("NumPy", ", ".join(op.numpy)),
    ]
    for heading, fact in facts:
        if fact:
            text.append(f"\n  {heading}: ", style="dim")
            text.append(fact)
    return text


@renders("table")
def render_checklist(result: CheckList, style: Style) -> Text:
    return Text(lines_of_checks(result, style).rstrip("\n"), overflow="fold")


@renders("table")
def render_checksummary(result: CheckSummary, style: Style) -> Group:
    """Return one line per check, what there is to know about those that did not pass, and a summary."""
    lines = [render_checkreport(check, style) for check in result.checks]
    return Group(*lines, render_checktotal(CheckTotal(result), style))


@renders("table")
def render_checkreport(result: CheckReport, style: Style) -> Group:
    """Return one check, with all its elements where they were asked for."""
    shown = any(item.elements is not None for item in result.inputs)
    table = [element_table(result, style)] if shown else []
    return Group(check_text(result, style), *table, *again_text(result))


@renders("table")
def render_checktotal(result: CheckTotal, style: Style) -> Text:
    failed = result.summary.count("fail") or result.summary.count("error")
    return Text(summary_line(result.summary), style="bold red" if failed else "bold green")
