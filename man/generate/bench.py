"""The page gradcli-bench(7): how quick gradcli is beside its peers, and how gradient checkers do on one bank."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from .mdoc import Item, escape_roff, page, paragraphs, tag_list

MEASURED = Path(__file__).with_name("bench.json")
DESCRIPTION = """
`make bench` measures on the machine at hand and prints these tables, and `make bench MEASURED=man/generate/bench.json`
renews those of this page. They were measured on {date}, on {machine}, which had {load} when that began.
"""
RATIOS = """
The time that gradcli takes, divided by that of another way to do the same: below 1, gradcli is quicker. A ratio is
the median over pairs that were run in turn; results were compared before. PyTorch and JAX are built for large arrays,
of which there are none here; the JAX of Jacobians and Hessians is compiled before its time is taken. Of a sweep, the
processor's time is counted.
"""
CHECKERS = """
Random functions of 1 to 8 numbers, {functions} of them, with points, scales and kinks as they come, each with its
gradient and with wrong ones, of which those count that are off by 1 % and more. It is the bank of gradcli-verdict(7),
not made for the others: their own defaults suit functions that are smooth, of size 1 and known without noise. SciPy's
`check_grad` returns the size of a difference, which fails here above 1e-5 of the gradient's; numdifftools and jacobi
return a derivative and its error, and a claim fails that is ten such errors away, or not finite. A right claim is
accused, or not; a wrong one is found, or not; open are those of which a checker says that it cannot decide. Calls and
milliseconds are medians for one check.
"""
EXAMPLES = ["time gradcli grad 'x**2 * sin(y)' x=2 y=3"]


def ratio_list(rows: list[dict[str, Any]]) -> Iterator[Item]:
    for work, group in groupby(rows, lambda row: row["work"]):
        told = (f"{row['reference']}: {'not measured' if row['ratio'] is None else row['ratio']}" for row in group)
        yield escape_roff(work), f"{'; '.join(told)}."


def checker_list(rows: list[dict[str, Any]]) -> Iterator[Item]:
    for row in rows:
        c = row["counts"]
        told = c and (
            f"{c['accused']} of {c['right']} right claims accused, {c['found']} of {c['wrong']} wrong ones found, "
            f"{c['open']} open; {c['calls']:g} calls, {c['milliseconds']:g} ms."
        )
        yield escape_roff(row["checker"]), told or "not measured."


def bench_page() -> str:
    measured = json.loads(MEASURED.read_text())
    ratios, checkers = ratio_list(measured["ratios"]), checker_list(measured["checkers"])
    return page(
        "gradcli-bench(7)",
        "how quick gradcli is, and how gradient checkers do",
        [
            *paragraphs(DESCRIPTION.format(**measured)),
            *[".Ss Ratios of time", *paragraphs(RATIOS), *tag_list(ratios)],
            *[".Ss Gradient checkers", *paragraphs(CHECKERS.format(**measured)), *tag_list(checkers)],
        ],
        EXAMPLES,
        ["gradcli(1)", "gradcli-verdict(7)"],
        files=[("tests/bench.py", "What measures.")],
        compact=True,
    )
