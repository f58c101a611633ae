"""What a run may use: how long a text, how many elements, how much memory, how much time."""

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
FILE_ENDINGS = (".py", ".expr")  # what a positional target ends in that is a file, whether or not there is one
MAX_TEXT = 1 << 20  # bytes of a program
MOST_AXES = 64  # axes that an array of NumPy may have


def as_written(name: str) -> str:
    """Return a name of the command line as Python's parser reads it in a program: in Unicode's form NFKC."""
    if name.isascii():
        return name
    from unicodedata import normalize

    return normalize("NFKC", name)


MOST_MEMORY = 1900 << 20
"""Bytes that a program may take with the default limit on elements: with the interpreter, 2 GiB."""
WORK_SPACE = 64 << 20  # bytes that the linear algebra library reserves for each processor, of which it touches few


class bound:  # noqa: N801 - a namespace
    """Whether this process is there for one call of the command, and the MiB that it may take (0: not bounded).

    guest: whether it runs in the Python that another one's gradcli has chosen.
    """

    own_process = guest = False
    mebibytes = 0


def bound_memory(max_elements: int) -> None:
    """Have allocations fail beyond 2 GiB in all (in proportion for more elements than the default), where Linux can.

    Only in a process that is there for this alone, because the bound stays. A stricter one is left alone.
    """
    taken = memory_taken() if bound.own_process else None
    if taken is None:
        return
    import resource

    allowed = MOST_MEMORY * max(max_elements, DEFAULT_MAX_ELEMENTS) // DEFAULT_MAX_ELEMENTS
    reserved, resident = taken
    wanted = reserved - resident + allowed + WORK_SPACE * (os.cpu_count() or 1)
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if wanted > sys.maxsize or any(limit != resource.RLIM_INFINITY and limit <= wanted for limit in (soft, hard)):
        return
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))
        bound.mebibytes = allowed >> 20


def memory_taken() -> tuple[int, int] | None:
    """Return the bytes of data that this process has reserved, and those that it uses; None outside of Linux."""
    try:
        with open("/proc/self/status", encoding="ascii") as file:
            sizes = dict(re.findall(r"^(Vm\w+):\s+(\d+) kB", file.read(), re.MULTILINE))
        return int(sizes["VmData"]) << 10, int(sizes["VmRSS"]) << 10
    except (OSError, KeyError, ValueError):
        return None


def out_of_memory(what: str, span: Span | None = None) -> GradcliError:
    """Return the error for something that does not fit into the memory that there is or that may be taken."""
    if not bound.mebibytes:
        return GradcliError(f"there is not enough memory for {what}", span=span, kind="limit")
    message = f"{what} would take more than {bound.mebibytes / 1024:.1f} GiB of memory"
    hint = "a larger --max-elements raises this limit in proportion"
    return GradcliError(message, span=span, hint=hint, kind="limit")


CPU_SECONDS = 30.0  # seconds of CPU that a program of the language may take where nothing else is asked for
LONGEST = 1e6
SHORTEST = 1e-6
AGAIN = 0.5  # seconds until the next alarm, should the code in the block have taken the first one for something else
GRACE = 0.5
"""Seconds after which code that no alarm ends, such as one long call into a library, is ended with its process."""


class deadline:  # noqa: N801 - a namespace
    """When the innermost `enforce` block must end, its timer and its watch, and what ends a process that does not."""

    end = math.inf
    timer: Any = None
    watch: threading.Event | None = None
    give_up: Callable[[Bound], None] | None = None


class Bound:
    """How long something may take: seconds, of the process's CPU or (when somebody waits so long) of the clock."""

    def __init__(self, seconds: float, cpu: bool = False):
        self.seconds, self.cpu = min(seconds, LONGEST), cpu

    def error(self) -> GradcliError:
        message = f"this takes longer than {self.seconds:g} s" + (" of CPU" if self.cpu else "")
        return GradcliError(message, hint="--timeout S waits longer", kind="limit")


def time_left(seconds: float) -> float:
    """Return how long a part that may take so many seconds may take here: it ends in time for the rest to be told."""
    return max(min(seconds, 0.8 * (deadline.end - time.monotonic())), SHORTEST)


def timer_of(cpu: bool) -> Any:
    """Return the system's timer of CPU or of the clock, None where there is none."""
    return getattr(signal, "ITIMER_PROF" if cpu else "ITIMER_REAL", None)


@contextlib.contextmanager
def enforce(bound: Bound | None) -> Iterator[None]:
    """Raise GradcliError from the block when its time is over; what not even that ends is ended with the process."""
    if bound is None:
        yield
        return
    outer, deadline.end = deadline.end, math.inf if bound.cpu else time.monotonic() + bound.seconds
    done = deadline.watch = threading.Event()
    deadline.timer = timer_of(bound.cpu)
    watcher = threading.Thread(target=watch, args=(bound, done), daemon=True)
    if deadline.give_up is not None:
        watcher.start()
    try:
        with within(bound.seconds, bound.cpu):
            yield
    except TimeIsUp:
        raise bound.error() from None
    finally:
        done.set()
        deadline.end, deadline.watch = outer, None
        if watcher.ident is not None:
            watcher.join(GRACE)


def stand_down() -> None:
    """Let what is computed be written at the pace of its reader: from here on nothing ends the block."""
    if deadline.watch is not None:
        deadline.watch.set()
        if deadline.timer is not None:
            signal.setitimer(deadline.timer, 0)


def watch(bound: Bound, done: threading.Event) -> None:
    """Wait until the block is done; give up when its time and some grace have passed."""
    now = time.process_time if bound.cpu else time.monotonic
    end = now() + bound.seconds + GRACE
    while not done.wait(min(max(end - now(), 0), 1.0) / (os.cpu_count() or 1 if bound.cpu else 1)):
        if now() >= end and deadline.give_up is not None:
            deadline.give_up(bound)
            return


@contextlib.contextmanager
def within(seconds: float, cpu: bool = False) -> Iterator[None]:
    """Raise TimeIsUp in the block after so many seconds, of CPU if so, where the system can (only in the main thread).

    Blocks may be nested.
    """
    timer = timer_of(cpu)
    if timer is None or threading.current_thread() is not threading.main_thread() or seconds <= 0:
        yield
        return

    def late(*_: object) -> None:
        raise TimeIsUp

    number = signal.SIGPROF if cpu else signal.SIGALRM
    start = time.monotonic()
    outer, _ = signal.getitimer(timer)
    before = signal.signal(number, late)
    signal.setitimer(timer, min(seconds, outer or LONGEST, LONGEST), AGAIN)
    try:
        yield
    finally:
        signal.setitimer(timer, 0)
        signal.signal(number, before)
        if outer:
            signal.setitimer(timer, max(outer - (time.monotonic() - start), SHORTEST), AGAIN)


@contextlib.contextmanager
def any_length() -> Iterator[None]:
    """Let the block write whole numbers of more digits than Python allows: here the time is what is limited."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(before)
