"""What mistake was probably made: patterns of the claim, and terms or factors that it lacks.

Every pattern must explain all wrong elements to within the reference's error, and more of them than chance would;
otherwise nothing is said.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator

import numpy as np

from ..show.check_results import Finding
from . import patterns
from .flat import Flat
from .patterns import Case, lengths
from .verdict import Judgement


def forgotten_quantities(case: Case) -> Iterator[tuple[str, np.ndarray]]:
    """Yield quantities that a forgotten factor or term is often made of, one value per element."""
    x = case.x
    own = {
        case.name: x,
        f"{case.name}**2": x**2,
        f"1/{case.name}": 1 / x,
        f"1/{case.name}**2": x**-2.0,
        f"exp({case.name})": np.exp(x),
        f"exp(-{case.name})": np.exp(-x),
        f"sin({case.name})": np.sin(x),
        f"cos({case.name})": np.cos(x),
        f"log({case.name})": np.log(x),
        f"tanh({case.name})": np.tanh(x),
        f"sqrt({case.name})": np.sqrt(x),
        f"sign({case.name})": np.sign(x),
    }
    yield from own.items()
    if case.array.ndim == 2 and len({*case.array.shape}) == 1 and np.isfinite(x).all():
        with contextlib.suppress(np.linalg.LinAlgError):
            yield f"inv({case.name}).T (a log-determinant)", np.linalg.inv(case.array).T.reshape(-1).astype(float)
    for name, other in case.flat.claim.at.items():
        if name != case.name and other.dtype.kind == "f":
            try:
                wide = np.broadcast_to(other, case.array.shape).reshape(-1).astype(float)
            except ValueError:
                continue
            yield name, wide
            yield f"1/{name}", 1 / wide
    if len(case.flat.f0) == 1:
        yield "the value", np.full(len(x), case.flat.f0[0])


def chain_factor(case: Case) -> tuple[str, str] | None:
    """A factor that varies with the element is missing, or too many."""
    for name, q in forgotten_quantities(case):
        if not np.isfinite(q).all() or np.ptp(np.abs(q)) < 1e-9 * np.abs(q).max():
            continue
        product, quotient = case.r * q, case.r / q
        for expected, word in ((quotient, "missing"), (product, "too many")):
            known = case.known & np.isfinite(expected) & (expected != 0) & case.wrong
            if int(known.sum()) < SEVERAL:
                continue
            c = float(np.median(case.a[known] / expected[known]))
            wanted = np.where(case.wrong, c * expected, case.r)
            if np.isfinite(c) and c and case.explains(wanted):
                times = "" if abs(c - 1) < 1e-5 else f" (and a constant {c:.6g})"
                return "chain factor", f"a factor {name} is {word} (chain rule){times}"
    return None


def coefficient(case: Case, base: np.ndarray, q: np.ndarray) -> float | None:
    """Return c where the claim is base + c q; None where it is not, or where too few elements tell."""
    wide = np.broadcast_to(q, base.shape)
    known = case.known & (wide != 0)
    if int(known.sum()) < SEVERAL:
        return None
    c = float(np.median((case.a - base)[known] / wide[known]))
    return c if case.explains(base + c * wide) else None


def term(case: Case) -> tuple[str, str] | None:
    """The difference is proportional to a known quantity: a term was dropped, or is one too many."""
    for name, q in itertools.chain([("1", np.ones(len(case.x)))], forgotten_quantities(case)):
        c = coefficient(case, case.r, q) if np.isfinite(q).all() else None
        if c and name == "1":
            return "dropped term", f"the difference is the same everywhere, {c:.6g}: a term is dropped or added"
        if c:
            action = "dropped, or of the wrong sign" if c < 0 else "too many"
            text = f"a term {abs(c):.6g} * {name} is {action}: the difference is proportional to {name}"
            return "dropped term", text
    return None


def part_without_mean(case: Case) -> tuple[str, str] | None:
    """A penalty is right, and what stands beside it lacks 1/N: the claim is N times the whole, less N - 1 of it."""
    for n, what in lengths(case.flat):
        for name, penalty in ((case.name, case.x), (f"sign({case.name})", np.sign(case.x))):
            c = coefficient(case, n * case.r, penalty)
            if c:
                text = f"a term {abs(c) / (n - 1):.6g} * {name} is right, and the rest is {n} times what it should be"
                return "missing 1/N", f"{text} ({n} is {what}): a missing 1/N (sum instead of mean)"
    return None


FITTED = (chain_factor, part_without_mean, term)
"""Patterns that fit a constant, which means something where several elements are wrong and known."""
SEVERAL = 3
BEFORE_FITTED = (patterns.not_finite, patterns.zero, patterns.float32, patterns.whole_factor, patterns.rearranged)
PATTERNS = (*BEFORE_FITTED, patterns.part_factor, *FITTED, patterns.half_of_pairs, patterns.mostly_sign)
"""What may have been mistaken, the most telling first."""


def cases_of(flat: Flat, judgement: Judgement) -> list[Case]:
    return [Case(flat, judgement, k) for k in range(len(flat.claim.wrt))]


def diagnose(flat: Flat, judgement: Judgement) -> tuple[Finding, ...]:
    cases = cases_of(flat, judgement)
    swapped = swap(cases)
    if swapped is not None:
        return (swapped,)
    findings: list[Finding] = []
    for case in (case for case in cases if case.wrong.any()):
        several = int((case.known & case.wrong).sum()) >= SEVERAL and case.array.dtype.kind != "c"
        matches = (pattern(case) for pattern in PATTERNS if several or pattern not in FITTED)
        match = next((match for match in matches if match is not None), None)
        if match is not None:
            kind, text = match
            findings.append(Finding(kind, f"{case.name}: {text}", case.name))
        findings += places_of_wrong(case)
    return tuple(dict.fromkeys(findings))


def place_in(flat: Flat, judgement: Judgement) -> tuple[Finding, ...]:
    cases = (case for case in cases_of(flat, judgement) if case.wrong.any())
    return tuple(finding for case in cases for finding in places_of_wrong(case))


def places_of_wrong(case: Case) -> list[Finding]:
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
    for x, y in itertools.combinations(cases, 2):
        alike = x.r.shape == y.r.shape and (x.wrong.any() or y.wrong.any())
        if alike and x.explains(y.r) and y.explains(x.r) and not x.explains(x.r):
            text = f"wrong input: the gradients of {x.name} and {y.name} are swapped"
            return Finding("swapped inputs", text, x.name)
    for x, y in itertools.permutations(cases, 2):
        if x.r.shape == y.r.shape and x.wrong.any() and x.explains(y.r) and not x.explains(x.r):
            return Finding("wrong input", f"wrong input: {x.name} was given the gradient of {y.name}", x.name)
    return None
