"""What commands find out, as immutable data. Renderers turn it into text and know nothing else.
Modules beside this one hold what other commands find out.

Arrays are plain ndarrays. Named tuples rather than dataclasses: they cost nothing to import.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class InputGradient(NamedTuple):
    """One input: its value, and the gradient of the output with respect to it, of the same shape.

    grad: None for a leaf of a script that backward never reached, or whose `.grad` the script cleared.
    """

    name: str
    value: np.ndarray
    grad: np.ndarray | None

    @property
    def slope(self) -> np.ndarray:
        """The gradient, zeros where there is none."""
        return np.zeros_like(self.value) if self.grad is None else self.grad


class Gradients(NamedTuple):
    """The value of an output (None when a script ran backward itself) and its gradients.

    retained: the gradients of intermediate results by name. output: the output's name, where it has one. symbolic
    and witnesses: what formulas and other independent answers say, input by input, where that was asked for.
    detached: whether the output depends on no input at all. with_value: whether formats that leave the value out are
    to have it. summary: whether the arrays are too many to be shown.
    """

    target: str
    value: np.ndarray | None
    inputs: tuple[InputGradient, ...]
    retained: dict[str, np.ndarray | None]
    output: str | None = None
    symbolic: tuple[Any, ...] = ()
    witnesses: tuple[Any, ...] = ()
    detached: bool = False
    with_value: bool = False
    summary: bool = False


class Value(NamedTuple):
    """The value of an output, and the output's name, where it has one."""

    target: str
    value: np.ndarray
    output: str | None = None


Result = Any
