"""Sparsity patterns from the recorded graph, and sparse Jacobians from few products.

A pattern is a sparse boolean matrix with a row per element of a result and a column per element of the inputs. It
covers all nonzeros of the Jacobian, and may have more entries.

Columns with no row in common share one product: Curtis, Powell and Reid (1974), "On the estimation of sparse Jacobian
matrices"; Griewank and Walther (2008), "Evaluating Derivatives", chapter 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import GradcliError
from ..rules.shapes import kept_shape
from ..rules.table import ELEMENTWISE, LANES, PRODUCT, REDUCTION, SELECTION
from ..tape.backward import reachable
from ..tape.node import Node
from ..tape.tensor import Tensor
from .forward import push_both
from .trace import CallTrace, chunks_of, pull

INPUTS_PER_ELEMENT = 64  # if elements of a matrix product depend on more, all get the same pattern
MOST_ENTRIES = 50_000_000  # patterns with more entries do not count as sparse


class Pattern:
    """The inputs that each element of a result depends on. shape: of the result."""

    def __init__(self, shape: tuple, matrix: Any):
        self.shape, self.matrix = tuple(shape), matrix

    @property
    def places(self) -> np.ndarray:
        """The index of each element in the flattened result, in the shape of the result."""
        return np.arange(self.matrix.shape[0]).reshape(self.shape)

    def as_matrix(self) -> Any:
        self.matrix.sort_indices()
        return self.matrix

    def gather(self, places: np.ndarray, shape: tuple) -> Pattern:
        """Return the pattern of elements that each depend on the elements in one row of `places`; -1 means none."""
        from scipy.sparse import csr_array

        kept = places >= 0
        starts = np.concatenate([[0], np.cumsum(kept.sum(axis=-1))])
        columns = places[kept]
        chosen = csr_array((np.ones(len(columns), bool), columns, starts), shape=(len(places), self.matrix.shape[0]))
        return Pattern(shape, chosen @ self.matrix)

    def select(self, places: np.ndarray) -> Pattern:
        """Return the pattern of the elements at `places`; -1 means a constant."""
        return self.gather(places.reshape((-1, 1)), places.shape)

    def broadcast(self, shape: tuple) -> Pattern:
        return self if self.shape == shape else self.select(np.broadcast_to(self.places, shape))

    def reduce(self, axis: tuple, keepdims: bool) -> Pattern:
        """Return the pattern of a reduction. axis: as negative numbers."""
        kept = tuple(n for i, n in enumerate(self.shape, -len(self.shape)) if i not in axis)
        moved = np.moveaxis(self.places, axis, range(-len(axis), 0))
        lanes = int(np.prod([self.shape[a] for a in axis]))
        return self.gather(moved.reshape((-1, lanes)), kept_shape(self.shape, axis) if keepdims else kept)


def union(patterns: Sequence[Pattern]) -> Pattern:
    matrices = list({id(p.matrix): p.matrix for p in patterns}.values())
    return Pattern(patterns[0].shape, sum(matrices[1:], matrices[0]))


def sparsity(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> list[Pattern | None]:
    """Return the pattern of each output, or None if it depends on no input.

    The columns are the elements of all inputs, in order. Raises GradcliError if a pattern is not sparse.
    """
    from scipy.sparse import eye_array

    patterns: dict[Node, Pattern] = {}
    every = eye_array(sum(x._data.size for x in inputs), dtype=bool, format="csr")
    start = 0
    for x in inputs:
        patterns[x._node] = Pattern(x._data.shape, every[start : start + x._data.size])
        start += x._data.size
    for node in reachable([out._node for out in outputs if out._node is not None]):
        if node not in patterns:
            operands = [None if p is None else patterns.get(p) for p in node.parents]
            if any(p is not None for p in operands):
                patterns[node] = result_pattern(node, operands)
    return [None if out._node is None else patterns.get(out._node) for out in outputs]


def result_pattern(node: Node, operands: list[Pattern | None]) -> Pattern:
    primitive, params = node.rule.primitive, node.rule.params
    present = [p for p in operands if p is not None]
    if primitive is None:
        raise not_sparse(f"{node.name()} does not say which results depend on which operands")
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
    """Run an operation that only moves elements on the positions of the elements, one operand at a time."""
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
    """Return the shape of an operand of a join or assignment. known: the pattern of another operand."""
    saved = node.kept[1 + place] if len(node.kept) > 1 + place else None
    if isinstance(saved, tuple):
        return saved
    if isinstance(saved, np.ndarray):
        return saved.shape
    if node.rule.primitive.name == "setitem":
        return node.rule.params["index"].shape if place == 0 else ()
    return known.shape


def multiply_patterns(node: Node, operands: list[Pattern | None]) -> Pattern | None:
    """Return the pattern of a product with a constant matrix, from its nonzeros; None for stacks of matrices."""
    from scipy.sparse import csr_array, eye_array, kron

    constant_first = operands[0] is None
    p = operands[1] if constant_first else operands[0]
    matrix = node.kept[1] if constant_first else node.kept[2]
    if p is None or not isinstance(matrix, np.ndarray) or matrix.ndim != 2 or len(p.shape) > 2:
        return None
    nonzero = csr_array((matrix if constant_first else matrix.T) != 0)
    if len(p.shape) == 2:
        nonzero = (
            kron(nonzero, eye_array(p.shape[1], dtype=bool))
            if constant_first
            else kron(eye_array(p.shape[0], dtype=bool), nonzero)
        )
    return Pattern(node.outline[0], csr_array(nonzero) @ p.matrix)


def rows_and_columns(operands: list[Pattern | None], shape: tuple) -> Pattern | None:
    """Return the pattern of a matrix product, whose elements depend on a row of one factor and a column of the other.

    Return None for stacks of matrices, or if an element would depend on many inputs.
    """
    parts: list[Pattern] = []
    for place, p in enumerate(operands):
        if p is None:
            continue
        axis = -1 if place == 0 or len(p.shape) < 2 else -2
        if len(p.shape) > 2 or p.shape[axis] * np.diff(p.matrix.indptr).max(initial=0) > INPUTS_PER_ELEMENT:
            return None
        lines = np.moveaxis(p.places, axis, -1)
        if place == 0 and len(shape) >= lines.ndim:
            lines = lines[..., None, :]
        wide = np.broadcast_to(lines, (*shape, lines.shape[-1]))
        parts.append(p.gather(wide.reshape((-1, lines.shape[-1])), shape))
    return union(parts)


def everything(present: Sequence[Pattern], shape: tuple) -> Pattern:
    """Return the pattern of a result in which each element depends on all elements of the operands."""
    from scipy.sparse import csr_array

    columns = np.unique(np.concatenate([np.unique(p.matrix.indices) for p in present]))
    size = int(np.prod(shape))
    if size * len(columns) > MOST_ENTRIES:
        raise not_sparse("every output depends on nearly every input")
    starts = np.arange(size + 1) * len(columns)
    ones = np.ones(size * len(columns), bool)
    width = present[0].matrix.shape[1]
    return Pattern(shape, csr_array((ones, np.tile(columns, size), starts), shape=(size, width)))


def not_sparse(reason: str) -> GradcliError:
    return GradcliError(f"this Jacobian is not sparse: {reason}", hint="compute it as a dense matrix", kind="limit")


PERIODS_TRIED = 6  # periods of a cyclic colouring to try, starting from the smallest possible


def sparse_matrix(record: CallTrace, mode: str = "auto") -> tuple[Any, int]:
    """Return the sparse Jacobian of all outputs for all inputs, and the number of products. mode: fwd, rev or auto."""
    from scipy.sparse import csr_array, vstack

    total = sum(x._data.size for x in record.inputs)
    parts = [
        csr_array((out._data.size, total), dtype=bool) if p is None else p.as_matrix()
        for p, out in zip(sparsity(record.outputs, record.inputs), record.outputs, strict=True)
    ]
    pattern = parts[0] if len(parts) == 1 else vstack(parts, format="csr")
    if not pattern.nnz:
        return csr_array(pattern.shape, dtype=float), 0
    fewer_forward = longest_line(pattern) <= np.bincount(pattern.indices).max()
    forward = mode == "fwd" or (mode == "auto" and fewer_forward)
    colours, count = color_greedily(pattern if forward else pattern.T.tocsr())
    products = grouped_products(record, colours, count, forward)
    rows, columns = lines_and_members(pattern)
    data = products[colours[columns], rows] if forward else products[colours[rows], columns]
    return csr_array((data, columns, pattern.indptr), shape=pattern.shape), count


def lines_and_members(by_line: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the row and the column of each entry of a pattern, row by row."""
    return np.repeat(np.arange(by_line.shape[0]), np.diff(by_line.indptr)), by_line.indices


def longest_line(by_line: Any) -> int:
    return int(np.diff(by_line.indptr).max(initial=0))


def color_greedily(by_line: Any) -> tuple[np.ndarray, int]:
    """Colour the columns of a pattern so that no two in one row share a colour. Return the colours and their number.

    A cyclic colouring suits banded matrices. Otherwise each column takes the first free colour, starting with the
    columns that have the most entries.
    """
    size, most = by_line.shape[1], longest_line(by_line)
    lines, members = lines_and_members(by_line)
    for period in range(most, most + PERIODS_TRIED):
        keys = lines * np.int64(period) + members % period
        if np.bincount(keys).max(initial=0) <= 1:
            return np.arange(size) % period, period
    by_member = by_line.T.tocsr()
    degrees = np.diff(by_member.indptr)
    colours = np.zeros(size, int)
    taken = np.zeros((by_line.shape[0], most + 1), bool)
    for member in np.argsort(-degrees, kind="stable"):
        near = by_member.indices[by_member.indptr[member] : by_member.indptr[member + 1]]
        if taken[near].any(axis=0)[:-1].all():
            taken = np.concatenate([taken, np.zeros_like(taken)], axis=1)
        colour = int(np.argmin(taken[near].any(axis=0)))
        colours[member] = colour
        taken[near, colour] = True
    return colours, int(colours.max(initial=0)) + 1


def seed_rows(tensors: list[Tensor], colours: np.ndarray, wanted: np.ndarray) -> list[Tensor]:
    """Return one row per wanted colour for each tensor: 1 at elements of that colour, 0 elsewhere."""
    seeds, left = [], 0
    for x in tensors:
        mine = colours[left : left + x._data.size] == wanted[:, None]
        seeds.append(Tensor._wrap(mine.astype(x._data.dtype).reshape((-1, *x._data.shape)), None))
        left += x._data.size
    return seeds


def grouped_products(record: CallTrace, colours: np.ndarray, count: int, forward: bool) -> np.ndarray:
    """Return the sum of the columns of the Jacobian in each colour, shape (count, outputs).

    In reverse mode, return sums of rows, (count, inputs). For complex inputs, real outputs give dL/dRe + i dL/dIm.
    """
    size = max(x._data.size for x in (*record.inputs, *record.outputs))
    starts = [out._node for out in record.outputs if out._node is not None]
    chunks = []
    for start, stop in chunks_of(count, None, size * 8, starts):
        wanted = np.arange(start, stop)
        if forward:
            products = push_both(record, seed_rows(record.inputs, colours, wanted), False)
        else:
            seeds = zip(record.outputs, seed_rows(record.outputs, colours, wanted), strict=True)
            products = pull(record, list(seeds), True, False)
        parts = [
            np.zeros((len(wanted), x._data.size)) if g is None else np.asarray(g).reshape((len(wanted), -1))
            for g, x in zip(products, record.outputs if forward else record.inputs, strict=True)
        ]
        chunks.append(np.concatenate(parts, axis=1))
    return np.concatenate(chunks)
