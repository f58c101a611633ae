"""Backward as users call it, from tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import add_advice
from .dtypes import as_dtype
from .modes import observers
from .node import Node
from .record import cast
from .tensor import Size, Tensor
from .walk import Cotangent, Plan, as_tuple


def as_inputs(x: Any) -> tuple:
    """Return one tensor or a sequence of them as a tuple. Raises RuntimeError unless all require grad."""
    targets = as_tuple(x)
    for i, t in enumerate(targets):
        if not isinstance(t, Tensor):
            raise RuntimeError(f"all inputs have to be Tensors, but got {type(t).__name__}")
        if t._node is None:
            failure = RuntimeError("One of the differentiated Tensors does not require grad")
            raise add_advice(failure, f"number {i} was made without requires_grad=True")
    return targets


def cotangent_for(output: Any, given: Any, create: bool, place: int = 0) -> Cotangent:
    """Return the vector to start backward with at an output: 1 for a single element unless given.

    Raises RuntimeError for a non-scalar without a vector, and for a vector of another shape.
    """
    shape, dtype = output._data.shape, output._data.dtype
    if given is None:
        if math.prod(shape) != 1:
            failure = RuntimeError("grad can be implicitly created only for scalar outputs")
            raise add_advice(failure, f"this one has shape {list(shape)}: pass a gradient of that shape")
        if dtype.kind == "c":
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {as_dtype(dtype)}")
        raw = np.ones(shape, dtype) if shape else dtype.type(1)
        return Tensor._wrap(raw, None) if create else raw
    if given._data.shape != shape:
        shapes = f"grad_output[{place}] has a shape of {given.shape} and output[{place}] has a shape of {Size(shape)}"
        raise RuntimeError(f"Mismatch in shape: {shapes}.")
    if (given._data.dtype.kind == "c") != (dtype.kind == "c"):
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in "
            f"dtype: grad_output[{place}] has a dtype of {given.dtype} and output[{place}] has a dtype of "
            f"{as_dtype(dtype)}."
        )
    return given if create else given._data


def batch_for(output: Any, given: Any, create: bool, place: int = 0) -> Cotangent:
    """Return several vectors to start backward with at an output, along one more leading axis."""
    if given is None or given._data.shape[1:] != output._data.shape:
        shape = None if given is None else list(given.shape)
        raise RuntimeError(
            "If `is_grads_batched=True`, we interpret the first axis of each grad_output as the batch: wanted shape "
            f"[N, *{list(output.shape)}], got {shape}"
        )
    return given if create else given._data


def roots_of(
    outputs: tuple, vectors: Any, create: bool, start: Callable = cotangent_for
) -> list[tuple[Node, Cotangent]]:
    """Return the nodes of outputs, each with what `start` makes of its vector. Raises RuntimeError and TypeError."""
    vectors = (None,) * len(outputs) if vectors is None else as_tuple(vectors)
    if len(vectors) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(vectors)} gradients")
    roots = []
    for i, (output, vector) in enumerate(zip(outputs, vectors, strict=True)):
        if not isinstance(output, Tensor):
            raise TypeError(f"gradients start from Tensors, but got {type(output).__name__}")
        if output._node is None:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        if vector is not None and not isinstance(vector, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(vector).__name__}")
        roots.append((output._node, start(output, vector, create, i)))
    return roots


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the gradient of the tensors (times grad_tensors) to the leaves' `.grad`.

    inputs: only these get a gradient; non-leaves may be among them. Raises RuntimeError if the graph was freed, if
    nothing requires grad, or if a vector is missing or has the wrong shape.
    """
    outputs = as_tuple(tensors)
    for observer in observers:
        retain_graph = observer.see_backward("backward", outputs) or retain_graph
    if inputs is not None and len(as_tuple(inputs)) == 0:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    roots, wanted = roots_of(outputs, grad_tensors, create_graph), None
    if inputs is not None:
        targets = as_inputs(inputs)
        for t in targets:
            t.retain_grad()
        wanted = dict.fromkeys(t._node for t in targets)
    Plan(create_graph if retain_graph is None else retain_graph, create_graph, wanted, accumulates=True).run(roots)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple:
    """Return the gradients of the outputs (times grad_outputs) for the inputs, a tuple like `inputs`.

    With is_grads_batched, grad_outputs and results have a leading axis. Raises RuntimeError for an input that the
    outputs do not depend on, unless allow_unused (which gives None) or materialize_grads (zeros).
    """
    outputs = as_tuple(outputs)
    targets = as_inputs(inputs)
    if not targets:
        raise ValueError("grad requires non-empty inputs.")
    for observer in observers:
        observer.see_backward("grad", outputs)
    if grad_outputs is not None:
        mapped = next((v for v in as_tuple(grad_outputs) if getattr(v, "record_level", 1) > 1), None)
        if mapped is not None and not is_grads_batched:
            given = (targets, retain_graph, create_graph, only_inputs, allow_unused)
            return mapped.gradients(grad, outputs, as_tuple(grad_outputs), given, materialize_grads)
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got False")
    roots = roots_of(outputs, grad_outputs, create_graph, batch_for if is_grads_batched else cotangent_for)
    plan = Plan(
        create_graph if retain_graph is None else retain_graph, create_graph, dict.fromkeys(t._node for t in targets)
    )
    grads = plan.run(roots)
    for i, t in enumerate(targets):
        if grads[t._node] is None and not (allow_unused or materialize_grads):
            what = f"The differentiated Tensor at index {i} appears to not have been used in the graph."
            raise RuntimeError(f"{what} Set allow_unused=True if this is the desired behavior.")
    return tuple(as_gradient(grads[t._node], t, create_graph, materialize_grads) for t in targets)


def as_gradient(g: Cotangent, target: Tensor, create: bool, materialize: bool) -> Tensor | None:
    """Return a cotangent as a Tensor with memory of its own, in the target's type; None, or zeros, for none."""
    dtype = target._data.dtype
    if g is None:
        zeros = Tensor._wrap(np.zeros(target._data.shape, dtype), None) if materialize else None
        return zeros.requires_grad_() if zeros is not None and create else zeros
    if create:
        return cast(g, dtype)
    return Tensor._wrap(np.array(g, dtype) if g.base is not None or g.dtype != dtype else g, None)


def backward_from(
    self: Tensor, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
) -> None:
    """Add to the leaves' `.grad` the gradient of this tensor times `gradient` (1 for a scalar)."""
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)
