"""Recurrent networks on packed sequences: each step runs for the sequences that have it."""

from __future__ import annotations

from typing import Any

from ...face.join import cat
from ...tape.tensor import Tensor
from ..utils.rnn import PackedSequence, padded_rows


def run_packed(module: Any, packed: PackedSequence, hx: Any) -> Any:
    """Return a packed sequence of outputs, and the last states in the order of the sequences before packing."""
    x = padded_rows(packed)
    states = module._states(ordered(hx, packed.sorted_indices), x, False)
    sizes = packed.batch_sizes.tolist()
    x, final = module._layers(x, states, sizes)
    data = cat([x[t, :n] for t, n in enumerate(sizes)])
    return packed._replace(data=data), ordered(final if module.mode == "LSTM" else final[0], packed.unsorted_indices)


def ordered(states: Any, places: Tensor | None) -> Any:
    """Return states (layers, N, size) with their sequences in another order."""
    if states is None or places is None:
        return states
    if isinstance(states, tuple | list):
        return tuple(s.index_select(1, places) for s in states)
    return states.index_select(1, places)


def stepped(step: Any, count: int, x: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Return the state after a step of the first `count` sequences; the others keep theirs."""
    if count == state[0].shape[0]:
        return step(x, state)
    new = step(x[:count], tuple(s[:count] for s in state))
    return tuple(cat([after, before[count:]]) for after, before in zip(new, state, strict=True))
