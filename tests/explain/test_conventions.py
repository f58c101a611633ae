"""What is said of claims on manifolds that follow another convention, and that the advice mends them."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.linalg import inv
from scipy.linalg import block_diag, expm, logm

from gradcli import check_gradient
from gradcli.explain import conventions, exponentials
from gradcli.manifolds.groups import SO3
from tests.manifolds.poses import adjoint, exp3, hat, log3, pose, right_jacobian

RNG = np.random.default_rng(5)
P, W = np.array([1.0, -2, 3]), np.array([0.3, -0.5, 0.8])
R0, Z = exp3([0.4, -0.7, 0.2]), exp3([-0.3, 0.9, 0.5])
T0 = pose(R0, [0.5, -1.0, 2.0])
A = RNG.normal(size=(4, 4))
A = A + A.T
PAIR = {"X": R0, "Y": Z}
TURN = np.diag([1.0, 1, 1, -1, -1, -1])
DOUBLE = np.diag([1.0, 1, 1, 2, 2, 2])
SWAP = np.eye(6)[[3, 4, 5, 0, 1, 2]]


def turn(R):
    return R @ P


def by_right(T):
    return np.hstack([T[:3, :3], -T[:3, :3] @ hat(P)])


def by_left(T):
    return np.hstack([np.eye(3), -hat(T[:3, :3] @ P + T[:3, 3])])


def by_split(T):
    return np.hstack([np.eye(3), -T[:3, :3] @ hat(P)])


def blocks(R):
    return np.block([[R, np.zeros((3, 3))], [np.zeros((3, 3)), np.eye(3)]])


def log6(T):
    """Return the translation and the rotation of a pose's logarithm."""
    A = np.real(logm(T))
    return np.array([*A[:3, 3], A[2, 1], A[0, 2], A[1, 0]])


def inverse_right6(u):
    """Return the inverse right Jacobian of SE3, from an integral of exp(-t ad)."""
    ad = np.block([[hat(u[3:]), hat(u[:3])], [np.zeros((3, 3)), hat(u[3:])]])
    return inv(expm(np.block([[-ad, np.eye(6)], [np.zeros((6, 12))]]))[:6, 6:])


ROTATION = (turn, lambda R: -R @ hat(P), R0, {"x": "SO3"})
POSE = (lambda T: T[:3, :3] @ P + T[:3, 3], by_right, T0, {"x": "SE3"})
PRODUCT = (lambda R: R @ Z, lambda R: Z.T, R0, {"x": "SO3", "out": "SO3"})
LEFT_PRODUCT = (lambda R: Z @ R, lambda R: np.eye(3), R0, {"x": "SO3", "out": "SO3"})
LOGARITHM = (log3, lambda R: inv(right_jacobian(log3(R))), R0, {"x": "SO3"})
RESIDUAL = (lambda R: log3(Z.T @ R), lambda R: inv(right_jacobian(log3(Z.T @ R))), R0, {"x": "SO3"})
POSE_RESIDUAL = (log6, lambda T: inverse_right6(log6(T)), T0, {"x": "SE3"})
EXPONENTIAL = (exp3, right_jacobian, W, {"out": "SO3"})

# name: what is differentiated, the wrong claim, kind, words, the claim after what is advised (if it says how)
CLAIMS = {
    "minus another side": (
        ROTATION,
        lambda R: hat(R @ P),
        "perturbation",
        "multiply it on the right by x, and change its sign",
        lambda claim, x: -claim @ x,
    ),
    "a left move": (
        POSE,
        by_left,
        "perturbation",
        "multiply it on the right by Ad(x)",
        lambda claim, x: claim @ adjoint(x),
    ),
    "twice apart": (
        POSE,
        lambda T: 2 * by_split(T),
        "perturbation",
        "multiply it on the right by diag(R, I), and halve it",
        lambda claim, x: claim @ blocks(x[:3, :3]) / 2,
    ),
    "apart, swapped": (
        POSE,
        lambda T: by_split(T) @ SWAP,
        "tangent-order",
        "swap its two blocks of three columns; then multiply it on the right by diag(R, I)",
        lambda claim, x: claim @ SWAP @ blocks(x[:3, :3]),
    ),
    "half angles": (
        POSE,
        lambda T: by_right(T) @ inv(DOUBLE),
        "half-angle",
        "double these columns",
        lambda claim, x: claim @ DOUBLE,
    ),
    "twice the angles": (
        POSE,
        lambda T: by_right(T) @ DOUBLE,
        "half-angle",
        "halve these columns",
        lambda claim, x: claim @ inv(DOUBLE),
    ),
    "half angles on the left": (
        POSE,
        lambda T: by_left(T) @ inv(DOUBLE),
        "half-angle",
        "double these columns; multiply it on the right by Ad(x)",
        lambda claim, x: claim @ DOUBLE @ adjoint(x),
    ),
    "the inverse rotation": (
        POSE,
        lambda T: by_right(T) @ TURN,
        "sign",
        "change the sign of these columns",
        lambda claim, x: claim @ TURN,
    ),
    "transposed": (PRODUCT, lambda R: Z, "transposed", "transpose it", lambda claim, x: claim.T),
    "minus the transpose": (
        PRODUCT,
        lambda R: -Z,
        "transposed",
        "transpose it, and change its sign",
        lambda claim, x: -claim.T,
    ),
    "another frame of the output": (
        LEFT_PRODUCT,
        lambda R: Z @ R,
        "perturbation",
        "left perturbations, exp(d) out",
        lambda claim, x: inv(Z @ x) @ claim,
    ),
    "both in other frames": (
        LEFT_PRODUCT,
        lambda R: Z,
        "perturbation",
        "multiply it on the right by x; multiply it on the left by out^-1",
        lambda claim, x: inv(Z @ x) @ claim @ x,
    ),
    "the identity for a logarithm": (
        LOGARITHM,
        lambda R: np.eye(3),
        "small-angle",
        "of order 0: the identity is used instead of the inverse right Jacobian of the logarithm",
        None,
    ),
    "two terms for a logarithm": (
        LOGARITHM,
        lambda R: np.eye(3) + hat(log3(R)) / 2,
        "small-angle",
        "of order 1: the inverse right Jacobian of the logarithm ends after order 1",
        None,
    ),
    "the Jacobian of a logarithm, not inverted": (
        RESIDUAL,
        lambda R: right_jacobian(log3(Z.T @ R)),
        "jacobian-not-inverted",
        "the right Jacobian of the logarithm instead of its inverse; use the inverse right Jacobian",
        lambda claim, x: inv(claim),
    ),
    "the Jacobian of an exponential, inverted": (
        EXPONENTIAL,
        lambda w: inv(right_jacobian(w)),
        "jacobian-not-inverted",
        "the right Jacobian of the exponential inverted; use the right Jacobian",
        lambda claim, x: inv(claim),
    ),
    "the left Jacobian of a residual": (
        RESIDUAL,
        lambda R: inv(right_jacobian(-log3(Z.T @ R))),
        "perturbation",
        "the inverse left Jacobian of the logarithm instead of the inverse right Jacobian",
        None,
    ),
    "no coupling": (
        POSE_RESIDUAL,
        lambda T: block_diag(*2 * [inv(right_jacobian(log6(T)[3:]))]),
        "coupling-missing",
        "the inverse right Jacobian of the logarithm lacks its block between rotation and translation",
        None,
    ),
    "minus the derivative, which is minus its transpose": (
        (lambda R: R.T @ P, lambda R: hat(R.T @ P), R0, {"x": "SO3"}),
        lambda R: -hat(R.T @ P),
        "sign",
        "the claimed values are minus the derivative",
        lambda claim, x: -claim,
    ),
    "three terms for an exponential": (
        EXPONENTIAL,
        lambda w: np.eye(3) - hat(w) / 2 + hat(w) @ hat(w) / 6,
        "small-angle",
        "of order 2: the right Jacobian of the exponential ends after order 2",
        None,
    ),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_the_convention_is_named_with_advice_that_mends_the_claim(name):
    (f, right, x, on), claim, kind, words, mended = CLAIMS[name]
    (finding,) = check_gradient(f, claim, {"x": x}, on=on).diagnosis
    assert (finding.kind, finding.input) == (kind, "x") or kind == "tangent-order"
    assert words in finding.text and "None" not in finding.text
    if mended is not None:
        np.testing.assert_allclose(mended(claim(x), x), right(x), atol=1e-12)


def test_a_move_in_the_frame_of_another_input():
    """(X exp(a))^T Y exp(b) p is X^T Y p + hat(X^T Y p) a - X^T Y hat(p) b."""

    def grad(X, Y):
        between = X.T @ Y
        return hat(between @ P) @ between, -between @ hat(P)

    (finding,) = check_gradient(lambda X, Y: X.T @ Y @ P, grad, PAIR, on=dict.fromkeys("XY", "SO3")).diagnosis
    assert finding.text.endswith("for moves of X in the frame of Y; multiply it on the right by (X^-1 Y)^-1")


def test_an_adjoint_between_inputs_that_move_on_the_left():
    """exp(a) X (exp(b) Y)^-1 is exp(a - Ad(X Y^-1) b) X Y^-1, and the adjoint of a rotation is the rotation."""

    def grad(X, Y, between=lambda X, Y: X @ Y.T):
        own = -hat(X @ Y.T @ P)
        return own, -own @ between(X, Y)

    f, on = lambda X, Y: X @ Y.T @ P, dict.fromkeys("XY", "SO3:left")
    assert check_gradient(f, grad, PAIR, on=on).verdict == "pass"
    (finding,) = check_gradient(f, lambda X, Y: grad(X, Y, lambda X, Y: Y @ X.T), PAIR, on=on).diagnosis
    assert (finding.kind, finding.input) == ("adjoint-not-inverted", "Y")
    assert finding.text.endswith("invert (Y X^-1)")


@pytest.mark.parametrize(("side", "move"), [("right", R0.T @ Z), ("left", R0 @ Z.T)])
def test_adjoints_between_inputs(side, move):
    """The adjoint of a rotation is the rotation itself."""
    group = SO3("SO3", frozenset({side}))
    points = {"a": R0, "b": Z, "c": np.stack([Z, Z])}
    claim = SimpleNamespace(manifolds=dict.fromkeys(points, group), point=points.__getitem__)
    others, between = conventions.adjoints_of_others(claim, "a", group, R0)
    assert list(others) == list(between) == ["b"]
    np.testing.assert_allclose(others["b"], Z, atol=1e-14)
    np.testing.assert_allclose(between["b"], move, atol=1e-14)


@pytest.mark.parametrize(
    ("first", "kind", "words"),
    [
        (lambda Y: Z.T, "pass", ""),
        (lambda Y: Y, "adjoint-not-inverted", "multiplied by Y instead of its inverse"),
        (lambda Y: np.eye(3), "perturbation", "lacks a factor Y^-1, or has a factor Y that does not belong there"),
    ],
)
def test_the_adjoint_of_the_other_factor_of_a_product(first, kind, words):
    """X exp(a) Y exp(b) is X Y exp(Y^-1 a) exp(b)."""
    f, grad = (lambda X, Y: X @ Y), (lambda X, Y: (first(Y), np.eye(3)))
    report = check_gradient(f, grad, PAIR, on=dict.fromkeys(("X", "Y", "out"), "SO3"))
    assert report.rule == kind
    assert all(words in finding.text for finding in report.diagnosis)


def test_other_inputs_move_when_a_factor_is_confirmed_at_other_points():
    """The derivative of R w^2 by w is 2 R diag(w)."""

    def grad(R, w):
        return -R @ hat(w**2), R @ np.diag(w)

    (finding,) = check_gradient(lambda R, w: R @ w**2, grad, {"R": R0, "w": W}, on={"R": "SO3"}).diagnosis
    assert (finding.kind, finding.text) == ("factor", "w: the claim is half the derivative: a factor of 2 is missing")


def test_a_projection_that_leaves_out_a_part_of_a_gradient_on_stiefel():
    """For f = tr(X' C X N), G = 2 C X N has a part X skew(X' G), since N is not a multiple of the identity."""
    C, N = A @ A, np.diag([3.0, 1])
    X = np.linalg.qr(RNG.normal(size=(4, 2)))[0]

    def gradient(X):
        G = 2 * C @ X @ N
        return G - X @ (X.T @ G + G.T @ X) / 2

    def f(X):
        return np.trace(X.T @ C @ X @ N)

    assert check_gradient(f, gradient, {"X": X}, on={"X": "stiefel"}).verdict == "pass"
    wrong = check_gradient(f, lambda X: gradient(X) - X @ X.T @ gradient(X), {"X": X}, on={"X": "stiefel"})
    assert wrong.rule == "metric" and "lacks the part X skew(X^T G)" in wrong.diagnosis[0].text


@pytest.mark.parametrize("order", [1, 2, 3])
def test_terms_of_jacobians_leave_an_error_of_the_next_order(order):
    """The left Jacobian is the integral of exp(t ad), here by the exponential of a block matrix."""
    errors = []
    for size in (1e-2, 2e-2):
        ad = size * hat(W)
        whole = expm(np.block([[ad, np.eye(3)], [np.zeros((3, 6))]]))[:3, 3:]
        inverse_terms = exponentials.cut(exponentials.INVERSE_TERMS, order, ad)
        errors.append(
            [
                np.abs(exponentials.cut(exponentials.LEFT_JACOBIAN_TERMS, order, ad) - whole).max(),
                np.abs(inverse_terms - inv(whole)).max(),
            ]
        )
    ratios = np.log2(np.array(errors[1]) / errors[0])
    assert ratios[0] == pytest.approx(order + 1, abs=0.1)
    assert ratios[1] == pytest.approx(2 if order == 1 else 4, abs=0.1)  # the third Bernoulli number is 0


Q = np.array([0.5, -0.5, 0.7, 0.1])
Q = Q / np.linalg.norm(Q)


@pytest.mark.parametrize(
    ("f", "grad", "kind", "words"),
    [
        (lambda x: x @ A @ x, lambda x: 2 * A @ x, "not-tangent", "its tangent part is right; subtract x (x . g)"),
        (lambda x: x @ A @ x, lambda x: 3 * A @ x, "not-tangent", "its tangent part is wrong, too; subtract"),
        (
            lambda x: x @ A @ x / (x @ x),
            lambda x: 2 * A @ x,
            "normalisation-missing",
            "the claim does not: subtract x (x . g)",
        ),
    ],
    ids=["normal part", "both", "normalisation"],
)
def test_normal_parts_of_gradients_on_the_sphere(f, grad, kind, words):
    finding = check_gradient(f, grad, {"x": Q}, on={"x": "unit"}).diagnosis[0]
    assert finding.kind == kind and words in finding.text
    g = grad(Q)
    share = abs(Q @ g) / np.linalg.norm(g)
    assert f"a part normal to unit, {share:.2g} of its norm" in finding.text


def test_the_point_of_a_batch_with_the_most_wrong_elements_is_chosen():
    wrong = np.zeros((2, 9), bool)
    wrong[0, 2] = wrong[1, [6, 7]] = True
    block = SimpleNamespace(a=np.zeros((2, 9)), wrong=wrong)
    assert conventions.wrong_columns(block, SO3("SO3"), np.zeros((3, 3, 3))) == slice(6, 9)
    assert conventions.wrong_columns(block, None, None) == slice(0, 9)


@pytest.mark.parametrize(("fix", "inverse"), [("R", "R^-1"), ("R^-1", "R"), ("Ad(T) R^-1", "(Ad(T) R^-1)^-1")])
def test_the_inverse_of_what_to_multiply_by_in_words(fix, inverse):
    assert conventions.inverse_of(fix) == inverse


def left(R):
    """Return the derivative of R p for moves on the left."""
    return -hat(R @ P)


@pytest.mark.parametrize(
    ("claim", "named"),
    [
        (lambda R: left(R0), False),
        (lambda R: left(R) + np.eye(3) * (R == R0).all(), False),
        (lambda R: left(R) if np.abs(R - R0).max() < 1e-3 else 1 / 0, True),
    ],
    ids=["only here", "only elsewhere", "no claim elsewhere"],
)
def test_a_convention_must_explain_the_claim_here_and_elsewhere(claim, named):
    report = check_gradient(turn, claim, {"x": R0}, on={"x": "SO3"})
    assert report.verdict == "fail"
    assert any("left perturbations" in finding.text for finding in report.diagnosis) is named
