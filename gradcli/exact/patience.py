"""Ending what takes too long."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Iterator

from ..errors import TimeIsUp

LONGEST = 1e6
SHORTEST = 1e-6
AGAIN = 0.5
"""Seconds until the next alarm, should the code in the block have taken the first one for something else."""


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise TimeIsUp in the block after so many seconds, where the system can (not in threads).

    Blocks may be nested: the outer one's time goes on.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread() or seconds <= 0:
        yield
        return

    def late(*_: object) -> None:
        raise TimeIsUp

    start = time.monotonic()
    outer, _ = signal.getitimer(signal.ITIMER_REAL)
    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, min(seconds, outer or LONGEST, LONGEST), AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if outer:
            signal.setitimer(signal.ITIMER_REAL, max(outer - (time.monotonic() - start), SHORTEST), AGAIN)


@contextlib.contextmanager
def any_length() -> Iterator[None]:
    """Let the block write whole numbers of more digits than Python allows: here the time is what is limited."""
    if not hasattr(sys, "set_int_max_str_digits"):  # a Python without that limit
        yield
        return
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(before)
