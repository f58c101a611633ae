"""Self-contained HTML pages: checks with pictures, and the steps of backward next to the graph.

Each check has a row. Checks that did not pass also have all elements, maps, and the function with both slopes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..results.base import Gradients
from ..results.checks import CheckList, CheckReport, CheckSummary
from ..results.formats import Style
from ..results.graphs import Graph, Pass, Trace
from ..results.inputs import Elements, InputCheck, label_part
from .band import mean_plot
from .checks import basis_line, summary_line
from .data import NONE, shape_text
from .dot import nest_values
from .reports import relative_path
from .svg import draw_steps, escape_markup, heat_maps, line_plot, render_in_notebook
from .trace import Words, array_on_a_line, forward_lines, pass_heading, step_lines


def template(name: str) -> str:
    """Return the text of a file in this folder, without its last line end."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8").rstrip("\n")


STYLE = template("page.css")
PAGE_MARKS = {"pass": "✓", "fail": "✗", "inconclusive": "?", "error": "!", "accepted": "~", "skipped": "-"}


def page(title: str, body: str, style: str = "", script: str = "") -> str:
    """Return a page with a content security policy that forbids loading anything."""
    script = f"<script>{script}</script>" if script else ""
    return (
        template("page.html").format(title=escape_markup(title), style=f"{STYLE}\n{style}", body=body, script=script)
        + "\n"
    )


def fragment(body: str) -> str:
    """Return a piece of a page with its style, for a notebook."""
    return f'<div class="gradcli"><style>{STYLE}</style>\n{body}\n</div>'


def scroll(inside: str, label: str, kind: str = "wide") -> str:
    """Wrap a wide element in a box that the keyboard can scroll."""
    return f'<div class="{kind}" tabindex="0" role="region" aria-label="{escape_markup(label)}">{inside}</div>'


def code(text: str) -> str:
    return f'<pre tabindex="0"><code>{escape_markup(text)}</code></pre>'


def table(headings: list[str], rows: list[tuple[str, list[str]]], numeric: set[int]) -> str:
    """Return a table. rows: the class of each, and its cells as markup; numeric: which columns hold numbers."""

    def cells(items: list[str], tag: str) -> str:
        looks = [of_class("number" if i in numeric else "") for i in range(len(items))]
        return "".join(f"<{tag}{look}>{item}</{tag.split()[0]}>" for item, look in zip(items, looks, strict=True))

    lines = [f"<tr{of_class(look)}>{cells(row, 'td')}</tr>" for look, row in rows]
    head = cells([escape_markup(heading) for heading in headings], 'th scope="col"')
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n" + "\n".join(lines) + "\n</tbody>\n</table>"


def of_class(name: str) -> str:
    return f' class="{name}"' if name else ""


MOST_IN_FULL = 100  # larger arrays are elided in a table of gradients
MOST_TABLE_ROWS = 5000  # for inputs with more elements, the table has only the worst ones


def page_of_list(result: CheckList, style: Style) -> str:
    rows = [("", [escape_markup(name), escape_markup(place_text(file, line))]) for name, file, line in result.checks]
    body = f"<h1>{escape_markup(result.target)}</h1>" + table(["check", "place"], rows, set())
    return page(f"checks of {result.target}", body)


def page_of_checks(result: CheckSummary, style: Style) -> str:
    details = [
        f'<section id="check{i}" aria-label="{escape_markup(check.name)}">{details_of(check)}</section>'
        for i, check in enumerate(result.checks)
        if has_details(check)
    ]
    counts = escape_markup(summary_line(result))
    head = f"<header><h1>gradcheck {escape_markup(result.target)}</h1>\n<p><strong>{counts}</strong></p></header>"
    body = [head, f"<main>\n{summary_table(result)}", *details, "</main>"]
    return page(f"gradcheck {result.target}: {summary_line(result)}", "\n".join(body))


def has_details(check: CheckReport) -> bool:
    """Report whether a page has a section on a check: it did not pass, or checks an estimator."""
    return check.verdict != "pass" or any(item.bias is not None for item in check.inputs)


def summary_html(result: CheckSummary, style: Style) -> str:
    details = [details_of(check) for check in result.checks if has_details(check)]
    return fragment(
        "\n".join([f"<p>{escape_markup(summary_line(result))}</p>", summary_table(result, False), *details])
    )


def gradients_html(result: Gradients, style: Style) -> str:
    def cell(x: np.ndarray | None) -> str:
        return escape_markup(NONE if x is None else nest_values(x, 6, None if x.size <= MOST_IN_FULL else 4))

    rows = [("", [escape_markup(item.name), cell(item.value), cell(item.grad)]) for item in result.inputs]
    head = "" if result.value is None else f"<p>{escape_markup(result.output or 'value')} = {cell(result.value)}</p>"
    return fragment(head + scroll(table(["input", "value", "gradient"], rows, set()), "gradients"))


def place_text(file: str | None, line: int | None) -> str:
    """Return FILE:LINE, with the path relative to the current folder if it is inside."""
    path = file if not file or file.startswith("<") else relative_path(file)
    return "" if not path else f"{path}:{line}" if line else path


def breakable(path: str) -> str:
    return escape_markup(path).replace("/", "/<wbr>")


def verdict_mark(verdict: str) -> str:
    return f'<span class="verdict {verdict}">{PAGE_MARKS[verdict]} {verdict}</span>'


def summary_table(result: CheckSummary, linked: bool = True) -> str:
    rows = []
    for i, check in enumerate(result.checks):
        name = escape_markup(check.name)
        if linked and has_details(check):
            name = f'<a href="#check{i}">{name}</a>'
        place, reason = breakable(place_text(check.file, check.line)), escape_markup(check.headline())
        rows.append(("", [verdict_mark(check.verdict), name, place, f"{check.seconds:.3f} s", reason]))
    return scroll(table(["verdict", "check", "place", "time", "reason"], rows, {3}), "all checks", "wide stack")


def details_of(check: CheckReport) -> str:
    parts = [f"<h2>{verdict_mark(check.verdict)} {escape_markup(check.name)}</h2>"]
    place = place_text(check.file, check.line)
    facts = [part for part in (place, basis_line(check)) if part]
    parts.append(f'<p class="dim">{escape_markup("; ".join(facts))}</p>' if facts else "")
    parts.append(f"<p>{escape_markup(check.headline())}</p>")
    findings = [f"<li><strong>{escape_markup(f.rule)}</strong>: {escape_markup(f.text)}</li>" for f in check.diagnosis]
    parts.append(f"<h3>Diagnosis</h3>\n<ul>{''.join(findings)}</ul>" if findings else "")
    parts += [f'<p class="dim">note: {escape_markup(note)}</p>' for note in check.notes]
    parts.append(code(check.blame) if check.blame else "")
    if check.found is not None:
        parts.append(f"<h3>Found by the search</h3>\n{code(check.found.line)}")
    if check.sources:
        texts = [
            f'<section><h3>{what} <span class="dim">{breakable(relative_path(where))}</span></h3>\n'
            f"{code(text.rstrip())}\n</section>"
            for what, where, text in check.sources
        ]
        parts.append(f'<div class="sources">{"".join(texts)}</div>')
    if check.replay:
        parts.append(f"<h3>Repeat the check</h3>\n{code(check.replay)}")
    parts += [input_part(item, len(check.inputs) == 1) for item in check.inputs]
    return "\n".join(part for part in parts if part)


def input_part(item: InputCheck, alone: bool) -> str:
    """Return the part on one input: plot, maps and table. alone: the headline already names its worst element."""
    shape = shape_text(item.shape, "a number")
    parts = [f"<h3>{verdict_mark(item.verdict)} {escape_markup(item.name)} <span class='dim'>{shape}</span></h3>"]
    parts.append(f"<p>{escape_markup(item.worst_text())}</p>" if item.worst is not None and not alone else "")
    if item.bias is not None and item.worst is not None:
        parts.append(mean_plot(item.name, item.bias, item.worst))
    if item.verdict != "pass" and item.line is not None and item.worst is not None:
        parts.append(line_plot(item.name, item.line, item.worst))
    if item.verdict != "pass" and item.elements is not None and item.elements.claimed.size:
        parts += [heat_maps(item.shape, item.elements), element_rows(item, item.elements)]
    return "\n".join(part for part in parts if part)


def element_rows(item: InputCheck, every: Elements) -> str:
    """Return a table of the elements, or only of the worst if there are very many; wrong ones are marked."""
    count = every.claimed.size
    with np.errstate(all="ignore"):
        ratios = (every.claimed / every.numeric).ravel()
        off = np.abs(every.claimed - every.numeric) / (np.abs(every.numeric) + every.error)
    order = np.argsort(-np.nan_to_num(off, nan=np.inf).ravel(), kind="stable")[:MOST_TABLE_ROWS]
    caption = "The only element" if count == 1 else f"All {count} elements"
    if count > MOST_TABLE_ROWS:
        caption = f"The worst {MOST_TABLE_ROWS} of {count} elements"
    several = len(every.rows) > 1
    rows = []
    for k in np.sort(order).tolist():
        row = every.element(*divmod(k, len(every.columns)))
        x = np.nan if item.point is None else item.point[row.place]
        x = np.imag(x) if row.part == "im" else np.real(x)
        cells = [escape_markup(label_part(item.array_name, row.place, row.part)), f"{x:.8g}", f"{row.claimed:.12g}"]
        cells += [f"{row.numeric:.12g} ± {row.numeric_error:.2g}", f"{ratios[k]:.6g}"]
        cells += [f'<span class="{row.verdict}">{PAGE_MARKS.get(row.verdict, "~")} {row.verdict}</span>']
        output = [escape_markup(label_part("out", row.output, row.output_part))] * several
        rows.append(("wrong" if row.verdict == "fail" else "", [*output, *cells]))
    headings = [*["output"] * several, "element", "value", "claimed", "numeric ± error", "claimed / numeric", "verdict"]
    body = table(headings, rows, set(range(1 + several, 5 + several)))
    opened = " open" if count <= 200 else ""
    return f"<details{opened}><summary>{caption}</summary>{scroll(body, caption, 'wide long stack elements')}</details>"


MOST_ON_PAGE = 300  # larger graphs are not drawn
LOOK = f"\n{template('trace.css')}\n"


def page_of_trace(result: Trace, style: Style) -> str:
    """Return a page that shows all steps, or one at a time if scripts run."""
    several = len(result.passes) > 1
    body = [
        f"<header><h1>backward through {escape_markup(result.target)}</h1></header>",
        "<main>",
        template("trace_bar.html"),
    ]
    passes = [parts_of_page(run, i, style) for i, run in enumerate(result.passes, 1)]
    body += ['<div class="stage">', *(picture for picture, _ in passes), "<div>"]
    for i, (run, (_, steps)) in enumerate(zip(result.passes, passes, strict=True), 1):
        body += [f"<section><h2>{markup([pass_heading(run, i, several)])}</h2>", *steps]
        lines = f'<pre tabindex="0">{markup(forward_lines(run, style))}</pre>'
        body.append(f"<details open><summary>forward</summary>{lines}</details>\n</section>")
    script = f"\n{template('trace.js')}\n"
    return page(f"backward through {result.target}", "\n".join([*body, "</div></div></main>"]), LOOK, script)


def markup(lines: list[list[Words]]) -> str:
    def write(part: Words) -> str:
        return (
            f'<span class="w-{part.what}">{escape_markup(part.text)}</span>' if part.what else escape_markup(part.text)
        )

    return "\n".join("".join(map(write, line)) for line in lines)


def parts_of_page(run: Pass, number: int, style: Style) -> tuple[str, list[str]]:
    """Return the graph of a pass and its steps. Ids are numbers, so that no name of the program gets into them."""
    labels = [each.label for each in run.steps]
    labels += [flow.to for each in run.steps for flow in each.flows]
    ids = {label: f"p{number}n{i}" for i, label in enumerate(dict.fromkeys(labels))}
    steps = []
    for each in run.steps:
        own, to = ids[each.label], [ids[flow.to] for flow in each.flows]
        edges = " ".join(f"{own}{end}" for end in to)
        marks = f'data-pass="{number}" data-node="{own}" data-to="{" ".join(to)}" data-edges="{edges}"'
        steps.append(f"<div class='step' {marks}><pre tabindex='0'>{markup(step_lines(each, style))}</pre></div>")
    svg = "" if len(ids) > MOST_ON_PAGE else scroll(draw_pass(run, ids, style), "the graph")
    return f'<div data-pass="{number}" class="picture">{svg}</div>' if svg else "", steps


def draw_pass(run: Pass, ids: dict[str, str], style: Style) -> str:
    """Draw the graph of a pass, each box with its gradient."""
    below: dict[str, list[str]] = {label: [] for label in ids}
    gradients: dict[str, str] = {}
    for each in run.steps:
        below[each.label] = [flow.to for flow in each.flows]
        if each.incoming is not None:
            total = each.after if each.leaf and each.after is not None else each.incoming
            gradients[each.label] = f"∂ {array_on_a_line(total, style)}"
    formulas = {item.label: item.formula for item in run.forward}
    values = {item.label: array_on_a_line(item.value, style) for item in run.forward if item.value is not None}
    leaves = {each.label for each in run.steps if each.leaf}
    boxes = {}
    for label, name in ids.items():
        head = f"{label} = {formulas[label]}" if formulas.get(label) else label
        lines = [head, values.get(label, ""), gradients.get(label, "")]
        boxes[label] = (name, lines, "leaf" if label in leaves else "")
    return draw_steps(boxes, below, f"the graph of {run.output}; the steps below describe it in words")


WRITERS = {
    "html": {CheckList: page_of_list, CheckSummary: page_of_checks, Trace: page_of_trace},
    "notebook": {
        CheckReport: lambda result, _: fragment(details_of(result)),
        CheckSummary: summary_html,
        Gradients: gradients_html,
        Graph: render_in_notebook,
    },
}
