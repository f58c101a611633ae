"""Sparse Jacobians from few products: columns (or rows) that never meet are computed together.

Curtis, Powell and Reid (1974), "On the estimation of sparse Jacobian matrices": columns without a common row
share one product. Griewank and Walther (2008), "Evaluating Derivatives", chapter 8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..rules.shapes import is_complex
from ..tape.tensor import Tensor
from .chunks import chunk_rows
from .forward import push_all
from .pullback import pull
from .sparsity import sparsity
from .trace import Argnums, Trace, trace_function

TRIES = 6
"""How many period lengths of a cyclic colouring are tried beyond the smallest possible one."""


def sparse_jacobian(func: Callable, *args: Any, argnums: Argnums, has_aux: bool, **kwargs: Any) -> Any:
    """Return the Jacobian of func as scipy.sparse arrays of shape (output.numel(), input.numel()).

    Raises GradcliError when the Jacobian is not sparse.
    """
    record = trace_function(func, args, kwargs, argnums, has_aux)
    if record.lead:
        raise RuntimeError("a sparse Jacobian cannot be computed under vmap")
    matrix, _ = sparse_matrix(record)
    blocks, top = [], 0
    for out in record.outputs:
        row, left = [], 0
        for x in record.inputs:
            row.append(matrix[top : top + out._data.size, left : left + x._data.size])
            left += x._data.size
        top += out._data.size
        blocks.append(record.build_inputs(row))
    result = record.build_outputs(blocks)
    return (result, record.aux) if has_aux else result


def sparse_matrix(record: Trace, mode: str = "auto") -> tuple[Any, int]:
    """Return the Jacobian of all outputs for all inputs, and how many products it took.

    mode: "fwd" for products with columns, "rev" for products with rows, "auto" for the fewer.
    """
    from scipy.sparse import csr_array, vstack

    total = sum(x._data.size for x in record.inputs)
    parts = [
        csr_array((out._data.size, total), dtype=bool) if p is None else p.as_matrix()
        for p, out in zip(sparsity(record.outputs, record.inputs), record.outputs, strict=True)
    ]
    pattern = parts[0] if len(parts) == 1 else vstack(parts, format="csr")
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    columns = pattern.indices
    by_row = np.diff(pattern.indptr).max(initial=0)
    by_column = np.bincount(columns, minlength=1).max(initial=0)
    forward = mode == "fwd" or (mode == "auto" and by_row <= by_column)
    if not len(columns):
        return csr_array(pattern.shape, dtype=float), 0
    if forward:
        colours, count = color_greedily(rows, columns, pattern.shape[1], int(by_row), pattern)
        products = forward_products(record, colours, count)
        data = products[colours[columns], rows]
    else:
        colours, count = color_greedily(columns, rows, pattern.shape[0], int(by_column), pattern.T.tocsr())
        products = reverse_products(record, colours, count)
        data = products[colours[rows], columns]
    return csr_array((data, columns, pattern.indptr), shape=pattern.shape), count


def color_greedily(
    lines: np.ndarray, members: np.ndarray, size: int, most: int, by_line: Any
) -> tuple[np.ndarray, int]:
    """Return a colour for each of `size` members so that no two on one line share one, and how many there are.

    lines, members: the pairs of the pattern. most: how many members share a line at most. by_line: the
    pattern with a row per line. A cyclic colouring serves banded matrices; otherwise members take the first
    colour that is free, those on the longest lines first.
    """
    for period in range(most, most + TRIES):
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


def color_by_input(
    rows: np.ndarray, columns: np.ndarray, edges: np.ndarray, size: int, by_row: Any
) -> tuple[np.ndarray, int]:
    """Return a colouring of the columns, cyclic within each input where that is valid, and its size.

    edges: where each input's columns begin, and where the last ends.
    """
    inputs = np.searchsorted(edges, columns, side="right") - 1
    colours, first = np.zeros(size, int), 0
    for k in range(len(edges) - 1):
        per_row = np.bincount(rows[inputs == k], minlength=1)
        period = max(int(per_row.max()), 1)
        colours[edges[k] : edges[k + 1]] = first + np.arange(edges[k + 1] - edges[k]) % period
        first += period
    if np.bincount(rows * np.int64(first) + colours[columns]).max(initial=0) <= 1:
        return colours, first
    most = int(np.diff(by_row.indptr).max(initial=0))
    return color_greedily(rows, columns, size, most, by_row)


def groups_of(record: Trace, count: int) -> Iterator[np.ndarray]:
    """Yield the colours 0 to count - 1 in groups whose products fit into memory together."""
    size = max(x._data.size for x in (*record.inputs, *record.outputs))
    starts = [out._node for out in record.outputs if out._node is not None]
    step = chunk_rows(None, count, size * 8, starts)
    for start in range(0, count, step):
        yield np.arange(start, min(start + step, count))


def seeds_of(tensors: list[Tensor], colours: np.ndarray, wanted: np.ndarray) -> list[Tensor]:
    """Return for each tensor one row per wanted colour: 1 where its elements have this colour, 0 elsewhere."""
    seeds, left = [], 0
    for x in tensors:
        mine = colours[left : left + x._data.size] == wanted[:, None]
        seeds.append(Tensor._wrap(mine.astype(x._data.dtype).reshape((-1, *x._data.shape)), None))
        left += x._data.size
    return seeds


def forward_products(record: Trace, colours: np.ndarray, count: int) -> np.ndarray:
    """Return J times the sum of the columns of each colour: shape (count, outputs).

    For real outputs of complex inputs J holds dL/dRe + i dL/dIm.
    """
    turned = any(is_complex(x) for x in record.inputs) and not any(is_complex(out) for out in record.outputs)
    chunks = []
    for wanted in groups_of(record, count):
        seeds = seeds_of(record.inputs, colours, wanted)
        chunk = push_rows(record, seeds, len(wanted))
        if turned:
            upwards = [Tensor._wrap(s._data * (1j if is_complex(s) else 0.0), None) for s in seeds]
            chunk = chunk + 1j * push_rows(record, upwards, len(wanted))
        chunks.append(chunk)
    return np.concatenate(chunks)


def push_rows(record: Trace, seeds: list[Tensor], count: int) -> np.ndarray:
    """Return the tangents of all outputs as rows, one per seed."""
    pushed = push_all(record, list(seeds), False)
    return np.concatenate([flatten_products(t, count, out) for t, out in zip(pushed, record.outputs, strict=True)], 1)


def reverse_products(record: Trace, colours: np.ndarray, count: int) -> np.ndarray:
    """Return the sum of the rows of each colour times J: shape (count, inputs)."""
    chunks = []
    for wanted in groups_of(record, count):
        seeds = zip(record.outputs, seeds_of(record.outputs, colours, wanted), strict=True)
        products = pull(record, list(seeds), True, False)
        chunks.append(
            np.concatenate(
                [flatten_products(g, len(wanted), x) for g, x in zip(products, record.inputs, strict=True)], 1
            )
        )
    return np.concatenate(chunks)


def flatten_products(products: Any, count: int, like: Tensor) -> np.ndarray:
    """Return products as rows; zeros where nothing depends."""
    return np.zeros((count, like._data.size)) if products is None else np.asarray(products).reshape((count, -1))
