"""The page gradcli-verdict(7): what a verdict means, how it is found, what it can miss, and how that is tested."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from gradcli.check import estimation, sequential
from gradcli.numeric import compare, decide, verdict

from . import texts
from .mdoc import escape_roff, page, paragraphs, tag_list

MEASURED = Path(__file__).with_name("calibration.json")
KERNELS = Path(__file__).with_name("calibration_reference.json")
DESCRIPTION = """
gradcli-gradcheck(1) compares a claimed derivative with values of the function. The claimed derivative, or claim, is the
derivative that is checked. It may be written by hand, or computed by a framework such as PyTorch or gradcli. An element
is one number of an input, an output or a derivative.

For an element of the claim, gradcheck estimates the derivative from values of the function. It also computes an
interval around the estimate, in which the claimed value should lie. You do not have to choose a tolerance, because the
width of the interval follows from the values of the function. A second test, the integral test, compares the integral
of the claim along a line with the change of the function on this line. The section Integrate describes it.

The verdict is one of these:
"""
VERDICTS = [
    (
        "Cm pass",
        """gradcheck found no wrong element. An element is not decidable if rounding hides its effect on the output; a
note gives the number of such elements. In every other element, the error is below the resolution that the report gives
(see below), or below 1e-6 of the derivative. The claim also passed these tests:

- Vector products with the claim (vjp, jvp) are linear in the vector.
- A second call at the same point gives the same result, except for rounding.
- The result does not depend on earlier calls at other points.

The report gives the number of digits that agree, in the worst element or along random directions. It usually also
gives the resolution: in every decidable element, gradcheck would have seen an error above this number.
gradcli-gradcheck(1) explains the resolution.""",
    ),
    (
        "Cm fail",
        """One of these is true. The sections below describe rarer cases.

- An element of the claim differs from the numeric derivative, and also fails one of two other tests: the integral test,
  or a comparison with the claimed values at points nearby.
- An element fails the integral test, although the numeric derivative agrees or is not known.
- An element differs from the numeric derivative, several estimates of the derivative agree with each other, and the
  integral test does not decide.
- The point is a kink, and the claim lies outside the generalized gradient.
- The result of a call is not linear in the vector, or it depends on earlier calls.
- Forward mode (jvp) and reverse mode (vjp) disagree.
- A custom function, such as a torch.autograd.Function or a jax.custom_vjp, returns one value if a gradient is needed,
  and a different value if not.
- The claim changes if it is called in another way, for example with the same values in another memory layout.
- SymPy or exact arithmetic gives a different derivative.
- The derivative has a wrong shape or type.
- The function or the claim changes its arguments.

If one common mistake, such as a wrong sign, explains the wrong elements, the report names it.""",
    ),
    (
        "Cm inconclusive",
        """gradcheck could not decide whether the claim is right. The report gives the reason. The most common reasons
are:

- The function jumps at the point.
- The values of the function form a staircase: many small steps, such as those of rounding or of a table. The slope
  within a step then differs from the slope over many steps.
- The claim differs slightly, but by more than 1e-6, and the function seems to contain an iteration that stops at a
  tolerance. The inexact result of this iteration would explain the difference.
- The claim agrees with the function only within a tiny distance of the point, for example next to a singularity. This
  is too close for a numeric derivative.
- The function or its derivative is not finite at the point.
- The function is random: two calls at the same point return different values.
- The claim is random, so no single call shows whether it is right. `--stochastic` checks a mean.
- Noise or rounding is so large that an error of 2 % could not be detected.
- `--calls` allows too few calls.
- All elements of the derivative are so small that rounding hides them.""",
    ),
    ("Cm error", "The function or the claim raised an error, or the check reached its time limit, `--timeout`."),
    (
        "Cm accepted",
        "The check would fail or be inconclusive, but pyproject.toml accepts what it found; see "
        "gradcli-configuration(5).",
    ),
    ("Cm skipped", "The file asked to be skipped, usually because a package is missing."),
]
METHOD = """
# Estimate

gradcheck evaluates the function along a line through the point. It does so at Chebyshev points, on intervals of several
widths around the point. On each interval, it fits a Chebyshev series to the values. The coefficients of the series
decrease until only the noise of the values is left. The series gives the slope, and the noise gives the error of the
slope (Trefethen, Approximation Theory and Approximation Practice, 2013, chapters 3, 4 and 7; Moré and Wild, Estimating
Computational Noise, 2011). The estimate on a wide interval is more precise than that on a narrow one, but it is used
only if the two agree. If they disagree, the wide interval has missed details of the function.

If the slopes on the two sides of the point differ, the point is a kink. A claim at a kink passes if it lies in the
generalized gradient: the set of all values that count as a derivative at the kink (Clarke, Optimization and Nonsmooth
Analysis, 1983). If only one input element has a kink at the point, these are the values between its two slopes. If
several elements have kinks there, it is not enough that each claimed value lies between two slopes. For max(x, y) at
x = y, the slopes of x are 0 and 1, and so are those of y. The claim (0.5, 0.5) passes, but (1, 1) fails.

If up to eight elements have kinks at the point, gradcheck tests whether their claimed values together lie in the
generalized gradient. If more than eight have kinks, it makes other tests. First, it checks the claim at a few random
points nearby, where the function is smooth. If the claim is right there, gradcheck compares its values at these points:
an element whose claimed value clearly differs from point to point has a kink. Then, gradcheck makes three tests at the
point itself:

- It compares the claim with slopes of the function along random directions in which only the elements without kinks
  change.
- If the claimed value of an element is smaller than all of its claimed values at the nearby points, or larger than all
  of them, gradcheck checks this element alone.
- It compares the claim with slopes of the function along a few directions in which many elements change, also those
  with kinks.

# Integrate

If the numeric derivative and the claim disagree, or if intervals of different widths give different slopes, gradcheck
makes the integral test. It computes the claim at eight points on the line, around the checked point, and integrates it.
For each of these points, it computes the difference of two numbers: the change of the function from the checked point
to there, and the integral of the claim over the same distance. If the claim is right, these differences do not grow or
fall along the line, however noisy the values are. A regression gives their trend and its error. gradcheck repeats this
on intervals of several widths, each up to 30 times narrower than the one before. A numeric derivative amplifies the
noise of the values, whereas the integral test averages it. If the values are noisy, the integral test therefore often
works where the numeric derivative does not.

If the function jumps, or subtracts numbers that are almost equal, gradcheck also measures the rounding errors of the
values. For NumPy functions, formulas and gradcli's own engine, it computes the function once more in long double. For
PyTorch and JAX, it uses float32 instead, whose rounding errors are 2^29 times as large as those of float64. The result
shows whether the steps of a staircase belong to the function or come from rounding. Programs and C libraries cannot be
computed in a second type. If their values form steps, the check is inconclusive unless the numeric derivative and the
integral test give the same answer.

# Probe

Before it compares single elements, gradcheck changes all elements of the inputs together, along two or three random
directions, in steps of various sizes. It skips this if there are at most eight elements. In a direction, each
element has a component: a unit times a random number between 1/2 and 3/2, with a random sign. There are two kinds of
directions, which have different units:

- In the first kind, the unit is the size of the element itself. A disagreement along a direction of this kind shows
  that the claim is wrong.
- In the second kind, the unit is the typical size of the elements in the array. Such a direction is sensitive to tiny
  elements. But a step may change them by many times their size, and the function may behave differently there. A
  disagreement therefore counts only if gradcheck then finds a wrong element. If elements of the array differ too much
  in size for a common unit, gradcheck does not use this kind.

Every component is at least half a unit. Agreement along a direction therefore gives a bound on the error of each
element of the claim, unless errors of several elements cancel. If the bound for some elements is above 2 %, gradcheck
uses further directions, in which only these elements change.

# Locate

If the claim and the function disagree along a direction, gradcheck searches for a wrong element. It repeatedly halves
the set of elements that change, as in group testing (Dorfman, The Detection of Defective Members of Large Populations,
1943). When one element is left, gradcheck estimates the derivative with respect to this element alone. In this way it
finds up to ten wrong elements. If many elements are wrong, it checks a sample of up to 64 elements.

# Decide

The interval of an element extends to each side of the estimate by the sum of these amounts:

- {MARGIN} times the error of the estimate.
- {ROUNDING} rounding units of the claimed value. A rounding unit is the largest relative error of rounding a number to
  its type, such as 1.1e-16 in float64.
- {OWN_NOISE:g} times the scatter of the claim, which is how much it changes between points that differ by a few
  rounding units, or between two calls at the same point. A scatter of more than 0.1 % of the element counts as a jump
  of the claim instead, and is not added.
- For a backward pass, twice the rounding error of its vector products.
- {LEAST_ACCUSED[8]:g} (float64) or {LEAST_ACCUSED[4]:g} (float32) times the claimed value, but at most {LEEWAY:g} times
  the error of the estimate.

The numeric derivative agrees with an element if the claimed value lies in the interval, and if the interval extends to
each side by at most 2 % of the element.

A relative difference below 1e-6 passes, too, because it may have a harmless cause. The function may contain a
solver that stops at a tolerance, or the claim may add the terms of a sum in a different order. A note says how large
the difference is. With `--strict`, it is a fail.

The effect of an element on the output is the derivative times the magnitude of the input element. For an input element
that is 0, gradcheck uses the median magnitude of the others in the same array, but at most 1. An element whose effect
is less than a hundredth of the largest effect does not make a check inconclusive. If the effect is less than the
rounding error of the output, the element is called not decidable. A note gives the number of such elements.

A backward pass is tested with incoming gradients of very different sizes: a random one, 1024 times that one, and that
one divided by 1024. It is also tested with an array of ones, which is what the backward pass of a sum delivers, and
with arrays that are 1 for one element of the output and 0 for the others. gradcheck calls each derivative twice at the
same point, and again after a call at a different point.

gradcheck chooses its methods by sizes and numbers of calls, never by elapsed time. A check that stays within its time
limit therefore has the same verdict on a slow machine as on a fast one.

# Call in other ways

A check needs only one way to call a derivative, but programs use others. Unless `--no-as-called`, `--calls` or `--order
2` is given, gradcheck tries some of these ways:

- For functions given with `--grad`, `--vjp` or `--jvp`, it tests whether they change their arguments. It also calls the
  function of `--vjp` with an incoming gradient in float32 and float16. It does not try other memory layouts, such as
  transposed arrays.
- For custom functions and operators of PyTorch, it tries inputs and incoming gradients in other memory layouts, such as
  transposed ones. If there are several outputs, it also tests programs that use only some of them. It also runs the
  backward pass a second time, and tests whether arguments change.
- For custom_vjp and custom_jvp functions of JAX with several outputs, it also tests a program that uses only one of
  them. If an output is an integer, JAX passes a placeholder of type float0 as its gradient, and gradcheck tests whether
  the function accepts this.
- It calls all other derivatives in one way only.
"""
DECISIONS = """
Each element or direction has a few test results, such as `values: agrees`. At the end of this section is a list of
decisions. The first decision that matches the results gives the verdict, and no other rule changes it. The tests are
the following.

`values` compares the claim with the numeric derivative. Its result is one of these:

    agrees             the claimed value lies in the interval, and the interval is
                       narrow enough (see Decide)
    differs slightly   it lies outside, but by a relative error below 1e-6
    negligible         the element is not decidable: its effect is smaller than the
                       rounding error of the output
    disagrees          the claimed value lies outside the interval
    contradicts        it lies outside, and several estimates of the derivative agree
                       with each other
    unknown            the derivative could not be estimated, or the interval is
                       too wide

`integral` compares the integral of the claim along a line with the change of the function. Some of its results are
about functions whose values form steps. Its result is one of these:

    agrees                     the integral equals the change, within its error
    disagrees                  the integral differs from the change
    wrong at the point         the integral agrees, but the claimed value at the point
                               does not fit the claimed values next to it
    right only very near       the claim agrees with the values only so close to the
                               point that no reliable numeric derivative can be
                               computed, as next to a singularity
    right on one step          the claim is the slope within the step at the point,
                               but not the slope over many steps
    right over many steps      the claim is the slope over many steps, but not the
                               slope within the step at the point
    right but for a tolerance  the claim differs slightly, but by more than 1e-6, as
                               if the function contained an iteration that stops at a
                               tolerance
    unclear                    the error of the integral is too large, or intervals of
                               different widths contradict each other
    not computed               the test was not made

`bound` is the largest error that the element can still have if the claim agrees along random directions. `kink` says
where the claimed value lies if the point is a kink. `tolerances` compares the claim with the tolerances of `--rtol` and
`--atol`."""
DECISIONS_ON_CHECKS = """
The check as a whole has test results, too. `elements` sums up the verdicts on the elements. Again, the first decision
that matches gives the verdict. A check that reaches the time limit of `--timeout` does not get this far: its verdict is
error, or inconclusive in `watch`.
"""
MISSED = """
A check can pass in spite of these errors:

- An error that is smaller than the resolution in the report. With more than eight input elements, the resolution is
  relative to the largest slopes. Even a large relative error of an element with a small slope may be below it.
- Without `--strict`, a relative error below 1e-6. A note says how large it is.
- An error in an element that is not decidable.
- At a kink, a value that you did not intend, but that lies in the generalized gradient.
- An error at a different point. `--search N` also checks N edge-case points. It finds errors of 0.1 % or more near
  these points, but not elsewhere.
- Errors in several elements that cancel along all directions that gradcheck tries, to within the resolution.
- The same mistake in the function and in the claim, because gradcheck compares the claim with values of the function.

# False alarms

A right claim can fail if the function contains an integrator or a solver with a loose tolerance, and its error changes
smoothly with the inputs. The slope of the computed values then differs from the exact slope. The numeric derivative and
the integral test follow the computed values, so they contradict the claim. Tighten the tolerance inside the function,
or allow the difference with `--rtol`.
"""
TABLE = """
The repository contains several test banks. A bank is a collection of right and wrong claims about functions whose
derivatives are known. These derivatives were derived by hand, or computed to 50 digits with mpmath. `make calibrate`
checks all claims and counts the verdicts. Each random bank has {functions} functions.

A right claim passes, or it counts as one of these:

    accused       the verdict is fail
    open          the verdict is inconclusive or error

A wrong claim counts as one of these:

    found         the verdict is fail
    not decided   the verdict is inconclusive or error
    within        it passes, and its error is below the stated resolution
    missed        it passes, and its error is above the stated resolution

If a right claim is open, or a wrong one is not decided, there were usually too few calls, or rounding hid the
derivative.
"""
CONSTANTS = {name: getattr(verdict, name) for name in ("ROUNDING", "OWN_NOISE", "LEAST_ACCUSED")}
ESTIMATORS = """
`--stochastic` draws samples of an estimator and compares their mean with the derivative of the objective. The samples
form {blocks} groups of equal size. All samples of a call are in the same group, so the means of the groups are
independent. gradcheck computes the mean after at least {least} samples, and again each time their number has doubled.
Each time, the t distribution of the means of the groups gives an interval for the bias of each element. Samples with
large values may be rare. Therefore, a multiple of R / n is added to both sides of this interval, as in the empirical
Bernstein bound of Maurer and Pontil (2009). Here n is the number of samples, and R is the largest sample minus the
smallest one. The probability given by `--level` is divided equally among all intervals. An estimator without bias
therefore fails with at most about this probability.

An element is wrong if two successive intervals exclude zero. When no more samples may be drawn, one such interval is
enough. An element passes if both ends of its interval are closer to zero than a limit. At first, gradcheck aims at a
limit of 1 % of the largest derivative with respect to the same input. If the largest number of samples does not
suffice, gradcheck raises the limit to 5 %, and finally to {most:.0f} %. If the largest derivative is zero, the standard
deviation of a sample takes its place.

If a few samples account for much of the variance, gradcheck estimates how rare large samples are: it computes Hill's
index from the samples with the largest values. If the true index is 2 or less, the variance is infinite, and no
interval can be stated. The computed index is uncertain, so the check is inconclusive if it is {infinite} or less.

If the estimator has a parameter for the number of samples per call, it is also called with 2 samples. If the mean is
wrong for 2 samples per call, but right for more, gradcheck concludes that the samples of a call depend on each other.
The reason may be a baseline that contains the sample itself.

An objective that returns samples is called at displaced inputs with the same random numbers. The mean of the difference
quotients is the derivative, except for a small error that depends on the displacement. To estimate this error,
gradcheck also computes the derivative with a less accurate difference formula. The interval is widened by the
difference between the two results.

A check cannot see a bias below the stated resolution. It also cannot see the effect of events that did not occur in any
sample.
"""
KERNEL_HEADS = ("right", "accused", "open", "wrong", "found", "not decided", "missed")
REFERENCE = """
`--reference` names another function, the reference. gradcheck then compares the claim with the derivative of the
reference, not with values of the checked function. This derivative is computed in float64, at inputs rounded to the
type of `--dtype`. If the reference is a NumPy function that gradcli cannot differentiate, its derivative is estimated
from values. The claim and the derivative of the reference are multiplied by the same random incoming gradients,
which are rounded to the type of `--dtype`, too.

gradcheck also runs the backward pass of the reference in the type of `--dtype`. The errors of this backward pass are
its differences from the derivative in float64. Their root mean square is the reference's own error. If it is less than
half an ulp, the limits below use half an ulp instead. Here, an ulp is the distance between two neighbouring numbers of
this type that are about as large as the root mean square of the derivative.

To see how sensitive the derivative is, gradcheck computes it in float64 once more. For this, every element of the
inputs and of the incoming gradients is changed at random, by at most one rounding unit. Let C be the resulting change
of the derivative, element by element. Let k be 4 in bfloat16, 8 in float16, and 16 in float32. Each input has a verdict
of its own:

- The claim passes if its root mean square error is below 2 times the reference's own error.
- It fails if its root mean square error is more than k times the reference's own error, and also more than k times the
  root mean square of C.
- In all other cases, the verdict on the input is inconclusive.

Even if its root mean square error is small enough, a claim fails in these cases:

- The error of a single element is more than 2k times the largest error of any element in the reference's own backward
  pass, and also more than 2k times the largest element of C.
- The errors are proportional to the derivative on average, as if it were multiplied by a wrong factor. To test this,
  gradcheck fits a line to the errors as a function of the derivative. The claim fails if the slope of this line is
  more than 8 times its standard error, and the wrong factor changes a typical element of the derivative by more than 1
  ulp (bfloat16), 2 ulps (float16) or 4 ulps (float32).
- The errors in a row, column or other slice follow a pattern: on average, they are a constant, or proportional to the
  derivative, to the input or to the output.

The report gives the error of the claim in ulps, and the reference's own error if it could be measured. If the slope of
the fitted line is the reason for a fail, the report gives this slope as the average relative error. Without `--dtype`,
the checked function and the reference run in float64. If one of them computes in a narrower type internally, gradcheck
measures the errors in ulps of this type. An error below about one ulp cannot be detected.

`make calibrate` checks {kernels} kernels for nine PyTorch functions. About half of them are right: they compute in
float32 or in the checked type, round intermediate results to the checked type, or sum block by block. The others are
wrong: they have factors that are off by 1 to 5 %, missing terms, incomplete sums, wrong reductions, or errors in single
rows, columns or elements.
"""
EXAMPLES = ["gradcli gradcheck 'sum(sin(x))' x='[1, 2]' -v", "gradcli gradcheck 'sum(tanh(x))' x='[1, 14]' --show all"]
HEADS = ("right", "accused", "open", "wrong", "found", "not decided", "within", "missed")


def described(row: decide.Row) -> tuple[str, str]:
    """Return a row of the table as an item of a list: the verdict, what matches, and why."""
    seen = [f"{source}: {results}" for source, results in results_of(row)]
    return f"Cm {row.verdict}", f"`{'; '.join(seen)}`: {row.why}." if seen else f"Anything else: {row.why}."


def results_of(row: decide.Row) -> Iterator[tuple[str, str]]:
    """Yield each test of a row with the results that match, as in: disagrees, contradicts or unknown."""
    for source, words in row.seen.items():
        *others, last = (word or "not computed" for word in words)
        yield source, f"{', '.join(others)} or {last}" if others else last


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
    kernels = sum(row["right"] + row["wrong"] for row in measured["types"])
    lines = [".Ss Comparison with a reference", *paragraphs(REFERENCE.format(kernels=kernels))]
    lines += [".Bl -tag -width Ds"]
    for row in measured["types"]:
        name, *counts = row.values()
        lines += [f".It {escape_roff(name[0].upper() + name[1:])}", *counted(counts[:3], KERNEL_HEADS[:3])]
        lines += counted(counts[3:], KERNEL_HEADS[3:])
    return [*lines, ".El"]


def estimator_numbers() -> dict[str, float]:
    least = sequential.BLOCKS * sequential.LEAST_ROWS
    return {
        "blocks": sequential.BLOCKS,
        "least": least,
        "most": estimation.MOST_BIAS * 100,
        "infinite": sequential.INFINITE,
    }


def verdict_page() -> str:
    return page(
        "gradcli-verdict(7)",
        "what a verdict means, and what it can miss",
        [
            *[*paragraphs(DESCRIPTION), *tag_list(VERDICTS), *paragraphs(METHOD.format(**vars(compare), **CONSTANTS))],
            *[".Ss Decisions on an element", *paragraphs(DECISIONS), *tag_list(map(described, decide.ELEMENT))],
            *[".Ss Decisions on a check", *paragraphs(DECISIONS_ON_CHECKS), *tag_list(map(described, decide.CHECK))],
            *[".Ss Monte-Carlo estimators", *paragraphs(ESTIMATORS.format(**estimator_numbers()))],
            *[".Ss What can be missed", *paragraphs(MISSED), ".Ss Calibration", *calibration()],
        ],
        EXAMPLES,
        ["gradcli(1)", "gradcli-gradcheck(1)", "gradcli-json(5)"],
        status=texts.exit_status("gradcheck"),
        files=[
            ("tests/calibrate.py", "The program that counts how often the verdict is right."),
            ("tests/calibrate_reference.py", "The same for comparisons with a reference."),
        ],
        compact=True,
    )
