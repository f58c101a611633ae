"""Survive code that ends its process: a fork runs the command, and another one goes on without what ended the first.

The fork reports what it begins and what it has finished. If it dies in between, the file that it imported, or the check
that it ran, becomes an error. Everything else is as without a fork.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from ..lang.limits import Bound, bound, deadline, has_processes
from ..results.checks import CheckReport
from ..user.forks import control, ending_text, flush_streams, handling, in_foreground

FORK_LOOK_SECONDS = 0.2  # seconds between looks for a fork that died while its own forks hold the pipe open
PARENT_DEATH = 1  # Linux's prctl option: the signal sent to a process when its parent dies
LATE = 124  # exit status of a process that ends itself at its time limit, as with timeout(1)


@dataclass
class FoundByForks:
    """What the forks have found so far.

    died: how the process ended, by the file that it imported. reports: by the number of the check. ended: how the
    process ended, by the number of the check. shown: how many reports the command has shown.
    """

    died: dict[str, str] = field(default_factory=dict)
    reports: dict[int, CheckReport] = field(default_factory=dict)
    ended: dict[int, str] = field(default_factory=dict)
    shown: int = 0


@dataclass
class Keeper:
    """The side of the fork. writes: the pipe to its parent; None without a parent, which nothing is reported to."""

    writes: int | None = None
    found: FoundByForks = field(default_factory=FoundByForks)

    def report(self, *message: Any) -> None:
        if self.writes is not None:
            content = pickle.dumps(message)
            with contextlib.suppress(OSError):  # the user's code may have closed it
                os.write(self.writes, len(content).to_bytes(8, "little") + content)

    @contextlib.contextmanager
    def importing(self, path: str) -> Iterator[None]:
        """Report that the block may import a file."""
        self.report("begin", path)
        try:
            yield
        finally:
            self.report("done", path, None)

    def begin(self, place: int) -> None:
        self.report("begin", place)

    def done(self, place: int, report: CheckReport) -> None:
        self.report("done", place, None if self.writes is None else replace(report, error=None))

    def show(self, count: int) -> None:
        """Report how many reports the command has shown."""
        self.report("shown", count)


class kept:  # noqa: N801 - a namespace
    """The keeper of this process."""

    by = Keeper()


def keep_alive() -> None:
    """Return in a fork, and again in another one if it dies; the process itself ends with the last one's status."""
    if not (bound.own_process and has_processes() and threading.active_count() == 1):
        return
    found = FoundByForks()
    while True:
        flush_streams()
        reads, writes = os.pipe()
        number = os.fork()
        if number == 0:
            os.close(reads)
            become_fork(Keeper(writes, found))
            return
        os.close(writes)
        with passing_on(number):
            begun = follow_fork(reads, number, found)
            status = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
        os.close(reads)
        if begun is None:
            end_as(status)
        what, late = begun
        how = late or f"the process {ending_text(status)}"
        if isinstance(what, str):
            found.died[what] = how
        else:
            found.ended[what] = how


def become_fork(keeper: Keeper) -> None:
    """Set up the fork to take Ctrl-C and SIGTERM as the command does, and to report a time limit that kills it."""
    kept.by = keeper
    control(PARENT_DEATH, signal.SIGKILL)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, signal.default_int_handler)

    def give_up(late: Bound) -> NoReturn:
        keeper.report("late", late.error().message)
        os._exit(LATE)

    deadline.give_up = give_up


def end_as(status: int) -> NoReturn:
    """End this process as the fork ended."""
    if status < 0:
        with contextlib.suppress(OSError):
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status if status >= 0 else 128 - status)


@contextlib.contextmanager
def passing_on(number: int) -> Iterator[None]:
    """Send the signals of this process to the fork, except Ctrl-C, which the terminal sends to both."""

    def pass_on(which: int, _: object) -> None:
        if not (which == signal.SIGINT and in_foreground()):
            with contextlib.suppress(OSError):
                os.kill(number, which)

    with handling(dict.fromkeys((signal.SIGINT, signal.SIGTERM), pass_on)):
        yield


def follow_fork(reads: int, number: int, found: FoundByForks) -> tuple[str | int, str] | None:
    """Note what a fork reports until it ends.

    Return what it had begun and not finished, and the time limit that ended it or "". None if it had finished.
    """
    begun: str | int | None = None
    late, content, open_end = "", b"", True
    while open_end:
        ended = os.waitid(os.P_PID, number, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        while select.select([reads], [], [], 0 if ended else FORK_LOOK_SECONDS)[0]:
            piece = os.read(reads, 1 << 16)
            open_end = bool(piece)
            content += piece
            if not piece:
                break
        open_end = open_end and not ended
        while len(content) >= 8 and len(content) >= 8 + (size := int.from_bytes(content[:8], "little")):
            message, content = pickle.loads(content[8 : 8 + size]), content[8 + size :]
            match message:
                case ("begin", what):
                    begun = what
                case ("done", what, report):
                    begun = None
                    if isinstance(report, CheckReport):
                        found.reports[what] = report
                case ("shown", count):
                    found.shown = count
                case ("late", text):
                    late = text
    return None if begun is None else (begun, late)
