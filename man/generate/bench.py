"""The page gradcli-bench(7): the speed of gradcli and its peers, and gradient checkers compared on one bank."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from .mdoc import Item, escape_roff, page, paragraphs, tag_list

MEASURED = Path(__file__).with_name("bench.json")
DESCRIPTION = """
These tables were measured on {date}, on {machine}, which had {load} at the start. `make bench` measures on your machine
and prints the same tables; `make bench MEASURED=man/generate/bench.json` updates the numbers of this page.
"""
RATIOS = """
A ratio is the time that gradcli takes, divided by the time of another way to do the same: below 1, gradcli is faster.
It is the median over pairs of runs that alternate, after the results were compared. PyTorch and JAX are built for large
arrays, which these tasks do not have. JAX compiles Jacobians and Hessians before the measurement. For a sweep, CPU time
is counted.
"""
CHECKERS = """
The bank of gradcli-verdict(7) has {functions} random functions of 1 to 8 numbers, with random points, scales and kinks.
Each comes with its right gradient and with wrong ones; those that are off by 1 % and more count here. The bank was not
made for the other checkers: their defaults suit functions that are smooth, of size 1 and free of noise.

SciPy's `check_grad` returns the norm of a difference, which counts as a fail above 1e-5 of the gradient's norm.
numdifftools and jacobi return a derivative and its error; a claim fails if it is ten such errors away, or not finite.

A right claim is accused or not; a wrong one is found or not; open counts the claims that a checker calls undecided.
Calls and milliseconds are medians for one check.
"""
EXAMPLES = ["time gradcli grad 'x**2 * sin(y)' x=2 y=3"]


def ratio_list(rows: list[dict[str, Any]]) -> Iterator[Item]:
    for work, group in groupby(rows, lambda row: row["work"]):
        ratios = (f"{row['reference']}: {'not measured' if row['ratio'] is None else row['ratio']}" for row in group)
        yield escape_roff(work), f"{'; '.join(ratios)}."


def checker_list(rows: list[dict[str, Any]]) -> Iterator[Item]:
    for row in rows:
        c = row["counts"]
        counts = c and (
            f"{c['accused']} of {c['right']} right claims accused, {c['found']} of {c['wrong']} wrong ones found, "
            f"{c['open']} open; {c['calls']:g} calls, {c['milliseconds']:g} ms."
        )
        yield escape_roff(row["checker"]), counts or "not measured."


def bench_page() -> str:
    measured = json.loads(MEASURED.read_text())
    ratios, checkers = ratio_list(measured["ratios"]), checker_list(measured["checkers"])
    return page(
        "gradcli-bench(7)",
        "the speed of gradcli, and gradient checkers compared",
        [
            *paragraphs(DESCRIPTION.format(**measured)),
            *[".Ss Ratios of time", *paragraphs(RATIOS), *tag_list(ratios)],
            *[".Ss Gradient checkers", *paragraphs(CHECKERS.format(**measured)), *tag_list(checkers)],
        ],
        EXAMPLES,
        ["gradcli(1)", "gradcli-verdict(7)"],
        files=[("tests/bench.py", "The program that measures.")],
        compact=True,
    )
