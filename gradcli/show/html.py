"""Checks as a page: a row per check, and of what did not pass all elements, maps, the function and both slopes."""

from __future__ import annotations

import numpy as np

from . import Style
from .check_results import CheckList, CheckReport, CheckSummary, Elements, InputCheck
from .checks import basis, headline, label_part, summary_line, worst_text
from .graph_results import Trace
from .page import MARKS, code, escape, fragment, heat_maps, line_plot, page, scroll, table
from .trace_html import render_trace

MOST_ROWS = 5000
"""Elements of one input beyond which the table has the worst ones only."""


def render_checklist(result: CheckList, style: Style) -> str:
    rows = [("", [escape(name), escape(place_text(file, line))]) for name, file, line in result.checks]
    return page(
        f"checks of {result.target}", f"<h1>{escape(result.target)}</h1>" + table(["check", "place"], rows, set())
    )


def render_checksummary(result: CheckSummary, style: Style) -> str:
    details = [
        f'<section id="check{i}" aria-label="{escape(check.name)}">{details_of(check)}</section>'
        for i, check in enumerate(result.checks)
        if check.verdict != "pass"
    ]
    counts = escape(summary_line(result))
    body = [
        f"<header><h1>gradcheck {escape(result.target)}</h1>\n<p><strong>{counts}</strong></p></header>",
        f"<main>\n{summary_table(result)}",
        *details,
        "</main>",
    ]
    return page(f"gradcheck {result.target}: {summary_line(result)}", "\n".join(body))


def summary_html(result: CheckSummary) -> str:
    details = [details_of(check) for check in result.checks if check.verdict != "pass"]
    return fragment("\n".join([f"<p>{escape(summary_line(result))}</p>", summary_table(result, False), *details]))


def report_html(check: CheckReport) -> str:
    return fragment(details_of(check))


def place_text(file: str | None, line: int | None) -> str:
    return "" if not file else f"{file}:{line}" if line else file


def verdict_text(verdict: str) -> str:
    return f'<span class="verdict {verdict}">{MARKS[verdict]} {verdict}</span>'


def summary_table(result: CheckSummary, linked: bool = True) -> str:
    rows = []
    for i, check in enumerate(result.checks):
        name = escape(check.name)
        if linked and check.verdict != "pass":
            name = f'<a href="#check{i}">{name}</a>'
        place, reason = escape(place_text(check.file, check.line)), escape(headline(check))
        rows.append(("", [verdict_text(check.verdict), name, place, f"{check.seconds:.3f} s", reason]))
    return scroll(table(["verdict", "check", "place", "time", "reason"], rows, {3}), "all checks", "wide stack")


def details_of(check: CheckReport) -> str:
    parts = [f"<h2>{verdict_text(check.verdict)} {escape(check.name)}</h2>"]
    place = place_text(check.file, check.line)
    facts = [part for part in (place, basis(check)) if part]
    parts.append(f'<p class="dim">{escape("; ".join(facts))}</p>' if facts else "")
    parts.append(f"<p>{escape(headline(check))}</p>")
    findings = [f"<li><strong>{escape(f.kind)}</strong>: {escape(f.text)}</li>" for f in check.diagnosis]
    parts.append(f"<h3>Diagnosis</h3>\n<ul>{''.join(findings)}</ul>" if findings else "")
    parts += [f'<p class="dim">note: {escape(note)}</p>' for note in check.notes]
    parts.append(code(check.blame) if check.blame else "")
    if check.found is not None:
        parts.append(f"<h3>Found by the search</h3>\n{code(check.found.line)}")
    sources = [("Function", place, check.source)] if check.source else []
    sources += [("Derivative by hand", *claim) for claim in check.claim_sources]
    if sources:
        parts.append(f'<div class="sources">{"".join(source_part(*source) for source in sources)}</div>')
    if check.replay:
        parts.append(f"<h3>Repeat it</h3>\n{code(check.replay)}")
    parts += [input_part(item, len(check.inputs) == 1) for item in check.inputs]
    return "\n".join(part for part in parts if part)


def source_part(what: str, place: str, text: str) -> str:
    return f'<section><h3>{what} <span class="dim">{escape(place)}</span></h3>\n{code(text.rstrip())}\n</section>'


def input_part(item: InputCheck, told: bool) -> str:
    """Return what was found for one input: its line, maps and table. told: whether its worst element was named."""
    shape = "×".join(map(str, item.shape)) or "a number"
    parts = [f"<h3>{verdict_text(item.verdict)} {escape(item.name)} <span class='dim'>{shape}</span></h3>"]
    parts.append(f"<p>{escape(worst_text(item))}</p>" if item.worst is not None and not told else "")
    if item.verdict != "pass" and item.line is not None and item.worst is not None:
        parts.append(line_plot(item.name, item.line, item.worst))
    if item.verdict != "pass" and item.elements is not None and item.elements.claimed.size:
        parts += [heat_maps(item.shape, item.elements), element_table(item, item.elements)]
    return "\n".join(part for part in parts if part)


def element_table(item: InputCheck, every: Elements) -> str:
    """Return a table of the elements, wrong ones marked; of very many the worst."""
    with np.errstate(all="ignore"):
        ratio = every.claimed / every.numeric
        off = np.abs(every.claimed - every.numeric) / (np.abs(every.numeric) + every.error)
    places = [(int(j), int(i)) for j, i in np.ndindex(every.claimed.shape)]
    caption = "The only element" if len(places) == 1 else f"All {len(places)} elements"
    if len(places) > MOST_ROWS:
        order = np.argsort(-np.nan_to_num(off, nan=np.inf).ravel(), kind="stable")[:MOST_ROWS]
        caption = f"The worst {MOST_ROWS} of {len(places)} elements"
        places = [(int(j), int(i)) for j, i in zip(*np.unravel_index(np.sort(order), off.shape), strict=True)]
    several = len(every.rows) > 1
    rows = []
    for j, i in places:
        (out, out_part), (index, part) = every.rows[j], every.columns[i]
        x = item.point[index] if item.point is not None else np.nan
        x = {"re": np.real, "im": np.imag}.get(part, np.real)(x)
        verdict = str(every.verdicts[j, i])
        cells = [escape(label_part(item.name, index, part)), f"{x:.8g}", f"{every.claimed[j, i]:.12g}"]
        cells += [f"{every.numeric[j, i]:.12g} ± {every.error[j, i]:.2g}", f"{ratio[j, i]:.6g}"]
        cells += [f'<span class="{verdict}">{MARKS.get(verdict, "~")} {verdict}</span>']
        rows.append(
            ("wrong" if verdict == "fail" else "", [escape(label_part("out", out, out_part))] * several + cells)
        )
    headings = [*["output"] * several, "element", "value", "claimed", "numeric ± error", "claimed / numeric", "verdict"]
    body = table(headings, rows, set(range(1 + several, 5 + several)))
    opened = " open" if len(places) <= 200 else ""
    return f"<details{opened}><summary>{caption}</summary>{scroll(body, caption, 'wide long stack elements')}</details>"


WRITERS = {"html": {CheckList: render_checklist, CheckSummary: render_checksummary, Trace: render_trace}}
