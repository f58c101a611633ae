"""Orthogonal polynomials by their three-term recurrences (Abramowitz and Stegun, table 22.7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...rules import entry
from ...tape.tensor import Tensor, as_raw
from ..wrap import operand, rename_function

Recurrence = tuple[Callable, Callable]


def chebyshev(first: Callable) -> Recurrence:
    """The Chebyshev polynomials with a given first one: p[k+1] = 2 x p[k] - p[k-1]."""
    return first, lambda k, x, p, before: 2 * x * p - before


FAMILIES: dict[str, Recurrence] = {
    "chebyshev_polynomial_t": chebyshev(lambda x: x),
    "chebyshev_polynomial_u": chebyshev(lambda x: 2 * x),
    "chebyshev_polynomial_v": chebyshev(lambda x: 2 * x - 1),
    "chebyshev_polynomial_w": chebyshev(lambda x: 2 * x + 1),
    "hermite_polynomial_h": (lambda x: 2 * x, lambda k, x, p, before: 2 * x * p - 2 * k * before),
    "hermite_polynomial_he": (lambda x: x, lambda k, x, p, before: x * p - k * before),
    "laguerre_polynomial_l": (
        lambda x: 1 - x,
        lambda k, x, p, before: ((2 * k + 1 - x) * p - k * before) / (k + 1),
    ),
    "legendre_polynomial_p": (lambda x: x, lambda k, x, p, before: ((2 * k + 1) * x * p - k * before) / (k + 1)),
}
"""Per name the polynomial of degree 1, and the one of degree k + 1 from those of degrees k and k - 1."""


def polynomial(name: str, recurrence: Recurrence, shifted: bool) -> Callable:
    """Return a family as a function of x and the degree n, a number or a tensor of them."""
    first, step = recurrence

    def function(input: Any, n: Any) -> Tensor:
        x = operand(input) if not shifted else operand(input) * 2 - 1
        degrees = np.asarray(as_raw(n)).astype(int)
        out = x * 0 + np.zeros(degrees.shape, x.dtype) + (degrees == 0)
        before, p = x * 0 + 1, first(x)
        for k in range(1, int(degrees.max(initial=0)) + 1):
            out = entry("where")(degrees == k, p, out)
            before, p = p, step(k, x, p, before)
        return out

    family = name.replace("_", " ")
    return rename_function(function, name, f"Polynomial of degree n of the family {family}; 0 for negative n.")


POLYNOMIALS: dict[str, Callable] = {name: polynomial(name, rule, False) for name, rule in FAMILIES.items()}
for _letter in "tuvw":
    _name = f"chebyshev_polynomial_{_letter}"
    POLYNOMIALS[f"shifted_{_name}"] = polynomial(f"shifted_{_name}", FAMILIES[_name], True)
