"""Places in the prepared text as places in the text that the user wrote."""

from __future__ import annotations

from bisect import bisect_left


class Positions:
    """Maps Python's line and byte positions in the prepared text to characters of the user's text."""

    def __init__(self, source: str, prepared: str):
        self.source = source
        self.lines = prepared.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.ascii = prepared.isascii()
        self.carets: list[int] = []
        shift = 0
        for i, c in enumerate(source):
            if c == "^":
                self.carets.append(i + shift)
                shift += 1

    def __call__(self, line: int, column: int) -> int:
        """Return the position in the user's text of a line (from 1) and a byte column (from 0)."""
        if self.ascii and not self.carets and line < len(self.starts):
            return self.starts[line - 1] + column
        if not self.ascii:
            column = len(self.lines[line - 1].encode()[:column].decode(errors="ignore"))
        return self.in_source(self.starts[min(line, len(self.starts)) - 1] + column)

    def in_source(self, place: int) -> int:
        """Return the position in the user's text of a position in the prepared one."""
        return min(place - bisect_left(self.carets, place), len(self.source))
