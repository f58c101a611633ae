"""Second derivatives: the gradient itself, as a function, is what is checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tape.backward import grad
from ...tape.modes import enable_grad
from ...tape.tensor import Tensor
from .subject import CheckError
from .tensor_function import Traced


class SecondOrder(Traced):
    """The product of a random vector with a function's first derivative, as a function.

    The vector is one more input, so that the derivative for it, the first derivative again, is checked as well.
    first: the function's own subject; vector: the name of the vector.
    """

    def __init__(self, first: Traced, seed: int):
        self.first = first
        self.vector, vector = direction(first, seed)
        at = {**first.at, self.vector: vector}
        title = f"the derivative of {first.title}"
        super().__init__(self.product, at, wrt=[*first.wrt, self.vector], title=title)
        self.batchable = False

    def product(self, *tensors: Tensor) -> Any:
        """Return the products for the inputs of interest."""
        *xs, v = tensors
        places = [i for i, n in enumerate(self.first.at) if n in self.first.wrt]
        with enable_grad():
            inputs = [x if x.requires_grad else x.detach().requires_grad_() for x in (xs[i] for i in places)]
            for i, x in zip(places, inputs, strict=True):
                xs[i] = x
            result = self.first.call(xs)
            if result._node is None:
                raise CheckError(f"{self.first.title} does not depend on its inputs through recorded operations")
            products = grad(result, inputs, v, create_graph=True, materialize_grads=True)
        return tuple(products)


def direction(subject: Traced, seed: int) -> tuple[str, np.ndarray]:
    """Return a random vector in the shape of the output, and a name for it that no input has."""
    rng = np.random.default_rng(seed + 1)
    out = subject.value(subject.at)
    vector = rng.standard_normal(out.shape) + (1j * rng.standard_normal(out.shape) if out.dtype.kind == "c" else 0)
    name = "gradient"
    while name in subject.at:
        name += "_"
    return name, np.asarray(vector, out.dtype)
