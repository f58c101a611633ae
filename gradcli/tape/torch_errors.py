"""PyTorch's messages for shapes, types or indices that do not fit, and for memory that was changed in place."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import add_advice
from .dtypes import as_dtype
from .memory import memory_of
from .modes import state

NOT_LEAF = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
    "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, "
    "use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access "
    "the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more informations."
)


class ShapeError(RuntimeError, ValueError):
    """Operands or arguments whose shapes do not fit. plain: NumPy's message."""

    def __init__(self, text: str, plain: str = ""):
        super().__init__(text)
        self.plain = plain or text


class BoundsError(RuntimeError, IndexError):
    """An index that is out of bounds."""


class DimensionError(np.exceptions.AxisError):
    """An axis that is out of range."""


def as_pytorch(error: ValueError, operands: Sequence = ()) -> Exception:
    """Return the error that PyTorch raises instead of a ValueError, with the sizes of operands that do not fit."""
    if isinstance(error, np.exceptions.AxisError) and error.ndim is not None:
        count = max(error.ndim, 1)
        return DimensionError(
            f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], but got {error.axis})"
        )
    if isinstance(error, RuntimeError | IndexError | np.linalg.LinAlgError):
        return error
    text = str(error)
    if text.startswith(("expected sequence", "torch.cat():")):
        return error
    if "of an empty sequence" in text:
        return IndexError(f"{text}: the reduced axis must not be empty")
    text = text.replace("negative dimensions are not allowed", "a tensor cannot have a negative dimension")
    text = re.sub("^repeated axis$", "a dim appears multiple times in the list of dims", text)
    if "could not be broadcast" in text:
        text = mismatch([getattr(x, "shape", ()) for x in operands]) or text
    return ShapeError(text, str(error))


def mismatch(shapes: list[Any]) -> str:
    """Return a message about sizes of these shapes that cannot be broadcast, "" if all can."""
    joined: tuple = ()
    for shape in shapes:
        size = max(len(joined), len(shape))
        a, b = ((1,) * (size - len(s)) + tuple(s) for s in (joined, shape))
        for place in reversed(range(size)):
            if a[place] != b[place] and 1 not in (a[place], b[place]):
                sizes = f"The size of tensor a ({a[place]}) must match the size of tensor b ({b[place]})"
                return f"{sizes} at non-singleton dimension {place}"
        joined = tuple(n if m == 1 else m for m, n in zip(a, b, strict=True))
    return ""


def types_error(x: Any, y: Any) -> Exception:
    """Return PyTorch's error for vectors or matrices of different types."""
    return RuntimeError(f"mat1 and mat2 must have the same dtype, but got {x.dtype.title} and {y.dtype.title}")


def shapes_error(x: Any, y: Any) -> Exception | None:
    a, b = (tuple(getattr(t, "shape", ())) for t in (x, y))
    if not a or not b:
        return None
    if len(a) == len(b) == 3 and a[0] == b[0]:
        return ShapeError(stacks_text(a, b))
    if len(b) != 2:
        return None
    a = (math.prod(a[:-1]), a[-1])
    return ShapeError(f"mat1 and mat2 shapes cannot be multiplied ({a[0]}x{a[1]} and {b[0]}x{b[1]})")


def stacks_text(a: Sequence[int], b: Sequence[int]) -> str:
    wanted, got = [a[0], a[2]], list(b[:2])
    return f"Expected size for first two dimensions of batch2 tensor to be: {wanted} but got: {got}."


def changed_error(array: Any, stamp: Any, node: Any, position: int) -> BaseException:
    owner = memory_of(array) if isinstance(array, np.ndarray) else array
    is_whole = (array.shape, array.strides) == (owner.shape, owner.strides)
    name, what = node.name(), "output"
    if position:
        name = stamp.by if is_whole or node.parents[position - 1] is None else "AsStrided"
        what = f"operand {position}"
    origin = f", which is output 0 of {name_in_messages(name)}," if name else ""
    expected = stamp.count - sum(seq < node.seq for seq in stamp.recent)
    failure = RuntimeError(text_of_change(as_dtype(array.dtype), array.shape, origin, stamp.count, expected))
    hint = f"it is the {what} of {node.name()}: keep the old value with clone(), or avoid the in-place operation"
    return add_advice(failure, hint)


def name_in_messages(name: str) -> str:
    return f"torch::autograd::{name}" if name.startswith("Copy") else re.sub(r"Backward\d*$", "", name)


def text_of_change(dtype: Any, shape: Any, origin: str, version: int, expected: int) -> str:
    hint = (
        " Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )
    return (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[torch.{dtype.title}Tensor {list(shape)}]{origin} is at version {version}; expected version {expected} "
        f"instead.{'' if state.anomaly else hint}"
    )


def why_not(view: Any, what: str = "is being") -> str:
    """Return a message that explains why a view must not be changed in place while gradients are recorded."""
    if view._origin == "no_grad":
        return (
            f"A view was created in no_grad mode and {what} modified inplace with grad mode enabled. Given that "
            "this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving "
            "both the view and the inplace either both inside the no_grad block (if you don't want the inplace "
            "to be tracked) or both outside (if you want the inplace to be tracked)."
        )
    if view._origin == "part":
        return (
            f"a view of real and imaginary parts {what} modified inplace with grad mode enabled: make a new tensor "
            "with complex(real, imag), or make the change inside a no_grad block"
        )
    name = (
        "A view" if view._node is None else f"Output {view.output_nr} of {name_in_messages(view._node.public.name())}"
    )
    return (
        f"{name} is a view and {what} modified inplace. This view was created inside a custom Function (or because an "
        "input was returned as-is) and the autograd logic to handle view+inplace would override the custom backward "
        "associated with the custom Function, leading to incorrect gradients. This behavior is forbidden. You can fix "
        "this by cloning the output of the custom Function."
    )
