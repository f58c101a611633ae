"""Sample calls of the table as plain functions of arrays."""

import zlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import gradcli.api  # noqa: F401 - gives Tensors their operators
from gradcli.rules import full_table
from gradcli.rules.table import REAL, A, Primitive, Sample
from gradcli.tape.tensor import Tensor

CELLS = 98
"""Points of the grid from which elements are drawn without repetition, so that no two are nearly equal."""


class Stand:
    """A function that takes the place of a table entry in a Call."""

    kind = "composition"

    def __init__(self, name: str, function: Callable, *domain: tuple[float, float]):
        self.name, self.function, self.domain = name, function, domain or (REAL,)


class Call:
    """One sample of one entry: `arrays` are its operands, `on(values)` calls the entry on other operands."""

    def __init__(self, entry: Primitive | Stand, number: int, sample: Sample):
        self.entry, self.number, self.sample = entry, number, sample
        rng = np.random.default_rng(zlib.crc32(f"{entry.name}{number}".encode()))
        self.cells = iter(rng.permutation(CELLS))
        self.arrays: list[np.ndarray] = []
        self.template = [self._take(x) for x in sample.args]

    def _take(self, x: Any) -> Callable[[list], Any]:
        if isinstance(x, list):
            parts = [self._take(item) for item in x]
            return lambda values: [part(values) for part in parts]
        if not isinstance(x, A):
            return lambda values: x
        place = len(self.arrays)
        low, high = self.entry.domain[min(place, len(self.entry.domain) - 1)]
        size = int(np.prod(x.shape))
        cells = np.array([next(self.cells) for _ in range(size)], float).reshape(x.shape)
        self.arrays.append(np.asarray(low + (high - low) * (cells + 0.5) / CELLS))
        return lambda values: values[place]

    def on(self, values: list) -> Any:
        """Call the entry's function on these operands."""
        return self.entry.function(*(part(values) for part in self.template), **self.sample.kwargs)

    def plain(self, *arrays: np.ndarray) -> np.ndarray:
        """Call on arrays and return an array."""
        if self.entry.kind == "composition":
            return np.asarray(self.on([Tensor._wrap(np.asarray(x), None) for x in arrays])._data)
        return np.asarray(self.on(list(arrays)))

    def leaves(self, dtype: Any = float) -> list[Tensor]:
        """Return the operands as leaves that require grad."""
        return [Tensor._wrap(np.array(x, dtype), None).requires_grad_() for x in self.arrays]

    def __repr__(self) -> str:
        return f"{self.entry.name}-{self.number}"

    def describe(self) -> str:
        """Describe the call in one line: entry, number and arguments, with operands as shapes."""
        words = [*map(show, self.sample.args), *(f"{name}={x!r}" for name, x in self.sample.kwargs.items())]
        return f"{self!r}: {self.entry.name}({', '.join(words)})"


def show(argument: Any) -> str:
    """Format an argument of a sample for a message."""
    if isinstance(argument, list):
        return f"[{', '.join(map(show, argument))}]"
    return f"array{argument.shape}" if isinstance(argument, A) else repr(argument)


class Given(Call):
    """A function of Tensors and its operands. If it returns a tuple, only the first item is used."""

    def __init__(self, function: Callable, arrays: Iterable):
        self.entry, self.number, self.function = Stand("given", function), 0, function
        self.arrays = [np.array(x, float) for x in arrays]

    def on(self, values: list) -> Any:
        result = self.function(*values)
        return result[0] if isinstance(result, tuple) else result


def calls(*kinds: str) -> list[Call]:
    """Return all sample calls of entries of these kinds (all differentiable ones if none is named)."""
    wanted = kinds or ("elementwise", "linear", "general", "composition")
    return [
        Call(entry, i, sample)
        for entry in full_table().values()
        if entry.kind in wanted
        for i, sample in enumerate(entry.samples)
    ]


def numeric_gradient(function: Callable, arrays: list[np.ndarray], v: np.ndarray) -> list[np.ndarray]:
    """Return d(v . function)/d(each array) by sixth-order central differences."""
    weights = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
    grads = []
    for i, x in enumerate(arrays):
        grad = np.zeros(x.shape)
        for place in np.ndindex(x.shape):
            step = 2e-3 * max(1.0, abs(float(x[place])))
            total = 0.0
            for k, w in weights.items():
                up, down = x.copy(), x.copy()
                up[place] += k * step
                down[place] -= k * step
                values = [[*arrays[:i], y, *arrays[i + 1 :]] for y in (up, down)]
                total += w * float(np.sum(v * (function(*values[0]) - function(*values[1]))))
            grad[place] = total / step
        grads.append(grad)
    return grads
