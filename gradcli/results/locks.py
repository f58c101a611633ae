"""Gradients that are kept in a file, and what became of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ..errors import EXIT_FAIL, EXIT_OK, EXIT_TARGET

SCHEMA = "gradcli/1"


def document_of_lines(head: Mapping[str, Any], key: str, entries: Iterable[Mapping[str, Any]]) -> str:
    """Return a document of JSON whose entries have a line each, for git to compare."""
    start = json.dumps(head, ensure_ascii=False)[:-1]
    rows = [json.dumps(entry, ensure_ascii=False, allow_nan=False) for entry in entries]
    return f'{start}, "{key}": [\n' + ",\n".join(rows) + "\n]}\n"


class Lock(NamedTuple):
    """What a lock file holds.

    settings: the words and options that chose the checks. libraries: the versions that computed. entries: plain data
    per check, sorted: file, check, at, value, value_error, grad, error.
    """

    target: str
    settings: Mapping[str, Any]
    libraries: Mapping[str, str]
    entries: tuple[Mapping[str, Any], ...]


class Difference(NamedTuple):
    """A number then and now, each with its error. input: whose gradient it is; None for the value."""

    input: str | None
    place: tuple[int, ...]
    locked: Any
    locked_error: float
    now: Any
    now_error: float


class Comparison(NamedTuple):
    """One check beside its lock. verdict: same, changed, new, gone, or error with a message.

    worst: the number that is furthest out of its intervals, of a changed check; else the furthest from the locked.
    """

    name: str
    file: str | None
    verdict: str
    worst: Difference | None = None
    message: str = ""


class Verification(NamedTuple):
    """All checks beside their lock. libraries: what computed then and now, where versions differ."""

    target: str
    checks: tuple[Comparison, ...]
    libraries: tuple[tuple[str, str, str], ...]

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
