"""Make `import torch` in one script mean this engine, and restore everything afterwards."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.abc
import importlib.machinery
import sys
from collections import namedtuple
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

import gradcli

from ..api import resolve
from ..api.signature import LinAlgError
from ..errors import describe_missing
from ..tape.anomaly import AnomalyError
from ..tape.dtypes import DType, as_dtype, as_numpy, defaults, imitation, set_default_dtype
from ..tape.function import Function
from ..tape.printing import get_printoptions, set_printoptions
from ..tape.tensor import Parameter, Size, Tensor
from ..tape.torch_errors import BoundsError, DimensionError, ShapeError

VERSION = "2.13.0+cpu"  # the version of PyTorch that is imitated


class TensorType(type):
    """The class torch.Tensor: every tensor is an instance; calling it makes one from numbers or from a shape."""

    _wanted: Any  # the data type of the tensors; None for any

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Tensor) and (cls._wanted is None or x._data.dtype == cls._wanted)

    def __eq__(cls, other: object) -> bool:
        return cls is other or (other is Tensor and cls._wanted is None)

    def __hash__(cls) -> int:
        return hash(cls.__name__)

    def __call__(cls, *args: Any) -> Any:
        kind = cls._wanted or np.dtype(defaults.float)
        if len(args) == 1 and not isinstance(args[0], int | Size):
            return gradcli.tensor(args[0], dtype=kind)
        return gradcli.zeros(*(args or (0,)), dtype=kind)

    def __getattr__(cls, name: str) -> Any:
        return getattr(Tensor, name)


def tensor_type(name: str, dtype: Any) -> Any:
    known = {} if dtype is None else {"dtype": as_dtype(np.dtype(dtype))}
    return TensorType(name, (), {"_wanted": None if dtype is None else np.dtype(dtype), **known})


LEGACY_TYPES = {
    "Tensor": None, "FloatTensor": np.float32, "DoubleTensor": np.float64, "HalfTensor": np.float16,
    "LongTensor": np.int64, "IntTensor": np.int32, "ShortTensor": np.int16, "CharTensor": np.int8,
    "ByteTensor": np.uint8, "BoolTensor": np.bool_,
}  # fmt: skip
"""PyTorch's legacy tensor types, by name."""


def variable(data: Any, requires_grad: bool = False, volatile: bool = False) -> Tensor:
    """Imitate Variable, PyTorch's old name for a tensor that records gradients."""
    tensor = data if isinstance(data, Tensor) else gradcli.tensor(data)
    return tensor.detach().requires_grad_() if requires_grad else tensor


def with_out(function: Callable) -> Callable:
    """Let a function write its result into the tensor `out`, which it returns."""

    @functools.wraps(function)
    def call(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if out is None:
            return result
        name = function.__name__
        if result.requires_grad:
            raise RuntimeError(f"{name}(): functions with out=... arguments don't support automatic differentiation")
        if out.shape != result.shape:
            raise RuntimeError(f"{name}(): out has shape {list(out.shape)}, but the result {list(result.shape)}")
        return out.copy_(result)

    return call


SVD = namedtuple("SVD", ["U", "S", "V"])


def old_svd(input: Tensor, some: bool = True) -> SVD:
    """The old form of torch.linalg.svd: V instead of its transpose."""
    u, s, vh = gradcli.linalg.svd(input, full_matrices=not some)
    return SVD(u, s, vh.mH)


EXTRAS: dict[str, dict[str, Any]] = {
    "torch": {
        "__version__": VERSION,
        **{name: tensor_type(name, dtype) for name, dtype in LEGACY_TYPES.items()},
        **{name: f"torch.{name}" for name in ("contiguous_format", "channels_last", "preserve_format")},
        "get_default_device": lambda: gradcli.device("cpu"),
        "set_default_device": lambda device: gradcli.device(device or "cpu"),
        "svd": old_svd,
        "trace": resolve("trace"),
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
"""Names in PyTorch's modules that gradcli's lack."""


class NamedAsInTorch(ModuleType):
    """A module named as in PyTorch, whose attributes are those of a gradcli module, or extras."""

    def __init__(self, name: str, real: Any, extras: dict[str, Any]):
        super().__init__(name)
        self.__dict__.update({"_real": real, **extras})
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        full = f"{self.__name__}.{name}"
        if full in TORCH_MODULES or full in EMPTY or name == "torch":
            return importlib.import_module("torch" if name == "torch" else full)
        if name == "__all__":
            own = [n for n, x in self.__dict__.items() if not n.startswith("_") and not isinstance(x, ModuleType)]
            return [*own, *getattr(self._real, name, ())]
        if name.startswith("__"):
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        try:
            found = getattr(self._real, name)
        except AttributeError:
            raise AttributeError(describe_missing(full, self.public())) from None
        if isinstance(found, FunctionType) and self.__name__ in WITH_OUT:
            self.__dict__[name] = found = with_out(found)
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call a module that is also a function, such as torch.autograd.gradcheck."""
        return self._real(*args, **kwargs)

    def public(self) -> list[str]:
        return [n for n in dir(self._real) if not n.startswith("_")]


AUTOGRAD = ("function", "functional", "gradcheck", "graph")
TORCH_MODULES = {
    **{f"torch{path}": f"gradcli{path}" for path in ("", ".func", ".linalg", ".fft", ".special", ".optim", ".nn")},
    **{f"torch.nn.{name}": f"gradcli.nn.{name}" for name in "functional init parameter modules utils".split()},
    **{f"torch.autograd{path}": f"gradcli.autograd{path}" for path in ("", *map(".{}".format, AUTOGRAD))},
    "torch.functional": "gradcli",
    "torch.nn.modules.module": "gradcli.nn.module",
    "torch.optim.lr_scheduler": "gradcli.optim.lr_scheduler",
    "torch.optim.optimizer": "gradcli.optim",
    "torch.utils": "gradcli.utils",
    "torch.utils.data": "gradcli.utils.data",
}
WITH_OUT = ("torch", "torch.linalg", "torch.special")
"""Modules whose functions have an argument `out`."""
ABSENT = {"is_available": lambda: False}
NO_DEVICE = {**ABSENT, "device_count": lambda: 0}
EMPTY: dict[str, dict[str, Any]] = {
    "torch.cuda": {
        **NO_DEVICE,
        **dict.fromkeys("manual_seed manual_seed_all synchronize empty_cache".split(), lambda *_: None),
    },
    "torch.accelerator": {**NO_DEVICE, "current_accelerator": lambda *args, **options: None},
    "torch.xpu": ABSENT,
    "torch.backends": {},
    "torch.backends.mps": ABSENT,
    "torch.backends.cudnn": {
        **ABSENT, "flags": lambda **options: contextlib.nullcontext(), "deterministic": False, "benchmark": False
    },
    "torch.version": {"__version__": VERSION, "cuda": None},
}  # fmt: skip
"""Modules for features that gradcli does not have."""


class TorchFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name in TORCH_MODULES or name in EMPTY:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        if name.startswith("torch."):
            parent = sys.modules.get(name.rpartition(".")[0])
            known = parent.public() if isinstance(parent, NamedAsInTorch) else TORCH_MODULES
            raise ModuleNotFoundError(describe_missing(name, known))  # with name=, `from` would hide this message
        return None

    def create_module(self, spec: Any) -> ModuleType:
        if spec.name in EMPTY:
            return NamedAsInTorch(spec.name, ModuleType(spec.name), EMPTY[spec.name])
        return NamedAsInTorch(spec.name, importlib.import_module(TORCH_MODULES[spec.name]), EXTRAS.get(spec.name, {}))

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module is complete."""


SHOWN_NAMES: dict[type, tuple[str, str]] = {
    Tensor: ("torch", "Tensor"),
    Size: ("torch", "Size"),
    DType: ("torch", "dtype"),
    Parameter: ("torch.nn.parameter", "Parameter"),
    Function: ("torch.autograd.function", "Function"),
    **dict.fromkeys((ShapeError, AnomalyError, BoundsError), ("builtins", "RuntimeError")),
    DimensionError: ("builtins", "IndexError"),
    LinAlgError: ("torch._C", "_LinAlgError"),
}
"""For each of gradcli's classes, the module and name that PyTorch prints."""


def give_names(names: dict[type, tuple[str, str]]) -> None:
    for kind, (module, name) in names.items():
        kind.__module__, kind.__name__, kind.__qualname__ = module, name, name


def names_loaded() -> list[str]:
    return [name for name in sys.modules if name.split(".")[0] == "torch"]


@contextlib.contextmanager
def as_torch() -> Iterator[None]:
    """Let `import torch` mean this engine, with float32 and PyTorch's print format; nested blocks change nothing."""
    if any(isinstance(finder, TorchFinder) for finder in sys.meta_path):
        yield
        return
    finder = TorchFinder()
    hidden = {name: sys.modules.pop(name) for name in names_loaded()}
    default, layout = defaults.float, get_printoptions()
    sys.meta_path.insert(0, finder)
    set_default_dtype(np.float32)
    shown = {kind: (kind.__module__, kind.__name__) for kind in SHOWN_NAMES}
    give_names(SHOWN_NAMES)
    imitation.of_torch = True
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        give_names(shown)
        for name in names_loaded():
            del sys.modules[name]
        sys.modules.update(hidden)
        imitation.of_torch = False
        set_default_dtype(default)
        set_printoptions(**layout)
