"""The page gradcli-verdict(7): what a verdict means, how it is found, what it can miss, and how that is tested."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from gradcli.check import verdict

from .mdoc import escape_roff, page, paragraphs, tag_list

MEASURED = Path(__file__).with_name("calibration.json")
KERNELS = Path(__file__).with_name("calibration_reference.json")
DESCRIPTION = """
gradcli-gradcheck(1) compares a claimed derivative with values of the function, and gives one of four verdicts. The
claimed derivative, or claim, is the derivative that is checked, whether it is the engine's or written by hand. You do
not have to choose a tolerance: an element of the claim has to lie in an interval, which is computed from the values
themselves.
"""
VERDICTS = [
    (
        "Cm pass",
        "Every element that can be decided agrees with its interval. The claim also behaves like a derivative: its "
        "vector products (vjp, jvp) are linear, do not change in a second call, and belong to this point. The report "
        "gives the number of digits to which the worst element agrees, and the resolution: the smallest relative error "
        "that would have been detected in any element. The resolution takes the scatter of the claim into account.",
    ),
    (
        "Cm fail",
        """At least one of these is true:

- An element is further from its interval than the rounding of claim and function explains.
- A vector product is not linear, changes from call to call, or belongs to a different point.
- The forward pass of a custom function gives a different value than a call without gradients.
- The derivative depends on memory layouts or on unused outputs, or changes in a second backward pass.

If correcting one common mistake, such as a wrong sign, would make the claim agree, the report names that mistake.""",
    ),
    (
        "Cm inconclusive",
        """It is not known whether the claim is right, for one of these reasons:

- The function jumps at the point.
- Noise or rounding is larger than the errors that have to be detected.
- The calls that `--calls` allows are too few.
- Every element changes the output by less than the rounding of its values.

The message gives the reason, and what would allow a verdict.""",
    ),
    ("Cm error", "The function or the claim raised an error or took too long. The derivative was not checked."),
]
METHOD = """
# Estimate

gradcheck evaluates the function along a line through the point, at Chebyshev points on intervals of several widths. The
coefficients of the Chebyshev series decrease until they reach the noise of the values. They give the slope and
its error (Trefethen, Approximation Theory and Approximation Practice, 2013, chapters 3, 4 and 7; More and Wild,
Estimating Computational Noise, 2011). The estimate from a wide interval refines the estimate from a narrow one, but
only if the two agree. If they disagree, the function has structure that the wide interval misses.

If values jump between neighbouring points, the function is computed in pieces. If the pieces are only about as long as
the rounding of the input, precision is limited, and gradcheck takes the trend over many pieces. Longer pieces form a
staircase, and gradcheck takes the slope of the piece at the point. If the slopes on the two sides differ, the point is
a kink. The claim then has to lie in the generalized gradient (Clarke 1983). The slope of a smooth function takes 14
calls.

# Probe

All elements move together along random directions. There are two kinds of directions:

- Each element moves in proportion to its own size. A disagreement along such a direction proves an error.
- Each element moves in proportion to the typical size of its array. Such a direction is sensitive to tiny elements, but
  a disagreement is only a hint. It is not used if the elements of the array have very different units.

Along every direction, each element moves by between 1/2 and 3/2 of the step described above. Agreement along a
direction therefore limits the error of every element. Small elements for which this limit is wider than 2 % get
separate directions. Up to eight elements are estimated one by one instead.

# Locate

If there is a disagreement, gradcheck looks for the wrong element. It repeatedly halves the set of elements that move,
as in group testing (Dorfman 1943), and finally estimates one element by itself. It locates up to ten wrong elements. If
many are wrong, it examines a sample of up to 64 elements, and counts the wrong ones.

# Decide

An element fails if its distance from the estimate is larger than the sum of these parts:

- {MARGIN} times the error of the estimate,
- {ROUNDING} rounding units of the claimed value,
- {SCATTERS} times the scatter of the claim between points that are rounding units apart,
- {FLOOR[8]:g} (float64) or {FLOOR[4]:g} (float32) times the claimed value, but at most {LEEWAY:g} times the error of
  the estimate.

Before gradcheck reports a fail, it tests two other explanations. If the mismatch changes erratically from point to
point, as with a solver that stops at a tolerance, the check is inconclusive. If only the claim is rough, the report
says so.

A backward pass is called with incoming gradients of very different sizes, from 1/1024 to 1024. It is also called twice
at the same point, and again after a call at a different point.

gradcheck chooses its methods by sizes and numbers of calls, never by elapsed time. A slow machine therefore gives the
same verdict as a fast one.
"""
MISSED = """
A check can pass in spite of these errors:

- An error that is smaller, in every element, than the resolution that the report states.
- An error in an element whose effect on the output is less than a hundredth of the effect of other elements, and is
  hidden by rounding. Such elements are neither right nor wrong; a note counts them.
- At a kink, a wrong value that happens to lie in the generalized gradient. If more than eight elements with the same
  value are at a kink, only some of them are estimated, and a note says how many.
- An error at a different point. `--search N` tries N edge-case points. It finds errors
  of 0.1 % or more in the regions that one of these points hits. Other regions are not checked.
- Errors in several elements that cancel along every direction, to within the resolution.
- The same mistake in function and claim, because a claim is compared only with values of its function.

A right claim can fail if the function contains an integrator with a loose tolerance, whose error is smooth around the
point. The slope of the computed values then differs from the exact slope.
"""
TABLE = """
The repository contains several banks. A bank is a collection of right and wrong claims about functions with known
derivatives, which were computed by mpmath to 50 digits or derived by hand. `make calibrate` checks all claims and
prints this table. Each random bank has {functions} functions.

A right claim passes, is accused (verdict fail), or is left open (inconclusive or error). A wrong claim is found
(verdict fail), is not decided, or passes. If a wrong claim passes and its error is below the stated resolution, it
counts as within; otherwise it is missed. In most open and undecided cases, rounding hides the derivative or the calls
are too few.
"""
KERNEL_HEADS = ("right", "accused", "open", "wrong", "found", "not decided", "missed")
REFERENCE = """
With `--reference`, the claim is compared with the derivative of the reference in float64, at inputs rounded to the type
of `--dtype`. If the reference is a NumPy function without automatic derivative, its derivative is estimated from
values. The comparison uses random incoming gradients, which are rounded, too. The yardstick is the error of the
reference's own backward pass in the type of `--dtype`, but at least half an ulp at the derivative's size.

For each input, the claim passes if its root mean square error is below 2 times the yardstick. It fails if the error is
above 4 times the yardstick in bfloat16, 8 times in float16 and 16 times in float32. To fail, the error must also exceed
the same multiple of the change that rounding the inputs causes. The claim also fails in three other cases:

- A single element is off by far more than the largest error of the yardstick.
- The errors are proportional to the derivative on average: the regression slope is above 8 standard errors, and above 2
  rounding units.
- The errors along an axis are proportional to the derivative, the input, the output or a constant.

The report gives both errors in rounding units (ulps) of the derivative's size, and the bias. Without `--dtype`, both
functions run in float64, or in the type in which they compute internally. An error that is smaller than about one
rounding unit of the whole gradient's size cannot be seen.

`make calibrate` checks {kernels} kernels of nine PyTorch functions. Half of them are right, in several ways: they
compute in float32 or in the type itself, keep intermediate results in the type, or add up sums of blocks. The other
half are wrong: they have factors of 1 to 5 %, missing terms, dropped tails, wrong reductions, or errors in single rows,
columns and elements.
"""
EXAMPLES = ["gradcli gradcheck 'sum(sin(x))' x='[1, 2]' -v", "gradcli gradcheck 'sum(tanh(x))' x='[1, 14]' --show all"]
HEADS = ("right", "accused", "open", "wrong", "found", "not decided", "within", "missed")


def counted(counts: Sequence[int], heads: Sequence[str]) -> list[str]:
    """Return a sentence: `4 right claims: 0 accused, 0 open.`"""
    cells = [f"{count} {head}" for head, count in zip(heads, counts, strict=True)]
    return [f"{cells[0]} claims: {', '.join(cells[1:])}."]


def calibration() -> list[str]:
    """Return the measured table of counts."""
    measured = json.loads(MEASURED.read_text())
    lines = [*paragraphs(TABLE.format(functions=measured["functions"])), ".Bl -tag -width Ds"]
    for row in measured["banks"]:
        name, *counts = row.values()
        lines += [f".It {escape_roff(name[0].upper() + name[1:])}", *counted(counts[:3], HEADS[:3])]
        lines += counted(counts[3:], HEADS[3:])
    return [*lines, ".El", *reference()]


def reference() -> list[str]:
    """Describe comparisons with a reference, with the measured table of kernels."""
    measured = json.loads(KERNELS.read_text())
    lines = [".Ss Comparison with a reference", *paragraphs(REFERENCE.format(kernels=measured["kernels"]))]
    lines += [".Bl -tag -width Ds"]
    for row in measured["types"]:
        name, *counts = row.values()
        lines += [f".It {escape_roff(name[0].upper() + name[1:])}", *counted(counts[:3], KERNEL_HEADS[:3])]
        lines += counted(counts[3:], KERNEL_HEADS[3:])
    return [*lines, ".El"]


def verdict_page() -> str:
    return page(
        "gradcli-verdict(7)",
        "what a verdict means, and what it can miss",
        [
            *[*paragraphs(DESCRIPTION), *tag_list(VERDICTS), *paragraphs(METHOD.format(**vars(verdict)))],
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
