"""Transforms of functions with the names and arguments of torch.func, each imported on first use.

Read trace (a function recorded on its own inputs) first, then reverse, forward, mapping with batched_tensor, and
sparse.
"""

from importlib import import_module
from typing import Any

__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp", "vmap"]
TRANSFORM_HOMES = {"jacfwd": "forward", "jvp": "forward", "vmap": "mapping"}  # all others are in `reverse`


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{TRANSFORM_HOMES.get(name, 'reverse')}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
