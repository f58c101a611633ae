"""Backward as users call it: `backward` and `grad`, their checks and their results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .node import Node
from .plan import Plan, as_tuple
from .record import cast
from .tensor import Tensor
from .walk import Cotangent

before_backward: list[Callable[[], None]] = []
"""Called when `backward` is about to start."""


def as_inputs(x: Any) -> tuple:
    """Return one tensor or a sequence of them as a tuple. Raises RuntimeError unless all require grad."""
    targets = as_tuple(x)
    for t in targets:
        if not isinstance(t, Tensor):
            raise RuntimeError(f"all inputs have to be Tensors, but got {type(t).__name__}")
        if t._node is None:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    return targets


def cotangent_for(output: Tensor, given: Any, create: bool) -> Cotangent:
    """Return the vector to start backward with at an output; 1 where none is given for a single element.

    Raises RuntimeError for a missing vector of a non-scalar and for one of another shape.
    """
    if given is None:
        if output._data.size != 1:
            raise RuntimeError(
                f"grad can be implicitly created only for scalar outputs, this one has shape {list(output.shape)}; "
                "pass a gradient of that shape"
            )
        if output._data.dtype.kind == "c":
            raise RuntimeError("grad can be implicitly created only for real scalar outputs but got a complex one")
        raw = np.ones_like(output._data)[()] if output._data.ndim == 0 else np.ones_like(output._data)
        return Tensor._wrap(raw, None) if create else raw
    if not isinstance(given, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(given).__name__}")
    if given._data.shape != output._data.shape:
        raise RuntimeError(
            f"Mismatch in shape: the gradient has a shape of {list(given.shape)} and the output has a shape of "
            f"{list(output.shape)}."
        )
    if given._data.dtype.kind == "c" and output._data.dtype.kind != "c":
        raise RuntimeError("a complex gradient was given for a real output")
    return given if create else given._data


def roots_of(outputs: tuple, vectors: Any, create: bool) -> list[tuple[Node, Cotangent]]:
    """Return the nodes and cotangents that backward starts with."""
    vectors = (None,) * len(outputs) if vectors is None else as_tuple(vectors)
    if len(vectors) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(vectors)} gradients")
    roots = []
    for output, vector in zip(outputs, vectors, strict=True):
        if not isinstance(output, Tensor):
            raise TypeError(f"gradients start from Tensors, but got {type(output).__name__}")
        if output._node is None:
            raise RuntimeError(
                "element 0 of tensors does not require grad and does not have a grad_fn"
                if len(outputs) == 1
                else "one of the tensors does not require grad and does not have a grad_fn"
            )
        roots.append((output._node, cotangent_for(output, vector, create)))
    return roots


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add the gradient of the tensors (times grad_tensors) to the leaves' `.grad`.

    inputs: only these get a gradient; non-leaves may be among them. Raises RuntimeError when the graph was
    freed, when nothing requires grad, or when a vector is missing or has the wrong shape.
    """
    for listener in before_backward:
        listener()
    outputs = as_tuple(tensors)
    plan = Plan(create_graph if retain_graph is None else retain_graph, create_graph)
    roots = roots_of(outputs, grad_tensors if grad_tensors is not None else grad_variables, create_graph)
    if inputs is None:
        plan.run(roots)
        return
    targets = as_inputs(inputs)
    if not targets:
        raise RuntimeError("'inputs' argument to backward cannot be empty.")
    plan.wanted = dict.fromkeys((t._node for t in targets), None)
    plan.run(roots)
    for t in targets:
        g = plan.wanted[t._node]
        if g is not None:
            g = cast(plan.wrap(g), t._data.dtype) if create_graph else Tensor._wrap(np.array(g, t._data.dtype), None)
            t._grad = g if t._grad is None else t._grad + g
            if t._node.leaf and t._node.hooks is not None:
                plan.accumulated(t._node, plan.unwrap(g))


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

    With is_grads_batched, grad_outputs have a leading axis and so have the results. Raises RuntimeError for
    an input that the outputs do not depend on, unless allow_unused (None is returned) or materialize_grads
    (zeros are returned).
    """
    outputs, targets = as_tuple(outputs), as_inputs(inputs)
    if not targets:
        raise ValueError("grad requires non-empty inputs.")
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got False")
    plan = Plan(
        create_graph if retain_graph is None else retain_graph,
        create_graph,
        dict.fromkeys(t._node for t in targets),
    )
    if is_grads_batched:
        roots = batched_roots(outputs, grad_outputs, create_graph)
    else:
        roots = roots_of(outputs, grad_outputs, create_graph)
    plan.run(roots)
    return tuple(_result(plan, t, bool(allow_unused), materialize_grads) for t in targets)


def _result(plan: Plan, target: Tensor, allow_unused: bool, materialize: bool) -> Tensor | None:
    assert plan.wanted is not None
    g = plan.wanted[target._node]
    data = target._data
    if g is None:
        if materialize:
            zeros = Tensor._wrap(np.zeros(data.shape, data.dtype), None)
            return zeros.requires_grad_() if plan.create else zeros
        if not allow_unused:
            raise RuntimeError(
                "One of the differentiated Tensors appears to not have been used in the graph. Set "
                "allow_unused=True if this is the desired behavior."
            )
        return None
    if plan.create:
        return cast(g, data.dtype)
    return Tensor._wrap(np.array(g, data.dtype) if g.base is not None or g.dtype != data.dtype else g, None)


def batched_roots(outputs: tuple, vectors: Any, create: bool) -> list[tuple[Node, Cotangent]]:
    """Return the roots for cotangents with one more axis in front."""
    roots = []
    for output, vector in zip(outputs, as_tuple(vectors), strict=True):
        if output._node is None:
            raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
        if vector is None or vector._data.shape[1:] != output._data.shape:
            shape = None if vector is None else list(vector.shape)
            raise RuntimeError(
                f"is_grads_batched needs grad_outputs of shape [N, *{list(output.shape)}], got {shape}"
            )
        roots.append((output._node, vector if create else vector._data))
    return roots


__all__ = ["backward", "grad"]
