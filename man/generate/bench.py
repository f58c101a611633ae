"""The page gradcli-bench(7): speed, gradient checkers, and numeric derivatives of gradcli and its peers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from .mdoc import Item, escape_roff, page, paragraphs, tag_list

MEASURED = Path(__file__).with_name("bench.json")
DESCRIPTION = """
These tables were measured on {date}, on {machine}. At the start, the machine had a load average of {load}. `make bench`
measures on your machine and prints the same tables; `make bench MEASURED=man/generate/bench.json` updates the numbers
of this page.
"""
RATIOS = """
Each number is the time that gradcli takes for a task, divided by the time that the named alternative takes. If it is
below 1, gradcli is faster. The results of the two are compared first. Then they run alternately, and the number is the
median over these pairs of runs. PyTorch and JAX are built for large arrays, which these tasks do not use. JAX compiles
Jacobians and Hessians before the measurement. For the sweep, the times are CPU times.
"""
CHECKERS = """
The checkers are compared on one of the banks that gradcli-verdict(7) describes: {functions} random functions of 1 to 8
numbers, with random points, scales and kinks. For each function, there are a right gradient and several wrong ones. Of
the wrong ones, only those with an error of 1 % or more count here. The bank was not made for the other checkers. Their
defaults suit functions that are smooth, of size 1 and free of noise.

gradcli and PyTorch's gradcheck give a verdict, with their defaults. The others give none, so the limits below are ours.
SciPy's `check_grad` returns the norm of a difference. A claimed gradient fails here if this norm is above 1e-5 of the
gradient's norm. numdifftools and jacobi return a derivative and its error. A claimed gradient fails here if an element
is more than ten such errors and more than 1e-9 of its size away, or not finite.

A right claim that fails is accused, and a wrong claim that fails is found. A claim is open if the checker calls it
undecided. Calls and milliseconds are medians over all checks, of right and wrong claims.
"""
SCALES = """
Each checker checks a smooth loss of n inputs twice: with the right gradient, and with a gradient in which one element
is off by 5 %. The numbers of calls and seconds are for the check of the right gradient. To find the wrong element,
gradcli needs more calls; see gradcli-gradcheck(1). Sizes that would take more than a minute are left out.
"""
DERIVATIVES = """
Each program differentiates 13 functions of one number, with its defaults. They are: the gamma function;
(1 - cos(x))/x^2 at 1e-4, where values cancel; points next to a pole, to a kink and to the end of the domain; a kink;
noise of 1e-8; sin(1e9 x) at 3e-10; x log(x) at 1e12; sin(500 x); float32 inside; exp(300 x); and exp(-1/x^2) at 0.05.
The list is `FUNCTIONS` in tests/bench_derivatives.py.

A derivative is right if it is within 1 % of the true one; at the kink, only a program that reports no derivative is
right. A derivative is wrong and sure if it is off by more than ten of the errors that the program reports, and the
program reports no failure. The others are off by more than 1 %, and the program says so. The calls are those of all 13
functions together.
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
            f"{c['accused']} of {c['right']} right claims accused, {c['found']} of {c['wrong']} wrong claims found, "
            f"{c['open']} open; {c['calls']:g} calls, {c['milliseconds']:g} ms."
        )
        yield escape_roff(row["checker"]), counts or "not measured."


def scale_list(rows: list[dict[str, Any]]) -> Iterator[Item]:
    for row in rows:
        sizes = []
        for size in row["sizes"]:
            fails, found = "" if size["passes"] else ", right gradient fails", "found" if size["finds"] else "missed"
            work = f"{size['calls']:,} calls, {size['seconds']:.2g} s"
            sizes.append(f"n = {size['n']:,}: {work}{fails}, wrong element {found}")
        yield escape_roff(row["checker"]), f"{'; '.join(sizes) or 'not measured'}."


def derivative_list(rows: list[dict[str, Any]]) -> Iterator[Item]:
    for row in rows:
        c = row["counts"]
        where = c and c["wrong"] and f" ({', '.join(c['wrong'])})"
        text = (
            c and f"{c['right']} right, {c['honest']} not right and not sure, {c['sure']} wrong and sure{where or ''}"
        )
        yield escape_roff(row["program"]), f"{text}; {c['calls']} calls." if c else "not measured."


def bench_page() -> str:
    measured = json.loads(MEASURED.read_text())
    ratios, checkers = ratio_list(measured["ratios"]), checker_list(measured["checkers"])
    return page(
        "gradcli-bench(7)",
        "the speed of gradcli, and gradient checkers and numeric derivatives compared",
        [
            *paragraphs(DESCRIPTION.format(**measured)),
            *[".Ss Ratios of time", *paragraphs(RATIOS), *tag_list(ratios)],
            *[".Ss Gradient checkers", *paragraphs(CHECKERS.format(**measured)), *tag_list(checkers)],
            *[".Ss Size of checks", *paragraphs(SCALES), *tag_list(scale_list(measured["scales"]))],
            *[".Ss Numeric derivatives", *paragraphs(DERIVATIVES), *tag_list(derivative_list(measured["derivatives"]))],
        ],
        EXAMPLES,
        ["gradcli(1)", "gradcli-verdict(7)"],
        files=[("tests/bench.py", "The program that measures.")],
        compact=True,
    )
