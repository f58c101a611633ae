"""Pages that stand by themselves: one file, nothing fetched, light and dark, readable without a mouse or scripts."""

from __future__ import annotations

from html import escape as escape_html
from typing import Any

from ..errors import visible

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""A page may fetch nothing, whatever a name in it says."""
STYLE = """
.gradcli { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --soft: #f3f5f7; --line: #c9d1d9;
  --dim: #57606a;
  --pass: #116329; --fail: #b3001b; --unsure: #7a5200; --error: #7b2d8b; --first: #0550ae;
  --second: #a04100; --now: #fff1c2; color: var(--ink); background: var(--paper);
  font: 1rem/1.5 system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { .gradcli { --ink: #e6edf3; --paper: #0d1117; --soft: #161b22; --line: #3d444d;
  --dim: #9aa4af; --pass: #56d364; --fail: #ff8182; --unsure: #e3b341; --error: #d8a6ff; --first: #79c0ff;
  --second: #ffa657; --now: #4a3a00; } }
body.gradcli { margin: 0 auto; padding: 1rem; max-width: 70rem; }
.gradcli h1 { font-size: 1.5rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
.gradcli h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; overflow-wrap: anywhere; }
.gradcli h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
.gradcli a { color: var(--first); }
.gradcli :focus-visible { outline: 3px solid var(--first); outline-offset: 2px; }
.gradcli table { border-collapse: collapse; }
.gradcli th, .gradcli td { border-bottom: 1px solid var(--line); padding: .2rem .6rem; text-align: left;
  vertical-align: top; }
.gradcli .number { text-align: right; }
.gradcli td.number { white-space: nowrap; font: .9em ui-monospace, monospace; }
.gradcli .wide { overflow-x: auto; max-width: 100%; }
.gradcli .long { max-height: 30rem; overflow-y: auto; }
@media (max-width: 40rem) { .gradcli .stack thead { display: none; }
  .gradcli .stack table, .gradcli .stack tbody, .gradcli .stack tr, .gradcli .stack td { display: block; }
  .gradcli .stack td { border: 0; text-align: left; padding: .1rem 0; white-space: normal; overflow-wrap: anywhere; }
  .gradcli .stack tr { border-bottom: 1px solid var(--line); padding: .4rem 0; } }
@media print { .gradcli .long { max-height: none; } }
.gradcli pre { background: var(--soft); border: 1px solid var(--line); border-radius: 6px; padding: .6rem;
  margin: .3rem 0; overflow-x: auto; font: .9rem/1.45 ui-monospace, monospace; }
.gradcli .dim { color: var(--dim); }
.gradcli .pass { color: var(--pass); } .gradcli .fail { color: var(--fail); } .gradcli .error { color: var(--error); }
.gradcli .inconclusive, .gradcli .hidden { color: var(--unsure); }
.gradcli .verdict { font-weight: 700; white-space: nowrap; }
.gradcli tr.wrong td { background: color-mix(in srgb, var(--fail) 12%, transparent); }
.gradcli svg { max-width: 100%; height: auto; }
.gradcli svg text { fill: var(--ink); font: 12px ui-monospace, monospace; }
.gradcli .maps { display: flex; flex-wrap: wrap; gap: 1rem; } .gradcli figure { margin: 0; }
.gradcli figcaption { color: var(--dim); font-size: .9rem; }
""".strip()
MARKS = {"pass": "✓", "fail": "✗", "inconclusive": "?", "error": "!"}


def escape(text: Any) -> str:
    """Return text as text of a page, whatever it holds."""
    return escape_html(visible(str(text)), quote=True)


def page(title: str, body: str, style: str = "", script: str = "") -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f"<title>{escape(title)}</title>\n<style>\n{STYLE}\n{style}</style>\n</head>\n"
        f'<body class="gradcli">\n{body}\n{f"<script>{script}</script>" if script else ""}\n</body>\n</html>\n'
    )


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
