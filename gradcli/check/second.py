"""Second derivatives: the gradient itself, as a function, is what is checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tape.backward import grad
from ..tape.modes import enable_grad
from ..tape.tensor import Tensor
from .subject import CheckError, Traced


def second_order(subject: Traced, seed: int) -> Traced:
    """Return the subject whose function is the product of a random vector with the first derivative.

    The vector is one more input, so that the derivative for it, the first derivative again, is checked as well.
    """
    name, vector = direction(subject, seed)
    places = [i for i, n in enumerate(subject.at) if n in subject.wrt]

    def product(*tensors: Tensor) -> Any:
        *xs, v = tensors
        with enable_grad():
            inputs = [x if x.requires_grad else x.detach().requires_grad_() for x in (xs[i] for i in places)]
            for i, x in zip(places, inputs, strict=True):
                xs[i] = x
            result = subject.call(xs)
            if result._node is None:
                raise CheckError(f"{subject.title} does not depend on its inputs through recorded operations")
            found = grad(result, inputs, v, create_graph=True, materialize_grads=True)
        return tuple(found)

    at = {**subject.at, name: vector}
    second = Traced(product, at, wrt=[*subject.wrt, name], title=f"the derivative of {subject.title}")
    second.batchable = False
    return second


def direction(subject: Traced, seed: int) -> tuple[str, np.ndarray]:
    """Return a random vector in the shape of the output, and a name for it that no input has."""
    rng = np.random.default_rng(seed + 1)
    out = subject.value(subject.at)
    vector = rng.standard_normal(out.shape) + (1j * rng.standard_normal(out.shape) if out.dtype.kind == "c" else 0)
    name = "gradient"
    while name in subject.at:
        name += "_"
    return name, np.asarray(vector, out.dtype)
