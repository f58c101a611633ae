"""The streams of random numbers that functions may use without an argument: seed them, and restore them."""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..user.frameworks import reachable_from


class Streams:
    """Global streams of NumPy, Python and PyTorch, and the generators that the code of functions refers to."""

    def __init__(self, *functions: Any):
        found = {id(x): x for function in functions for x in reachable_from(function)}
        kinds = (np.random.Generator, np.random.RandomState)
        own = [x for x in found.values() if isinstance(x, kinds)]
        self.bits = list({id(bits): bits for bits in map(bits_of, own)}.values())
        self.generators = [x for x in found.values() if type(x).__module__ == "torch._C" and hasattr(x, "manual_seed")]

    def seed(self, number: int) -> None:
        """Start all streams anew. number: below 2**32."""
        np.random.seed(number)
        random.seed(number)
        for bits in self.bits:
            bits.state = type(bits)(number).state
        for generator in self.generators:
            generator.manual_seed(number)
        if (stream := torch_stream()) is not None:
            stream.manual_seed(number)

    @contextlib.contextmanager
    def kept(self) -> Iterator[Streams]:
        """Restore the state of all streams at the end."""
        numbers, python = np.random.get_state(), random.getstate()
        own = [bits.state for bits in self.bits]
        generators = [generator.get_state() for generator in self.generators]
        stream = torch_stream()
        state = stream.get_rng_state() if stream is not None else None
        try:
            yield self
        finally:
            np.random.set_state(numbers)
            random.setstate(python)
            for bits, before in zip(self.bits, own, strict=True):
                bits.state = before
            for generator, before in zip(self.generators, generators, strict=True):
                generator.set_state(before)
            if stream is not None:
                stream.set_rng_state(state)


def torch_stream() -> Any:
    """Return the module with PyTorch's global stream; None if PyTorch is not loaded (`torch` may mean gradcli)."""
    return sys.modules.get("torch.random")


def bits_of(generator: Any) -> Any:
    return generator.bit_generator if hasattr(generator, "bit_generator") else generator._bit_generator
