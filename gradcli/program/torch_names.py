"""`import torch` inside one script: PyTorch's module names for this engine, and nothing left behind afterwards."""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

import gradcli

from ..errors import nearest
from ..tape.dtypes import as_dtype, as_numpy, defaults, naming, set_default_dtype
from ..tape.plan import queue_callback
from ..tape.tensor import Tensor, allowed
from .outputs import with_out

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
            if self.__name__ in WITH_OUT:
                found = self.__dict__[name] = with_out(found)
            return found
        except AttributeError:
            known = [n for n in dir(self._real) if not n.startswith("_")]
            words = nearest(name, known, 3)
            advice = f"; nearest: {', '.join(words)}" if words else ""
            raise AttributeError(f"gradcli has no {full}{advice}") from None


WITH_OUT = {"torch", "torch.linalg", "torch.special", "torch.fft"}
"""Modules whose functions take out=."""
MODULES = {
    "torch": "gradcli",
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
    "torch.cuda": {"is_available": lambda: False, "device_count": lambda: 0, "manual_seed_all": lambda seed: None},
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

    def __call__(cls, *args: Any) -> Any:
        """Return a tensor of the given numbers, or an uninitialised one of the given lengths."""
        kind = cls._wanted or np.dtype(defaults.float)  # type: ignore[attr-defined]
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
    "Half": np.float16,
    "Float": np.float32,
    "Double": np.float64,
    "Byte": np.uint8,
    "Char": np.int8,
    "Short": np.int16,
    "Int": np.int32,
    "Long": np.int64,
    "Bool": np.bool_,
}


class Engine:
    """What Variable._execution_engine offers."""

    queue_callback = staticmethod(queue_callback)


def variable(data: Any, requires_grad: bool = False, volatile: bool = False) -> Tensor:
    """The old name for a tensor that backward knows of."""
    tensor = data if isinstance(data, Tensor) else gradcli.tensor(data)
    return tensor.detach().requires_grad_() if requires_grad else tensor


variable._execution_engine = Engine  # type: ignore[attr-defined]


def extras() -> dict[str, dict[str, Any]]:
    """Return what PyTorch's modules have beside the names of ours."""
    types = {"Tensor": None, **{f"{word}Tensor": kind for word, kind in TYPES.items()}}
    return {
        "torch": {
            "__version__": VERSION,
            **{name: tensor_type(name, dtype) for name, dtype in types.items()},
            "finfo": lambda dtype=None: np.finfo(as_numpy(dtype) or defaults.float),
            "iinfo": lambda dtype: np.iinfo(as_numpy(dtype)),
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


@contextlib.contextmanager
def as_torch() -> Iterator[None]:
    """Let `import torch` mean this engine, float32 be the default type, and tensors print as PyTorch's."""
    finder = Finder()
    hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "torch"}
    before = defaults.float, naming.prefix, naming.addresses, allowed.float_of_grad
    sys.meta_path.insert(0, finder)
    set_default_dtype(np.float32)
    naming.prefix, naming.addresses, allowed.float_of_grad = "torch", True, True
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [n for n in sys.modules if n.split(".")[0] == "torch"]:
            del sys.modules[name]
        sys.modules.update(hidden)
        kind, naming.prefix, naming.addresses, allowed.float_of_grad = before
        set_default_dtype(kind)
