"""The functions of the expression language in PyTorch, which serves as the reference for its programs."""

import math
from typing import Any

import numpy as np
import torch


def reduced(function: Any) -> Any:
    return lambda x, axis=None: function(x) if axis is None else function(x, axis)


FUNCTIONS: dict[str, Any] = {
    **{name: getattr(torch, name) for name in "sin cos tanh exp sqrt log sigmoid arctan arcsinh erf abs".split()},
    **{name: getattr(torch, name) for name in "relu log1p expm1 cosh sinh arctanh arcsin digamma sinc".split()},
    **{name: getattr(torch, name) for name in "reciprocal exp2 where i0 maximum minimum arctan2 hypot".split()},
    **{name: getattr(torch, name) for name in "erfc logaddexp outer det trace logdet tril diagonal".split()},
    **{name: getattr(torch.nn.functional, name) for name in "softplus silu logsigmoid softsign".split()},
    "gammaln": torch.lgamma,
    "square": torch.square,
    "log2": torch.log2,
    "bessel_j0": torch.special.bessel_j0,
    "clip": torch.clamp,
    "inv": torch.linalg.inv,
    "solve": torch.linalg.solve,
    "cholesky": torch.linalg.cholesky,
    "eye": lambda n: torch.eye(n, dtype=torch.float64),
    "softmax": torch.softmax,
    "cumsum": lambda x, axis=None: torch.cumsum(x.reshape(-1), 0) if axis is None else torch.cumsum(x, axis),
    "cumprod": torch.cumprod,
    "flip": lambda x, axis: torch.flip(x, (axis,)),
    "logsumexp": lambda x, axis: torch.logsumexp(x.reshape(-1), 0),
    "var": lambda x: torch.var(x, correction=0),
    "norm": torch.linalg.norm,
    **{name: getattr(torch, name) for name in "sum mean prod max min".split()},
    "pi": math.pi,
}


def derivatives(text: str, given: dict[str, np.ndarray]) -> tuple[Any, dict, dict]:
    """Return the value, gradients and Hessian of a program, computed by PyTorch in float64."""
    names = list(given)
    leaves = [torch.tensor(given[name], dtype=torch.float64, requires_grad=True) for name in names]
    space = {**FUNCTIONS, **dict(zip(names, leaves, strict=True))}
    *statements, last = text.split("\n")
    for line in statements:
        exec(line, space)
    output = eval(last, space)
    first = gradients(output, leaves)
    second = {}
    for name, g in zip(names, first, strict=True):
        rows = [gradients(part, leaves) for part in g.reshape(-1)]
        second[name] = {
            other: torch.stack([row[i] for row in rows]).reshape(g.shape + leaf.shape).detach().numpy()
            for i, (other, leaf) in enumerate(zip(names, leaves, strict=True))
        }
    grads = {name: g.detach().numpy() for name, g in zip(names, first, strict=True)}
    return output.detach().numpy(), grads, second


def gradients(output: torch.Tensor, leaves: list[torch.Tensor]) -> list[torch.Tensor]:
    """Return the gradients of a scalar, with their graph; zeros for leaves that it does not depend on."""
    if not output.requires_grad:
        return [torch.zeros_like(x) for x in leaves]
    return list(torch.autograd.grad(output, leaves, create_graph=True, materialize_grads=True))
