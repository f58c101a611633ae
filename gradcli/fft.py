"""Fourier transforms with the names and arguments of torch.fft."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .api.create import make_leaf
from .api.products import as_torch
from .api.wrap import from_table, missing, operand, rename_function
from .rules import fourier  # noqa: F401 - enters the functions of spectra
from .rules.fourier import DOCS, KINDS, transform
from .rules.table import TABLE
from .tape.dtypes import defaults
from .tape.tensor import Tensor

fftshift, ifftshift = (from_table(TABLE[f"fft.{name}"]) for name in ("fftshift", "ifftshift"))


def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Frequencies of fft for n elements at distance d."""
    return make_leaf(np.fft.fftfreq(n, d), dtype or defaults.float, requires_grad, device)


def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Frequencies of rfft for n elements at distance d."""
    return make_leaf(np.fft.rfftfreq(n, d), dtype or defaults.float, requires_grad, device)


def run_transform(kind: str, title: str, input: Any, sizes: Any, dim: Any, norm: Any) -> Tensor:
    """Transform. Raises RuntimeError for complex input of a real transform, sizes and norms that do not fit."""
    try:
        return as_torch(title, transform, (operand(input), kind, sizes, dim, norm), {})
    except TypeError as error:
        raise RuntimeError(str(error)) from None


def one_axis(kind: str) -> Callable:
    """Return the transform along one axis."""

    def function(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
        return run_transform(kind, kind, input, None if n is None else (n,), (dim,), norm)

    return rename_function(function, kind, f"{DOCS[kind]} along dim, cut or filled up with zeros to n elements.")


def several_axes(kind: str, name: str, default: Any) -> Callable:
    """Return the transform over several axes."""

    def function(input: Tensor, s: Any = None, dim: Any = default, norm: str | None = None) -> Tensor:
        return run_transform(kind, name, input, s, dim, norm)

    return rename_function(function, name, f"{DOCS[kind]} over dim, cut or filled up with zeros to the lengths s.")


FUNCTIONS: dict[str, Callable] = {}
for _kind in KINDS:
    FUNCTIONS[_kind] = one_axis(_kind)
    FUNCTIONS[f"{_kind}2"] = several_axes(_kind, f"{_kind}2", (-2, -1))
    FUNCTIONS[f"{_kind}n"] = several_axes(_kind, f"{_kind}n", None)

globals().update(FUNCTIONS)
__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]
__all__ += list(FUNCTIONS)
__getattr__ = missing(__name__, lambda: __all__)
