"""Runs of one script again and again: all alike, and only the first one heard."""

from __future__ import annotations

import contextlib
import copy
import os
import sys
from collections.abc import Iterator
from typing import Any

from ..api.random import source


class RandomState:
    """Where the generators that were used so far stand: this library's, NumPy's and Python's."""

    def __init__(self) -> None:
        self.own = copy.deepcopy(source.__dict__.get("rng"))
        self.saved: list[tuple[Any, Any]] = []
        for name, save, restore in (("numpy.random", "get_state", "set_state"), ("random", "getstate", "setstate")):
            module: Any = sys.modules.get(name)
            if module is not None:
                self.saved.append((getattr(module, restore), getattr(module, save)()))

    def restore(self) -> None:
        if self.own is not None:
            source.rng = copy.deepcopy(self.own)
        for restore, state in self.saved:
            restore(state)


class Repeats:
    """How often a script ran, and the random numbers of its second run."""

    def __init__(self) -> None:
        self.count = 0
        self.random: RandomState | None = None

    @contextlib.contextmanager
    def stdout(self, first: Any) -> Iterator[Any]:
        """Give the stream for the output of the next run: `first`, then nothing.

        Runs after the second draw the same random numbers as the second, so that they can be compared.
        """
        self.count += 1
        if self.count == 1:
            yield first
            return
        if self.random is None:
            self.random = RandomState()
        self.random.restore()
        with open(os.devnull, "w") as nowhere:
            yield nowhere
