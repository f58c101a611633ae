"""Which outputs depend on which inputs: the sparsity pattern of a Jacobian, read off the recorded graph.

A pattern is a superset of the true one. As long as every element depends on few inputs, it is a list of integer
arrays of the result's shape that hold positions of inputs (-1: none); operations that only move elements work
on these as they are. Otherwise it is a sparse matrix of booleans.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import GradcliError
from ..rules.shapes import kept_shape
from ..rules.table import ELEMENTWISE, LANES, PRODUCT, REDUCTION, SELECTION
from ..tape.node import Node
from ..tape.tensor import Tensor
from ..tape.walk import reachable

FEW = 64
"""Integer arrays up to which a pattern is kept as such."""
MOST = 50_000_000
"""Entries of a pattern from which on the Jacobian is not worth treating as sparse."""


class Pattern:
    """The inputs that each element of a result depends on.

    maps: integer arrays of `shape`; matrix: a scipy.sparse array of booleans with a row per element. One of
    the two is None.
    """

    def __init__(self, shape: tuple, maps: list | None, matrix: Any = None, inputs: int = 0):
        self.shape = tuple(shape)
        self.maps = maps
        self.matrix = matrix
        self.inputs = inputs

    def as_matrix(self) -> Any:
        """Return the pattern as a sparse matrix in rows."""
        if self.matrix is not None:
            return self.matrix
        from scipy.sparse import csr_array

        assert self.maps is not None
        size = int(np.prod(self.shape))
        columns = np.stack([m.ravel() for m in self.maps], -1) if self.maps else np.zeros((size, 0), np.int32)
        columns.sort(axis=-1)
        keep = columns >= 0
        keep[:, 1:] &= columns[:, 1:] != columns[:, :-1]
        starts = np.concatenate([[0], np.cumsum(keep.sum(axis=-1))])
        indices = columns[keep]
        return csr_array((np.ones(len(indices), bool), indices, starts), shape=(size, self.inputs))

    def select(self, places: np.ndarray) -> Pattern:
        """Return the pattern of elements chosen by position, -1 for those that are constant."""
        flat = places.ravel()
        if self.maps is not None:
            maps = [np.where(flat >= 0, m.ravel()[flat], -1).reshape(places.shape) for m in self.maps]
            return Pattern(places.shape, maps, inputs=self.inputs)
        rows = self.matrix[np.maximum(flat, 0)]
        if (flat < 0).any():
            from scipy.sparse import diags_array

            kept = diags_array((flat >= 0).astype(np.int8), dtype=np.int8)
            rows = (kept @ rows).astype(bool).tocsr()
            rows.eliminate_zeros()
        return Pattern(places.shape, None, rows, self.inputs)

    def broadcast(self, shape: tuple) -> Pattern:
        """Return the pattern of the result broadcast to a shape."""
        if self.shape == shape:
            return self
        if self.maps is not None:
            return Pattern(shape, [np.broadcast_to(m, shape) for m in self.maps], inputs=self.inputs)
        size = int(np.prod(self.shape))
        return self.select(np.broadcast_to(np.arange(size).reshape(self.shape), shape))

    def reduce(self, axis: tuple, keepdims: bool) -> Pattern:
        """Return the pattern of a reduction over negative axes."""
        kept = tuple(n for i, n in enumerate(self.shape, -len(self.shape)) if i not in axis)
        final = kept_shape(self.shape, axis) if keepdims else kept
        last = range(-len(axis), 0)
        lanes = int(np.prod([self.shape[a] for a in axis]))
        if self.maps is not None and len(self.maps) * lanes <= FEW:
            maps = []
            for m in self.maps:
                moved = np.moveaxis(m, axis, last).reshape((*kept, lanes))
                maps += [moved[..., i].reshape(final) for i in range(lanes)]
            return Pattern(final, maps, inputs=self.inputs)
        size = int(np.prod(self.shape))
        places = np.moveaxis(np.arange(size).reshape(self.shape), axis, last).reshape((-1, lanes))
        return Pattern(final, None, gather_pattern(places, size) @ self.as_matrix(), self.inputs)


def gather_pattern(places: np.ndarray, size: int) -> Any:
    """Return the boolean matrix whose row i has ones at the columns places[i]."""
    from scipy.sparse import csr_array

    rows, width = places.shape
    starts = np.arange(rows + 1) * width
    return csr_array((np.ones(places.size, bool), places.ravel(), starts), shape=(rows, size))


def union(patterns: Sequence[Pattern]) -> Pattern:
    """Return the pattern of a result that depends on all that these, of one shape, depend on."""
    first = patterns[0]
    if len(patterns) == 1:
        return first
    if all(p.maps is not None for p in patterns):
        maps: list = []
        for m in (m for p in patterns for m in p.maps or ()):
            if not any(m is other or same(m, other) for other in maps):
                maps.append(m)
        if len(maps) <= FEW:
            return Pattern(first.shape, maps, inputs=first.inputs)
    total = first.as_matrix()
    for p in patterns[1:]:
        total = total + p.as_matrix()
    return Pattern(first.shape, None, total.astype(bool), first.inputs)


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether two integer arrays are equal; a glance at one element settles most cases."""
    return a.size == 0 or (
        a.flat[0] == b.flat[0] and a.flat[a.size - 1] == b.flat[b.size - 1] and bool((a == b).all())
    )


def sparsity(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> list[Pattern | None]:
    """Return the pattern of every output; None for one that depends on no input.

    Positions count through the elements of all inputs, in order. Raises GradcliError for a pattern that is
    not sparse.
    """
    patterns: dict[Node, Pattern] = {}
    total = sum(x._data.size for x in inputs)
    start = 0
    kind = np.int32 if total < 2**31 else np.int64
    for x in inputs:
        places = np.arange(start, start + x._data.size, dtype=kind).reshape(x._data.shape)
        patterns[x._node] = Pattern(x._data.shape, [places], inputs=total)
        start += x._data.size
    for node in reachable([out._node for out in outputs if out._node is not None]):
        if node not in patterns:
            operands = [None if p is None else patterns.get(p) for p in node.parents]
            if any(p is not None for p in operands):
                patterns[node] = result_pattern(node, operands)
    return [None if out._node is None else patterns.get(out._node) for out in outputs]


def result_pattern(node: Node, operands: list[Pattern | None]) -> Pattern:
    """Return the pattern of a node's result from those of its operands, None for constants."""
    primitive, params = node.rule.primitive, node.rule.params
    present = [p for p in operands if p is not None]
    if primitive is None:
        raise not_sparse(f"{node.name()} does not tell which of its results depend on which operands")
    if primitive.pattern == ELEMENTWISE or primitive.kind == "elementwise":
        shape = present[0].shape if node.outline is None else node.outline[0]
        return union([p.broadcast(shape) for p in present])
    shape = node.outline[0]
    if primitive.pattern == SELECTION:
        return move_positions(primitive, params, operands, node)
    if primitive.pattern == REDUCTION:
        return present[0].reduce(params["axis"], params["keepdims"])
    if primitive.pattern == LANES:
        axis = params.get("axis", (-1,))
        axis = axis if isinstance(axis, tuple) else (axis,)
        return union([p.broadcast(shape).reduce(axis, True).broadcast(shape) for p in present])
    if primitive.pattern == PRODUCT:
        known = multiply_patterns(node, operands) if len(present) == 1 and len(operands) == 2 else None
        known = known or (rows_and_columns(operands[-2:], shape) if len(operands) == 2 or len(present) == 1 else None)
        if known is not None:
            return known
    return everything(present, shape)


def move_positions(primitive: Any, params: dict, operands: list[Pattern | None], node: Node) -> Pattern:
    """Run an operation that moves elements on positions instead, one operand at a time."""
    if primitive.name == "astype":
        params = {"dtype": np.int64, "source": np.dtype(np.int64)}
    results = []
    for i, p in enumerate(operands):
        if p is None:
            continue
        size = int(np.prod(p.shape))
        numbers = np.arange(1, size + 1).reshape(p.shape)
        others = [numbers if j == i else np.zeros(operand_shape(node, j, p), int) for j in range(len(operands))]
        results.append(p.select(np.asarray(primitive.forward(*others, **params)) - 1))
    return union(results)


def operand_shape(node: Node, place: int, known: Pattern) -> tuple:
    """Return the shape of another operand of a joining or assigning node."""
    saved = node.saved[1 + place] if len(node.saved) > 1 + place else None
    if isinstance(saved, tuple):
        return saved
    if isinstance(saved, np.ndarray):
        return saved.shape
    if node.rule.primitive.name == "setitem":
        return node.rule.params["index"].shape if place == 0 else ()
    return known.shape


def multiply_patterns(node: Node, operands: list[Pattern | None]) -> Pattern | None:
    """Return the pattern of a product with a constant matrix from the places where that is not 0."""
    from scipy.sparse import csr_array, eye_array, kron

    constant_first = operands[0] is None
    p = operands[1] if constant_first else operands[0]
    matrix = node.saved[1] if constant_first else node.saved[2]
    if p is None or not isinstance(matrix, np.ndarray) or matrix.ndim != 2 or len(p.shape) > 2:
        return None
    nonzero = csr_array((matrix if constant_first else matrix.T) != 0).astype(np.int32)
    if len(p.shape) == 2:
        nonzero = (
            kron(nonzero, eye_array(p.shape[1], dtype=np.int32))
            if constant_first
            else kron(eye_array(p.shape[0], dtype=np.int32), nonzero)
        )
    return Pattern(
        node.outline[0], None, (csr_array(nonzero) @ p.as_matrix().astype(np.int32)).astype(bool), p.inputs
    )


def rows_and_columns(operands: list[Pattern | None], shape: tuple) -> Pattern | None:
    """Return the pattern of a matrix product: an element depends on a row of one factor and a column of the other."""
    maps: list = []
    for place, p in enumerate(operands):
        if p is None:
            continue
        if p.maps is None or len(p.shape) > 2:
            return None
        axis = -1 if place == 0 else -2 if len(p.shape) == 2 else -1
        if len(maps) + len(p.maps) * p.shape[axis] > FEW:
            return None
        for m in p.maps:
            for line in np.moveaxis(m, axis, 0):
                wide = line[..., None] if place == 0 and len(shape) > line.ndim else line
                maps.append(np.broadcast_to(wide, shape))
    inputs = next(p.inputs for p in operands if p is not None)
    return Pattern(shape, maps, inputs=inputs)


def everything(present: Sequence[Pattern], shape: tuple) -> Pattern:
    """Return the pattern of a result each of whose elements depends on all elements of the operands."""
    from scipy.sparse import csr_array

    columns = np.unique(np.concatenate([np.unique(p.as_matrix().indices) for p in present]))
    size = int(np.prod(shape))
    if size * len(columns) > MOST:
        raise not_sparse("every output depends on nearly every input")
    starts = np.arange(size + 1) * len(columns)
    ones = np.ones(size * len(columns), bool)
    return Pattern(
        shape,
        None,
        csr_array((ones, np.tile(columns, size), starts), shape=(size, present[0].inputs)),
        present[0].inputs,
    )


def not_sparse(reason: str) -> GradcliError:
    """Return the error for a Jacobian that is not worth treating as sparse."""
    return GradcliError(f"this Jacobian is not sparse: {reason}", hint="compute it as a dense one", kind="limit")
