"""The table of primitives, one module per family. Read table (what an entry has) and pointwise first.

A lookup imports modules one by one, the commonest first, until one of them has the name, so that a short command
does not load the whole table.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .table import BY_FOLD, BY_NUMPY, BY_SCIPY, BY_TORCH, NAMES, TABLE, Primitive

MODULES = tuple(
    """
    arithmetic transcendental reduce movement index matrix_products activation create join select scan
    numpy_functions solve spectral matrix_functions fourier special pointwise sliding_windows differences
    scipy_special hypergeometric sampled search
    """.split()
)
_pending = list(MODULES)


def _load_next() -> bool:
    """Import the next family; return False when all are loaded."""
    if not _pending:
        return False
    import_module(f"{__name__}.{_pending.pop(0)}")
    return True


def _find_entry(key: Any, *registers: dict[Any, Any]) -> Any:
    """Look up a key in the registers, importing families until it is found; return None if no family has it."""
    while True:
        for register in registers:
            if key in register:
                return register[key]
        if not _load_next():
            return None


def lookup(name: str) -> Primitive | None:
    """Return the entry with this name or alias, or None."""
    return _find_entry(name, NAMES)


def entry(name: str) -> Primitive:
    """Return the entry with this name or alias. Raises KeyError if there is none."""
    primitive = lookup(name)
    if primitive is None:
        raise KeyError(f"the table has no entry {name!r}")
    return primitive


def by_numpy(function: Any) -> Primitive | None:
    """Return the entry for a NumPy function, or None."""
    return _find_entry(function, BY_NUMPY)


def by_fold(function: Any) -> Primitive | None:
    """Return the entry for a ufunc's method, such as np.add.reduce, or None."""
    return _find_entry(function, BY_FOLD)


def by_scipy(name: str) -> Primitive | None:
    """Return the entry for a function of scipy.special, or None."""
    return _find_entry(name, BY_SCIPY, NAMES)


def by_torch(name: str) -> tuple[Primitive, str] | None:
    """Return the entry for a name in PyTorch with PyTorch's signature ("" for the entry's own), or None."""
    found = _find_entry(name, BY_TORCH, NAMES)
    if not isinstance(found, Primitive):
        return found
    return (found, "") if found.public else None


def full_table() -> dict[str, Primitive]:
    """Import every family; return the table by canonical name."""
    while _load_next():
        pass
    return TABLE
