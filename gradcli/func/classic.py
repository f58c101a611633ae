"""The transforms in the form of torch.autograd.functional: called with a function and its inputs at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..tape.modes import set_grad_enabled
from ..tape.tensor import Tensor
from .forward import forward_blocks, push_all, tensor, zeros_like
from .reverse import checked, public, pull, reverse_blocks
from .trace import Trace, trace

Tensors = Tensor | tuple[Tensor, ...]


def prepared(func: Callable, inputs: Any, create_graph: bool, name: str) -> tuple[Trace, bool, bool]:
    """Return one recorded call, and whether inputs and outputs are tuples.

    Raises TypeError for inputs or outputs that are neither a Tensor nor a tuple of Tensors.
    """
    many = isinstance(inputs, tuple | list)
    given = tuple(inputs) if many else (inputs,)
    for x in given:
        if not isinstance(x, Tensor):
            raise TypeError(f"{name}: the inputs must be a Tensor or a tuple of Tensors, got {type(x).__name__}")
    several = False

    def call(*xs: Any) -> Any:
        nonlocal several
        result = func(*xs)
        several = isinstance(result, tuple | list)
        for x in result if several else (result,):
            if not isinstance(x, Tensor):
                raise TypeError(
                    f"{name}: the function must return a Tensor or a tuple of Tensors, got {type(x).__name__}"
                )
        return tuple(result) if several else result

    with set_grad_enabled(create_graph):
        record = trace(call, given if create_graph else tuple(x.detach() for x in given), {}, None)
    record.nested = create_graph
    return record, many, several


def check_strict(parts: list, strict: bool, what: str) -> None:
    """Raise RuntimeError for a part that is missing when `strict` demands that all are there."""
    if strict and any(part is None for part in parts):
        raise RuntimeError(f"{what}: an output is independent of an input. This is not allowed in strict mode.")


def unpacked(parts: list, many: bool) -> Any:
    """Return parts as a tuple, or the only one."""
    return tuple(parts) if many else parts[0]


def jacobian(
    func: Callable,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Return the Jacobian of func at inputs: shape output.shape + input.shape.

    A tuple of inputs gives a tuple of blocks, a tuple of outputs a tuple of those. create_graph: the result
    can be differentiated. strict: raise RuntimeError for an output that does not depend on an input. All
    rows (columns with strategy="forward-mode") are computed in one pass, whatever vectorize says.
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise ValueError(f"jacobian: strategy must be 'forward-mode' or 'reverse-mode', got {strategy!r}")
    record, many, several = prepared(func, inputs, create_graph, "jacobian")
    if strict:
        for out in record.outputs:
            seeds = [(out, Tensor._wrap(np.ones_like(out._data), None))]
            check_strict([None] if out._node is None else pull(record, seeds, True, False), True, "jacobian")
    rows = (forward_blocks if strategy == "forward-mode" else reverse_blocks)(record)
    return unpacked([unpacked(row, many) for row in rows], several)


def hessian(
    func: Callable,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Return the second derivatives of a scalar function: for inputs i and j shape i.shape + j.shape.

    A tuple of inputs gives a tuple of tuples of blocks. Raises RuntimeError when the output is no scalar.
    """

    def gradient(*xs: Tensor) -> Any:
        result = jacobian(scalar(func, "hessian"), xs, create_graph=True, strict=strict)
        return result if isinstance(inputs, tuple | list) else result[0]

    return jacobian(gradient, inputs, create_graph, strict, strategy=outer_jacobian_strategy)


def scalar(func: Callable, name: str) -> Callable:
    """Return func with a check that it returns a single number. Raises RuntimeError otherwise."""

    def call(*xs: Any) -> Tensor:
        out = func(*xs)
        if not isinstance(out, Tensor):
            raise TypeError(f"{name}: the function must return a Tensor, got {type(out).__name__}")
        if out._data.size != 1:
            raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")
        return out.reshape(())

    return call


def vectors(v: Any, like: list[Tensor], name: str, what: str) -> list[Tensor]:
    """Return the given vectors; ones for a single number. Raises RuntimeError when they are needed, or do not fit."""
    if v is None:
        if len(like) != 1 or like[0]._data.size != 1:
            raise RuntimeError(f"{name}: the vector v can only be left out when {what} is a single number")
        return [Tensor._wrap(np.ones_like(like[0]._data), None)]
    return checked(v if isinstance(v, tuple | list) else (v,), like)


def vjp(
    func: Callable, inputs: Tensors, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return (outputs, v J): the product of a vector with the Jacobian, shaped like the inputs."""
    record, many, several = prepared(func, inputs, create_graph, "vjp")
    given = vectors(v, record.outputs, "vjp", "the output")
    grads = pull(record, list(zip(record.outputs, given, strict=True)), create_graph, create_graph)
    check_strict(grads, strict, "vjp")
    products = [public(g, x) for g, x in zip(grads, record.inputs, strict=True)]
    return results(record, several), unpacked(products, many)


def jvp(
    func: Callable, inputs: Tensors, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return (outputs, J v): the derivative in the direction v, shaped like the outputs."""
    record, _, several = prepared(func, inputs, create_graph, "jvp")
    given = vectors(v, record.inputs, "jvp", "the input")
    tangents = push_all(record, given, create_graph)
    check_strict(tangents, strict, "jvp")
    products = [zeros_like(out) if t is None else tensor(t) for t, out in zip(tangents, record.outputs, strict=True)]
    return results(record, several), unpacked(products, several)


def results(record: Trace, several: bool) -> Any:
    """Return the outputs of a call as the caller may have them."""
    return unpacked([record.public(x) for x in record.outputs], several)


def second_product(product: Callable, name: str) -> Callable:
    """Return the function that multiplies the Hessian of a scalar function with a vector through `product`."""

    def multiply(
        func: Callable, inputs: Tensors, v: Any = None, create_graph: bool = False, strict: bool = False
    ) -> tuple[Any, Any]:
        many = isinstance(inputs, tuple | list)
        if v is None:
            vectors(None, list(inputs) if isinstance(inputs, tuple | list) else [inputs], name, "the input")
        values: list[Tensor] = []

        def gradient(*xs: Tensor) -> Any:
            out, grads = vjp(scalar(func, name), xs if many else xs[0], create_graph=True, strict=strict)
            values.append(out)
            return grads

        _, result = product(gradient, inputs, v, create_graph, strict)
        return (values[0] if create_graph else values[0].detach()), result

    multiply.__name__ = name
    return multiply


hvp = second_product(jvp, "hvp")
hvp.__doc__ = "Return (output, H v): the product of the Hessian of a scalar function with a vector."
vhp = second_product(vjp, "vhp")
vhp.__doc__ = "Return (output, v H): the product of a vector with the Hessian of a scalar function."
