"""Structures of tensors as JSON with the arrays apart, and back: what a file holds besides plain states."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

from ..tape.dtypes import DType, as_dtype
from ..tape.parameter import Parameter
from ..tape.tensor import Size, Tensor

SEQUENCES: dict[str, Any] = {"list": list, "tuple": tuple, "set": set, "size": Size}
MAPPINGS: dict[str, Any] = {"dict": dict, "ordered": OrderedDict}


def taken_apart(x: Any, arrays: list[np.ndarray]) -> Any:
    """Return what JSON can hold of a structure; its arrays are added to a list. Raises TypeError for other things."""
    if x is None or (isinstance(x, str | bool | int | float) and type(x).__module__ == "builtins"):
        return x
    if isinstance(x, Tensor | np.ndarray | np.generic):
        raw = x._array() if isinstance(x, Tensor) else np.asarray(x)
        if raw.dtype.kind not in "biufc":
            raise TypeError(f"save() takes tensors and numbers, not arrays of {raw.dtype}")
        arrays.append(raw)
        kind = "parameter" if isinstance(x, Parameter) else "tensor" if isinstance(x, Tensor) else "array"
        return {kind: len(arrays) - 1, "grad": isinstance(x, Tensor) and x.requires_grad}
    if isinstance(x, DType):
        return {"dtype": x.name}
    for word, kind in SEQUENCES.items():
        if type(x) is kind:
            return {word: [taken_apart(part, arrays) for part in x]}
    for word, kind in MAPPINGS.items():
        if type(x) is kind:
            return {word: [[taken_apart(part, arrays) for part in pair] for pair in x.items()]}
    raise TypeError(
        "save() takes tensors, numbers, strings, and lists, tuples and dictionaries of them, such as "
        f"module.state_dict(), not {type(x).__name__}: nothing is ever pickled"
    )


def put_together(x: Any, arrays: Any) -> Any:
    """Return the structure that taken_apart took apart."""
    if not isinstance(x, dict):
        return x
    word, content = next(iter(x.items()))
    if word in SEQUENCES:
        return SEQUENCES[word](put_together(part, arrays) for part in content)
    if word in MAPPINGS:
        return MAPPINGS[word]((put_together(key, arrays), put_together(value, arrays)) for key, value in content)
    if word == "dtype":
        return as_dtype(np.dtype(content))
    raw = np.array(arrays[str(content)])
    if word == "array":
        return raw
    tensor = Tensor._wrap(raw, None)
    return Parameter(tensor, x["grad"]) if word == "parameter" else tensor.requires_grad_(x["grad"])


__all__ = ["put_together", "taken_apart"]
