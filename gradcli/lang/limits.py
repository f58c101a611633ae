"""Limits of a run: length of text, memory, time; and what the platform lacks.

In a browser (Pyodide), Python has no timers, threads or processes. There, nothing limits the time of a run.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from ..errors import GradcliError, Span, TimeIsUp
from ..request import DEFAULT_MAX_ELEMENTS

CONSTANTS = {"pi": math.pi, "e": math.e, "tau": math.tau, "inf": math.inf, "nan": math.nan}
FILE_ENDINGS = (".py", ".expr")  # a target with such an ending is a file, even if it does not exist
MAX_PROGRAM_BYTES = 1 << 20  # maximum number of bytes in a program
MOST_AXES = 64  # NumPy's maximum for an array


def as_written(name: str) -> str:
    """Normalize a name from the command line to NFKC, as Python's parser does with names in a program."""
    if name.isascii():
        return name
    from unicodedata import normalize

    return normalize("NFKC", name)


MOST_MEMORY = 1900 << 20  # bytes that a program may take by default; with the interpreter, 2 GiB
WORK_SPACE = 64 << 20  # bytes that the linear algebra library reserves for each processor, but hardly uses


class bound:  # noqa: N801 - a namespace
    """What limits this process. own_process: it runs only one command. mebibytes: its memory limit (0: none).

    guest: it runs under a Python that the gradcli of another Python has chosen.
    """

    own_process = guest = False
    mebibytes = 0


def bound_memory(max_elements: int) -> None:
    """On Linux, make allocations fail beyond 2 GiB, or more in proportion to `max_elements`.

    The limit is permanent, so it is set only in a process that runs one command. A stricter limit is kept.
    """
    taken = memory_taken() if bound.own_process else None
    if taken is None:
        return
    allowed = MOST_MEMORY * max(max_elements, DEFAULT_MAX_ELEMENTS) // DEFAULT_MAX_ELEMENTS
    reserved, resident = taken
    wanted = reserved - resident + allowed + WORK_SPACE * (os.cpu_count() or 1)
    if limit_data(wanted) is not None:
        bound.mebibytes = allowed >> 20


@contextlib.contextmanager
def more_memory(most: int) -> Iterator[None]:
    """On Linux, make allocations fail in a block once they take this many bytes more than the process has now."""
    taken = memory_taken()
    before = None if taken is None else limit_data(taken[0] + most)
    try:
        yield
    finally:
        if before is not None:
            import resource

            resource.setrlimit(resource.RLIMIT_DATA, before)


def limit_data(wanted: int) -> tuple[int, int] | None:
    """Limit the bytes of data of this process; return the limits before, None if a stricter one is kept."""
    try:
        import resource
    except ImportError:
        return None
    before = resource.getrlimit(resource.RLIMIT_DATA)
    if wanted > sys.maxsize or any(limit != resource.RLIM_INFINITY and limit <= wanted for limit in before):
        return None
    try:
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, before[1]))
    except (OSError, ValueError):
        return None
    return before


def memory_taken() -> tuple[int, int] | None:
    """Return the bytes of data that this process has reserved and that it uses; None if not on Linux."""
    try:
        with open("/proc/self/status", encoding="ascii") as file:
            sizes = dict(re.findall(r"^(Vm\w+):\s+(\d+) kB", file.read(), re.MULTILINE))
        return int(sizes["VmData"]) << 10, int(sizes["VmRSS"]) << 10
    except (OSError, KeyError, ValueError):
        return None


def out_of_memory(what: str, span: Span | None = None) -> GradcliError:
    if not bound.mebibytes:
        return GradcliError(f"there is not enough memory for {what}", span=span, kind="limit")
    message = f"{what} would take more than {bound.mebibytes / 1024:.1f} GiB of memory"
    hint = "a larger --max-elements raises this limit in proportion"
    return GradcliError(message, span=span, hint=hint, kind="limit")


CPU_SECONDS = 30.0  # default limit for a program of the language
LONGEST_TIME = 1e6
SHORTEST_TIME = 1e-6
AGAIN = 0.5  # seconds until the next alarm, in case the code in the block caught the first one
GRACE = 0.5  # seconds after which code that ignores the alarm, such as a long call into a library, is killed


class deadline:  # noqa: N801 - a namespace
    """The end of the innermost `enforce` block, its timer and watch, and the function that kills a late process."""

    end = math.inf
    timer: Any = None
    watch: threading.Event | None = None
    give_up: Callable[[Bound], None] | None = None


class Bound:
    """A time limit in seconds of CPU time or wall-clock time."""

    def __init__(self, seconds: float, cpu: bool = False):
        self.seconds, self.cpu = min(seconds, LONGEST_TIME), cpu

    def error(self) -> GradcliError:
        message = f"this takes longer than {self.seconds:g} s" + (" of CPU time" if self.cpu else "")
        return GradcliError(message, hint="raise the limit with --timeout S", kind="limit")


def time_left(seconds: float) -> float:
    """Shorten a time limit so that the enclosing `enforce` block still has time to report."""
    return max(min(seconds, 0.8 * (deadline.end - time.monotonic())), SHORTEST_TIME)


def has_processes() -> bool:
    """Report whether this platform can start other processes. In a browser, os.fork exists, but always fails."""
    return hasattr(os, "fork") and sys.platform not in ("emscripten", "wasi")


def has_started(thread: threading.Thread) -> bool:
    """Start a thread; report whether this platform has threads."""
    try:
        thread.start()
    except RuntimeError:
        return False
    return True


def after_fork(function: Callable[[], None]) -> None:
    """Call a function in every child process, if there can be any."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)


def timer_of(cpu: bool) -> Any:
    """Return the system's timer for CPU time or wall-clock time, or None if it has none."""
    if not hasattr(signal, "setitimer"):
        return None
    return getattr(signal, "ITIMER_PROF" if cpu else "ITIMER_REAL", None)


@contextlib.contextmanager
def enforce(bound: Bound | None) -> Iterator[None]:
    """Raise GradcliError in the block when its time is up. If the block does not end then, kill the process."""
    if bound is None:
        yield
        return
    outer, deadline.end = deadline.end, math.inf if bound.cpu else time.monotonic() + bound.seconds
    done = deadline.watch = threading.Event()
    deadline.timer = timer_of(bound.cpu)
    watcher = threading.Thread(target=watch_block, args=(bound, done), daemon=True)
    watched = deadline.give_up is not None and has_started(watcher)
    try:
        with within(bound.seconds, bound.cpu):
            yield
    except TimeIsUp:
        raise bound.error() from None
    finally:
        done.set()
        deadline.end, deadline.watch = outer, None
        if watched:
            watcher.join(GRACE)


def stand_down() -> None:
    """Lift the time limit: the result is computed, and its reader may be slow."""
    if deadline.watch is not None:
        deadline.watch.set()
        if deadline.timer is not None:
            signal.setitimer(deadline.timer, 0)


def watch_block(bound: Bound, done: threading.Event) -> None:
    """Wait until the block is done; give up when its time limit plus GRACE is over."""
    now = time.process_time if bound.cpu else time.monotonic
    end = now() + bound.seconds + GRACE
    while not done.wait(min(max(end - now(), 0), 1.0) / (os.cpu_count() or 1 if bound.cpu else 1)):
        if now() >= end and deadline.give_up is not None:
            deadline.give_up(bound)
            return


@contextlib.contextmanager
def within(seconds: float, cpu: bool = False) -> Iterator[None]:
    """Raise TimeIsUp in the block after `seconds`. Does nothing outside the main thread. Blocks may be nested."""
    timer = timer_of(cpu)
    if timer is None or threading.current_thread() is not threading.main_thread() or seconds <= 0:
        yield
        return

    inside = True

    def late(*_: object) -> None:
        if inside:  # an alarm on the way out must not keep the timer from being stopped
            raise TimeIsUp

    number = signal.SIGPROF if cpu else signal.SIGALRM
    start = time.monotonic()
    outer, _ = signal.getitimer(timer)
    before = signal.signal(number, late)
    signal.setitimer(timer, min(seconds, outer or LONGEST_TIME, LONGEST_TIME), AGAIN)
    try:
        yield
    finally:
        inside = False
        signal.setitimer(timer, 0)
        signal.signal(number, before)
        if outer:
            signal.setitimer(timer, max(outer - (time.monotonic() - start), SHORTEST_TIME), AGAIN)


@contextlib.contextmanager
def any_length() -> Iterator[None]:
    """Allow integers with any number of digits in the block; time limits protect against long ones."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(before)
