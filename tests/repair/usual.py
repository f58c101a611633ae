"""Two dozen usual mistakes in gradients, in the form of the bank in tests/explain/mistakes."""

import numpy as np


def data(rng):
    return {"w": rng.standard_normal(2), "x": rng.standard_normal((5, 2)), "y": rng.standard_normal(5)}


class squares_without_2:
    at, wrt = data, ["w"]

    def f(w, x, y):
        return np.sum((x @ w - y) ** 2)

    def grad(w, x, y):
        r = x @ w - y
        return x.T @ r

    def right(w, x, y):
        return 2 * x.T @ (x @ w - y)


class mean_squares_without_n:
    at, wrt = data, ["w"]

    def f(w, x, y):
        return np.mean((x @ w - y) ** 2)

    def grad(w, x, y):
        r = x @ w - y
        return 2 * x.T @ r

    def right(w, x, y):
        return 2 * x.T @ (x @ w - y) / len(y)


class logistic_with_wrong_sign:
    wrt = ["w"]

    def at(rng):
        return {**data(rng), "y": (rng.random(5) < 0.5) * 1.0}

    def f(w, x, y):
        z = x @ w
        return np.mean(np.log(1 + np.exp(z)) - y * z)

    def grad(w, x, y):
        p = 1 / (1 + np.exp(-x @ w))
        return x.T @ (y - p) / len(y)

    def right(w, x, y):
        p = 1 / (1 + np.exp(-x @ w))
        return x.T @ (p - y) / len(y)


class ridge_without_2:
    at, wrt = data, ["w"]

    def f(w, x, y):
        return 0.5 * np.sum((x @ w - y) ** 2) + 0.3 * np.sum(w**2)

    def grad(w, x, y):
        r = x @ w - y
        return x.T @ r + 0.3 * w

    def right(w, x, y):
        return x.T @ (x @ w - y) + 0.6 * w


class tanh_without_square:
    at = {"x": (4,)}

    def f(x):
        return np.tanh(x)

    def vjp(g, x):
        t = np.tanh(x)
        return g * (1 - t)

    def right(g, x):
        return g * (1 - np.tanh(x) ** 2)


class sigmoid_of_input:
    at = {"x": (4,)}

    def f(x):
        return 1 / (1 + np.exp(-x))

    def vjp(g, x):
        s = 1 / (1 + np.exp(-x))
        return g * s * (1 - x)

    def right(g, x):
        s = 1 / (1 + np.exp(-x))
        return g * s * (1 - s)


def softmax(x):
    e = np.exp(x - np.max(x))
    return e / np.sum(e)


class softmax_diagonal:
    at = {"x": (4,)}

    def f(x):
        e = np.exp(x - np.max(x))
        return e / np.sum(e)

    def vjp(g, x):
        p = softmax(x)
        return p * g

    def right(g, x):
        p = softmax(x)
        return p * (g - p @ g)


class linear_not_transposed:
    at = {"x": (3, 3), "w": (3, 3), "b": (3,)}

    def f(x, w, b):
        return x @ w + b

    def vjp(g, x, w, b):
        return g @ w, x.T @ g, g.sum(axis=0)

    def right(g, x, w, b):
        return g @ w.T, x.T @ g, g.sum(axis=0)


class bias_over_wrong_axis:
    at = {"x": (3, 3), "w": (3, 3), "b": (3,)}

    def f(x, w, b):
        return x @ w + b

    def vjp(g, x, w, b):
        return g @ w.T, x.T @ g, g.sum(axis=1)

    def right(g, x, w, b):
        return g @ w.T, x.T @ g, g.sum(axis=0)


class norm_without_root:
    at = {"x": (4,)}

    def f(x):
        return np.sqrt(np.sum(x**2))

    def grad(x):
        return x / np.sum(x**2)

    def right(x):
        return x / np.sqrt(np.sum(x**2))


class layernorm_without_mean:
    at = {"x": (5,)}

    def f(x):
        c = x - x.mean()
        return c / np.sqrt((c**2).mean() + 1e-5)

    def vjp(g, x):
        c = x - x.mean()
        s = np.sqrt((c**2).mean() + 1e-5)
        y = c / s
        return (g - y * (g * y).mean()) / s

    def right(g, x):
        c = x - x.mean()
        s = np.sqrt((c**2).mean() + 1e-5)
        y = c / s
        return (g - g.mean() - y * (g * y).mean()) / s


class gelu_without_3:
    at = {"x": (4,)}

    def f(x):
        return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))

    def vjp(g, x):
        t = np.tanh(0.7978845608 * (x + 0.044715 * x**3))
        return g * (0.5 * (1 + t) + 0.5 * x * (1 - t**2) * 0.7978845608 * (1 + 0.044715 * x**2))

    def right(g, x):
        t = np.tanh(0.7978845608 * (x + 0.044715 * x**3))
        return g * (0.5 * (1 + t) + 0.5 * x * (1 - t**2) * 0.7978845608 * (1 + 3 * 0.044715 * x**2))


class quadratic_one_sided:
    at = {"x": (3,), "a": (3, 3)}

    def f(x, a):
        return x @ a @ x

    def grad(x, a):
        return a @ x, np.outer(x, x)

    def right(x, a):
        return a @ x + a.T @ x, np.outer(x, x)


class logdet_not_transposed:
    at = {"a": (3, 3)}

    def f(a):
        return np.log(abs(np.linalg.det(a)))

    def grad(a):
        return np.linalg.inv(a)

    def right(a):
        return np.linalg.inv(a).T


class huber_without_sign:
    def at(rng):
        return {"x": rng.choice([-2.2, -0.4, 0.6, 1.9], 6) + 0.05 * rng.standard_normal(6)}

    def f(x):
        return np.sum(np.where(np.abs(x) < 1, 0.5 * x**2, np.abs(x) - 0.5))

    def grad(x):
        return np.where(np.abs(x) < 1, x, 1)

    def right(x):
        return np.clip(x, -1, 1)


class lennard_jones_exponent:
    def at(rng):
        return {"r": rng.uniform(0.8, 1.8, 3)}

    def f(r):
        return 4 * (r**-12 - r**-6)

    def vjp(g, r):
        return g * 4 * (-12 * r**-13 + 6 * r**-6)

    def right(g, r):
        return g * 4 * (-12 * r**-13 + 6 * r**-7)


class divergence_without_1:
    def at(rng):
        return {"p": rng.uniform(0.8, 1.8, 3), "q": rng.uniform(0.8, 1.8, 3)}

    def f(p, q):
        return np.sum(p * np.log(p / q))

    def grad(p, q):
        return np.log(p / q), -p / q

    def right(p, q):
        return np.log(p / q) + 1, -p / q


class gaussian_1_for_1_over_s:
    def at(rng):
        return {"x": rng.standard_normal(3), "m": 0.3 * rng.standard_normal(), "s": rng.uniform(0.8, 1.8)}

    def f(x, m, s):
        return np.sum(-0.5 * ((x - m) / s) ** 2 - np.log(s))

    def grad(x, m, s):
        d = (x - m) / s
        return -d / s, np.sum(d / s), np.sum(d**2 / s - 1)

    def right(x, m, s):
        d = (x - m) / s
        return -d / s, np.sum(d / s), np.sum((d**2 - 1) / s)


class cross_entropy_without_n:
    wrt = ["z"]

    def at(rng):
        return {"z": rng.standard_normal((4, 3)), "y": np.eye(3)[rng.integers(0, 3, 4)]}

    def f(z, y):
        m = z - z.max(axis=1, keepdims=True)
        return -np.mean(np.sum(y * (m - np.log(np.exp(m).sum(axis=1, keepdims=True))), axis=1))

    def grad(z, y):
        e = np.exp(z - z.max(axis=1, keepdims=True))
        p = e / e.sum(axis=1, keepdims=True)
        return p - y

    def right(z, y):
        e = np.exp(z - z.max(axis=1, keepdims=True))
        return (e / e.sum(axis=1, keepdims=True) - y) / len(z)


class cumsum_not_reversed:
    at = {"x": (5,)}

    def f(x):
        return np.cumsum(x)

    def vjp(g, x):
        return np.cumsum(g)

    def right(g, x):
        return np.cumsum(g[::-1])[::-1]


class pendulum_cos_for_sin:
    at = {"t": (3,)}

    def f(t):
        return np.sum(1 - np.cos(t)) + 0.5 * np.sum(t**2)

    def grad(t):
        return np.cos(t) + t

    def right(t):
        return np.sin(t) + t


class rotation_with_wrong_sign:
    at = {"t": (3,)}

    def f(t):
        return np.array([np.cos(t[0]) * t[1] - np.sin(t[0]) * t[2], np.sin(t[0]) * t[1] + np.cos(t[0]) * t[2]])

    def grad(t):
        c, s = np.cos(t[0]), np.sin(t[0])
        return np.array([[-s * t[1] - c * t[2], c, s], [c * t[1] - s * t[2], s, c]])

    def right(t):
        c, s = np.cos(t[0]), np.sin(t[0])
        return np.array([[-s * t[1] - c * t[2], c, -s], [c * t[1] - s * t[2], s, c]])


class silu_without_x:
    at = {"x": (4,)}

    def f(x):
        return x / (1 + np.exp(-x))

    def vjp(g, x):
        s = 1 / (1 + np.exp(-x))
        return g * (s + s * (1 - s))

    def right(g, x):
        s = 1 / (1 + np.exp(-x))
        return g * (s + x * s * (1 - s))


class pool_without_half:
    at = {"x": (6,)}

    def f(x):
        return x.reshape(-1, 2).mean(axis=1)

    def vjp(g, x):
        return np.repeat(g, 2)

    def right(g, x):
        return np.repeat(g, 2) / 2
