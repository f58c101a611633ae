"""Parts of the pages of the site that come from the program: the tables that decide."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from gradcli.numeric import decide

PAGES = Path(__file__).parents[1] / "site/pages"
PART = re.compile(r"(<!-- decide\.(\w+), by `make man` -->\n).*?(<!-- end -->)", re.S)


def decision_table(rows: Sequence[decide.Row]) -> str:
    """Return a table of decisions in Markdown."""
    lines = ["| what was said | verdict | why |", "|---|---|---|"]
    for row in rows:
        seen = "; ".join(
            f"`{source}`: {' or '.join(word or 'nothing' for word in words)}" for source, words in row.seen.items()
        )
        lines.append(f"| {seen or 'anything else'} | {row.verdict} | {row.why} |")
    return "".join(f"{line}\n" for line in lines)


def site_pages() -> dict[str, str]:
    """Return the pages that have such parts, by file name, with these renewed."""
    pages = {path.name: path.read_text() for path in sorted(PAGES.glob("*.md"))}
    return {
        name: PART.sub(lambda part: part[1] + decision_table(getattr(decide, part[2])) + part[3], text)
        for name, text in pages.items()
        if PART.search(text)
    }
