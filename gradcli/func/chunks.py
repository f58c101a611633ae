"""How much to compute at once: derivatives are cut into chunks that fit into memory."""

from __future__ import annotations

import os
from collections.abc import Iterable

from ..errors import GradcliError
from ..tape.node import Node, is_array
from ..tape.walk import reachable

SHARE = 0.25
"""The share of free memory that a result, or the work on one chunk, may take."""
UNKNOWN = 4 << 30
"""Bytes taken as free where the system does not say."""
ROWS = 4096
"""Rows that are enough to keep NumPy busy: more at once gain nothing."""


def free_memory() -> int:
    """Return how many bytes are free: what Linux calls available, elsewhere the free pages."""
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return UNKNOWN


def check_size(elements: int, itemsize: int, what: str) -> None:
    """Raise GradcliError for a result that would take more than its share of free memory."""
    size, free = elements * itemsize, free_memory()
    if size > SHARE * free:
        raise GradcliError(
            f"{what} would take {size / 2**30:.1f} GiB; {SHARE:.0%} of the {free / 2**30:.1f} GiB that are free is "
            "the limit",
            hint="ask for fewer inputs or outputs, for products (vjp, jvp), or for a sparse Jacobian",
            kind="limit",
            exit_code=2,
        )


def chunk_rows(wanted: int | None, rows: int, row_bytes: int, starts: Iterable[Node]) -> int:
    """Return how many rows to compute at once.

    wanted: what the user asked for, if anything. row_bytes: bytes of one row of the result; what the graph
    saved tells how large the steps between are. Raises ValueError for a chunk_size that is not positive.
    """
    if wanted is not None:
        if wanted < 1:
            raise ValueError(f"chunk_size must be positive, got {wanted}")
        return wanted
    widest = max((x.nbytes for node in reachable(starts) for x in saved_arrays(node)), default=0)
    bytes_per_row = 4 * max(row_bytes, widest, 1)
    return max(1, min(rows, ROWS, int(SHARE * free_memory() / bytes_per_row)))


def saved_arrays(node: Node) -> list:
    """Return the arrays that a node saved, except constants that no cotangent takes the shape of."""
    if node.leaf:
        return []
    parts = [getattr(node, name, None) for name in ("x", "y", "out")]
    saved = parts[0] if isinstance(parts[0], tuple) else parts
    return [x for x in saved if is_array(x)]
