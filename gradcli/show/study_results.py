"""What lock and mutate find out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..errors import EXIT_FAIL, EXIT_OK, EXIT_TARGET
from .results import Rows, label


class Lock(NamedTuple):
    """What a lock file holds.

    settings: the words and options that chose the checks. libraries: the versions that computed. entries: plain data
    per check, sorted: file, check, at, value, value_error, grad, error.
    """

    target: str
    settings: Mapping[str, Any]
    libraries: Mapping[str, str]
    entries: tuple[Mapping[str, Any], ...]

    @property
    def on_lines(self) -> str:
        return "checks"

    def rows(self) -> Rows:
        return ((entry["check"], entry["file"]) for entry in self.entries)

    def document(self) -> dict[str, Any]:
        return {"settings": self.settings, "libraries": self.libraries, "checks": self.entries}


class Difference(NamedTuple):
    """A number then and now, each with its error. input: whose gradient it is; None for the value."""

    input: str | None
    place: tuple[int, ...]
    locked: Any
    locked_error: float
    now: Any
    now_error: float

    def __str__(self) -> str:
        name = "value" if self.input is None else f"d/d{self.input}"
        pairs = (("locked", self.locked, self.locked_error), ("now", self.now, self.now_error))
        words = [f"{when} {complex(x) if np.iscomplexobj(x) else float(x)!r} ± {error:.2g}" for when, x, error in pairs]
        return f"{label(name, self.place)}: {', '.join(words)}"

    def document(self) -> dict[str, Any]:
        return {"input": self.input, "index": self.place, **dict(zip(self._fields[2:], self[2:], strict=True))}


class Comparison(NamedTuple):
    """One check beside its lock. verdict: same, changed, new, gone, or error with a message.

    worst: the number that is furthest out of its intervals, of a changed check; else the furthest from the locked.
    """

    name: str
    file: str | None
    verdict: str
    worst: Difference | None = None
    message: str = ""

    @property
    def reason(self) -> str:
        return self.message if self.worst is None else str(self.worst)


class Verification(NamedTuple):
    """All checks beside their lock. libraries: what computed then and now, where versions differ."""

    target: str
    checks: tuple[Comparison, ...]
    libraries: tuple[tuple[str, str, str], ...]

    def rows(self) -> Rows:
        return ((check.verdict, check.name, check.file or "", check.reason) for check in self.checks)

    def document(self) -> dict[str, Any]:
        """Return what became of every check, and the versions that differ."""
        checks = [{**c._asdict(), "worst": c.worst and c.worst.document()} for c in self.checks]
        versions = {name: {"locked": old, "now": new} for name, old, new in self.libraries}
        return {"checks": checks, "versions": versions}

    @property
    def exit_code(self) -> int:
        """The exit code: of a changed number, else of a check that could not be made."""
        return EXIT_FAIL if self.count("changed") else EXIT_TARGET if self.count("error") else EXIT_OK

    @property
    def notes(self) -> tuple[str, ...]:
        """What there is to do about checks without a line, and lines without a check."""
        stale = [f"{n} {word}" for word in ("new", "gone") if (n := self.count(word))]
        return (f"{' and '.join(stale)}: lock again to take that in",) if stale else ()

    def count(self, verdict: str) -> int:
        return sum(check.verdict == verdict for check in self.checks)


class MutantRun(NamedTuple):
    """One wrong version: its name, how far off it is at random points, and whether the tests failed with it.

    line: where its source was changed; None where its results were. test: Python that fails with it, for survivors
    that are to be killed, where one can be written. timed_out: whether the tests had to be ended.
    """

    name: str
    relative_error: float | None
    killed: bool
    seconds: float
    line: int | None = None
    test: str | None = None
    timed_out: bool = False


class Mutation(NamedTuple):
    """All mutants of a function. at_least: the error from which on a survivor counts. equal: how many were left out,
    as they gave the same values at random points. calls: how often the tests call the function.
    """

    target: str
    mutants: tuple[MutantRun, ...]
    at_least: float
    equal: int
    calls: int
    seconds: float

    def rows(self) -> Rows:
        for run in self.mutants:
            error = "" if run.relative_error is None else repr(run.relative_error)
            yield ("killed" if run.killed else "survived", error, f"{run.seconds:.3f}", run.name)

    def document(self) -> dict[str, Any]:
        names = ("name", "line", "relative_error", "killed", "timed_out", "seconds", "test")
        more = ("score", "smallest_noticed", "at_least", "equal", "calls", "seconds")
        mutants = [{name: getattr(run, name) for name in names} for run in self.mutants]
        return {"mutants": mutants, **{name: getattr(self, name) for name in more}}

    @property
    def killed(self) -> int:
        return sum(m.killed for m in self.mutants)

    @property
    def score(self) -> float:
        return self.killed / len(self.mutants) if self.mutants else 1.0

    @property
    def smallest_noticed(self) -> float | None:
        """The smallest relative error of a factor that was noticed."""
        errors = [
            m.relative_error for m in self.mutants if m.killed and m.name.startswith("factor") and m.relative_error
        ]
        return min(errors, default=None)

    @property
    def exit_code(self) -> int:
        """1 where such mutants survived."""
        return EXIT_FAIL if self.survivors else EXIT_OK

    @property
    def survivors(self) -> tuple[MutantRun, ...]:
        """Those that are larger than `at_least` and were not noticed."""
        return tuple(m for m in self.mutants if not m.killed and (m.relative_error or 0.0) > self.at_least * (1 + 1e-9))
