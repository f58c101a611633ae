"""Rotations as matrices and as quaternions: products, exponential and logarithm, in any number of digits.

All functions take batches: leading axes are the same for all arguments. A vector w is an axis times an angle.
"""

from __future__ import annotations

import math

import numpy as np

TAYLOR_TERMS = 10  # of a Taylor series for angles below 1: 1 / 21! is below the rounding of any type
SERIES = 60  # of an exponential series of matrices: moves are at most a few times their usual size

INVERSE_FACTORIALS = np.array([1 / np.longdouble(math.factorial(n)) for n in range(2 * TAYLOR_TERMS + 3)])


def hat(w: np.ndarray) -> np.ndarray:
    """Return the skew-symmetric matrix of the cross product with w."""
    x, y, z = w[..., 0], w[..., 1], w[..., 2]
    zero = np.zeros_like(x)
    rows = [np.stack(row, -1) for row in ((zero, -z, y), (z, zero, -x), (-y, x, zero))]
    return np.stack(rows, -2)


def squared_norm(w: np.ndarray) -> np.ndarray:
    return np.sum(w * w, axis=-1)


def coefficients(w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return sin(a)/a, (1 - cos(a))/a^2 and (a - sin(a))/a^3 for the angle a of w, without cancellation."""
    square = squared_norm(w)
    small = square < 1
    near = [taylor(np.where(small, square, 0), first) for first in (1, 2, 3)]
    if small.all():
        return near[0], near[1], near[2]
    angle = np.sqrt(np.where(small, 1, square))
    sine, cosine = np.sin(angle), np.cos(angle)
    far = (sine / angle, (1 - cosine) / angle**2, (angle - sine) / angle**3)
    first, second, third = (np.where(small, a, b) for a, b in zip(near, far, strict=True))
    return first, second, third


def taylor(square: np.ndarray, first: int) -> np.ndarray:
    """Return the sum over k of (-square)^k / (2 k + first)!, for squares below 1."""
    factors = INVERSE_FACTORIALS[first : first + 2 * TAYLOR_TERMS : 2].astype(square.dtype)
    total, minus = factors[-1], -square
    for factor in factors[-2::-1]:
        total = total * minus + factor
    return total


def exp_matrix(w: np.ndarray) -> np.ndarray:
    a, b, _ = (c[..., None, None] for c in coefficients(w))
    W = hat(w)
    return np.eye(3, dtype=w.dtype) + a * W + b * (W @ W)


def translation_factor(w: np.ndarray) -> np.ndarray:
    """Return V(w): the exponential of (v, w) moves by V(w) v. It is also the left Jacobian of rotations."""
    _, b, c = (c[..., None, None] for c in coefficients(w))
    W = hat(w)
    return np.eye(3, dtype=w.dtype) + b * W + c * (W @ W)


def multiply_quaternions(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the product of quaternions w, x, y, z."""
    real = a[..., :1] * b[..., :1] - np.sum(a[..., 1:] * b[..., 1:], axis=-1, keepdims=True)
    imaginary = a[..., :1] * b[..., 1:] + b[..., :1] * a[..., 1:] + np.cross(a[..., 1:], b[..., 1:])
    return np.concatenate([real, imaginary], axis=-1)


def conjugate_quaternion(q: np.ndarray) -> np.ndarray:
    return np.concatenate([q[..., :1], -q[..., 1:]], axis=-1)


def exp_quaternion(w: np.ndarray) -> np.ndarray:
    """Return the quaternion w, x, y, z of a rotation by w."""
    half = w / 2
    sine, _, _ = coefficients(half)
    return np.concatenate([np.cos(np.sqrt(squared_norm(half)))[..., None], sine[..., None] * half], axis=-1)


def log_quaternion(q: np.ndarray) -> np.ndarray:
    """Return the axis times the angle, from 0 to pi."""
    q = np.where(q[..., :1] < 0, -q, q)
    sine = np.sqrt(squared_norm(q[..., 1:]))
    angle = 2 * np.arctan2(sine, q[..., 0])
    factor = np.where(sine > 0, angle / np.where(sine > 0, sine, 1), 2)
    return factor[..., None] * q[..., 1:]


def matrix_of(q: np.ndarray) -> np.ndarray:
    """Return the rotation matrix of a unit quaternion w, x, y, z."""
    V = hat(q[..., 1:])
    w = q[..., :1, None]
    return np.eye(3, dtype=q.dtype) + 2 * w * V + 2 * (V @ V)


def quaternion_of(R: np.ndarray) -> np.ndarray:
    """Return a unit quaternion w, x, y, z of a rotation matrix, by its largest component (Shepperd, 1978)."""
    trace = np.trace(R, axis1=-2, axis2=-1)
    diagonal = np.diagonal(R, axis1=-2, axis2=-1)
    squares = np.concatenate([trace[..., None], 2 * diagonal - trace[..., None]], axis=-1) + 1  # 4 times each square
    best = np.argmax(squares, axis=-1)
    candidates = []
    for k in range(4):
        parts = [squares[..., k]] * 4
        for j in range(4):
            if j != k:
                parts[j] = component_product(R, min(j, k), max(j, k))
        candidates.append(np.stack(parts, -1))
    every = np.stack(candidates, -2)
    chosen = np.take_along_axis(every, best[..., None, None], axis=-2)[..., 0, :]
    return chosen / np.sqrt(squared_norm(chosen))[..., None]


def component_product(R: np.ndarray, j: int, k: int) -> np.ndarray:
    """Return 4 times the product of components j < k of the quaternion of R."""
    if j == 0:
        a, b = [(2, 1), (0, 2), (1, 0)][k - 1]
        return R[..., a, b] - R[..., b, a]
    return R[..., j - 1, k - 1] + R[..., k - 1, j - 1]


def left_jacobian(ad: np.ndarray) -> np.ndarray:
    """Return the sum of ad^k / (k + 1)!: the left Jacobian of a Lie group, from the matrix ad of a move."""
    total = term = np.broadcast_to(np.eye(ad.shape[-1], dtype=ad.dtype), ad.shape)
    for k in range(1, SERIES):
        term = term @ ad / (k + 1)
        total = total + term
    return total


def nearest_rotation(M: np.ndarray) -> np.ndarray:
    """Return the rotation that is closest to a matrix."""
    u, _, vt = np.linalg.svd(M.astype(float))
    sign = np.linalg.det(u @ vt)
    u = np.concatenate([u[..., :2], u[..., 2:] * sign[..., None, None]], axis=-1)
    return u @ vt
