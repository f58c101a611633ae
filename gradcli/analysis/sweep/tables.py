"""Tables of points: columns with names, read in blocks from any row on."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from tokenize import TokenError
from typing import Any, NamedTuple

import numpy as np

from ...errors import GradcliError, need_extra


class Block(NamedTuple):
    """Some rows of a table.

    inputs: arrays of floats whose first axis is the rows', or arrays of such arrays where their shapes differ.
    kept: the columns to be handed on, as arrays or as Arrow has them.
    """

    inputs: dict[str, np.ndarray]
    kept: dict[str, Any]
    rows: int

    def cut(self, start: int, stop: int) -> Block:
        """Return rows `start` to `stop` of a block of arrays."""
        inputs = {name: x[start:stop] for name, x in self.inputs.items()}
        kept = {name: x[start:stop] for name, x in self.kept.items()}
        return Block(inputs, kept, min(stop, self.rows) - start)


def need(module: str, extra: str, what: str) -> Any:
    """Return a module of an extra. Raises GradcliError that names the extra."""
    need_extra(module.partition(".")[0], extra, what)
    return import_module(module)


class Points:
    """A table. names: its columns. rows: how many it has, once `prepare` was called. title: its name in messages.

    It can be sent to other processes, which open the file for themselves.
    """

    names: tuple[str, ...] = ()
    rows = 0

    def __init__(self, path: str, title: str = ""):
        self.path, self.title = path, title or path

    def prepare(self, inputs: Sequence[str], kept: Sequence[str]) -> None:
        """Find out how many rows there are. Raises GradcliError for columns, and rows, that cannot be read."""

    def read(self, start: int, stop: int, step: int, inputs: Sequence[str], kept: Sequence[str]) -> Iterator[Block]:
        """Yield rows `start` to `stop` in blocks of `step`: inputs as arrays of floats, kept columns as they are."""
        raise NotImplementedError

    def kind_of(self, name: str) -> Any:
        """Return as what the texts of a kept column are to be read (int, float, str), None for what is no text."""
        return None

    def fingerprint(self) -> list:
        """Return what changes when the file does."""
        status = os.stat(self.path)
        return [status.st_size, status.st_mtime_ns]


class NumpyPoints(Points):
    """A structured array in a .npy file, mapped into memory: its fields are the columns."""

    def __init__(self, path: str):
        super().__init__(path)
        try:
            array = self.open()
        except TokenError:
            raise GradcliError(f"{path} cannot be read: its header is broken", kind="file") from None
        except ValueError as error:
            raise GradcliError(f"{path} cannot be read: {error}", kind="file") from None
        if array.dtype.names is None or array.ndim != 1:
            raise GradcliError(
                f"{path} holds a plain array of shape {array.shape}; the columns of a sweep have names",
                hint="save one dimension of a structured type: numpy.array(rows, dtype=[('x', float), ('y', float)])",
                kind="file",
            )
        self.names, self.rows, self.dtype = array.dtype.names, len(array), array.dtype

    def open(self) -> np.ndarray:
        """Return the array, of which only what is used is read."""
        return np.lib.format.open_memmap(self.path, mode="r")

    def prepare(self, inputs: Sequence[str], kept: Sequence[str]) -> None:
        """Refuse fields that hold no real numbers."""
        for name in inputs:
            check_real(self.dtype[name].base, name, self.path)

    def read(self, start: int, stop: int, step: int, inputs: Sequence[str], kept: Sequence[str]) -> Iterator[Block]:
        """Yield copies of the fields, so that the pages behind them can be dropped."""
        array = self.open()
        for first in range(start, stop, step):
            rows = array[first : min(first + step, stop)]
            yield Block(
                {name: np.array(rows[name], float) for name in inputs},
                {name: np.array(rows[name]) for name in kept},
                len(rows),
            )


def check_real(dtype: Any, name: str, path: str) -> None:
    """Raise GradcliError for a column that holds no real numbers."""
    if np.dtype(dtype).kind not in "biuf":
        raise GradcliError(f"{path}: column '{name}' holds {dtype}, not real numbers", kind="value")


class ParquetPoints(Points):
    """A Parquet file. Columns of lists are inputs that are arrays; what is null is nan."""

    def __init__(self, path: str):
        super().__init__(path)
        self.cursor: tuple[int, Any] = (-1, None)
        try:
            file = self.open()
        except (ValueError, OSError) as error:
            raise GradcliError(f"{path} cannot be read: {error}", kind="file") from None
        self.schema = file.schema_arrow
        self.names = tuple(self.schema.names)
        self.rows = file.metadata.num_rows
        groups = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
        self.starts = np.concatenate([[0], np.cumsum(groups)]).astype(int)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "cursor": (-1, None)}

    def open(self) -> Any:
        """Return the file; it is read piece by piece, not a row group at a time."""
        parquet = need("pyarrow.parquet", "sweep", "reading Parquet")
        return parquet.ParquetFile(self.path, pre_buffer=False, buffer_size=1 << 20)

    def prepare(self, inputs: Sequence[str], kept: Sequence[str]) -> None:
        """Refuse columns that hold no real numbers and no lists of such."""
        types = need("pyarrow", "sweep", "reading Parquet").types
        for name in inputs:
            kind = self.schema.field(name).type
            while types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
                kind = kind.value_type
            if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
                raise GradcliError(
                    f"{self.title}: column '{name}' holds {kind}, not real numbers or lists of them", kind="value"
                )

    def read(self, start: int, stop: int, step: int, inputs: Sequence[str], kept: Sequence[str]) -> Iterator[Block]:
        """Yield blocks; goes on where it stopped, and else begins with the row group that holds `start`."""
        columns = list(dict.fromkeys([*inputs, *kept]))
        place, batches = self.cursor
        if place != start:
            group = int(np.searchsorted(self.starts, start, "right")) - 1
            rest = range(group, len(self.starts) - 1)
            batches = rebatch(self.open().iter_batches(step, list(rest), columns, use_threads=False))
            batches.send(None)
            if start > self.starts[group]:
                batches.send(start - int(self.starts[group]))
        for first in range(start, stop, step):
            table = batches.send(min(step, stop - first))
            self.cursor = (first + table.num_rows, batches)
            yield Block(
                {name: column_as_array(table.column(name)) for name in inputs},
                {name: table.column(name) for name in kept},
                table.num_rows,
            )


def rebatch(batches: Iterator[Any]) -> Any:
    """Give as many rows at a time as are asked for by send(), as a table, from batches of any length."""
    arrow = import_module("pyarrow")
    count = yield None
    held: list[Any] = []
    have = 0
    while True:
        while have < count:
            batch = next(batches)
            held.append(batch)
            have += batch.num_rows
        table = arrow.Table.from_batches(held)
        rest = table.slice(count)
        held, have = rest.to_batches(), rest.num_rows
        count = yield table.slice(0, count)


def as_rows(items: list) -> np.ndarray:
    """Return numbers and arrays, one per row, as one array; as an array of arrays where their shapes differ.

    A number among lists is a list of one.
    """
    rows = [np.asarray(x, float) for x in items]
    depth = max((x.ndim for x in rows), default=0)
    rows = [x.reshape((1,) * (depth - x.ndim) + x.shape) for x in rows]
    if all(x.shape == rows[0].shape for x in rows):
        return np.array(rows)
    whole = np.empty(len(rows), object)
    whole[:] = rows
    return whole


def column_as_array(column: Any) -> np.ndarray:
    """Return a column of Arrow's as floats: rows of lists as a matrix if all are as long, else as single arrays."""
    kind, types = column.type, import_module("pyarrow").types
    if not (types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)):
        return np.concatenate([arrow_floats(chunk) for chunk in column.chunks]) if column.num_chunks else np.empty(0)
    parts = [as_lists(chunk) for chunk in column.chunks]
    if all(x.dtype != object and x.shape[1:] == parts[0].shape[1:] for x in parts):
        return np.concatenate(parts)
    return as_rows([row for part in parts for row in part])


def as_lists(array: Any) -> np.ndarray:
    """Return rows of lists, as a matrix if all are as long, else as single arrays."""
    if array.null_count or not hasattr(array, "offsets") or array.type.value_type.num_fields:
        missing = [np.nan] * getattr(array.type, "list_size", 1)
        return as_rows([missing if row is None else row for row in array.to_pylist()])
    ends = arrow_floats(array.offsets).astype(int)
    numbers = arrow_floats(array.flatten())
    if (np.diff(ends) == ends[1] - ends[0]).all():
        return numbers.reshape(len(array), -1)
    return as_rows(np.split(numbers, (ends - ends[0])[1:-1]))


def arrow_floats(array: Any) -> np.ndarray:
    """Return numbers of Arrow's as floats, nan for null.

    Arrow's own way loads pandas where that is installed, in 0.2 s.
    """
    if array.null_count or array.type.bit_width < 8:
        return np.asarray(array.to_numpy(zero_copy_only=False), float)
    numbers = np.frombuffer(array.buffers()[1], array.type.to_pandas_dtype())
    return np.asarray(numbers[array.offset : array.offset + len(array)], float)
