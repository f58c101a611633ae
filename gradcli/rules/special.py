"""Special functions. Their values come from scipy.special, imported when the first one is computed."""

from __future__ import annotations

import math

import numpy as np

from .table import POSITIVE, A, Sample, elementwise

TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)


def from_scipy(name):
    """Return scipy.special's function of that name, imported at its first call."""

    def function(*operands):
        import scipy.special

        return getattr(scipy.special, name)(*operands)

    function.__name__ = name
    return function


elementwise(
    from_scipy("erf"),
    lambda _, x: TWO_OVER_SQRT_PI * np.exp(-x * x),
    twin="erf(x)",
    doc="Error function.",
)
erfc = elementwise(
    from_scipy("erfc"),
    lambda _, x: -TWO_OVER_SQRT_PI * np.exp(-x * x),
    twin="erfc(x)",
    doc="Complementary error function 1 - erf(x), accurate for large x.",
)


def polygamma_signature(n, x):
    """Bind polygamma(order, x); the order is not differentiated."""
    order = int(n)
    if order != n or order < 0:
        raise ValueError(f"polygamma: the order must be a non-negative integer, not {n!r}")
    return (x,), {"n": order}


def polygamma_forward(x, *, n):
    """n-th derivative of digamma."""
    import scipy.special

    return scipy.special.polygamma(n, x).astype(np.result_type(x, np.float32)) if n else digamma(x)


def polygamma_dx(_, x, *, n):
    """The next order."""
    return polygamma(x, n=n + 1)


polygamma = elementwise(
    polygamma_forward,
    polygamma_dx,
    name="polygamma",
    bind=polygamma_signature,
    complex=False,
    domain=(POSITIVE,),
    samples=(Sample(1, A(3, 4)), Sample(2, A(3)), Sample(0, A(3))),
    twin="polygamma(n, x)",
    doc="n-th derivative of digamma at x.",
)
digamma = elementwise(
    from_scipy("digamma"),
    lambda _, x: polygamma(x, n=1),
    aliases=("psi",),
    complex=False,
    domain=(POSITIVE,),
    twin="polygamma(0, x)",
    doc="Logarithmic derivative of the gamma function.",
)
elementwise(
    from_scipy("gammaln"),
    lambda _, x: digamma(x),
    aliases=("lgamma",),
    node="Lgamma",
    complex=False,
    domain=(POSITIVE,),
    twin="loggamma(x)",
    doc="Logarithm of |gamma(x)|.",
)
