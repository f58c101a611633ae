"""A process forked from this one, and pickled messages between the two.

`multiprocessing` does this and more, and takes a fifth of the time of a short check to load.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

HEADER = 8
"""Bytes that say how long a message is."""
PIECE = 1 << 20
"""Bytes that are read at once."""
NAP = 0.001
"""Seconds between two looks whether a process has ended."""


class Pipe:
    """One end of a connection that carries pickled messages both ways."""

    def __init__(self, reads: int, writes: int):
        self.reads, self.writes = reads, writes

    def send(self, message: Any) -> None:
        """Send a message. Raises OSError when nobody is left to read it."""
        content = pickle.dumps(message)
        rest = memoryview(len(content).to_bytes(HEADER, "little") + content)
        while rest:
            rest = rest[os.write(self.writes, rest) :]

    def receive(self) -> Any:
        """Wait for a message and return it. Raises EOFError when nobody is left to send one."""
        return pickle.loads(self._read(int.from_bytes(self._read(HEADER), "little")))

    def _read(self, count: int) -> bytes:
        content = bytearray()
        while len(content) < count:
            piece = os.read(self.reads, min(count - len(content), PIECE))
            if not piece:
                raise EOFError
            content += piece
        return bytes(content)

    def close(self) -> None:
        """Close this end."""
        for number in (self.reads, self.writes):
            with contextlib.suppress(OSError):
                os.close(number)


def with_something_to_read(pipes: Iterable[Pipe], seconds: float) -> list[Pipe]:
    """Wait for messages, or for the other ends to be closed, and return the pipes where there is something."""
    by_number = {pipe.reads: pipe for pipe in pipes}
    poll = select.poll()
    for number in by_number:
        poll.register(number, select.POLLIN)
    return [by_number[number] for number, _ in poll.poll(seconds * 1000)]


class ForkedProcess:
    """A process that runs serve(pipe) and ends; `pipe` is this process's end. others: pipes it is to close."""

    def __init__(self, serve: Callable[[Pipe], None], others: Sequence[Pipe] = ()):
        requests, answers = os.pipe(), os.pipe()
        self.pipe, theirs = Pipe(answers[0], requests[1]), Pipe(requests[0], answers[1])
        self._status: int | None = None
        flush()
        self.number = os.fork()
        if self.number == 0:
            run_in_child(serve, theirs, (self.pipe, *others))
        theirs.close()

    @property
    def status(self) -> int | None:
        """What the process ended with, None while it runs: an exit code, or minus the number of a signal."""
        if self._status is None:
            try:
                number, status = os.waitpid(self.number, os.WNOHANG)
            except ChildProcessError:  # somebody else took the status
                self._status = 1
            else:
                self._status = os.waitstatus_to_exitcode(status) if number else None
        return self._status

    def wait(self, seconds: float) -> None:
        """Wait so many seconds at most for the process to end."""
        end = time.monotonic() + seconds
        while self.status is None and time.monotonic() < end:
            time.sleep(NAP)

    def kill(self) -> None:
        """End the process, whatever it is at."""
        if self.status is None:
            os.kill(self.number, signal.SIGKILL)
            while self.status is None:
                time.sleep(NAP)


def run_in_child(serve: Callable[[Pipe], None], pipe: Pipe, others: Sequence[Pipe]) -> None:
    """Run what a forked process is for, and end it with 1 where that raises, 0 otherwise."""
    code = 1
    try:
        for other in others:  # the user's code may write to any descriptor
            other.close()
        serve(pipe)
        code = 0
        threading._shutdown()  # type: ignore[attr-defined]  # waits for threads that the user's code has started
    finally:
        flush()
        os._exit(code)


def flush() -> None:
    """Write out what the standard streams hold: of two processes, one only is to write it."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
