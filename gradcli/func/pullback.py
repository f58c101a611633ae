"""Cotangents pulled back through a recorded call, and the blocks of its Jacobian, whose rows come from one pass."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..rules import entry
from ..tape.modes import set_grad_enabled
from ..tape.tensor import Tensor, as_raw
from ..tape.walk import Plan
from .batched_tensor import cover, lift
from .chunks import check_size, chunk_rows
from .trace import Trace


def pull(trace: Trace, seeds: Sequence[tuple[Tensor, Any]], retain: bool, create: bool) -> list[Any]:
    """Return the cotangents of the inputs: raw arrays, Tensors with `create`; None where nothing depends.

    seeds: pairs of an output and its cotangent, which may have one more leading axis.
    """
    plan = Plan(retain, create, dict.fromkeys(trace.nodes))
    roots = [(out._node, g if create else g._data) for out, g in seeds if out._node is not None]
    plan.run(roots)
    assert plan.wanted is not None
    return [cast(plan.wanted[x._node], x, create) for x in trace.inputs]


def cast(g: Any, x: Tensor, create: bool) -> Any:
    """Return a cotangent in its input's type."""
    if g is None or g.dtype == x.dtype:
        return g
    if create:
        return g.real.to(x.dtype) if g.is_complex() and not x.is_complex() else g.to(x.dtype)
    return (g.real if g.dtype.kind == "c" and x._data.dtype.kind != "c" else g).astype(x._data.dtype)


def tensor_or_zeros(g: Any, x: Tensor, lead: tuple = ()) -> Tensor:
    """Return a cotangent or tangent as a tensor; zeros, of the shape lead + that of x, where there is none."""
    if g is None:
        return Tensor._wrap(np.zeros(lead + x._data.shape, x._data.dtype), None)
    return g if isinstance(g, Tensor) else Tensor._wrap(g, None)


def cover_products(products: Iterable, like: Iterable[Tensor]) -> list[Tensor]:
    """Return cotangents or tangents as tensors of the running levels; zeros where there are none."""
    return [cover(tensor_or_zeros(g, x)) for g, x in zip(products, like, strict=True)]


def check_cotangents(given: Sequence, like: Sequence[Tensor], places: tuple[int, ...] = ()) -> list[Tensor]:
    """Return cotangents or tangents under all levels. Raises RuntimeError when their number or shapes do not fit.

    places: the axes of levels that `like` knows nothing of; they are moved to the front.
    """
    added = len(places)
    if len(given) != len(like):
        raise RuntimeError(f"expected {len(like)} tensors, one for each place, got {len(given)}")
    result = []
    for v, x in zip(given, like, strict=True):
        bare = lift(v if isinstance(v, Tensor) else Tensor._wrap(as_raw(v), None))
        if places:
            bare = entry("moveaxis").function(bare, places, tuple(range(added)))
        if tuple(bare.shape[added:]) != tuple(x.shape):
            raise RuntimeError(f"expected a tensor of shape {list(x.shape)}, got shape {list(bare.shape[added:])}")
        result.append(bare if bare.dtype == x.dtype else bare.to(x.dtype))
    return result


def assemble_blocks(record: Trace, blocks: list[list[Tensor]], has_aux: bool) -> Any:
    """Return the blocks of a Jacobian, one row per output, in the structure of outputs and inputs."""
    jacobian = record.build_outputs([record.build_inputs([cover(block) for block in row]) for row in blocks])
    return (jacobian, record.aux) if has_aux else jacobian


def reverse_blocks(record: Trace, chunk_size: int | None = None, retain: bool = False) -> list[list[Tensor]]:
    """Return for every output its blocks, one per input, of shape lead + output.shape + input.shape.

    retain: keep the graph, which is freed otherwise.
    """
    check_jacobian_size(record)
    return [
        rows_of(record, out, chunk_size, not retain and i == len(record.outputs) - 1)
        for i, out in enumerate(record.outputs)
    ]


def check_jacobian_size(record: Trace) -> None:
    """Raise GradcliError where the Jacobian would not fit into memory."""
    rank = len(record.lead)
    rows, columns = (sum(math.prod(x.shape[rank:]) for x in part) for part in (record.outputs, record.inputs))
    check_size(rows * columns * math.prod(record.lead), 8, "this Jacobian")


def rows_of(record: Trace, out: Tensor, chunk_size: int | None, last: bool) -> list[Tensor]:
    rank, create = len(record.lead), record.nested
    shape = tuple(out.shape[rank:])
    rows = math.prod(shape)
    if out._node is None or not rows:
        return [zero_block(x, shape, rank) for x in record.inputs]
    if out._data.dtype.kind == "c":
        raise RuntimeError("jacrev: the function must return real tensors; take its real and imaginary parts")
    row_bytes = sum(x._data.nbytes for x in record.inputs)
    step = chunk_rows(chunk_size, rows, max(row_bytes, out._data.nbytes), [out._node])
    parts = []
    for start in range(0, rows, step):
        stop = min(start + step, rows)
        seed = basis(start, stop, shape, record.lead, out._data.dtype)
        with set_grad_enabled(create):
            parts.append(pull(record, [(out, seed)], create or not last or stop < rows, create))
    return [
        zero_block(x, shape, rank)
        if column[0] is None
        else join_chunks(list(column), rank, (*record.lead, *shape, *x.shape[rank:]), create)
        for column, x in zip(zip(*parts, strict=True), record.inputs, strict=True)
    ]


def basis(start: int, stop: int, shape: tuple, lead: tuple, dtype: Any) -> Tensor:
    """Return rows `start` to `stop` of the identity, each of `shape`, the same at every point of `lead`."""
    n = stop - start
    rows = np.zeros((n, math.prod(shape)), dtype)
    rows[np.arange(n), np.arange(start, stop)] = 1
    rows = rows.reshape((n, *(1,) * len(lead), *shape))
    return Tensor._wrap(np.broadcast_to(rows, (n, *lead, *shape)) if lead else rows, None)


def join_chunks(parts: list, axis: int, shape: tuple, nested: bool) -> Tensor:
    """Return chunks, whose rows are their first axis, as one tensor of a shape, the rows moved to another axis."""
    if nested:
        whole = parts[0] if len(parts) == 1 else entry("concatenate").function(parts, 0)
        return (entry("moveaxis").function(whole, 0, axis) if axis else whole).reshape(*shape)
    raw = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return Tensor._wrap(np.moveaxis(raw, 0, axis).reshape(shape), None)


def zero_block(x: Tensor, shape: tuple, rank: int) -> Tensor:
    """Return the block of an output that does not depend on an input."""
    whole = tuple(x.shape)
    return Tensor._wrap(np.zeros(whole[:rank] + shape + whole[rank:], x._data.dtype), None)
