"""Find the probable mistake: hypotheses about how the claim differs from the derivative.

A hypothesis corrects the claim. It is reported only if the corrected claim passes: at the checked point, at other
points with other numbers, and, where shapes are free, in another shape.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from ..numeric.compare import MARGIN
from ..numeric.decide import Observation
from ..numeric.flat import median_of
from ..numeric.verdict import Entries
from ..results.checks import Finding
from .block import RELATIVE, InputBlock
from .constants import constant_factor
from .evidence import DiagnosisEvidence, DiagnosisStatement, EvidencePlace, Hypothesis
from .factors import functions_of_inputs
from .indices import repeated_indices
from .moves import moves
from .paths import missing_paths, other_arguments
from .places import differences_of, part_hypotheses, places_of_wrong
from .regions import branches, mask_hypotheses

MOVED = (-1.0, 10.0, 0.1)
"""Multiples of an input at which a claim changes if it depends on signs or ranges of numbers only: a choice."""
PRINTED_DIGITS = range(3, 9)  # numbers of significant digits to which programs round what they print


def find_mistakes(entries: Entries, diagonal: frozenset[int], at_other: np.ndarray | None) -> tuple[Finding, ...]:
    """Explain a failed check. diagonal: inputs for which the function is elementwise. at_other: the claim elsewhere."""
    evidence = DiagnosisEvidence.of(entries, diagonal)
    findings = diagnose(evidence)
    if all(finding.is_place for finding in findings) and is_kept(entries, evidence, at_other):
        return (KEPT_FINDING,)
    return findings


KEPT_FINDING = Finding(
    "unsteady",
    "the claim is the same at several points, but the derivative is not: the code keeps a value from the first call, "
    "or returns a constant",
)


def is_kept(entries: Entries, evidence: DiagnosisEvidence, at_other: np.ndarray | None) -> bool:
    """Report whether the claim is the same at other points, although the derivative changes there."""
    if at_other is None or not np.array_equal(at_other, entries.claimed):
        return False
    for block in (block for block in evidence.here if block.wrong.any()):
        if any(not np.array_equal(other.a, block.a) for other in evidence.others(block)):
            return False
        if evidence.place is not None and changes_when_moved(block, evidence.place):
            return False
        if any(derivative_changes(block, other) for other in evidence.others(block)):
            return True
    return False


def changes_when_moved(block: InputBlock, place: EvidencePlace) -> bool:
    """Report whether the claim changes with the sign or the size of the input."""
    for factor in MOVED if block.array.dtype.kind == "f" else ():
        moved = place.claimed_at(block, {block.name: factor * block.array})
        if not np.isnan(moved).any() and not np.array_equal(moved, block.a):
            return True
    return False


def derivative_changes(block: InputBlock, other: InputBlock) -> bool:
    """Report whether the derivative differs between two points."""
    known = np.isfinite(other.r) & np.isfinite(block.r)
    with np.errstate(invalid="ignore"):
        if (known & (np.abs(other.r - block.r) > MARGIN * (other.error + block.error))).any():
            return True
    slope = other.slope
    if slope is None or not np.isfinite(block.r).all():
        return False
    here, error = block.r @ slope.direction, block.error @ np.abs(slope.direction)
    return bool((np.abs(slope.value - here) > MARGIN * (slope.error + error)).any())


def conventions_of(blocks: list[InputBlock]) -> tuple[Finding, ...]:
    """Return the conventions that claims on manifolds follow, if there are any."""
    if not any(block.flat.claim.on_manifolds for block in blocks):
        return ()
    from .conventions import find_convention

    return find_convention(blocks)


def diagnose(evidence: DiagnosisEvidence) -> tuple[Finding, ...]:
    """Return the mistakes that are confirmed; for other inputs, where the wrong elements are and how they differ."""
    blocks = [block for block in evidence.here if block.wrong.any()]
    findings: list[Finding] = [*conventions_of(blocks)]
    named = {finding.input for finding in findings}
    exchanged, names = transposed_columns(evidence) or swap(evidence)
    for block in (block for block in blocks if block.name not in named):
        found = observed(block, evidence) or explanation_of(block, evidence, exchanged=block.name in names)
        if found is not None:
            findings.append(Finding(found.kind, f"{block.name}: {found.text}", block.name))
    named = {finding.input for finding in findings}
    if exchanged is not None and not named.issuperset(names):
        findings.append(exchanged)
        named |= names
    rest = [block for block in blocks if block.name not in named]
    if rest and (shortcut := shortcut_finding(evidence, rest)) is not None:
        return (*findings, shortcut)
    for block in rest:
        findings += places_of_wrong(block, evidence) or differences_of(block)
    return tuple(dict.fromkeys(findings))


def shortcut_finding(evidence: DiagnosisEvidence, rest: list[InputBlock]) -> Finding | None:
    from .shortcuts import find_shortcut as find  # loads gradcli's engine

    return find(evidence, rest)


def explanation_of(
    block: InputBlock, evidence: DiagnosisEvidence, exchanged: bool = False
) -> Hypothesis | DiagnosisStatement | None:
    """Return the first mistake that is confirmed. exchanged: whether the gradient is that of another input.

    Only a constant factor is more likely than that. What holds for the other sign of the input, too, is preferred:
    1 + x and 1 + abs(x) are the same for x > 0.
    """
    several = itertools.chain(constant_factor(block, evidence), () if exchanged else hypotheses(block, evidence))
    of_one_sign = None
    for hypothesis in (h for h in several if evidence.confirms(block, h)):
        if isinstance(hypothesis, DiagnosisStatement) or evidence.holds_for_other_sign(block, hypothesis):
            return hypothesis
        if not hypothesis.both_signs:
            of_one_sign = of_one_sign or hypothesis
    if of_one_sign is None:
        return None
    return of_one_sign._replace(text=f"{of_one_sign.text}; this holds near this point, but not at -{block.name}")


def hypotheses(block: InputBlock, evidence: DiagnosisEvidence) -> Iterator[Hypothesis | DiagnosisStatement]:
    """Yield mistakes other than a constant factor, the most informative first."""
    yield from surrogates(block)
    yield from moves(block)
    yield from symmetric_part(block)
    yield from repeated_indices(block)
    yield from mask_hypotheses(block, evidence)
    yield from part_hypotheses(block)
    if block.array.dtype.kind == "f":
        yield from functions_of_inputs(block, evidence)
        yield from missing_paths(block)
        yield from other_arguments(block)
    yield from branches(block, evidence)


def surrogates(block: InputBlock) -> Iterator[DiagnosisStatement]:
    """Yield a function that is constant near the point, with a gradient that is meant to replace its derivative."""

    def holds(at: InputBlock) -> bool:
        flat, known = at.zero | (np.abs(at.r) <= MARGIN * at.error), np.isfinite(at.r)
        return bool(flat[known].all() and np.any(at.a[known]))

    text = (
        "the function is constant near this point, but the claim is not 0, perhaps because of rounding, steps or a "
        "detached copy; if this is intended, check the gradient with gradcheck --reference NAME"
    )
    yield DiagnosisStatement("surrogate", text, holds)


def symmetric_part(block: InputBlock) -> Iterator[DiagnosisStatement]:
    """Yield that a claim for a square matrix is (G + G.T) / 2, for the gradient G."""
    shape = block.array.shape
    if len(shape) != 2 or shape[0] != shape[1] or block.a.size != block.array.size or block.array.dtype.kind != "f":
        return

    def holds(at: InputBlock) -> bool:
        r, error = at.r.reshape(shape), at.error.reshape(shape)
        part, tolerance = (r + r.T) / 2, MARGIN * (error + error.T)
        tolerance = tolerance + RELATIVE * np.abs(r).max(initial=0.0)
        return bool(np.isfinite(r).all() and (np.abs(at.a.reshape(shape) - part) <= tolerance).all())

    yield DiagnosisStatement(
        "symmetric part", "only the symmetric part of the gradient is claimed: (G + G.T) / 2", holds
    )


def observed(block: InputBlock, evidence: DiagnosisEvidence) -> Observation | None:
    """Return a mistake that shows directly in the claimed numbers."""
    bad = ~np.isfinite(block.a) & block.wrong & ~np.isinf(block.r)
    if count := int(bad.sum()):
        kind = "nan" if np.isnan(block.a[bad]).any() else "infinite"
        finite = "derivative" if np.isfinite(block.r[bad]).all() else "function"  # a kink has no derivative
        return Observation(
            kind, f"{count} element{' is' if count == 1 else 's are'} {kind} where the {finite} is finite"
        )
    if (block.a == 0).all() and not np.nan_to_num(evidence.claimed_nearby(block)).any():
        first = block.flat.claim.first
        what = "second derivative" if first is not None and block.name in first.at else "gradient"
        text = f"all elements of the {what} are zero, but the function depends on this input"
        return Observation("zero", text)
    if block.array.dtype.itemsize < 8 or not (block.known & block.wrong).any():
        return None
    return lost_digits(block)


def lost_digits(block: InputBlock) -> Observation | None:
    """Return that the claim is rounded: to decimal digits, as by printing, or to float32."""
    a, r = block.a[block.known], block.r[block.known]
    signed = a / r - 1
    relative, is_constant = np.abs(signed), signed.size > 1 and np.ptp(signed) < 0.01 * np.abs(signed).max()
    if is_constant or relative.max() > 0.5 * 10.0 ** (1 - PRINTED_DIGITS[0]):
        return None
    for digits in PRINTED_DIGITS:
        if np.array_equal([float(f"{v:.{digits}g}") for v in r.tolist()], a):
            return Observation(
                "precision", f"the claim is rounded to {digits} significant digits, as in printed numbers"
            )
    exact = a.astype(np.float32).astype(float) == a
    if relative.max() < 5e-6 and (exact.mean() > 0.9 or relative.max() < min(3e-7, 1e3 * median_of(relative))):
        return Observation("precision", f"precision lost to float32: relative errors up to {relative.max():.1g}")
    return None


def transposed_columns(evidence: DiagnosisEvidence) -> tuple[Finding, set[str]] | None:
    """Report that each of several numbers was given the derivatives of one output, at the point and elsewhere.

    The second value is the inputs that this explains.
    """
    here = evidence.here
    if len(here) < 2 or any(block.a.shape != (len(here), 1) or not block.whole for block in here):
        return None
    points = list(zip(*([block, *evidence.others(block)] for block in here), strict=False))
    if len(points) < 2 or not all(map(is_transposed_jacobian, points)):
        return None
    text = "the gradients are rows of the Jacobian, one per output; they must be its columns, one per input"
    return Finding("transposed", text, here[0].name), {block.name for block in here if block.wrong.any()}


def is_transposed_jacobian(blocks: tuple[InputBlock, ...]) -> bool:
    a, r, error = (np.column_stack([getattr(block, name) for block in blocks]) for name in ("a", "r", "error"))
    with np.errstate(invalid="ignore"):
        return bool((np.abs(a - r.T) <= MARGIN * error.T + RELATIVE * np.abs(r.T)).all())


def swap(evidence: DiagnosisEvidence) -> tuple[Finding | None, set[str]]:
    """Report that an input was given the gradient of another one, at the checked point and elsewhere.

    The second value is the inputs that this explains.
    """
    for x, y in itertools.permutations(evidence.here, 2):
        if x.a.shape != y.a.shape or not x.wrong.any() or not given_to(x, y, evidence):
            continue
        if y.wrong.any() and given_to(y, x, evidence):
            text = f"the gradients of {x.name} and {y.name} are swapped"
            return Finding("swapped inputs", text, x.name), {x.name, y.name}
        return Finding("wrong input", f"{x.name} was given the gradient of {y.name}", x.name), {x.name}
    return None, set()


def given_to(x: InputBlock, y: InputBlock, evidence: DiagnosisEvidence) -> bool:
    """Report whether the claim for x is the derivative by y, here and elsewhere."""
    pairs = [(x, y), *zip(evidence.others(x), evidence.others(y), strict=False)]
    answers = [is_derivative(of_x.a, of_y) for of_x, of_y in pairs]
    return answers[0] and len(answers) > 1 and all(answers)


def is_derivative(claim: np.ndarray, y: InputBlock) -> bool:
    """Report whether numbers equal the derivative by y, as far as that is known, and that some of it is known."""
    with np.errstate(invalid="ignore"):
        known = np.isfinite(y.r)
        off, tolerance = np.abs(claim - y.r), MARGIN * y.error + 1e-6 * np.maximum(np.abs(claim), np.abs(y.r))
    if not (off <= tolerance)[known].all():
        return False
    if y.slope is None:
        return bool((known & (np.abs(y.r) > 10 * MARGIN * y.error)).any())
    d, error = y.slope.direction, MARGIN * y.slope.error
    size = np.sqrt(((claim * d) ** 2).sum(axis=1))
    off = np.abs(claim @ d - y.slope.value)
    return bool(np.isfinite(y.slope.value).all() and (off <= error + 1e-6 * size).all() and (size > 10 * error).any())
