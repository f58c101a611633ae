"""Calls of a function on fresh inputs, so that derivatives nest: each transform sees only its own inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..rules import entry
from ..tape.modes import enable_grad, state
from ..tape.node import Node
from ..tape.tensor import Tensor, as_raw
from ..tape.walk import reachable
from .batched_tensor import active, cover, lift
from .trees import Rebuild, flatten

Argnums = int | tuple[int, ...]


class Trace:
    """One recorded call.

    inputs, outputs: the tensors under all levels of vmap, their axes leading. build_inputs, build_outputs:
    put other leaves into the places of the inputs and the outputs. nested: whether the result is to be
    differentiable further, because something else in the graph requires grad. lead: the lengths of the
    running levels' axes. aux: what the function returned besides.
    """

    def __init__(self, inputs: list[Tensor], build_inputs: Rebuild, wanted: bool):
        self.inputs = inputs
        self.build_inputs = build_inputs
        self.outputs: list[Tensor] = []
        self.build_outputs: Rebuild
        self.aux: Any = None
        self.wanted = wanted
        self.nested = False
        self.lead = tuple(size for _, size in active.levels)

    @property
    def nodes(self) -> list[Node]:
        return [x._node for x in self.inputs]

    def finish(self, result: Any, has_aux: bool) -> None:
        """Take in what the function returned. Raises RuntimeError for results that are no tensors."""
        if has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise RuntimeError(f"with has_aux=True the function must return (output, aux), got {kind(result)}")
            result, self.aux = result
        leaves, self.build_outputs = flatten(result)
        for x in leaves:
            if not isinstance(x, Tensor):
                raise RuntimeError(f"the function must return tensors, got {kind(x)}")
        self.outputs = [lift(x) for x in leaves]
        self.nested = self.wanted and leads_elsewhere(self.outputs, self.inputs)
        self.aux = self.public(self.aux)

    def public(self, tree: Any) -> Any:
        """Return results as the caller may have them: outside the graph, unless a derivative is nested in another."""
        if self.nested:
            return tree
        leaves, build = flatten(tree)
        return build([x.detach() if isinstance(x, Tensor) else x for x in leaves])

    def values(self) -> Any:
        """Return the function's results as the caller may have them."""
        return self.public(self.build_outputs([cover(x) for x in self.outputs]))


def kind(x: Any) -> str:
    return type(x).__name__


def leads_elsewhere(outputs: Iterable[Tensor], inputs: Sequence[Tensor]) -> bool:
    """Return whether the graph of the outputs has leaves that are not among the inputs."""
    own = {x._node for x in inputs}
    if any(not node.leaf for node in own):
        return True
    starts = [x._node for x in outputs if x._node is not None]
    return any(node.leaf and node not in own for node in reachable(starts))


def fresh(x: Any) -> Tensor:
    """Return a tensor with the same numbers and a node of its own, under all levels.

    Raises RuntimeError for numbers that have no gradient.
    """
    bare = lift(x) if isinstance(x, Tensor) else Tensor._wrap(as_raw(x), None)
    if bare._data.dtype.kind not in "fc":
        raise RuntimeError(f"only floating point and complex inputs can be differentiated, got {bare.dtype}")
    if bare._node is None:
        return Tensor._wrap(bare._data, None).requires_grad_()
    return entry("alias").function(bare)


def choose_arguments(args: tuple, argnums: Argnums) -> tuple:
    """Return the positional arguments that argnums names. Raises RuntimeError for positions there are not."""
    places = argnums if isinstance(argnums, tuple | list) else (argnums,)
    for i in places:
        if not isinstance(i, int) or not -len(args) <= i < len(args):
            raise RuntimeError(f"argnums {argnums!r} does not fit a call with {len(args)} positional arguments")
    return tuple(i % len(args) for i in places)


def trace_function(
    func: Callable, args: tuple, kwargs: dict, argnums: Argnums | None = 0, has_aux: bool = False
) -> Trace:
    """Call func on fresh inputs in place of the arguments that argnums names (None: all of them)."""
    wanted = state.grad
    places = tuple(range(len(args))) if argnums is None else choose_arguments(args, argnums)
    single = argnums is not None and not isinstance(argnums, tuple | list)
    with enable_grad():
        given = [args[i] for i in places]
        leaves, build = flatten(given[0] if single else tuple(given))
        record = Trace([fresh(x) for x in leaves], build, wanted)
        new = build([cover(x) for x in record.inputs])
        arguments = list(args)
        for i, x in zip(places, (new,) if single else new, strict=True):
            arguments[i] = x
        record.finish(func(*arguments, **kwargs), has_aux)
    return record
