"""The table of primitives, one module per family.

Modules are imported when a name in them is first looked up, the commonest first, so that a short command
does not pay for the whole table.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .table import BY_FOLD, BY_NUMPY, BY_SCIPY, NAMES, TABLE, Primitive, Sample

MODULES = (
    "arithmetic",
    "choose",
    "transcendental",
    "reduce",
    "movement",
    "flip",
    "index",
    "product",
    "activation",
    "piecewise",
    "create",
    "softmax",
    "moments",
    "join",
    "cut",
    "select",
    "scan",
    "grid",
    "statistics",
    "linalg",
    "triangular",
    "orthogonal",
    "spectral",
    "matrix",
    "norms",
    "fourier",
    "einsum",
    "special",
    "complex",
    "pointwise",
    "bessel",
    "windows",
    "resample",
    "normalize",
    "losses",
    "differences",
    "edit",
    "averages",
    "ufuncs",
    "higher",
)
_pending = list(MODULES)


def _load_next() -> bool:
    """Import the next family; return False when all are there."""
    if not _pending:
        return False
    import_module(f"{__name__}.{_pending.pop(0)}")
    return True


def lookup(name: str) -> Primitive | None:
    """Return the entry called `name` (or having it as an alias), or None."""
    while name not in NAMES:
        if not _load_next():
            return None
    return NAMES[name]


def entry(name: str) -> Primitive:
    """Return the entry called `name`. Raises KeyError when there is none."""
    found = lookup(name)
    if found is None:
        raise KeyError(f"the table has no entry {name!r}")
    return found


def by_numpy(function: Any) -> Primitive | None:
    """Return the entry that stands for one of NumPy's functions, or None."""
    while function not in BY_NUMPY:
        if not _load_next():
            return None
    return BY_NUMPY[function]


def by_fold(function: Any) -> Primitive | None:
    """Return the entry that stands for a method of a ufunc, such as np.add.reduce, or None."""
    full_table()
    return BY_FOLD.get(function)


def by_scipy(name: str) -> Primitive | None:
    """Return the entry that stands for a function of scipy.special, or None."""
    full_table()
    return BY_SCIPY.get(name) or NAMES.get(name)


def full_table() -> dict[str, Primitive]:
    """Return the whole table by canonical name."""
    while _load_next():
        pass
    return TABLE


__all__ = ["MODULES", "Primitive", "Sample", "by_fold", "by_numpy", "by_scipy", "entry", "full_table", "lookup"]
