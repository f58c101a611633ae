"""Locks and what became of them, for people and in lines."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Group
from rich.table import Table
from rich.text import Text

from ..errors import visible
from ..results.labels import label
from ..results.locks import Comparison, Lock, Verification
from . import Style, renders
from .arrays import plain_table

COLOURS = {"same": "green", "changed": "bold red", "error": "bold magenta", "new": "yellow", "gone": "yellow"}


def difference_text(check: Comparison) -> str:
    """Return both values with both intervals."""
    worst = check.worst
    if worst is None:
        return check.message
    place = label("", worst.place)
    name = "value" if worst.input is None else f"d/d{worst.input}"
    return (
        f"{name}{place}: locked {lock_number(worst.locked)} ± {worst.locked_error:.2g}, "
        f"now {lock_number(worst.now)} ± {worst.now_error:.2g}"
    )


def lock_number(x: Any) -> str:
    return str(complex(x)) if np.iscomplexobj(x) else repr(float(x))


@renders(form="table")
def render_lock(result: Lock, style: Style) -> Table:
    """Return a row per check: its value, and how many numbers its gradient has."""
    table = plain_table("check", "file", "value", "elements")
    for entry in result.entries:
        value = entry["value"] if isinstance(entry["value"], float) else "…"
        count = sum(np.size(x["data"] if isinstance(x, dict) else x) for x in entry["grad"].values())
        table.add_row(visible(entry["check"]), visible(entry["file"]), str(value), str(count))
    return table


@renders(form="table")
def render_verification(result: Verification, style: Style) -> Group:
    """Return one line per check, what changed, and a summary."""
    lines = []
    for check in result.checks:
        text = Text().append(f"{check.verdict:<8} ", COLOURS[check.verdict])
        text.append(visible(check.name), "bold").append(f"  {visible(check.file or '')}", "dim")
        if check.verdict in ("changed", "error"):
            text.append("\n    " + visible(difference_text(check)))
        lines.append(text)
    bad = result.count("changed") + result.count("error")
    if bad and result.libraries:
        versions = [f"{name} {old} -> {new}" for name, old, new in result.libraries]
        lines.append(Text("versions that differ: " + ", ".join(versions), style="dim"))
    counts = [f"{n} {verdict}" for verdict in COLOURS if (n := result.count(verdict))]
    lines.append(Text(", ".join(counts) or "no checks", style="bold red" if bad else "bold green"))
    return Group(*lines)
