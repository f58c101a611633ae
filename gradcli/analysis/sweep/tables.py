"""Tables of points: named columns, read in blocks from any row on."""

from __future__ import annotations

import csv
import io
import json
import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ...errors import GradcliError, count_of, need_extra
from ...lang.reword import readable_message
from ...lang.tables import MAX_TEXT, ROW_NUMBERS, is_heading, read_number, read_rows, reading

WORTH_ARROW = 1 << 20  # smaller texts are faster without pyarrow, which takes 0.1 s to start


class TableBlock(NamedTuple):
    """Some rows of a table.

    inputs: arrays of floats with one item per row; object arrays of arrays if the rows' shapes differ. kept: columns to
    copy to the result, as arrays of NumPy or Arrow.
    """

    inputs: dict[str, np.ndarray]
    kept: dict[str, Any]
    rows: int

    def cut(self, start: int, stop: int) -> TableBlock:
        inputs = {name: x[start:stop] for name, x in self.inputs.items()}
        kept = {name: x[start:stop] for name, x in self.kept.items()}
        return TableBlock(inputs, kept, min(stop, self.rows) - start)


def need(module: str, extra: str, what: str) -> Any:
    """Import a module. Raises GradcliError that names the extra to install."""
    need_extra(module.partition(".")[0], extra, what)
    return import_module(module)


def load_arrow(size: int) -> Any:
    """Return pyarrow if it is installed and worth loading for `size` bytes, else None. Results are the same."""
    if size < WORTH_ARROW:
        return None
    try:
        import_module("pyarrow.compute")
        import_module("pyarrow.csv")
        return import_module("pyarrow")
    except ImportError:
        return None


class Points:
    """A table. names: its columns. title: its name in messages. mark: the decimal mark of text.

    `prepare` sets rows, the number of rows; inputs and kept, the columns to read; and kinds, the types of kept columns
    of text: int, float or str. A table can be pickled for other processes, which open the file themselves.
    """

    names: tuple[str, ...] = ()
    rows = 0
    inputs: Sequence[str] = ()
    kept: Sequence[str] = ()
    mark = "."
    cursor: tuple[int, TableBlock | None, Any] = (-1, None, None)  # the next row, rows read ahead, and the reader
    latest: tuple[int, TableBlock] | None = None  # the last piece of text, with its place in the file

    def __init__(self, path: str, title: str = ""):
        self.path, self.title = path, title or path
        self.kinds: dict[str, type] = {}
        self.opened = self.fingerprint()

    def __getstate__(self) -> dict[str, Any]:
        return {name: x for name, x in self.__dict__.items() if name not in ("cursor", "latest")}

    def prepare(self, inputs: Sequence[str], kept: Sequence[str]) -> None:
        """Choose columns, and count the rows. Raises GradcliError for a table that cannot be read."""
        self.inputs, self.kept = inputs, kept
        self.check()

    def check(self) -> None:
        raise NotImplementedError

    def read(self, start: int, stop: int, step: int) -> Iterator[TableBlock]:
        """Yield rows `start` to `stop` in blocks of `step`. Raises GradcliError, also if the file has changed."""
        while start < stop:
            with reading(f"{self.title}, from row {start + 1} on,"):
                block = self.take(start, min(step, stop - start), step)
                if self.fingerprint() != self.opened:
                    raise EOFError("the file has changed since it was opened")
            start += block.rows
            yield block

    def take(self, start: int, count: int, step: int) -> TableBlock:
        """Return `count` rows, quickly if they follow those read last. May raise whatever a reader raises."""
        place, held, pieces = self.cursor
        if place != start:
            held, pieces = None, self.pieces(start, step)
        while held is None or held.rows < count:
            first, piece = next(pieces, (0, None))
            if piece is None:
                raise EOFError("it ends before its last row")
            if held is not None:
                held = join_blocks(held, piece)
            elif first + piece.rows > start:
                held = piece.cut(max(start - first, 0), piece.rows)
        rest = held.cut(count, held.rows) if held.rows > count else None
        self.cursor = (start + count, rest, pieces)
        return held.cut(0, count)

    def pieces(self, start: int, step: int) -> Iterator[tuple[int, TableBlock]]:
        """Yield pieces of the file with the number of their first row; the first piece holds row `start`.

        step: rows per piece, if the format allows a choice.
        """
        raise NotImplementedError

    def fingerprint(self) -> list:
        status = os.stat(self.path)
        return [status.st_size, status.st_mtime_ns]


class NumpyPoints(Points):
    """A structured array in a .npy file. It is not mapped: truncating a mapped file would kill the process."""

    def __init__(self, path: str, title: str = ""):
        super().__init__(path, title)
        array: Any = np.lib.format.open_memmap(path, mode="r")
        if array.dtype.names is None or array.ndim != 1:
            message = f"{path} contains a plain array of shape {array.shape}; a sweep needs named columns"
            hint = "save a one-dimensional structured array: numpy.array(rows, dtype=[('x', float), ('y', float)])"
            raise GradcliError(message, hint=hint, kind="file")
        self.names, self.rows, self.dtype, self.begin = array.dtype.names, len(array), array.dtype, array.offset

    def check(self) -> None:
        for name in self.inputs:
            kind = self.dtype[name].base
            if kind.kind not in "biuf":
                raise GradcliError(f"{self.path}: column '{name}' contains {kind}, not real numbers", kind="value")

    def pieces(self, start: int, step: int) -> Iterator[tuple[int, TableBlock]]:
        for first in range(start, self.rows, step):
            rows = np.fromfile(self.path, self.dtype, step, offset=self.begin + first * self.dtype.itemsize)
            kept = {name: np.array(rows[name]) for name in self.kept}
            yield first, TableBlock({name: np.array(rows[name], float) for name in self.inputs}, kept, len(rows))


class ParquetPoints(Points):
    """A Parquet file. Columns of lists are array inputs; null is nan."""

    def __init__(self, path: str, title: str = ""):
        super().__init__(path, title)
        file = self.open()
        self.schema = file.schema_arrow
        self.names = tuple(self.schema.names)
        self.rows = file.metadata.num_rows
        groups = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
        self.starts = np.concatenate([[0], np.cumsum(groups)]).astype(int)

    def open(self) -> Any:
        """Open the file for reading piece by piece, rather than a row group at a time."""
        parquet = need("pyarrow.parquet", "sweep", "reading Parquet")
        return parquet.ParquetFile(self.path, pre_buffer=False, buffer_size=1 << 20)

    def check(self) -> None:
        types = need("pyarrow", "sweep", "reading Parquet").types
        for name in self.inputs:
            kind = self.schema.field(name).type
            while types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
                kind = kind.value_type
            if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
                message = f"{self.title}: column '{name}' contains {kind}, not real numbers or lists of them"
                raise GradcliError(message, kind="value")

    def pieces(self, start: int, step: int) -> Iterator[tuple[int, TableBlock]]:
        group = int(np.searchsorted(self.starts, start, "right")) - 1
        groups, first = list(range(group, len(self.starts) - 1)), int(self.starts[group])
        columns = list(dict.fromkeys([*self.inputs, *self.kept]))
        for batch in self.open().iter_batches(step, groups, columns, use_threads=False):
            inputs = {name: column_as_array(batch.column(name)) for name in self.inputs}
            yield first, TableBlock(inputs, {name: batch.column(name) for name in self.kept}, batch.num_rows)
            first += batch.num_rows


def as_rows(items: list) -> np.ndarray:
    """Stack rows of numbers and lists; rows of different shapes give an object array. A number counts as [number]."""
    rows = [np.asarray(x, float) for x in items]
    depth = max((x.ndim for x in rows), default=0)
    rows = [x.reshape((1,) * (depth - x.ndim) + x.shape) for x in rows]
    if all(x.shape == rows[0].shape for x in rows):
        return np.array(rows)
    whole = np.empty(len(rows), object)
    whole[:] = rows
    return whole


def column_as_array(column: Any) -> np.ndarray:
    """Convert a column of Arrow to floats; lists become a matrix if all have the same length, else separate arrays."""
    kind, types = column.type, import_module("pyarrow").types
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return as_lists(column) if is_list else arrow_floats(column)


def as_lists(array: Any) -> np.ndarray:
    if array.null_count or not hasattr(array, "offsets") or array.type.value_type.num_fields:
        missing = [np.nan] * getattr(array.type, "list_size", 1)
        return as_rows([missing if row is None else row for row in array.to_pylist()])
    ends = arrow_floats(array.offsets).astype(int)
    numbers = arrow_floats(array.flatten())
    if (np.diff(ends) == ends[1] - ends[0]).all():
        return numbers.reshape(len(array), -1)
    return as_rows(np.split(numbers, (ends - ends[0])[1:-1]))


def arrow_floats(array: Any) -> np.ndarray:
    """Convert Arrow numbers to floats, null to nan. Arrow's own way would load pandas if installed, in 0.2 s."""
    if array.null_count or array.type.bit_width < 8:
        return np.asarray(array.to_numpy(zero_copy_only=False), float)
    numbers = np.frombuffer(array.buffers()[1], array.type.to_pandas_dtype())
    return np.asarray(numbers[array.offset : array.offset + len(array)], float)


PIECE_BYTES = 4 << 20  # bytes to read at a time


class TextPoints(Points):
    """A CSV or TSV file whose first row names the columns. A cell is a number, empty (nan), or a JSON list.

    places: the first row of each piece and its place in the file. failed: the row and the cell of the last error.
    """

    failed = (-1, -1)

    def __init__(self, separator: str, path: str, title: str = ""):
        super().__init__(path, title)
        self.separator = separator
        cells, self.begin = read_heading(path, separator)
        if not any(cells):
            raise GradcliError(f"{self.title} is empty", hint="the first row names the columns", kind="file")
        if not is_heading(cells):
            hint = "the first row names the columns: x,y"
            raise GradcliError(f"{self.title} has no heading: its first row contains numbers", hint=hint, kind="file")
        other = next((c for c in ";,\t" if len(cells) == 1 and c in cells[0]), None)
        if other is not None:
            message = f"{self.title}: cells are separated by {other!r}, not {separator!r}"
            hint = f"pass --delimiter {other!r}" + "; decimal commas are allowed then" * (other != ",")
            raise GradcliError(message, hint=hint, kind="file")
        self.names = tuple(cells)
        self.places: list[tuple[int, int]] = []

    def chunks(self, place: int) -> Iterator[tuple[int, bytes]]:
        """Yield pieces of whole rows, from a place in the file on: the place and the bytes of each."""
        with open(self.path, "rb") as file:
            file.seek(place)
            while data := file.read(PIECE_BYTES):
                lines = [data, file.readline()]
                quotes, size = sum(line.count(b'"') for line in lines), sum(map(len, lines))
                while quotes % 2 and size < MAX_TEXT and (line := file.readline()):
                    lines.append(line)  # a quoted cell continues in the next line
                    quotes, size = quotes + line.count(b'"'), size + len(line)
                yield place, b"".join(lines)
                place = file.tell()

    def check(self) -> None:
        """Read all rows with decimal points, or else with commas. If both fail, report the error that comes later."""
        errors: dict[tuple[int, int], GradcliError] = {}
        for mark in "." if self.separator == "," else ".,":
            self.mark = mark
            try:
                return self.read_all()
            except GradcliError as error:
                errors.setdefault(self.failed, error)
        raise errors[max(errors)]

    def read_all(self) -> None:
        self.kinds, self.places, self.rows, self.latest = dict.fromkeys(self.kept, int), [], 0, None
        for place, data in self.chunks(self.begin):
            block = self.parse(place, data, self.rows)
            self.places.append((self.rows, place))
            self.rows += block.rows
            for name, column in block.kept.items():
                self.kinds[name] = narrowest_kind(self.kinds[name], column)

    def pieces(self, start: int, step: int) -> Iterator[tuple[int, TableBlock]]:
        row, begin = self.places[bisect_right(self.places, (start, self.begin << 60)) - 1]
        for place, data in self.chunks(begin):
            block = self.parse(place, data, row)
            yield row, block
            row += block.rows

    def parse(self, place: int, data: bytes, row: int) -> TableBlock:
        if self.latest is None or self.latest[0] != place:
            text = data.decode()
            self.latest = (place, self.parse_numbers(data, text) or self.parse_cells(text, row))
        return self.latest[1]

    def parse_numbers(self, data: bytes, text: str) -> TableBlock | None:
        """Parse a piece in which each input is an unquoted number or empty; None for other pieces."""
        if '"' in text or ("(" in text and "nan(" in text.lower()):  # Arrow reads nan(1) as nan
            return None
        arrow = load_arrow(self.opened[0])
        if arrow is not None:
            return self.parse_with_arrow(arrow, data)
        return None if self.kept else self.parse_with_numpy(text)

    def parse_with_arrow(self, arrow: Any, data: bytes) -> TableBlock | None:
        """Parse with Arrow, with the same result in a seventh of the time; None if Arrow cannot."""
        if set(self.inputs).intersection(self.kept):
            return None
        columns = {name: f"f{self.names.index(name)}" for name in (*self.inputs, *self.kept)}
        kinds = dict.fromkeys(self.inputs, arrow.float64()) | dict.fromkeys(self.kept, arrow.string())
        try:
            table = arrow.csv.read_csv(
                arrow.BufferReader(data),
                arrow.csv.ReadOptions(use_threads=False, autogenerate_column_names=True, block_size=len(data) + 1),
                arrow.csv.ParseOptions(delimiter=self.separator),
                arrow.csv.ConvertOptions(
                    column_types={columns[name]: kind for name, kind in kinds.items()},
                    include_columns=list(columns.values()),
                    null_values=[""],
                    decimal_point=self.mark,
                ),
            )
        except arrow.ArrowException:
            return None
        inputs = {
            name: arrow_floats(table.column(columns[name]).fill_null(np.nan).combine_chunks()) for name in self.inputs
        }
        kept = {name: np.array(table.column(columns[name]).to_pylist(), object) for name in self.kept}
        return TableBlock(inputs, kept, table.num_rows)

    def parse_with_numpy(self, text: str) -> TableBlock | None:
        text = with_points(text, self.mark)
        lines = [line for line in text.replace("\r", "\n").split("\n") if line.strip(" ")]
        between = len(self.names) - 1
        if not lines or any(line.count(self.separator) != between for line in lines):
            return None
        places = [self.names.index(name) for name in self.inputs]
        try:
            table = np.loadtxt(lines, delimiter=self.separator, usecols=places, ndmin=2, comments=None)
        except ValueError:
            return None
        if len(table) != len(lines):
            return None
        return TableBlock({name: np.array(table[:, i]) for i, name in enumerate(self.inputs)}, {}, len(lines))

    def parse_cells(self, text: str, row: int) -> TableBlock:
        """Parse a piece cell by cell. Raises GradcliError for the first row that cannot be read."""
        rows: list[list[str]] = []
        try:
            for cells in read_rows(io.StringIO(text, newline=""), self.separator, strict=True):
                if len(cells) > 1 or "".join(cells).strip():
                    rows.append(cells)
        except csv.Error as error:
            raise self.unreadable(row + len(rows), readable_message(error)) from None
        numbers: dict[str, list] = {name: [] for name in self.inputs}
        for i, cells in enumerate(rows):
            if len(cells) != len(self.names):
                why = f"it has {count_of(len(cells), 'cell')}, but the heading has {len(self.names)}"
                raise self.unreadable(row + i, why)
            by_name = dict(zip(self.names, cells, strict=True))
            for k, name in enumerate(self.inputs):
                try:
                    numbers[name].append(parse_sweep_cell(by_name[name], self.mark))
                except ValueError:
                    why = f"'{by_name[name]}' in column '{name}' is not a number"
                    others = "; other cells have decimal commas" if self.mark == "," else ""
                    raise self.unreadable(row + i, why + others, k) from None
        kept = {name: np.array([cells[self.names.index(name)] for cells in rows], object) for name in self.kept}
        return TableBlock({name: as_rows(column) for name, column in numbers.items()}, kept, len(rows))

    def unreadable(self, row: int, why: str, cell: int = -1) -> GradcliError:
        """Return the error for a row that cannot be read. row: its number, from 0 below the heading."""
        self.failed = (row, cell)
        return GradcliError(f"{self.title}, row {row + 1}: {why}", hint=ROW_NUMBERS, kind="file")


def read_heading(path: str, separator: str) -> tuple[list[str], int]:
    """Return the cells of a file's first row, and the place of the second row."""
    lines: list[str] = []
    with open(path, encoding="utf-8", newline="") as file:
        read = (lines.append(line) or line.removeprefix("\ufeff") for line in file)  # type: ignore[func-returns-value]
        cells = next(read_rows(read, separator), [])
    return [cell.strip() for cell in cells], sum(len(line.encode()) for line in lines)


def with_points(text: str, mark: str) -> str:
    """Replace decimal commas by points, and points by something that is not part of a number."""
    return text if mark == "." else text.replace(".", "\0").replace(",", ".")


def parse_sweep_cell(cell: str, mark: str) -> Any:
    """Parse a cell: a number as `read_number` reads it, or a list. Raises ValueError."""
    cell = cell.strip()
    if not cell.startswith("["):
        return read_number(with_points(cell, mark))
    try:
        return np.array(json.loads(cell, parse_constant=float), float)
    except (TypeError, RecursionError, OverflowError):
        raise ValueError from None


def join_blocks(first: TableBlock, second: TableBlock) -> TableBlock:
    def both(a: Any, b: Any) -> Any:
        if hasattr(a, "to_pylist"):
            return import_module("pyarrow").concat_arrays([a, b])
        if a.dtype == b.dtype and a.shape[1:] == b.shape[1:]:
            return np.concatenate([a, b])
        return as_rows([*a, *b])

    inputs = {name: both(x, second.inputs[name]) for name, x in first.inputs.items()}
    kept = {name: both(x, second.kept[name]) for name, x in first.kept.items()}
    return TableBlock(inputs, kept, first.rows + second.rows)


def narrowest_kind(kind: type, column: np.ndarray) -> type:
    """Return the first of int (64 bits), float and str, from `kind` on, that fits all texts of a column."""
    while kind is not str:
        try:
            np.array([kind(cell) for cell in column], kind)
            return kind
        except OverflowError:  # such a long number is probably an identifier
            return str
        except ValueError:
            kind = float if kind is int else str
    return kind
