"""What the arguments of a call mean: lists of arrays, places in arrays, and everything else."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from ..rules.table import Primitive
from .operands import as_index, lift_number

LISTS = frozenset({"xs", "arrays", "choices", "condlist", "choicelist"})
"""Parameters, by the names that entries give them, that take arrays in a list: of several shapes, if they like."""
NESTED = "arrays"
"""The one whose lists may hold lists."""
PLACES = frozenset({"condition", "indices", "index", "indices_or_sections", "kth", "obj", "pad_width", "repeats"})
"""Parameters that take whole numbers or a mask: places and lengths in other arrays."""


@functools.cache
def parameters(primitive: Primitive) -> tuple[str, ...]:
    """Return the names of the parameters that take one positional argument each."""
    found = inspect.signature(primitive.signature_model()).parameters.values()
    return tuple(p.name if p.kind is p.POSITIONAL_OR_KEYWORD else "" for p in found)


def parameter(primitive: Primitive | None, place: int) -> str:
    """Return the name of the parameter that takes the argument at a place; empty where there is none."""
    names = () if primitive is None else parameters(primitive)
    return names[place] if place < len(names) else ""


def as_parameter(name: str, x: Any) -> Any:
    """Return an argument as the parameter of that name takes it."""
    if name in LISTS and isinstance(x, tuple | list):
        return list_arrays(x)
    return as_index(x) if name in PLACES else x


def list_arrays(x: Any) -> Any:
    """Return a list or a tuple with arrays in it; numbers become arrays."""
    return type(x)(list_arrays(item) for item in x) if isinstance(x, tuple | list) else lift_number(x)
