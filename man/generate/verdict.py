"""The page gradcli-verdict(7): what a verdict means, how it is found, what it can miss, and how that is tested."""

from __future__ import annotations

import json
from pathlib import Path

from .mdoc import escape_roff, page, paragraphs, tag_list

MEASURED = Path(__file__).with_name("calibration.json")
KERNELS = Path(__file__).with_name("calibration_reference.json")
DESCRIPTION = """
gradcli-gradcheck(1) compares a claimed derivative with values of the function, and says one of four things. There is
no tolerance to choose: what is compared is an interval, and how wide that is follows from the values themselves.
"""
VERDICTS = [
    (
        "Cm pass",
        "Every element that can be decided agrees with its interval, and the claim behaves as a derivative does: its "
        "products are linear, the same when asked again, and those of this point and no other. The line says to how "
        "many digits the worst element agrees, and the smallest relative error that would have been seen in every "
        "decided element. What a claim scatters by itself is part of that size.",
    ),
    (
        "Cm fail",
        "An element is further from its interval than rounding of the claim, and of the function, explains; or a "
        "product is not linear, changes from call to call, or is that of another point; or the value that a rule "
        "computes is another one than the function's. A diagnosis names the mistake where the claim, corrected by "
        "it, would agree.",
    ),
    (
        "Cm inconclusive",
        "Neither can be said: the function jumps at the point, noise or rounding is wider than what has to be seen, "
        "a budget of calls is used up, or no element is above the function's own rounding. The message says which, "
        "and what would decide.",
    ),
    ("Cm error", "The function or the claim raised, or does not end in its time; nothing is said of the derivative."),
]
METHOD = """
Estimate. Along a line, the function is sampled at Chebyshev points on intervals of several widths. The
coefficients of the Chebyshev series fall until they reach the noise of the values, which gives the slope and its
error (Trefethen, Approximation Theory and Approximation Practice, 2013, chapters 3, 4 and 7; More and Wild, Estimating
Computational Noise, 2011). A wide interval may sharpen a narrow one only if the two agree; otherwise it has missed
structure. Where values jump between neighbouring points, the function is computed in pieces: pieces as short as
rounding are limited precision, and the trend counts; longer ones are a staircase, and the slope is that of the
piece. Where one-sided slopes differ there is a kink, and the claim has to lie in the generalized gradient
(Clarke 1983). An easy slope takes 14 calls.

Probe. All elements move at once along random directions, in which each takes part with at least half its size:
relative to its own value, and to the typical value of its array. What a direction agrees to bounds the error of every
element. Elements that are too small for the bound to say 2 % of them get directions of their own. Up to eight
elements are estimated one by one instead.

Locate. A disagreement is a fail. The direction is halved until the wrong element is found, as in group testing
(Dorfman 1943); that element is then estimated by itself. Up to ten wrong elements are located; where many are wrong,
up to 64 are sampled and counted.

An element fails when it is further from the estimate than 2.5 times its error, 32 rounding units of the claim, and
what the claim scatters between points that are rounding units apart. Before it does, gradcli asks whether the
mismatch is erratic from point to point, as that of a solver that stops at a tolerance, and whether the claim alone is
rough. Backward passes are asked for cotangents between 1/1024 and 1024, again at the same point, and at another point
first.

Methods are chosen by sizes and counts of calls, never by the time that these take: a slow machine gives the same
verdict as a fast one.
"""
MISSED = """
An error that is smaller than the size that a pass states, in every element. Elements that change the output by less
than a hundredth of what others do, and less than rounding shows, are neither right nor wrong: a note counts them.

At a kink, a claim that lies in the generalized gradient by accident. Where more than eight elements of one value are
at a kink, some of them are estimated, and a note says how many.

An integrator with a loose tolerance whose error is smooth around the point: the slope of what it computes differs
from the exact one, and an exact claim fails by that difference.

An error at another point. `--search N` tries N edge-case points; it finds an error of 0.1 % in a region that one of
them hits, and says nothing of regions that none of them hits.

Errors in several elements that cancel along every direction that was taken, to within the stated size.

A function and a claim with the same mistake: a claim is compared with values, and with nothing else.
"""
TABLE = """
The repository's banks hold right and wrong claims about functions whose derivatives are known: by mpmath in 50
digits, or by hand. `make calibrate` judges all of them; the table is what it printed, with {functions} random functions
in each bank of these. A right claim is accused (fail), left open (inconclusive or error), or passes. A wrong one is
found, not decided, or passes: within what the pass stated, or beyond it: that is a miss. Right claims that are left
open and wrong ones that are not decided are mostly those where rounding hides the derivative, or the calls do not
suffice.
"""
KERNEL_HEADS = ("right", "accused", "open", "wrong", "found", "not decided", "missed")
REFERENCE = """
With --reference, the golden derivative is that of the reference in float64, at inputs that are rounded to the type of
--dtype; for a NumPy function that nothing differentiates it is estimated from values. Random cotangents are rounded,
too. The yardstick is the error of the reference's own backward in that type, at least half a rounding unit of the
derivative's size. For each input, the claim passes if its error, as a root mean square, is below 2 times the
yardstick, and fails above 4 times in bfloat16, 8 times in float16, 16 times in float32, and above what inputs moved by
rounding units change. It fails, too, if a single element is off by far more than the yardstick's largest error; and
if its errors follow the derivative on average (a slope of more than 8 standard errors and 2 rounding units), or along
an axis the derivative, the input, the output or a constant. The report gives both errors in ulps of the derivative's
size, and the bias. Without --dtype all is in float64, or in the type in which the functions compute. A part that is
wrong by less than about a rounding unit of the whole gradient's size cannot be seen.

`make calibrate` judges {kernels} kernels of nine functions of PyTorch, half of them right in several ways (float32
inside, the type itself throughout, intermediate results kept in it, sums of blocks), half wrong: factors of 1 to 5 %,
missing terms, dropped tails, wrong reductions, single rows, columns and elements.
"""
EXAMPLES = ["gradcli gradcheck 'sum(sin(x))' x='[1, 2]' -v", "gradcli gradcheck 'sum(tanh(x))' x='[1, 14]' --show all"]
HEADS = ("right", "accused", "open", "wrong", "found", "not decided", "within", "missed")


def calibration() -> list[str]:
    """Return the table of counts as it was measured."""
    measured = json.loads(MEASURED.read_text())
    lines = [*paragraphs(TABLE.format(functions=measured["functions"])), ".Bl -tag -width Ds"]
    for row in measured["banks"]:
        name, *counts = row.values()
        told = [f"{count} {head}" for head, count in zip(HEADS, counts, strict=True)]
        lines += [f".It {escape_roff(name[0].upper() + name[1:])}", f"{', '.join(told[:3])};"]
        lines += [f"{', '.join(told[3:])}."]
    return [*lines, ".El", *reference()]


def reference() -> list[str]:
    """Return how comparisons with a reference are decided, and the table of kernels as it was measured."""
    measured = json.loads(KERNELS.read_text())
    lines = [".Ss Comparison with a reference", *paragraphs(REFERENCE.format(kernels=measured["kernels"]))]
    lines += [".Bl -tag -width Ds"]
    for row in measured["types"]:
        name, *counts = row.values()
        told = [f"{count} {head}" for head, count in zip(KERNEL_HEADS, counts, strict=True)]
        lines += [f".It {escape_roff(name[0].upper() + name[1:])}", f"{', '.join(told)}."]
    return [*lines, ".El"]


def verdict_page() -> str:
    return page(
        "gradcli-verdict(7)",
        "what a verdict means, and what it can miss",
        [
            *[*paragraphs(DESCRIPTION), *tag_list(VERDICTS), ".Ss Method", *paragraphs(METHOD)],
            *[".Ss What can be missed", *paragraphs(MISSED), ".Ss Calibration", *calibration()],
        ],
        EXAMPLES,
        ["gradcli(1)", "gradcli-gradcheck(1)", "gradcli-json(5)"],
        files=[
            ("tests/calibrate.py", "Counts how often the verdict is right."),
            ("tests/calibrate_reference.py", "The same for comparisons with a reference."),
        ],
        compact=True,
    )
