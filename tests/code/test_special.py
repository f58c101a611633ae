"""The functions that languages lack, compared with mpmath in 50 digits, and with SciPy at special points."""

import mpmath
import numpy as np
import pytest
import scipy.special
from mpmath import mp

from gradcli.code import special
from gradcli.code.nodes import FOLDED, NODE_COMPARISONS, TESTS, CodeNode, NodeGraph, needed_nodes

from .functions import erfcinv, erfinv, log_normal, quantile

ULP = 2.0**-52
LOGIC = {"logical_and": lambda a, b: a and b, "logical_or": lambda a, b: a or b, "logical_not": lambda a: not a}
OPERATIONS = {**FOLDED, **NODE_COMPARISONS, **TESTS, **LOGIC, "select": lambda condition, x, y: x if condition else y}


def evaluate(op, *xs):
    """Compute an operation on floats by its helper; NumPy computes the operations that every language has."""
    if op in OPERATIONS and op not in FORCED:
        return OPERATIONS[op](*xs)
    graph = NodeGraph()
    names = "xy"[: len(xs)]
    root = special.helper(op)(*map(graph.input, names))
    values = {}
    for node in needed_nodes([root]):
        operands = [values[part.serial] for part in node.args]
        if node.op == "input":
            values[node.serial] = np.float64(xs[names.index(node.value)])
        elif node.op == "constant":
            values[node.serial] = np.float64(node.value)
        elif node.op == op:
            raise AssertionError(f"{op} calls itself")
        else:
            values[node.serial] = evaluate(node.op, *operands)
    return values[root.serial] if isinstance(root, CodeNode) else root


FORCED = set()
WIDE = [
    1e-300,
    1e-20,
    1e-8,
    0.1,
    0.3,
    0.49,
    0.51,
    0.7,
    0.99,
    1.0001,
    1.3,
    1.999,
    2.3,
    3.2,
    5,
    8.3,
    8.6,
    12,
    26,
    50,
    100,
]
BOTH = [*WIDE, *(-x for x in WIDE)]
LARGE = [*WIDE, 171.0, 1e3, 1e10, 1e300]
SHARES = [1e-300, 1e-100, 1e-20, 1e-5, 0.01, 0.1, 0.2, 0.3, 0.45, 0.55, 0.7, 0.9, 0.99, 0.999999, 1 - 2**-53]
POLES = [-0.1, -0.49, -1.5, -2.3, -10.3, -100.7]
TABLE = [
    ("erf", BOTH, mpmath.erf, 2),
    ("erfc", [x for x in BOTH if x <= 26], mpmath.erfc, 4),
    ("erfcx", [x for x in BOTH if -26 <= x < 1e3], lambda x: mpmath.exp(x * x) * mpmath.erfc(x), 4),
    ("erfinv", [s * x for s in (1, -1) for x in SHARES], erfinv, 4),
    ("erfcinv", [*SHARES, *(2 - x for x in SHARES[3:-1])], erfcinv, 4),
    ("ndtri", SHARES, quantile, 4),
    ("log_ndtr", [-1e4, -37, -5, -1.5, -0.3, 0.4, 2, 5], log_normal, 16),
    ("gamma", [*(x for x in WIDE if x < 171), *POLES[:-1], -170.2, 171.6], mpmath.gamma, 4),
    ("gammaln", [*LARGE, *POLES], lambda x: mpmath.re(mpmath.loggamma(x)), 4),
    ("digamma", [*LARGE, -0.1, -1.4, -2.3, -10.3], mpmath.digamma, 8),
    ("polygamma_1", [*LARGE[1:], *POLES], lambda x: mpmath.psi(1, x), 8),
    ("polygamma_3", [*LARGE[2:-1], *POLES[:-1]], lambda x: mpmath.psi(3, x), 32),
    ("rgamma", [*(x for x in WIDE if x < 171), *POLES[:-1]], mpmath.rgamma, 64),
    ("arcsinh", [*BOTH, 1e300, -1e300], mpmath.asinh, 4),
    ("arccosh", [1 + 1e-12, 1.1, 1.9, 2.1, 50, 1e9, 1e300], mpmath.acosh, 4),
    ("arctanh", [*SHARES, *(-x for x in SHARES)], mpmath.atanh, 4),
]
"""Operation, points, reference, and largest error in rounding units."""


@pytest.mark.parametrize(("op", "points", "reference", "most"), TABLE, ids=[row[0] for row in TABLE])
def test_helpers_are_accurate(op, points, reference, most, monkeypatch):
    monkeypatch.setattr(f"{__name__}.FORCED", {op})
    with mp.workdps(60), np.errstate(all="ignore"):
        for x in points:
            right = reference(mpmath.mpf(float(x)))
            error = float(abs(mpmath.mpf(float(evaluate(op, x))) - right) / abs(right) / ULP)
            assert error <= most, f"{op}({x!r}): {error:.3g} rounding units from {mpmath.nstr(right, 17)}"


SPECIAL_POINTS = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -2.5, 3.0]
SAME_AS = {"digamma": "psi"}


@pytest.mark.parametrize("op", "erf erfc erfcx erfinv erfcinv ndtr ndtri log_ndtr gamma rgamma digamma entr".split())
def test_helpers_have_scipys_values_at_special_points(op, monkeypatch):
    monkeypatch.setattr(f"{__name__}.FORCED", {op})
    with np.errstate(all="ignore"):
        found = [float(evaluate(op, x)) for x in SPECIAL_POINTS]
    np.testing.assert_allclose(found, getattr(scipy.special, SAME_AS.get(op, op))(SPECIAL_POINTS), 1e-13, 1e-15)


PAIRS = [(x, y) for x in (7.5, -7.5, 0.0, 2.0, -1e10, 1e300) for y in (2.0, -2.0, 0.7, 1e-3)]
ROUNDING = ["rint", "floor", "ceil", "trunc", "sign"]


@pytest.mark.parametrize(
    "op", ["remainder", "floor_divide", "copysign", "maximum", "minimum", "fmax", "fmin", "logaddexp"]
)
def test_helpers_of_two_numbers_are_numpys(op, monkeypatch):
    monkeypatch.setattr(f"{__name__}.FORCED", {op})
    with np.errstate(all="ignore"):
        pairs = [*PAIRS, (np.nan, 1.0), (1.0, np.nan), (np.inf, np.inf), (-np.inf, 3.0), (2.0, 2.0), (-0.0, 1.0)]
        for x, y in pairs:
            assert np.array_equal(evaluate(op, x, y), getattr(np, op)(x, y), equal_nan=True) or (
                abs(evaluate(op, x, y) - getattr(np, op)(x, y)) <= 4 * ULP * abs(getattr(np, op)(x, y))
            ), (op, x, y)


@pytest.mark.parametrize("op", ROUNDING)
def test_rounding_is_numpys(op, monkeypatch):
    monkeypatch.setattr(f"{__name__}.FORCED", {op})
    points = [
        0.5,
        1.5,
        2.5,
        -0.5,
        -1.5,
        -2.7,
        2.3,
        1e15 + 0.5,
        -1e300,
        4503599627370497.5,
        np.inf,
        -np.inf,
        np.nan,
        0.0,
    ]
    for x in points:
        np.testing.assert_equal(float(evaluate(op, np.float64(x))), float(getattr(np, op)(x)))
