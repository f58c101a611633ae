"""Record a call of a function on fresh inputs, so that derivatives can nest, and pull cotangents back through it."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..errors import GradcliError
from ..rules import entry
from ..tape.backward import Plan, reachable
from ..tape.modes import enable_grad, set_grad_enabled, state
from ..tape.node import Node, is_array
from ..tape.record import cast_cotangent
from ..tape.tensor import Tensor, as_raw
from .batched_tensor import active, cover, lift

Rebuild = Callable[[list], Any]


def map_tree(function: Callable, tree: Any) -> Any:
    """Apply a function to each leaf of a nested structure, visiting dictionaries by sorted keys."""
    kind = type(tree)
    if isinstance(tree, dict):
        items = {key: map_tree(function, tree[key]) for key in sorted(tree, key=str)}
        return kind((key, items[key]) for key in tree)
    if isinstance(tree, tuple | list):
        parts = [map_tree(function, item) for item in tree]
        return kind(*parts) if hasattr(tree, "_fields") else kind(parts)
    return function(tree)


def flatten_tree(tree: Any) -> tuple[list, Rebuild]:
    """Return the leaves of a nested structure, and a function that puts other leaves in their places."""
    leaves: list = []
    places = map_tree(leaves.append, tree)  # has None in place of each leaf

    def rebuild(values: list) -> Any:
        remaining = iter(values)
        return map_tree(lambda _: next(remaining), places)

    return leaves, rebuild


def spread_prefix(prefix: Any, tree: Any, what: str) -> list:
    """Return an item for each leaf of `tree`. Raises ValueError unless prefix is one item or a structure like it."""
    if prefix is None or isinstance(prefix, int):
        return [prefix] * len(flatten_tree(tree)[0])
    if isinstance(tree, dict) and isinstance(prefix, dict) and set(tree) == set(prefix):
        return [x for key in sorted(tree, key=str) for x in spread_prefix(prefix[key], tree[key], what)]
    if isinstance(tree, tuple | list) and isinstance(prefix, tuple | list) and len(tree) == len(prefix):
        return [x for p, t in zip(prefix, tree, strict=True) for x in spread_prefix(p, t, what)]
    raise ValueError(f"{what} {prefix!r} does not match the structure of the arguments or results")


MEMORY_SHARE = 0.25  # share of free memory allowed for a result, or for computing one chunk
MOST_ROWS_AT_ONCE = 4096  # more rows at once are not faster


def free_memory() -> int:
    """Return the number of free bytes: the available memory on Linux, else the free pages."""
    with contextlib.suppress(OSError, StopIteration), open("/proc/meminfo") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable:"))
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 4 << 30  # unknown on this system


def chunks_of(rows: int, wanted: int | None, row_bytes: int, starts: Iterable[Node]) -> Iterator[tuple[int, int]]:
    """Yield the bounds of each chunk of rows to compute together.

    wanted: rows per chunk; if None, as many as fit into memory, estimated from row_bytes (of the result) and from the
    arrays that the graph has saved. Raises ValueError if `wanted` is not positive.
    """
    if wanted is not None and wanted < 1:
        raise ValueError(f"chunk_size must be positive, got {wanted}")
    step = wanted
    if step is None:
        saved = (x for node in reachable(starts) if not node.leaf for x in node.kept or ())
        widest = max((x.nbytes for x in saved if is_array(x)), default=0)
        step = max(1, min(rows, MOST_ROWS_AT_ONCE, int(MEMORY_SHARE * free_memory() / (4 * max(row_bytes, widest, 1)))))
    for start in range(0, rows, step):
        yield start, min(start + step, rows)


Argnums = int | tuple[int, ...]


class CallTrace:
    """One recorded call.

    inputs, outputs: tensors unwrapped from all vmap levels, with the axes of the levels first. build_inputs,
    build_outputs: rebuild the structure of the inputs or outputs from other leaves. nested: whether the result must
    be differentiable, because something else in the graph requires grad. lead: the lengths of the open levels' axes.
    aux: the auxiliary result of the function.
    """

    def __init__(
        self, inputs: list[Tensor], build_inputs: Rebuild = list, wanted: bool = False, outputs: Sequence[Tensor] = ()
    ):
        self.inputs = inputs
        self.build_inputs = build_inputs
        self.outputs = list(outputs)
        self.build_outputs: Rebuild
        self.aux: Any = None
        self.wanted = wanted
        self.nested = False
        self.lead = tuple(size for _, size in active.levels)

    def finish(self, result: Any, has_aux: bool) -> None:
        """Store the results of the function. Raises RuntimeError if they are not tensors."""
        if has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise RuntimeError(
                    f"with has_aux=True the function must return (output, aux), got {type(result).__name__}"
                )
            result, self.aux = result
        leaves, self.build_outputs = flatten_tree(result)
        for x in leaves:
            if not isinstance(x, Tensor):
                raise RuntimeError(f"the function must return tensors, got {type(x).__name__}")
        self.outputs = [lift(x) for x in leaves]
        self.nested = self.wanted and leads_elsewhere(self.outputs, self.inputs)
        self.aux = self.public(self.aux)

    def public(self, tree: Any) -> Any:
        """Detach results from the graph, unless a derivative is nested in another."""
        if self.nested:
            return tree
        return map_tree(lambda x: x.detach() if isinstance(x, Tensor) else x, tree)

    def values(self) -> Any:
        return self.public(self.build_outputs([cover(x) for x in self.outputs]))


def leads_elsewhere(outputs: Iterable[Tensor], inputs: Sequence[Tensor]) -> bool:
    """Report whether the outputs also depend on leaves that are not among the inputs."""
    own = {x._node for x in inputs}
    if any(not node.leaf for node in own):
        return True
    starts = [x._node for x in outputs if x._node is not None]
    return any(node.leaf and node not in own for node in reachable(starts))


def fresh_input(x: Any) -> Tensor:
    """Return a copy with its own node, unwrapped from all levels. Raises RuntimeError for integers."""
    unwrapped = lift(x) if isinstance(x, Tensor) else Tensor._wrap(as_raw(x), None)
    if unwrapped._data.dtype.kind not in "fc":
        raise RuntimeError(f"only floating point and complex inputs can be differentiated, got {unwrapped.dtype}")
    if unwrapped._node is None:
        return Tensor._wrap(unwrapped._data, None).requires_grad_()
    return entry("alias").function(unwrapped)


def trace_function(
    func: Callable, args: tuple, kwargs: dict, argnums: Argnums | None = 0, has_aux: bool = False
) -> CallTrace:
    """Call func with fresh inputs as the arguments argnums (None: all). Raises RuntimeError for a bad index."""
    wanted = state.grad
    single = argnums is not None and not isinstance(argnums, tuple | list)
    chosen: Any = (argnums,) if single else argnums
    if argnums is None:
        chosen = range(len(args))
    for i in chosen:
        if not isinstance(i, int) or not -len(args) <= i < len(args):
            raise RuntimeError(f"argnums {argnums!r} is not valid for a call with {len(args)} positional arguments")
    places = [i % len(args) for i in chosen]
    with enable_grad():
        given = [args[i] for i in places]
        leaves, build = flatten_tree(given[0] if single else tuple(given))
        record = CallTrace([fresh_input(x) for x in leaves], build, wanted)
        new = build([cover(x) for x in record.inputs])
        arguments = list(args)
        for i, x in zip(places, (new,) if single else new, strict=True):
            arguments[i] = x
        record.finish(func(*arguments, **kwargs), has_aux)
    return record


def pull(trace: CallTrace, seeds: Sequence[tuple[Tensor, Any]], retain: bool, create: bool) -> list[Any]:
    """Return the cotangents of the inputs: raw arrays, or Tensors with `create`; None for an input that has no effect.

    seeds: pairs of an output and its cotangent, which may have one more leading axis.
    """
    roots = [(out._node, g if create else g._data) for out, g in seeds if out._node is not None]
    grads = Plan(retain, create, dict.fromkeys(x._node for x in trace.inputs)).run(roots)
    return [cast_cotangent(grads.get(x._node), x._data.dtype) for x in trace.inputs]


def tensor_or_zeros(g: Any, x: Tensor, lead: tuple = ()) -> Tensor:
    """Return a cotangent or tangent as a tensor; for None, zeros of shape lead + x.shape."""
    if g is None:
        return Tensor._wrap(np.zeros(lead + x._data.shape, x._data.dtype), None)
    return g if isinstance(g, Tensor) else Tensor._wrap(g, None)


def cover_products(products: Iterable, like: Iterable[Tensor]) -> list[Tensor]:
    """Wrap cotangents or tangents in all open levels, with zeros for None."""
    return [cover(tensor_or_zeros(g, x)) for g, x in zip(products, like, strict=True)]


def check_cotangents(given: Sequence, like: Sequence[Tensor], places: tuple[int, ...] = ()) -> list[Tensor]:
    """Unwrap cotangents or tangents from all levels. Raises RuntimeError if their number or shapes do not match.

    places: axes of levels opened after `like` was recorded, to be moved to the front.
    """
    added = len(places)
    if len(given) != len(like):
        raise RuntimeError(f"expected {len(like)} tensor(s), got {len(given)}")
    result = []
    for v, x in zip(given, like, strict=True):
        unwrapped = lift(v if isinstance(v, Tensor) else Tensor._wrap(as_raw(v), None))
        if places:
            unwrapped = entry("moveaxis").function(unwrapped, places, tuple(range(added)))
        if tuple(unwrapped.shape[added:]) != tuple(x.shape):
            raise RuntimeError(f"expected a tensor of shape {list(x.shape)}, got shape {list(unwrapped.shape[added:])}")
        result.append(unwrapped if unwrapped.dtype == x.dtype else unwrapped.to(x.dtype))
    return result


def assemble_blocks(record: CallTrace, blocks: list[list[Tensor]], has_aux: bool) -> Any:
    jacobian = record.build_outputs([record.build_inputs([cover(block) for block in row]) for row in blocks])
    return (jacobian, record.aux) if has_aux else jacobian


def reverse_blocks(record: CallTrace, chunk_size: int | None = None, retain: bool = False) -> list[list[Tensor]]:
    """Compute the blocks of `forward_blocks` in reverse mode. retain: keep the graph."""
    check_jacobian_size(record)
    return [
        jacobian_rows(record, out, chunk_size, not retain and i == len(record.outputs) - 1)
        for i, out in enumerate(record.outputs)
    ]


def check_jacobian_size(record: CallTrace) -> None:
    rank = len(record.lead)
    rows, columns = (sum(math.prod(x.shape[rank:]) for x in part) for part in (record.outputs, record.inputs))
    size, free = 8 * rows * columns * math.prod(record.lead), free_memory()
    if size > MEMORY_SHARE * free:
        limit = f"the limit is {MEMORY_SHARE:.0%} of the free {free / 2**30:.1f} GiB"
        hint = "use fewer inputs or outputs, products (vjp, jvp), or a sparse Jacobian"
        raise GradcliError(f"this Jacobian would take {size / 2**30:.1f} GiB; {limit}", hint=hint, kind="limit")


def jacobian_rows(record: CallTrace, out: Tensor, chunk_size: int | None, last: bool) -> list[Tensor]:
    rank, create = len(record.lead), record.nested
    shape = tuple(out.shape[rank:])
    rows = math.prod(shape)
    if out._node is None or not rows:
        return [zero_block(x, shape, rank) for x in record.inputs]
    if out._data.dtype.kind == "c":
        raise RuntimeError("jacrev: the function must return real tensors; return real and imaginary parts separately")
    row_bytes = sum(x._data.nbytes for x in record.inputs)
    parts = []
    for start, stop in chunks_of(rows, chunk_size, max(row_bytes, out._data.nbytes), [out._node]):
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
    """Return rows `start` to `stop` of the identity matrix, each reshaped to `shape`, and repeated over `lead`."""
    n = stop - start
    rows = np.zeros((n, math.prod(shape)), dtype)
    rows[np.arange(n), np.arange(start, stop)] = 1
    rows = rows.reshape((n, *(1,) * len(lead), *shape))
    return Tensor._wrap(np.broadcast_to(rows, (n, *lead, *shape)) if lead else rows, None)


def join_chunks(parts: list, axis: int, shape: tuple, nested: bool) -> Tensor:
    if nested:
        whole = parts[0] if len(parts) == 1 else entry("concatenate").function(parts, 0)
        return (entry("moveaxis").function(whole, 0, axis) if axis else whole).reshape(*shape)
    raw = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return Tensor._wrap(np.moveaxis(raw, 0, axis).reshape(shape), None)


def zero_block(x: Tensor, shape: tuple, rank: int) -> Tensor:
    """Return zeros of the shape of x, with `shape` inserted before its axis `rank`."""
    whole = tuple(x.shape)
    return Tensor._wrap(np.zeros(whole[:rank] + shape + whole[rank:], x._data.dtype), None)
