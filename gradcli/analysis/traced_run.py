"""One recorded run of a program, to be differentiated by the transforms of `func`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from ..errors import GradcliError
from ..func.pullback import pull
from ..func.trace import Trace
from ..program.base import Program
from ..rules.shapes import is_complex
from ..tape.tensor import Tensor
from ..tape.walk import reachable
from .gradient import Request


class Recorded:
    """One recorded run of a program, ready to be differentiated.

    names: of the inputs; trace: their tensors and the output.
    """

    def __init__(self, program: Program, given: Mapping[str, np.ndarray], request: Request):
        run = program.run(given, wrt=request.wrt, out=request.out)
        if not run.leaves:
            raise GradcliError(
                "the program has no inputs, so there is nothing to differentiate",
                hint="use names in the expression, as in 'x**2', and give them values: x=3",
                kind="name",
            )
        if run.output is None:
            raise GradcliError(
                "the script runs backward itself, so its graph is gone",
                hint="leave out its call of backward",
                kind="target",
            )
        self.title = program.title
        self.names = list(run.leaves)
        self.output = run.output
        self.output_name = run.output_name
        if self.output._data.dtype.kind not in "fc":
            raise GradcliError(
                f"the output has type {self.output._data.dtype}, which has no derivative",
                hint="choose a real output with --out NAME",
                kind="shape",
            )
        check_real(self.output)
        self.trace = Trace(list(run.leaves.values()), lambda leaves: leaves, False)
        self.trace.outputs = [self.output]

    @property
    def unused(self) -> tuple[str, ...]:
        """The inputs that the output does not depend on."""
        used = set() if self.output._node is None else set(reachable([self.output._node]))
        return tuple(n for n, x in zip(self.names, self.trace.inputs, strict=True) if x._node not in used)

    @property
    def value(self) -> np.ndarray:
        return np.asarray(self.output._data)

    def scalar(self, command: str) -> Tensor:
        """Return the output. Raises GradcliError when it is no single number."""
        if self.output._data.size != 1:
            raise GradcliError(
                f"the output has shape {self.output._data.shape}; {command} needs a single number",
                hint="sum it, choose one element with --out NAME, or use 'gradcli jacobian'",
                kind="shape",
            )
        return self.output

    def gradient_trace(self) -> tuple[Trace, list[int]]:
        """Return a trace from inputs to the gradients of a scalar output, and the places of inputs that have one."""
        seed = Tensor._wrap(np.ones_like(self.output._data)[()], None)
        gradients = pull(self.trace, [(self.output, seed)], True, True)
        known = [i for i, g in enumerate(gradients) if g is not None]
        second = Trace(self.trace.inputs, lambda leaves: leaves, False)
        second.outputs = [gradients[i] for i in known]
        return second, known

    def vector(self, given: np.ndarray | None, like: Tensor, option: str) -> Tensor:
        """Return a vector in the type and shape of a tensor. Raises GradcliError when the shapes differ."""
        shape = like._data.shape
        if given is None:
            given = np.ones(shape)
        if given.shape != shape:
            raise GradcliError(f"{option} has shape {given.shape}; it must have shape {shape}", kind="shape")
        if given.dtype.kind == "c" and like._data.dtype.kind != "c":
            raise GradcliError(f"{option} is complex, but what it multiplies is real", kind="value")
        return Tensor._wrap(np.asarray(given, like._data.dtype)[()], None)


def check_real(output: Tensor) -> None:
    if is_complex(output):
        raise GradcliError(
            "the output is complex; only real outputs have derivatives of this kind",
            hint="take real(...), imag(...) or abs(...) of it",
            kind="shape",
        )


def check_real_inputs(inputs: Iterable[tuple[str, Tensor]]) -> None:
    """Raise GradcliError for a complex input, by its name: second derivatives are those of real ones."""
    for name, x in inputs:
        if is_complex(x):
            raise GradcliError(
                f"'{name}' is complex; second derivatives are those of real inputs",
                hint="write it as x + 1j*y with real x and y, or choose real inputs with --wrt",
                kind="shape",
            )
