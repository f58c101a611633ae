"""How long a statement takes."""

from __future__ import annotations

import statistics
import timeit as clock
from typing import Any


class Measurement:
    """Seconds per run of a statement, one number for each measurement."""

    def __init__(self, statement: str, runs: int, times: list[float]):
        self.statement, self.number_per_run, self.times = statement, runs, times

    @property
    def mean(self) -> float:
        """The mean time."""
        return statistics.fmean(self.times)

    @property
    def median(self) -> float:
        """The median time."""
        return statistics.median(self.times)

    def __repr__(self) -> str:
        scale, unit = next((s, u) for s, u in ((1, "s"), (1e-3, "ms"), (1e-6, "us"), (0, "ns")) if self.median >= s)
        count, runs = len(self.times), self.number_per_run
        return (
            f"<torch.utils.benchmark.utils.common.Measurement object at {id(self):#x}>\n{self.statement}\n"
            f"  {self.median / (scale or 1e-9):.2f} {unit}\n"
            f"  {count} measurement{'s' * (count > 1)}, {runs} runs , 1 thread"
        )


class Timer:
    """Measures how long a statement takes, given the names that it uses."""

    def __init__(self, stmt: str = "pass", setup: str = "pass", globals: Any = None, **_: Any):
        self.stmt = stmt
        self.timer = clock.Timer(stmt, setup, globals=globals if globals is not None else {})

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """Return the time of a run, from a number of runs."""
        return Measurement(self.stmt, number, [self.timer.timeit(number) / number])

    def blocked_autorange(self, min_run_time: float = 0.2, **_: Any) -> Measurement:
        """Return the times of runs that take at least min_run_time together."""
        number = self.timer.autorange()[0]
        count = max(1, round(min_run_time / 0.2))
        return Measurement(self.stmt, number, [t / number for t in self.timer.repeat(count, number)])


__all__ = ["Measurement", "Timer"]
