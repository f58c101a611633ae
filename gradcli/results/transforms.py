"""What jacobian, hessian, vjp, jvp and hvp find out."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from . import comparison_code
from .labels import Part, label, label_entry, label_pair, value_part


class JacobianBlock(NamedTuple):
    """The derivatives of an output for one input: shape output.shape + value.shape.

    sparse: a scipy.sparse array of shape (output.size, value.size) instead.
    """

    name: str
    value: np.ndarray
    block: np.ndarray | None
    sparse: Any = None


class Jacobian(NamedTuple):
    """The value of an output, and its Jacobian block by block. output: the output's name, where it has one.

    products: how many products a sparse one took. unused: inputs that the output does not depend on. symbolic: what
    formulas say of each block, and witnesses: the report of a check, where these were asked for. drawn: whether heat
    maps are wanted instead of numbers.
    """

    target: str
    value: np.ndarray
    blocks: tuple[JacobianBlock, ...]
    output: str | None = None
    products: int | None = None
    unused: tuple[str, ...] = ()
    symbolic: tuple[Any, ...] = ()
    drawn: bool = False
    witnesses: tuple[Any, ...] = ()

    @property
    def arrays(self) -> Iterator[Part]:
        yield from value_part(self)
        for block in self.blocks:
            what = f"the block of {block.name}"
            if block.block is not None:
                yield what, block.block, label_pair(self.output or "out", self.value.ndim, block.name)
                continue
            entries = block.sparse.tocoo()
            yield what, entries.data, partial(label_entry, entries)

    @property
    def exit_code(self) -> int:
        return comparison_code(self)


class Hessian(NamedTuple):
    """The value of a scalar output, its inputs' values, and the second derivatives.

    blocks: for inputs a and b, blocks[a][b] has shape a.shape + b.shape.
    """

    target: str
    value: np.ndarray
    inputs: dict[str, np.ndarray]
    blocks: dict[str, dict[str, np.ndarray]]
    output: str | None = None
    unused: tuple[str, ...] = ()
    symbolic: tuple[Any, ...] = ()

    @property
    def arrays(self) -> Iterator[Part]:
        yield from value_part(self)
        for name, row in self.blocks.items():
            for other, x in row.items():
                yield f"the block of {other}", x, label_pair(name, self.inputs[name].ndim, other)

    @property
    def exit_code(self) -> int:
        return comparison_code(self)

    @property
    def whole(self) -> np.ndarray | None:
        """The Hessian as one matrix, where there are several inputs and all are single numbers."""
        if len(self.inputs) < 2 or any(x.ndim for x in self.inputs.values()):
            return None
        return np.array([list(row.values()) for row in self.blocks.values()])


class Products(NamedTuple):
    """The value of an output, and a product of its derivative with a vector.

    kind: `vjp` and `hvp` have one array per input, shaped like it; `jvp` has one, shaped like the output,
    under the output's name.
    """

    target: str
    kind: str
    value: np.ndarray
    parts: dict[str, np.ndarray]
    output: str | None = None
    unused: tuple[str, ...] = ()
    witnesses: tuple[Any, ...] = ()

    @property
    def arrays(self) -> Iterator[Part]:
        yield from value_part(self)
        for name, x in self.parts.items():
            yield f"the {self.kind} for {name}", x, partial(label, name)

    @property
    def exit_code(self) -> int:
        return comparison_code(self)
