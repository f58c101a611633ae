"""Repairs of a user's source: as data, and as a unified diff."""

from __future__ import annotations

import difflib
import io
import itertools
import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .base import declare


@declare(json="line column end_line end_column text")
class Replacement(NamedTuple):
    """A piece of a file to replace. Lines and columns begin at 1; the end is the first character after it.

    start, stop: the same as offsets in the text, which begin at 0.
    """

    line: int
    column: int
    end_line: int
    end_column: int
    text: str
    start: int
    stop: int


@declare(json="file line diff replacements others tried resolution")
class Patch(NamedTuple):
    """An edit of a derivative's source with which its check passes, or two.

    file: as the user sees it; path: where it is; line: of the first change. before, after: the whole text of the file.
    others: how many other edits give the same values at all points that were tried; tried: how many edits were tried.
    resolution: of the check that the edited derivative passes. edits: how many are made together.
    """

    file: str
    path: str
    line: int
    before: str
    after: str
    replacements: tuple[Replacement, ...]
    others: int
    tried: int
    resolution: float
    edits: int = 1

    @property
    def diff(self) -> str:
        """The patch in the form of `git diff`, for `git apply` and `patch -p1`."""
        return unified_diff(self.file, self.before, self.after)

    @property
    def summary(self) -> str:
        """The patch in words: how large it is, and how many others would do."""
        lines = {r.line for r in self.replacements}
        where = f"line {self.line} of {self.file}" if len(lines) == 1 else f"{len(lines)} lines of {self.file}"
        one, several = ("edit", "edits") if self.edits == 1 else ("pair of edits", "pairs of edits")
        others = (
            f"{self.others or 'no'} other {one} gives" if self.others < 2 else f"{self.others} other {several} give"
        )
        return f"{'one edit' if self.edits == 1 else 'two edits'} in {where}; {others} the same values"


def unified_diff(file: str, before: str, after: str) -> str:
    name = file.replace(os.sep, "/").lstrip("/")
    lines = difflib.unified_diff(lines_of(before), lines_of(after), f"a/{name}", f"b/{name}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def lines_of(text: str) -> list[str]:
    """Return lines as git and patch know them: only a line feed ends one."""
    return list(io.StringIO(text, newline="\n"))


def by_file(patches: Iterable[Patch]) -> list[list[Patch]]:
    """Return the patches of each file."""
    found: dict[str, list[Patch]] = {}
    for patch in patches:
        found.setdefault(patch.path, []).append(patch)
    return list(found.values())


def with_all(patches: Sequence[Patch]) -> str | None:
    """Return the text of one file after all patches of it; None if two of them change the same place."""
    pieces = sorted({(r.start, r.stop, r.text) for patch in patches for r in patch.replacements})
    if any(stop > start for (_, stop, _), (start, _, _) in itertools.pairwise(pieces)):
        return None
    text = patches[0].before
    for start, stop, new in reversed(pieces):
        text = text[:start] + new + text[stop:]
    return text
