"""Settings of the process that recording gains much from and nobody loses by."""

from __future__ import annotations

import gc
import warnings

import numpy as np


def make_full_collections_rare() -> None:
    """Let Python look for reference cycles among old objects ten times more rarely than by default.

    Recording makes many objects that live long and hold no cycles; with the default settings full collections
    would cost more than the recording itself. Young garbage is collected as often as ever.
    """
    young, middle, old = gc.get_threshold()
    if old == 10:
        gc.set_threshold(young, middle, 100)


def keep_freed_memory() -> None:
    """Let the C library keep up to 64 MB of freed memory for the next pass.

    glibc raises the size from which on it returns memory to the system to twice the largest block that it has
    freed. Freeing a block once (nothing of it is ever touched) spares every later pass the page faults.
    """
    block = np.empty(32_000_000, np.uint8)
    del block


def be_quiet_about_infinities() -> None:
    """Drop NumPy's warnings about what Tensors compute: 1/0 is inf and 0/0 is nan, as in PyTorch."""
    warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"gradcli\.")


make_full_collections_rare()
keep_freed_memory()
be_quiet_about_infinities()
