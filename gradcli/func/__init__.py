"""Transforms of functions with the names and arguments of torch.func."""

from __future__ import annotations

from collections.abc import Callable

from .forward import jacfwd, jvp
from .mapping import vmap
from .reverse import functional_call, grad, grad_and_value, jacrev, vjp
from .trace import Argnums


def hessian(func: Callable, argnums: Argnums = 0) -> Callable:
    """Return a function that gives the second derivatives of func: shape output.shape + input.shape twice.

    The Jacobian of the Jacobian; with a tuple of argnums, nested tuples of blocks.
    """
    return jacrev(jacrev(func, argnums), argnums)


__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp", "vmap"]
