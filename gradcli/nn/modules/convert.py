"""Converting a module's parameters and buffers to another type."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...tape.dtypes import DType, as_dtype, as_numpy
from ...tape.modes import no_grad
from ...tape.tensor import Tensor


class Convertible:
    """How a module changes the type of what it holds; a module returns itself."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    children: Callable[[], Iterator]

    def _apply(self, convert: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        """Replace the data of all parameters and buffers, and gradients, by what a function makes of them."""
        if recurse:
            for child in self.children():
                child._apply(convert)
        with no_grad():
            for parameter in self._parameters.values():
                if parameter is not None:
                    grad, parameter.data = parameter._grad, convert(parameter.data)
                    if grad is not None:
                        grad.data = convert(grad)
                    parameter._grad = grad
            for name, buffer in self._buffers.items():
                if buffer is not None:
                    self._buffers[name] = convert(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Convert floating-point and complex parameters and buffers to a type, in place; the device is the CPU.

        For "meta", the device of modules without numbers, the numbers simply stay.
        """
        args = tuple(x for x in args if not (isinstance(x, str) and x == "meta"))
        wanted = as_numpy(kwargs.get("dtype"))
        for argument in args:
            if isinstance(argument, Tensor):
                wanted = as_numpy(argument.dtype)
            elif isinstance(argument, DType | type):
                wanted = as_numpy(argument)
        if wanted is not None and wanted.kind not in "fc":
            raise TypeError(
                "nn.Module.to only accepts floating point or complex dtypes, "
                f"but got desired dtype={as_dtype(wanted)!r}"
            )
        return self._apply(lambda t: t.to(*args, **kwargs) if t.dtype.kind in "fc" else t)

    def type(self, dst_type: Any) -> Any:
        """Convert all parameters and buffers to a type."""
        return self._apply(lambda t: t.to(dst_type))

    def cpu(self) -> Any:
        """Return the module: it is on the CPU."""
        return self

    def double(self) -> Any:
        """Convert floating-point parameters and buffers to float64."""
        return self._apply(lambda t: t.double() if t.dtype.kind == "f" else t)

    def float(self) -> Any:
        """Convert floating-point parameters and buffers to float32."""
        return self._apply(lambda t: t.float() if t.dtype.kind == "f" else t)

    def half(self) -> Any:
        """Convert floating-point parameters and buffers to float16."""
        return self._apply(lambda t: t.half() if t.dtype.kind == "f" else t)
