"""Edges of the graph: the place where a gradient flows into a node, with or without the tensor it belongs to."""

from __future__ import annotations

from typing import Any, NamedTuple

from .dtypes import DType, as_dtype, cpu
from .modes import state
from .node import Node, OutputNode, Slots
from .tensor import Size, Tensor


class GradientEdge(NamedTuple):
    """Where the gradient of output number `output_nr` of a node arrives."""

    node: Any
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return the edge that the gradient of a tensor flows through. Raises RuntimeError where there is none."""
    if isinstance(tensor, GradientEdge):
        return tensor
    node = tensor._node
    if node is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(node.public, node.output_nr, None if node.leaf else node)


def node_of(x: Tensor | GradientEdge) -> Node:
    """Return the node at which the gradient of a tensor or of an edge arrives."""
    if isinstance(x, Tensor):
        return x._node
    return x.node.output(x.output_nr) if x.ownership_token is None else x.ownership_token


def outline_of(node: Any) -> tuple:
    """Return shape and NumPy dtype of the gradient that arrives at a node."""
    if isinstance(node, OutputNode):
        return node.parents[0].outline[node.index]
    while not node.leaf and node.outline is None:
        node = next(p for p in node.parents if p is not None)  # quick operations keep shape and type
        if isinstance(node, OutputNode):
            return outline_of(node)
    return (node.data.shape, node.data.dtype) if node.leaf else node.outline


class Metadata(NamedTuple):
    """What is known of a gradient that a node gets."""

    shape: Size
    dtype: DType
    device: Any = cpu
    is_tensor_subclass: bool = False
    is_nested_tensor: bool = False
    is_cpp_nested_tensor: bool = False


def input_metadata(node: Any) -> list[Metadata]:
    """Return shape and type of each gradient that a node gets: one per output of its operation."""
    outline = node.outline
    outlines = outline if isinstance(outline, list) else [outline_of(node)]
    return [Metadata(Size(shape), as_dtype(dtype)) for shape, dtype in outlines]


def run_node(node: Any, *grads: Any) -> Any:
    """Return what a node makes of the gradients of its outputs: one per input, alone where there is one.

    Raises TypeError for another number of gradients.
    """
    count = node.output_count
    if len(grads) != count:
        raise TypeError(f"{node.name()} expected {count} arguments, got {len(grads)} arguments instead")
    if node.leaf:
        node.accumulate(grads[0]._data, False, False)
        return None
    create = state.grad
    given = [None if g is None else g if create else g._data for g in grads]
    slots = (
        Slots((i, g) for i, g in enumerate(given) if g is not None)
        if count > 1 or isinstance(node.outline, list)
        else given[0]
    )
    parts = node.rule.vjp(node.standing_in(node.parents, Tensor._wrap if create else None), slots)
    results = [None if g is None else g if create else Tensor._wrap(g, None) for g in parts]
    while len(results) > 1 and node.parents[len(results) - 1] is None:
        results.pop()  # Python numbers get no gradient
    return results[0] if len(results) == 1 else tuple(results)


Node.__call__ = run_node  # type: ignore[method-assign]
Node._input_metadata = property(input_metadata)  # type: ignore[attr-defined]
