"""Functions that run elsewhere as programs: what prints derivatives prints those that they give."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ...errors import EXIT_TARGET, GradcliError
from ...tape.function import Function, once_differentiable
from ...tape.tensor import Tensor
from ..base import Prepare, Program, Run, as_leaf, check_known
from .base import Arrays, Elsewhere, ElsewhereError


class ElsewhereProgram(Program):
    """A program whose value and derivative come from elsewhere.

    make: returns the function from values of its inputs, an output's name, and the inputs to differentiate.
    """

    def __init__(self, make: Callable[..., Elsewhere], title: str):
        self.make, self.title = make, title

    def run(
        self,
        given: Mapping[str, np.ndarray],
        *,
        wrt: Iterable[str] | None = None,
        out: str | None = None,
        prepare: Prepare | None = None,
    ) -> Run:
        """Ask for the value; the products follow when backward, or forward mode, comes to it."""
        wanted = None if wrt is None else list(wrt)
        program = attempt(lambda: self.make(given, out, wanted))
        check_known(wanted or (), program.inputs, "--wrt")
        leaves = {
            name: as_leaf(x, x.dtype, name)
            for name, x in program.inputs.items()
            if name in program.wrt and (wanted is None or name in wanted)
        }
        output = Call.apply(program, list(leaves), *leaves.values())
        if prepare is not None:
            prepare.tensors(leaves)
        return Run(leaves, output, dict(leaves))


class Call(Function):
    """One call of a function elsewhere."""

    @staticmethod
    def forward(ctx: Any, program: Elsewhere, names: list[str], *tensors: Tensor) -> Tensor:
        """Return the value."""
        ctx.program, ctx.names = program, names
        ctx.arrays = {**program.inputs, **arrays_of(names, tensors)}
        return Tensor._wrap(attempt(lambda: program.value(ctx.arrays)), None)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, cotangent: Tensor) -> tuple:  # type: ignore[override]
        """Return the products that it gives."""
        product = ctx.program.vjp if ctx.program.has_vjp else lambda *given: by_columns(ctx.program, *given)
        found = attempt(lambda: product(ctx.arrays, np.asarray(cotangent.detach()._data)))
        return (None, None, *(Tensor._wrap(found[name], None) for name in ctx.names))

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Tensor:
        """Return the product that it gives."""
        if not ctx.program.has_jvp:
            raise GradcliError(f"{ctx.program.title} gives no Jacobian-vector products", kind="target", exit_code=3)
        given = {name: t for name, t in zip(ctx.names, tangents[2:], strict=True) if t is not None}
        return Tensor._wrap(attempt(lambda: ctx.program.jvp(ctx.arrays, arrays_of(given, given.values()))), None)


def by_columns(program: Elsewhere, arrays: Arrays, cotangent: np.ndarray) -> dict[str, np.ndarray]:
    """Return the products with a cotangent from products with every unit tangent."""
    found = {}
    for name in program.wrt:
        x = arrays[name]
        units = np.eye(x.size, dtype=x.dtype).reshape((x.size, *x.shape))
        found[name] = np.reshape([np.vdot(cotangent, program.jvp(arrays, {name: unit})) for unit in units], x.shape)
    return found


def arrays_of(names: Iterable[str], tensors: Iterable[Any]) -> Arrays:
    """Return the values of tensors by name."""
    return {name: np.asarray(t.detach()._data) for name, t in zip(names, tensors, strict=True)}


def attempt(call: Callable[[], Any]) -> Any:
    """Return what a call gives. Raises GradcliError, as of a target that raised."""
    try:
        return call()
    except ElsewhereError as error:
        raise GradcliError(str(error), kind="target", exit_code=EXIT_TARGET) from error
