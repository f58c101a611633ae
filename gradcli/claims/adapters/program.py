"""A function that runs elsewhere as a program: one node in gradcli's graph."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ...errors import GradcliError, TargetError, check_known
from ...program.arguments import is_named, is_under
from ...program.base import UNPREPARED, Names, Prepare, Program, Run, Values, as_leaf, new_tensor
from ...tape.function import Function, once_differentiable
from ...tape.modes import state
from ...tape.tensor import Tensor
from ..claim import Arrays, Claim


class ElsewhereProgram(Program):
    """A program whose value and derivative come from elsewhere. make(given, out, wrt): returns its Claim."""

    row_by_row = "it runs elsewhere"

    def __init__(self, make: Callable[..., Claim], title: str, names: Sequence[str] | None = None):
        self.make, self.title, self.known = make, title, names

    def run(self, given: Values, *, wrt: Names = None, out: str | None = None, prepare: Prepare = UNPREPARED) -> Run:
        """Get the value; backward or forward mode gets the products later."""
        wanted = list(wrt or ()) or None  # an empty wrt asks for the value only
        call = self.make(given, out, wanted)
        if wrt is None and self.constants:  # made again, since numbers outside wrt are passed as they are
            call = self.make(given, out, [path for path in call.wrt if not is_named(path, self.constants)])
        if wrt != () and not (call.capabilities.pull or call.capabilities.push):
            hint = "'gradcli eval' prints its value; gradcheck --grad checks a derivative from elsewhere"
            raise GradcliError(f"{call.title} gives no derivative", hint=hint)
        unknown = [name for name in wanted or () if not any(is_under(path, name) for path in call.at)]
        check_known(unknown, call.at, "--wrt")
        chosen = [name for name in call.at if name in call.wrt]
        leaves = {name: as_leaf(call.at[name], call.at[name].dtype, name) for name in chosen}
        output = ElsewhereCall.apply(call, chosen, *leaves.values())
        prepare.tensors(leaves)
        return Run(leaves, output, dict(leaves))

    def input_names(self, given: Iterable[str] = ()) -> list[str] | None:
        return None if self.known is None else list(self.known)


class ElsewhereCall(Function):
    """One call elsewhere, with Tensors for some of its inputs."""

    @staticmethod
    def forward(ctx: Any, call: Claim, names: list[str], *xs: Tensor) -> Tensor:
        ctx.call, ctx.names, ctx.shapes = call, names, [x._data.shape for x in xs]
        ctx.save_for_backward(*xs)
        return new_tensor(call.value({**call.at, **arrays_of(names, xs)}))

    @staticmethod
    def backward(ctx: Any, cotangent: Tensor) -> Any:
        """Return the products, as calls elsewhere if they may be differentiated again."""
        capabilities = ctx.call.capabilities
        if not (state.grad and capabilities.second and capabilities.pull):
            return elsewhere_products(ctx, cotangent)
        product = ctx.call.pull_function(np.asarray(cotangent.detach()._data))
        joined = ElsewhereCall.apply(product, list(product.at), *ctx.saved_tensors, cotangent)
        ends = np.cumsum([int(np.prod(shape)) for shape in ctx.shapes]).tolist()
        parts = [joined[begin:end] for begin, end in pairwise([0, *ends])] if len(ends) > 1 else [joined]
        return None, None, *(part.reshape(shape) for part, shape in zip(parts, ctx.shapes, strict=True))

    @staticmethod
    def jvp(ctx: Any, _call: Any, _names: Any, *tangents: Tensor | None) -> Tensor:
        call = ctx.call
        if not call.capabilities.push:
            raise TargetError(f"{call.title} gives no Jacobian-vector products", hint="gradcli vjp uses reverse mode")
        given = {name: t for name, t in zip(ctx.names, tangents, strict=True) if t is not None}
        arrays = {**call.at, **arrays_of(ctx.names, ctx.saved_tensors)}
        return new_tensor(call.push(arrays, arrays_of(given, given.values())))


@functools.partial(once_differentiable, message="a function that runs elsewhere has only first derivatives")
def elsewhere_products(ctx: Any, cotangent: Tensor) -> tuple:
    call, raw = ctx.call, np.asarray(cotangent.detach()._data)
    arrays = {**call.at, **arrays_of(ctx.names, ctx.saved_tensors)}
    results = call.pull(arrays, raw) if call.capabilities.pull else products_by_columns(call, arrays, raw)
    return None, None, *(new_tensor(results[name]) for name in ctx.names)


def products_by_columns(call: Claim, arrays: Arrays, cotangent: np.ndarray) -> dict[str, np.ndarray]:
    results = {}
    for name in call.wrt:
        shape = arrays[name].shape
        columns = (call.push(arrays, {name: unit.reshape(shape)}) for unit in np.eye(arrays[name].size))
        results[name] = np.reshape([np.vdot(cotangent, column) for column in columns], shape)
    return results


def arrays_of(names: Iterable[str], tensors: Iterable[Any]) -> dict[str, np.ndarray]:
    return {name: np.asarray(t.detach()._data) for name, t in zip(names, tensors, strict=True)}
