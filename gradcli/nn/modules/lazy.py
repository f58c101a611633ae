"""Modules that learn the number of their inputs from the first one, and then become the usual module."""

from __future__ import annotations

from typing import Any

from ...tape.tensor import Tensor
from ..parameter import UninitializedParameter
from .batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .linear import Linear


class Lazy:
    """What lazy modules share. `_becomes`: the usual class; `_size`: the name of its first argument."""

    _becomes: Any
    _size: str
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(0, *args, **kwargs)  # type: ignore[call-arg]
        self._settings = args, kwargs
        for name, known in self._parameters.items():
            if known is not None:
                self._parameters[name] = UninitializedParameter(dtype=known.dtype)
        self._hook = self.register_forward_pre_hook(self._infer_parameters)  # type: ignore[attr-defined]

    def reset_parameters(self) -> None:
        """Wait for the first input."""

    def has_uninitialized_params(self) -> bool:
        """Return whether there was no input yet."""
        return True

    def size_of(self, input: Tensor) -> int:
        """Return the number that an input tells. Raises RuntimeError for inputs that do not fit."""
        if self._size == "in_features":
            return input.shape[-1]
        if self._size == "num_features":
            return input.shape[1]
        axes = self._becomes._axes
        if input.ndim not in (axes + 1, axes + 2):
            raise RuntimeError(
                f"Expected {axes + 1}D (unbatched) or {axes + 2}D (batched) input to {type(self).__name__}, but got "
                f"input of size: {input.shape}"
            )
        return input.shape[-1 - axes]

    def _infer_parameters(self, module: Any, args: tuple, kwargs: Any = None) -> None:
        self.initialize_parameters(*args)
        self.__dict__.pop("_hook").remove()
        del self.__dict__["_settings"]
        module.__class__ = self._becomes

    def initialize_parameters(self, input: Tensor) -> None:
        """Make parameters and buffers of the size that the input tells."""
        args, kwargs = self._settings
        size = self.size_of(input)
        made = self._becomes(size, *args, **kwargs)
        setattr(self, self._size, size)
        for name, new in made._parameters.items():
            if new is not None:
                self._parameters[name].materialize(new.shape)
                self._parameters[name].data = new.detach()
        self._buffers.update(made._buffers)


def lazy(usual: Any, size: str) -> Any:
    """Return the lazy form of a module."""
    return type(
        f"Lazy{usual.__name__}",
        (Lazy, usual),
        {
            "_becomes": usual,
            "_size": size,
            "__module__": __name__,
            "__doc__": f"A {usual.__name__} that takes {size} from its first input.",
        },
    )


NORMS = (BatchNorm1d, BatchNorm2d, BatchNorm3d, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d)
CONVOLUTIONS = (Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)
SIZES = {Linear: "in_features", **dict.fromkeys(CONVOLUTIONS, "in_channels"), **dict.fromkeys(NORMS, "num_features")}
CLASSES = {f"Lazy{usual.__name__}": lazy(usual, size) for usual, size in SIZES.items()}
globals().update(CLASSES)
__all__ = [*CLASSES]  # noqa: PLE0604
