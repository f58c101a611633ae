"""Places in the prepared text as places in the text that the user wrote."""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import accumulate
from typing import Any


class Positions:
    """Maps Python's line and byte positions in the prepared text to characters of the user's text."""

    def __init__(self, source: str, prepared: str):
        self.source = source
        self.lines = prepared.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.ascii = prepared.isascii()
        self.counts: dict[int, list[int]] = {}
        self.carets = [mark.start() + shift for shift, mark in enumerate(re.finditer(r"\^", source))]

    def of(self, node: Any) -> tuple[int, int]:
        if self.ascii and not self.carets:
            starts = self.starts
            return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        return self.place(node.lineno, node.col_offset), self.place(node.end_lineno, node.end_col_offset)

    def place(self, line: int, column: int) -> int:
        """Return the position in the user's text of a line (from 1) and a byte column (from 0)."""
        if not self.ascii:
            counts = self.characters(line - 1)
            column = counts[min(column, len(counts) - 1)]
        return self.in_source(self.starts[min(line, len(self.starts)) - 1] + column)

    def characters(self, row: int) -> list[int]:
        """Return how many characters of a line begin before each of its bytes, and before its end."""
        if row not in self.counts:
            begins = (byte & 0xC0 != 0x80 for byte in self.lines[row].encode())
            self.counts[row] = list(accumulate(begins, initial=0))
        return self.counts[row]

    def in_source(self, place: int) -> int:
        """Return the position in the user's text of a position in the prepared one."""
        return min(place - bisect_left(self.carets, place), len(self.source))
