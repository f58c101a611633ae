"""Helpers for tests of the engine: build leaves, and Functions from a forward and a backward."""

from collections.abc import Callable, Sequence

import gradcli
from gradcli.autograd import Function


def leaf(*data: float | complex | Sequence) -> gradcli.Tensor:
    """Return a leaf with the given numbers, or with one nested list."""
    values = data[0] if isinstance(data[0], list) else data
    complex_ = any(isinstance(x, complex) for x in values)
    return gradcli.tensor(values, dtype=gradcli.cdouble if complex_ else gradcli.double, requires_grad=True)


def function(backward: Callable, **methods: Callable) -> Callable[[Callable], type[Function]]:
    """Return a decorator that turns a forward into a Function of the same name, with this backward."""

    def make(forward: Callable) -> type[Function]:
        methods.update(forward=forward, backward=backward)
        return type(forward.__name__, (Function,), {name: staticmethod(f) for name, f in methods.items()})

    return make
