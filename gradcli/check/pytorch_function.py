"""The function that PyTorch's gradcheck is given: called with tensors that require grad, its outputs kept apart."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..func.forward import push_all
from ..func.pullback import pull
from ..program.outputs import Path
from ..results.checks import WorstElement
from ..tape.modes import enable_grad
from ..tape.tensor import Tensor
from .products.adjoint import adjoint_test
from .subjects.subject import CheckError, NoForwardError, Subject
from .subjects.tensor_function import Traced, tensor


class PytorchFunction(Traced):
    """A function that sees its inputs as the user's program would: those to be checked require grad."""

    outlines: list | None = None
    changed: AssertionError | None = None

    def call(self, tensors: Sequence[Tensor]) -> Tensor:
        """Call f with gradients on. Raises CheckError."""
        names = list(self.at)
        for name, x in zip(names, tensors, strict=True):
            if name in self.wrt and x._node is None:
                x.requires_grad_()
        with enable_grad():
            return super().call(tensors)

    def leaf(self, name: str, x: np.ndarray) -> Tensor:
        """Return the tensor that stands for an input; it requires grad where that is checked."""
        return tensor(x).requires_grad_(name in self.wrt)

    def note_result(self, result: Any) -> Any:
        """Return a result; note shapes and types of its parts. Raises AssertionError when they were others before."""
        parts = result if isinstance(result, tuple | list) else (result,)
        outlines = [(tuple(x.shape), x.dtype) for x in parts if isinstance(x, Tensor)]
        if self.outlines is None:
            self.outlines = outlines
        for word, place in (("shape", 0), ("dtype", 1)):
            if [x[place] for x in outlines] != [x[place] for x in self.outlines]:
                self.changed = AssertionError(
                    f"the function must return outputs with the same {word} when inputs are perturbed: got "
                    f"{[x[place] for x in self.outlines]}, then {[x[place] for x in outlines]}"
                )
                raise self.changed
        return result

    def value(self, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return f at arrays by name."""
        return np.array(self.call([tensor(x) for x in arrays.values()])._data)

    def values(self, stacks: Mapping[str, np.ndarray], count: int, like: np.ndarray) -> np.ndarray:
        """Return f at many points; one by one where outputs change their form, which then is told."""
        try:
            outputs = super().values(stacks, count, like)
        except ValueError:
            outputs = Subject.values(self, stacks, count, like)
        if self.changed is not None:
            raise CheckError(str(self.changed)) from self.changed
        return outputs

    def place_of(self, worst: WorstElement) -> tuple[int, Path, str]:
        """Return which output an element belongs to, its index there, and which part it is."""
        paths = [part.path for part in self.layout] or [()]
        number = next(i for i, path in enumerate(paths) if worst.output[: len(path)] == path)
        word = {"re": "real", "im": "imaginary"}.get(worst.output_part)
        part = f"While considering the {word} part of complex outputs only, " if word else ""
        return number, worst.output[len(paths[number]) :], part


class ForwardFunction(PytorchFunction):
    """A function whose derivative is taken in forward mode, one column after another."""

    has_pull = False

    def jacobian(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the Jacobian by forward mode."""
        blocks = {}
        for place, name in enumerate(self.wrt):
            columns = [self.column(arrays, place, index) for index in np.ndindex(*arrays[name].shape)]
            whole = np.stack(columns, -1) if columns else np.zeros((*self.value(arrays).shape, 0))
            blocks[name] = whole.reshape(*whole.shape[:-1], *arrays[name].shape)
        return blocks

    def column(self, arrays: Mapping[str, np.ndarray], place: int, index: tuple) -> Any:
        """Return the derivative for one element of an input. Each comes from a call of its own, as in PyTorch."""
        record = self.record_call(arrays)
        x, (out,) = record.inputs[place], record.outputs
        seed = np.zeros(x.shape, x._data.dtype)
        seed[index] = 1
        seeds = [Tensor._wrap(seed[()], None) if i == place else None for i in range(len(record.inputs))]
        (tangent,) = push_all(record, seeds, False)
        return np.zeros(out.shape, out._data.dtype) if tangent is None else np.asarray(tangent)


def complaint(subject: Traced, nondet_tol: float, batched: bool, forward: bool, *, linear: bool = True) -> str | None:
    """Return what is wrong with a backward pass beside its values; None if nothing is. linear: look at that, too.

    It must be linear (0 gives 0), give the same twice up to nondet_tol, and agree with itself on a batch, if that
    is asked for, and with forward mode.
    """
    record = subject.record_call(subject.at)
    (out,) = record.outputs
    if out._node is None:
        return None
    rng = np.random.default_rng(3)
    vectors = [np.asarray(rng.standard_normal(out._data.shape), out._data.dtype) for _ in range(2)]

    def pulled(raw: Any) -> list:
        grads = pull(record, [(out, Tensor._wrap(raw, None))], True, False)
        return [np.zeros(()) if g is None else g for g in grads]

    if linear and any(np.any(g != 0) for g in pulled(np.zeros_like(vectors[0]))):
        return "backward not multiplied by grad_output: a gradient of zeros must give zeros"
    single = [pulled(v) for v in vectors]
    if not all(
        np.allclose(a, b, rtol=0, atol=nondet_tol, equal_nan=True)
        for a, b in zip(single[0], pulled(vectors[0]), strict=True)
    ):
        return (
            "Backward is not reentrant: run twice with the same gradient it gives different values, beyond "
            f"nondet_tol={nondet_tol}"
        )
    if batched:
        rows = pulled(np.stack(vectors))
        for i, both in enumerate(rows):
            if not np.allclose(both, np.stack([g[i] for g in single]), rtol=1e-3, atol=1e-5, equal_nan=True):
                return f"gradcheck or gradgradcheck failed while testing batched gradient computation: input {i}"
    if forward:
        with contextlib.suppress(NoForwardError):
            if np.less(*adjoint_test(subject, 0)):
                return "forward and reverse mode disagree"
    return None


__all__ = ["ForwardFunction", "PytorchFunction", "complaint"]
