"""Data types with PyTorch's names and promotion rules, and the only device, the CPU."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

TITLES = {
    "float16": "Half", "float32": "Float", "float64": "Double", "complex64": "ComplexFloat",
    "complex128": "ComplexDouble", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
    "uint8": "Byte", "bool": "Bool",
}  # fmt: skip


class DType:
    """A data type. `numpy` is the NumPy type; NumPy functions also accept a DType.

    kind: NumPy's letter for it. itemsize: bytes per element. title: PyTorch's name in messages, such as Float.
    """

    def __init__(self, name: str, numpy_type: Any):
        self.name = name
        self.dtype = self.numpy = np.dtype(numpy_type)  # np.dtype(self) reads `self.dtype`
        self.kind, self.itemsize = self.dtype.kind, self.dtype.itemsize
        self.is_floating_point, self.is_complex = self.kind in "fO", self.kind == "c"
        self.title = TITLES.get(name, name)

    def __repr__(self) -> str:
        return f"{package_name()}.{self.name}"

    def __reduce__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self.dtype == other.dtype
        try:
            return other is not None and self.dtype == np.dtype(other)  # type: ignore[call-overload]
        except TypeError:
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self.dtype)


class imitation:  # noqa: N801 - a namespace
    """Whether `import torch` means this package. If so, names, printing and strictness are PyTorch's.

    For example, `float()` of a tensor that requires grad is then allowed, although it silently drops the graph.
    """

    of_torch = False


def package_name() -> str:
    return "torch" if imitation.of_torch else "gradcli"


DTYPES: dict[np.dtype, DType] = {np.dtype(name): DType(name, name) for name in TITLES}
float16, float32, float64, complex64, complex128, int8, int16, int32, int64, uint8, bool_ = DTYPES.values()
DTYPE_ALIASES = {
    "half": float16, "float": float32, "double": float64, "cfloat": complex64, "cdouble": complex128,
    "char": int8, "short": int16, "int": int32, "long": int64, "byte": uint8, "bool": bool_,
}  # fmt: skip


class defaults:  # noqa: N801 - a namespace
    """The type of tensors made from Python floats, and of floating-point results of operations on integers."""

    float: np.dtype = np.dtype(np.float64)


COMPLEX_OF: dict[np.dtype, np.dtype] = {float32.dtype: complex64.dtype, float64.dtype: complex128.dtype}


def as_numpy(dtype: Any) -> np.dtype | None:
    """Return the NumPy type for any name of a type; Python's float and complex mean the default types."""
    if dtype is None:
        return None
    if dtype is float:
        return defaults.float
    if dtype is complex:
        return COMPLEX_OF[defaults.float]
    if isinstance(dtype, str) and dtype in DTYPE_ALIASES:
        return DTYPE_ALIASES[dtype].dtype
    try:
        return np.dtype(dtype)
    except TypeError:
        raise TypeError(f"{dtype!r} is not a data type; use one such as gradcli.float64") from None


def as_dtype(dtype: Any) -> DType:
    known = DTYPES.get(dtype)
    return known if known is not None else DTYPES.setdefault(dtype, DType(str(dtype), dtype))


def set_default_dtype(dtype: Any) -> None:
    """Set the floating-point type of tensors made from Python floats. Raises TypeError for other kinds."""
    default = as_numpy(dtype)
    if default is None or default.kind != "f":
        raise TypeError(f"only floating-point types are supported as the default type, not {dtype!r}")
    defaults.float = default


def get_default_dtype() -> DType:
    """Return the floating-point type of tensors made from Python floats."""
    return as_dtype(defaults.float)


CATEGORY_RANK = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3, "O": 4}


def join(a: np.dtype, b: np.dtype) -> np.dtype:
    """Return the common type of two types: the higher category wins; within a category, NumPy's rules apply."""
    if CATEGORY_RANK[a.kind] == CATEGORY_RANK[b.kind]:
        return np.promote_types(a, b)
    low, high = (a, b) if CATEGORY_RANK[a.kind] < CATEGORY_RANK[b.kind] else (b, a)
    return np.promote_types(low, high) if low.kind == "f" else high


def result_type(operands: list) -> np.dtype:
    """Return the common type of raw operands: arrays outrank 0-d arrays, which outrank Python numbers."""
    groups: list[np.dtype | None] = [None, None, None]
    for x in operands:
        if isinstance(x, np.ndarray | np.generic):
            group, dtype = (0 if x.ndim else 1), x.dtype
        elif isinstance(x, int):
            group, dtype = 2, np.dtype(np.bool_ if isinstance(x, bool) else np.int64)
        else:
            group, dtype = 2, COMPLEX_OF[defaults.float] if isinstance(x, complex) else defaults.float
        joined = groups[group]
        groups[group] = dtype if joined is None else join(joined, dtype)
    result: np.dtype | None = None
    for dtype in groups:
        if dtype is not None and (result is None or CATEGORY_RANK[dtype.kind] > CATEGORY_RANK[result.kind]):
            if result is not None and result.kind == "f" and dtype.kind == "c":
                dtype = COMPLEX_OF.get(result, dtype)
            result = dtype
    return result if result is not None else defaults.float


def refuse_device(device: object) -> NoReturn:
    raise RuntimeError(f"gradcli computes on the CPU only: device={str(device)!r} is not available")


class Device:
    """A device; only the CPU exists."""

    type = "cpu"
    index = None

    def __init__(self, type: str = "cpu", index: int | None = None):
        if not str(type).startswith("cpu"):
            refuse_device(type)

    def __repr__(self) -> str:
        return "device(type='cpu')"

    def __str__(self) -> str:
        return "cpu"

    def __eq__(self, other: object) -> bool:
        return str(other) == "cpu"

    def __hash__(self) -> int:
        return hash("cpu")


cpu = Device()
