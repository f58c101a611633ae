"""The exact twins of table entries: values and gradients, in 30 digits and as formulas, match the engine's."""

import numpy as np
import pytest
import sympy

from gradcli.errors import GradcliError
from gradcli.exact.field import ExactArray
from gradcli.exact.multiprecision import Multiprecision
from gradcli.exact.record import exactly
from gradcli.exact.symbolic import Symbolic
from gradcli.rules import full_table
from gradcli.tape.tensor import Tensor

from ..rules.calls import Call
from ..rules.per_entry import per_entry

WITHOUT = {
    "logical_xor": "all",
    "norm": "the count of elements that are not 0",
    "eigvalsh": "all",
    "svdvals": "all",
    "pinv": "all",
    "matrix_exp": "one sample needs more terms than the series for rounded numbers",
    "matrix_norm": "norms by singular values",
    "cond": "all",
    "heaviside": "all",
    "isneginf": "all",
    "isposinf": "all",
    "nextafter": "all",
    "interp": "all",
    **dict.fromkeys(("cubic_spline", "pchip_interpolate", "digitize", "searchsorted", "isclose"), "all"),
    **dict.fromkeys(("flatnonzero", "argwhere", "nanargmax", "nanargmin"), "all"),
    **dict.fromkeys(("gammaincinv", "gammainccinv", "betaincinv", "stdtr", "spherical_jn", "polyfit"), "all"),
    "partition": "all",
}
"""Entries with at least one sample that has no formula."""
ON_INTEGERS = {"bitwise_and", "bitwise_or", "bitwise_xor", "invert"}
CALLS = [
    Call(entry, i, sample)
    for name, entry in full_table().items()
    if entry.public and name not in ON_INTEGERS
    for i, sample in enumerate(entry.samples)
]
ELEMENTWISE = [c for c in CALLS if c.entry.kind == "elementwise" and c.number == 0 and c.entry.twin]


def flat(result) -> list[Tensor]:
    if isinstance(result, list | tuple):
        return [t for part in result for t in flat(part)]
    return [result] if isinstance(result, Tensor) else []


def weighted(result) -> Tensor | None:
    total = None
    for t in flat(result):
        if t._node is not None:
            weights = np.cos(np.arange(t._data.size)).reshape(t._data.shape)
            part = (t * Tensor._wrap(weights, None)).sum()
            total = part if total is None else total + part
    return total


def rounded(x, dtype) -> np.ndarray:
    return np.asarray(x).view(np.ndarray).astype(dtype)


def check_digits(call):
    leaves = call.leaves()
    plain = call.on(leaves)
    loss = weighted(plain)
    if loss is not None:
        loss.backward()
    try:
        with exactly(Multiprecision(30, decimal=False)) as exact:
            sharp_leaves = [exact.leaf(x, "x") for x in call.arrays]
            sharp = call.on(sharp_leaves)
            sharp_loss = weighted(sharp)
            if sharp_loss is not None:
                sharp_loss.backward()
    except (GradcliError, IndexError, TypeError):
        assert call.entry.name in WITHOUT
        return
    for ours, theirs in zip(flat(plain), flat(sharp), strict=True):
        if ours._data.dtype.kind in "fc":
            assert np.allclose(ours._data, rounded(theirs._data, ours._data.dtype), 1e-9, 1e-9, equal_nan=True)
    if loss is None:
        return
    for ours, theirs in zip(leaves, sharp_leaves, strict=True):
        if ours._grad is not None:
            data = np.asarray(ours._grad._data)
            assert np.allclose(data, rounded(theirs._grad._data, data.dtype), 1e-8, 1e-8, equal_nan=True)


DEAR = {"bessel_y1", "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1"}
"""Expensive functions that share their code with others, and are tested nightly."""
OTHERS = [call for call in CALLS if call.number or call.entry.name in DEAR]
test_thirty_digits = per_entry([call for call in CALLS if call not in OTHERS])(check_digits)
test_thirty_digits_of_other_samples = pytest.mark.nightly(per_entry(OTHERS)(check_digits))


@per_entry(ELEMENTWISE)
def test_formula(call):
    """Compare the engine with sympy's derivative of the twin, at up to three points of a sample."""
    field = Symbolic()
    symbols = [sympy.Symbol(name, real=True) for name in "xyz"[: len(call.arrays)]]

    def boxed(s):
        array = np.empty((), object)
        array[()] = s
        return Tensor._wrap(array.view(ExactArray), None)

    with exactly(field):
        formula = sympy.sympify(call.on([boxed(s) for s in symbols])._data.item())
    scalars = [np.ravel(x)[:3] for x in call.arrays]
    for point in zip(*scalars, strict=True):
        leaves = [Tensor._wrap(np.float64(x), None).requires_grad_() for x in point]
        call.on(leaves).sum().backward()
        at = {s: sympy.Rational(float(x)) for s, x in zip(symbols, point, strict=True)}
        for s, leaf in zip(symbols, leaves, strict=True):
            slope = sympy.diff(formula, s)
            if slope.has(sympy.Derivative, sympy.DiracDelta, sympy.Subs):
                continue
            exact = complex(sympy.N(slope.xreplace(at), 20)).real
            assert 0.0 if leaf._grad is None else float(leaf._grad._data) == pytest.approx(exact, rel=1e-9, abs=1e-12)
