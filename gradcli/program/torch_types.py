"""What PyTorch's modules have beside the names of ours: tensor types by their old names, and settings."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradcli

from ..tape.dtypes import as_dtype, as_numpy, defaults, set_default_dtype, strided
from ..tape.tensor import Size, Tensor

VERSION = "2.13.0+cpu"
"""The version of PyTorch whose behaviour is followed."""


class TensorType(type):
    """The class torch.Tensor: every tensor is an instance, and calling it makes one of numbers or of a shape."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Tensor) and (cls._wanted is None or x._data.dtype == cls._wanted)  # type: ignore

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, Tensor)

    def __eq__(cls, other: object) -> bool:
        return cls is other or (other is Tensor and cls._wanted is None)  # type: ignore[attr-defined]

    def __hash__(cls) -> int:
        return hash(cls.__name__)

    def __call__(cls, *args: Any) -> Any:
        """Return a tensor of the given numbers, or an uninitialised one of the given lengths."""
        kind = cls._wanted or np.dtype(defaults.float)  # type: ignore[attr-defined]
        if len(args) == 1 and isinstance(args[0], Size):
            return gradcli.zeros(*args[0], dtype=kind)
        if len(args) == 1 and not isinstance(args[0], int):
            return gradcli.tensor(args[0], dtype=kind)
        return gradcli.zeros(*args, dtype=kind) if args else gradcli.tensor([], dtype=kind)

    def __getattr__(cls, name: str) -> Any:
        return getattr(Tensor, name)


def tensor_type(name: str, dtype: Any) -> Any:
    """Return torch.Tensor, torch.FloatTensor and the like."""
    known = {} if dtype is None else {"dtype": as_dtype(np.dtype(dtype))}
    return TensorType(name, (), {"_wanted": None if dtype is None else np.dtype(dtype), **known})


TYPES = {
    **{"Tensor": None, "FloatTensor": np.float32, "DoubleTensor": np.float64, "HalfTensor": np.float16},
    **{"LongTensor": np.int64, "IntTensor": np.int32, "ShortTensor": np.int16, "CharTensor": np.int8},
    **{"ByteTensor": np.uint8, "BoolTensor": np.bool_},
}
"""The types of tensors by their old names."""


def set_default_tensor_type(kind: Any) -> None:
    """Set the default type by the old name of a type of tensors."""
    name = kind.split(".")[-1] if isinstance(kind, str) else kind.__name__
    set_default_dtype(np.dtype(TYPES[name]))


def set_default_device(device: Any) -> None:
    """Check that the device is the CPU."""
    gradcli.device(device)


def variable(data: Any, requires_grad: bool = False, volatile: bool = False) -> Tensor:
    """The old name for a tensor that backward knows of."""
    tensor = data if isinstance(data, Tensor) else gradcli.tensor(data)
    return tensor.detach().requires_grad_() if requires_grad else tensor


def extras() -> dict[str, dict[str, Any]]:
    """Return what PyTorch's modules have beside the names of ours."""
    return {
        "torch": {
            "__version__": VERSION,
            **{name: tensor_type(name, dtype) for name, dtype in TYPES.items()},
            **{name: f"torch.{name}" for name in ("contiguous_format", "channels_last", "preserve_format")},
            "strided": strided,
            "set_default_tensor_type": set_default_tensor_type,
            "set_default_device": set_default_device,
            "get_default_device": lambda: gradcli.device("cpu"),
            "typename": lambda x: x.type() if isinstance(x, Tensor) else type(x).__name__,
            "compile": lambda model=None, **options: model if model is not None else lambda function: function,
            "vmap": gradcli.func.vmap,
            "finfo": lambda dtype=None: np.finfo(as_numpy(dtype) or defaults.float),
            "iinfo": lambda dtype: np.iinfo(as_numpy(dtype)),
            "is_tensor": lambda x: isinstance(x, Tensor),
            "use_deterministic_algorithms": lambda *args, **options: None,
            "set_num_threads": lambda n: None,
            "get_num_threads": lambda: 1,
        },
        "torch.autograd": {"Variable": variable},
    }
