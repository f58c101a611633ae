"""Jacobians, Hessians and products of a program: record one run, then use the transforms of `func`."""

from __future__ import annotations

import contextlib
from itertools import pairwise
from typing import Any

import numpy as np

from ..errors import GradcliError, check_known
from ..func.forward import forward_blocks, push_all
from ..func.trace import CallTrace, pull, reverse_blocks
from ..program.base import Program, Values, check_output
from ..request import Request
from ..results.base import Hessian, Jacobian, Products
from ..rules.shapes import is_complex
from ..tape.backward import reachable
from ..tape.tensor import Tensor
from .gradient import check_has_inputs, reword_engine_errors


class RecordedProgram:
    """A recorded run of a program. trace: from its inputs to the output."""

    def __init__(self, program: Program, given: Values, request: Request):
        run = program.run(given, wrt=request.wrt, out=request.out)
        check_has_inputs(run)
        if run.output is None:
            hint = "remove its call to backward"
            raise GradcliError("the script runs backward itself, so its graph is gone", hint=hint, kind="target")
        self.title, self.names, self.output_name = program.title, list(run.leaves), run.output_name
        self.output = run.output
        check_output(self.output)
        if is_complex(self.output):
            message = "the output is complex; only real outputs have derivatives of this kind"
            raise GradcliError(message, hint="take real(...), imag(...) or abs(...) of it", kind="shape")
        self.trace = CallTrace(list(run.leaves.values()), outputs=[self.output])

    @property
    def unused(self) -> tuple[str, ...]:
        used = set() if self.output._node is None else set(reachable([self.output._node]))
        return tuple(n for n, x in zip(self.names, self.trace.inputs, strict=True) if x._node not in used)

    @property
    def value(self) -> np.ndarray:
        return np.asarray(self.output._data)

    @property
    def values(self) -> dict[str, np.ndarray]:
        return {name: np.array(x._data) for name, x in zip(self.names, self.trace.inputs, strict=True)}

    def check_scalar(self, command: str) -> None:
        if self.output._data.size != 1:
            message = f"the output has shape {self.output._data.shape}; {command} needs a single number"
            hint = "sum it, choose one element with --out NAME, or use 'gradcli jacobian'"
            raise GradcliError(message, hint=hint, kind="shape")

    def gradient_trace(self) -> tuple[CallTrace, list[int]]:
        """Return a trace from the inputs to the gradients of a scalar output, and the positions of the inputs."""
        seed = Tensor._wrap(np.ones_like(self.output._data)[()], None)
        gradients = pull(self.trace, [(self.output, seed)], True, True)
        known = [i for i, g in enumerate(gradients) if g is not None]
        return CallTrace(self.trace.inputs, outputs=[gradients[i] for i in known]), known

    def vector(self, given: np.ndarray | None, like: Tensor, option: str) -> Tensor:
        shape = like._data.shape
        if given is None:
            given = np.ones(shape)
        if given.shape != shape:
            raise GradcliError(f"{option} has shape {given.shape}; it must have shape {shape}", kind="shape")
        if given.dtype.kind == "c" and like._data.dtype.kind != "c":
            raise GradcliError(f"{option} is complex, but the value that it multiplies is real", kind="value")
        return Tensor._wrap(np.asarray(given, like._data.dtype)[()], None)


PRINTED = 10  # the limit on elements is divided by this for text, because each takes a line and time


def check_elements(rows: int, columns: int, limit: int, what: str, printed: bool = False) -> None:
    """Raise GradcliError for a matrix with too many elements. printed: whether it will be written as text."""
    message = f"this {what} would have {rows} x {columns} elements"
    if printed and limit // PRINTED < rows * columns <= limit:
        hint = "use --sparse, vjp or jvp, write it with -o FILE.npy, or raise the limit with --max-elements"
        raise GradcliError(f"{message}; as text, the limit is {limit // PRINTED:.3g}", hint=hint, kind="limit")
    if rows * columns > limit:
        message += f" ({rows * columns * 8 / 2**30:.1f} GiB); the limit is {limit:.3g} elements"
        hint = "raise it with --max-elements, ask for fewer inputs with --wrt, or use --sparse, vjp or jvp"
        raise GradcliError(message, hint=hint, kind="limit")


def without_false_nan(trace: CallTrace, blocks: list[list[np.ndarray]]) -> None:
    """Replace nan in a block by 0 where the output does not depend on the input.

    A Jacobian computed in one pass multiplies the zeros of its unit vectors by derivatives that may be infinite. The
    sparsity of the graph shows which nan are such zeros.
    """
    if not any(np.isnan(block).any() for row in blocks for block in row):
        return
    from ..func.sparse import sparsity

    with contextlib.suppress(GradcliError):
        for row, out, pattern in zip(blocks, trace.outputs, sparsity(trace.outputs, trace.inputs), strict=True):
            left = 0
            for block, x in zip(row, trace.inputs, strict=True):
                flat = block.reshape((out._data.size, x._data.size))
                holes = np.isnan(flat)
                if pattern is not None:
                    holes &= ~pattern.as_matrix()[:, left : left + x._data.size].toarray()
                flat[holes] = 0
                left += x._data.size


def compute_jacobian(
    program: Program,
    given: Values,
    request: Request,
    *,
    mode: str = "auto",
    sparse: bool = False,
    printed: bool = False,
) -> Jacobian:
    """Compute the Jacobian, a block per input. Mode auto starts from the side with fewer elements."""
    run = RecordedProgram(program, given, request)
    trace, inputs = run.trace, run.trace.inputs
    rows, columns = run.output._data.size, sum(x._data.size for x in inputs)
    products = None
    if not sparse:
        check_elements(rows, columns, request.max_elements, "Jacobian", printed)
    with reword_engine_errors():
        if sparse:
            from ..func.sparse import sparse_matrix

            matrix, products = sparse_matrix(trace, mode)
            edges = np.cumsum([0, *(x._data.size for x in inputs)])
            parts: list[Any] = [matrix[:, a:b] for a, b in pairwise(edges)]
        else:
            real = all(x._data.dtype.kind == "f" for x in inputs)
            forward = mode == "fwd" or (mode == "auto" and columns < rows and real)
            blocks = None
            if forward:
                with contextlib.suppress(*([GradcliError] if mode == "auto" else [])):  # some lack forward mode
                    blocks = forward_blocks(trace, request.chunk_size)
            if blocks is None:
                blocks = reverse_blocks(trace, request.chunk_size, retain=True)
            parts = [np.array(block._data, order="C") for block in blocks[0]]
            without_false_nan(trace, [parts])
    blocks_by_name = dict(zip(run.names, parts, strict=True))
    return Jacobian(run.title, run.value, run.values, blocks_by_name, run.output_name, products, run.unused)


def compute_hessian(program: Program, given: Values, request: Request, *, printed: bool = False) -> Hessian:
    run = RecordedProgram(program, given, request)
    run.check_scalar("a Hessian")
    inputs = run.trace.inputs
    for name, x in zip(run.names, inputs, strict=True):
        if is_complex(x):
            message = f"'{name}' is complex; second derivatives need real inputs"
            hint = "write it as x + 1j*y with real x and y, or choose real inputs with --wrt"
            raise GradcliError(message, hint=hint, kind="shape")
    total = sum(x._data.size for x in inputs)
    check_elements(total, total, request.max_elements, "Hessian", printed)
    with reword_engine_errors():
        second, known = run.gradient_trace()
        of_blocks = reverse_blocks(second, request.chunk_size, retain=True)
        rows_of_blocks = [[np.array(block._data, order="C") for block in row] for row in of_blocks]
        without_false_nan(second, rows_of_blocks)
        rows = dict(zip(known, rows_of_blocks, strict=True))
    blocks = {
        name: {
            other: rows[i][j] if i in rows else np.zeros(x._data.shape + y._data.shape)
            for j, (other, y) in enumerate(zip(run.names, inputs, strict=True))
        }
        for i, (name, x) in enumerate(zip(run.names, inputs, strict=True))
    }
    return Hessian(run.title, run.value, run.values, blocks, run.output_name, run.unused)


def compute_vjp(program: Program, given: Values, request: Request) -> Products:
    run = RecordedProgram(program, given, request)
    if request.gradient is None and run.output._data.size != 1:
        message = f"the output has shape {run.output._data.shape}: a vector of that shape is needed"
        hint = "pass it with --gradient (-g), or use 'gradcli jacobian' for the whole matrix"
        raise GradcliError(message, hint=hint, kind="shape")
    seed = run.vector(request.gradient, run.output, "--gradient")
    with reword_engine_errors():
        cotangents = pull(run.trace, [(run.output, seed)], False, False)
    return compute_products(run, "vjp", cotangents)


def compute_products(run: RecordedProgram, kind: str, products: list) -> Products:
    """Return one product per input, zeros for an input that the output does not depend on."""
    parts = {
        name: np.zeros_like(x._data) if g is None else np.asarray(getattr(g, "_data", g))
        for name, x, g in zip(run.names, run.trace.inputs, products, strict=True)
    }
    return Products(run.title, kind, run.value, parts, run.output_name, run.unused)


def tangents(run: RecordedProgram, given: Values) -> list[Tensor]:
    """Return one tangent per input, zeros for those not given. Raises GradcliError if none is given."""
    check_known(given, run.names, "--tangent")
    if not given:
        example = " ".join(f"--tangent {name}=1" for name in run.names[:1])
        raise GradcliError("no tangent given", hint=f"give a direction for one or more inputs: {example}")
    inputs = zip(run.names, run.trace.inputs, strict=True)
    return [run.vector(given.get(name, np.zeros(x._data.shape)), x, f"--tangent {name}") for name, x in inputs]


def compute_jvp(program: Program, given: Values, request: Request, tangent: Values) -> Products:
    run = RecordedProgram(program, given, request)
    directions = tangents(run, tangent)
    with reword_engine_errors():
        (pushed,) = push_all(run.trace, directions, False)
    part = np.zeros_like(run.value) if pushed is None else np.asarray(pushed)
    return Products(run.title, "jvp", run.value, {run.output_name or "out": part}, run.output_name, run.unused)


def compute_hvp(program: Program, given: Values, request: Request, tangent: Values) -> Products:
    run = RecordedProgram(program, given, request)
    run.check_scalar("hvp")
    directions = tangents(run, tangent)
    with reword_engine_errors():
        second, known = run.gradient_trace()
        parts: list[Any] = [None] * len(directions)
        try:
            for i, t in zip(known, push_all(second, directions, False), strict=True):
                parts[i] = t
        except (RuntimeError, GradcliError):  # no forward mode; reverse mode works, too, because a Hessian is symmetric
            pairs = list(zip(second.outputs, (directions[i] for i in known), strict=True))
            parts = pull(second, pairs, False, False)
    return compute_products(run, "hvp", parts)
