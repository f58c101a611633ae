"""The page gradcli-verdict(7): what a verdict means, how it is found, what it can miss, and how that is tested."""

from __future__ import annotations

import json
from pathlib import Path

from .mdoc import escape_roff, page, paragraphs, tag_list

MEASURED = Path(__file__).with_name("calibration.json")
KERNELS = Path(__file__).with_name("calibration_reference.json")
DESCRIPTION = """
gradcli-gradcheck(1) compares a claimed derivative with values of the function, and gives one of four verdicts. There is
no tolerance to choose: the claim is compared with an interval, whose width follows from the values themselves.
"""
VERDICTS = [
    (
        "Cm pass",
        "Every element that can be decided agrees with its interval, and the claim behaves as a derivative: its "
        "products are linear, the same in a second call, and those of this point. The line gives the number of digits "
        "to which the worst element agrees, and the smallest relative error that would have been seen in every "
        "decided element. This size includes the scatter of the claim itself.",
    ),
    (
        "Cm fail",
        "An element is further from its interval than rounding of the claim and of the function explains. Or a "
        "product is not linear, changes from call to call, or belongs to another point. Or the value that a rule "
        "computes differs from that of the function. A diagnosis names the mistake if the claim, corrected by it, "
        "would agree.",
    ),
    (
        "Cm inconclusive",
        "Neither can be decided: the function jumps at the point, noise or rounding exceeds the error that has to be "
        "seen, the call budget is used up, or no element is above the function's own rounding. The message gives the "
        "reason, and what would decide.",
    ),
    ("Cm error", "The function or the claim raised an error or took too long. The derivative was not checked."),
]
METHOD = """
# Estimate

Along a line, the function is sampled at Chebyshev points on intervals of several widths. The coefficients of the
Chebyshev series fall until they reach the noise of the values; this gives the slope and its error (Trefethen,
Approximation Theory and Approximation Practice, 2013, chapters 3, 4 and 7; More and Wild, Estimating Computational
Noise, 2011). A wide interval may sharpen a narrow one only if the two agree; otherwise it has missed structure.

If values jump between neighbouring points, the function is computed in pieces. Pieces as short as rounding mean limited
precision, and the trend counts. Longer pieces are a staircase, and the slope is that of the piece. If the one-sided
slopes differ, there is a kink, and the claim has to lie in the generalized gradient (Clarke 1983). An easy slope takes
14 calls.

# Probe

All elements move at once along random directions, in which each element moves by at least half its size, relative to
its own value and to the typical value of its array. The agreement along a direction bounds the error of every element.
Small elements, for which the bound is wider than 2 %, get directions of their own. Up to eight elements are estimated
one by one instead.

# Locate

A disagreement is a fail. The direction is halved until the wrong element is found, as in group testing (Dorfman 1943).
That element is then estimated by itself. Up to ten wrong elements are located; if many are wrong, up to 64 elements are
sampled and counted.

# Decide

An element fails when its distance from the estimate exceeds 2.5 times the error of the estimate, 32 rounding units of
the claim, and the scatter of the claim between points that are rounding units apart. Before reporting a fail, gradcli
tests whether the mismatch is erratic from point to point, as with a solver that stops at a tolerance, and whether the
claim alone is rough. Backward passes are called with cotangents between 1/1024 and 1024, again at the same point, and
at another point first.

Methods are chosen by sizes and counts of calls, never by elapsed time: a slow machine gives the same verdict as a fast
one.
"""
MISSED = """
An error that is smaller, in every element, than the size that a pass states. Elements that change the output by less
than a hundredth of what others do, and by less than rounding shows, are neither right nor wrong; a note counts them.

A claim at a kink that lies in the generalized gradient by accident. If more than eight elements with the same value are
at a kink, only some of them are estimated, and a note says how many.

An integrator with a loose tolerance whose error is smooth around the point. The slope of the computed values differs
from the exact slope, and an exact claim fails by that difference.

An error at another point. `--search N` tries N edge-case points. It finds an error of 0.1 % in a region that one of
them hits, and cannot see regions that none of them hits.

Errors in several elements that cancel along every direction that was taken, to within the stated size.

The same mistake in function and claim: a claim is compared only with values of its function.
"""
TABLE = """
The repository's banks hold right and wrong claims about functions whose derivatives are known, from mpmath in 50 digits
or by hand. `make calibrate` checks all of them and prints this table. Each random bank has {functions} functions.

A right claim passes, is accused (fail), or is left open (inconclusive or error). A wrong claim is found, is not
decided, or passes. A wrong claim that passes is off by less than the size that the pass states (within), or by more:
that is a miss. In most open and undecided cases, rounding hides the derivative or the calls do not suffice.
"""
KERNEL_HEADS = ("right", "accused", "open", "wrong", "found", "not decided", "missed")
REFERENCE = """
With `--reference`, the golden derivative is that of the reference in float64, at inputs rounded to the type of
`--dtype`. If the reference is a NumPy function that nothing differentiates, its derivative is estimated from values.
Random cotangents are rounded, too. The yardstick is the error of the reference's own backward in that type, and at
least half a rounding unit of the derivative's size.

For each input, the claim passes if its root mean square error is below 2 times the yardstick. It fails if the error is
above 4 times the yardstick in bfloat16, 8 times in float16 and 16 times in float32, and also above the change that
inputs moved by rounding units cause. It also fails in three other cases: a single element is off by far more than the
yardstick's largest error; its errors follow the derivative on average (a slope of more than 8 standard errors and 2
rounding units); or its errors along an axis follow the derivative, the input, the output or a constant.

The report gives both errors in ulps of the derivative's size, and the bias. Without `--dtype`, everything is in
float64, or in the type in which the functions compute. If a part is wrong by less than about one rounding unit of the
whole gradient's size, the error cannot be seen.

`make calibrate` checks {kernels} kernels of nine PyTorch functions. Half of them are right, in several ways: float32
inside, the type itself throughout, intermediate results kept in it, sums of blocks. Half are wrong: factors of 1 to
5 %, missing terms, dropped tails, wrong reductions, and single rows, columns and elements.
"""
EXAMPLES = ["gradcli gradcheck 'sum(sin(x))' x='[1, 2]' -v", "gradcli gradcheck 'sum(tanh(x))' x='[1, 14]' --show all"]
HEADS = ("right", "accused", "open", "wrong", "found", "not decided", "within", "missed")


def calibration() -> list[str]:
    """Return the measured table of counts."""
    measured = json.loads(MEASURED.read_text())
    lines = [*paragraphs(TABLE.format(functions=measured["functions"])), ".Bl -tag -width Ds"]
    for row in measured["banks"]:
        name, *counts = row.values()
        cells = [f"{count} {head}" for head, count in zip(HEADS, counts, strict=True)]
        lines += [f".It {escape_roff(name[0].upper() + name[1:])}", f"{', '.join(cells[:3])};"]
        lines += [f"{', '.join(cells[3:])}."]
    return [*lines, ".El", *reference()]


def reference() -> list[str]:
    """Describe comparisons with a reference, with the measured table of kernels."""
    measured = json.loads(KERNELS.read_text())
    lines = [".Ss Comparison with a reference", *paragraphs(REFERENCE.format(kernels=measured["kernels"]))]
    lines += [".Bl -tag -width Ds"]
    for row in measured["types"]:
        name, *counts = row.values()
        cells = [f"{count} {head}" for head, count in zip(KERNEL_HEADS, counts, strict=True)]
        lines += [f".It {escape_roff(name[0].upper() + name[1:])}", f"{', '.join(cells)}."]
    return [*lines, ".El"]


def verdict_page() -> str:
    return page(
        "gradcli-verdict(7)",
        "what a verdict means, and what it can miss",
        [
            *[*paragraphs(DESCRIPTION), *tag_list(VERDICTS), *paragraphs(METHOD)],
            *[".Ss What can be missed", *paragraphs(MISSED), ".Ss Calibration", *calibration()],
        ],
        EXAMPLES,
        ["gradcli(1)", "gradcli-gradcheck(1)", "gradcli-json(5)"],
        files=[
            ("tests/calibrate.py", "The program that counts how often the verdict is right."),
            ("tests/calibrate_reference.py", "The same for comparisons with a reference."),
        ],
        compact=True,
    )
