"""Plan a sweep from the command line, compute its missing parts, and join the result."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...errors import GradcliError, check_known, did_you_mean
from ...lang.limits import has_processes
from ...lang.tables import nearest_file, reading
from ...program.base import Program, silence_prints
from ...program.target import Target
from ...results.base import Swept
from .rows import Interpreted, Portions, Question, portion, result_names
from .run import (
    FORMS,
    Folder,
    PartsRecord,
    Report,
    Sweep,
    SweepOptions,
    do_part,
    heading,
    identity_of_sweep,
    join_part_files,
    result_form,
)
from .tables import NumpyPoints, ParquetPoints, Points, TextPoints, need

STREAM = "-"
TABLE_READERS: dict[str, Callable[[str, str], Points]] = {
    ".csv": partial(TextPoints, ","),
    ".tsv": partial(TextPoints, "\t"),
    ".npy": NumpyPoints,
    ".parquet": ParquetPoints,
    ".pq": ParquetPoints,
}


def open_points(path: str, title: str = "", delimiter: str | None = None) -> Points:
    """Open a table by the ending of its name, or as text if a delimiter is given. Raises GradcliError."""
    kind = os.path.splitext(path)[1].lower()
    if not os.path.exists(path):
        order = None if kind else "the expression comes first, then the table: gradcli sweep 'x**2' points.csv"
        raise GradcliError(f"no such file: {path}", hint=nearest_file(path) or order, kind="file")
    if os.path.isdir(path):
        raise GradcliError(f"{path} is a directory", hint="name a file in it", kind="file")
    if delimiter is not None and TABLE_READERS.get(kind) in (NumpyPoints, ParquetPoints):
        raise GradcliError(f"--delimiter: {path} is not a text file", hint="leave it out")
    if kind not in TABLE_READERS and delimiter is None:
        hint = "the types are .csv, .tsv, .parquet, .npy, - or a pipe for CSV, and any text with --delimiter"
        raise GradcliError(f"{path}: unknown type of table '{kind or path}'", hint=hint, kind="file")
    with reading(title or path):
        points = TABLE_READERS[kind](path, title) if delimiter is None else TextPoints(delimiter, path, title)
    twice = next((name for name, count in Counter(points.names).items() if count > 1), None)
    if twice is not None:
        raise GradcliError(f"{points.title} has two columns '{twice}'", kind="file")
    return points


@contextlib.contextmanager
def table_at(path: str, delimiter: str | None = None) -> Iterator[Points]:
    """Yield a table. Standard input or a pipe is first copied to a file, because tables are read twice."""
    is_stream = os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)  # a pipe, as <(command)
    if path != STREAM and not is_stream:
        yield open_points(path, delimiter=delimiter)
        return
    with tempfile.TemporaryDirectory(prefix="gradcli-") as folder:
        place = os.path.join(folder, "standard input.csv")
        stream = contextlib.nullcontext(sys.stdin.buffer) if path == STREAM else open(path, "rb")  # noqa: SIM115
        with open(place, "wb") as file, stream as source:
            shutil.copyfileobj(source, file, 1 << 20)
        yield open_points(place, "standard input" if path == STREAM else path, delimiter)


def choose_inputs(
    program: Program, given: Mapping[str, Any], points: Points, known: list[str] | None
) -> tuple[str, ...]:
    """Return the columns that are inputs. Raises GradcliError for an input with two values or none."""
    for name in given:
        if name in points.names:
            raise GradcliError(f"'{name}' has a column and a value", hint=f"leave out {name}=...")
    columns = points.names if known is None else tuple(name for name in known if name in points.names)
    missing = program.missing({**given, **dict.fromkeys(columns, np.zeros(()))})
    if known == []:
        raise GradcliError("the program has no inputs, so there is nothing to differentiate", kind="name")
    if missing or not columns:
        raise unknown_columns(points, missing or known or [])
    return columns


def unknown_columns(points: Points, names: Sequence[str]) -> GradcliError:
    near = did_you_mean(names[0], points.names)
    others = f"its columns are {', '.join(points.names)}; for a value that is the same in all rows, use NAME=VALUE"
    mark = next((mark for mark in (";", "|", ":", " ") if len(points.names) == 1 and mark in points.names[0]), "")
    if set(names) <= set(points.names[0].split(mark or None)):
        near = f"its columns seem to be separated by '{mark}': use --delimiter '{mark}'" if mark else near
    message = f"{points.title} has no column for {', '.join(map(repr, names))}"
    return GradcliError(message, hint=near or others, kind="name")


def input_names(program: Program, columns: Sequence[str]) -> list[str] | None:
    """Return the names of a program's inputs; None if they are known only once all have values."""
    names = program.input_names(columns)
    if names is not None:
        return names
    with contextlib.suppress(GradcliError), silence_prints(program):
        return list(program.run({}).leaves)
    return None


def plan_sweep(
    program: Program, target: Target, options: SweepOptions, points: Points, given: Mapping[str, Any]
) -> Sweep:
    """Plan a sweep. Raises GradcliError for names, rows and outputs that cannot be used."""
    request = target.request
    ending = result_form(options.table, request.format)
    if options.dask is not None:
        need("distributed", "dask", "--dask")
    if os.path.exists(options.table) and os.path.samefile(options.table, points.path):
        raise GradcliError(f"-o {options.table}: this file is the table of points", hint="name another file")
    known = input_names(program, points.names)
    columns = choose_inputs(program, given, points, known)
    check_known(request.wrt or (), columns if known is None else known, "--wrt")
    handed = () if options.no_keep else columns
    kept = tuple(name for name in options.keep or () if name not in handed)
    for name in kept:
        if name not in points.names:
            raise unknown_columns(points, [name])
    wrt, outs = tuple(columns if request.wrt is None else request.wrt), tuple(options.outs or (None,))
    question = Question(program, given, columns, wrt, outs, options.diag, request.numeric)
    taken = next((name for name in (*handed, *kept) if name in result_names(question)), None)
    if taken is not None:
        hint = "--no-keep leaves the inputs out" if taken in handed else None
        raise GradcliError(f"the result would have two columns '{taken}'", hint=hint)
    with reading(points.title):
        points.prepare(columns, kept)
    start, stop = (points.rows * k // options.shard[1] for k in (options.shard[0] - 1, options.shard[0]))
    portions = Portions(1, 1)
    if points.rows:
        block = next(points.read(0, 1, 1)).inputs
        portions = portion(question, {name: np.stack(list(x)) for name, x in block.items()}, stop - start)
    folder = options.table + ".parts"
    return Sweep(target, options, question, points, handed, kept, folder, ending, start, stop, portions)


def run_sweep(sweep: Sweep, path: str, report: Report, stream: Callable[[bytes], None]) -> Swept:
    """Compute the missing parts of a sweep, and join all parts. stream: writes bytes to standard output."""
    begun, options = time.perf_counter(), sweep.options
    if options.table == STREAM:
        with tempfile.TemporaryDirectory(prefix="gradcli-") as place:
            bad = sum(stream_parts(sweep._replace(folder=place), report, stream))
    else:
        bad = fill_file(sweep, identity_of_sweep(sweep, path), report)
    seconds = time.perf_counter() - begun
    return Swept(sweep.target.text, sweep.stop - sweep.start, bad, seconds, options.table)


def fill_file(sweep: Sweep, wanted: dict[str, Any], report: Report) -> int:
    """Compute the missing parts of a file, join all, and count the non-finite rows. wanted: their identity."""
    options = sweep.options
    record, folder = PartsRecord(options.table, sweep.folder), Folder(sweep.folder, sweep.ending)
    if options.restart or not record.found:
        folder.remove()
    else:
        record.check(wanted)
        portions = sweep.portions._replace(block=record.found["block"], part=record.found["part"])
        sweep = sweep._replace(portions=portions)
    os.makedirs(folder.path, exist_ok=True)
    record.write(wanted, sweep.portions)
    done = folder.count_done()
    for number, count in done.items():
        first, last = sweep.bounds(number)
        report(last - first, count)
    try:
        for _ in run_missing(sweep, [k for k in range(sweep.parts) if k not in done], report):
            pass
    finally:
        done = folder.count_done()
        if sweep.parts and not done:
            folder.remove()
    if len(done) < sweep.parts:
        hint = "does another sweep write the same file? Run the same command to continue"
        raise GradcliError(f"parts of {options.table} were removed while it was being written", hint=hint, kind="file")
    from ...files import replacing

    with replacing(options.table) as file:
        join_part_files([folder.place(k, done[k]) for k in range(sweep.parts)], file, sweep.ending, sweep.names)
    folder.remove()
    return sum(done.values())


def run_missing(sweep: Sweep, missing: list[int], report: Report) -> Iterator[None]:
    """Compute parts, in this process or in others; yield whenever one is done."""
    asked, address = sweep.target.request.jobs, sweep.options.dask
    jobs = asked or 1
    if address is None and (jobs == 1 or len(missing) < 2 or not has_processes()):
        evaluate = Interpreted(sweep.question)
        for number in missing:
            do_part(sweep, number, evaluate, report)
            yield
        return
    from .workers import run_at_once, run_on_dask

    done = run_at_once(sweep, missing, jobs) if address is None else run_on_dask(sweep, missing, address, asked)
    for number, bad in done:
        first, last = sweep.bounds(number)
        report(last - first, bad)
        yield


def stream_parts(sweep: Sweep, report: Report, stream: Callable[[bytes], None]) -> Iterator[int]:
    """Stream the parts in order, each as soon as possible; yield its number of rows that are not finite."""
    folder = Folder(sweep.folder, sweep.ending)
    stream(heading(sweep.names, FORMS[sweep.ending] or ","))
    following = 0
    for _ in run_missing(sweep, list(range(sweep.parts)), report):
        done = folder.count_done()
        while following in done:
            place = folder.place(following, done[following])
            with open(place, "rb") as file:
                while piece := file.read(1 << 20):
                    stream(piece)
            os.unlink(place)
            yield done[following]
            following += 1
