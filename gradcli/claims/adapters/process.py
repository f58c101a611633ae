"""Processes that answer requests with lines of JSON."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import time
import weakref
from collections import deque
from collections.abc import Sequence
from typing import Any

from ...errors import visible
from ...user.forks import ending_text
from ..claim import GoneError

LONGEST_ANSWER = 1 << 29  # bytes: a choice
HOST_FILE = os.path.join(os.path.dirname(__file__), "host.py")
LINES_KEPT = 8  # printed lines that the error message shows if the process dies
LONGEST_IN_FULL = 1 << 16  # longer lines on standard error are printed in parts
LATE_SECONDS, REQUESTS_WATCHED = 0.01, 8
"""Seconds to wait for a second answer to a request, and the number of requests after which the wait ends."""
GRACE_SECONDS = 0.5  # seconds to wait for the end of a process and its last output, after its standard output has ended


class Process:
    """A process that reads one JSON object per line, and answers each with one.

    It starts with the first request, and again after it has ended. Other lines that it prints go to standard error.
    Requests carry an id; answers with another id are ignored. timeout: seconds for one answer. holds: an object that
    must live as long as this one.
    """

    holds: Any = None

    def __init__(self, words: Sequence[str], title: str, timeout: float):
        self.words, self.title, self.timeout = list(words), title, timeout
        self.running: subprocess.Popen | None = None
        self.owner = os.getpid()
        self.printed: deque[str] = deque(maxlen=LINES_KEPT)
        self.rest: dict[int, bytearray] = {}
        self.number = self.asked = 0
        self.surplus = False

    def ask(self, method: str, body: dict[str, Any]) -> Any:
        """Return the answer to a method. Raises GoneError if the process dies or takes too long."""
        process = self.start()
        self.drop_surplus(process)
        self.number += 1
        self.asked += 1
        request = {"method": method, **body, "id": self.number}
        line = json.dumps(request, separators=(",", ":")).encode() + b"\n"
        answer = self.exchange(process, self.timeout, line)
        if answer is not None:
            return answer
        if process.stdout.fileno() not in self.rest:
            raise GoneError(self.describe_end(self.await_end(process, method)))
        self.close()
        raise GoneError(self.describe_end(f"no answer to {method} within {self.timeout:g} seconds (--timeout)"))

    def exchange(self, process: Any, seconds: float, line: bytes = b"") -> Any:
        """Write a line, and read until there is an answer; return None if standard output ends or time is up.

        With 0 seconds, read only what is there already.
        """
        limit, pipes = time.monotonic() + seconds, (process.stdout, process.stderr)
        with selectors.DefaultSelector() as selector:
            for pipe in (pipe for pipe in pipes if pipe.fileno() in self.rest):
                selector.register(pipe, selectors.EVENT_READ)
            if line:
                selector.register(process.stdin, selectors.EVENT_WRITE)
            while selector.get_map():
                left = limit - time.monotonic()
                ready = selector.select(max(left, 0)) if left > 0 or not seconds else []
                if not ready:
                    return None
                for key, _ in ready:
                    if key.fileobj is process.stdin:
                        with contextlib.suppress(BrokenPipeError):
                            line = line[os.write(key.fd, line[: 1 << 16]) :]
                            if line:
                                continue
                        selector.unregister(key.fileobj)
                    elif (answer := self.read(key.fd)) is not None:
                        return answer
                    elif key.fd not in self.rest:
                        selector.unregister(key.fileobj)
                        if key.fileobj is process.stdout:
                            return None
        return None

    def drop_surplus(self, process: Any) -> None:
        """Drop further answers to the last request, so that none answers the next one; wait for them at first."""
        watched = self.surplus or self.asked <= REQUESTS_WATCHED
        while self.asked and self.exchange(process, LATE_SECONDS if watched else 0) is not None:
            self.surplus = True
            print(f"{self.title}: more than one answer to a request; only the first is used", file=sys.stderr)

    def start(self) -> Any:
        """Return the running process; start it if there is none, or if it belongs to the parent of this process."""
        if self.running is not None and self.owner == os.getpid() and self.running.poll() is None:
            return self.running
        self.close()
        self.owner = os.getpid()
        try:
            process = subprocess.Popen(
                self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise GoneError(f"{self.title}: {self.words[0]} cannot be started: {reason}") from None
        assert process.stdin and process.stdout and process.stderr
        os.set_blocking(process.stdin.fileno(), False)
        self.printed.clear()
        self.asked = 0
        self.rest = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
        self.running = process
        weakref.finalize(self, end_process, process, os.getpid())
        return process

    def read(self, fd: int) -> Any:
        """Return an answer if it is complete; forget a pipe that has ended. Raises GoneError."""
        assert self.running is not None and self.running.stdout is not None
        answers = fd == self.running.stdout.fileno()
        data, rest = os.read(fd, 1 << 20), self.rest[fd]
        rest += data
        if answers and len(rest) > LONGEST_ANSWER:
            self.close()
            raise GoneError(self.describe_end(f"the answer is longer than {LONGEST_ANSWER >> 20} MiB"))
        if data and b"\n" not in data and (answers or len(rest) <= LONGEST_IN_FULL):
            return None
        *lines, last = rest.split(b"\n")
        if not data:
            lines += [last] if last else []
            del self.rest[fd]
        elif b"\n" not in data:
            lines, self.rest[fd] = [last], bytearray()
        else:
            self.rest[fd] = last
        answer = None
        for line in lines:
            message = object_in(line) if answers else None
            if message is None or message.pop("id", self.number) != self.number:
                self.show(line)
            elif answer is None:
                answer = message
            else:
                self.surplus = True
                self.show(line)
        return answer

    def show(self, line: bytearray) -> None:
        """Print a line that is not an answer to standard error, and keep it for messages."""
        text = line.decode("utf-8", "replace").rstrip("\r")
        self.printed.append(shorten_answer(text))
        print(visible(text), file=sys.stderr, flush=True)

    def await_end(self, process: Any, method: str) -> str:
        """Describe how a process ended; read its last output."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS)
        self.exchange(process, GRACE_SECONDS)
        code = process.poll()
        self.close()
        if code is None:
            return f"it closed its standard output without an answer to {method}"
        return f"it {ending_text(code)} at {method}"

    def describe_end(self, what: str) -> str:
        printed = "\n".join(self.printed)
        return f"{self.title}: {what}" + (f"; it printed last:\n{printed}" if printed else "")

    def close(self) -> None:
        if self.running is not None:
            end_process(self.running, self.owner)
        self.running = None


def host_words(kind: str, path: str, *more: str) -> list[str]:
    """Return the command that runs foreign code in host.py."""
    return [sys.executable, "-I", HOST_FILE, kind, os.path.abspath(path), *more]


def object_in(line: bytearray) -> dict[str, Any] | None:
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def end_process(process: Any, owner: int) -> None:
    """Close the pipes to a process and end it; in a forked process, close only its copies of the pipes."""
    for pipe in (process.stdin, process.stdout, process.stderr):
        with contextlib.suppress(OSError):
            pipe.close()
    if owner != os.getpid():
        return
    if process.poll() is None:
        try:
            process.wait(0.05)  # one that reads until the end has nothing more to do
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def error_text(error: Any) -> str:
    if isinstance(error, dict):
        return ": ".join(str(error[key]) for key in ("type", "message") if error.get(key)) or shorten_answer(error)
    return shorten_answer(error)


def shorten_answer(answer: Any) -> str:
    text = answer if isinstance(answer, str) else repr(answer)
    return text if len(text) <= 300 else f"{text[:300]}..."
