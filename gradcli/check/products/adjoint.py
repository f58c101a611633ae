"""Forward against reverse mode: two claims about one derivative must be adjoint to each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ...results.checks import CheckReport, Finding
from ..judgement.digits import digits_of
from ..judgement.noise import neighbours
from ..judgement.verdict import OWN_NOISE
from ..subjects.subject import NoForwardError, Subject

ADJOINT_DIGITS = {8: 5.0, 4: 2.0, 2: 0.5}
"""To how many digits forward and reverse mode must agree, by the bytes of a number."""


def with_adjoint_test(checked: CheckReport, subject: Subject, seed: int) -> CheckReport:
    """Return a report with what forward mode says; when it contradicts reverse mode, one of them is wrong."""
    if not (subject.has_pull and subject.has_push):
        return checked
    try:
        agreement, least = adjoint_test(subject, seed)
    except NoForwardError:  # reverse mode alone is what is checked
        return checked
    if np.isnan(agreement):
        return checked
    checked = replace(checked, witnesses=(*checked.witnesses, ("forward mode", agreement)))
    if agreement >= least:
        return checked
    text = f"forward and reverse mode agree to {agreement:.1f} digits only"
    if checked.verdict == "pass":
        right, wrong = ("forward", "reverse") if subject.claims == "jvp" else ("reverse", "forward")
        text += (
            f"; the values confirm {right} mode, so {wrong} mode ({'vjp' if right == 'forward' else 'jvp'}) is wrong"
        )
    findings = (*checked.diagnosis, Finding("modes disagree", text))
    if checked.verdict == "fail":
        return replace(checked, diagnosis=findings)
    return replace(checked, verdict="fail", message=text, diagnosis=findings)


def adjoint_test(subject: Subject, seed: int) -> tuple[float, float]:
    """Return to how many digits <w, J v> and <J^T w, v> agree for random v and w, and how many are needed.

    Of three pairs (of the engine's own modes, one) the worst counts; nan where they are not finite.
    """
    rng = np.random.default_rng(seed + 2)
    out = subject.value_here()
    types = [out.dtype, *(subject.at[n].dtype for n in subject.wrt)]
    unit = max(subject.claim_unit or 0.0, *(float(np.finfo(x).eps) / 2 for x in types if x.kind in "fc"))
    least, worst = ADJOINT_DIGITS[8 if unit < 1e-10 else 4 if unit < 1e-5 else 2], 17.0

    def draw(like: np.ndarray) -> np.ndarray:
        parts = rng.standard_normal(like.shape) + (
            1j * rng.standard_normal(like.shape) if like.dtype.kind == "c" else 0
        )
        return np.asarray(parts, like.dtype)

    for _ in range(1 if subject.traced else 3):
        tangents, w = {name: draw(subject.at[name]) for name in subject.wrt}, draw(out)
        forward, reverse, size = products_of_both_modes(subject, subject.at, tangents, w)
        digits = digits_of(abs(forward - reverse) / size)
        if np.isnan(digits):
            return digits, least
        if digits < least:  # nothing but rounding scatters as much between points that are rounding units apart
            near = [products_of_both_modes(subject, at, tangents, w)[:2] for at in neighbours(subject)]
            if abs(forward - reverse) <= OWN_NOISE * float(np.abs(np.array(near) - (forward, reverse)).max()):
                return np.nan, least
        worst = min(worst, digits)
    return worst, least


def products_of_both_modes(
    subject: Subject, at: Mapping[str, np.ndarray], tangents: Mapping[str, np.ndarray], w: np.ndarray
) -> tuple[float, float, float]:
    """Return <w, J v>, <J^T w, v>, and the sum of the sizes of their parts, whichever is larger."""
    pushed, pulled = subject.push(at, tangents), subject.pull(at, w)
    forward, reverse = np.conj(w) * pushed, [np.conj(pulled[name]) * tangents[name] for name in subject.wrt]
    size = max(float(np.abs(forward).sum()), float(sum(np.abs(p).sum() for p in reverse)), 1e-300)
    return float(forward.real.sum()), float(sum(p.real.sum() for p in reverse)), size
