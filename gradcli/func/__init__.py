"""Transforms of functions with the names and arguments of torch.func, each loaded when it is first asked for."""

from importlib import import_module
from typing import Any

HOMES = {
    **dict.fromkeys(("jacfwd", "jvp"), "forward"),
    **dict.fromkeys(("functional_call", "grad", "grad_and_value", "hessian", "jacrev", "vjp"), "reverse"),
    "vmap": "mapping",
}
__all__ = [*HOMES]


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
