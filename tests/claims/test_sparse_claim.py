"""Sparse Jacobians are checked by products, whatever their size."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix, diags, hstack

import gradcli
from tests.manifolds.poses import exp3, hat, pose

N = 3000
X, Y = np.linspace(1, 2, N), np.linspace(-1, 1, N)


def f(x, y):
    return x**2 * np.roll(y, 1)


def jacobians(x, y):
    return diags(2 * x * np.roll(y, 1)).tocsr(), csr_matrix(
        (x**2, (np.arange(N), np.roll(np.arange(N), 1))), shape=(N, N)
    )


def joined(x, y):
    return hstack(jacobians(x, y)).tocsr()


def test_sparse_jacobians_of_two_inputs_pass():
    for grad in (jacobians, joined):
        report = gradcli.check_gradient(f, grad, {"x": X, "y": Y})
        assert report.verdict == "pass", report
        assert report.evidence.elements == 2 * N * N


def test_one_wrong_element_among_millions_is_found():
    def wrong(x, y):
        A, B = jacobians(x, y)
        A.data[777] *= 1.5
        return A, B

    report = gradcli.check_gradient(f, wrong, {"x": X, "y": Y})
    assert report.verdict == "fail"
    assert report.inputs[0].worst.place == (777,) and report.inputs[0].worst.output[0] == 777


@pytest.mark.parametrize("grad", [lambda x, y: jacobians(x, y)[0], lambda x, y: joined(x, y)[:-1]])
def test_a_wrong_shape_fails(grad):
    report = gradcli.check_gradient(f, grad, {"x": X, "y": Y})
    assert (report.verdict, report.rule) == ("fail", "shape")
    assert f"it must have shape ({N}, {2 * N})" in report.message


CAMERAS, POINTS = 40, 700


def bundle(seed=0):
    """Return a bundle adjustment: poses, points, residuals, and their sparse Jacobians for right perturbations."""
    rng = np.random.default_rng(seed)
    poses = np.array([pose(exp3(rng.standard_normal(3)), 5 * rng.standard_normal(3)) for _ in range(CAMERAS)])
    points, seen = 3 * rng.standard_normal((POINTS, 3)), np.repeat(np.arange(POINTS), 3)
    camera = rng.integers(CAMERAS, size=len(seen))

    def places(T, P):
        return np.einsum("kij,kj->ki", T[camera, :3, :3], P[seen]) + T[camera, :3, 3]

    def residuals(T, P):
        x = places(T, P)
        return (x[:, :2] / np.sqrt(x[:, 2:] ** 2 + 4)).ravel()

    def blocks(T, P, on_left):
        x = places(T, P)
        z = np.sqrt(x[:, 2] ** 2 + 4)
        by_place = np.zeros((len(seen), 2, 3))
        by_place[:, 0, 0] = by_place[:, 1, 1] = 1 / z
        by_place[:, :, 2] = -x[:, :2] * (x[:, 2] / z**3)[:, None]
        R = T[camera, :3, :3]
        arms = np.array([hat(v) for v in (x if on_left else P[seen])])
        moved = np.concatenate([np.broadcast_to(np.eye(3), R.shape), -arms] if on_left else [R, -R @ arms], axis=-1)
        return by_place @ moved, by_place @ R

    def sparse(block, of, size):
        width = block.shape[2]
        rows = np.broadcast_to(np.arange(2 * len(seen)).reshape(-1, 2, 1), block.shape)
        columns = np.broadcast_to((width * of[:, None] + np.arange(width))[:, None], block.shape)
        return csr_matrix((block.ravel(), (rows.ravel(), columns.ravel())), shape=(2 * len(seen), width * size))

    def jacobians(T, P, on_left=False):
        by_pose, by_point = blocks(T, P, on_left)
        return sparse(by_pose, camera, CAMERAS), sparse(by_point, seen, POINTS)

    return {"T": poses, "P": points}, residuals, jacobians


def test_a_bundle_adjustment_with_sparse_jacobians():
    at, residuals, jacobians = bundle()
    report = gradcli.check_gradient(residuals, jacobians, at, on={"T": "SE3"})
    assert report.verdict == "pass", report
    assert report.evidence.elements == 6 * POINTS * (6 * CAMERAS + 3 * POINTS)
    left = gradcli.check_gradient(residuals, lambda T, P: jacobians(T, P, True), at, on={"T": "SE3"})
    assert (left.verdict, left.rule) == ("fail", "perturbation"), left
