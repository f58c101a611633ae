"""torch.library: operators of the user's own, as functions on tensors with a rule for their gradient."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from ..face.wrap import missing
from ..tape.function import Function
from ..tape.modes import no_grad
from ..tape.tensor import Tensor


class CustomOpDef:
    """An operator: a function that autograd does not look into."""

    def __init__(self, name: str, function: Callable, mutates_args: Any):
        self._qualname, self._function = name, function
        self._mutated = () if isinstance(mutates_args, str) else tuple(mutates_args)
        self._signature = inspect.signature(function)
        self._backward: Callable | None = None
        self._setup: Callable | None = None
        self._kernels: dict[str, Callable] = {"cpu": function}
        functools.update_wrapper(self, function)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def register_fake(self, function: Callable) -> Callable:
        """Take a function that tells the shapes of results, which are known here without it."""
        return function

    def register_kernel(self, device_types: Any, function: Callable | None = None) -> Callable:
        """Take another function for a device; the one for the CPU counts."""
        if function is None:
            return functools.partial(self.register_kernel, device_types)
        kinds = [device_types] if isinstance(device_types, str) else device_types or ["cpu"]
        self._kernels.update(dict.fromkeys(kinds, function))
        return function

    def register_autograd(self, backward: Callable, /, *, setup_context: Callable | None = None) -> None:
        """Give the gradient: backward(ctx, *grads), with what setup_context(ctx, inputs, output) kept."""
        if self._mutated:
            raise RuntimeError(f"Cannot register autograd formula for non-functional operator {self!r}")
        self._backward, self._setup = backward, setup_context

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the result."""
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        if self._mutated:
            with no_grad():
                return self._kernels["cpu"](*bound.args, **bound.kwargs)
        return self._recorded.apply(*bound.arguments.values())

    @functools.cached_property
    def _recorded(self) -> type[Function]:
        """The custom function that stands for the operator in the graph."""

        def forward(*args: Any) -> Any:
            values = dict(zip(self._signature.parameters, args, strict=True))
            bound = inspect.BoundArguments(self._signature, values)  # type: ignore[arg-type]
            return self._kernels["cpu"](*bound.args, **bound.kwargs)

        def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
            if self._setup is not None:
                self._setup(ctx, inputs, output)

        def backward(ctx: Any, *grads: Tensor) -> Any:
            if self._backward is None:
                raise RuntimeError(
                    f"Trying to backward through {self._qualname} but no autograd formula was registered. Please use "
                    "register_autograd to add one."
                )
            return self._backward(ctx, *grads)

        parts = {"forward": forward, "setup_context": setup_context, "backward": backward}
        name = f"GeneratedBackwardFor_{self._qualname.replace('::', '_')}_default"
        return type(name, (Function,), {word: staticmethod(part) for word, part in parts.items()})


known: dict[str, CustomOpDef] = {}
"""The operators by name."""


def custom_op(
    name: str,
    fn: Callable | None = None,
    /,
    *,
    mutates_args: str | Iterable[str] = (),
    device_types: Any = None,
    schema: str | None = None,
) -> Any:
    """Make an operator of a function; a decorator without fn. name: 'namespace::operator'."""
    if fn is None:
        return lambda function: custom_op(name, function, mutates_args=mutates_args)
    if name.count("::") != 1:
        raise ValueError(f"Expected `name` to be of the form 'namespace::name', got {name}")
    found = known[name] = CustomOpDef(name, fn, mutates_args)
    return found


def register_autograd(op: Any, backward: Callable, /, *, setup_context: Callable | None = None, **_: Any) -> None:
    """Give the gradient of an operator, by name or itself."""
    found = known[op] if isinstance(op, str) else op
    found.register_autograd(backward, setup_context=setup_context)


def register_fake(op: Any, function: Callable | None = None, /, **_: Any) -> Any:
    """Take a function that tells the shapes of an operator's results."""
    found = known[op] if isinstance(op, str) else op
    return found.register_fake if function is None else found.register_fake(function)


__all__ = ["custom_op", "register_autograd", "register_fake"]
__getattr__ = missing(__name__, lambda: __all__)
