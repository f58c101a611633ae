"""Verdicts on derivatives on manifolds: right and wrong twins, and for wrong ones the name of the mistake."""

import numpy as np
import pytest
from numpy.linalg import inv

import gradcli
from tests.command import gradcli as command
from tests.manifolds.poses import adjoint, exp3, hat, log3, pose, right_jacobian, rotate, rotation_of

RNG = np.random.default_rng(5)
P = np.array([1.0, -2, 3])
R0, Z = exp3(RNG.standard_normal(3)), exp3(RNG.standard_normal(3))
T0 = pose(exp3(RNG.standard_normal(3)), 2 * RNG.standard_normal(3))
T1 = pose(exp3(RNG.standard_normal(3)), 2 * RNG.standard_normal(3))
W0 = np.array([0.3, -0.5, 0.8])
R1 = R0 @ exp3(W0)
Q0 = RNG.standard_normal(4)
Q0 /= np.linalg.norm(Q0)
SWAP = np.eye(6)[[3, 4, 5, 0, 1, 2]]
HALF = np.diag([1, 1, 1, 0.5, 0.5, 0.5])


def check(f, grad, at, on, **options):
    return gradcli.check_gradient(f, grad, at, on=on, **options)


def turn(R):
    return R @ P


def move(T):
    return T[:3, :3] @ P + T[:3, 3]


def by_right(T):
    return np.hstack([T[:3, :3], -T[:3, :3] @ hat(P)])


def by_left(T):
    return np.hstack([np.eye(3), -hat(move(T))])


def by_split(T):
    return np.hstack([np.eye(3), -T[:3, :3] @ hat(P)])


def by_split_left(T):
    return np.hstack([np.eye(3), -hat(T[:3, :3] @ P)])


SIDES = {"SE3": by_right, "SE3:left": by_left, "SE3:split": by_split, "SE3:split-left": by_split_left}


def between(X, Y):
    return inv(X) @ Y


def residual(X, Y):
    return log3(Z.T @ X.T @ Y)


def inverse_right(w):
    return inv(right_jacobian(w))


def position(T):
    return T[:3, 3] - P


ROTATIONS = [
    (turn, lambda R: -R @ hat(P), "SO3", "pass"),
    (turn, lambda R: -hat(R @ P), "SO3:left", "pass"),
    (turn, lambda R: -hat(R @ P), "SO3", "perturbation"),
    (turn, lambda R: hat(R @ P), "SO3", "perturbation"),
    (turn, lambda R: R @ hat(P), "SO3", "sign"),
    (turn, lambda R: -R @ hat(P) / 2, "SO3", "half-angle"),
    (lambda R: R.T @ P, lambda R: hat(R.T @ P), "SO3", "pass"),
    (lambda R: R.T @ P, lambda R: R.T @ hat(P), "SO3", "perturbation"),
    (log3, lambda R: inverse_right(log3(R)), "SO3", "pass"),
    (log3, lambda R: inverse_right(-log3(R)), "SO3:left", "pass"),
    (log3, lambda R: inverse_right(-log3(R)), "SO3", "perturbation"),
    (log3, lambda R: np.eye(3), "SO3", "small-angle"),
    (log3, lambda R: np.eye(3) + hat(log3(R)) / 2, "SO3", "small-angle"),
    (lambda R: np.array([R[0, 0], R[1, 2]]), lambda R: np.array([[0, 0, 0], [R[1, 1], -R[1, 0], 0]]), "SO3", "fail"),
]


@pytest.mark.parametrize(("f", "grad", "on", "expected"), ROTATIONS)
def test_rotations(f, grad, on, expected):
    report = check(f, grad, {"R": R0}, {"R": on})
    assert report.rule == expected or (expected, report.verdict) == ("fail", "fail"), report


POSES = [
    *((move, SIDES[on], on, "pass") for on in SIDES),
    *((move, SIDES[claim], on, "perturbation") for on in SIDES for claim in SIDES if claim != on),
    *((move, lambda T, g=SIDES[on]: g(T) @ SWAP, on, "tangent-order") for on in SIDES),
    (move, lambda T: by_right(T) @ SWAP, "SE3:rotation-first", "pass"),
    (move, lambda T: by_left(T) @ SWAP, "SE3:rotation-first", "perturbation"),
    (move, by_left, "SE3:rotation-first", "perturbation"),
    (move, lambda T: by_right(T) @ HALF, "SE3", "half-angle"),
    (move, lambda T: by_right(T) @ (3 * np.eye(6) - 4 * HALF + np.diag([0, 0, 0, -2, -2, -2])), "SE3", "fail"),
    (position, lambda T: np.hstack([T[:3, :3], np.zeros((3, 3))]), "SE3", "pass"),
    (position, lambda T: np.hstack([np.eye(3), np.zeros((3, 3))]), "SE3:split", "pass"),
    (position, lambda T: np.hstack([np.eye(3), np.zeros((3, 3))]), "SE3", "perturbation"),
    (position, lambda T: np.hstack([np.zeros((3, 3)), T[:3, :3]]), "SE3:rotation-first", "pass"),
]


@pytest.mark.parametrize(("f", "grad", "on", "expected"), POSES)
def test_poses(f, grad, on, expected):
    report = check(f, grad, {"T": T0}, {"T": on})
    assert report.rule == expected or (expected, report.verdict) == ("fail", "fail"), report


TWO = {"X": T0, "Y": T1}
SE3, SO3 = {"X": "SE3", "Y": "SE3", "out": "SE3"}, {"R": "SO3", "out": "SO3"}
FIRST = dict.fromkeys(SE3, "SE3:rotation-first")
OUTPUTS = [
    (lambda R: Z @ R, lambda R: np.eye(3), {"R": R0}, SO3, "pass"),
    (lambda R: Z @ R, lambda R: Z, {"R": R0}, SO3, "perturbation"),
    (lambda R: R @ Z, lambda R: Z.T, {"R": R0}, SO3, "pass"),
    (lambda R: R @ Z, lambda R: Z, {"R": R0}, SO3, "transposed"),
    (lambda R: R.T, lambda R: -R, {"R": R0}, SO3, "pass"),
    (lambda R: R.T, lambda R: -R.T, {"R": R0}, SO3, "adjoint-not-inverted"),
    (exp3, right_jacobian, {"w": W0}, {"out": "SO3"}, "pass"),
    (exp3, lambda w: right_jacobian(-w), {"w": W0}, {"out": "SO3"}, "perturbation"),
    (exp3, lambda w: np.eye(3), {"w": W0}, {"out": "SO3"}, "small-angle"),
    (between, lambda X, Y: (-adjoint(inv(Y) @ X), np.eye(6)), TWO, SE3, "pass"),
    (between, lambda X, Y: (-adjoint(inv(X) @ Y), np.eye(6)), TWO, SE3, "adjoint-not-inverted"),
    (between, lambda X, Y: (-SWAP @ adjoint(inv(Y) @ X) @ SWAP, np.eye(6)), TWO, FIRST, "pass"),
    (between, lambda X, Y: (-adjoint(inv(Y) @ X), np.eye(6)), TWO, FIRST, "tangent-order"),
]


@pytest.mark.parametrize(("f", "grad", "at", "on", "expected"), OUTPUTS)
def test_outputs_on_manifolds(f, grad, at, on, expected):
    report = check(f, grad, at, on)
    assert report.rule == expected or (expected, report.verdict) == ("fail", "fail"), report


def residual_jacobians(X, Y):
    J = inverse_right(residual(X, Y))
    return -J @ Y.T @ X, J


def not_inverted(X, Y):
    J = inverse_right(residual(X, Y))
    return -J @ X.T @ Y, J


RESIDUALS = [
    (residual_jacobians, "pass"),
    (not_inverted, "adjoint-not-inverted"),
    (lambda X, Y: (-Y.T @ X, np.eye(3)), "small-angle"),
]


@pytest.mark.parametrize(("grad", "expected"), RESIDUALS)
def test_residuals_between_two_rotations(grad, expected):
    report = check(residual, grad, {"X": R0, "Y": R1}, {"X": "SO3", "Y": "SO3"})
    assert report.rule == expected, report


def turn_by(q):
    return rotate(q, P)


QUATERNIONS = [
    (turn_by, lambda q: -rotation_of(q) @ hat(P), "quaternion", "pass"),
    (turn_by, lambda q: -hat(rotate(q, P)), "quaternion:left", "pass"),
    (turn_by, lambda q: -2 * hat(rotate(q, P)), "quaternion:left:half-angle", "pass"),
    (turn_by, lambda q: -2 * rotation_of(q) @ hat(P), "quaternion", "half-angle"),
    (turn_by, lambda q: -2 * hat(rotate(q, P)), "quaternion", "half-angle"),
    (turn_by, lambda q: -hat(rotate(q, P)), "quaternion", "perturbation"),
    (lambda q: turn_by(q[[3, 0, 1, 2]]), lambda q: -rotation_of(q[[3, 0, 1, 2]]) @ hat(P), "quaternion:xyzw", "pass"),
]


@pytest.mark.parametrize(("f", "grad", "on", "expected"), QUATERNIONS)
def test_quaternions(f, grad, on, expected):
    report = check(f, grad, {"q": Q0}, {"q": on})
    assert report.rule == expected, report


A, B, C = (x + x.T for x in (RNG.standard_normal((4, 4)), RNG.standard_normal((5, 5)), np.diag([1.0, 2, 3])))
X0 = np.linalg.qr(RNG.standard_normal((5, 2)))[0]
S0 = np.array([[3.0, 1, 0], [1, 2, 0.5], [0, 0.5, 1]])
N = np.diag([1.0, 3])


def quadratic(x):
    return x @ A @ x


def brockett(X):
    return np.trace(X.T @ B @ X @ N)


def slope(X):
    return 2 * B @ X @ N


D = RNG.standard_normal((50, 50))
X1 = np.linalg.qr(RNG.standard_normal((50, 3)))[0]


def large(X):
    return np.trace(X.T @ (D + D.T) @ X @ np.diag([1.0, 2, 3]))


def large_slope(X):
    return 2 * (D + D.T) @ X @ np.diag([1.0, 2, 3])


def barrier(X):
    return np.linalg.slogdet(X)[1] + np.trace(C @ X)


METRICS = [
    (quadratic, lambda x: 2 * (A @ x - x * (x @ A @ x)), Q0, "unit", "pass"),
    (quadratic, lambda x: 2 * (A @ x - x * (x @ A @ x) / (x @ x)), 3 * Q0, "sphere", "pass"),
    (quadratic, lambda x: 2 * A @ x, Q0, "sphere", "not-tangent"),
    (lambda x: quadratic(x) / (x @ x), lambda x: 2 * A @ x, Q0, "unit", "normalisation-missing"),
    (quadratic, lambda x: A @ x - x * (x @ A @ x), Q0, "unit", "factor"),
    (lambda x: A @ x, lambda x: A - np.outer(A @ x, x), Q0, "unit", "pass"),
    (brockett, lambda X: slope(X) - X @ (X.T @ slope(X) + slope(X).T @ X) / 2, X0, "stiefel", "pass"),
    (brockett, lambda X: slope(X) - X @ slope(X).T @ X, X0, "stiefel:canonical", "pass"),
    (brockett, lambda X: slope(X) - X @ slope(X).T @ X, X0, "stiefel", "metric"),
    (brockett, slope, X0, "stiefel", "not-tangent"),
    (large, lambda X: large_slope(X) - X @ large_slope(X).T @ X, X1, "stiefel", "metric"),
    (barrier, lambda X: X + X @ C @ X, S0, "spd", "pass"),
    (barrier, lambda X: inv(X) + C, S0, "spd:euclidean", "pass"),
    (barrier, lambda X: inv(X) + C, S0, "spd", "metric"),
    (barrier, lambda X: X @ (inv(X) + C), S0, "spd", "not-tangent"),
]


@pytest.mark.parametrize(("f", "grad", "x", "on", "expected"), METRICS)
def test_riemannian_gradients(f, grad, x, on, expected):
    report = check(f, grad, {"x": x}, {"x": on})
    assert report.rule == expected, report


def test_the_report_says_by_what_to_multiply():
    left = check(move, by_left, {"T": T0}, {"T": "SE3"})
    text = "T: the claim is the Jacobian for left perturbations, exp(d) T; multiply it on the right by Ad(T)"
    assert left.diagnosis[0].text == text
    assert np.allclose(by_left(T0) @ adjoint(T0), by_right(T0))
    right = check(turn, lambda R: -R @ hat(P), {"Q": R0}, {"Q": "SO3:left"})
    text = "Q: the claim is the Jacobian for right perturbations, Q exp(d); multiply it on the right by Q^-1"
    assert right.diagnosis[0].text == text


IDENTITIES = [
    (turn, lambda R: -R @ hat(P), np.eye(3), "SO3"),
    (move, by_right, np.eye(4), "SE3"),
    (move, by_right, pose(np.eye(3), [1, 2, 3]), "SE3"),
    (turn_by, lambda q: -rotation_of(q) @ hat(P), np.array([1.0, 0, 0, 0]), "quaternion"),
]


@pytest.mark.parametrize(("f", "grad", "x", "on"), IDENTITIES)
def test_where_conventions_agree_the_check_is_inconclusive(f, grad, x, on):
    report = check(f, grad, {"x": x}, {"x": on})
    assert (report.verdict, report.rule) == ("inconclusive", "same-convention"), report
    assert "have the same Jacobian at this point" in report.message and report.hint


def test_an_output_at_the_identity_is_inconclusive():
    report = check(lambda R: R0.T @ R, lambda R: np.eye(3), {"R": R0}, {"R": "SO3", "out": "SO3"})
    assert (report.verdict, report.rule) == ("inconclusive", "same-convention"), report


ANGLES = [1e-4, 1e-2, 1.0, 2.5, 3.1, np.pi - 1e-5, np.pi]


@pytest.mark.parametrize("angle", ANGLES)
def test_right_jacobians_are_not_accused_at_any_angle(angle):
    rng = np.random.default_rng(int(1e6 * angle))
    axis = rng.standard_normal(3)
    R = exp3(angle * axis / np.linalg.norm(axis))
    T = pose(R, 10.0 ** rng.uniform(-3, 4) * rng.standard_normal(3))
    assert check(move, by_left, {"T": T}, {"T": "SE3:left"}).verdict in ("pass", "inconclusive")
    logarithm = check(log3, lambda R: inverse_right(log3(R)), {"R": R}, {"R": "SO3"})
    assert logarithm.verdict == ("inconclusive" if angle == np.pi else "pass"), logarithm


def cancelling(w):
    """The right Jacobian of the exponential, whose first coefficient loses digits at small angles."""
    a, W = np.linalg.norm(w), hat(w)
    return np.eye(3) - (1 - np.cos(a)) / a**2 * W + (a - np.sin(a)) / a**3 * W @ W


NEAR = np.array([0.6, -0.64, 0.48])


@pytest.mark.parametrize(
    ("f", "grad", "x", "on", "verdict"),
    [
        (exp3, lambda w: np.eye(3), 1e-9 * NEAR, {"out": "SO3"}, "pass"),
        (exp3, lambda w: np.eye(3), 1e-6 * NEAR, {"out": "SO3"}, "fail"),
        (exp3, cancelling, 1e-6 * NEAR, {"out": "SO3"}, "pass"),
        (exp3, cancelling, 1e-7 * NEAR, {"out": "SO3"}, "pass"),
        (log3, lambda R: np.eye(3), exp3(1e-9 * NEAR), {"x": "SO3"}, "inconclusive"),
        (log3, lambda R: np.eye(3), exp3(1e-6 * NEAR), {"x": "SO3"}, "fail"),
        (log3, lambda R: 2 * np.eye(3), exp3(1e-9 * NEAR), {"x": "SO3"}, "fail"),
    ],
)
def test_jacobians_may_end_their_series_near_the_identity(f, grad, x, on, verdict):
    report = check(f, grad, {"x": x}, on)
    assert report.verdict == verdict, report


def test_strict_checks_ask_for_every_term():
    assert check(exp3, lambda w: np.eye(3), {"x": 1e-9 * NEAR}, {"out": "SO3"}, strict=True).verdict == "fail"


def test_batches_of_poses_and_plain_inputs():
    rng = np.random.default_rng(9)
    poses = np.array([pose(exp3(rng.standard_normal(3)), rng.standard_normal(3)) for _ in range(3)])

    def moved(T, scale):
        return scale * np.array([move(x) for x in T])

    def jacobians(T, scale, one=by_right):
        whole = np.zeros((3, 3, 3, 6))
        for i, x in enumerate(T):
            whole[i, :, i] = scale * one(x)
        return whole, moved(T, 1.0)

    at, on = {"T": poses, "scale": np.array(2.0)}, {"T": "SE3"}
    assert check(moved, jacobians, at, on).verdict == "pass"
    assert check(moved, lambda T, s: (jacobians(T, s)[0].reshape(9, 18), moved(T, 1)), at, on).verdict == "pass"
    assert check(moved, lambda T, s: jacobians(T, s, by_left), at, on).rule == "perturbation"
    assert check(moved, jacobians, {"T": (3, 4, 4), "scale": np.array(2.0)}, on).verdict == "pass"


@pytest.mark.parametrize(("grad", "rule"), [(by_right, "pass"), (by_left, "perturbation")])
@pytest.mark.parametrize("x", [T0.reshape(16), (16,)], ids=["values", "shape"])
def test_matrices_may_be_written_as_vectors(x, grad, rule):
    """As C functions and other programs take them."""
    report = check(lambda T: move(T.reshape(4, 4)), lambda T: grad(T.reshape(4, 4)), {"T": x}, {"T": "SE3"})
    assert report.rule == rule, report


def test_products_with_vectors():
    at, on = {"T": T0}, {"T": "SE3"}
    backward = check(move, None, at, on, vjp=lambda v, T: v @ by_right(T))
    forward = check(move, None, at, on, jvp=lambda d, T: by_right(T) @ d[0])
    both = check(move, None, at, on, vjp=lambda v, T: v @ by_right(T), jvp=lambda d, T: by_right(T) @ d[0])
    assert backward.verdict == forward.verdict == both.verdict == "pass"
    assert check(move, None, at, on, vjp=lambda v, T: v @ by_left(T)).rule == "perturbation"
    assert check(move, None, at, on, jvp=lambda d, T: by_left(T) @ d[0]).verdict == "fail"


def test_gradients_by_the_engine_are_by_the_entries():
    def moved(T):
        return T[:3, :3] @ gradcli.tensor(P) + T[:3, 3]

    assert check(moved, None, {"T": T0}, {"T": "SE3"}).verdict == "pass"


def circle(x, d):
    c, s = np.cos(d[0]), np.sin(d[0])
    return np.array([c * x[0] - s * x[1], s * x[0] + c * x[1]])


def test_a_retraction_of_the_user():
    def f(x):
        return 3 * x[0] + x[1] ** 2

    at, on = {"x": np.array([0.6, 0.8])}, {"x": circle}
    assert check(f, lambda x: np.array([-3 * x[1] + 2 * x[1] * x[0]]), at, on).verdict == "pass"
    assert check(f, lambda x: np.array([3 * x[1] + 2 * x[1] * x[0]]), at, on).verdict == "fail"
    missing = check(f, lambda x: np.array([0.0]), {"x": np.array([0.6, 0.8])}, {"x": lambda x, d: 1.1 * circle(x, d)})
    assert missing.verdict == "error" and "is not on the manifold" in missing.message


def limited(x, d):
    assert abs(d[0] - 0.0) < 0.5, "too far"
    return circle(x, d)


def test_a_retraction_may_be_undefined_far_from_its_point():
    report = check(lambda x: x[0], lambda x: np.array([-x[1]]), {"x": np.array([0.6, 0.8])}, {"x": limited})
    assert report.verdict == "pass", report


def test_a_claim_by_the_entries_fails():
    report = check(turn, lambda R: np.kron(np.eye(3), P[None]), {"R": R0}, {"R": "SO3"})
    assert (report.verdict, report.rule) == ("fail", "shape")
    assert "it is with respect to the entries of the array; with respect to the tangent, its" in report.message


ERRORS = [
    ({"R": 1.1 * R0}, {"R": "SO3"}, {}, "'R' is not a rotation"),
    ({"R": R0}, {"Q": "SO3"}, {}, "no input 'Q'"),
    ({"R": R0}, {"R": "SO4"}, {}, "unknown manifold"),
    ({"R": R0}, {"R": "SO3"}, {"order": 2}, "order must be 1"),
    ({"R": R0}, {"R": "SO3"}, {"search": 10}, "search cannot be combined with on"),
    ({"R": R0}, {"out": "SO3"}, {}, "'out' has shape (3,)"),
]


@pytest.mark.parametrize(("at", "on", "options", "message"), ERRORS)
def test_bad_input_is_one_clear_error(at, on, options, message):
    report = check(turn, lambda R: -R @ hat(P), at, on, **options)
    assert report.verdict == "error" and message in report.message, report


def test_arguments_that_a_gradient_changes_are_noticed():
    def careless(R):
        J = -R @ hat(P)
        R[:] = 0
        return J

    assert check(turn, careless, {"R": R0}, {"R": "SO3"}).rule == "writes-into"


def test_a_lock_keeps_the_point_itself(tmp_path):
    (tmp_path / "poses.py").write_text(
        "import gradcli\n"
        "def f(T): return T[:3, 3]\n"
        "def g(T): return [[*row[:3], 0, 0, 0] for row in T[:3]]\n"
        "T = [[0, -1, 0, 1], [0.6, 0, -0.8, 2], [0.8, 0, 0.6, 3], [0, 0, 0, 1]]\n"
        'gradcli.check(f, grad=g, at={"T": T}, on={"T": "SE3"})\n'
    )
    assert command("lock", "poses.py", "-o", "a.lock", cwd=tmp_path).returncode == 0
    assert command("lock", "--verify", "a.lock", cwd=tmp_path).returncode == 0
