"""Reverse mode: products with the transposed Jacobian, gradients, and Jacobians row by row in one pass."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..rules import entry
from ..tape.modes import set_grad_enabled
from ..tape.plan import Plan
from ..tape.tensor import Tensor, as_raw
from .batched import active, cover, lift
from .chunks import check_size, chunk_rows
from .trace import Argnums, Trace, trace
from .trees import flatten


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


def public(g: Any, x: Tensor, lead: tuple = ()) -> Tensor:
    """Return a cotangent as a tensor; zeros where there is none."""
    if g is None:
        return Tensor._wrap(np.zeros(lead + x._data.shape, x._data.dtype), None)
    return g if isinstance(g, Tensor) else Tensor._wrap(g, None)


def vjp(func: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """Return (func(*primals), vjp_fn): vjp_fn(cotangents) gives the product with the transposed Jacobian.

    The cotangents have the structure and shapes of the output; the products are a tuple like the primals. With
    has_aux, func returns (output, aux), and aux is the third result.
    """
    record = trace(func, primals, {}, None, has_aux)

    def vjp_fn(cotangents: Any, *more: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        """Return the products of cotangents with the transposed Jacobian."""
        given = flatten((cotangents, *more) if more else cotangents)[0]
        added = len(active.levels) - len(record.lead)
        if added > 0:
            return record.build_inputs(pulled_at_once(record, given, added, retain_graph))
        create = (record.nested or any(asks(v) for v in given)) if create_graph is None else create_graph
        seeds = list(zip(record.outputs, checked(given, record.outputs), strict=True))
        with set_grad_enabled(create):
            grads = pull(record, seeds, retain_graph, create)
        return record.build_inputs([cover(public(g, x)) for g, x in zip(grads, record.inputs, strict=True)])

    if has_aux:
        return record.values(), vjp_fn, record.aux
    return record.values(), vjp_fn


def pulled_at_once(record: Trace, given: Sequence, added: int, retain: bool) -> list[Tensor]:
    """Return the products for cotangents mapped by vmap levels that were opened after the function was recorded."""
    own, new = len(record.lead), tuple(size for _, size in active.levels[len(record.lead) :])
    count = int(np.prod(new))
    places, front = tuple(range(own, own + added)), tuple(range(added))
    vectors = checked(given, record.outputs, places)
    seeds = [(out, v.reshape((count, *out.shape))) for out, v in zip(record.outputs, vectors, strict=True)]
    create = record.nested or any(asks(v) for _, v in seeds)
    with set_grad_enabled(create):
        grads = pull(record, seeds, retain, create)
        wide = [public(g, x, (count,)).reshape((*new, *x.shape)) for g, x in zip(grads, record.inputs, strict=True)]
        return [cover(entry("moveaxis").function(g, front, places)) for g in wide]


def asks(x: Any) -> bool:
    """Return whether a tensor requires grad."""
    return isinstance(x, Tensor) and x._node is not None


def checked(given: Sequence, like: Sequence[Tensor], places: tuple[int, ...] = ()) -> list[Tensor]:
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


def grad_and_value(func: Callable, argnums: Argnums = 0, has_aux: bool = False) -> Callable:
    """Return a function that gives (gradient, value) of a scalar function, or (gradient, (value, aux)).

    argnums: the argument(s) to differentiate; a tuple gives a tuple of gradients. Raises RuntimeError when
    the output is no scalar.
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        record = trace(func, args, kwargs, argnums, has_aux)
        if len(record.outputs) != 1:
            raise RuntimeError(f"grad: the function must return one scalar tensor, got {len(record.outputs)}")
        (out,) = record.outputs
        shape = tuple(out.shape[len(record.lead) :])
        if shape:
            raise RuntimeError(
                "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
                f"{len(shape)} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
            )
        if out.dtype.is_complex:
            raise RuntimeError("grad: the function must return a real scalar, got a complex one")
        seed = Tensor._wrap(np.ones(out._data.shape, out._data.dtype)[()], None)
        with set_grad_enabled(record.nested):
            grads = pull(record, [(out, seed)], record.nested, record.nested)
        result = record.build_inputs([cover(public(g, x)) for g, x in zip(grads, record.inputs, strict=True)])
        value = record.values()
        return result, ((value, record.aux) if has_aux else value)

    return wrapper


def grad(func: Callable, argnums: Argnums = 0, has_aux: bool = False) -> Callable:
    """Return a function that gives the gradient of a scalar function; with has_aux (gradient, aux)."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        result, value = both(*args, **kwargs)
        return (result, value[1]) if has_aux else result

    return wrapper


def jacrev(
    func: Callable,
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    sparse: bool = False,
    _preallocate_and_copy: bool = False,
) -> Callable:
    """Return a function that gives the Jacobian in reverse mode: shape output.shape + input.shape.

    All rows come from one backward pass with the cotangents as a leading axis, in chunks of chunk_size rows
    (as many as fit into memory, unless given). With sparse, the result is a scipy.sparse array of shape
    (output.numel(), input.numel()), computed from few products. Several outputs or argnums give nested
    results, outputs outside. Raises GradcliError for a result that is larger than memory allows.
    """
    if sparse:
        from .sparse import sparse_jacobian

        return functools.wraps(func)(functools.partial(sparse_jacobian, func, argnums=argnums, has_aux=has_aux))

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        record = trace(func, args, kwargs, argnums, has_aux)
        blocks = reverse_blocks(record, chunk_size)
        return assembled(record, blocks, has_aux)

    return wrapper


def assembled(record: Trace, blocks: list[list[Tensor]], has_aux: bool) -> Any:
    """Return the blocks of a Jacobian, one row per output, in the structure of outputs and inputs."""
    jacobian = record.build_outputs([record.build_inputs([cover(block) for block in row]) for row in blocks])
    return (jacobian, record.aux) if has_aux else jacobian


def reverse_blocks(record: Trace, chunk_size: int | None = None, retain: bool = False) -> list[list[Tensor]]:
    """Return for every output its blocks, one per input, of shape lead + output.shape + input.shape.

    retain: keep the graph, which is freed otherwise.
    """
    rank = len(record.lead)
    elements = sum(size_behind(x, rank) for x in record.inputs)
    total = sum(size_behind(x, rank) for x in record.outputs) * elements * product(record.lead)
    check_size(total, 8, "this Jacobian")
    return [
        rows_of(record, out, chunk_size, not retain and i == len(record.outputs) - 1)
        for i, out in enumerate(record.outputs)
    ]


def rows_of(record: Trace, out: Tensor, chunk_size: int | None, last: bool) -> list[Tensor]:
    """Return the blocks of one output."""
    rank, create = len(record.lead), record.nested
    shape = tuple(out.shape[rank:])
    rows = product(shape)
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
        joined(list(column), x, shape, record)
        for column, x in zip(zip(*parts, strict=True), record.inputs, strict=True)
    ]


def basis(start: int, stop: int, shape: tuple, lead: tuple, dtype: Any) -> Tensor:
    """Return rows `start` to `stop` of the identity, each of `shape`, the same at every point of `lead`."""
    n = stop - start
    rows = np.zeros((n, product(shape)), dtype)
    rows[np.arange(n), np.arange(start, stop)] = 1
    rows = rows.reshape((n, *(1,) * len(lead), *shape))
    return Tensor._wrap(np.broadcast_to(rows, (n, *lead, *shape)) if lead else rows, None)


def joined(parts: list, x: Tensor, shape: tuple, record: Trace) -> Tensor:
    """Return the chunks of a block, each of shape rows + lead + input, as one of lead + shape + input."""
    rank = len(record.lead)
    if all(part is None for part in parts):
        return zero_block(x, shape, rank)
    inside = tuple(x.shape[rank:])
    if record.nested:
        whole = parts[0] if len(parts) == 1 else entry("concatenate").function(parts, 0)
        moved = entry("moveaxis").function(whole, 0, rank) if rank else whole
        return moved.reshape(*record.lead, *shape, *inside)
    raw = parts[0] if len(parts) == 1 else np.concatenate(parts)
    raw = np.moveaxis(raw, 0, rank) if rank else raw
    return Tensor._wrap(raw.reshape(record.lead + shape + inside), None)


def zero_block(x: Tensor, shape: tuple, rank: int) -> Tensor:
    """Return the block of an output that does not depend on an input."""
    whole = tuple(x.shape)
    return Tensor._wrap(np.zeros(whole[:rank] + shape + whole[rank:], x._data.dtype), None)


def product(lengths: Iterable[int]) -> int:
    """Return the product of whole numbers."""
    total = 1
    for n in lengths:
        total *= n
    return total


def size_behind(x: Tensor, rank: int) -> int:
    """Return the number of elements at one point, behind the first `rank` axes."""
    return product(x.shape[rank:])
