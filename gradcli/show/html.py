"""Pages of one file that fetches nothing: checks with the pictures of them, and backward, stepped through with keys.

A check has a row, and of what did not pass all elements, maps, the function and both slopes. A step of backward
stands next to the graph.
"""

from __future__ import annotations

from html import escape as escape_html
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import visible
from . import Style
from .check_results import CheckList, CheckReport, CheckSummary, Element, Elements, InputCheck, Line
from .checks import DIGITS, basis, headline, label_part, summary_line, worst_text
from .data import NONE, shape_text
from .dot import nest_values
from .graph_results import Pass, Trace
from .layers import draw_layers, text_width
from .reports import relative_path
from .results import Gradients
from .trace import Words, array_on_a_line, forward_lines, pass_heading, step_lines


def template(name: str) -> str:
    """Return a file that stands next to this one, without the end of its last line."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8").rstrip("\n")


STYLE = template("page.css")
MARKS = {"pass": "✓", "fail": "✗", "inconclusive": "?", "error": "!", "accepted": "~", "skipped": "-"}


def escape(text: Any) -> str:
    return escape_html(visible(str(text)), quote=True)


def page(title: str, body: str, style: str = "", script: str = "") -> str:
    """Return a page, which may fetch nothing, whatever a name in it says."""
    script = f"<script>{script}</script>" if script else ""
    return template("page.html").format(title=escape(title), style=f"{STYLE}\n{style}", body=body, script=script) + "\n"


def fragment(body: str) -> str:
    """Return what a notebook shows of an object: a piece of a page with its style."""
    return f'<div class="gradcli"><style>{STYLE}</style>\n{body}\n</div>'


def scroll(inside: str, label: str, kind: str = "wide") -> str:
    """Return something wide in a box that the keyboard can scroll."""
    return f'<div class="{kind}" tabindex="0" role="region" aria-label="{escape(label)}">{inside}</div>'


def code(text: str) -> str:
    return f'<pre tabindex="0"><code>{escape(text)}</code></pre>'


def table(headings: list[str], rows: list[tuple[str, list[str]]], numeric: set[int]) -> str:
    """Return a table. rows: the class of each, and its cells, which are markup; numeric: columns of numbers."""

    def cells(items: list[str], tag: str) -> str:
        looks = [of_class("number" if i in numeric else "") for i in range(len(items))]
        return "".join(f"<{tag}{look}>{item}</{tag.split()[0]}>" for item, look in zip(items, looks, strict=True))

    lines = [f"<tr{of_class(look)}>{cells(row, 'td')}</tr>" for look, row in rows]
    head = cells([escape(heading) for heading in headings], 'th scope="col"')
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n" + "\n".join(lines) + "\n</tbody>\n</table>"


def of_class(name: str) -> str:
    return f' class="{name}"' if name else ""


MOST_SHOWN = 100  # elements of an array that a table of gradients shows whole
MOST_CELLS = 64  # cells of a map along one side; of larger arrays a cell shows the worst of several elements
WIDTH, HEIGHT = 328, 220  # of a plot, in pixels: as wide as the narrowest screen has room for
LEFT, TOP, RIGHT, BOTTOM = 70, 10, WIDTH - 10, HEIGHT - 40
SLOPES = (("var(--first)", "", "──"), ("var(--second)", "6 4", "╌╌"))
"""Colour, dashes and key of the numeric and of the claimed slope."""
POSITIVE, NEGATIVE = "#d9761a", "#2f6fd0"


class Frame:
    """Coordinates of a plot: numbers as pixels."""

    def __init__(self, line: Line):
        finite = line.value[np.isfinite(line.value)]
        low, high = (finite.min(), finite.max()) if finite.size else (-1.0, 1.0)
        pad = 0.15 * (high - low) or max(abs(high), 1.0)
        self.first, self.last, self.low, self.high = line.x[0], line.x[-1], low - pad, high + pad

    def point(self, x: float, y: float) -> str:
        across = LEFT + (x - self.first) / (self.last - self.first) * (RIGHT - LEFT)
        up = BOTTOM - (y - self.low) / (self.high - self.low) * (BOTTOM - TOP)
        return f"{across:.1f} {np.clip(up, -1e5, 1e5):.1f}"

    def path(self, x: np.ndarray, y: np.ndarray) -> str:
        text, letter = "", "M"
        for a, b in zip(x, y, strict=True):
            known = np.isfinite(b)
            text += f"{letter}{self.point(a, b)}" if known else ""
            letter = "L" if known else "M"
        return text


def slopes_of(worst: Element) -> list[tuple[str, float, float]]:
    """Return the numeric slope, at a kink the two beside it, and the claimed one: text, slope left and right."""
    numeric, claimed = float(np.real(worst.numeric)), float(np.real(worst.analytic))
    text, sides = f"numeric slope {numeric:.{DIGITS}g}", (numeric, numeric)
    if worst.sides is not None:
        sides = worst.sides
        text = f"slopes {sides[0]:.{DIGITS}g} and {sides[1]:.{DIGITS}g} at a kink"
    return [(text, *sides), (f"claimed slope {claimed:.{DIGITS}g}", claimed, claimed)]


def line_plot(name: str, line: Line, worst: Element) -> str:
    """Return the function along the worst element, with the claimed and the numeric slope through the point."""
    plot, (x, y), ends = Frame(line), line.at, line.x[[0, -1]]
    drawn = [f'<path d="{plot.path(line.x, line.value)}" fill="none" stroke="var(--ink)" stroke-width="1.5"/>']
    keys, texts = [], []
    for (colour, dashes, key), (text, left, right) in zip(SLOPES, slopes_of(worst), strict=True):
        heights = np.array([y + left * (ends[0] - x), y, y + right * (ends[1] - x)])
        path = plot.path(np.array([ends[0], x, ends[1]]), heights)
        drawn.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"/>')
        texts.append(text)
        keys.append(f'<span style="color: {colour}">{key} {escape(text)}</span>; ')
    drawn.append(f'<path d="M{plot.point(*line.at)}h0" stroke="var(--ink)" stroke-width="8" stroke-linecap="round"/>')
    element = label_part(name, worst.place, worst.part)
    frame = f'x="{LEFT}" y="{TOP}" width="{RIGHT - LEFT}" height="{BOTTOM - TOP}"'
    labels = [
        (LEFT, BOTTOM + 16, "start", f"{line.x[0]:.4g}"),
        (RIGHT, BOTTOM + 16, "end", f"{line.x[-1]:.4g}"),
        ((LEFT + RIGHT) / 2, BOTTOM + 32, "middle", escape(element)),
        (LEFT - 6, TOP + 10, "end", f"{plot.high:.4g}"),
        (LEFT - 6, BOTTOM, "end", f"{plot.low:.4g}"),
    ]
    about = escape(f"the function along {element}, with the {' and the '.join(texts)}")
    return (
        f'<figure><svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img" aria-label="{about}">'
        f'<rect {frame} fill="none" stroke="var(--line)"/>'
        f'<svg {frame} viewBox="{LEFT} {TOP} {RIGHT - LEFT} {BOTTOM - TOP}">{"".join(drawn)}</svg>'
        + "".join(f'<text x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>' for x, y, anchor, text in labels)
        + f"</svg>\n<figcaption>{''.join(keys)}the function itself in the colour of the text</figcaption></figure>"
    )


def heat_maps(inputs: tuple[int, ...], every: Elements) -> str:
    """Return maps of the claimed and the numeric derivative, wrong elements framed. inputs: the input's shape."""
    shape = every.claimed.shape
    own = shape[0] == 1 and len(inputs) > 1 and np.prod(inputs) == shape[1]
    shape = (inputs[0], shape[1] // inputs[0]) if own else shape
    claimed, numeric, verdicts = (x.reshape(shape) for x in (every.claimed, every.numeric, every.verdicts))
    sizes = np.abs([claimed, numeric])
    largest = float(sizes[np.isfinite(sizes)].max(initial=0.0)) or 1.0
    maps = [heat_map(name, x, largest, verdicts) for name, x in (("claimed", claimed), ("numeric", numeric))]
    rows = "the input's rows" if own else "a row for each output element"
    return (
        f'<div class="maps">{"".join(maps)}</div>\n<p class="dim">Orange is positive, blue negative, the strongest '
        f"±{largest:.4g}; {rows}; framed elements are wrong.</p>"
    )


def heat_map(name: str, values: np.ndarray, largest: float, verdicts: np.ndarray) -> str:
    steps = [max(1, -(-n // MOST_CELLS)) for n in values.shape]
    rows, columns = (-(-n // step) for n, step in zip(values.shape, steps, strict=True))
    size = max(4, min(28, 260 // columns))
    cells = []
    for i, j in np.ndindex(rows, columns):
        part = np.s_[i * steps[0] : (i + 1) * steps[0], j * steps[1] : (j + 1) * steps[1]]
        wrong = verdicts[part] == "fail"
        block = values[part][wrong] if wrong.any() else values[part].ravel()
        x = block[np.argmax(np.abs(np.nan_to_num(block, nan=np.inf)))]
        colour = "var(--soft)" if x == 0 else "var(--error)" if not np.isfinite(x) else POSITIVE if x > 0 else NEGATIVE
        share = max(min(abs(x) / largest, 1.0), 0.04) if np.isfinite(x) and x else 1.0
        frame = 'stroke="var(--fail)" stroke-width="2"' if wrong.any() else 'stroke="var(--line)" stroke-width="0.5"'
        place = f'x="{j * size + 1}" y="{i * size + 1}" width="{size - 2}" height="{size - 2}"'
        cells.append(f'<rect {place} fill="{colour}" fill-opacity="{share:.2f}" {frame}/>')
    width, height = columns * size, rows * size
    about = f"{name}: {values.shape[0]} by {values.shape[1]} elements; the table below has the numbers"
    picture = f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"'
    caption = f"<figcaption>{name}</figcaption>"
    return f'<figure>{picture} aria-label="{escape(about)}">{"".join(cells)}</svg>{caption}</figure>'


MOST_ROWS = 5000  # elements of one input beyond which the table has the worst ones only


def render_checklist(result: CheckList, style: Style) -> str:
    rows = [("", [escape(name), escape(place_text(file, line))]) for name, file, line in result.checks]
    body = f"<h1>{escape(result.target)}</h1>" + table(["check", "place"], rows, set())
    return page(f"checks of {result.target}", body)


def render_checksummary(result: CheckSummary, style: Style) -> str:
    details = [
        f'<section id="check{i}" aria-label="{escape(check.name)}">{details_of(check)}</section>'
        for i, check in enumerate(result.checks)
        if check.verdict != "pass"
    ]
    counts = escape(summary_line(result))
    head = f"<header><h1>gradcheck {escape(result.target)}</h1>\n<p><strong>{counts}</strong></p></header>"
    body = [head, f"<main>\n{summary_table(result)}", *details, "</main>"]
    return page(f"gradcheck {result.target}: {summary_line(result)}", "\n".join(body))


def summary_html(result: CheckSummary) -> str:
    details = [details_of(check) for check in result.checks if check.verdict != "pass"]
    return fragment("\n".join([f"<p>{escape(summary_line(result))}</p>", summary_table(result, False), *details]))


def gradients_html(result: Gradients) -> str:
    """Return a table of the inputs, their values and gradients, as notebooks show it."""

    def cell(x: np.ndarray | None) -> str:
        return escape(NONE if x is None else nest_values(x, 6, None if x.size <= MOST_SHOWN else 4))

    rows = [("", [escape(item.name), cell(item.value), cell(item.grad)]) for item in result.inputs]
    head = "" if result.value is None else f"<p>{escape(result.output or 'value')} = {cell(result.value)}</p>"
    return fragment(head + scroll(table(["input", "value", "gradient"], rows, set()), "gradients"))


def place_text(file: str | None, line: int | None) -> str:
    """Return where something is: below the current folder, or by its whole path."""
    path = file if not file or file.startswith("<") else relative_path(file)
    return "" if not path else f"{path}:{line}" if line else path


def breakable(path: str) -> str:
    """Return a path as markup that may be broken between its folders."""
    return escape(path).replace("/", "/<wbr>")


def verdict_text(verdict: str) -> str:
    return f'<span class="verdict {verdict}">{MARKS[verdict]} {verdict}</span>'


def summary_table(result: CheckSummary, linked: bool = True) -> str:
    rows = []
    for i, check in enumerate(result.checks):
        name = escape(check.name)
        if linked and check.verdict != "pass":
            name = f'<a href="#check{i}">{name}</a>'
        place, reason = breakable(place_text(check.file, check.line)), escape(headline(check))
        rows.append(("", [verdict_text(check.verdict), name, place, f"{check.seconds:.3f} s", reason]))
    return scroll(table(["verdict", "check", "place", "time", "reason"], rows, {3}), "all checks", "wide stack")


def details_of(check: CheckReport) -> str:
    parts = [f"<h2>{verdict_text(check.verdict)} {escape(check.name)}</h2>"]
    place = place_text(check.file, check.line)
    facts = [part for part in (place, basis(check)) if part]
    parts.append(f'<p class="dim">{escape("; ".join(facts))}</p>' if facts else "")
    parts.append(f"<p>{escape(headline(check))}</p>")
    findings = [f"<li><strong>{escape(f.rule)}</strong>: {escape(f.text)}</li>" for f in check.diagnosis]
    parts.append(f"<h3>Diagnosis</h3>\n<ul>{''.join(findings)}</ul>" if findings else "")
    parts += [f'<p class="dim">note: {escape(note)}</p>' for note in check.notes]
    parts.append(code(check.blame) if check.blame else "")
    if check.found is not None:
        parts.append(f"<h3>Found by the search</h3>\n{code(check.found.line)}")
    sources = [("Function", place, check.source)] if check.source else []
    sources += [("Derivative by hand", relative_path(where), text) for where, text in check.claim_sources]
    if sources:
        texts = [
            f'<section><h3>{what} <span class="dim">{breakable(where)}</span></h3>\n{code(text.rstrip())}\n</section>'
            for what, where, text in sources
        ]
        parts.append(f'<div class="sources">{"".join(texts)}</div>')
    if check.replay:
        parts.append(f"<h3>Repeat it</h3>\n{code(check.replay)}")
    parts += [input_part(item, len(check.inputs) == 1) for item in check.inputs]
    return "\n".join(part for part in parts if part)


def input_part(item: InputCheck, told: bool) -> str:
    """Return what was found for one input: its line, maps and table. told: whether its worst element was named."""
    shape = shape_text(item.shape, "a number")
    parts = [f"<h3>{verdict_text(item.verdict)} {escape(item.name)} <span class='dim'>{shape}</span></h3>"]
    parts.append(f"<p>{escape(worst_text(item))}</p>" if item.worst is not None and not told else "")
    if item.verdict != "pass" and item.line is not None and item.worst is not None:
        parts.append(line_plot(item.name, item.line, item.worst))
    if item.verdict != "pass" and item.elements is not None and item.elements.claimed.size:
        parts += [heat_maps(item.shape, item.elements), element_table(item, item.elements)]
    return "\n".join(part for part in parts if part)


def element_table(item: InputCheck, every: Elements) -> str:
    """Return a table of the elements, wrong ones marked; of very many the worst."""
    count = every.claimed.size
    with np.errstate(all="ignore"):
        ratios = (every.claimed / every.numeric).ravel()
        off = np.abs(every.claimed - every.numeric) / (np.abs(every.numeric) + every.error)
    order = np.argsort(-np.nan_to_num(off, nan=np.inf).ravel(), kind="stable")[:MOST_ROWS]
    caption = "The only element" if count == 1 else f"All {count} elements"
    if count > MOST_ROWS:
        caption = f"The worst {MOST_ROWS} of {count} elements"
    several = len(every.rows) > 1
    rows = []
    for k in np.sort(order).tolist():
        row = every.element(*divmod(k, len(every.columns)))
        x = np.nan if item.point is None else item.point[row.place]
        x = np.imag(x) if row.part == "im" else np.real(x)
        cells = [escape(label_part(item.name, row.place, row.part)), f"{x:.8g}", f"{row.analytic:.12g}"]
        cells += [f"{row.numeric:.12g} ± {row.numeric_error:.2g}", f"{ratios[k]:.6g}"]
        cells += [f'<span class="{row.verdict}">{MARKS.get(row.verdict, "~")} {row.verdict}</span>']
        output = [escape(label_part("out", row.output, row.output_part))] * several
        rows.append(("wrong" if row.verdict == "fail" else "", [*output, *cells]))
    headings = [*["output"] * several, "element", "value", "claimed", "numeric ± error", "claimed / numeric", "verdict"]
    body = table(headings, rows, set(range(1 + several, 5 + several)))
    opened = " open" if count <= 200 else ""
    return f"<details{opened}><summary>{caption}</summary>{scroll(body, caption, 'wide long stack elements')}</details>"


MOST_DRAWN = 300  # nodes beyond which there is no picture
SHORT = 26  # the longest line of a box, in characters
LOOK = f"\n{template('trace.css')}\n"


def render_trace(result: Trace, style: Style) -> str:
    """Return a page: without scripts all steps below each other, with them one at a time."""
    several = len(result.passes) > 1
    body = [f"<header><h1>backward through {escape(result.target)}</h1></header>", "<main>", template("trace_bar.html")]
    passes = [parts_of(run, i, style) for i, run in enumerate(result.passes, 1)]
    body += ['<div class="stage">', *(picture for picture, _ in passes), "<div>"]
    for i, (run, (_, steps)) in enumerate(zip(result.passes, passes, strict=True), 1):
        body += [f"<section><h2>{markup([pass_heading(run, i, several)])}</h2>", *steps]
        lines = f'<pre tabindex="0">{markup(forward_lines(run, style))}</pre>'
        body.append(f"<details open><summary>forward</summary>{lines}</details>\n</section>")
    script = f"\n{template('trace.js')}\n"
    return page(f"backward through {result.target}", "\n".join([*body, "</div></div></main>"]), LOOK, script)


def markup(lines: list[list[Words]]) -> str:
    def write(part: Words) -> str:
        return f'<span class="w-{part.what}">{escape(part.text)}</span>' if part.what else escape(part.text)

    return "\n".join("".join(map(write, line)) for line in lines)


def parts_of(run: Pass, number: int, style: Style) -> tuple[str, list[str]]:
    """Return the graph of a pass and its steps. Ids are numbers: names of the program's are text only."""
    labels = [each.label for each in run.steps]
    labels += [flow.to for each in run.steps for flow in each.flows]
    ids = {label: f"p{number}n{i}" for i, label in enumerate(dict.fromkeys(labels))}
    steps = []
    for each in run.steps:
        own, to = ids[each.label], [ids[flow.to] for flow in each.flows]
        edges = " ".join(f"{own}{end}" for end in to)
        marks = f'data-pass="{number}" data-node="{own}" data-to="{" ".join(to)}" data-edges="{edges}"'
        steps.append(f"<div class='step' {marks}><pre tabindex='0'>{markup(step_lines(each, style))}</pre></div>")
    svg = "" if len(ids) > MOST_DRAWN else scroll(draw_pass(run, ids, style), "the graph")
    return f'<div data-pass="{number}" class="picture">{svg}</div>' if svg else "", steps


def draw_pass(run: Pass, ids: dict[str, str], style: Style) -> str:
    """Return the graph of a pass, each box with the gradient that it gets."""
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
    return drawing(boxes, below, f"the graph of {run.output}; the steps below say the same in words")


def drawing(boxes: dict, below: dict, about: str) -> str:
    """Return a graph as SVG. boxes: for each node its id, lines of text (the last one its gradient) and class."""
    boxes = {
        node: (name, [x if len(x) <= SHORT else x[: SHORT - 1] + "…" for x in lines], look)
        for node, (name, lines, look) in boxes.items()
    }
    layers = draw_layers({node: text_width(lines) for node, (_, lines, _) in boxes.items()}, below)
    parts = [
        f'<path class="edge" id="{boxes[top][0]}{boxes[bottom][0]}" d="{edge.path}"/>'
        for (top, bottom), edge in layers.edges.items()
    ]
    for node, (name, lines, look) in boxes.items():
        x, y, width = layers.boxes[node]
        middle = f'x="{x:.1f}" text-anchor="middle"'
        texts = "".join(
            f'<text {middle} y="{y - 12 + 16 * i:.1f}"{of_class("grad" if i == 2 else "")}>{escape(line)}</text>'
            for i, line in enumerate(lines)
            if line
        )
        corner = f'x="{x - width / 2:.1f}" y="{y - layers.height / 2:.1f}"'
        rect = f'<rect class="box" {corner} width="{width:.1f}" height="{layers.height}" rx="4"/>'
        parts.append(f'<g id="{name}" class="{look}">{rect}{texts}</g>')
    width, height = layers.size
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    return f'<svg {size} role="img" aria-label="{escape(about)}">{"".join(parts)}</svg>'


WRITERS = {"html": {CheckList: render_checklist, CheckSummary: render_checksummary, Trace: render_trace}}
