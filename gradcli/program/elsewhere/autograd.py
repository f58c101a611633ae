"""Functions of HIPS autograd, with its primitives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import autograd.builtins  # tuples as arguments
import autograd.numpy as anp
import numpy as np
from autograd.core import make_jvp, make_vjp

from ..outputs import arrays_in
from .arguments import Arguments
from .base import Arrays, ElsewhereError
from .framework import FrameworkCall, free_name


class AutogradCall(FrameworkCall):
    """A call in HIPS autograd: reverse and forward mode by its core, on a tuple of all inputs."""

    framework = "HIPS autograd"

    @classmethod
    def of(
        cls, function: Any, given: Mapping[str, Any], fixed: Callable[[str], bool], title: str, single: bool
    ) -> AutogradCall:
        """Return the call of a function."""
        return cls(function, Arguments(given, fixed), title, single=single)

    def evaluate(self, at: Arrays) -> Any:
        """Return the joined output."""
        return self.joined(self.result({name: leaf(x) for name, x in at.items()}))

    def plain(self, out: Any) -> np.ndarray:
        """Return the joined output as an array."""
        return np.asarray(out)

    def function_of(self, names: Sequence[str]) -> Callable:
        """Return the joined output as a function of a tuple of arrays."""
        return lambda xs: self.joined(self.result({name: xs[i] for i, name in enumerate(names)}))

    def linearize(self, at: Arrays) -> Callable[[np.ndarray], dict[str, np.ndarray]]:
        """Return products by reverse mode; HIPS gives the conjugate for complex inputs."""
        vjp, out = make_vjp(self.function_of(list(at)), tuple(map(leaf, at.values())))

        def back(cotangent: np.ndarray) -> dict[str, np.ndarray]:
            found = vjp(leaf(np.asarray(cotangent, np.asarray(out).dtype).reshape(np.shape(out))))
            return {name: np.conj(np.asarray(x)) for name, x in zip(at, found, strict=True)}

        return back

    def push(self, at: Arrays, tangents: Arrays) -> np.ndarray:
        """Return a product by forward mode."""
        ahead = make_jvp(self.function_of(list(at)), tuple(map(leaf, at.values())))
        out, found = ahead(tuple(leaf(tangents[name]) for name in at))
        return np.zeros(np.shape(out)) if found is None else np.asarray(found)

    def joined(self, result: Any) -> Any:
        """Return an output as one real array. Raises ElsewhereError for one without floating-point numbers."""
        parts = self.note_layout(list(arrays_in(result, is_float)), anp.iscomplexobj)
        if not parts:
            raise ElsewhereError(f"{self.title} returned {type(result).__name__}, and no array of real numbers")
        pairs = [anp.stack([anp.real(x), anp.imag(x)], -1) if anp.iscomplexobj(x) else x for x in parts]
        return pairs[0] if len(pairs) == 1 else anp.concatenate([anp.reshape(x, (-1,)) for x in pairs])

    def vjp_function(self, cotangent: np.ndarray) -> AutogradCall:
        """Return the vjp as a function of inputs and cotangent that can be differentiated itself."""
        names = list(self.inputs)

        def product(*given: Any) -> tuple:
            back, out = make_vjp(self.function_of(names), autograd.builtins.tuple(given[:-1]))
            found = back(anp.reshape(given[-1], anp.shape(out)))
            return tuple(anp.conj(found[i]) for i in range(len(names)))

        given = {**self.inputs, free_name("gradient", self.inputs): cotangent}
        return AutogradCall(product, Arguments(given), f"the derivative of {self.title}")


def leaf(x: np.ndarray) -> Any:
    """Return an array of its own; a number where it has no axes."""
    return np.array(x) if np.ndim(x) else np.asarray(x)[()]


def is_float(x: Any) -> bool:
    """Return whether something is an array of floating-point or complex numbers, or a box that holds one."""
    raw = x
    while hasattr(raw, "_value"):
        raw = raw._value
    return isinstance(raw, float | complex) or (isinstance(raw, np.ndarray | np.generic) and raw.dtype.kind in "fc")
