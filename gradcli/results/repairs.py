"""What `gradcli fix` found: checks, with an edit for each wrong derivative that it can repair."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .base import Rows, declare
from .checks import CheckReport
from .patches import by_file, unified_diff, with_all


@declare(json="checks written seconds", columns=("check", "file", "line", "verdict", "patch"))
class FixReport(NamedTuple):
    """The checks of `gradcli fix`, with a patch for each that it can repair. written: the files that were changed."""

    target: str
    checks: tuple[CheckReport, ...]
    written: tuple[str, ...]
    seconds: float

    @property
    def diff(self) -> str:
        """The patches as one diff; if two change the same place, one after the other."""
        parts: list[str] = []
        for patches in by_file(check.patch for check in self.checks if check.patch is not None):
            first, after = patches[0], with_all(patches)
            several = [unified_diff(first.file, first.before, after)] if after else [patch.diff for patch in patches]
            parts += several
        return "".join(parts)

    @property
    def unrepaired(self) -> tuple[CheckReport, ...]:
        """The checks that do not pass, and have no patch."""
        return tuple(check for check in self.checks if check.patch is None and not check.passed)

    def sentences(self) -> Iterator[str]:
        """Yield what was found for each check."""
        for check in self.checks:
            if check.patch is not None:
                seen = f"with it, a relative error above {check.patch.resolution:.1g} would have been seen"
                yield f"{check.name}: {check.patch.summary}; {seen}"
            elif check.passed:
                yield f"{check.name}: right as it is"
            elif check.verdict == "fail":
                why_not = check.no_patch or "no edit that was tried repairs it"
                yield f"{check.name}: the derivative is wrong, and {why_not}"
        for file in self.written:
            yield f"{file} was changed"

    def rows(self) -> Rows:
        for check in self.checks:
            patch: Any = check.patch.summary if check.patch is not None else ""
            yield (check.name, check.file or "", str(check.line or ""), check.verdict, patch)
