"""The generator that random numbers come from unless another one is given: its seed and where it stands."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from .face.draw import generator
from .face.stream import Generator
from .tape.tensor import Tensor


def manual_seed(seed: int) -> Generator:
    """Start the random numbers of rand, randn and the like from a seed; return their generator."""
    generator.rng = Generator(seed=seed)
    return generator.rng


def seed() -> int:
    """Start the random numbers from a seed that nobody knows, and return it."""
    return generator.rng.seed()


def initial_seed() -> int:
    """Return the seed that the random numbers started from."""
    return generator.rng.initial_seed()


def get_rng_state() -> Tensor:
    """Return where the random numbers stand, for set_rng_state."""
    return Tensor._wrap(generator.rng.snapshot(), None)


def set_rng_state(new_state: Tensor) -> None:
    """Continue where the random numbers stood. Raises RuntimeError for a tensor that is no such state."""
    generator.rng.resume(np.asarray(new_state.detach()._data))


@contextlib.contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, **_: Any) -> Iterator[None]:
    """Leave the random numbers where they stood before, whatever is drawn inside."""
    state = generator.rng.snapshot()
    try:
        yield
    finally:
        if enabled:
            generator.rng.resume(state)


__all__ = ["Generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]
