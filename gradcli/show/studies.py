"""Formulas, long numbers, locks, mutants and precision for a terminal."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.cells import cell_len
from rich.console import Group
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from ..errors import visible
from ..results.base import label, value_block
from ..results.formats import Style
from ..results.studies import Agreement, DigitLoss, Formulas, Lock, LongNumbers, Mutation, Precision, Verification
from .arrays import plain_table
from .data import NONE, shape_text, write_text
from .plot import stretches

MOST_FORMULAS = 12  # the most formulas shown


def render_formulas(result: Formulas, style: Style) -> Group:
    if result.steps or (result.kind and not style.unicode):
        return Group(Text(write_text(result, style).rstrip("\n")))
    if result.kind:
        return matrix_formula_lines(result)
    parts: list[Any] = []
    for d in result.value[:MOST_FORMULAS]:
        parts += [Text(d.name, style="bold"), Padding(formula_lines(d.formula, style, ""), (0, 0, 1, 4))]
    if result.matrix is not None:
        return Group(*parts, formula_matrix(result, style))
    for d in result.derivatives:
        over, sign = d.name.split("/"), "d" if result.single else "∂"
        below = (f"{sign}{name}{power_mark(over.count(name), style)}" for name in dict.fromkeys(over))
        head = f"{sign}{power_mark(len(over), style)}/{' '.join(below)}"
        parts += [Text(head, style="bold"), Padding(formula_lines(d.formula, style, "cyan"), (0, 0, 0, 4))]
        if d.value is not None:
            parts.append(Padding(Text(f"= {d.value}", style="green"), (0, 0, 0, 4)))
        parts.append(Text(""))
    return Group(*parts[:-1])


def power_mark(n: int, style: Style) -> str:
    return ("" if n == 1 else f"^{n}") if n > 3 or not style.unicode else " ²³"[n - 1].strip()


def formula_matrix(result: Formulas, style: Style) -> Group:
    matrix = result.matrix
    assert matrix is not None
    head = Text(f"{matrix.kind.capitalize()} of {result.function}", style="bold")
    names = [row if matrix.kind == "hessian" else result.function + row for row in matrix.rows]
    cells = [
        [d.formula.pretty + ("" if d.value is None else f"\n= {d.value}") for d in entries]
        for entries in matrix.entries
    ]
    columns = [names, *([name, *column] for name, *column in zip(matrix.columns, *cells, strict=True))]
    widths = [max(cell_len(line) for cell in column for line in cell.split("\n")) for column in columns]
    if sum(widths) + 3 * len(widths) > style.size[0]:
        return Group(head, *(Text(f"{name}  " + "\t".join(more)) for name, *more in result.rows()))
    headings = (Column(column, no_wrap=True, vertical="middle") for column in ("", *matrix.columns))
    table = plain_table(*headings, gap=3)
    for name, row in zip(names, cells, strict=True):
        table.add_row(Text(name, style="bold"), *(Text(cell, style="cyan") for cell in row))
    return Group(head, table)


def matrix_formula_lines(result: Formulas) -> Group:
    """Return a line per derivative, with its shape: ∂f/∂x ∈ ℝⁿ = 2 Aᵀ(Ax − b)."""
    lines = []
    for d in result.derivatives:
        names = d.name.split("/")
        below = f"∂{names[0]}²" if len(names) == 2 and names[0] == names[1] else " ".join(f"∂{n}" for n in names)
        head = f"∂{'²' if len(names) > 1 else ''}{result.function}/{below} ∈ ℝ{space(d.dims)}"
        lines.append(Text.assemble((head, "bold"), " = ", (d.formula.pretty, "cyan")))
    return Group(*lines)


RAISED = dict(zip("0123456789abcdefghijklmnoprstuvwxyz", "⁰¹²³⁴⁵⁶⁷⁸⁹ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ", strict=True))


def space(dims: tuple[int | str, ...]) -> str:
    text = shape_text(dims, "")
    letters = [RAISED.get(c, "ˣ" if c == "×" else "") for c in text]
    return "".join(letters) if all(letters) else f"^({text})"


def formula_lines(formula: Any, style: Style, look: str) -> Text:
    """Return a formula as on paper, or on one line if that is too wide."""
    wide = max(map(cell_len, formula.pretty.split("\n"))) > style.size[0] - 4
    return Text(formula.text if wide else formula.pretty, style=look)


def render_longnumbers(result: LongNumbers, style: Style) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for block in (*([] if result.value is None else [value_block(result)]), *result.arrays):
        for name, digits in block.rows():
            table.add_row(Text(name, style="bold"), Text(digits or NONE, style="" if block.key == "value" else "green"))
    return table


def agreement_table(items: tuple[Agreement, ...]) -> Group:
    table = plain_table(Column("by SymPy", no_wrap=True), "formula", "value in 30 digits", Column("", no_wrap=True))
    for item in items:
        verdict = Text("agrees", style="green") if item.agrees else Text("DISAGREES", style="bold red")
        if item.agrees and not item.decided:
            verdict = Text("undecided", style="yellow")
        for k, index in enumerate(np.ndindex(item.texts.shape)):
            if k == MOST_FORMULAS:
                table.add_row("...", "", "", "")
                break
            formula, value = Text(str(item.texts[index])), str(item.values[index])
            table.add_row(label(item.name, index), formula, value, verdict)
    return Group(Text(""), table)


LOCK_COLOURS = {"same": "green", "changed": "bold red", "error": "bold magenta", "new": "yellow", "gone": "yellow"}


def render_lock(result: Lock, style: Style) -> Table:
    table = plain_table("check", "file", "value", "elements")
    for entry in result.entries:
        value = entry["value"] if isinstance(entry["value"], float) else "…"
        count = sum(np.size(x["data"] if isinstance(x, dict) else x) for x in entry["grad"].values())
        table.add_row(visible(entry["check"]), visible(entry["file"]), str(value), str(count))
    return table


def render_verification(result: Verification, style: Style) -> Group:
    lines = []
    for check in result.checks:
        text = Text().append(f"{check.verdict:<8} ", LOCK_COLOURS[check.verdict])
        text.append(visible(check.name), "bold").append(f"  {visible(check.file or '')}", "dim")
        if check.verdict in ("changed", "error"):
            text.append("\n    " + visible(check.reason))
        lines.append(text)
    bad = result.count("changed") + result.count("error")
    if bad and result.libraries:
        versions = [f"{name} {old} -> {new}" for name, old, new in result.libraries]
        lines.append(Text("versions that differ: " + ", ".join(versions), style="dim"))
    counts = [f"{n} {verdict}" for verdict in LOCK_COLOURS if (n := result.count(verdict))]
    lines.append(Text(", ".join(counts) or "no checks", style="bold red" if bad else "bold green"))
    return Group(*lines)


def summary_of(result: Mutation) -> str:
    smallest = result.smallest_noticed
    noticed = "no wrong factor" if smallest is None else f"wrong factors with errors of {smallest:.0e} or more"
    equal = f"; left out {result.equal} that change nothing or always raise an error" if result.equal else ""
    return f"{result.killed} of {len(result.mutants)} mutants killed ({result.score:.0%}), {noticed} noticed{equal}"


def advice_of(result: Mutation) -> str:
    if not result.survivors:
        return ""
    if not result.calls:
        return "the tests never call it"
    count = len(result.survivors)
    head = f"{count} with errors above {result.at_least:g} survive{'s' if count == 1 else ''}"
    tests: dict[str, list[str]] = {}
    for run in result.survivors:
        tests.setdefault(run.test or "", []).append(run.name)
    shown = max(tests.items(), key=lambda item: (bool(item[0]), len(item[1])))
    function = result.target.partition(".py:")[2]
    if not shown[0]:
        claim = f"stochastic={function}" if result.is_random else function
        return (
            f"{head}; a test that kills them compares with numeric derivatives: "
            f"assert gradcli.check_gradient(f, {claim}, at={{...}}), where f is the function whose gradient it is"
        )
    return f"{head}; a test that kills {', '.join(shown[1])}:\n{shown[0].rstrip()}"


def render_mutation(result: Mutation, style: Style) -> Group:
    numeric = (Column(heading, justify="right", overflow="fold") for heading in ("relative error", "seconds"))
    table = plain_table("mutant", *numeric, Column())
    for run in result.mutants:
        wanted = run in result.survivors
        word = "killed" if run.killed else "survived"
        colour = "green" if run.killed else "bold red" if wanted else "yellow"
        word += " (too slow)" if run.timed_out else ""
        size = "" if run.relative_error is None else f"{run.relative_error:.2g}"
        table.add_row(visible(run.name), size, f"{run.seconds:.2f}", Text(word, style=colour))
    parts: list[Any] = [table, Text(summary_of(result), style="bold red" if result.survivors else "bold green")]
    if advice := advice_of(result):
        parts.append(Text(advice))
    return Group(*parts)


BARS, BARS_PLAIN = "▁▂▃▄▅▆▇█", "01234567"  # from no digits to all of them
SHARE = 0.75  # points with a smaller share of the type's digits are bad
MOST_LISTED_PLACES = 3


def render_precision(result: Precision, style: Style) -> Group:
    low, high = (f"{x:.3g}" for x in (result.x[0], result.x[-1]))
    head = Text().append(result.output or result.target, "bold")
    where = f"from {low} to {high}, {len(result.x)} points" if len(result.x) > 1 else f"= {low}"
    head.append(f"   {result.name} {where}; full precision is {result.full:.1f} digits", "dim")
    parts: list[Any] = [head, Text(""), precision_summary(result, style)]
    alike: dict[tuple, list[DigitLoss]] = {}  # groups losses, so that each operation is reported once
    for loss in result.losses:
        alike.setdefault((loss.formula, loss.kind, loss.at), []).append(loss)
    names = [" and ".join(x.of if x.of == "value" else f"d/d{x.of}" for x in losses) for losses in alike.values()]
    texts = [lossy_text(losses[0], result.name) for losses in alike.values()]
    if texts:
        parts += [Text(""), Text("\n".join(f"{name}: {text}" for name, text in zip(names, texts, strict=True)))]
    return Group(*parts)


def precision_summary(result: Precision, style: Style) -> Table:
    """Return a table of value and gradients: the fewest digits, where they occur, and bars along the range."""
    bad = SHARE * result.full
    table = plain_table("digits", "least", f"at {result.name}", "median", f"below {bad:.0f} at", "from left to right")
    for name, digits in result.curves.items():
        if not np.isfinite(digits).any():
            table.add_row(name, "none")
            continue
        least = int(np.nanargmin(digits))
        texts = stretches(result.x, digits < bad, 3)
        more = [f"{len(texts) - MOST_LISTED_PLACES} more"] if len(texts) > MOST_LISTED_PLACES else []
        places = ", ".join(texts[:MOST_LISTED_PLACES] + more)
        table.add_row(
            Text(name, style="bold"),
            Text(f"{digits[least]:.1f}", style="bold red" if places else "green"),
            f"{result.x[least]:.3g}",
            f"{np.nanmedian(digits):.1f}",
            places,
            Text(bars(digits, result.full, style, 50), style="cyan", no_wrap=True),
        )
    return table


def bars(digits: np.ndarray, full: float, style: Style, width: int) -> str:
    """Return a character for each point, or for the worst of several if there are many; blank for no value."""
    marks = BARS if style.unicode else BARS_PLAIN
    text = ""
    for part in np.array_split(digits, min(len(digits), width)):
        known = part[np.isfinite(part)]
        text += marks[min(int(known.min() / full * len(marks)), len(marks) - 1)] if known.size else " "
    return text


def lossy_text(loss: DigitLoss, name: str) -> str:
    place = f"at {name}={loss.at:.3g}"
    counts = f"{loss.after:.1f} of {loss.before:.1f} digits"
    formula = f"{loss.formula} (line {loss.line})" if loss.line else loss.formula
    if loss.kind == "sum":
        ways = ", ".join(dict.fromkeys(loss.ways))
        text = f"{place} the gradients that reach {formula} through {ways} cancel: {counts} are left"
        numbers = " + ".join(f"{x:.6g}" for x in loss.parts) + " gives"
    else:
        text = f"{'the derivative of ' if loss.kind == 'backward' else ''}{formula} keeps {counts} {place}"
        numbers = f"given {' and '.join(f'{x:.6g}' for x in loss.parts)}, it returns"
    if not loss.parts:
        return text
    alike = f"{loss.result:.6g}" == f"{loss.right:.6g}"
    if alike and (not np.isfinite(loss.result) or not loss.result):
        return f"{text}; {numbers} {loss.result:.6g}; the exact result is out of range"
    digits = 17 if alike else 6
    return f"{text}; {numbers} {loss.result:.{digits}g}; the exact result is {loss.right:.{digits}g}"


STUDIES = {
    Formulas: render_formulas,
    LongNumbers: render_longnumbers,
    Lock: render_lock,
    Verification: render_verification,
    Mutation: render_mutation,
    Precision: render_precision,
}
