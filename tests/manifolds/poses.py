"""Rotations and poses by SciPy, for tests to compare with."""

import numpy as np
from scipy.linalg import expm
from scipy.spatial.transform import Rotation


def hat(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def exp3(w):
    return Rotation.from_rotvec(np.asarray(w, float)).as_matrix()


def log3(R):
    return Rotation.from_matrix(R).as_rotvec()


def exp6(u):
    """Return the pose of a translation and a rotation."""
    A = np.zeros((4, 4))
    A[:3, :3], A[:3, 3] = hat(u[3:]), u[:3]
    return expm(A)


def pose(R, t):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, t
    return T


def adjoint(T):
    R, t = T[:3, :3], T[:3, 3]
    return np.block([[R, hat(t) @ R], [np.zeros((3, 3)), R]])


def right_jacobian(w):
    """Return J for which log(exp(w) exp(J d)) is w + d, to first order: the upper right block of an exponential."""
    W = -hat(np.asarray(w, float))
    return expm(np.block([[W, np.eye(3)], [np.zeros((3, 6))]]))[:3, 3:]


def rotate(q, p):
    """Return p rotated by a unit quaternion w, x, y, z."""
    return p + 2 * q[0] * np.cross(q[1:], p) + 2 * np.cross(q[1:], np.cross(q[1:], p))


def rotation_of(q):
    return np.column_stack([rotate(q, e) for e in np.eye(3)])
