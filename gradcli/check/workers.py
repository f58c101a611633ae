"""Run checks in separate processes if they may crash or never end, so that only the current check is lost.

`multiprocessing` does this and more, but loading it takes a fifth of the time of a short check.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
import pickle
import select
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ..claims.claim import Progress, ProgressCallback
from ..errors import TimeIsUp, describe_error
from ..lang.limits import bound, deadline, has_processes, within
from ..results.checks import CheckReport, Finding
from ..user.forks import control, ending_text, flush_streams
from .check import Check
from .claim_check import DEFECT, observe
from .keeper import LATE, PARENT_DEATH, kept

MESSAGE_HEADER = 8  # bytes for the length of a message
BYTES_PER_READ = 1 << 20
NAP_SECONDS = 0.001  # seconds between two looks at whether a process has ended


class Pipe:
    """One end of a connection that carries pickled messages both ways."""

    def __init__(self, reads: int, writes: int):
        self.reads, self.writes = reads, writes

    def send(self, message: Any) -> None:
        """Send a message. Raises OSError when nobody is left to read it."""
        content = pickle.dumps(message)
        rest = memoryview(len(content).to_bytes(MESSAGE_HEADER, "little") + content)
        while rest:
            rest = rest[os.write(self.writes, rest) :]

    def receive(self) -> Any:
        """Wait for a message and return it. Raises EOFError when nobody is left to send one."""
        return pickle.loads(self._read(int.from_bytes(self._read(MESSAGE_HEADER), "little")))

    def _read(self, count: int) -> bytes:
        content = bytearray()
        while len(content) < count:
            piece = os.read(self.reads, min(count - len(content), BYTES_PER_READ))
            if not piece:
                raise EOFError
            content += piece
        return bytes(content)

    def close(self) -> None:
        for number in (self.reads, self.writes):
            with contextlib.suppress(OSError):
                os.close(number)


def with_something_to_read(pipes: Iterable[Pipe], seconds: float) -> list[Pipe]:
    """Wait until messages arrive or other ends are closed, and return the pipes where that happened."""
    by_number = {pipe.reads: pipe for pipe in pipes}
    poll = select.poll()
    for number in by_number:
        poll.register(number, select.POLLIN)
    return [by_number[number] for number, _ in poll.poll(seconds * 1000)]


THREADED = ("torch", "jax")  # modules that do not work in a process forked from one that has loaded them
BROKEN = (TimeIsUp, EOFError, OSError, ValueError, TypeError, pickle.UnpicklingError, ImportError, AttributeError)
"""Errors of reading from a pipe whose other end died, or whose descriptor the user's code wrote to."""
PARTING = 2.0  # seconds that a process has to end, so that its threads can finish
PIPE_LOOK_SECONDS = 0.5  # seconds between looks for processes that died while others hold their pipe open
MESSAGE_SECONDS = 0.2  # seconds between two progress messages of a process
ADOPTION = 36  # Linux's prctl option: whether a process adopts orphaned descendants
ROUNDS = 100
"""How often to look for processes that checks left running: when one ends, the ones that it started are adopted."""


def needs_process(checks: Sequence[Check]) -> bool:
    """Report whether the checks run Python code that could end the command, and can run in a separate process."""
    return (
        bound.own_process
        and has_processes()
        and any(str(check.file).endswith(".py") for check in checks)
        and not any(name in sys.modules for name in THREADED)
        and threading.active_count() == 1
    )


def run_all(
    checks: Sequence[Check], *, jobs: int = 1, stop_at_fail: bool = False, on_progress: ProgressCallback | None = None
) -> Iterator[tuple[int, CheckReport]]:
    """Yield number and report of each check when it is done. A process that dies loses only its current check."""
    apart = (jobs > 1 and has_processes()) or needs_process(checks)
    for place, report in in_processes(checks, jobs, on_progress) if apart else in_turn(checks, on_progress):
        yield place, report
        if stop_at_fail and report.verdict in ("fail", "error"):
            return


def in_turn(checks: Sequence[Check], on_progress: ProgressCallback | None) -> Iterator[tuple[int, CheckReport]]:
    """Yield number and report of each check, in this process. Those that another process has run are known."""
    keeper, found = kept.by, kept.by.found
    for place, check in enumerate(checks):
        if place in found.reports:
            yield place, found.reports[place]
        elif place in found.ended:
            yield place, check.error(found.ended[place])
        else:
            progress = Progress(on_progress and functools.partial(on_progress, place))
            keeper.begin(place)
            report = replace(check, progress=progress).run()
            keeper.done(place, report)
            yield place, report


def interrupted_report(check: Check, known: str, seconds: float) -> CheckReport:
    """Return an inconclusive report on a check that ran when the command was interrupted. known: what it had found."""
    reason = Finding("interrupted", f"interrupted; {known}" if known else "interrupted")
    return observe(check.error(reason.text, seconds), {"run": "is interrupted"}, diagnosis=(reason,))


class Worker:
    """A forked process that runs checks by number, one at a time. given: how many so far. others: pipes of others."""

    def __init__(self, checks: Sequence[Check], watched: bool, others: Sequence[Pipe]):
        requests, answers = os.pipe(), os.pipe()
        self.pipe, theirs = Pipe(answers[0], requests[1]), Pipe(requests[0], answers[1])
        self.checks = checks
        self.at: int | None = None
        self.given, self.end_by = 0, math.inf
        self._status: int | None = None
        flush_streams()
        self.number = os.fork()
        if self.number == 0:
            run_in_child(checks, watched, theirs, (self.pipe, *others))
        theirs.close()

    @property
    def status(self) -> int | None:
        """The exit code, or minus the number of the signal, with which the process ended; None while it runs."""
        if self._status is None:
            try:
                number, status = os.waitpid(self.number, os.WNOHANG)
            except ChildProcessError:  # other code has taken the status
                self._status = 1
            else:
                self._status = os.waitstatus_to_exitcode(status) if number else None
        return self._status

    def give(self, at: int | None) -> None:
        """Give the process a check to run; None ends it."""
        self.at = at
        self.given += 1
        bound = None if at is None else self.checks[at].bound
        self.end_by = math.inf if bound is None or bound.cpu else time.monotonic() + bound.seconds + PARTING
        with contextlib.suppress(OSError):  # it died, which is noticed when waiting for its answer
            self.pipe.send(at)

    def take(self) -> CheckReport | tuple | None:
        """Return the report on the current check, or its progress; None if the process died."""
        with contextlib.suppress(OSError):  # a waiting message came in time: this process may be late to read it
            if time.monotonic() > self.end_by and not with_something_to_read([self.pipe], 0):
                return None
        with contextlib.suppress(*BROKEN), within(PARTING):  # an incomplete message never ends
            message = self.pipe.receive()
            return message if isinstance(message, CheckReport | tuple) else None
        return None

    def end(self, seconds: float) -> int:
        """Wait for the process to end, at most `seconds`, then end it; return its status."""
        late = time.monotonic() > self.end_by and self.status is None
        until = time.monotonic() + (0 if late else seconds)
        while self.status is None:
            if time.monotonic() >= until:
                os.kill(self.number, signal.SIGKILL)
            time.sleep(NAP_SECONDS)
        self.pipe.close()
        return LATE if late else self.status


def in_processes(
    checks: Sequence[Check], jobs: int, on_progress: ProgressCallback | None
) -> Iterator[tuple[int, CheckReport]]:
    """Yield number and report of each check when it is done. One that ends in an error runs again in a new process."""
    waiting = list(range(len(checks)))[::-1]
    workers: dict[Pipe, Worker] = {}

    def employ(worker: Worker | None = None) -> None:
        worker = worker or Worker(checks, on_progress is not None, list(workers))
        workers[worker.pipe] = worker
        worker.give(waiting.pop())

    before = children()
    control(ADOPTION, 1)
    try:
        for _ in range(min(jobs, len(checks))):
            employ()
        while workers:
            for worker in wait_for_workers(workers):
                place, report = worker.at, worker.take()
                assert place is not None
                if isinstance(report, tuple):
                    if on_progress is not None:
                        on_progress(place, *report)
                    continue
                del workers[worker.pipe]
                bound = checks[place].bound
                late = None if bound is None else bound.error().message
                if dead := report is None:
                    code = worker.end(PARTING)
                    message = (code == LATE and late) or f"the process {ending_text(code)} before the check ended"
                    report = checks[place].error(message)
                if report.verdict == "error" and worker.given > 1 and report.message != late:
                    if not dead:
                        worker.end(0)
                    waiting.append(place)
                    employ()
                    continue
                if waiting:
                    employ(None if dead else worker)
                elif not dead:
                    worker.give(None)
                    worker.end(PARTING)
                yield place, report
    finally:
        for worker in workers.values():
            worker.end(0)
        end_leftovers(before)
        control(ADOPTION, 0)


def children() -> set[int]:
    """Return the processes that this one has started or adopted; an empty set if the system does not list them."""
    numbers: set[int] = set()
    tasks = "/proc/self/task"
    for task in os.listdir(tasks) if os.path.isdir(tasks) else ():
        with contextlib.suppress(OSError), open(f"{tasks}/{task}/children", encoding="ascii") as file:
            numbers.update(map(int, file.read().split()))
    return numbers


def end_leftovers(known: set[int]) -> None:
    """End processes that checks left running, which would hold the command's output pipe open."""
    for _ in range(ROUNDS):
        left = children() - known
        for number in left:
            with contextlib.suppress(OSError):
                os.kill(number, signal.SIGKILL)
                os.waitpid(number, 0)
        if not left:
            return


def wait_for_workers(workers: dict[Pipe, Worker]) -> list[Worker]:
    """Wait for processes that sent a message, died or reached their time limit."""
    while True:
        ready = with_something_to_read(workers, PIPE_LOOK_SECONDS)
        now = time.monotonic()
        done = [w for pipe, w in workers.items() if pipe in ready or w.status is not None or now > w.end_by]
        if done:
            return done


def run_in_child(checks: Sequence[Check], watched: bool, pipe: Pipe, others: Sequence[Pipe]) -> None:
    """Run checks in a forked process, and end it with status 0, or 1 after an exception."""
    code = 1
    try:
        for other in others:  # the user's code may write to any descriptor
            other.close()
        serve(checks, watched, pipe)
        code = 0
        vars(threading)["_shutdown"]()  # private: waits for threads that the user's code has started
    finally:
        flush_streams()
        os._exit(code)


def serve(checks: Sequence[Check], watched: bool, pipe: Pipe) -> None:
    """Run checks by number until None arrives or the other end is closed, and report their progress."""
    last = time.monotonic()

    def send_progress(*how_far: Any) -> None:
        nonlocal last
        found_something = len(how_far) > 3
        if found_something or time.monotonic() - last > MESSAGE_SECONDS:
            last = time.monotonic()
            pipe.send(how_far)

    control(PARENT_DEATH, signal.SIGKILL)
    deadline.give_up = lambda late: os._exit(LATE)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, lambda *_: None)  # the command itself is interrupted, and ends this process
    try:
        while (at := pipe.receive()) is not None:
            check = replace(checks[at], progress=Progress(send_progress if watched else None))
            try:
                report = check.run()
            except KeyboardInterrupt:
                report = check.error("the function raised KeyboardInterrupt")
            except BaseException as error:
                report = check.error(f"{DEFECT}: {describe_error(error)}")
            pipe.send(replace(report, error=None))
    except (EOFError, OSError):
        return
    except BaseException:  # the user's code may have broken anything that is used here
        os._exit(1)
