"""Standard output, kept for results: what the user's code prints, or closes, does not touch them."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

from . import messages


class NobodyReadsError(Exception):
    """The pipe that standard output leads to was closed: no reason to fail."""


class _Results:
    """The stream for results, None for standard output itself; what to put back afterwards; where files go."""

    stream: Any = None
    aside = False
    folder = ""


def from_start(path: str) -> str:
    """Return a path as it was meant when the command was called."""
    return os.path.join(_Results.folder, path)


def claim() -> None:
    """Keep a copy of standard output for results. A process that the user's code forks has no part in it.

    Files are written from the folder that the command was called in, wherever the user's code goes; output to a
    standard stream that was closed before the start goes nowhere.
    """
    release()
    with contextlib.suppress(OSError):
        _Results.folder = os.getcwd()
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - for the rest of the process
    os.register_at_fork(after_in_child=disown)
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
        copy = os.dup(sys.stdout.fileno())
        _Results.stream = open(copy, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors)  # noqa: SIM115


def set_aside() -> None:
    """Let all that is written to standard output, but results, go to standard error."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        _Results.aside = True


def disown() -> None:
    """Let what this process writes to the results go nowhere."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), _Results.stream.fileno())


def results() -> Any:
    return _Results.stream or sys.stdout


def write(text: Any) -> None:
    """Write a result, text or bytes, after what the user's code has printed so far. Raises NobodyReadsError."""
    flush()
    stream = results()
    try:
        if isinstance(text, bytes):
            stream.buffer.write(text)
        else:
            stream.write(messages.printable(text, stream))
        stream.flush()
    except BrokenPipeError:
        raise NobodyReadsError from None


def flush() -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()


def release() -> None:
    """Give standard output back."""
    stream, aside = _Results.stream, _Results.aside
    _Results.stream, _Results.aside = None, False
    if stream is None:
        return
    flush()
    with contextlib.suppress(OSError, ValueError, AttributeError):
        if aside:
            os.dup2(stream.fileno(), sys.stdout.fileno())
    with contextlib.suppress(OSError, ValueError):
        stream.close()


def silence() -> None:
    """Let nothing more be written to a pipe that nobody reads."""
    for stream in (_Results.stream, sys.stdout):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
