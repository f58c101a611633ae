"""How much memory a program of the language may take: a bound that the operating system watches over."""

from __future__ import annotations

import contextlib
import os
import re
import sys

from ..errors import GradcliError, Span
from .settings import DEFAULT_MAX_ELEMENTS

MOST_MEMORY = 1900 << 20
"""Bytes that a program may take with the default limit on elements: with the interpreter, 2 GiB."""
WORK_SPACE = 64 << 20
"""Bytes that the linear algebra library reserves for each processor, of which it touches few."""


class bound:  # noqa: N801 - a namespace
    """Whether this process is there for one call of the command, and the MiB that it may take (0: not bounded)."""

    own_process = False
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
    return GradcliError(
        f"{what} would take more than {bound.mebibytes / 1024:.1f} GiB of memory",
        span=span,
        hint="a larger --max-elements raises this limit in proportion",
        kind="limit",
    )
