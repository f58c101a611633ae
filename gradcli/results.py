"""What commands find out, as immutable data. Renderers turn it into text and know nothing else.

Arrays are plain ndarrays. Named tuples rather than dataclasses: they cost nothing to import.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class InputGradient(NamedTuple):
    """One input: its value, and the gradient of the output with respect to it, of the same shape."""

    name: str
    value: np.ndarray
    grad: np.ndarray


class Gradients(NamedTuple):
    """The value of an output (None when a script ran backward itself) and its gradients.

    retained: the gradients of intermediate results by name. output: the output's name, where it has one.
    """

    target: str
    value: np.ndarray | None
    inputs: tuple[InputGradient, ...]
    retained: dict[str, np.ndarray]
    output: str | None = None


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

    products: how many products a sparse one took. unused: inputs that the output does not depend on.
    """

    target: str
    value: np.ndarray
    blocks: tuple[JacobianBlock, ...]
    output: str | None = None
    products: int | None = None
    unused: tuple[str, ...] = ()


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


class Operation(NamedTuple):
    """A function of the table, described in text. Empty where there is nothing to say."""

    name: str
    aliases: tuple[str, ...]
    kind: str
    signature: str
    doc: str
    derivatives: tuple[tuple[str, str], ...]
    domain: str
    subgradient: str
    twin: str
    numpy: tuple[str, ...]


class Operations(NamedTuple):
    """Functions of the table. full: whether everything about them is wanted, or one line each."""

    entries: tuple[Operation, ...]
    full: bool = False


Result = Any
