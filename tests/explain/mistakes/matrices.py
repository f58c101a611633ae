"""Matrix calculus."""

import numpy as np

E = np.array([[2.0, 0.3, -0.4], [0.1, 1.5, 0.2], [-0.3, 0.6, 1.8]])


class quadratic_form_half:
    """a @ x in place of (a + a.T) @ x."""

    at = {"x": (3,), "a": (3, 3)}
    says = "the claim plus x @ a"

    def f(x, a):
        return x @ a @ x

    def grad(x, a):
        return a @ x, np.outer(x, x)

    def right(x, a):
        return (a + a.T) @ x, np.outer(x, x)


class quadratic_form_symmetric_only:
    at = {"x": (3,), "a": (3, 3)}
    says = "symmetric"

    def f(x, a):
        return x @ a @ x

    def grad(x, a):
        return 2 * a @ x, np.outer(x, x)

    def right(x, a):
        return (a + a.T) @ x, np.outer(x, x)


class bilinear_swapped:
    at = {"x": (3,), "y": (3,), "a": (3, 3)}
    says = ("transpose", "a.T")

    def f(x, y, a):
        return x @ a @ y

    def grad(x, y, a):
        return a @ y, a @ x, np.outer(x, y)

    def right(x, y, a):
        return a @ y, a.T @ x, np.outer(x, y)


class outer_transposed:
    at = {"x": (3,), "y": (3,), "a": (3, 3)}
    wrt = ["a"]
    says = "transpose"

    def f(x, y, a):
        return x @ a @ y

    def grad(x, y, a):
        return np.outer(y, x)

    def right(x, y, a):
        return np.outer(x, y)


class logdet_not_transposed:
    at = {"a": E}
    says = "transpose"

    def f(a):
        return np.log(np.linalg.det(a))

    def grad(a):
        return np.linalg.inv(a)

    def right(a):
        return np.linalg.inv(a).T


class logdet_with_det:
    """The gradient of det, not of log det."""

    at = {"a": E}
    says = ("exp", "too large", "factor")

    def f(a):
        return np.log(np.linalg.det(a))

    def grad(a):
        return np.linalg.det(a) * np.linalg.inv(a).T

    def right(a):
        return np.linalg.inv(a).T


class det_without_det:
    at = {"a": E}
    says = ("the value", "the output")

    def f(a):
        return np.linalg.det(a)

    def grad(a):
        return np.linalg.inv(a).T

    def right(a):
        return np.linalg.det(a) * np.linalg.inv(a).T


class inverse_without_minus:
    at = {"a": E}
    says = "the sign is wrong"

    def f(a):
        return np.linalg.inv(a)

    def vjp(g, a):
        b = np.linalg.inv(a)
        return b.T @ g @ b.T

    def right(g, a):
        b = np.linalg.inv(a)
        return -b.T @ g @ b.T


class inverse_not_transposed:
    at = {"a": E}
    says = "transpose"

    def f(a):
        return np.linalg.inv(a)

    def vjp(g, a):
        b = np.linalg.inv(a)
        return -b @ g @ b

    def right(g, a):
        b = np.linalg.inv(a)
        return -b.T @ g @ b.T


class solve_without_transpose:
    at = {"a": E, "b": (3,)}
    says = ("transpose", "a.T")

    def f(a, b):
        return np.linalg.solve(a, b)

    def vjp(g, a, b):
        d = np.linalg.solve(a, g)
        return -np.outer(d, np.linalg.solve(a, b)), d

    def right(g, a, b):
        d = np.linalg.solve(a.T, g)
        return -np.outer(d, np.linalg.solve(a, b)), d


class solve_sign:
    at = {"a": E, "b": (3,)}
    says = ("the sign is wrong", "b: right")

    def f(a, b):
        return np.linalg.solve(a, b)

    def vjp(g, a, b):
        d = np.linalg.solve(a.T, g)
        return np.outer(d, np.linalg.solve(a, b)), d

    def right(g, a, b):
        d = np.linalg.solve(a.T, g)
        return -np.outer(d, np.linalg.solve(a, b)), d


class trace_of_product:
    at = {"a": (3, 3), "b": (3, 3)}
    says = "transpose"

    def f(a, b):
        return np.trace(a @ b)

    def grad(a, b):
        return b, a

    def right(a, b):
        return b.T, a.T


class frobenius_without_two:
    at = {"a": (3, 4)}
    says = "half the derivative"

    def f(a):
        return np.sum(a**2)

    def grad(a):
        return a

    def right(a):
        return 2 * a


class gram_one_side:
    """a @ g in place of a @ (g + g.T)."""

    at = {"a": (4, 3)}
    says = ("transpose", "of 108")

    def f(a):
        return a.T @ a

    def vjp(g, a):
        return a @ g

    def right(g, a):
        return a @ (g + g.T)


class gram_twice:
    """2 a @ g, right only for symmetric g."""

    at = {"a": (4, 3)}
    says = ("transpose", "symmetric", "of 108")

    def f(a):
        return a.T @ a

    def vjp(g, a):
        return 2 * a @ g

    def right(g, a):
        return a @ (g + g.T)


class matmul_left_factor:
    at = {"a": (3, 3), "b": (3, 3)}
    says = ("transpose", "a: ")

    def f(a, b):
        return a @ b

    def vjp(g, a, b):
        return b.T @ g, a.T @ g

    def right(g, a, b):
        return g @ b.T, a.T @ g


class matmul_exchanged:
    at = {"a": (3, 3), "b": (3, 3)}
    says = ("transpose", "swapped")

    def f(a, b):
        return a @ b

    def vjp(g, a, b):
        return a.T @ g, g @ b.T

    def right(g, a, b):
        return g @ b.T, a.T @ g


class frobenius_norm_not_divided:
    at = {"a": (3, 4)}
    says = ("norm(a)", "the value")

    def f(a):
        return np.linalg.norm(a)

    def grad(a):
        return a

    def right(a):
        return a / np.linalg.norm(a)


class norm_squared_denominator:
    at = {"x": (5,)}
    says = ("norm(x) is missing", "the value")

    def f(x):
        return np.linalg.norm(x)

    def grad(x):
        return x / (x @ x)

    def right(x):
        return x / np.linalg.norm(x)


class normalize_without_projection:
    at = {"x": (4,)}
    says = "the path through the norm"

    def f(x):
        return x / np.linalg.norm(x)

    def vjp(g, x):
        return g / np.linalg.norm(x)

    def right(g, x):
        n = np.linalg.norm(x)
        return g / n - x * (x @ g) / n**3


class rayleigh_without_quotient:
    at = {"x": (4,), "a": np.diag([1.0, 2, 3, 4]) + 0.1}
    wrt = ["x"]
    says = ("the path through the norm", "* x is")

    def f(x, a):
        return x @ a @ x / (x @ x)

    def grad(x, a):
        return 2 * a @ x / (x @ x)

    def right(x, a):
        q = x @ x
        return 2 * a @ x / q - 2 * x * (x @ a @ x) / q**2


class mahalanobis_without_inverse:
    at = {"x": (3,), "s": E @ E.T}
    wrt = ["x"]
    says = "3 of 3"

    def f(x, s):
        return 0.5 * x @ np.linalg.solve(s, x)

    def grad(x, s):
        return s @ x

    def right(x, s):
        return np.linalg.solve(s, x)


class spd_covariance_symmetric_part:
    """-inv(s) x x' inv(s), without the factor of a log-determinant."""

    at = {"s": E @ E.T + np.eye(3), "x": (3,)}
    wrt = ["s"]
    says = ("log-determinant", "inv(s).T")

    def f(s, x):
        return 0.5 * x @ np.linalg.solve(s, x) + 0.5 * np.log(np.linalg.det(s))

    def grad(s, x):
        y = np.linalg.solve(s, x)
        return -0.5 * np.outer(y, y)

    def right(s, x):
        y = np.linalg.solve(s, x)
        return -0.5 * np.outer(y, y) + 0.5 * np.linalg.inv(s)


class polynomial_of_a_matrix:
    """The power rule of numbers, for a matrix."""

    at = {"a": (3, 3)}
    says = "of 81"

    def f(a):
        return a @ a

    def vjp(g, a):
        return 2 * a.T @ g

    def right(g, a):
        return a.T @ g + g @ a.T


class row_blocks_exchanged:
    """The Jacobian's rows for positions and velocities are exchanged."""

    at = {"x": (4,)}
    says = ("rows", "exchanged", "outputs")

    def f(x):
        p, v = x[:2], x[2:]
        return np.concatenate([v, -np.sin(p) - 0.1 * v])

    def grad(x):
        p = x[:2]
        z, e = np.zeros((2, 2)), np.eye(2)
        return np.block([[-np.diag(np.cos(p)), -0.1 * e], [z, e]])

    def right(x):
        p = x[:2]
        z, e = np.zeros((2, 2)), np.eye(2)
        return np.block([[z, e], [-np.diag(np.cos(p)), -0.1 * e]])


class column_blocks_exchanged:
    at = {"x": (4,)}
    says = ("columns", "exchanged", "elements")

    def f(x):
        p, v = x[:2], x[2:]
        return np.concatenate([v, -np.sin(p) - 0.1 * v])

    def grad(x):
        p = x[:2]
        z, e = np.zeros((2, 2)), np.eye(2)
        return np.block([[e, z], [-0.1 * e, -np.diag(np.cos(p))]])

    def right(x):
        p = x[:2]
        z, e = np.zeros((2, 2)), np.eye(2)
        return np.block([[z, e], [-np.diag(np.cos(p)), -0.1 * e]])


class jacobian_transposed_large:
    at = {"x": (12,)}
    says = "transpose of the right one"

    def f(x):
        m = np.cos(np.arange(144.0)).reshape(12, 12)
        return np.tanh(m @ x)

    def grad(x):
        m = np.cos(np.arange(144.0)).reshape(12, 12)
        return ((1 - np.tanh(m @ x) ** 2)[:, None] * m).T

    def right(x):
        m = np.cos(np.arange(144.0)).reshape(12, 12)
        return (1 - np.tanh(m @ x) ** 2)[:, None] * m


class one_small_element:
    """One element of a Jacobian is 1 % off, far below the others."""

    at = {"p": (6,)}
    says = "a single element is wrong"
    fixable = False

    def f(p):
        return np.array([1e6, 1.0]) * np.sin(np.vander(np.arange(1.0, 3), 6) @ p)

    def grad(p):
        v = np.vander(np.arange(1.0, 3), 6)
        j = np.array([1e6, 1.0])[:, None] * np.cos(v @ p)[:, None] * v
        j[1, 4] *= 1.01
        return j

    def right(p):
        v = np.vander(np.arange(1.0, 3), 6)
        return np.array([1e6, 1.0])[:, None] * np.cos(v @ p)[:, None] * v


class constraint_output_doubled:
    at = {"x": (3,)}
    says = ("in out[2]", "out[2]")

    def f(x):
        return np.array([x @ x, np.prod(x), x.sum()])

    def grad(x):
        return np.array([2 * x, np.prod(x) / x, 2 * np.ones_like(x)])

    def right(x):
        return np.array([2 * x, np.prod(x) / x, np.ones_like(x)])
