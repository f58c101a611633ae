"""What tests of the engine build: leaves, and Functions of a forward and a backward."""

from collections.abc import Callable, Sequence

import gradcli
from gradcli.autograd import Function


def leaf(*data: float | complex | Sequence) -> gradcli.Tensor:
    """Return a leaf of some numbers, or of one list of any shape."""
    values = data[0] if isinstance(data[0], list) else data
    complex_ = any(isinstance(x, complex) for x in values)
    return gradcli.tensor(values, dtype=gradcli.cdouble if complex_ else gradcli.double, requires_grad=True)


def function(backward: Callable, **methods: Callable) -> Callable[[Callable], type[Function]]:
    """Make a Function of the decorated forward, of its name."""

    def make(forward: Callable) -> type[Function]:
        methods.update(forward=forward, backward=backward)
        return type(forward.__name__, (Function,), {name: staticmethod(f) for name, f in methods.items()})

    return make
