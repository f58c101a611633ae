"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from ...api.join import cat
from ...tape.tensor import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Return all elements of the parameters as one vector, recorded."""
    return cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Let parameters have the elements of a vector, whose memory they then share.

    Raises TypeError for anything but a tensor, RuntimeError for a vector that is too short.
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected gradcli.Tensor, but got: {type(vec).__name__}")
    start = 0
    for p in parameters:
        size = p.shape.numel()
        p.data = vec.data[start : start + size].reshape(p.shape)
        start += size
