"""Results for a terminal: names, shapes, values and gradients, coloured by sign, large arrays elided."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from rich.cells import cell_len
from rich.console import Group
from rich.table import Column
from rich.text import Text

from ..errors import count_of, visible
from ..results.base import Gradients, Hessian, Jacobian, Products, ResultBlock, Value
from ..results.causes import Explained, Explanation
from ..results.checks import CheckList, CheckReport, CheckSummary
from ..results.formats import Style
from ..results.graphs import Graph, Sampled, Tabulated, Trace
from ..results.inputs import Element, InputCheck
from ..results.repairs import FixReport
from ..results.steps import StepSummary
from ..results.studies import Operation, Operations, WatchSummary
from .arrays import Shown, ShownRow, elide_to_width, label_matrix, matrix, plain_table, shade, table_of_arrays
from .checks import basis_line, input_lines, reasons, summary_line, taylor_lines
from .data import NONE, number, shape_text, write_tsv
from .plot import render_sampled
from .studies import STUDIES, agreement_table
from .trace import render_graph, render_trace


def render_gradients(result: Gradients, style: Style) -> Group:
    rows = [
        ShownRow(
            Text(item.name, style="bold"),
            item.value.shape,
            [Shown(item.value), Shown(item.grad, True, result.errors.get(item.name))],
        )
        for item in result.inputs
        if not result.summary
    ]
    rows += [
        ShownRow(Text(name, style="italic"), () if grad is None else grad.shape, [None, Shown(grad, True)])
        for name, grad in result.retained.items()
    ]
    head = head_of(result, style) if result.value is not None else []
    parts = gradient_sizes(result, style) if result.summary else []
    parts += table_of_arrays(("input", "shape", "value", "gradient"), rows, style) if rows else []
    return Group(*head, *parts, *more_of(result, style))


def gradient_sizes(result: Gradients, style: Style) -> list[Any]:
    sizes = (Column(heading, justify="right", no_wrap=True) for heading in ("norm", "least", "greatest", "zeros"))
    table = plain_table("input", Column("shape", no_wrap=True), *sizes)
    for item in result.inputs:
        name, shape = Text(item.name, style="bold"), Text(shape_text(item.value.shape), style="dim")
        if item.grad is None or not item.grad.size:
            table.add_row(name, shape, Text("empty" if item.grad is not None else NONE, style="dim"))
            continue
        size, g = np.linalg.norm(item.grad), item.grad if item.grad.dtype.kind != "c" else np.abs(item.grad)
        numbers = (Text(number(x, style.precision or 4)) for x in (size, g.min(), g.max()))
        table.add_row(name, shape, *numbers, f"{np.mean(g == 0):.0%}")
    count = sum(item.value.size for item in result.inputs)
    return [table, Text(f"\n{count} elements: use --wrt NAME for one input, -f tsv or -o FILE for all", style="dim")]


def render_value(result: Value, style: Style) -> Group:
    return Group(*head_of(result, style)[:1])


def render_values(result: Tabulated, style: Style) -> Any:
    *inputs, value = result.columns
    table = plain_table(*inputs, result.output or value)
    for row in result.rows():
        table.add_row(*(Text(number(x, style.precision or 6)) for x in row))
    return table


def render_jacobian(result: Jacobian, style: Style) -> Group:
    """Return the value and a labelled matrix or heat map per input; inputs that are numbers share one."""
    blocks = list(result.arrays)
    scalars = [block for block in blocks if not block.is_sparse and block.axes[1][1] == ()]
    items = []
    if len(scalars) > 1:
        output, names = scalars[0].axes[0], [block.key for block in scalars]
        together = np.stack([block.array for block in scalars], axis=-1)
        errors = [block.error for block in scalars if block.error is not None]
        error = np.stack(errors, axis=-1) if errors else None
        joined = ResultBlock("", "", together, (output, ("", (len(names),))), error)
        items.append(matrix(joined, f"∂{output[0]}/∂({', '.join(names)})", style, result.drawn, names))
        blocks = [block for block in blocks if block not in scalars]
    for block in blocks:
        over = f"∂{block.axes[0][0]}/∂{block.key}"
        items.append(sparse_text(block, result) if block.is_sparse else matrix(block, over, style, result.drawn))
    return Group(*head_of(result, style), *blocks_of(items), *more_of(result, style))


def sparse_text(block: ResultBlock, result: Jacobian) -> Text:
    entries, count = block.array, block.array.nnz
    rows, columns = entries.shape
    text = Text().append(f"d{block.axes[0][0]}/d{block.key}", "bold")
    share = count / max(rows * columns, 1)
    text.append(f"   sparse {rows}×{columns}, {count} entries ({share:.2%}), {result.products} products", "dim")
    for i, j, x in list(zip(entries.row, entries.col, entries.data, strict=True))[:10]:
        text.append(f"\n  ({i}, {j})  ", "dim")
        text.append(number(x, 6), shade(x, 0.0))
    if count > 10:
        text.append("\n  …", "dim")
    return text


def render_hessian(result: Hessian, style: Style) -> Group:
    """Return the value and a labelled matrix or heat map per pair of inputs, or one if all inputs are numbers.

    If ∂x∂y and ∂y∂x mirror each other, only the first is shown.
    """
    names = list(result.inputs)
    whole = result.whole
    if whole is not None:
        title = Text(f"Hessian of {result.output or 'the value'}", style="bold")
        errors = [list(row.values()) for row in result.errors.values()]
        both = Group(title, label_matrix(whole, names, names, style, np.array(errors) if errors else None))
        return Group(*head_of(result, style), both, *more_of(result, style))
    items = []
    for block in result.arrays:
        (a, _), (b, _) = block.axes
        shape = (result.inputs[a].size, result.inputs[b].size)
        x, other = result.blocks[a][b].reshape(shape), result.blocks[b][a].reshape(shape[::-1]).T
        rounding = 1e-12 * np.abs(x).max(initial=0.0)
        mirrored = a != b and np.allclose(x, other, rtol=1e-9, atol=rounding, equal_nan=True)
        if mirrored and names.index(b) < names.index(a):
            continue
        also = f", ∂{b}∂{a}" if mirrored else ""
        items.append(matrix(block, f"∂²{result.output or 'out'}/∂{a}∂{b}{also}", style))
    return Group(*head_of(result, style), *blocks_of(items), *more_of(result, style))


def render_products(result: Products, style: Style) -> Group:
    rows = [
        ShownRow(Text(name, style="bold"), x.shape, [Shown(x, True, result.errors.get(name))])
        for name, x in result.parts.items()
    ]
    headings = ("output" if result.kind == "jvp" else "input", "shape", result.kind)
    return Group(*head_of(result, style), *table_of_arrays(headings, rows, style), *more_of(result, style))


def render_operations(result: Operations, style: Style) -> Any:
    if result.full:
        return Group(*blocks_of([operation_text(op) for op in result.entries]))
    table = plain_table("function", "derivative", "what it computes")
    for op in result.entries:
        rules = "; ".join(text for _, text in op.derivatives)
        table.add_row(Text(op.name, style="bold"), rules, Text(op.doc, style="dim"))
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


def render_checklist(result: CheckList, style: Style) -> Text:
    return Text(write_tsv(result, style).rstrip("\n"), overflow="fold")


def render_checksummary(result: CheckSummary, style: Style) -> Group:
    lines = [render_checkreport(check, style) for check in result.not_shown]
    look = "bold red" if result.count("fail") or result.count("error") else "bold green"
    return Group(*lines, *([] if result.shown else [Text(summary_line(result), style=look)]))


def report_text(result: CheckReport, style: Style) -> str:
    return "\n".join(text.plain for text in [check_text(result, style), *again_text(result)])


def render_checkreport(result: CheckReport, style: Style) -> Group:
    shown = any(item.elements is not None for item in result.inputs)
    table = [element_table(result, style)] if shown else []
    return Group(check_text(result, style), *table, *again_text(result))


def head_of(result: Any, style: Style) -> list[Any]:
    output = result.output or "value"
    left = cell_len(output) + 1
    value = elide_to_width(result.value, style, False, style.size[0] - left)
    lines = [Text(" " * left) + line if i else line for i, line in enumerate(value.split("\n", allow_blank=True))]
    return [Text(f"{output} ", style="bold") + Text("\n").join(lines), Text("")]


def blocks_of(items: list[Any]) -> list[Any]:
    return [part for i, item in enumerate(items) for part in ([Text(""), item] if i else [item])]


def more_of(result: Any, style: Style) -> list[Any]:
    symbolic = getattr(result, "symbolic", ())
    parts: list[Any] = [agreement_table(symbolic)] if symbolic else []
    if (report := getattr(result, "check", None)) is not None:
        parts += [Text(""), check_text(report, style)]
    return parts


MARKS = {
    "pass": ("✓", "+", "green"),
    "fail": ("✗", "x", "bold red"),
    "inconclusive": ("?", "?", "yellow"),
    "accepted": ("~", "~", "dim"),
    "skipped": ("-", "-", "dim"),
}


def verdict_text(check: CheckReport, style: Style, width: int = 12) -> Text:
    mark, plain, colour = MARKS.get(check.verdict, ("!", "!", "bold magenta"))
    return Text().append(f"{mark if style.unicode else plain} {check.verdict:<{width}} ", colour)


def check_text(check: CheckReport, style: Style) -> Text:
    text = verdict_text(check, style).append(visible(check.name), "bold")
    if check.file and check.line:
        text.append(f"  {visible(check.file)}:{check.line}", "dim")
    return text.append(details_text(check, style))


DIFF_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def diff_text(diff: str, indent: str = "") -> list[tuple[str, str]]:
    """Return the lines of a diff, each with its colour."""
    return [(indent + visible(line), DIFF_COLOURS.get(line[:1], "dim")) for line in diff.splitlines()]


def render_fixes(result: FixReport, style: Style) -> Group:
    """Return the diffs, and the reports on checks that no edit repairs."""
    items: list[Any] = [Text.assemble(*((line + "\n", look) for line, look in diff_text(result.diff)), end="")]
    return Group(*items * bool(result.diff), *(check_text(check, style) for check in result.unrepaired))


def details_text(check: CheckReport, style: Style) -> Text:
    indent, (reason, *found) = "\n    ", reasons(check, style.precision)
    reason = reason if style.unicode else reason.replace("±", "+-")
    lines = [(visible(reason).replace("\n", indent), "dim" if check.verdict == "pass" else "")]
    if check.verdict == "pass" and basis_line(check):
        lines.append((basis_line(check), "dim"))
    if check.verdict == "fail" and all(item.elements is None for item in check.inputs):
        lines += [(visible(line), "") for line in input_lines(check)]
    lines += [(text, "yellow") for text in found]
    lines += [(line, "dim") for line in taylor_lines(check.taylor)] if check.taylor is not None else []
    if len(check.cross_checks) > 1:
        words = [f"{digits:.1f} with {full_name(name)}" for name, digits in check.cross_checks]
        agreed = "the claim (reverse mode) agrees to " + ", ".join(words)
        lines.append((agreed.replace(" with", " digits with", 1), "dim"))
    lines += [("note: " + note, "dim") for note in check.notes if note not in reason]
    lines += [(visible(check.found.text), "bold")] if check.found is not None else []
    lines += [("hint: " + visible(check.hint), "cyan")] if check.hint else []
    if check.patch is not None:
        lines += [("fix: " + visible(check.patch.summary), "bold"), *diff_text(check.patch.diff)]
    lines += [("no fix: " + visible(check.no_patch), "dim")] if check.no_patch else []
    lines += [(text.replace("\n", indent), "") for text in (visible(check.trace or ""), check.blame) if text]
    return Text.assemble(*((indent + text, look) for text, look in lines))


def full_name(cross_check: str) -> str:
    """Return the name of a cross-check as in a sentence, such as 50-digit arithmetic."""
    kind, _, of = cross_check.partition(" ")
    if kind == "symbolic":
        return f"SymPy's formula for {of}"
    if kind == "numeric":
        return "the numeric derivative"
    return f"{kind} arithmetic" if kind.endswith("-digit") else cross_check


def render_explanation(result: Explanation, style: Style) -> Group:
    if not result.gradients:
        return Group(Text("no tensor requires grad, and no .grad is read", style="yellow"))
    return Group(*(explained_text(item, style) for item in result.gradients))


WORDS_OF_STATES = {
    "ok": "is not used", "none": "is None", "zero": "is zero", "nan": "contains nan", "inf": "contains inf",
}  # fmt: skip


def explained_text(item: Explained, style: Style) -> Text:
    mark, plain, colour = MARKS["pass" if item.is_fine else "fail"]
    what = f"gradient of {item.name}" if item.returned else f"{item.name}.grad"
    text = Text().append(f"{mark if style.unicode else plain} ", colour).append(visible(what), "bold")
    if item.is_fine:
        return text.append(f": {item.text}" if item.text else " is fine", "dim")
    words = WORDS_OF_STATES[item.state]
    text.append(f" {words}{f' in {item.share}' if item.share else ''}").append(f"  [{item.rule}]", "yellow")
    if item.file is not None:
        text.append(f"\n    {visible(item.file)}:{item.line}", "cyan").append(f"  {visible(item.code)}", "bold")
    text.append(f"\n    {visible(item.text)}")
    return text.append(f"\n    fix: {visible(item.fix or '')}", "green")


def render_watchsummary(result: WatchSummary, style: Style) -> Group:
    heads = [(item.role, f"{item.report.file}:{item.report.line} {item.name}") for item in result.derivatives]
    widths = [max((cell_len(head[i]) for head in heads), default=0) for i in (0, 1)]
    widest, parts = max((len(item.report.verdict) for item in result.derivatives), default=0), []
    for item, head in zip(result.derivatives, heads, strict=True):
        text = verdict_text(item.report, style, widest)
        text.append(f"{visible(head[0]):<{widths[0]}}  ", "bold").append(f"{visible(head[1]):<{widths[1]}}", "dim")
        uses = f"  {item.uses}"
        if item.report.passed:
            text.append(f"{uses}, errors above {item.report.resolution:.0g} would have been seen", "dim")
            for note in item.report.notes:
                text.append(f"\n    note: {visible(note)}")
        else:
            text.append(uses).append(details_text(item.report, style))
        parts.append(text)
    checks = (result.whole or result).checks
    count, wrong = len(checks.checks), checks.count("fail")
    open_ones = [f"{n} {word}" for word in ("inconclusive", "error") if (n := checks.count(word))]
    words = ", ".join([f"{wrong} of {count_of(count, 'derivative')} wrong", *open_ones])
    line, bad = f"{words}; {result.seconds:.1f} s of checking", bool(wrong)
    if not count:
        ended = f"nothing was checked: the program ended with exit code {result.status} before it used a derivative"
        line, bad = (ended, True) if result.status else ("no derivative was used", False)
    return Group(*parts, Text(line, style="bold red" if bad else "bold green"))


def render_stepsummary(result: StepSummary, style: Style) -> Group:
    parts: list[Any] = []
    for report in result.reports:
        text = verdict_text(report, style, max(len(item.verdict) for item in result.reports))
        place = f"{report.file}:{report.line}" if report.file else ""
        text.append(f"{visible(report.where)}  ", "bold").append(f"{visible(report.name)}  {visible(place)}", "dim")
        if report.passed:
            text.append(f"  {report.headline(style.precision)}", "dim")
            for note in report.notes:
                text.append(f"\n    note: {visible(note)}")
        else:
            text.append(details_text(replace(report, inputs=()), style))
            if differing := report.differing:
                text.append(f"\n    {differing}", "dim")
        parts.append(text)
    if result.others:
        others = WatchSummary(result.target, result.others, 0.0, result.status)
        if result.whole is not None:
            others = others._replace(whole=others._replace(derivatives=result.whole.others))
        parts.append(render_watchsummary(others, style))
    wrong = result.checks.count("fail")
    return Group(*parts, Text(result.line, style="bold red" if wrong else "bold green"))


def again_text(check: CheckReport) -> list[Text]:
    """Return the command that repeats a failed check, on one line so that it can be copied."""
    if not check.replay or check.verdict != "fail":
        return []
    return [Text(f"    again: {visible(check.replay)}", "cyan", no_wrap=True, overflow="ignore")]


VERDICT_COLOURS = {"fail": "bold red", "inconclusive": "yellow", "negligible": "dim", "pass": ""}
VERDICT_WORDS = {"pass": "ok", "fail": "FAIL", "inconclusive": "inconclusive", "negligible": "not decidable"}
TALLY_WORDS = {**VERDICT_WORDS, "fail": "wrong"}


def tally(item: InputCheck) -> str:
    """Return an input's verdict, with the number of its elements that have it, such as pi: 1 of 3 wrong; A: ok."""
    if item.elements is None or item.verdict == "pass":
        return f"{item.name}: {TALLY_WORDS[item.verdict]}"
    count = int((item.elements.verdicts == item.verdict).sum())
    return f"{item.name}: {count} of {item.elements.verdicts.size} {TALLY_WORDS[item.verdict]}"


def element_table(check: CheckReport, style: Style) -> Text:
    text = Text("    " + "; ".join(map(tally, check.inputs)), "bold")
    rows = [(row, row.name(item.array_name)) for item in check.inputs for row in item.rows()]
    for digits, headings in looks(style):
        shown = [f"± {h}" if h == "error" and style.unicode else h for h in headings]
        cells = [tuple(shown), *(cells_of(row, name, digits, headings) for row, name in rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        if 4 + sum(widths) + 2 * (len(widths) - 1) <= style.size[0]:
            break
    for cell, (row, _) in zip(cells, [(None, ""), *rows], strict=True):
        parts = [cell[0].ljust(widths[0])]
        parts += [part.rjust(width) for part, width in zip(cell[1:-1], widths[1:-1], strict=True)]
        text.append("\n    " + "  ".join([*parts, cell[-1]]).rstrip(), VERDICT_COLOURS[row.verdict] if row else "dim")
    return text


HEADINGS = ("element", "claimed", "numeric", "error", "ratio", "")


def looks(style: Style) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield digits and columns to try in turn, until a table fits: fewer digits first, then fewer columns."""
    for dropped in ((), ("ratio",), ("ratio", "error")):
        for digits in (style.precision,) if style.precision else range(12, 2, -1):
            yield digits, tuple(heading for heading in HEADINGS if heading not in dropped)


def cells_of(row: Element, name: str, digits: int, headings: tuple[str, ...]) -> tuple[str, ...]:
    cells = {
        "element": name,
        "claimed": f"{row.claimed:z.{digits}g}",
        "numeric": f"{row.numeric:z.{digits}g}",
        "error": f"{row.numeric_error:.2g}" if np.isfinite(row.numeric_error) else "unknown",
        "ratio": "" if row.ratio is None else f"{row.ratio:z.{min(digits, 6)}g}",
        "": "" if row.verdict == "pass" else VERDICT_WORDS[row.verdict],
    }
    return tuple(cells[heading] for heading in headings)


WRITERS = {
    "table": {
        Gradients: render_gradients,
        Value: render_value,
        Tabulated: render_values,
        Jacobian: render_jacobian,
        Hessian: render_hessian,
        Products: render_products,
        Operations: render_operations,
        CheckList: render_checklist,
        CheckSummary: render_checksummary,
        FixReport: render_fixes,
        CheckReport: render_checkreport,
        WatchSummary: render_watchsummary,
        StepSummary: render_stepsummary,
        Explanation: render_explanation,
        Sampled: render_sampled,
        Graph: render_graph,
        Trace: render_trace,
        **STUDIES,
    },
    "report": {CheckReport: report_text},
}
