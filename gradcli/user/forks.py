"""End the processes that the user's code forks, together with the call that forked them."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

from ..errors import describe_error


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
