"""Ending what takes too long."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

LONGEST = 1e6


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in the block after so many seconds, where the system can (not in threads)."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread() or seconds <= 0:
        yield
        return

    def late(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, min(seconds, LONGEST))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
