"""The parts of a sweep's result: written by whoever does them, renamed into place, joined when all are there."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any, BinaryIO

import numpy as np

from ...errors import GradcliError
from .tables import need

FORMS = {".csv": ",", ".tsv": "\t", ".parquet": None, ".pq": None}
"""Endings of results, with what separates the cells of a text."""
GROUP_ROWS, GROUP_BYTES = 1 << 20, 1 << 26
"""The most rows and bytes of a row group: it is held in memory while it is made."""

Table = Mapping[str, Any]
"""Some rows of the result: columns by name, as arrays or as Arrow has them."""


def form_of(path: str) -> str:
    """Return the ending that says a result's format: - is CSV. Raises GradcliError."""
    ending = ".csv" if path == "-" else os.path.splitext(path)[1].lower()
    if ending not in FORMS:
        raise GradcliError(
            f"-o {path}: unknown type of file '{ending or path}'",
            hint=f"the types are {', '.join(FORMS)}",
            kind="file",
        )
    if FORMS[ending] is None:
        need("pyarrow.parquet", "sweep", "writing Parquet")
    return ending


class Folder:
    """Where the parts of a result wait. A part is called NUMBER.NOT_FINITE.ENDING: its rows that are not finite."""

    def __init__(self, path: str, ending: str):
        self.path, self.ending = path, ending

    def count_done(self) -> dict[int, int]:
        """Return the parts that are there, and the number of rows in each that are not finite."""
        counts = {}
        with contextlib.suppress(FileNotFoundError):
            for name in os.listdir(self.path):
                number, _, rest = name.partition(".")
                count, _, ending = rest.partition(".")
                if number.isdigit() and count.isdigit() and f".{ending}" == self.ending:
                    counts[int(number)] = int(count)
        return counts

    def place(self, number: int, not_finite: int) -> str:
        return os.path.join(self.path, f"{number:07d}.{not_finite}{self.ending}")

    def write(self, number: int, tables: Iterable[tuple[Table, int]], kinds: Mapping[str, Any]) -> int:
        """Write a part, and return its rows that are not finite. tables: pairs of some rows and how many are not."""
        temporary = os.path.join(self.path, f"{number:07d}.{os.getpid()}.tmp")
        counts: list[int] = []

        def counted() -> Iterable[Table]:
            for table, count in tables:
                counts.append(count)
                yield table

        try:
            with open(temporary, "wb") as file:
                separator = FORMS[self.ending]
                if separator is None:
                    write_parquet(file, counted(), kinds)
                else:
                    for table in counted():
                        file.write(as_text(table, separator))
            os.replace(temporary, self.place(number, sum(counts)))
        finally:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        return sum(counts)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def as_text(table: Table, separator: str) -> bytes:
    """Return rows as text, numbers with all their digits, lists as JSON."""
    rows = io.StringIO()
    writer = csv.writer(rows, delimiter=separator, lineterminator="\n")
    writer.writerows(zip(*(as_cells(column) for column in table.values()), strict=True))
    return rows.getvalue().encode()


def heading(names: Iterable[str], separator: str) -> bytes:
    return as_text({name: [name] for name in names}, separator)


def as_cells(column: Any) -> list:
    """Return a column as numbers and texts; the writer of CSV gives floats their shortest exact form."""
    if hasattr(column, "to_pylist"):
        column = column.to_pylist()
    elif isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype != object:
        return column.tolist()
    return [json.dumps(x.tolist() if isinstance(x, np.ndarray) else x) if np.ndim(x) else x for x in column]


def as_arrow(column: Any, kind: Any) -> Any:
    """Return a column as Arrow has it. kind: the type of a kept column, which may be texts to be read as such."""
    arrow = import_module("pyarrow")
    if isinstance(column, arrow.Array | arrow.ChunkedArray):
        return column
    if kind is not None:
        return arrow.array([kind(x) for x in column], {int: arrow.int64(), float: arrow.float64()}.get(kind))
    if column.dtype == object:
        lengths = [len(x) for x in column]
        return list_array(lengths, np.concatenate(list(column)))
    if column.ndim > 1:
        return list_array([column.shape[1]] * len(column), column.reshape(-1, *column.shape[2:]))
    if column.dtype not in (np.float64, np.float32):
        return arrow.array(column)
    # not arrow.array, which loads pandas where that is installed, in 0.2 s
    buffers = [None, arrow.py_buffer(np.ascontiguousarray(column))]
    return arrow.Array.from_buffers(arrow.from_numpy_dtype(column.dtype), len(column), buffers)


def list_array(lengths: list[int], items: np.ndarray) -> Any:
    """Return rows of several items each, all of which stand in one array, as an array of lists."""
    arrow = import_module("pyarrow")
    return arrow.ListArray.from_arrays(
        arrow.array([0, *np.cumsum(lengths).tolist()], arrow.int32()), as_arrow(items, None)
    )


def write_parquet(file: BinaryIO, tables: Iterable[Table], kinds: Mapping[str, Any]) -> None:
    """Write rows in row groups of bounded size.

    Without dictionaries, which numbers that all differ gain nothing from: 0.3 of the time.
    """
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    writer: Any = None
    held: list[Any] = []

    def flush() -> None:
        if held:
            table = arrow.concat_tables(held)
            writer.write_table(table, row_group_size=max(table.num_rows, 1))
            held.clear()

    for rows in tables:
        table = (
            rows
            if isinstance(rows, arrow.Table)
            else arrow.table({name: as_arrow(x, kinds.get(name)) for name, x in rows.items()})
        )
        if writer is None:
            writer = parquet.ParquetWriter(file, table.schema, compression="snappy", use_dictionary=False)
        held.append(table)
        if sum(t.num_rows for t in held) >= GROUP_ROWS or sum(t.nbytes for t in held) >= GROUP_BYTES:
            flush()
    if writer is not None:
        flush()
        writer.close()


def join_parts(paths: list[str], file: BinaryIO, ending: str, names: Iterable[str]) -> None:
    """Write all parts, in order, as one result."""
    separator = FORMS[ending]
    if separator is not None:
        file.write(heading(names, separator))
        for path in paths:
            with open(path, "rb") as part:
                shutil.copyfileobj(part, file, 1 << 20)
        return
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    if paths:
        write_parquet(file, read_groups(parquet, paths), {})
    else:
        write_parquet(file, [arrow.schema([(name, arrow.float64()) for name in names]).empty_table()], {})


def read_groups(parquet: Any, paths: list[str]) -> Iterator[Any]:
    """Yield the row groups of several Parquet files as tables, one in memory at a time."""
    for path in paths:
        with parquet.ParquetFile(path) as part:
            for group in range(part.num_row_groups):
                yield part.read_row_group(group)
