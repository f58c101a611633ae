"""Compute, write and join the parts of a sweep's result, and recognize parts of an interrupted sweep."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from ... import __version__
from ...errors import GradcliError
from ...program.target import Target
from .rows import EvaluateBlock, Portions, Question, RowError, by_shape, result_names
from .tables import Points, load_arrow, need

FORMS = {".csv": ",", ".tsv": "\t", ".parquet": None, ".pq": None}  # endings of results, and separators of text
GROUP_ROWS, GROUP_BYTES = 1 << 20, 1 << 26  # limits for a row group of Parquet, which is built in memory

Table = Mapping[str, Any]  # some rows of the result: columns by name, as arrays or as Arrow has them


def result_form(path: str, form: str | None) -> str:
    """Return the ending that decides the format of a result. form: the value of -f, if any. Raises GradcliError."""
    ending = os.path.splitext(path)[1].lower()
    if form in ("csv", "tsv"):
        if ending in FORMS and ending != f".{form}":
            message = f"-f {form} and -o {path} disagree: a {ending} file is {ending[1:]}"
            raise GradcliError(message, hint="leave out -f")
        return f".{form}"
    if path == "-":
        return ".csv"
    if ending not in FORMS:
        hint = f"the types are {', '.join(FORMS)}"
        raise GradcliError(f"-o {path}: unknown type of file '{ending or path}'", hint=hint, kind="file")
    if FORMS[ending] is None:
        need("pyarrow.parquet", "sweep", "writing Parquet")
    return ending


class Folder:
    """The folder for the parts of a result. A part is named NUMBER.COUNT.ENDING; COUNT: its non-finite rows."""

    def __init__(self, path: str, ending: str):
        self.path, self.ending = path, ending

    def count_done(self) -> dict[int, int]:
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

    def write(self, number: int, tables: Iterable[tuple[Table, int]], kinds: Mapping[str, Any], size: int) -> int:
        """Write a part; return its number of non-finite rows. size: bytes of the whole result as text, roughly."""
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
                        file.write(rows_as_csv(table, separator, load_arrow(size)))
            os.replace(temporary, self.place(number, sum(counts)))
        finally:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        return sum(counts)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def rows_as_csv(table: Table, separator: str, arrow: Any = None) -> bytes:
    """Write rows as CSV. arrow: pyarrow, if loaded; with it, floats alone take an eighth of the time."""
    columns = list(table.values())
    if arrow is not None and all(map(holds_floats, columns)):
        join = arrow.compute.binary_join_element_wise
        *texts, last = (write_floats(column, arrow) for column in columns)
        rows = join(*texts, join(last, "", "\n"), separator)
        _, ends, characters = rows.buffers()  # all texts are in one buffer
        return characters[: np.frombuffer(ends, np.int32)[len(rows)]].to_pybytes()
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerows(zip(*(as_cells(column, arrow) for column in columns), strict=True))
    return text.getvalue().encode()


def holds_floats(column: Any) -> bool:
    return isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype.kind == "f"


def write_floats(column: np.ndarray, arrow: Any) -> Any:
    """Return floats as Arrow strings in Python's format. Arrow itself differs for very large and small numbers."""
    size = np.abs(column)
    agree = (size >= 1e-4) & (size < 1e10) & (column != np.trunc(column))
    texts = as_arrow(column.astype(float), None).cast(arrow.string())
    if agree.all():
        return texts
    bits = arrow.py_buffer(np.packbits(~agree, bitorder="little"))
    mask = arrow.Array.from_buffers(arrow.bool_(), len(column), [None, bits])
    others = arrow.array(list(map(repr, column[~agree].tolist())), arrow.string())
    return arrow.compute.replace_with_mask(texts, mask, others)


def heading(names: Iterable[str], separator: str) -> bytes:
    return rows_as_csv({name: [name] for name in names}, separator)


def as_cells(column: Any, arrow: Any) -> list:
    """Return a column as numbers and texts. The CSV writer gives floats their shortest exact form."""
    if hasattr(column, "to_pylist"):
        column = column.to_pylist()
    elif arrow is not None and holds_floats(column):
        return write_floats(column, arrow).to_pylist()
    elif isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype != object:
        return column.tolist()
    return [json.dumps(x.tolist() if isinstance(x, np.ndarray) else x) if np.ndim(x) else x for x in column]


def as_arrow(column: Any, kind: Any) -> Any:
    """Convert a column to Arrow. kind: int, float or str, for a kept column of texts."""
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
        try:
            return arrow.array(column)
        except arrow.ArrowException:
            message = f"Parquet has no type for a kept column of {column.dtype}"
            raise GradcliError(message, hint="leave it out of --keep, or write CSV", kind="value") from None
    # arrow.array would load pandas if installed, which takes 0.2 s
    buffers = [None, arrow.py_buffer(np.ascontiguousarray(column))]
    return arrow.Array.from_buffers(arrow.from_numpy_dtype(column.dtype), len(column), buffers)


def list_array(lengths: list[int], items: np.ndarray) -> Any:
    arrow = import_module("pyarrow")
    ends = arrow.array([0, *np.cumsum(lengths).tolist()], arrow.int32())
    return arrow.ListArray.from_arrays(ends, as_arrow(items, None))


def write_parquet(file: BinaryIO, tables: Iterable[Table], kinds: Mapping[str, Any]) -> None:
    """Write rows in bounded row groups. Without dictionaries, which do not help numbers, it takes 0.3 of the time."""
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    writer: Any = None
    held: list[Any] = []

    def flush() -> None:
        if held:
            table = arrow.concat_tables(held)
            writer.write_table(table, row_group_size=max(table.num_rows, 1))
            held.clear()

    for rows in tables:
        table: Any = rows
        if not isinstance(rows, arrow.Table):
            table = arrow.table({name: as_arrow(x, kinds.get(name)) for name, x in rows.items()})
        if writer is None:
            writer = parquet.ParquetWriter(file, table.schema, compression="snappy", use_dictionary=False)
        held.append(table)
        if sum(t.num_rows for t in held) >= GROUP_ROWS or sum(t.nbytes for t in held) >= GROUP_BYTES:
            flush()
    if writer is not None:
        flush()
        writer.close()


def join_part_files(paths: list[str], file: BinaryIO, ending: str, names: Iterable[str]) -> None:
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
    for path in paths:
        with parquet.ParquetFile(path) as part:
            for group in range(part.num_row_groups):
                yield part.read_row_group(group)


CELL_BYTES = 18  # of a number as text and its separator

Report = Callable[[int, int], None]  # called with the number of rows just done, and of those not finite among them
Done = tuple[int, int]  # the number of a part, and how many of its rows are not finite


class SweepOptions(NamedTuple):
    """The options of `gradcli sweep` alone.

    table: the output. shard: (3, 16) is the third of sixteen. dask: a scheduler's address. delimiter: between cells.
    """

    table: str = "-"
    outs: Sequence[str] | None = None
    diag: bool = False
    keep: Sequence[str] | None = None
    no_keep: bool = False
    delimiter: str | None = None
    shard: tuple[int, int] = (1, 1)
    dask: str | None = None
    restart: bool = False


class Sweep(NamedTuple):
    """All that is needed to compute a part.

    question: in other processes, it lacks the program, which they load from the target. handed: input columns to copy
    to the result, before the computed ones. kept: other columns, after these. start, stop: the rows to compute.
    """

    target: Target
    options: SweepOptions
    question: Question
    points: Points
    handed: tuple[str, ...]
    kept: tuple[str, ...]
    folder: str
    ending: str
    start: int
    stop: int
    portions: Portions

    @property
    def parts(self) -> int:
        return -(-(self.stop - self.start) // self.portions.part)

    @property
    def names(self) -> list[str]:
        return [*self.handed, *result_names(self.question), *self.kept]

    def bounds(self, number: int) -> tuple[int, int]:
        """Return the first row of a part, and the row after its last."""
        first = self.start + number * self.portions.part
        return first, min(first + self.portions.part, self.stop)


def do_part(sweep: Sweep, number: int, evaluate: EvaluateBlock, report: Report | None = None) -> int:
    folder = Folder(sweep.folder, sweep.ending)
    text_size = (sweep.stop - sweep.start) * len(sweep.names) * CELL_BYTES
    return folder.write(number, part_results(sweep, number, evaluate, report), sweep.points.kinds, text_size)


def part_results(
    sweep: Sweep, number: int, evaluate: EvaluateBlock, report: Report | None
) -> Iterator[tuple[Table, int]]:
    """Compute a part. Yield its blocks, each with the number of rows that are not finite."""
    start, stop = sweep.bounds(number)
    for block in sweep.points.read(start, stop, sweep.portions.block):
        try:
            columns = by_shape(evaluate, block.inputs)
        except RowError as error:
            raise GradcliError(
                f"row {start + error.row + 1}: {error.message}",
                span=error.span,
                hint=error.hint,
                kind=error.kind,
                exit_code=error.exit_code,
            ) from None
        for name, x in columns.items():
            if x.dtype.kind == "c":
                raise GradcliError(f"{name} is complex; a sweep writes real numbers", kind="value")
        bad = np.zeros(block.rows, bool)
        for x in columns.values():
            mark_bad(x, bad)
        count = int(bad.sum())
        if report is not None:
            report(block.rows, count)
        start += block.rows
        yield {**{name: block.inputs[name] for name in sweep.handed}, **columns, **block.kept}, count


def mark_bad(x: np.ndarray, bad: np.ndarray) -> None:
    if x.dtype == object:
        bad |= [not np.isfinite(row).all() for row in x]
    elif not np.isfinite(np.add.reduce(x, None)):  # a fifth of the time of checking each
        bad |= ~np.isfinite(x).reshape(len(x), -1).all(1)


def identity_of_sweep(sweep: Sweep, points: str) -> dict[str, Any]:
    """Return what the result depends on, by option. points: the path of the table as the user gave it."""
    target, q = sweep.target, sweep.question
    program: list[Any] = [target.text, target.inline, *target.request.argv]
    if target.text == "-":
        program.append(program_source(q.program))
    if not target.inline and os.path.isfile(target.path):
        with open(target.path, "rb") as file:
            program.append(hashlib.sha256(file.read()).hexdigest())
    return {
        "program": program,
        "table": [points, *sweep.points.fingerprint()],
        "--shard": list(sweep.options.shard),
        "values": {
            name: [list(np.shape(x)), hashlib.sha256(np.ascontiguousarray(x).tobytes()).hexdigest()[:16]]
            for name, x in q.given.items()
        },
        "--out": list(q.outs),
        "--wrt": list(q.wrt),
        "--diag": q.diag,
        "--keep": list(sweep.kept),
        "--no-keep": sweep.options.no_keep,
        "--delimiter": sweep.options.delimiter,
        "-f": sweep.ending,
        "--dtype": str(target.request.input_dtype),
        "--engine": target.request.engine,
        "--torch": target.request.torch,
        "--seed": target.request.seed,
        "version": __version__,
    }


def program_source(program: Any) -> str:
    return program.parsed.source


class PartsRecord:
    """The file in the folder of parts that records what they are made from."""

    def __init__(self, output: str, folder: str):
        self.output, self.path = output, os.path.join(folder, "sweep.json")
        self.found: dict[str, Any] = {}
        with contextlib.suppress(OSError, ValueError, RecursionError), open(self.path, encoding="utf-8") as file:
            document = json.load(file)
            if isinstance(document, dict) and isinstance(document.get("made from"), dict):
                counted = all(isinstance(n := document.get(name), int) and n > 0 for name in ("block", "part"))
                self.found = document if counted else {}

    def check(self, wanted: dict[str, Any]) -> None:
        known = self.found["made from"]
        other = [name for name in wanted if json.loads(json.dumps(wanted[name])) != known.get(name)]
        if other:
            message = f"the existing parts of {self.output} do not match this command: different {' and '.join(other)}"
            raise GradcliError(message, hint="name another output with -o, or start again with --restart")

    def write(self, wanted: dict[str, Any], portions: Portions) -> None:
        from ...files import replacing

        document = {"made from": wanted, "block": portions.block, "part": portions.part}
        with replacing(self.path) as file:
            file.write(json.dumps(document, indent=1).encode())
