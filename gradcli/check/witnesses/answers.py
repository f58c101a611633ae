"""What witnesses say of a derivative, and how much of it they know."""

from __future__ import annotations

from ...results.checks import Finding

ROUNDED = "rounding leaves"
"""How a note begins that excuses a disagreement."""


class Witnessed:
    """What the witnesses say: digits by name, findings against the derivative, and notes."""

    def __init__(self) -> None:
        self.digits: list[tuple[str, float]] = []
        self.findings: list[Finding] = []
        self.notes: list[str] = []
