"""What the tests notice of wrong versions of a function."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import EXIT_FAIL, EXIT_OK


class MutantRun(NamedTuple):
    """One wrong version: its name, how far off it is at random points, and whether the tests failed with it.

    line: where its source was changed; None where its results were. test: Python that fails with it, for survivors
    that are to be killed, where one can be written. timed_out: whether the tests had to be ended.
    """

    name: str
    relative_error: float | None
    killed: bool
    seconds: float
    line: int | None = None
    test: str | None = None
    timed_out: bool = False


class Mutation(NamedTuple):
    """All mutants of a function. at_least: the error from which on a survivor counts. equal: how many were left out,
    as they gave the same values at random points. calls: how often the tests call the function.
    """

    target: str
    mutants: tuple[MutantRun, ...]
    at_least: float
    equal: int
    calls: int
    seconds: float

    @property
    def killed(self) -> int:
        return sum(m.killed for m in self.mutants)

    @property
    def score(self) -> float:
        """The part that was noticed."""
        return self.killed / len(self.mutants) if self.mutants else 1.0

    @property
    def smallest_noticed(self) -> float | None:
        """The smallest relative error of a factor that was noticed."""
        errors = [
            m.relative_error for m in self.mutants if m.killed and m.name.startswith("factor") and m.relative_error
        ]
        return min(errors, default=None)

    @property
    def exit_code(self) -> int:
        """1 where such mutants survived."""
        return EXIT_FAIL if self.survivors else EXIT_OK

    @property
    def survivors(self) -> tuple[MutantRun, ...]:
        """Those that are larger than `at_least` and were not noticed."""
        return tuple(
            m for m in self.mutants if not m.killed and (m.relative_error or 0.0) > self.at_least * (1 + 1e-9)
        )
