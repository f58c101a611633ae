"""Functions of HIPS autograd, with its primitives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import autograd.builtins
import autograd.numpy as anp
import numpy as np
from autograd.core import make_jvp, make_vjp

from ...program.arguments import arrays_in
from ..claim import Arrays
from .framework import FrameworkCall, join_real


class Adapter(FrameworkCall):
    """A call in HIPS autograd: reverse mode by make_vjp, forward mode by make_jvp, on a tuple of all inputs."""

    engine = "autograd"

    def compute(self, at: Arrays) -> Any:
        return self.join_result(self.result({name: leaf(x) for name, x in at.items()}))

    def function_of(self, names: Sequence[str]) -> Callable:
        return lambda xs: self.join_result(self.result({name: xs[i] for i, name in enumerate(names)}))

    def linearize(self, at: Arrays) -> tuple[np.ndarray, Callable[[np.ndarray], dict[str, np.ndarray]]]:
        vjp, out = make_vjp(self.function_of(list(at)), tuple(map(leaf, at.values())))

        def back(cotangent: np.ndarray) -> dict[str, np.ndarray]:
            products = vjp(leaf(np.asarray(cotangent, np.asarray(out).dtype).reshape(np.shape(out))))
            return {name: np.conj(np.asarray(x)) for name, x in zip(at, products, strict=True)}

        return np.asarray(out), back

    def along(self, at: Arrays, tangents: Arrays) -> np.ndarray:
        jvp_fn = make_jvp(self.function_of(list(at)), tuple(map(leaf, at.values())))
        out, tangent = jvp_fn(tuple(leaf(tangents[name]) for name in at))
        return np.zeros(np.shape(out)) if tangent is None else np.asarray(tangent)

    def join_result(self, result: Any) -> Any:
        return join_real(self.note_layout(result, list(arrays_in(result, is_float_box)), anp.iscomplexobj), anp)

    def product(self, *given: Any) -> tuple:
        back, out = make_vjp(self.function_of(list(self.at)), autograd.builtins.tuple(given[:-1]))
        products = back(anp.reshape(given[-1], anp.shape(out)))
        return tuple(anp.conj(products[i]) for i in range(len(self.at)))


def leaf(x: np.ndarray) -> Any:
    """Return a copy of an array, or a NumPy scalar if it has no axes."""
    return np.array(x) if np.ndim(x) else np.asarray(x)[()]


def is_float_box(x: Any) -> bool:
    """Report whether something is an array of floating-point or complex numbers, or a box with one."""
    raw = x
    while hasattr(raw, "_value"):
        raw = raw._value
    return isinstance(raw, float | complex) or (isinstance(raw, np.ndarray | np.generic) and raw.dtype.kind in "fc")
