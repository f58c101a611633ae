"""Linear maps, rows of a table of vectors, normalization."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...api.index import where
from ...api.products import multiply_matrices
from ...api.wrap import operand, records_as
from ...rules import entry
from ...rules.shapes import Shape
from ...tape.dtypes import as_dtype
from ...tape.modes import allowed, no_grad
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


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """A last axis with 1 at the class, else 0; as many classes as needed unless given."""
    classes = np.asarray(tensor.detach().numpy())
    if classes.dtype.kind not in "iu":
        raise RuntimeError("one_hot is only applicable to index tensor.")
    if classes.size and classes.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        if not classes.size:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        num_classes = int(classes.max()) + 1
    elif classes.size and classes.max() >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return operand((classes[..., None] == np.arange(num_classes)).astype(np.int64))


def check_rows(indices: np.ndarray, weight: Tensor) -> None:
    """Raise TypeError or IndexError unless indices are numbers of rows of a matrix."""
    if indices.dtype.kind not in "iu":
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{as_dtype(indices.dtype).title}Tensor instead (while checking arguments for embedding)"
        )
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if indices.size and not 0 <= indices.min() <= indices.max() < weight.shape[0]:
        raise IndexError("index out of range in self")


def padding_row(padding_idx: int | None, rows: int) -> int | None:
    """Return the padding row counted from the front. Raises RuntimeError where there is no such row."""
    if padding_idx is None:
        return None
    if not -rows <= padding_idx < rows:
        raise RuntimeError("Padding_idx must be within num_embeddings")
    return padding_idx % rows


@records_as("EmbeddingBackward0")
def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """Rows of weight at the numbers in input; the row padding_idx gets no gradient.

    Raises IndexError for a number of no row.
    """
    indices = np.asarray(input.detach().numpy())
    check_rows(indices, weight)
    padding = padding_row(padding_idx, weight.shape[0])
    rows = weight[indices]
    if padding is not None:
        rows = where(operand((indices == padding)[..., None]), rows.detach(), rows)
    return rows


def affine(x: Tensor, weight: Tensor | None, bias: Tensor | None, shape: Shape | None = None) -> Tensor:
    """Return x * weight + bias, where they are given; shape: what they are reshaped to."""
    for parameter, apply in ((weight, "__mul__"), (bias, "__add__")):
        if parameter is not None:
            x = getattr(x, apply)(parameter if shape is None else parameter.reshape(shape))
    return x


def along_channels(x: Tensor) -> Shape:
    """Return the shape that lays one number per channel along axis 1 of x."""
    return (-1, *(1,) * (x.ndim - 2))


def check_last(name: str, input: Tensor, normalized_shape: Any, *parameters: Tensor | None) -> Shape:
    """Return the normalized shape. Raises RuntimeError unless it is that of input's last axes."""
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(int(n) for n in normalized_shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element"
        )
    if tuple(input.shape[-len(shape) :]) != shape or input.ndim < len(shape):
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*, {', '.join(map(str, shape))}], "
            f"but got input of size{list(input.shape)}"
        )
    for parameter in parameters:
        if parameter is not None and tuple(parameter.shape) != shape:
            raise RuntimeError(
                f"{name}: expected weight and bias of the same shape as normalized_shape {list(shape)}, "
                f"but got {list(parameter.shape)}"
            )
    return shape


@records_as("NativeLayerNormBackward0")
def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """(input - mean) / sqrt(variance + eps) * weight + bias over the last axes."""
    shape = check_last("layer_norm", input, normalized_shape, weight, bias)
    out = entry("standardize")(input, axis=tuple(range(-len(shape), 0)), eps=eps)
    return affine(out, weight, bias)


@records_as("NativeGroupNormBackward0")
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Standardize each of num_groups groups of channels of (N, C, ...). Raises RuntimeError unless they divide C."""
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    batch, channels = input.shape[:2]
    if num_groups < 1 or channels % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, "
            f"but got input of shape {list(input.shape)} and num_groups={num_groups}"
        )
    size = channels // num_groups * math.prod(input.shape[2:])
    parted = input.reshape(batch, num_groups, size)
    out = entry("standardize")(parted, axis=(-1,), eps=eps).reshape(tuple(input.shape))
    return affine(out, weight, bias, along_channels(input))


@records_as("NativeBatchNormBackward0")
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Standardize each channel of (N, C, ...): over the batch when training, else with the running moments.

    Training moves the running moments towards those of the batch. Raises ValueError for one value per channel,
    RuntimeError where running moments are needed and missing.
    """
    shape = along_channels(input)
    for name, moment in (("running_mean", running_mean), ("running_var", running_var)):
        if moment is not None and input.ndim > 1 and moment.numel() != input.shape[1]:
            raise RuntimeError(f"{name} should contain {input.shape[1]} elements not {moment.numel()}")
    if training and eps <= 0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError("running_mean and running_var must be defined in evaluation mode")
        out = (input - running_mean.reshape(shape)) / (running_var.reshape(shape) + eps).sqrt()
        return affine(out, weight, bias, shape)
    if not math.prod(input.shape):
        return affine(input.clone(), weight, bias, shape if input.ndim > 1 else None)
    axes = (0, *range(2, input.ndim))
    count = math.prod(input.shape[i] for i in axes)
    if count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    move_towards(running_mean, running_var, input, axes, momentum)
    out = entry("standardize")(input, axis=tuple(i - input.ndim for i in axes), eps=eps)
    return affine(out, weight, bias, shape)


def move_towards(mean: Tensor | None, variance: Tensor | None, x: Tensor, axes: Shape, momentum: float) -> None:
    """Move running moments, where there are any, towards those of x over axes by the part `momentum`.

    Moments of each sample are averaged.
    """
    with no_grad():
        for running, moment in ((mean, lambda: x.mean(axes)), (variance, lambda: x.var(axes))):
            if running is not None:
                new = moment().reshape(-1, *running.shape).mean(0)
                running.copy_(running * (1 - momentum) + new * momentum)
