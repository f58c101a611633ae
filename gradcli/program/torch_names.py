"""`import torch` inside one script: PyTorch's module names for this engine, and nothing left behind afterwards."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

import gradcli

from ..errors import nearest
from ..face.checked import LinAlgError
from ..tape.anomaly import AnomalyError
from ..tape.dtypes import DType, as_numpy, defaults, naming, set_default_dtype
from ..tape.modes import is_grad_enabled
from ..tape.parameter import Parameter
from ..tape.refusal import DimensionError, ShapeError
from ..tape.tensor import Size, Tensor, allowed

VERSION = "2.13.0"
"""The version of PyTorch whose behaviour is followed."""


class Names(ModuleType):
    """A module of PyTorch's name whose attributes are those of a module of ours, or extras."""

    def __init__(self, name: str, real: Any, extras: dict[str, Any] | None = None):
        super().__init__(name)
        self.__dict__["_real"] = real
        self.__dict__.update(extras or {})
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        full = f"{self.__name__}.{name}"
        if full in MODULES or full in EMPTY:
            return importlib.import_module(full)
        try:
            found = getattr(self._real, name)
        except AttributeError:
            known = [n for n in dir(self._real) if not n.startswith("_")]
            words = nearest(name, known, 3)
            advice = f"; nearest: {', '.join(words)}" if words else ""
            raise AttributeError(f"gradcli has no {full}{advice}") from None
        if full not in HOOKED and isinstance(found, FunctionType) and self.__name__ in WITH_OUT:
            found = self.__dict__[name] = with_out(found)
        return found


WITH_OUT = {"torch", "torch.linalg", "torch.fft", "torch.special"}
"""Modules whose functions take `out=`, the tensor that the result is written into."""
HOOKED = {"torch.save", "torch.load", "torch.manual_seed"}


def with_out(function: Any) -> Any:
    """Return a function of tensors that takes `out=`."""

    @functools.wraps(function)
    def call(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if out is None or not isinstance(result, Tensor):
            return result if out is None else put_parts(result, out)
        return put(result, out)

    return call


def put(result: Tensor, out: Tensor) -> Tensor:
    """Write a result into a tensor, which takes its shape. Raises RuntimeError where a gradient would be lost."""
    if is_grad_enabled() and (result.requires_grad or out.requires_grad):
        raise RuntimeError(
            "out=... arguments don't support automatic differentiation, but one of the arguments requires grad."
        )
    if out.shape == result.shape:
        return out.copy_(result)
    out.data = result.detach().to(out.dtype)
    return out


def put_parts(results: Any, out: Any) -> Any:
    """Write several results into as many tensors."""
    return type(out)(put(result, place) for result, place in zip(results, out, strict=True))


MODULES = {
    "torch": "gradcli",
    "torch.functional": "gradcli",
    "torch.utils": "gradcli.utils",
    "torch.utils.data": "gradcli.utils.data",
    "torch.utils.data.dataloader": "gradcli.utils.data",
    "torch.utils.data.dataset": "gradcli.utils.data",
    "torch.utils.data.sampler": "gradcli.utils.data",
    "torch.utils.checkpoint": "gradcli.utils.checkpoint",
    "torch.utils.benchmark": "gradcli.utils.benchmark",
    "torch.optim.lr_scheduler": "gradcli.optim.lr_scheduler",
    "torch.nn": "gradcli.nn",
    "torch.nn.functional": "gradcli.nn.functional",
    "torch.nn.init": "gradcli.nn.init",
    "torch.nn.parameter": "gradcli.nn.parameter",
    "torch.nn.modules": "gradcli.nn.modules",
    "torch.nn.modules.module": "gradcli.nn.modules.module",
    "torch.nn.utils": "gradcli.nn.utils",
    "torch.autograd": "gradcli.autograd",
    "torch.autograd.function": "gradcli.autograd.function",
    "torch.autograd.functional": "gradcli.autograd.functional",
    "torch.autograd.gradcheck": "gradcli.autograd.gradcheck",
    "torch.autograd.graph": "gradcli.autograd.graph",
    "torch.func": "gradcli.func",
    "torch.linalg": "gradcli.linalg",
    "torch.fft": "gradcli.fft",
    "torch.special": "gradcli.special",
    "torch.optim": "gradcli.optim",
    "torch.optim.optimizer": "gradcli.optim.optimizer",
}
"""PyTorch's modules and ours."""
EMPTY: dict[str, dict[str, Any]] = {
    "torch.cuda": {
        "is_available": lambda: False,
        "device_count": lambda: 0,
        "manual_seed": lambda seed: None,
        "manual_seed_all": lambda seed: None,
        "synchronize": lambda *device: None,
        "empty_cache": lambda: None,
    },
    "torch.accelerator": {
        "is_available": lambda: False,
        "device_count": lambda: 0,
        "current_accelerator": lambda *args, **options: None,
    },
    "torch.xpu": {"is_available": lambda: False},
    "torch.backends": {},
    "torch.backends.mps": {"is_available": lambda: False},
    "torch.backends.cudnn": {"deterministic": False, "benchmark": False, "is_available": lambda: False},
    "torch.version": {"__version__": VERSION, "cuda": None},
}
"""Modules that exist only to say no."""


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
    return TensorType(name, (), {"_wanted": None if dtype is None else np.dtype(dtype)})


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


def sized_item(self: Size, key: Any) -> Any:
    """A part of a size is a size."""
    found = tuple.__getitem__(self, key)
    return Size(found) if isinstance(key, slice) else found


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
            "strided": "torch.strided",
            "set_default_tensor_type": set_default_tensor_type,
            "set_default_device": set_default_device,
            "get_default_device": lambda: gradcli.device("cpu"),
            "typename": lambda x: x.type() if isinstance(x, Tensor) else type(x).__name__,
            "compile": lambda model=None, **options: model if model is not None else lambda function: function,
            "vmap": gradcli.func.vmap,
            "finfo": lambda dtype=np.float32: np.finfo(as_numpy(dtype)),
            "iinfo": lambda dtype: np.iinfo(as_numpy(dtype)),
            "seed": lambda: gradcli.manual_seed(0),
            "initial_seed": lambda: 0,
            "is_tensor": lambda x: isinstance(x, Tensor),
            "set_printoptions": lambda *args, **options: None,
            "use_deterministic_algorithms": lambda *args, **options: None,
            "set_num_threads": lambda n: None,
            "get_num_threads": lambda: 1,
        },
        "torch.autograd": {"Variable": variable},
    }


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds torch and its modules among ours."""

    def __init__(self) -> None:
        self.extras = extras()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return where a module of PyTorch's is found; an error for one that there is not."""
        if name in MODULES or name in EMPTY:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        if name.startswith("torch."):
            words = nearest(name, MODULES, 2)
            advice = f"; nearest: {', '.join(words)}" if words else ""
            raise ModuleNotFoundError(f"gradcli has no {name}{advice}", name=name)
        return None

    def create_module(self, spec: Any) -> ModuleType:
        """Return the module of PyTorch's name."""
        if spec.name in EMPTY:
            return Names(spec.name, ModuleType(spec.name), EMPTY[spec.name])
        try:
            real: Any = importlib.import_module(MODULES[spec.name])
        except ModuleNotFoundError:
            raise ModuleNotFoundError(f"gradcli has no {spec.name}", name=spec.name) from None
        found = Names(spec.name, real, self.extras.get(spec.name))
        if callable(real) and not isinstance(real, type):
            found.__class__ = CallableNames
        return found

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to execute."""


class CallableNames(Names):
    """A module that can be called, as torch.autograd.gradcheck."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call our module."""
        return self._real(*args, **kwargs)


SHOWN: dict[type, tuple[str, str]] = {
    Tensor: ("torch", "Tensor"),
    Size: ("torch", "Size"),
    DType: ("torch", "dtype"),
    Parameter: ("torch.nn.parameter", "Parameter"),
    ShapeError: ("builtins", "RuntimeError"),
    AnomalyError: ("builtins", "RuntimeError"),
    DimensionError: ("builtins", "IndexError"),
    LinAlgError: ("torch._C", "_LinAlgError"),
}
"""Classes of ours, and the module and the name that PyTorch gives them, which users may print."""


def give_names(names: dict[type, tuple[str, str]]) -> None:
    """Let classes have other modules and names."""
    for kind, (module, name) in names.items():
        kind.__module__, kind.__name__, kind.__qualname__ = module, name, name


@contextlib.contextmanager
def as_torch() -> Iterator[None]:
    """Let `import torch` mean this engine, float32 be the default type, and tensors print as PyTorch's."""
    finder = Finder()
    hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "torch"}
    before = defaults.float, naming.prefix, naming.addresses, allowed.float_of_grad
    sys.meta_path.insert(0, finder)
    set_default_dtype(np.float32)
    shown = {kind: (kind.__module__, kind.__name__) for kind in SHOWN}
    give_names(SHOWN)
    Size.__getitem__ = sized_item  # type: ignore
    naming.prefix, naming.addresses, allowed.float_of_grad = "torch", True, True
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        give_names(shown)
        del Size.__getitem__
        for name in [n for n in sys.modules if n.split(".")[0] == "torch"]:
            del sys.modules[name]
        sys.modules.update(hidden)
        kind, naming.prefix, naming.addresses, allowed.float_of_grad = before
        set_default_dtype(kind)
