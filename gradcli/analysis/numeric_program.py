"""Programs that are differentiated from their values alone: the results of --numeric."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ..claims.claim import Claim
from ..claims.values import open_values
from ..errors import GradcliError, check_known
from ..numeric.flat import real_view
from ..program.arguments import is_under
from ..program.base import UNPREPARED, Names, Prepare, Program, Run, Values, as_leaf, check_vector, new_tensor
from ..program.target import Target
from ..request import Request
from ..results.base import Gradients, Hessian, InputGradient, Jacobian, Products
from .gradient import needs_vector
from .numeric_derivatives import Differentiator
from .transform import check_elements


class NumericProgram(Program):
    """A program that is differentiated from its values. make: its claim; program: it itself, if it is a program."""

    row_by_row = "--numeric calls it at several points for each row"

    def __init__(self, target: Target):
        self.make, self.program, self.names = open_values(target)
        self.title = target.text

    def claim(self, given: Values, out: str | None, wrt: Names) -> Claim:
        return self.make(given, out, None if wrt is None else list(wrt))

    def input_names(self, given: Iterable[str] = ()) -> list[str] | None:
        return self.names if self.program is None else self.program.input_names(given)

    def missing(self, given: Mapping[str, Any]) -> list[str]:
        return [] if self.program is None else self.program.missing(given)

    def run(self, given: Values, *, wrt: Names = None, out: str | None = None, prepare: Prepare = UNPREPARED) -> Run:
        claim = self.claim(given, out, wrt or None)
        leaves = {name: as_leaf(x, x.dtype, name) for name, x in claim.at.items() if name in claim.wrt}
        return Run(leaves, new_tensor(claim.value_here()), dict(leaves))


@contextlib.contextmanager
def quiet_function() -> Iterator[None]:
    """Discard what the function prints: it is called many times."""
    with open(os.devnull, "w", encoding="utf-8") as nothing, contextlib.redirect_stdout(nothing):
        yield


def differentiator(program: Program, given: Values, request: Request) -> Differentiator:
    """Return the differentiator of a program at a point; only its first call prints. Raises GradcliError."""
    assert isinstance(program, NumericProgram)
    claim = program.claim(given, request.out, request.wrt)
    check_known([n for n in request.wrt or () if not any(is_under(path, n) for path in claim.at)], claim.at, "--wrt")
    found = Differentiator(claim)
    if found.flat.out_dtype.kind == "c" or any(part.pairs for part in claim.layout):
        message = "the output is complex; numeric derivatives need a real one"
        raise GradcliError(message, hint="take real(...), imag(...) or abs(...) of it", kind="shape")
    return found


def numeric_gradient(program: Program, given: Values, request: Request) -> Gradients:
    at = differentiator(program, given, request)
    flat, value, weights = at.flat, at.flat.out, None
    if request.gradient is not None:
        check_vector(request.gradient, value)
        if request.gradient.dtype.kind == "c":
            raise GradcliError("--gradient is complex, but the output is real", kind="value")
        weights = request.gradient.reshape(1, -1).astype(float)
    elif value.size != 1:
        raise needs_vector(value.shape)
    with quiet_function():
        (slopes_,), (errors,) = at.along_elements(weights)
    grads = flat.arrays_at(slopes_)
    inputs = tuple(InputGradient(name, at.claim.at[name], grads[name]) for name in at.claim.wrt)
    result = Gradients(program.title, value, inputs, {}, with_value=request.with_value)
    return result._replace(errors=flat.arrays_at(errors), missing=at.notes)


def numeric_jacobian(program: Program, given: Values, request: Request, *, printed: bool = False) -> Jacobian:
    at = differentiator(program, given, request)
    flat, claim = at.flat, at.claim
    check_elements(len(flat.f0), flat.size, request.max_elements, "Jacobian", printed)
    with quiet_function():
        matrix, errors = at.along_elements()
    inputs = {name: claim.at[name] for name in claim.wrt}
    result = Jacobian(program.title, flat.out, inputs, flat.blocks(matrix))
    return result._replace(errors=flat.blocks(errors), missing=at.notes)


def numeric_hessian(program: Program, given: Values, request: Request, *, printed: bool = False) -> Hessian:
    at = differentiator(program, given, request)
    flat, claim = at.flat, at.claim
    if flat.out.size != 1:
        message = f"the output has shape {flat.out_shape}; a Hessian needs a single number"
        raise GradcliError(message, hint="take one element or the sum of it", kind="shape")
    if complex_ := [name for name in claim.wrt if claim.at[name].dtype.kind == "c"]:
        raise GradcliError(f"'{complex_[0]}' is complex; second derivatives need real inputs", kind="shape")
    check_elements(flat.size, flat.size, request.max_elements, "Hessian", printed)
    with quiet_function():
        both = at.second()
    inputs = {name: claim.at[name] for name in claim.wrt}
    parts = [
        {
            a: {
                b: matrix[flat.columns(i), flat.columns(j)].reshape(x.shape + y.shape)
                for j, (b, y) in enumerate(inputs.items())
            }
            for i, (a, x) in enumerate(inputs.items())
        }
        for matrix in both
    ]
    return Hessian(program.title, flat.out.reshape(()), inputs, parts[0], errors=parts[1], missing=at.notes)


def numeric_row(program: Program, given: Values, request: Request, diagonal: bool) -> list[np.ndarray]:
    """Return the value, the gradient, its errors and, if wanted, second derivatives by each element, by input."""
    result = numeric_gradient(program, given, request._replace(with_value=True))
    grads = [item.slope for item in result.inputs]
    row = [np.asarray(result.value).ravel()[0], *grads, *(result.errors[item.name] for item in result.inputs)]
    if diagonal:
        at = differentiator(program, given, request)
        with quiet_function():
            row += at.flat.arrays_at(at.second(diagonal=True)[0]).values()
    return row


def numeric_jvp(program: Program, given: Values, request: Request, tangent: Values) -> Products:
    at = differentiator(program, given, request)
    flat, claim = at.flat, at.claim
    check_known(tangent, claim.wrt, "--tangent")
    if not tangent:
        example = " ".join(f"--tangent {name}=1" for name in claim.wrt[:1])
        raise GradcliError("no tangent given", hint=f"give a direction for one or more inputs: {example}")
    direction = np.zeros(flat.size)
    for name, x in tangent.items():
        k = claim.wrt.index(name)
        if np.shape(x) != flat.arrays[k].shape:
            message = f"--tangent {name} has shape {np.shape(x)}; it must have shape {flat.arrays[k].shape}"
            raise GradcliError(message, kind="shape")
        direction[flat.columns(k)] = real_view(np.asarray(x, flat.arrays[k].dtype))
    with quiet_function():
        value, error = (x.reshape(flat.out_shape) for x in at.along(direction))
    result = Products(program.title, "jvp", flat.out, {"out": value})
    return result._replace(errors={"out": error}, missing=at.notes)
