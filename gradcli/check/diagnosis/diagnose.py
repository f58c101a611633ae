"""What mistake was probably made: patterns of the claimed derivative against its reference.

Every pattern must explain all wrong elements to within the reference's error, and more of them than chance would;
otherwise nothing is said.
"""

from __future__ import annotations

import numpy as np

from ...results.checks import Finding
from ..judgement.verdict import Judgement
from ..subjects.flatten import Flat
from .missing_terms import chain_factor, term
from .patterns import (
    Case,
    conjugate,
    float32,
    not_finite,
    part_factor,
    part_sign,
    part_zero,
    rolled,
    symmetric_part,
    transposed,
    whole_factor,
    zero,
)


def diagnose(flat: Flat, judgement: Judgement) -> tuple[Finding, ...]:
    """Return what fits, the most telling first; empty when nothing does."""
    cases = [Case(flat, judgement, k) for k in range(len(flat.subject.wrt))]
    swapped = swap(cases)
    if swapped is not None:
        return (swapped,)
    findings = [finding for case in cases if case.wrong.any() for finding in block_findings(case)]
    return tuple(dict.fromkeys(findings))


def place_in(flat: Flat, judgement: Judgement) -> tuple[Finding, ...]:
    """Return where wrong elements are, of claims that are known at these alone."""
    cases = (Case(flat, judgement, k) for k in range(len(flat.subject.wrt)))
    return tuple(finding for case in cases if case.wrong.any() for finding in places_of_wrong(case))


def block_findings(case: Case) -> list[Finding]:
    """Return the first pattern that fits a block, and where the wrong elements are."""
    for pattern in (
        not_finite,
        zero,
        float32,
        whole_factor,
        conjugate,
        transposed,
        symmetric_part,
        rolled,
        part_sign,
        part_zero,
        part_factor,
        chain_factor,
        term,
    ):
        match = pattern(case)
        if match is not None:
            kind, text = match
            return [Finding(kind, f"{case.name}: {text}", case.name), *places_of_wrong(case)]
    return places_of_wrong(case)


def places_of_wrong(case: Case) -> list[Finding]:
    """Return where the wrong elements are, when they are few among many."""
    count, total = int(case.wrong.sum()), case.wrong.size
    if total < 2 or count > max(1, total // 4):
        return []
    if count == 1:
        (column,) = np.nonzero(case.wrong)[1]
        others = "is right" if total == 2 else f"{total - 1} are right"
        text = f"a single element is wrong, at {case.index_of(int(column))}{times(case)}"
        text += f"{case.output_of_wrong().replace(' all', '')}; the other {others}"
        return [Finding("single element", f"{case.name}: {text}", case.name)]
    text = f"{count} of {total} elements are wrong{case.output_of_wrong()}"
    return [Finding("some elements", f"{case.name}: {text}", case.name)]


def times(case: Case) -> str:
    """Return which multiple of the derivative the only wrong element is, to the digits that are known and tell."""
    (row,), (column,) = np.nonzero(case.wrong)
    a, r, error = case.a[row, column], case.r[row, column], case.error[row, column]
    if not np.isfinite(a / r) or not a or not error <= 1e-2 * abs(r) < np.inf:
        return ""
    digits = int(np.clip(-np.log10(error / abs(r) + 1e-300), 2, 6))
    if abs(a / r - 1) < 10.0 ** (1 - digits):
        return f", off by {abs(a / r - 1):.2g} relative"
    return f", {float(a / r):.{digits}g} times the derivative"


def swap(cases: list[Case]) -> Finding | None:
    """Two inputs' gradients in each other's place."""
    for i, x in enumerate(cases):
        for y in cases[i + 1 :]:
            if x.r.shape != y.r.shape or not (x.wrong.any() or y.wrong.any()):
                continue
            if x.explains(y.r) and y.explains(x.r) and not x.explains(x.r):
                return Finding(
                    "swapped inputs",
                    f"wrong input: the gradients of {x.name} and {y.name} are swapped",
                    x.name,
                )
    for x in cases:
        for y in cases:
            if x is not y and x.r.shape == y.r.shape and x.wrong.any() and x.explains(y.r) and not x.explains(x.r):
                return Finding("wrong input", f"wrong input: {x.name} was given the gradient of {y.name}", x.name)
    return None
