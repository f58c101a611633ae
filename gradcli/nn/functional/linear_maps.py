"""Linear and bilinear maps."""

from __future__ import annotations

from ...face.linalg import product
from ...tape.affine import affine
from ...tape.facade import as_one
from ...tape.modes import allowed
from ...tape.tensor import Tensor


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias; weight (out, in) or (in,)."""
    found = affine(input, weight, bias)
    if found is not None:
        return found
    if allowed.float_of_grad and input.dtype != weight.dtype:
        titles = f"{input.dtype.title} and {weight.dtype.title}"
        raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {titles}")
    if input.ndim > 2 and weight.ndim == 2:
        flat = linear(input.reshape(-1, input.shape[-1]), weight, bias)
        return shown(flat.reshape(*input.shape[:-1], weight.shape[0]), input, weight, bias)
    result = product(input, weight.t() if weight.ndim == 2 else weight)
    return shown(result if bias is None else result + bias, input, weight, bias)


def shown(result: Tensor, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return the result with the nodes that PyTorch records."""
    if weight.ndim != 2 or (input.ndim == 2 and bias is None) or (input.ndim > 2 and bias is not None):
        return result
    if bias is not None:
        spec = "View(Addmm(bias, View(input), T(weight)))" if input.ndim == 1 else "Addmm(bias, input, T(weight))"
    elif input.ndim == 1:
        spec = "SqueezeBackward4(Mm(Unsqueeze(input), T(weight)))"
    else:
        spec = "UnsafeView(Mm(View(input), T(weight)))"
    return as_one(spec, result, {"input": input, "weight": weight, "bias": bias})
