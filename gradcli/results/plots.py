"""What there is to draw: functions along one input or two, with their derivatives."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Curve(NamedTuple):
    """A function of one input: x, value and derivative have the same length; nan where there is no value."""

    target: str
    name: str
    x: np.ndarray
    value: np.ndarray
    derivative: np.ndarray
    output: str | None = None


class Surface(NamedTuple):
    """A function of two inputs: value and both slopes have shape (len(x), len(y))."""

    target: str
    names: tuple[str, str]
    x: np.ndarray
    y: np.ndarray
    value: np.ndarray
    slopes: tuple[np.ndarray, np.ndarray]
    output: str | None = None
