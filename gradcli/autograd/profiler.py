"""torch.autograd.profiler: how long a block takes. Single operations are not told apart."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any


class profile:  # noqa: N801 - PyTorch's name
    """Measures the time of a with block."""

    def __init__(self, enabled: bool = True, **_: Any):
        self.enabled = enabled
        self.seconds = 0.0

    def __enter__(self) -> profile:
        self.start = time.perf_counter()
        return self

    def __exit__(self, *_: Any) -> None:
        self.seconds = time.perf_counter() - self.start

    def key_averages(self, *args: Any, **options: Any) -> profile:
        """Return what was measured."""
        return self

    @property
    def self_cpu_time_total(self) -> float:
        """The time in microseconds."""
        return self.seconds * 1e6

    def table(self, *args: Any, **options: Any) -> str:
        """Return the time as text."""
        return f"Self CPU time total: {self.seconds * 1e3:.3f}ms\n"

    __str__ = table


@contextlib.contextmanager
def record_function(name: str, args: Any = None) -> Iterator[None]:
    """Name a part of a profile; there are no parts."""
    yield


__all__ = ["profile", "record_function"]
