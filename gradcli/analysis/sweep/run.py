"""Sweeps from beginning to end: which parts are missing, who does them, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ...errors import GradcliError
from ...program.target import Target
from .parts import Folder, Table
from .rows import EvaluateBlock, Interpreted, Question, RowError, by_shape, result_names
from .tables import Points

BLOCKS = 16
"""Blocks of a part: a million rows where rows are numbers, and a second's work or so where each is a run."""

Tell = Callable[[int, int], None]
"""Is told how many more rows are done, and how many of them are not finite."""


class Sweep(NamedTuple):
    """Everything that one needs to do a part.

    question: without its program when it goes to other processes, which load it by the target. start, stop: the
    rows to do. step: rows of a block. loop: why rows are run one by one, empty where they are not. kept: the columns
    to hand on.
    """

    target: Target
    question: Question
    points: Points
    kept: tuple[str, ...]
    folder: str
    ending: str
    start: int
    stop: int
    step: int
    loop: str

    @property
    def part_rows(self) -> int:
        return self.step * BLOCKS

    @property
    def parts(self) -> int:
        return -(-(self.stop - self.start) // self.part_rows)

    @property
    def names(self) -> list[str]:
        return [*result_names(self.question), *self.kept]

    def bounds(self, number: int) -> tuple[int, int]:
        """Return the first row of a part and the one behind its last."""
        first = self.start + number * self.part_rows
        return first, min(first + self.part_rows, self.stop)


def do_part(sweep: Sweep, number: int, evaluate: EvaluateBlock, tell: Tell | None = None) -> int:
    """Compute and write a part; return how many of its rows are not finite."""
    kinds = {name: sweep.points.kind_of(name) for name in sweep.kept}
    return Folder(sweep.folder, sweep.ending).write(number, results(sweep, number, evaluate, tell), kinds)


def results(sweep: Sweep, number: int, evaluate: EvaluateBlock, tell: Tell | None) -> Iterator[tuple[Table, int]]:
    """Yield the results of a part, block by block, each with the number of rows that are not finite."""
    start, stop = sweep.bounds(number)
    for block in sweep.points.read(start, stop, sweep.step, sweep.question.columns, sweep.kept):
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
        columns = {name: finite_or_nan(x, bad) for name, x in columns.items()}
        count = int(bad.sum())
        if tell is not None:
            tell(block.rows, count)
        start += block.rows
        yield {**columns, **block.kept}, count


def finite_or_nan(x: np.ndarray, bad: np.ndarray) -> np.ndarray:
    """Return results with nan where they are not finite, and note such rows in `bad`."""
    if x.dtype == object:
        whole = np.empty(len(x), object)
        for i, row in enumerate(x):
            one = np.zeros(1, bool)
            whole[i] = finite_or_nan(np.asarray(row)[None], one)[0]
            bad[i] |= one[0]
        return whole
    if np.isfinite(np.add.reduce(x, None)):  # a fifth of the time of asking each
        return x
    finite = np.isfinite(x)
    bad |= ~finite.reshape(len(x), -1).all(1)
    return np.where(finite, x, np.nan)


def run_here(sweep: Sweep, missing: list[int], tell: Tell) -> Iterator[int]:
    """Do parts in this process; yield the number of each when it is done."""
    evaluate = Interpreted(sweep.question)
    for number in missing:
        do_part(sweep, number, evaluate, tell)
        yield number
