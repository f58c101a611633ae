"""The transforms of torch.autograd.functional, which take a function together with its inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..tape.backward import as_tuple
from ..tape.modes import set_grad_enabled, state
from ..tape.tensor import Tensor
from .batched_tensor import cover
from .forward import forward_blocks, push_all
from .trace import CallTrace, check_cotangents, cover_products, pull, reverse_blocks, trace_function

Tensors = Tensor | tuple[Tensor, ...]
STRICT = "This is not allowed in strict mode."
OUTSIDE_GRAPH = (
    "Output {} of the user-provided function does not require gradients. The outputs must be computed in a "
    "differentiable manner from the input when running in strict mode."
)
INDEPENDENT = "The output of the user-provided function is independent of input {}. " + STRICT
CONSTANT_JACOBIAN = (
    "The jacobian of the user-provided function is independent of input {}. " + STRICT[:-1] + " with a graph."
)


def check_tensors(x: Any, text: str) -> tuple[Tensor, ...]:
    """Return a Tensor or several as a tuple. Raises TypeError, with a message that starts with `text`, for others."""
    given = as_tuple(x)
    for each in given:
        if not isinstance(each, Tensor):
            raise TypeError(f"{text} must be either a Tensor or a tuple of Tensors, not {type(each).__name__}")
    return given


def prepare_call(
    func: Callable, inputs: Any, create_graph: bool, strict: bool, name: str
) -> tuple[CallTrace, bool, bool]:
    """Record one call. Return its trace, whether the inputs are a tuple, and whether the outputs are.

    strict: raise RuntimeError for an output that is not in the graph.
    """
    given = check_tensors(inputs, f"The inputs given to {name}")
    several = False

    def call(*xs: Any) -> Any:
        nonlocal several
        result = func(*xs)
        several = isinstance(result, tuple | list)
        return check_tensors(result, f"The outputs of the user-provided function given to {name}")

    with set_grad_enabled(create_graph):
        record = trace_function(call, given if create_graph else tuple(x.detach() for x in given), {}, None)
    record.nested = create_graph
    if strict:
        require_parts([out._node for out in record.outputs], OUTSIDE_GRAPH)
    return record, isinstance(inputs, tuple | list), several


def require_parts(parts: Sequence, text: str) -> None:
    for i, part in enumerate(parts):
        if part is None:
            raise RuntimeError(text.format(i))


def unpack_parts(parts: Sequence, many: bool) -> Any:
    return tuple(parts) if many else parts[0]


def jacobian(
    func: Callable,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Return the Jacobian of func at inputs, of shape output.shape + input.shape.

    A tuple of inputs gives a tuple of blocks; a tuple of outputs gives a tuple of these. create_graph: make the result
    differentiable. strict: raise RuntimeError for an output that does not depend on an input. All rows (or columns,
    with strategy="forward-mode") are computed in one pass, whatever the value of vectorize.
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise ValueError(f"jacobian: strategy must be 'forward-mode' or 'reverse-mode', got {strategy!r}")
    if strict and (vectorize or strategy == "forward-mode"):
        what = "vectorize=True" if strategy == "reverse-mode" else 'strategy="forward-mode"'
        raise RuntimeError(f"jacobian: strict=True and {what} are not supported together")
    record, many, several = prepare_call(func, inputs, create_graph, strict, "jacobian")
    if strict:
        for j, out in enumerate(record.outputs):
            seeds = [(out, Tensor._wrap(np.ones_like(out._data), None))]
            text = f"Output {j} of the user-provided function is independent of input {{}}. {STRICT}"
            require_parts(pull(record, seeds, True, False), text)
    with set_grad_enabled(create_graph or state.grad):
        rows = (forward_blocks if strategy == "forward-mode" else reverse_blocks)(record)
    for row in rows if strict and create_graph else ():
        require_parts([x._node for x in row], CONSTANT_JACOBIAN)
    return unpack_parts([unpack_parts([cover(block) for block in row], many) for row in rows], several)


def hessian(
    func: Callable, inputs: Tensors, create_graph: bool = False, strict: bool = False, vectorize: bool = False
) -> Any:
    """Return the second derivatives of a scalar function; the block of inputs i and j has shape i.shape + j.shape.

    A tuple of inputs gives a tuple of tuples of blocks. Raises RuntimeError if the output is not a scalar.
    """
    check_tensors(inputs, "The inputs given to hessian")
    if strict and vectorize:
        raise RuntimeError("hessian: strict=True and vectorize=True are not supported together")
    single = require_scalar(func, "hessian")

    def gradient(*xs: Tensor) -> Any:
        result = jacobian(single, xs, create_graph=True, strict=strict)
        return result if isinstance(inputs, tuple | list) else result[0]

    return jacobian(gradient, inputs, create_graph)


def require_scalar(func: Callable, name: str) -> Callable:
    """Wrap func to raise RuntimeError unless it returns a single number."""

    def call(*xs: Any) -> Tensor:
        result = func(*xs)
        outs = check_tensors(result, f"The outputs of the user-provided function given to {name}")
        if isinstance(result, tuple | list):
            raise RuntimeError(f"The function given to {name} should return a single Tensor")
        if outs[0].numel() != 1:
            raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")
        return outs[0].reshape(())

    return call


def vectors_or_one(v: Any, like: Sequence[Tensor], name: str) -> Sequence[Tensor]:
    """Return the vectors v, or 1 for None. Raises RuntimeError for None unless `like` is a single number."""
    if v is not None:
        return check_tensors(v, f"The v given to {name}")
    if len(like) != 1 or like[0].numel() != 1:
        what = "user-provided function returns" if name == "vjp" else "input to the user-provided function is"
        raise RuntimeError(f"The vector v can only be None if the {what} a single Tensor with a single element.")
    return [Tensor._wrap(np.ones(tuple(like[0].shape), like[0].dtype.dtype), None)]


def vjp(
    func: Callable, inputs: Tensors, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return (outputs, v J): the product of a vector with the Jacobian, shaped like the inputs."""
    return multiply_jacobian(func, inputs, v, create_graph, strict, "vjp")


def jvp(
    func: Callable, inputs: Tensors, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return (outputs, J v): the derivative in the direction v, shaped like the outputs."""
    return multiply_jacobian(func, inputs, v, create_graph, strict, "jvp", forward=True)


def multiply_jacobian(
    func: Callable, inputs: Tensors, v: Any, create_graph: bool, strict: bool, name: str, forward: bool = False
) -> tuple[Any, Any]:
    record, many, several = prepare_call(func, inputs, create_graph, strict, name)
    like, targets = (record.inputs, record.outputs) if forward else (record.outputs, record.inputs)
    given = check_cotangents(vectors_or_one(v, [cover(x) for x in like], name), like)
    with set_grad_enabled(create_graph or state.grad):
        if forward:
            parts = push_all(record, given, create_graph)
        else:
            parts = pull(record, list(zip(record.outputs, given, strict=True)), create_graph, create_graph)
    if strict:
        require_parts(parts, INDEPENDENT)
    products = cover_products(parts, targets)
    if strict and create_graph:
        require_parts([x._node for x in products], CONSTANT_JACOBIAN)
    outputs = unpack_parts([record.public(cover(x)) for x in record.outputs], several)
    return outputs, unpack_parts(products, several if forward else many)


def second_product(outer: Callable, name: str) -> Callable:
    """Return hvp or vhp, which apply `outer` (jvp or vjp) to the gradient."""

    def multiply(
        func: Callable, inputs: Tensors, v: Any = None, create_graph: bool = False, strict: bool = False
    ) -> tuple[Any, Any]:
        many = isinstance(inputs, tuple | list)
        given = check_tensors(inputs, f"The inputs given to {name}")
        vector = unpack_parts(vectors_or_one(v, given, name), many or isinstance(v, tuple | list))
        values: list[Tensor] = []
        single = require_scalar(func, name)

        def gradient(*xs: Tensor) -> Any:
            out, grads = multiply_jacobian(single, xs if many else xs[0], None, True, strict, name)
            values.append(out)
            return grads

        _, result = outer(gradient, inputs, vector, create_graph, strict)
        return (values[0] if create_graph else values[0].detach()), result

    multiply.__name__ = name
    return multiply


hvp = second_product(jvp, "hvp")
hvp.__doc__ = "Return (output, H v): the product of the Hessian of a scalar function with a vector."
vhp = second_product(vjp, "vhp")
vhp.__doc__ = "Return (output, v H): the product of a vector with the Hessian of a scalar function."
