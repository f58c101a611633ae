"""A function that runs somewhere else as a program: what it gives stands as one node in gradcli's graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from ...errors import EXIT_TARGET, GradcliError
from ...tape.function import Function
from ...tape.modes import state
from ...tape.tensor import Tensor
from ..base import Prepare, Program, Run, as_leaf, check_known
from .arguments import by_path
from .base import Elsewhere, ElsewhereError
from .framework import FrameworkCall, expanded, framework_arguments, framework_call


def failure(error: Exception) -> GradcliError:
    """Return what went wrong elsewhere as an error of the target."""
    return GradcliError(str(error), kind="target", exit_code=EXIT_TARGET)


class Call(Function):
    """One call elsewhere of Tensors in the order of its inputs."""

    @staticmethod
    def forward(ctx: Any, call: Elsewhere, *xs: Tensor) -> Tensor:
        """Return the value."""
        ctx.call, ctx.shapes = call, [x._data.shape for x in xs]
        ctx.save_for_backward(*xs)
        try:
            return wrapped(call.value(named(call, xs)))
        except ElsewhereError as error:
            raise failure(error) from error

    @staticmethod
    def backward(ctx: Any, cotangent: Tensor) -> Any:
        """Return the vjp that is given elsewhere; as a call elsewhere where it is to be differentiated itself."""
        call, xs = ctx.call, ctx.saved_tensors
        try:
            if state.grad and isinstance(call, FrameworkCall):
                joined = Call.apply(call.derivative(np.asarray(cotangent._data)), *xs, cotangent)
                sizes = np.cumsum([0, *(int(np.prod(shape)) for shape in ctx.shapes)])
                if len(xs) == 1:
                    return None, joined
                parts = [joined[int(a) : int(b)] for a, b in pairwise(sizes)]
                return None, *(part.reshape(shape) for part, shape in zip(parts, ctx.shapes, strict=True))
            found = call.vjp(named(call, xs), np.asarray(cotangent._data))
        except ElsewhereError as error:
            raise failure(error) from error
        return None, *(wrapped(found[name]) for name in call.inputs)

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: Tensor | None) -> Tensor:
        """Return the jvp that is given elsewhere."""
        call = ctx.call
        if not call.has_jvp:
            raise GradcliError(
                f"{call.title} has no forward mode there",
                hint="gradcli vjp goes backward",
                kind="target",
                exit_code=3,
            )
        given = {name: t for name, t in zip(call.inputs, tangents, strict=True) if t is not None}
        try:
            arrays = named(call, ctx.saved_tensors)
            return wrapped(call.jvp(arrays, {name: np.asarray(t._data) for name, t in given.items()}))
        except ElsewhereError as error:
            raise failure(error) from error


def named(call: Elsewhere, xs: Iterable[Tensor]) -> dict[str, np.ndarray]:
    """Return Tensors as arrays by the names of a call's inputs."""
    return {name: np.asarray(x._data) for name, x in zip(call.inputs, xs, strict=True)}


def wrapped(x: np.ndarray) -> Tensor:
    """Return an array as a Tensor."""
    raw = np.array(x)
    return Tensor._wrap(raw[()] if raw.ndim == 0 else raw, None)


class ElsewhereProgram(Program):
    """A function that a framework runs and differentiates."""

    def __init__(self, engine: str, function: Any, title: str, single: bool):
        self.engine, self.function, self.title, self.single = engine, function, title, single

    def run(
        self,
        given: Mapping[str, np.ndarray],
        *,
        wrt: Iterable[str] | None = None,
        out: str | None = None,
        prepare: Prepare | None = None,
    ) -> Run:
        """Call the function on the given values."""
        if out is not None:
            raise GradcliError("--out names a variable of a program; a function has one output", kind="usage")
        try:
            arguments = framework_arguments(self.engine, self.function, by_path(given), self.title)
            names = None if wrt is None else list(wrt)
            call = framework_call(self.engine, self.function, arguments, self.title, wrt=names, single=self.single)
        except ElsewhereError as error:
            raise failure(error) from error
        chosen = expanded(names, list(call.inputs)) or list(call.inputs)
        check_known(chosen, call.inputs, "--wrt")
        leaves = {name: as_leaf(x, x.dtype, name) for name, x in call.inputs.items()}
        output = Call.apply(call, *(x if name in chosen else x.detach() for name, x in leaves.items()))
        if prepare is not None:
            prepare.tensors(leaves)
        return Run({name: leaves[name] for name in chosen}, output, dict(leaves))

    def missing(self, given: Mapping[str, Any]) -> list[str]:
        """Return nothing: what is missing is told when the function is called."""
        return []
