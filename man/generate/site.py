"""Parts of the pages of the site that come from the program: the tables that decide, and measured numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from gradcli.numeric import decide

from .bench import MEASURED
from .verdict import results_of

PAGES = Path(__file__).parents[1] / "site/pages"
PART = re.compile(r"(<!-- ([\w.]+), by `make man` -->\n).*?(<!-- end -->)", re.S)


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(map(str, cells))} |\n" for cells in lines)


def decision_table(rows: Sequence[decide.Row]) -> str:
    def cells(row: decide.Row) -> tuple[str, str, str]:
        seen = (f"`{source}`: {results}" for source, results in results_of(row))
        return "; ".join(seen) or "anything else", row.verdict, row.why

    return table(("results", "verdict", "why"), map(cells, rows))


def checker_table(rows: Sequence[dict[str, Any]]) -> str:
    heads = ("checker", "right gradients accused", "wrong gradients found", "calls", "milliseconds")
    counts = ((row["checker"], row["counts"]) for row in rows if row["counts"])
    return table(
        heads,
        (
            (name, f"{c['accused']} of {c['right']}", f"{c['found']} of {c['wrong']}", c["calls"], c["milliseconds"])
            for name, c in counts
        ),
    )


def scale_table(rows: Sequence[dict[str, Any]]) -> str:
    sizes = ((row["checker"], size) for row in rows for size in row["sizes"])
    heads = ("checker", "n", "calls", "seconds", "the wrong element is")
    return table(
        heads,
        (
            (
                name,
                f"{size['n']:,}",
                f"{size['calls']:,}",
                f"{size['seconds']:.2g}",
                "found" if size["finds"] else "missed",
            )
            for name, size in sizes
            if size["n"] in (100, 10_000, 1_000_000)
        ),
    )


def derivative_table(rows: Sequence[dict[str, Any]]) -> str:
    heads = ("program", "right", "not right, and not sure", "wrong and sure", "calls")
    counts = ((row["program"], row["counts"]) for row in rows if row["counts"])
    return table(heads, ((name, c["right"], c["honest"], c["sure"], c["calls"]) for name, c in counts))


def parts() -> dict[str, str]:
    """Return the tables by the names that pages give them."""
    measured = json.loads(MEASURED.read_text())
    writers: dict[str, Callable] = {
        "checkers": checker_table, "scales": scale_table, "derivatives": derivative_table,
    }  # fmt: skip
    return {
        "decide.ELEMENT": decision_table(decide.ELEMENT),
        "decide.CHECK": decision_table(decide.CHECK),
        **{f"bench.{name}": write(measured[name]) for name, write in writers.items()},
    }


def site_pages() -> dict[str, str]:
    """Return the pages that have such parts, by file name, with these renewed."""
    pages, made = {path.name: path.read_text() for path in sorted(PAGES.glob("*.md"))}, parts()
    return {
        name: PART.sub(lambda part: part[1] + made[part[2]] + part[3], text)
        for name, text in pages.items()
        if PART.search(text)
    }
