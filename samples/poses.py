"""Residuals on poses, with their Jacobians for right perturbations T exp(d), d = (translation, rotation).

    gradcli gradcheck samples/poses.py
    gradcli gradcheck samples/poses.py:camera --grad camera_jacobian --on pose=SE3 --shape pose=4,4 --shape point=3

`position_in_gtsam` is the same residual as `position`, with the rotation first.
"""

import numpy as np

import gradcli


def hat(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def pose_of(axis, angle, translation):
    W = hat(np.asarray(axis) / np.linalg.norm(axis))
    T = np.eye(4)
    T[:3, :3] += np.sin(angle) * W + (1 - np.cos(angle)) * W @ W
    T[:3, 3] = translation
    return T


def adjoint(T):
    R, t = T[:3, :3], T[:3, 3]
    return np.block([[R, hat(t) @ R], [np.zeros((3, 3)), R]])


FIRST = pose_of([1, 2, 2], 0.7, [0.5, -0.2, 0.3])
SECOND = pose_of([-1, 1, 3], 1.1, [1.0, 0.4, -0.6])
FOCAL, MEASURED = 500.0, np.array([1.0, 2.0, 3.0])


def camera(pose, point):
    """Return where a camera sees a point; the pose maps points of the world into its frame."""
    x, y, z = pose[:3, :3] @ point + pose[:3, 3]
    return FOCAL * np.array([x, y]) / z


def camera_jacobian(pose, point):
    R = pose[:3, :3]
    x, y, z = R @ point + pose[:3, 3]
    by_place = FOCAL * np.array([[1 / z, 0, -x / z**2], [0, 1 / z, -y / z**2]])
    return by_place @ np.hstack([R, -R @ hat(point)]), by_place @ R


gradcli.check(camera, grad=camera_jacobian, at={"pose": FIRST, "point": np.array([0.3, -0.4, 5.0])}, on={"pose": "SE3"})


def position(pose):
    """Return how far a pose is from a measured position."""
    return pose[:3, 3] - MEASURED


def position_jacobian(pose):
    return np.hstack([pose[:3, :3], np.zeros((3, 3))])


gradcli.check(position, grad=position_jacobian, at={"pose": FIRST}, on={"pose": "SE3"})


def position_jacobian_in_gtsam(pose):
    return np.hstack([np.zeros((3, 3)), pose[:3, :3]])


gradcli.check(
    position,
    grad=position_jacobian_in_gtsam,
    at={"pose": FIRST},
    on={"pose": "SE3:rotation-first"},
    name="position_in_gtsam",
)


def between(X, Y):
    """Return the motion that leads from X to Y."""
    return np.linalg.inv(X) @ Y


def between_jacobians(X, Y):
    return -adjoint(np.linalg.inv(Y) @ X), np.eye(6)


gradcli.check(between, grad=between_jacobians, at={"X": FIRST, "Y": SECOND}, on={"X": "SE3", "Y": "SE3", "out": "SE3"})
