"""Forward mode: push tangents through the recorded graph, and compute all columns of Jacobians in one pass."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..rules.shapes import is_complex
from ..rules.table import batched_call
from ..tape.backward import Plan, reachable
from ..tape.function import FunctionNode, push_tangents
from ..tape.memory import newest
from ..tape.modes import enable_grad, set_grad_enabled
from ..tape.node import Node, OutputNode, Slots
from ..tape.send import times_partial
from ..tape.tensor import Tensor
from .trace import (
    Argnums,
    CallTrace,
    assemble_blocks,
    basis,
    check_cotangents,
    check_jacobian_size,
    chunks_of,
    cover_products,
    flatten_tree,
    join_chunks,
    tensor_or_zeros,
    trace_function,
    zero_block,
)


class ForwardPass:
    """One pass of tangents over a recorded graph.

    batched: each tangent has one more leading axis than its node's result. create: record the pass, with tangents as
    Tensors; otherwise tangents are raw arrays.
    """

    def __init__(self, batched: bool, create: bool):
        self.batched = batched
        self.create = create

    def push(self, starts: Iterable[Node], seeds: dict[Node, Any]) -> dict[Node, Any]:
        """Return the tangents of the nodes in `starts` that depend on the seeds. Seeds and result: {node: tangent}."""
        starts = list(starts)
        order = reachable(starts)
        uses: dict[Node, int] = dict.fromkeys(starts, 1)
        for node in order:
            for parent in node.parents:
                if parent is not None:
                    uses[parent] = uses.get(parent, 0) + 1
        tangents = dict(seeds)
        with set_grad_enabled(self.create), np.errstate(all="ignore"):
            for node in order:
                parents = node.parents
                if node not in seeds and any(p in tangents for p in parents if p is not None):
                    tangents[node] = self.push_through(node, [None if p is None else tangents.get(p) for p in parents])
                for p in parents:
                    if p is not None:
                        uses[p] -= 1
                        if not uses[p]:
                            tangents.pop(p, None)
        return {node: tangents[node] for node in starts if node in tangents}

    def push_through(self, node: Node, tangents: list) -> Any:
        """Return the tangent of a node's result. tangents: of its operands; None for constants."""
        if isinstance(node, OutputNode):
            return tangents[0][node.index]
        if newest.seq < node.seq and node.rule.saves:
            node.check_unchanged()
        if isinstance(node, FunctionNode):
            result = self.push_each(node, tangents) if self.batched else push_tangents(node, tangents)
            if result is not None:
                return self.unwrap(result)
        primitive = node.rule.primitive
        if primitive is not None:
            is_complex = any(t is not None and dtype_kind(t) == "c" for t in tangents)
            if primitive.kind == "elementwise" and (primitive.holomorphic or not is_complex):
                return self.elementwise(node, tangents)
            if primitive.kind == "linear" and primitive.arity == 1 and primitive.outputs == 1:
                t, params = tangents[0], node.rule.params  # a linear primitive is its own derivative
                if self.batched:
                    return batched_call(primitive, (t,), (True,), t.shape[0], params)
                return primitive(t, **params)
        return self.transpose_twice(node, tangents)

    def push_each(self, node: FunctionNode, tangents: list) -> Any:
        """Call a custom function's jvp for each tangent. Return None if it has no jvp, or if the pass is recorded."""
        if self.create:
            return None
        count = next(t.shape[0] for t in tangents if t is not None)
        rows = [push_tangents(node, [None if t is None else t[k] for t in tangents]) for k in range(count)]
        if not rows or rows[0] is None:
            return None
        parts = [row if isinstance(row, list) else [row] for row in rows]
        joined = [
            None if part[0] is None else Tensor._wrap(np.stack([np.asarray(x._data) for x in part]), None)
            for part in zip(*parts, strict=True)
        ]
        return joined if isinstance(rows[0], list) else joined[0]

    def unwrap(self, result: Any) -> Any:
        """Convert Tensors to the form that this pass uses: raw arrays unless `create`."""
        if isinstance(result, list):
            return [self.unwrap(x) for x in result]
        return result if self.create or result is None else result._data

    def standing_in(self, node: Node, tangents: list) -> Node:
        """Return a substitute for the node that keeps only the parents with a tangent."""
        parents = tuple(p if t is not None else None for p, t in zip(node.parents, tangents, strict=True))
        return node.standing_in(parents, Tensor._wrap if self.create else None)

    def elementwise(self, node: Node, tangents: list) -> Any:
        """Return the sum, over the operands, of partial derivative times tangent."""
        params, shapes, ndim, broad = node.rule.params, None, 0, []
        if node.rule.broadcast is not None:
            shapes, ndim, _ = node.rule.broadcast
            broad = [np.shape(v) for v in params.get("order", ())]  # the order of a Bessel function broadcasts too
            ndim = max([ndim, *map(len, broad)])
        saved = self.standing_in(node, tangents).kept
        total: Any = None
        for i, (t, partial) in enumerate(zip(tangents, node.rule.primitive.rules, strict=True)):
            if t is None:
                continue
            if shapes is not None and len(shapes[i]) < ndim:
                lead = tuple(t.shape[: int(self.batched)])
                t = t.reshape(lead + (1,) * (ndim - len(shapes[i])) + tuple(shapes[i]))
            term = times_partial(t, partial, saved, params)
            total = term if total is None else total + term
        if shapes is not None:
            wanted = tuple(total.shape[: int(self.batched)]) + np.broadcast_shapes(*shapes, *broad)
            total = total if tuple(total.shape) == wanted else np.broadcast_to(total, wanted)
        return total

    def transpose_twice(self, node: Node, tangents: list) -> Any:
        """Transpose the vjp rule: it is linear in the cotangent, so its transpose is the forward derivative."""
        with enable_grad():
            copy = self.standing_in(node, tangents)
            probes = [None if part is None else Tensor._wrap(np.zeros(*part), None) for part in node.outlines]
            for p in probes:
                if p is not None and p._data.dtype.kind in "fc":
                    p.requires_grad_()
            slots = Slots({i: p for i, p in enumerate(probes) if p is not None and p._node is not None})
            grads = copy.rule.vjp(copy, slots if isinstance(node.outline, list) else probes[0])
        roots = [
            (g._node, t)
            for g, t in zip(grads, tangents, strict=True)
            if t is not None and isinstance(g, Tensor) and g._node is not None
        ]
        pulled = Plan(self.create, self.create, dict.fromkeys(p._node for p in slots.values())).run(roots)
        lead = next(tuple(t.shape[: int(self.batched)]) for t in tangents if t is not None)
        results = [None if p is None else pulled.get(p._node) for p in probes]
        results = [
            t if p is None else self.unwrap(tensor_or_zeros(None, p, lead)) if t is None else self.as_complex(t, p)
            for t, p in zip(results, probes, strict=True)
        ]
        return results if isinstance(node.outline, list) else results[0]

    def as_complex(self, t: Any, like: Tensor) -> Any:
        """Convert a tangent to the type of `like`: rules may have taken the real part of a complex one."""
        if dtype_kind(t) == "c" or dtype_kind(like) != "c":
            return t
        return t + np.zeros((), like._data.dtype) if self.create else t.astype(like._data.dtype)


def dtype_kind(t: Any) -> str:
    return (t._data if isinstance(t, Tensor) else t).dtype.kind


def jvp(func: Callable, primals: tuple, tangents: tuple, *, strict: bool = False, has_aux: bool = False) -> tuple:
    """Return (func(*primals), J tangents), where J tangents is the derivative in the direction of the tangents.

    primals, tangents: tuples with the same structure and shapes. With has_aux, func returns (output, aux), and
    aux is the third result. Raises RuntimeError if the tangents do not match the primals and, with strict, if an
    output does not depend on the primals.
    """
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple) or not primals:
        raise RuntimeError("jvp: primals and tangents must be non-empty tuples")
    record = trace_function(func, primals, {}, None, has_aux)
    given = check_cotangents(flatten_tree(tangents)[0], record.inputs)
    create = record.nested or any(t._node is not None for t in given)
    products = push_all(record, given, create)
    if strict and any(p is None for p in products):
        raise RuntimeError("jvp: an output does not depend on the primals (strict=True)")
    result = record.build_outputs(cover_products(products, record.outputs))
    record.nested = create
    return (record.values(), result, record.aux) if has_aux else (record.values(), result)


def push_all(record: CallTrace, tangents: list, create: bool) -> list:
    """Return the tangent of each output, or None if it does not depend on the inputs.

    tangents: a Tensor or None for each input; either all or none of them have one more leading axis.
    """
    seeds = {x._node: t if create else t._data for x, t in zip(record.inputs, tangents, strict=True) if t is not None}
    batched = any(t is not None and t.ndim > x.ndim for x, t in zip(record.inputs, tangents, strict=True))
    pushed = ForwardPass(batched, create).push([out._node for out in record.outputs if out._node is not None], seeds)
    return [None if out._node is None else pushed.get(out._node) for out in record.outputs]


def jacfwd(func: Callable, argnums: Argnums = 0, has_aux: bool = False, *, chunk_size: int | None = None) -> Callable:
    """Return a function that computes the Jacobian in forward mode, of shape output.shape + input.shape.

    One pass over the recorded graph computes all columns, along a leading axis of the tangents. Arguments and results
    are those of `jacrev`.
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        record = trace_function(func, args, kwargs, argnums, has_aux)
        return assemble_blocks(record, forward_blocks(record, chunk_size), has_aux)

    return wrapper


def forward_blocks(record: CallTrace, chunk_size: int | None = None) -> list[list[Tensor]]:
    """Return the blocks of each output, one per input, of shape lead + output.shape + input.shape."""
    check_jacobian_size(record)
    columns = [forward_columns(record, i, chunk_size) for i in range(len(record.inputs))]
    return [list(row) for row in zip(*columns, strict=True)]


def push_both(record: CallTrace, seeds: list, create: bool) -> list:
    """Like `push_all`, but a real output of a complex input gets dL/dRe + i dL/dIm."""
    products = push_all(record, seeds, create)
    if not any(s is not None and is_complex(s) for s in seeds) or all(is_complex(out) for out in record.outputs):
        return products
    upwards = push_all(record, [s if s is None else s * (1j if is_complex(s) else 0) for s in seeds], create)
    return [
        x if x is None or is_complex(out) else x + up * 1j
        for x, up, out in zip(products, upwards, record.outputs, strict=True)
    ]


def forward_columns(record: CallTrace, place: int, chunk_size: int | None) -> list[Tensor]:
    rank, create = len(record.lead), record.nested
    x = record.inputs[place]
    inside = tuple(x.shape[rank:])
    count = math.prod(inside)
    starts = [out._node for out in record.outputs if out._node is not None]
    row_bytes = max([x._data.nbytes, *(out._data.nbytes for out in record.outputs)])
    parts = []
    for start, stop in chunks_of(count, chunk_size, row_bytes, starts):
        seed = basis(start, stop, inside, record.lead, x._data.dtype)
        chosen = [seed if i == place else None for i in range(len(record.inputs))]
        parts.append(push_both(record, chosen, create))
    return [
        zero_block(out, inside, out.ndim)
        if not parts or parts[0][i] is None
        else join_chunks([part[i] for part in parts], -1, (*out.shape, *inside), create)
        for i, out in enumerate(record.outputs)
    ]
