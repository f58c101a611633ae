"""Rotations, cameras and robots."""

import numpy as np


def rot(t):
    return np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]])


def hat(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


class rotation_angle_sign:
    at = {"t": 0.7, "p": (2,)}
    wrt = ["t"]
    says = "the sign is wrong"

    def f(t, p):
        return rot(t) @ p

    def grad(t, p):
        return np.array([np.sin(t) * p[0] + np.cos(t) * p[1], -np.cos(t) * p[0] + np.sin(t) * p[1]])

    def right(t, p):
        return np.array([-np.sin(t) * p[0] - np.cos(t) * p[1], np.cos(t) * p[0] - np.sin(t) * p[1]])


class rotation_transposed:
    """The points' gradient uses R, not its transpose."""

    at = {"t": 0.7, "p": (2,)}
    wrt = ["p"]
    says = "transpose"

    def f(t, p):
        return rot(t) @ p

    def vjp(g, t, p):
        return rot(t) @ g

    def right(g, t, p):
        return rot(t).T @ g


class rotation_of_many_points:
    at = {"t": 0.7, "p": (5, 2)}
    wrt = ["p"]
    says = "transpose"

    def f(t, p):
        return p @ rot(t).T

    def vjp(g, t, p):
        return g @ rot(t).T

    def right(g, t, p):
        return g @ rot(t)


class rotation_one_row:
    """One row of a matrix of derivatives is wrong."""

    at = {"t": 0.4}
    says = ("out[1", "in out[1")

    def f(t):
        return rot(t)

    def grad(t):
        return np.array([[-np.sin(t), -np.cos(t)], [-np.cos(t), np.sin(t)]])

    def right(t):
        return np.array([[-np.sin(t), -np.cos(t)], [np.cos(t), -np.sin(t)]])


class cross_product_sign:
    at = {"a": (3,), "b": (3,)}
    wrt = ["a"]
    says = ("the sign is wrong", "transpose")

    def f(a, b):
        return np.cross(a, b)

    def grad(a, b):
        return hat(b)

    def right(a, b):
        return -hat(b)


class cross_product_swapped:
    at = {"a": (3,), "b": (3,)}
    says = ("swapped", "given the gradient", "sign")

    def f(a, b):
        return np.cross(a, b)

    def grad(a, b):
        return hat(a), -hat(b)

    def right(a, b):
        return -hat(b), hat(a)


class projection_depth:
    """The derivative by the depth lacks a power of it."""

    at = {"p": [0.4, -0.3, 2.0]}
    says = "[2]"

    def f(p):
        return p[:2] / p[2]

    def grad(p):
        x, y, z = p
        return np.array([[1 / z, 0, -x / z], [0, 1 / z, -y / z]])

    def right(p):
        x, y, z = p
        return np.array([[1 / z, 0, -x / z**2], [0, 1 / z, -y / z**2]])


class projection_without_focal:
    at = {"p": [0.4, -0.3, 2.0]}
    says = ("500", "factor")

    def f(p):
        x, y, z = p
        return 500 * np.array([x, y]) / z

    def grad(p):
        x, y, z = p
        return np.array([[1 / z, 0, -x / z**2], [0, 1 / z, -y / z**2]])

    def right(p):
        x, y, z = p
        return 500 * np.array([[1 / z, 0, -x / z**2], [0, 1 / z, -y / z**2]])


class distortion_without_radius:
    """The radius is treated as a constant."""

    at = {"p": (2,)}
    says = ("of 4", "is missing", "is missing")

    def f(p):
        return p * (1 + 0.2 * (p @ p))

    def vjp(g, p):
        return g * (1 + 0.2 * (p @ p))

    def right(g, p):
        return g * (1 + 0.2 * (p @ p)) + 0.4 * p * (p @ g)


class two_link_arm:
    """The first joint moves the second link, too."""

    at = {"q": [0.4, 0.9]}
    says = ("[0]", "of 4")

    def f(q):
        return np.array([np.cos(q[0]) + 0.8 * np.cos(q[0] + q[1]), np.sin(q[0]) + 0.8 * np.sin(q[0] + q[1])])

    def grad(q):
        a, b = q[0], q[0] + q[1]
        return np.array([[-np.sin(a), -0.8 * np.sin(b)], [np.cos(a), 0.8 * np.cos(b)]])

    def right(q):
        a, b = q[0], q[0] + q[1]
        return np.array(
            [[-np.sin(a) - 0.8 * np.sin(b), -0.8 * np.sin(b)], [np.cos(a) + 0.8 * np.cos(b), 0.8 * np.cos(b)]]
        )


class quaternion_order:
    """The elements are in the order x, y, z, w."""

    at = {"q": (4,)}
    says = ("+", "i+1", "order", "permuted")

    def f(q):
        w, x, y, z = q
        return w * x + 2 * y * z + w**2

    def grad(q):
        w, x, y, z = q
        return np.array([w, 2 * z, 2 * y, x + 2 * w])

    def right(q):
        w, x, y, z = q
        return np.array([x + 2 * w, w, 2 * z, 2 * y])


class unit_quaternion_not_projected:
    at = {"q": (4,)}
    says = "the path through the norm"

    def f(q):
        return q / np.sqrt(q @ q)

    def vjp(g, q):
        return g / np.sqrt(q @ q)

    def right(g, q):
        n = np.sqrt(q @ q)
        return g / n - q * (q @ g) / n**3


class screw_blocks_exchanged:
    """Rotation and translation columns of a 3 by 6 Jacobian are exchanged."""

    at = {"xi": (6,), "p": np.array([0.3, -0.5, 0.8])}
    wrt = ["xi"]
    says = ("exchanged", "order", "columns", "permuted", "elements")

    def f(xi, p):
        return p + xi[:3] + np.cross(xi[3:], p)

    def grad(xi, p):
        return np.concatenate([-hat(p), np.eye(3)], 1)

    def right(xi, p):
        return np.concatenate([np.eye(3), -hat(p)], 1)


class polar_missing_radius:
    at = {"c": [1.7, 0.6]}
    says = ("c[1]", "a factor c")

    def f(c):
        return np.array([c[0] * np.cos(c[1]), c[0] * np.sin(c[1])])

    def grad(c):
        r, t = c
        return np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]])

    def right(c):
        r, t = c
        return np.array([[np.cos(t), -r * np.sin(t)], [np.sin(t), r * np.cos(t)]])


class bearing_exchanged:
    """The derivatives of atan2 are exchanged."""

    at = {"y": 0.6, "x": 1.3}
    says = ("y", "x")

    def f(y, x):
        return np.arctan2(y, x)

    def grad(y, x):
        r = x**2 + y**2
        return -y / r, x / r

    def right(y, x):
        r = x**2 + y**2
        return x / r, -y / r


class arctan2_denominator:
    at = {"y": 0.6, "x": 1.3}
    says = ("the sign is wrong", "x: ")

    def f(y, x):
        return np.arctan2(y, x)

    def grad(y, x):
        r = x**2 + y**2
        return x / r, y / r

    def right(y, x):
        r = x**2 + y**2
        return x / r, -y / r


class jvp_of_rotation:
    at = {"t": 0.7, "p": (2,)}
    says = ("t: ", "sign", "p: right")

    def f(t, p):
        return rot(t) @ p

    def jvp(tangents, t, p):
        dt, dp = tangents
        return rot(t) @ dp - dt * np.array([[-np.sin(t), -np.cos(t)], [np.cos(t), -np.sin(t)]]) @ p

    def right(tangents, t, p):
        dt, dp = tangents
        return rot(t) @ dp + dt * np.array([[-np.sin(t), -np.cos(t)], [np.cos(t), -np.sin(t)]]) @ p
