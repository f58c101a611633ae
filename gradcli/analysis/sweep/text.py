"""Tables as text: CSV and TSV, read in pieces that end with a row."""

from __future__ import annotations

import csv
import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...errors import GradcliError
from ...lang.tables import is_heading
from .tables import Block, Points, as_rows

PIECE = 4 << 20
"""Bytes that are read at once."""


class TextPoints(Points):
    """A CSV or TSV file whose first row names the columns.

    A cell holds a number or nothing (nan), or a list of numbers as JSON writes it. places: for each piece that was
    read, the number of its first row and where it begins in the file.
    """

    def __init__(self, path: str, separator: str = ",", title: str = ""):
        super().__init__(path, title)
        self.separator = separator
        with open(path, "rb") as file:
            line = file.readline()
            self.begin = file.tell()
        try:
            heading = line.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise GradcliError(f"{self.title} is not UTF-8 text", kind="file") from None
        if not heading.strip():
            raise GradcliError(f"{self.title} is empty", hint="the first row names the columns", kind="file")
        cells = [cell.strip() for cell in next(csv.reader([heading.rstrip("\r\n")], delimiter=separator))]
        if not is_heading(cells):
            raise GradcliError(
                f"{self.title} has no heading: its first row holds numbers",
                hint="the first row names the columns: x,y",
                kind="file",
            )
        other = next((c for c in ";,\t" if len(cells) == 1 and c in cells[0]), None)
        if other is not None:
            raise GradcliError(f"{self.title}: cells are separated by {other!r}, not {separator!r}", kind="file")
        if len(set(cells)) < len(cells):
            twice = next(name for name in cells if cells.count(name) > 1)
            raise GradcliError(f"{self.title} has two columns '{twice}'", kind="file")
        self.names = tuple(cells)
        self.places: list[tuple[int, int]] = []
        self.kinds: dict[str, type] = {}
        self.latest: tuple[Any, Block] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "latest": None}

    def pieces(self, place: int) -> Iterator[tuple[int, bytes]]:
        """Yield where each piece begins, from a place in the file on, and its bytes: whole rows."""
        with open(self.path, "rb") as file:
            file.seek(place)
            while data := file.read(PIECE):
                data += file.readline()
                while data.count(b'"') % 2 and (line := file.readline()):
                    data += line  # a quoted cell goes on behind the end of the line
                yield place, data
                place = file.tell()

    def prepare(self, inputs: Sequence[str], kept: Sequence[str]) -> None:
        """Read the whole table once: count its rows, note where pieces begin, and refuse what is no number."""
        self.kinds = dict.fromkeys(kept, int)
        for place, data in self.pieces(self.begin):
            block = self.parse(place, data, self.rows, inputs, kept)
            self.places.append((self.rows, place))
            self.rows += block.rows
            for name, column in block.kept.items():
                self.kinds[name] = narrow(self.kinds[name], column)

    def kind_of(self, name: str) -> type:
        """Return int or float for a column that holds nothing else, otherwise str."""
        return self.kinds[name]

    def read(self, start: int, stop: int, step: int, inputs: Sequence[str], kept: Sequence[str]) -> Iterator[Block]:
        """Yield blocks; kept columns are texts."""
        at, begin = self.places[bisect_right(self.places, (start, self.begin << 60)) - 1]
        held: Block | None = None
        for place, data in self.pieces(begin):
            block = self.parse(place, data, at, inputs, kept)
            at += block.rows
            if at <= start:
                continue
            if held is None:
                held = block.cut(start - (at - block.rows), block.rows)
            else:
                held = join(held, block)
            while held.rows >= min(step, stop - start) > 0:
                count = min(step, stop - start)
                yield held.cut(0, count)
                held = held.cut(count, held.rows)
                start += count
            if start >= stop:
                return

    def parse(self, place: int, data: bytes, row: int, inputs: Sequence[str], kept: Sequence[str]) -> Block:
        """Return a piece as a block. row: the number of rows before it."""
        asked = (place, tuple(inputs), tuple(kept))
        if self.latest is None or self.latest[0] != asked:
            try:
                text = data.decode()
            except UnicodeDecodeError:
                raise GradcliError(f"{self.title} is not UTF-8 text", kind="file") from None
            block = None if kept else self.parse_numbers(text, inputs)
            self.latest = (asked, block or self.parse_cells(text, row, inputs, kept))
        return self.latest[1]

    def parse_numbers(self, text: str, inputs: Sequence[str]) -> Block | None:
        """Return a piece in which every cell that is wanted holds a number, None for any other."""
        lines = [line for line in text.split("\n") if line.strip()]
        if '"' in text or text.count(self.separator) != len(lines) * (len(self.names) - 1) or not lines:
            return None
        places = [self.names.index(name) for name in inputs]
        try:
            table = np.loadtxt(lines, delimiter=self.separator, usecols=places, ndmin=2, comments=None)
        except ValueError:
            return None
        return Block({name: np.array(table[:, i]) for i, name in enumerate(inputs)}, {}, len(lines))

    def parse_cells(self, text: str, row: int, inputs: Sequence[str], kept: Sequence[str]) -> Block:
        """Return a piece, cell by cell. Raises GradcliError for the first row that cannot be read."""
        reader = csv.reader(text.splitlines(keepends=True), delimiter=self.separator)
        rows = [cells for cells in reader if cells and (len(cells) > 1 or cells[0].strip())]
        numbers: dict[str, list] = {name: [] for name in inputs}
        for i, cells in enumerate(rows):
            if len(cells) != len(self.names):
                raise self.unreadable(row + i, f"it has {len(cells)} cells, the heading {len(self.names)}")
            by_name = dict(zip(self.names, cells, strict=True))
            for name, column in numbers.items():
                try:
                    column.append(parse_cell(by_name[name]))
                except ValueError:
                    raise self.unreadable(row + i, f"'{by_name[name]}' in column '{name}' is no number") from None
        texts = {name: [cells[self.names.index(name)] for cells in rows] for name in kept}
        return Block(
            {name: as_rows(column) for name, column in numbers.items()},
            {name: np.array(column, object) for name, column in texts.items()},
            len(rows),
        )

    def unreadable(self, row: int, why: str) -> GradcliError:
        """Return the error for a row that cannot be read. row: how many stand before it, the heading not counted."""
        return GradcliError(
            f"{self.title}, row {row + 1}: {why}", hint="row 1 is the first below the heading", kind="file"
        )


def parse_cell(cell: str) -> Any:
    """Return the number in a cell, nan for an empty one, or a list. Raises ValueError."""
    cell = cell.strip()
    if not cell:
        return np.nan
    if not cell.startswith("["):
        return float(cell)
    try:
        return np.array(json.loads(cell, parse_constant=float), float)
    except (TypeError, RecursionError, OverflowError):
        raise ValueError from None


def join(first: Block, second: Block) -> Block:
    def both(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if a.dtype == b.dtype and a.shape[1:] == b.shape[1:]:
            return np.concatenate([a, b])
        return as_rows([*a, *b])

    inputs = {name: both(x, second.inputs[name]) for name, x in first.inputs.items()}
    kept = {name: both(x, second.kept[name]) for name, x in first.kept.items()}
    return Block(inputs, kept, first.rows + second.rows)


def narrow(kind: type, column: np.ndarray) -> type:
    """Return the first of int, float and str, from `kind` on, that takes every text of a column."""
    while kind is not str:
        try:
            for cell in column:
                kind(cell)
            return kind
        except ValueError:
            kind = float if kind is int else str
    return kind
