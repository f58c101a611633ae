"""Losses of models that are linear or small."""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(z):
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def labels(rng, n, k):
    return np.eye(k)[rng.integers(0, k, n)]


class mse_without_mean:
    def at(rng):
        return {"w": (3,), "x": rng.standard_normal((7, 3)), "y": rng.standard_normal(7)}

    wrt = ["w"]
    says = "1/N is probably missing"

    def f(w, x, y):
        return np.mean((x @ w - y) ** 2)

    def grad(w, x, y):
        return 2 * x.T @ (x @ w - y)

    def right(w, x, y):
        return 2 * x.T @ (x @ w - y) / len(y)


class mse_without_two:
    at = {"w": (3,), "x": (7, 3), "y": (7,)}
    wrt = ["w"]
    says = "half the derivative"

    def f(w, x, y):
        return np.mean((x @ w - y) ** 2)

    def grad(w, x, y):
        return x.T @ (x @ w - y) / len(y)

    def right(w, x, y):
        return 2 * x.T @ (x @ w - y) / len(y)


class mse_without_x:
    """The residual is summed, but not multiplied by the input."""

    at = {"w": (3,), "x": (7, 3), "y": (7,)}
    wrt = ["w"]
    says = "3 of 3"

    def f(w, x, y):
        return np.mean((x @ w - y) ** 2)

    def grad(w, x, y):
        return 2 * (x @ w - y).mean() * np.ones_like(w)

    def right(w, x, y):
        return 2 * x.T @ (x @ w - y) / len(y)


class mse_sign_of_residual:
    at = {"w": (3,), "x": (7, 3), "y": (7,)}
    wrt = ["w"]
    says = "the sign is wrong"

    def f(w, x, y):
        return np.mean((y - x @ w) ** 2)

    def grad(w, x, y):
        return 2 * x.T @ (y - x @ w) / len(y)

    def right(w, x, y):
        return -2 * x.T @ (y - x @ w) / len(y)


class mse_without_target:
    at = {"w": (3,), "x": (7, 3), "y": (7,)}
    wrt = ["w"]
    says = "2/N * y @ x (N = 7"

    def f(w, x, y):
        return np.mean((x @ w - y) ** 2)

    def grad(w, x, y):
        return 2 * x.T @ (x @ w) / len(y)

    def right(w, x, y):
        return 2 * x.T @ (x @ w - y) / len(y)


class ridge_penalty_halved:
    at = {"w": (3,), "x": (7, 3), "y": (7,)}
    wrt = ["w"]
    says = "0.3 * w"

    def f(w, x, y):
        return 0.5 * np.sum((x @ w - y) ** 2) + 0.3 * np.sum(w**2)

    def grad(w, x, y):
        return x.T @ (x @ w - y) + 0.3 * w

    def right(w, x, y):
        return x.T @ (x @ w - y) + 0.6 * w


class ridge_penalty_forgotten:
    at = {"w": (3,), "x": (7, 3), "y": (7,)}
    wrt = ["w"]
    says = "the claim plus 0.6 * w"

    def f(w, x, y):
        return 0.5 * np.sum((x @ w - y) ** 2) + 0.3 * np.sum(w**2)

    def grad(w, x, y):
        return x.T @ (x @ w - y)

    def right(w, x, y):
        return x.T @ (x @ w - y) + 0.6 * w


class ridge_penalty_of_bias:
    """The bias is regularized in the gradient, but not in the loss."""

    at = {"w": (3,), "b": 0.7, "x": (7, 3), "y": (7,)}
    wrt = ["w", "b"]
    says = ("0.6 * b is superfluous", "b: wrong", "w: right")

    def f(w, b, x, y):
        return 0.5 * np.sum((x @ w + b - y) ** 2) + 0.3 * np.sum(w**2)

    def grad(w, b, x, y):
        r = x @ w + b - y
        return x.T @ r + 0.6 * w, r.sum() + 0.6 * b

    def right(w, b, x, y):
        r = x @ w + b - y
        return x.T @ r + 0.6 * w, r.sum()


class lasso_without_sign:
    at = {"w": (4,), "x": (7, 4), "y": (7,)}
    wrt = ["w"]
    says = "wrong where w < 0"

    def f(w, x, y):
        return 0.5 * np.sum((x @ w - y) ** 2) + 0.4 * np.abs(w).sum()

    def grad(w, x, y):
        return x.T @ (x @ w - y) + 0.4

    def right(w, x, y):
        return x.T @ (x @ w - y) + 0.4 * np.sign(w)


class logistic_without_mean:
    def at(rng):
        return {"w": (3,), "x": rng.standard_normal((8, 3)), "y": 1.0 * (rng.random(8) < 0.5)}

    wrt = ["w"]
    says = "1/N is probably missing"

    def f(w, x, y):
        z = x @ w
        return np.mean(np.log1p(np.exp(z)) - y * z)

    def grad(w, x, y):
        return x.T @ (sigmoid(x @ w) - y)

    def right(w, x, y):
        return x.T @ (sigmoid(x @ w) - y) / len(y)


class logistic_with_slope:
    """The gradient of the squared error, with s (1 - s), for the cross entropy."""

    def at(rng):
        return {"w": (3,), "x": rng.standard_normal((8, 3)), "y": 1.0 * (rng.random(8) < 0.5)}

    wrt = ["w"]
    says = ("3 of 3", "applied twice", "sigmoid")

    def f(w, x, y):
        p = 1 / (1 + np.exp(-(x @ w)))
        return -np.sum(y * np.log(p) + (1 - y) * np.log(1 - p))

    def grad(w, x, y):
        p = 1 / (1 + np.exp(-(x @ w)))
        return x.T @ ((p - y) * p * (1 - p))

    def right(w, x, y):
        p = 1 / (1 + np.exp(-(x @ w)))
        return x.T @ (p - y)


class bce_without_one_minus:
    """Only the half -y / p of the cross entropy."""

    def at(rng):
        return {"p": rng.uniform(0.1, 0.9, 6), "y": np.array([1.0, 0, 1, 1, 0, 0])}

    wrt = ["p"]
    says = ("where y", "[1, 4, 5]", "3 of 6")

    def f(p, y):
        return -np.sum(y * np.log(p) + (1 - y) * np.log(1 - p))

    def grad(p, y):
        return -y / p

    def right(p, y):
        return -y / p + (1 - y) / (1 - p)


class bce_sign_of_second_term:
    def at(rng):
        return {"p": rng.uniform(0.1, 0.9, 6), "y": rng.uniform(0.1, 0.9, 6)}

    wrt = ["p"]
    says = ("6 of 6", "has the wrong sign")

    def f(p, y):
        return -np.sum(y * np.log(p) + (1 - y) * np.log(1 - p))

    def grad(p, y):
        return -y / p - (1 - y) / (1 - p)

    def right(p, y):
        return -y / p + (1 - y) / (1 - p)


class cross_entropy_without_mean:
    def at(rng):
        return {"z": (5, 3), "y": labels(rng, 5, 3)}

    wrt = ["z"]
    says = "1/N is probably missing"

    def f(z, y):
        return -np.sum(y * np.log(softmax(z))) / len(z)

    def grad(z, y):
        return softmax(z) - y

    def right(z, y):
        return (softmax(z) - y) / len(z)


class cross_entropy_without_target:
    def at(rng):
        return {"z": (5, 3), "y": labels(rng, 5, 3)}

    wrt = ["z"]
    says = "the claim minus 1/N * y (N = 5"

    def f(z, y):
        return -np.sum(y * np.log(softmax(z))) / len(z)

    def grad(z, y):
        return softmax(z) / len(z)

    def right(z, y):
        return (softmax(z) - y) / len(z)


class cross_entropy_of_softmax_axis:
    """Softmax over the samples in place of the classes."""

    def at(rng):
        return {"z": (4, 3), "y": labels(rng, 4, 3)}

    wrt = ["z"]
    says = "the claim minus (softmax(z, axis=0) - softmax(z, axis=1))"

    def f(z, y):
        return -np.sum(y * np.log(softmax(z)))

    def grad(z, y):
        e = np.exp(z - z.max(0))
        return e / e.sum(0) - y

    def right(z, y):
        e = np.exp(z - z.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True) - y


class logsumexp_axis:
    at = {"z": (3, 4)}
    says = "the claim has softmax(z, axis=0) in place of softmax(z, axis=1)"

    def f(z):
        return np.sum(np.log(np.exp(z).sum(1)))

    def grad(z):
        return np.exp(z) / np.exp(z).sum(0)

    def right(z):
        return np.exp(z) / np.exp(z).sum(1, keepdims=True)


class cross_entropy_without_softmax:
    """z - y: the softmax is forgotten."""

    def at(rng):
        return {"z": (5,), "y": np.eye(5)[2]}

    wrt = ["z"]
    says = ("softmax", "5 of 5")

    def f(z, y):
        return -np.sum(y * np.log(softmax(z)))

    def grad(z, y):
        return z - y

    def right(z, y):
        return softmax(z) - y


class hinge_without_margin:
    """The mask is that of the perceptron: m < 0, not m < 1."""

    def at(rng):
        return {"w": (3,), "x": rng.standard_normal((12, 3)), "y": np.sign(rng.standard_normal(12))}

    wrt = ["w"]
    says = "3 of 3"

    def f(w, x, y):
        return np.maximum(0, 1 - y * (x @ w)).sum()

    def grad(w, x, y):
        active = y * (x @ w) < 0
        return -(x.T @ (y * active))

    def right(w, x, y):
        active = y * (x @ w) < 1
        return -(x.T @ (y * active))


class hinge_without_mask:
    def at(rng):
        return {"w": (3,), "x": rng.standard_normal((12, 3)), "y": np.sign(rng.standard_normal(12))}

    wrt = ["w"]
    says = ("3 of 3", "maximum")

    def f(w, x, y):
        return np.maximum(0, 1 - y * (x @ w)).mean()

    def grad(w, x, y):
        return -(x.T @ y) / len(y)

    def right(w, x, y):
        return -(x.T @ (y * (y * (x @ w) < 1))) / len(y)


class squared_hinge_without_two:
    def at(rng):
        return {"w": (3,), "x": rng.standard_normal((12, 3)), "y": np.sign(rng.standard_normal(12))}

    wrt = ["w"]
    says = "half the derivative"

    def f(w, x, y):
        return (np.maximum(0, 1 - y * (x @ w)) ** 2).sum()

    def grad(w, x, y):
        return -(x.T @ (y * np.maximum(0, 1 - y * (x @ w))))

    def right(w, x, y):
        return -2 * (x.T @ (y * np.maximum(0, 1 - y * (x @ w))))


class huber_without_clipping:
    at = {"x": [-2.3, 0.4, 1.7, -0.6, 0.2, 2.9]}
    says = ("where", "3 of 6")

    def f(x):
        a = np.abs(x)
        return np.where(a < 1, 0.5 * x**2, a - 0.5).sum()

    def grad(x):
        return x

    def right(x):
        return np.clip(x, -1, 1)


class huber_without_sign:
    """delta for large residuals of either sign."""

    at = {"x": [-2.3, 0.4, 1.7, -0.6, 0.2, 2.9, -1.4]}
    says = ("where x", "2 of 7")

    def f(x):
        a = np.abs(x)
        return np.where(a < 1, 0.5 * x**2, a - 0.5).sum()

    def grad(x):
        return np.where(np.abs(x) < 1, x, 1.0)

    def right(x):
        return np.where(np.abs(x) < 1, x, np.sign(x))


class logcosh_not_tanh:
    at = {"x": (6,)}
    says = ("cosh", "6 of 6")

    def f(x):
        return np.log(np.cosh(x)).sum()

    def grad(x):
        return np.sinh(x)

    def right(x):
        return np.tanh(x)


class l1_without_sign:
    at = {"x": (6,), "y": (6,)}
    wrt = ["x"]
    says = ("where", "sign")

    def f(x, y):
        return np.abs(x - y).sum()

    def grad(x, y):
        return np.ones_like(x)

    def right(x, y):
        return np.sign(x - y)


class l1_sign_of_other_difference:
    at = {"x": (6,), "y": (6,)}
    says = "the sign is wrong"

    def f(x, y):
        return np.abs(x - y).mean()

    def grad(x, y):
        s = np.sign(y - x) / x.size
        return s, -s

    def right(x, y):
        s = np.sign(x - y) / x.size
        return s, -s


class kl_without_one:
    def at(rng):
        return {"p": rng.uniform(0.5, 1.5, 4), "q": rng.uniform(0.5, 1.5, 4)}

    says = ("the same everywhere, -1", "q: right")

    def f(p, q):
        return np.sum(p * np.log(p / q))

    def grad(p, q):
        return np.log(p / q), -p / q

    def right(p, q):
        return np.log(p / q) + 1, -p / q


class kl_of_q_inverted:
    def at(rng):
        return {"p": rng.uniform(0.5, 1.5, 4), "q": rng.uniform(0.5, 1.5, 4)}

    says = ("p: right", "q")

    def f(p, q):
        return np.sum(p * np.log(p / q))

    def grad(p, q):
        return np.log(p / q) + 1, -q / p

    def right(p, q):
        return np.log(p / q) + 1, -p / q


class focal_without_modulation:
    """Only the cross entropy's part of the focal loss."""

    def at(rng):
        return {"p": rng.uniform(0.1, 0.9, 5)}

    says = ("5 of 5", "is missing")

    def f(p):
        return -np.sum((1 - p) ** 2 * np.log(p))

    def grad(p):
        return -((1 - p) ** 2) / p

    def right(p):
        return 2 * (1 - p) * np.log(p) - (1 - p) ** 2 / p


class dice_without_quotient_rule:
    def at(rng):
        return {"p": rng.uniform(0.1, 0.9, 6), "t": np.array([1.0, 0, 1, 0, 0, 1])}

    wrt = ["p"]
    says = ("6 of 6", "the difference is the same")

    def f(p, t):
        return 1 - 2 * (p * t).sum() / (p.sum() + t.sum())

    def grad(p, t):
        return -2 * t / (p.sum() + t.sum())

    def right(p, t):
        s = p.sum() + t.sum()
        return -2 * t / s + 2 * (p * t).sum() / s**2


class triplet_wrong_sample:
    """The gradients for the positive and the negative sample are exchanged."""

    at = {"a": (4,), "p": (4,), "n": (4,)}
    says = ("swapped", "given the gradient")

    def f(a, p, n):
        return ((a - p) ** 2).sum() - ((a - n) ** 2).sum()

    def grad(a, p, n):
        return 2 * (n - p), 2 * (a - n), -2 * (a - p)

    def right(a, p, n):
        return 2 * (n - p), -2 * (a - p), 2 * (a - n)


class cosine_without_normalization:
    at = {"a": (5,), "b": (5,)}
    wrt = ["a"]
    says = "the path through the norm"

    def f(a, b):
        return a @ b / np.linalg.norm(a) / np.linalg.norm(b)

    def grad(a, b):
        return b / np.linalg.norm(a) / np.linalg.norm(b)

    def right(a, b):
        na, nb = np.linalg.norm(a), np.linalg.norm(b)
        return b / na / nb - a * (a @ b) / na**3 / nb


class quantile_swapped:
    """tau and 1 - tau are exchanged."""

    at = {"x": (7,)}
    says = ("7 of 7", "where x")

    def f(x):
        return np.where(x > 0, 0.9 * x, -0.1 * x).sum()

    def grad(x):
        return np.where(x > 0, 0.1, -0.9)

    def right(x):
        return np.where(x > 0, 0.9, -0.1)


class weighted_loss_without_weights:
    def at(rng):
        return {"x": (6,), "y": (6,), "w": rng.uniform(0.5, 2, 6)}

    wrt = ["x"]
    says = "a factor w is missing"

    def f(x, y, w):
        return (w * (x - y) ** 2).sum()

    def grad(x, y, w):
        return 2 * (x - y)

    def right(x, y, w):
        return 2 * w * (x - y)


class mean_cross_entropy_without_softmax:
    """(z - y) / n: the softmax is forgotten."""

    def at(rng):
        return {"z": rng.standard_normal((4, 3)), "y": np.eye(3)[[0, 2, 1, 1]]}

    wrt = ["z"]
    says = "a softmax of z along axis 1 is missing"

    def f(z, y):
        return -np.sum(y * np.log(softmax(z))) / len(z)

    def grad(z, y):
        return (z - y) / len(z)

    def right(z, y):
        return (softmax(z) - y) / len(z)


class binary_cross_entropy_without_sigmoid:
    """z - y: the sigmoid is forgotten."""

    def at(rng):
        return {"z": rng.standard_normal(5), "y": (rng.random(5) > 0.5) * 1.0}

    wrt = ["z"]
    says = "a sigmoid of z is missing"

    def f(z, y):
        return np.sum(np.log1p(np.exp(z)) - y * z)

    def grad(z, y):
        return z - y

    def right(z, y):
        return 1 / (1 + np.exp(-z)) - y
