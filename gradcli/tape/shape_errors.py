"""PyTorch's errors for shapes, types or indices that do not fit, in place of NumPy's."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np


class ShapeError(RuntimeError, ValueError):
    """Operands or arguments that do not fit. plain: NumPy's message."""

    def __init__(self, text: str, plain: str = ""):
        super().__init__(text)
        self.plain = plain or text


class BoundsError(RuntimeError, IndexError):
    """An index that is out of bounds."""


class DimensionError(np.exceptions.AxisError):
    """An axis that is out of range."""


def as_pytorch(error: ValueError, operands: Sequence = ()) -> Exception:
    """Return what PyTorch raises in place of a ValueError, with the sizes of operands that do not fit."""
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
    """Return which sizes of these shapes cannot be broadcast, "" if all can."""
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
    """Return PyTorch's error for shapes that cannot be multiplied as matrices."""
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
