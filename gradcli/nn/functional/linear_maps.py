"""Linear maps."""

from __future__ import annotations

from ...api.products import multiply_matrices
from ...rules import entry
from ...tape.modes import allowed
from ...tape.record import dispatch
from ...tape.tensor import Tensor


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias; weight (out, in) or (in,)."""
    if allowed.float_of_grad and input.dtype != weight.dtype:
        titles = f"{input.dtype.title} and {weight.dtype.title}"
        raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {titles}")
    if weight.ndim == 2 and bias is not None and input.ndim != 2:
        rows = linear(input.reshape(-1, input.shape[-1]), weight, bias)
        return rows.reshape(*input.shape[:-1], weight.shape[0])
    fits = input.shape[-1:] == weight.shape[1:] and bias is not None and bias.shape == weight.shape[:1]
    if fits and input.ndim == weight.ndim == 2:
        return dispatch(entry("affine"), (bias, input, weight))
    result = multiply_matrices(input, weight.t() if weight.ndim == 2 else weight)
    return result if bias is None else result + bias
