"""Claims that a checker may misjudge: rounding, solvers with tolerances, limited domains, types and forms.

The right derivatives are derived by hand, or come from the same function iterated to convergence.
"""

import math
from hashlib import blake2b

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq
from scipy.sparse import csr_matrix
from scipy.special import softmax

from gradcli import check_gradient
from gradcli.numeric.verdict import LEAST_ACCUSED
from gradcli.results.checks import CheckReport
from gradcli.results.inputs import Element, InputCheck


def judge(f, grad=None, *, vjp=None, **at):
    at = {name: np.asarray(x, getattr(x, "dtype", float)) for name, x in at.items()}
    return check_gradient(f, grad, at=at, vjp=vjp)


def verdict(f, grad, x):
    return judge(f, grad, x=x).verdict


def test_a_pass_without_evidence_cannot_be_created():
    failed = InputCheck("x", (), "fail", 1.0, 1.0, 0.0, None, None)
    for make in (
        lambda: InputCheck("x", (), "pass", 0.0, 0.0, 17.0, None, Element((), (), 1.0, 1.0, math.inf)),
        lambda: InputCheck("x", (), "pass", 0.0, 0.0, 17.0, math.inf, None),
        lambda: CheckReport("f", None, None, "pass", 0.0, inputs=(failed,)),
    ):
        with pytest.raises(ValueError, match="cannot pass"):
            make()


CUBES = (lambda x: (x**3).sum(), lambda x: 3 * x**2)
SQUARES = (lambda x: (x * x).sum(), lambda x: 2 * x)


def test_a_check_along_directions_reports_them_and_its_resolution():
    x = np.random.default_rng(0).standard_normal(1000) + 3

    def off(x, error=1e-5):
        g = 3 * x**2
        g[17] *= 1 + error
        return g

    right = check_gradient(*CUBES, at={"x": x})
    assert right.verdict == "pass" and right.inputs[0].worst is None
    assert len(right.evidence.directions) == 2
    assert all(claimed != numeric for claimed, numeric, _ in right.evidence.directions)
    assert check_gradient(lambda x: (x**3).sum(), off, at={"x": x}).verdict == "fail"
    hidden = right.inputs[0].resolution * np.abs(3 * x**2).max() / (3 * x[17] ** 2)
    seen = check_gradient(lambda x: (x**3).sum(), lambda x: off(x, 3 * hidden), at={"x": x}, strict=True)
    assert seen.verdict == "fail"


@pytest.mark.parametrize(
    ("f", "grad", "x", "options"),
    [
        (*SQUARES, [1.0, 2.0], {}),
        (lambda x: np.sin(3 * x).sum(), lambda x: 3 * np.cos(3 * x), [0.3, 2.0], {}),
        (lambda x: np.exp(50 * x).sum(), lambda x: 50 * np.exp(50 * x), [0.3], {}),
        (lambda x: (1e8 + x**3).sum(), lambda x: 3 * x**2, [1.5], {}),
        (*CUBES, [1.0, -4.0], {"atol": 0.0, "rtol": 0.5}),
    ],
)
def test_an_error_above_the_stated_resolution_fails(f, grad, x, options):
    right = check_gradient(f, grad, at={"x": np.array(x)}, **options)
    assert right.verdict == "pass"
    (seen,) = (item.resolution for item in right.inputs)
    assert seen <= LEAST_ACCUSED[8] or f is not SQUARES[0]
    wrong = check_gradient(f, lambda x: grad(x) * (1 + 2 * seen), at={"x": np.array(x)}, strict=True, **options)
    assert wrong.verdict == "fail"


def test_rounding_of_a_large_output_does_not_hide_an_error_in_a_small_one():
    def f(x):
        return np.array([1e15 * np.sin(x[0]), np.cos(x[1])])

    assert verdict(f, lambda x: np.diag([1e15 * np.cos(x[0]), -np.sin(x[1])]), [0.3, 0.4]) == "pass"
    assert verdict(f, lambda x: np.diag([1e15 * np.cos(x[0]), np.sin(x[1])]), [0.3, 0.4]) == "fail"
    wrong = judge(
        lambda x, y: 1e15 * np.sin(x) + np.array([0.0, np.cos(y)]),
        lambda x, y: (np.full(2, 1e15 * np.cos(x)), np.array([0.0, np.sin(y)])),
        x=0.3,
        y=0.4,
    )
    assert wrong.verdict != "pass" or wrong.inputs[1].negligible


def entropy(x):
    p = softmax(x)
    return -(p * np.log(p)).sum()


def entropy_gradient(x):
    p = softmax(x)
    return -p * (np.log(p) + entropy(x))


def test_elements_below_rounding_are_negligible():
    for f, claimed, x in ((lambda x: np.tanh(x) - 1, 7e-35, 40.0), (lambda x: 3 + 0 * x, 1.4e-17, 1.0)):
        found = judge(f, lambda x, c=claimed: c, x=x)
        assert found.verdict != "fail" and found.inputs[0].negligible == 1
        assert verdict(f, lambda x: 1e-3, x) == "fail"
    at = [30.0, 0.0, -1.0, 2.0]
    assert verdict(entropy, entropy_gradient, at) != "fail"
    assert verdict(entropy, lambda x: -entropy_gradient(x), at) == "fail"


def cosine_point(a, tolerance=1e-9):
    """Solve y = cos(a y) by iteration."""
    y = 0.0
    for _ in range(2000):
        y, before = np.cos(a * y), y
        if abs(y - before) <= tolerance:
            break
    return y


def cosine_slope(a):
    y = cosine_point(a, 0.0)
    return -y * np.sin(a * y) / (1 + a * np.sin(a * y))


def root(a):
    return brentq(lambda y: y**3 + y - a, -10, 10, xtol=1e-6)


def decay(rtol):
    return lambda k: solve_ivp(lambda t, y: -k * y, (0, 1), [1.0], rtol=rtol, atol=rtol * 1e-3).y[0, -1]


SOLVERS = {
    "fixed point": (cosine_point, cosine_slope, (0.3, 0.7, 0.9, 1.1)),
    "root": (root, lambda a: 1 / (3 * root(a) ** 2 + 1), (1.0, 2.0, 3.3)),
    "differential equation": (decay(1e-3), lambda k: -np.exp(-k), (1.3, 2.0)),
    "differential equation, tighter": (decay(1e-6), lambda k: -np.exp(-k), (0.5, 1.3, 2.0)),
    "integral": (
        lambda k: quad(lambda t: np.exp(-k * t * t), 0, 1)[0],
        lambda k: -quad(lambda t: t * t * np.exp(-k * t * t), 0, 1)[0],
        (0.4, 1.3),
    ),
}


@pytest.mark.parametrize(
    ("f", "slope", "x"), [pytest.param(*row[:2], x, id=f"{name} {x}") for name, row in SOLVERS.items() for x in row[2]]
)
def test_solvers_that_stop_at_a_tolerance(f, slope, x):
    right = judge(f, lambda x: np.asarray(slope(x)), x=x)
    assert right.verdict == "pass" or (right.verdict == "inconclusive" and right.diagnosis[0].kind == "solver")
    assert verdict(f, lambda x: np.asarray(1.05 * slope(x)), x) == "fail"


@pytest.mark.parametrize("x", [[1.1, 2.3], [0.7, 1.9, 3.1]])
def test_a_float32_function_is_not_taken_for_a_solver(x):
    def f(x):
        return float((x.astype(np.float32) ** 2).sum())

    assert verdict(f, lambda x: 2 * x, x) == "pass"
    assert verdict(f, lambda x: 2.01 * x, x) == "fail"


def bounded(x):
    assert 0 <= x <= 1
    return x**2


def strict(x):
    with np.errstate(all="raise"):
        return np.log(x).sum()


def volume(x):
    return 2 * np.log(np.diag(np.linalg.cholesky((x + x.T) / 2))).sum()


DOMAINS = {
    "math.sqrt": (math.sqrt, lambda x: 0.5 / math.sqrt(x), 1e-3),
    "math.log": (lambda x: math.log(x[0]) + math.log(x[1]), lambda x: 1 / x, [1e-8, 2.0]),
    "math.exp": (math.exp, np.exp, 700.0),
    "cholesky": (volume, np.linalg.inv, [[1.0, 0.999], [0.999, 1.0]]),
    "assert": (bounded, lambda x: 2 * x, 1.0),
    "errstate": (strict, lambda x: 1 / x, [0.01, 2.0]),
    "another shape": (lambda x: 2 * x if x < 1.01 else np.ones(2), lambda x: 2 + 0 * x, 1.0),
    "None": (lambda x: 2 * x if x < 1.01 else None, lambda x: 2 + 0 * x, 1.0),
}


@pytest.mark.parametrize(("f", "grad", "x"), DOMAINS.values(), ids=DOMAINS)
def test_functions_that_raise_near_the_point(f, grad, x):
    assert verdict(f, grad, x) == "pass"
    assert verdict(f, lambda x: -np.asarray(grad(x)), x) == "fail"


def test_a_function_that_raises_at_the_point_is_an_error():
    found = judge(math.log, lambda x: 1 / x, x=-1.0)
    assert found.verdict == "error" and "log raised ValueError: " in found.message
    assert verdict(lambda x: x, lambda x: 1 / 0, 1.0) == "error"


def test_half_precision():
    x = np.array([1, 2, 3], np.float16)
    assert verdict(lambda x: (x * x).sum(), lambda x: 2 * x, x) in ("pass", "inconclusive")
    assert verdict(lambda x: (x * x).sum(), lambda x: -2 * x, x) == "fail"
    assert verdict(lambda x: np.sin(x.astype(float)).sum(), np.cos, x) in ("pass", "inconclusive")


def test_forms_of_gradients():
    assert verdict(lambda x: (x**2).sum(), lambda x: (6.0,), [3.0]) == "pass"
    assert verdict(lambda x: (x**2).sum(), lambda x: np.array([6.0, 2.0], object), [3.0, 1.0]) == "pass"
    assert judge(lambda x: (x**2).sum(), vjp=lambda c, x: (6.0 * c,), x=[3.0]).verdict == "pass"


def test_a_sparse_input_is_an_error_with_a_hint():
    at = {"a": csr_matrix(np.eye(2))}
    report = check_gradient(lambda a: a.multiply(a).sum(), lambda a: 2 * a, at=at)
    assert (report.verdict, report.message) == ("error", "no input is an array of floating-point numbers: a")
    assert "build the matrix inside" in report.hint


def test_numpy_numbers_and_tuples_are_accepted():
    at = {"x": (np.int64(2), 3)}
    report = check_gradient(
        lambda x: np.sum(x * x), lambda x: 2 * x, at, seed=np.int64(3), samples=np.int64(2), wrt=("x",), order=1
    )
    assert report.verdict == "pass"
    assert check_gradient(lambda x: x * x, lambda x: 2 * x, 2.0, rtol=np.float32(1e-3), atol=0, eps=1e-6)


def test_a_backward_that_changes_its_cotangent_fails():
    def clamp_backward(g, x):
        g[x < 0] = 0
        return g

    report = check_gradient(lambda x: np.maximum(x, 0), vjp=clamp_backward, at={"x": np.array([-1.0, 2.0])})
    assert (report.verdict, report.diagnosis[0].kind) == ("fail", "writes-into")
    assert "changes its cotangent in place" in report.message


@pytest.mark.parametrize(("grad", "verdict"), [(lambda z: 2 * z, "pass"), (lambda z: 2 * z.conj(), "fail")])
def test_random_complex_points_have_imaginary_parts(grad, verdict):
    """The gradient of sum |z|**2 is 2 z; its conjugate is the same at real points."""
    report = check_gradient(lambda z: (z * z.conj()).real.sum(), grad, {"z": (3,)}, dtype="complex128")
    assert report.verdict == verdict


def lennard_jones(x, q):
    i, j = np.triu_indices(len(x), 1)
    d = np.abs(x[j] - x[i])
    return np.sum(4 * (d**-12 - d**-6)) + q**2 / 2


def lennard_jones_slopes(x, q):
    i, j = np.triu_indices(len(x), 1)
    slope, forces = 4 * (-12 * (x[j] - x[i]) ** -13 + 6 * (x[j] - x[i]) ** -7), np.zeros_like(x)
    np.add.at(forces, j, slope)
    np.add.at(forces, i, -slope)
    return forces, q


EXPLOSIVE = {
    "atoms far from the origin": (
        lennard_jones,
        lennard_jones_slopes,
        {"x": np.array([100.0, 101.12, 102.31, 103.44]), "q": 1.3},
    ),
    "a decay, at a date in days": (
        lambda t, a: a * np.exp((2460000.5 - t) / 11.57),
        lambda t, a: (-a * np.exp((2460000.5 - t) / 11.57) / 11.57, np.exp((2460000.5 - t) / 11.57)),
        {"t": 2460007.25, "a": 3.7e6},
    ),
    "a discount over 10,950 days": (
        lambda d, a: a * d**10950 + np.sin(a),
        lambda d, a: (10950 * a * d**10949, d**10950 + np.cos(a)),
        {"d": 0.99989, "a": 1.5},
    ),
}
"""Functions that are huge at a distance of a hundredth of x: their rounding there says nothing about that at x."""


@pytest.mark.parametrize("name", EXPLOSIVE)
@pytest.mark.parametrize(("factor", "verdict"), [(1, "pass"), (1.01, "fail"), (-1, "fail"), (0, "fail")])
def test_huge_values_nearby_make_no_element_negligible(name, factor, verdict):
    f, slopes, at = EXPLOSIVE[name]

    def claimed(first, second):
        one, other = slopes(first, second)
        return factor * one, other

    assert check_gradient(f, claimed, at).verdict == verdict


def test_slopes_hidden_by_rounding_inside_the_function_are_not_negligible():
    """A Gaussian process with a noise of exp(-12): the variance, added to 1, changes in steps of 3e-6 of it."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 5, 60))
    y, distances = np.sin(x) + 0.1 * rng.standard_normal(60), (x[:, None] - x) ** 2

    def covariance(t):
        return np.exp(2 * t[1]) * np.exp(-0.5 * distances * np.exp(-2 * t[0])) + np.exp(2 * t[2]) * np.eye(60)

    def likelihood(t):
        factor = np.linalg.cholesky(covariance(t))
        return np.sum(np.linalg.solve(factor, y) ** 2) / 2 + np.log(np.diag(factor)).sum()

    def without_data(t):
        inverse, smooth = np.linalg.inv(covariance(t)), covariance(t) - np.exp(2 * t[2]) * np.eye(60)
        inner = inverse - np.outer(inverse @ y, inverse @ y)
        length = 0.5 * np.sum(inner * smooth * distances) * np.exp(-2 * t[0])
        return np.array([length, np.sum(inner * smooth), np.trace(inverse) * np.exp(2 * t[2])])

    assert check_gradient(likelihood, without_data, {"t": np.array([0.0, 0.0, -12.0])}).verdict != "pass"


@pytest.mark.parametrize(
    "mistake", [lambda z, y: z * np.where(y > 0, 2, 1), lambda z, y: z + y, lambda z, y: z.real + 0j]
)
def test_mistakes_in_complex_inputs_next_to_real_ones_are_diagnosed(mistake):
    rng = np.random.default_rng(3)
    z, y, w = rng.standard_normal(8) + 1j * rng.standard_normal(8), rng.standard_normal(8), rng.standard_normal(8)
    at = {"z": z, "y": y}

    def f(z, y):
        return np.sum(w * np.abs(z) ** 2 * y)

    assert check_gradient(f, lambda z, y: (2 * w * y * z, w * np.abs(z) ** 2), at).verdict == "pass"
    report = check_gradient(f, lambda z, y: (mistake(2 * w * y * z, y), w * np.abs(z) ** 2), at)
    assert (report.verdict, report.error) == ("fail", None)


def test_numbers_of_the_code_may_be_tiny():
    def slope(x):
        step = 1e-200
        return np.where(x > 1.5, 1.01, 1.0) * np.imag(np.sin(x + 1j * step)) / step

    assert check_gradient(lambda x: np.sin(x).sum(), slope, {"x": np.array([0.4, 1.0, 1.6, 1.9])}).verdict == "fail"


def test_a_jump_that_only_directions_see_is_a_reason():
    rng = np.random.default_rng([1, 400])
    x, w = rng.standard_normal(400) * rng.choice([0.1, 1, 10.0]), rng.standard_normal(400)

    def base(x):
        return np.sum(w * np.sin(x)) + 0.3 * np.sum(x * x) / 400

    size = abs(base(x)) + 6

    def noisy(x):
        bit = blake2b(np.ascontiguousarray(np.asarray(x, float)).tobytes(), digest_size=8).digest()[7] < 128
        return base(x) + size * 3e-3 * bit

    assert check_gradient(noisy, lambda x: w * np.cos(x) + 0.6 * x / 400, {"x": x}).verdict == "inconclusive"


def test_a_sawtooth_is_not_accused_by_windows_wider_than_its_teeth():
    at = {"t": 4.6e9 + 12345.663}

    def sawtooth(t):
        return np.mod(t - 4.6e9, 0.3) / 0.3

    assert check_gradient(sawtooth, lambda t: 1 / 0.3, at).verdict == "inconclusive"
    assert check_gradient(sawtooth, lambda t: -1 / 0.3, at).verdict == "fail"


def test_a_backward_pass_may_return_the_same_buffer_each_time():
    rng = np.random.default_rng(1)
    matrix, x, buffer = rng.standard_normal((4, 6)), rng.standard_normal(6), np.zeros(6)

    def backward(v, x, factor=1.0):
        buffer[:] = matrix.T @ (v * factor * np.cos(matrix @ x))
        return buffer

    def f(x):
        return np.sin(matrix @ x)

    assert check_gradient(f, vjp=backward, at={"x": x}).verdict == "pass"
    assert check_gradient(f, vjp=lambda v, x: backward(v, x, 1.01), at={"x": x}).verdict == "fail"


CLOSE_TO_ONE = {
    "sqrt(1 - x)": (lambda x: np.sqrt(1 - x), lambda x: -0.5 / np.sqrt(1 - x)),
    "log(1 - x)": (lambda x: np.log(1 - x), lambda x: -1 / (1 - x)),
    "arccos": (np.arccos, lambda x: -1 / np.sqrt((1 - x) * (1 + x))),
    "arctanh": (np.arctanh, lambda x: 1 / ((1 - x) * (1 + x))),
}


@pytest.mark.parametrize("distance", [1e-10, 1e-11, 1e-12, 1e-13])
@pytest.mark.parametrize("name", CLOSE_TO_ONE)
def test_a_singularity_close_to_the_point_is_not_taken_for_one_at_it(name, distance):
    """1 - x is exact there, so these slopes are right to a few rounding units."""
    f, slope = CLOSE_TO_ONE[name]
    assert check_gradient(f, slope, {"x": 1 - distance}).verdict != "fail"
    assert check_gradient(f, lambda x: 1.01 * slope(x), {"x": 1 - distance}).verdict != "pass"


@pytest.mark.parametrize("power", [0, 600, 1000, -900])
def test_a_problem_in_other_units_has_the_same_verdict(power):
    """Powers of 2 change no digit, but products of two large numbers overflow."""
    unit = 2.0**power
    x = unit * np.array([0.3, 1.1, -0.7])

    def f(x):
        return unit * np.exp(x / unit).sum()

    for factors, verdict in (([1, 1, 1], "pass"), ([1, 1.01, 1], "fail"), ([1, 1, -1], "fail")):
        assert check_gradient(f, lambda x, k=factors: np.array(k) * np.exp(x / unit), {"x": x}).verdict == verdict


def test_a_function_without_values_on_one_side_is_no_internal_error():
    assert check_gradient(lambda x: np.exp(-x / 1e-12), lambda x: 0 * x, at={"x": 0.0}).verdict == "inconclusive"

    def area(a):  # of a triangle that is almost flat
        return np.sqrt(np.maximum((a + 2) * (2 - a) * a * a, 0)) / 4

    def slope(a):
        return (8 * a - 4 * a**3) / 8 / np.sqrt((a + 2) * (2 - a) * a * a)

    assert check_gradient(area, slope, at={"a": 2 - 1e-9}).verdict != "fail"
    assert check_gradient(area, lambda a: 1.5 * slope(a), at={"a": 2 - 1e-9}).verdict not in ("pass", "error")


@pytest.mark.parametrize("factor", [1.0, 1.5, -1.0])
def test_a_wave_shorter_than_any_step_is_no_internal_error(factor):
    report = check_gradient(
        lambda x: np.sin(x / 1e-15).sum(), lambda x: factor * np.cos(x / 1e-15) / 1e-15, {"x": np.zeros(12)}
    )
    assert report.verdict in ("fail", "inconclusive") and (factor != 1.0 or report.verdict == "inconclusive")
