"""Independent answers about the engine's derivative: 50 digits and formulas, each with its own error."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import GradcliError, TimeIsUp
from ...lang.time_limits import LONGEST, time_left, within
from ...results.checks import CheckReport, InputCheck
from ..subjects.subject import CheckError
from .answers import Witnessed


def with_witnesses(report: CheckReport, subject: Any, digits: int | None, symbolic: bool, seed: int) -> CheckReport:
    """Return a report with what further witnesses say. A derivative that they refute fails."""
    if report.verdict == "error":
        return report
    witnessed = Witnessed()
    if report.inputs:
        witnessed.digits.append(("numeric", min(numeric_digits(item) for item in report.inputs)))
    if not subject.traced:
        witnessed.notes.append("exact witnesses need a function of Tensors; this one is called with plain arrays")
    else:
        from .multiprecise import in_digits
        from .symbolic import by_formulas

        try:
            blocks = subject.jacobian(subject.at)
            if digits is not None:
                ask_witness(witnessed, f"{digits}-digit", lambda: in_digits(subject, blocks, digits, seed, witnessed))
            if symbolic:
                ask_witness(witnessed, "symbolic", lambda: by_formulas(subject, blocks, witnessed))
        except CheckError as error:
            witnessed.notes.append(str(error))
    verdict = "fail" if witnessed.findings else report.verdict
    return replace(
        report,
        verdict=verdict,
        message=witnessed.findings[0].text if witnessed.findings and report.verdict != "fail" else report.message,
        witnesses=(*report.witnesses, *witnessed.digits),
        diagnosis=(*report.diagnosis, *witnessed.findings),
        notes=(*report.notes, *witnessed.notes),
    )


def ask_witness(witnessed: Witnessed, name: str, work: Any) -> None:
    """Ask a witness; where it has nothing to say, note why."""
    try:
        with within(time_left(LONGEST)):
            work()
    except TimeIsUp:
        witnessed.notes.append(f"no {name} witness: it takes too long")
    except (GradcliError, CheckError, TypeError, AttributeError, ValueError) as error:
        witnessed.notes.append(f"no {name} witness: {str(error).splitlines()[0]}")


def numeric_digits(item: InputCheck) -> float:
    """Return to how many digits the numeric derivative confirms the claimed one: no more than it knows itself."""
    if item.resolution is not None or item.worst is None or not item.worst.numeric_error:
        return item.digits
    size = max(abs(item.worst.analytic), abs(item.worst.numeric))
    return float(np.clip(np.log10(size / item.worst.numeric_error), 0, item.digits)) if size else item.digits
