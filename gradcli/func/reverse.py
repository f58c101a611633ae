"""Reverse mode: vector-Jacobian products, gradients and Jacobians; calls of modules with other parameters."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..rules import entry
from ..tape.modes import set_grad_enabled
from ..tape.tensor import Tensor
from .batched_tensor import active, cover
from .trace import (
    Argnums,
    CallTrace,
    assemble_blocks,
    check_cotangents,
    cover_products,
    flatten_tree,
    pull,
    reverse_blocks,
    tensor_or_zeros,
    trace_function,
)


def vjp(func: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """Return (func(*primals), vjp_fn), where vjp_fn multiplies cotangents by the transposed Jacobian.

    The cotangents have the structure and shapes of the output; vjp_fn returns a tuple like the primals. With has_aux,
    func returns (output, aux), and aux is the third result.
    """
    record = trace_function(func, primals, {}, None, has_aux)

    def vjp_fn(cotangents: Any, *more: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        given = flatten_tree((cotangents, *more) if more else cotangents)[0]
        added = len(active.levels) - len(record.lead)
        if added > 0:
            return record.build_inputs(pull_at_once(record, given, added, retain_graph))
        create = (record.nested or any(requires_grad(v) for v in given)) if create_graph is None else create_graph
        seeds = list(zip(record.outputs, check_cotangents(given, record.outputs), strict=True))
        with set_grad_enabled(create):
            grads = pull(record, seeds, retain_graph, create)
        return record.build_inputs(cover_products(grads, record.inputs))

    if has_aux:
        return record.values(), vjp_fn, record.aux
    return record.values(), vjp_fn


def pull_at_once(record: CallTrace, given: Sequence, added: int, retain: bool) -> list[Tensor]:
    """Pull cotangents that belong to vmap levels opened after the function was recorded."""
    own, new = len(record.lead), tuple(size for _, size in active.levels[len(record.lead) :])
    count = int(np.prod(new))
    places, front = tuple(range(own, own + added)), tuple(range(added))
    vectors = check_cotangents(given, record.outputs, places)
    seeds = [(out, v.reshape((count, *out.shape))) for out, v in zip(record.outputs, vectors, strict=True)]
    create = record.nested or any(requires_grad(v) for _, v in seeds)
    with set_grad_enabled(create):
        grads = pull(record, seeds, retain, create)
        wide = [
            tensor_or_zeros(g, x, (count,)).reshape((*new, *x.shape)) for g, x in zip(grads, record.inputs, strict=True)
        ]
        return [cover(entry("moveaxis").function(g, front, places)) for g in wide]


def requires_grad(x: Any) -> bool:
    return isinstance(x, Tensor) and x._node is not None


def grad_and_value(func: Callable, argnums: Argnums = 0, has_aux: bool = False) -> Callable:
    """Return a function that computes (gradient, value) of a scalar function; with has_aux, (gradient, (value, aux)).

    argnums: the arguments to differentiate; a tuple gives a tuple of gradients. Raises RuntimeError if the output is
    not a scalar.
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        record = trace_function(func, args, kwargs, argnums, has_aux)
        ranks = [out.ndim - len(record.lead) for out in record.outputs]
        if ranks != [0]:
            got = f"tensor with {ranks[0]} dims" if len(ranks) == 1 else f"{len(ranks)} tensors"
            raise RuntimeError(
                f"grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got {got}. Maybe you wanted "
                "to use the vjp or jacrev APIs instead?"
            )
        (out,) = record.outputs
        if out.dtype.is_complex:
            raise RuntimeError("grad: the function must return a real scalar, got a complex one")
        seed = Tensor._wrap(np.ones(out._data.shape, out._data.dtype)[()], None)
        with set_grad_enabled(record.nested):
            grads = pull(record, [(out, seed)], record.nested, record.nested)
        result = record.build_inputs(cover_products(grads, record.inputs))
        value = record.values()
        return result, ((value, record.aux) if has_aux else value)

    return wrapper


def grad(func: Callable, argnums: Argnums = 0, has_aux: bool = False) -> Callable:
    """Return a function that computes the gradient of a scalar function; with has_aux, (gradient, aux)."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        result, value = both(*args, **kwargs)
        return (result, value[1]) if has_aux else result

    return wrapper


def jacrev(func: Callable, argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None) -> Callable:
    """Return a function that computes the Jacobian in reverse mode, of shape output.shape + input.shape.

    Each backward pass computes chunk_size rows, along a leading axis of the cotangents; by default, as many rows as
    fit into memory. Several outputs or argnums give a nested result: one item per output, with one per argument.
    Raises GradcliError if the result does not fit into memory.
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        record = trace_function(func, args, kwargs, argnums, has_aux)
        return assemble_blocks(record, reverse_blocks(record, chunk_size), has_aux)

    return wrapper


def registered_tensors(module: Any) -> Iterator[tuple[str, dict, str]]:
    """Yield (dotted name, registry, key) of every parameter and buffer, a shared one for each of its names."""
    for path, part in module.named_modules(remove_duplicate=False):
        for registry in (part._parameters, part._buffers):
            for key in registry:
                yield (f"{path}.{key}" if path else key), registry, key


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    strict: bool = False,
) -> Any:
    """Call a module with the given tensors in place of its parameters and buffers; shared ones are replaced everywhere.

    strict: raise RuntimeError for missing or unexpected names. Raises ValueError for a name given twice.
    """
    dicts = parameter_and_buffer_dicts
    tensors: dict[str, Any] = {}
    for part in [dicts] if isinstance(dicts, Mapping) else dicts:
        if repeated := tensors.keys() & part.keys():
            raise ValueError(f"functional_call: {sorted(repeated)} appeared in multiple dictionaries")
        tensors.update(part)
    places = [(name, registry, key, registry[key]) for name, registry, key in registered_tensors(module)]
    known = {name for name, _, _, old in places if old is not None}
    if strict and (odd := sorted(tensors.keys() ^ known)):
        raise RuntimeError(f"functional_call: unexpected or missing in {type(module).__name__}: {', '.join(odd)}")
    shared = {id(old): tensors[name] for name, _, _, old in places if name in tensors and old is not None}
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    try:
        for name, registry, key, old in places:
            registry[key] = tensors.get(name, shared.get(id(old), old))
        return module(*arguments, **(kwargs or {}))
    finally:
        for _, registry, key, old in places:
            registry[key] = old


def hessian(func: Callable, argnums: Argnums = 0) -> Callable:
    """Return a function that computes the second derivatives of func, of shape output.shape + 2 * input.shape.

    The result is the Jacobian of the Jacobian; a tuple of argnums gives nested tuples of blocks.
    """
    return jacrev(jacrev(func, argnums), argnums)
