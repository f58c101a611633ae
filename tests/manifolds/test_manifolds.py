"""Moves on manifolds: they stay on it, follow their convention, and have the derivatives that pull and push say."""

import numpy as np
import pytest

from gradcli.errors import GradcliError
from gradcli.manifolds.custom import Custom
from gradcli.manifolds.named import as_manifold, manifolds_of
from gradcli.manifolds.rotations import log_quaternion, quaternion_of

from .poses import adjoint, exp3, exp6, pose, rotate, rotation_of

GROUPS = [
    ("SO3", (3, 3)),
    ("SO3:left", (5, 3, 3)),
    ("quaternion", (4,)),
    ("quaternion:left:xyzw:half-angle", (3, 4)),
    ("SE3", (4, 4)),
    ("SE3:left", (3, 4)),
    ("SE3:split", (2, 4, 4)),
    ("SE3:split-left:rotation-first", (4, 4)),
    ("SE3:left:rotation-first", (4, 4)),
    ("SE3:xyzw", (7,)),
    ("SE3:left:quaternion-first", (2, 7)),
    ("SE3:split", (7,)),
]
METRICS = [
    ("unit", (5, 3)),
    ("sphere", (4, 2)),
    ("stiefel", (5, 2)),
    ("stiefel:canonical", (5, 2)),
    ("spd", (3, 3)),
    ("spd:euclidean", (2, 3, 3)),
]
STEP = 1e-5


def drawn(text, shape):
    """Return a manifold, a point, a move, and the point that it leads to."""
    rng, manifold = np.random.default_rng(len(text)), as_manifold(text)
    x = manifold.nearest(rng.standard_normal(shape))
    d = 0.4 * rng.standard_normal(manifold.tangent_shape(x))
    return manifold, x, d, manifold.retract(x, d)


@pytest.mark.parametrize(("text", "shape"), GROUPS + METRICS)
def test_moves_stay_on_the_manifold_and_begin_at_the_point(text, shape):
    manifold, x, d, y = drawn(text, shape)
    manifold.refuse(x, "x")
    manifold.refuse(y, "y")
    assert np.allclose(manifold.retract(x, 0 * d), x, atol=1e-14)
    wide = manifold.retract(x.astype(np.longdouble), d.astype(np.longdouble))
    assert wide.dtype == np.longdouble
    assert np.allclose(wide.astype(float), y, atol=1e-13)


@pytest.mark.parametrize(("text", "shape"), GROUPS + METRICS)
def test_push_is_the_change_of_the_point_and_pull_its_adjoint(text, shape):
    manifold, x, d, y = drawn(text, shape)
    rng = np.random.default_rng(0)
    change, rows = rng.standard_normal(d.shape), rng.standard_normal((2, *d.shape))
    numeric = (manifold.retract(x, d + STEP * change) - manifold.retract(x, d - STEP * change)) / (2 * STEP)
    pushed = manifold.push(x, d, change)
    entries = pushed if manifold.is_riemannian else manifold.entries(y, pushed)
    assert np.allclose(entries, numeric, atol=1e-7 * max(1, np.abs(numeric).max()))
    if manifold.is_riemannian:
        rows = manifold.project(y, rows)
    lowered = manifold.lowered(y, rows) if manifold.is_riemannian else rows
    left = (manifold.pull(x, d, rows) * change).reshape((2, -1)).sum(axis=1)
    assert np.allclose(left, (lowered * pushed).reshape((2, -1)).sum(axis=1), rtol=1e-9)


@pytest.mark.parametrize(("text", "shape"), GROUPS)
def test_local_is_the_inverse_of_retract(text, shape):
    manifold, x, d, y = drawn(text, shape)
    assert np.allclose(manifold.local(x, y), d, atol=1e-12)


@pytest.mark.parametrize(("text", "shape"), GROUPS)
def test_conventions_are_maps_between_the_jacobians_of_retractions(text, shape):
    """The change of the entries by another convention's moves is that by the declared ones, times its matrix."""
    manifold, x, _, _ = drawn(text, shape)
    batch = len(manifold.batch(x))
    for other, convention in zip(manifold.others(), manifold.conventions(x), strict=False):
        for k, unit in enumerate(np.eye(manifold.dimension)):
            theirs = other.entries(x, np.broadcast_to(unit, manifold.tangent_shape(x)))
            ours = manifold.entries(x, convention.columns[..., k])
            assert np.allclose(theirs, ours, atol=1e-12), (other, batch)


def test_retractions_are_those_of_the_matrix_exponential():
    rng = np.random.default_rng(3)
    d, R, t = rng.standard_normal(6), exp3(rng.standard_normal(3)), rng.standard_normal(3)
    T = pose(R, t)
    v, w = d[:3], d[3:]
    for text, expected in {
        "SE3": T @ exp6(d),
        "SE3:left": exp6(d) @ T,
        "SE3:split": pose(R @ exp3(w), t + v),
        "SE3:split-left": pose(exp3(w) @ R, t + v),
    }.items():
        assert np.allclose(as_manifold(text).retract(T, d), expected), text
        swapped = as_manifold(f"{text}:rotation-first").retract(T, np.concatenate([w, v]))
        assert np.allclose(swapped, expected), text
    assert np.allclose(as_manifold("SO3").retract(R, w), R @ exp3(w))
    assert np.allclose(as_manifold("SO3:left").retract(R, w), exp3(w) @ R)
    assert np.allclose(as_manifold("SE3").adjoint(T), adjoint(T))


def test_quaternions_rotate_like_matrices():
    rng = np.random.default_rng(4)
    q, w, p = rng.standard_normal(4), rng.standard_normal(3), rng.standard_normal(3)
    q /= np.linalg.norm(q)
    assert np.allclose(rotate(as_manifold("quaternion").retract(q, w), p), rotation_of(q) @ exp3(w) @ p)
    assert np.allclose(rotate(as_manifold("quaternion:left").retract(q, w), p), exp3(w) @ rotation_of(q) @ p)
    half = as_manifold("quaternion:half-angle").retract(q, w / 2)
    assert np.allclose(half, as_manifold("quaternion").retract(q, w))
    swapped = as_manifold("quaternion:xyzw").retract(q[[1, 2, 3, 0]], w)
    assert np.allclose(swapped[[3, 0, 1, 2]], as_manifold("quaternion").retract(q, w))


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-4, 1.0, 3.1, np.pi - 1e-7, np.pi])
def test_logarithms_are_right_at_all_angles(angle):
    for axis in (np.array([1.0, 2, -2]) / 3, np.array([0, 0, 1.0]), np.array([-1.0, 0, 0])):
        found = log_quaternion(quaternion_of(exp3(angle * axis)))
        assert np.allclose(exp3(found), exp3(angle * axis), atol=1e-9)
        assert abs(np.linalg.norm(found) - angle) < 1e-7


def test_riemannian_gradients_come_from_euclidean_ones():
    """The rules of Absil, Mahony and Sepulchre, Optimization Algorithms on Matrix Manifolds, 3.6; X G X for spd."""
    rng = np.random.default_rng(5)
    x, X = (
        as_manifold("unit").nearest(rng.standard_normal(4)),
        as_manifold("stiefel").nearest(rng.standard_normal((5, 2))),
    )
    S = as_manifold("spd").nearest(rng.standard_normal((3, 3)))
    g, G, H = rng.standard_normal(4), rng.standard_normal((5, 2)), rng.standard_normal((3, 3))
    H = H + H.T
    assert np.allclose(as_manifold("unit").raised(x, g), g - x * (x @ g))
    assert np.allclose(as_manifold("stiefel").raised(X, G), G - X @ (X.T @ G + G.T @ X) / 2)
    assert np.allclose(as_manifold("stiefel:canonical").raised(X, G), G - X @ G.T @ X)
    assert np.allclose(as_manifold("spd").raised(S, H), S @ H @ S)
    assert np.allclose(as_manifold("spd:euclidean").raised(S, H), H)


def circle(x, d):
    c, s = np.cos(d[0]), np.sin(d[0])
    return np.array([c * x[0] - s * x[1], s * x[0] + c * x[1]])


def test_derivatives_of_a_retraction_of_the_user_are_numeric():
    manifold, x, d = Custom("circle", circle, 1), np.array([0.6, 0.8]), np.array([0.3])
    manifold.refuse(x, "x")
    assert np.allclose(manifold.pull(x, d, np.array([[2.0]])), 2.0, rtol=1e-10)
    assert np.allclose(manifold.by_entries(x, np.array([[1.0, 0.0]])), -0.8, rtol=1e-10)
    scaled = Custom("scaled", lambda x, d: x * (1 + d + d**2), 2)
    assert np.allclose(scaled.push(np.array([1.0, 2.0]), np.array([0.5, 0.0]), np.array([1.0, 1.0])), [2 / 1.75, 1])


OFF = [
    ("SO3", [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]], "is not a rotation: R^T R differs from the identity by 0.1"),
    ("SO3", np.diag([1, 1, -1]), "is a reflection"),
    ("SO3", np.eye(4), "has shape (4, 4)"),
    ("SO3", np.full((3, 3), np.nan), "contains nan"),
    ("SE3", np.diag([1, 1, -1, 1]), "reflection"),
    ("SE3", np.array(pose(np.eye(3), [1, 2, 3])).T, "its last row"),
    ("SE3", [1, 2, 3, 1, 1, 0, 0], "is not a unit quaternion: its norm is 1.41421356"),
    ("SE3:xyzw", np.eye(4), "takes 7 numbers"),
    ("quaternion", [0, 0, 0, 0], "is not a unit quaternion"),
    ("quaternion", [1, 0, 0], "4 numbers"),
    ("unit", [1, 1], "is not a unit vector"),
    ("sphere", [0, 0], "is the zero vector, which is not on any sphere"),
    ("stiefel", [[1, 0], [0, 2]], "X^T X differs from the identity by 3"),
    ("stiefel", [[1, 0]], "at least as many rows"),
    ("spd", [[1, 2], [2, 1]], "smallest eigenvalue is -1"),
    ("spd", [[1, 1], [0, 1]], "not symmetric"),
]


@pytest.mark.parametrize(("text", "x", "message"), OFF)
def test_points_off_the_manifold_are_errors(text, x, message):
    with pytest.raises(GradcliError) as raised:
        as_manifold(text).refuse(np.array(x, float), "x")
    assert message in raised.value.message and raised.value.message.startswith("'x'")


def test_one_bad_point_of_a_batch_is_named():
    with pytest.raises(GradcliError, match=r"'x' \[1\] is not a rotation"):
        as_manifold("SO3").refuse(np.array([np.eye(3), 2 * np.eye(3)]), "x")


def test_the_nearest_rotation_is_given():
    with pytest.raises(GradcliError) as raised:
        as_manifold("SO3").refuse(1.1 * np.eye(3), "R")
    assert raised.value.hint == "the nearest rotation is [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]"


NAMES = [
    ("S03", "did you mean 'SO3'?"),
    ("torus", "the manifolds are SO3"),
    ("SO3:lefft", "did you mean 'left'?"),
    ("unit:left", "unit has only one convention: leave out ':left'"),
    ("SE3:left:split", "leave one of them out"),
]


@pytest.mark.parametrize(("text", "hint"), NAMES)
def test_unknown_names_have_a_hint(text, hint):
    with pytest.raises(GradcliError) as raised:
        as_manifold(text)
    assert hint in raised.value.hint


def test_manifolds_are_named_by_input():
    assert [*manifolds_of(["T=SE3", "R = so3:left"])] == ["T", "R"]
    for words in (["SE3"], ["T="]):
        with pytest.raises(GradcliError, match="not of the form NAME=MANIFOLD"):
            manifolds_of(words)
    with pytest.raises(GradcliError, match="not int"):
        manifolds_of({"T": 3})
