"""Results with several named parts, such as (values, indices), printed as PyTorch prints them."""

from __future__ import annotations

import functools
from typing import Any

from ..tape.dtypes import naming


@functools.cache
def result_class(name: str, fields: tuple[str, ...], base: type) -> type:
    """Return the class of the results of a function: a kind of `base`, which is a named tuple."""

    def text(self: Any) -> str:
        parts = [f"{field}={value!r}" for field, value in zip(fields, self, strict=True)]
        return f"{naming.prefix}.return_types.{name}(\n" + ",\n".join(parts) + ")"

    return type(base.__name__, (base,), {"__slots__": (), "__repr__": text, "__module__": base.__module__})


def of_function(name: str, result: Any) -> Any:
    """Return a function's named tuple as one that knows the function's name; anything else as it is."""
    kind: Any = type(result)
    if not hasattr(kind, "_fields"):
        return result
    kind = kind if kind.__base__ is tuple else kind.__base__
    return result_class(name, kind._fields, kind)(*result)


__all__ = ["of_function"]
