"""Processes: end those that the user's code forks with the call that forked them; signals for processes in between."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import describe_error


def ending_text(status: int) -> str:
    """Say how a process ended. status: its exit status, or minus the number of the signal that killed it."""
    if status >= 0:
        return f"exited with status {status}"
    name = next((known.name for known in signal.Signals if known == -status), "unknown")
    return f"was killed by signal {-status} ({name})"


@contextlib.contextmanager
def end_forks() -> Any:
    process = os.getpid()
    try:
        yield
    except BaseException as error:
        end_fork(process, error)
        raise
    end_fork(process, None)


def end_fork(process: int, error: BaseException | None, quiet: bool = False) -> None:
    """End this process if it was forked after `process` began its block. error: what the block raised.

    quiet: do not print the error, for functions that are called many times.
    """
    if os.getpid() == process:
        return
    if not quiet and error is not None and not isinstance(error, SystemExit):
        os.write(2, f"error: a forked process raised {describe_error(error)}\n".encode(errors="backslashreplace"))
    flush_streams()
    code = error.code if isinstance(error, SystemExit) and isinstance(error.code, int) else error is not None
    os._exit(code & 0xFF)


def flush_streams() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # the user's code may have put anything there
            stream.flush()


def control(option: int, value: int) -> None:
    """Set one of Linux's prctl options; elsewhere, do nothing."""
    with contextlib.suppress(Exception):
        ctypes.CDLL(None).prctl(option, value)


@contextlib.contextmanager
def handling(handlers: Mapping[signal.Signals, Any]) -> Iterator[None]:
    """Handle signals in the block, except those that the caller of gradcli wants to be ignored."""
    before = {number: signal.getsignal(number) for number in handlers}
    some = {n: handler for n, handler in handlers.items() if before[n] is not signal.SIG_IGN}
    try:
        for number, handler in some.items():
            signal.signal(number, handler)
        yield
    finally:
        for number in some:
            signal.signal(number, before[number])


def in_foreground() -> bool:
    """Report whether the terminal sends Ctrl-C to this process, and then also to the processes that it started."""
    with contextlib.suppress(OSError):
        terminal = os.open("/dev/tty", os.O_RDONLY)
        try:
            return os.tcgetpgrp(terminal) == os.getpgrp()
        finally:
            os.close(terminal)
    return False
