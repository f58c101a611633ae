"""Layers of neural networks: dense, normalizing, attention, recurrent."""

import numpy as np


def softmax(z):
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class softmax_diagonal:
    at = {"x": (5,)}
    says = "p (1 - p)"

    def f(x):
        return softmax(x)

    def vjp(g, x):
        p = softmax(x)
        return g * p * (1 - p)

    def right(g, x):
        p = softmax(x)
        return p * (g - (g * p).sum(-1, keepdims=True))


class softmax_without_sum:
    at = {"x": (4, 3)}
    says = "the path through the sum in softmax"

    def f(x):
        return softmax(x)

    def vjp(g, x):
        return softmax(x) * g

    def right(g, x):
        p = softmax(x)
        return p * (g - (g * p).sum(-1, keepdims=True))


class softmax_forgotten:
    at = {"x": (5,)}
    says = ("softmax", "20 of 25", "25 of 25")

    def f(x):
        return softmax(x)

    def vjp(g, x):
        return g

    def right(g, x):
        p = softmax(x)
        return p * (g - (g * p).sum(-1, keepdims=True))


class softmax_sum_along_rows:
    """The sum over all rows in place of each row."""

    at = {"x": (3, 3)}
    says = ("of 81", "axis 0")

    def f(x):
        return softmax(x)

    def vjp(g, x):
        p = softmax(x)
        return p * (g - (g * p).sum(0, keepdims=True))

    def right(g, x):
        p = softmax(x)
        return p * (g - (g * p).sum(1, keepdims=True))


class logsoftmax_without_p:
    at = {"x": (5,)}
    says = ("the path through the sum in softmax",)

    def f(x):
        return x - np.log(np.exp(x).sum())

    def vjp(g, x):
        return g

    def right(g, x):
        return g - softmax(x) * g.sum()


class logsumexp_not_normalized:
    at = {"x": (5,)}
    says = "the claim is exp(f), where f is the value of the function, times the derivative"

    def f(x):
        return np.log(np.exp(x).sum())

    def grad(x):
        return np.exp(x)

    def right(x):
        return np.exp(x) / np.exp(x).sum()


class dense_weights_transposed:
    at = {"x": (4, 3), "w": (3, 3), "b": (3,)}
    says = ("transpose", "x: 36 of 36")

    def f(x, w, b):
        return x @ w + b

    def vjp(g, x, w, b):
        return g @ w, x.T @ g, g.sum(0)

    def right(g, x, w, b):
        return g @ w.T, x.T @ g, g.sum(0)


class dense_gradient_transposed:
    at = {"x": (4, 3), "w": (3, 3), "b": (3,)}
    says = "transpose"

    def f(x, w, b):
        return x @ w + b

    def vjp(g, x, w, b):
        return g @ w.T, g.T @ x, g.sum(0)

    def right(g, x, w, b):
        return g @ w.T, x.T @ g, g.sum(0)


class dense_bias_mean:
    at = {"x": (4, 3), "w": (3, 2), "b": (2,)}
    says = "too small by a factor of 4"

    def f(x, w, b):
        return x @ w + b

    def vjp(g, x, w, b):
        return g @ w.T, x.T @ g, g.mean(0)

    def right(g, x, w, b):
        return g @ w.T, x.T @ g, g.sum(0)


class dense_bias_wrong_axis:
    at = {"x": (3, 3), "w": (3, 3), "b": (3,)}
    says = ("wrong axis", "axis 1")

    def f(x, w, b):
        return x @ w + b

    def vjp(g, x, w, b):
        return g @ w.T, x.T @ g, g.sum(1)

    def right(g, x, w, b):
        return g @ w.T, x.T @ g, g.sum(0)


class dense_mean_over_batch:
    """All gradients are divided by the batch size, although the output is not a mean."""

    at = {"x": (5, 3), "w": (3, 2)}
    says = "too small by a factor of 5"

    def f(x, w):
        return x @ w

    def vjp(g, x, w):
        return g @ w.T, x.T @ g / len(x)

    def right(g, x, w):
        return g @ w.T, x.T @ g


class hidden_layer_without_tanh:
    at = {"w1": (3, 4), "w2": (4, 2), "x": (6, 3)}
    wrt = ["w1", "w2"]
    says = ("the derivative of tanh", "w2: right")

    def f(w1, w2, x):
        return (np.tanh(x @ w1) @ w2).sum()

    def grad(w1, w2, x):
        h = np.tanh(x @ w1)
        d = np.ones((len(x), w2.shape[1]))
        return x.T @ (d @ w2.T), h.T @ d

    def right(w1, w2, x):
        h = np.tanh(x @ w1)
        d = np.ones((len(x), w2.shape[1]))
        return x.T @ (d @ w2.T * (1 - h**2)), h.T @ d


class hidden_layer_relu_of_output:
    """The mask is forgotten in a hidden layer."""

    at = {"w1": (3, 5), "w2": (5, 2), "x": (6, 3)}
    wrt = ["w1", "w2"]
    says = ("relu", "w2: right")

    def f(w1, w2, x):
        return ((np.maximum(x @ w1, 0) @ w2) ** 2).mean()

    def grad(w1, w2, x):
        h = np.maximum(x @ w1, 0)
        d = 2 * (h @ w2) / (len(x) * w2.shape[1])
        return x.T @ (d @ w2.T), h.T @ d

    def right(w1, w2, x):
        h = np.maximum(x @ w1, 0)
        d = 2 * (h @ w2) / (len(x) * w2.shape[1])
        return x.T @ (d @ w2.T * (h > 0)), h.T @ d


class layernorm_without_mean:
    at = {"x": (3, 4), "g": (4,)}
    wrt = ["x"]
    says = "the path through the mean of x along axis 1"

    def f(x, g):
        m = x.mean(-1, keepdims=True)
        s = np.sqrt(((x - m) ** 2).mean(-1, keepdims=True) + 1e-5)
        return (x - m) / s * g

    def vjp(d, x, g):
        m = x.mean(-1, keepdims=True)
        s = np.sqrt(((x - m) ** 2).mean(-1, keepdims=True) + 1e-5)
        h, d = (x - m) / s, d * g
        return (d - h * (d * h).mean(-1, keepdims=True)) / s

    def right(d, x, g):
        m = x.mean(-1, keepdims=True)
        s = np.sqrt(((x - m) ** 2).mean(-1, keepdims=True) + 1e-5)
        h, d = (x - m) / s, d * g
        return (d - d.mean(-1, keepdims=True) - h * (d * h).mean(-1, keepdims=True)) / s


class layernorm_constant_statistics:
    at = {"x": (3, 4)}
    says = "the paths through the mean and the variance of x along axis 1"

    def f(x):
        m = x.mean(-1, keepdims=True)
        return (x - m) / np.sqrt(((x - m) ** 2).mean(-1, keepdims=True) + 1e-5)

    def vjp(d, x):
        m = x.mean(-1, keepdims=True)
        return d / np.sqrt(((x - m) ** 2).mean(-1, keepdims=True) + 1e-5)

    def right(d, x):
        m = x.mean(-1, keepdims=True)
        s = np.sqrt(((x - m) ** 2).mean(-1, keepdims=True) + 1e-5)
        h = (x - m) / s
        return (d - d.mean(-1, keepdims=True) - h * (d * h).mean(-1, keepdims=True)) / s


class batchnorm_wrong_axis:
    """Statistics over the features in place of the batch, in the backward pass only."""

    at = {"x": (4, 4)}
    says = "of 256"

    def f(x):
        m = x.mean(0)
        return (x - m) / np.sqrt(((x - m) ** 2).mean(0) + 1e-5)

    def vjp(d, x):
        m = x.mean(0)
        s = np.sqrt(((x - m) ** 2).mean(0) + 1e-5)
        h = (x - m) / s
        return (d - d.mean(1, keepdims=True) - h * (d * h).mean(1, keepdims=True)) / s

    def right(d, x):
        m = x.mean(0)
        s = np.sqrt(((x - m) ** 2).mean(0) + 1e-5)
        h = (x - m) / s
        return (d - d.mean(0) - h * (d * h).mean(0)) / s


class batchnorm_sum_for_mean:
    """The sums in the backward pass lack 1/N."""

    at = {"x": (5, 2)}
    says = ("through the mean", "of 100")

    def f(x):
        m = x.mean(0)
        return (x - m) / np.sqrt(((x - m) ** 2).mean(0) + 1e-5)

    def vjp(d, x):
        m = x.mean(0)
        s = np.sqrt(((x - m) ** 2).mean(0) + 1e-5)
        h = (x - m) / s
        return (d - d.sum(0) - h * (d * h).mean(0)) / s

    def right(d, x):
        m = x.mean(0)
        s = np.sqrt(((x - m) ** 2).mean(0) + 1e-5)
        h = (x - m) / s
        return (d - d.mean(0) - h * (d * h).mean(0)) / s


class rmsnorm_without_norm:
    at = {"x": (3, 4), "g": (4,)}
    wrt = ["x"]
    says = "the path through the norm (or mean square) of x along axis 1"

    def f(x, g):
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * g

    def vjp(d, x, g):
        return d * g / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6)

    def right(d, x, g):
        s = np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6)
        d = d * g
        return d / s - x * (d * x).mean(-1, keepdims=True) / s**3


class rmsnorm_gain_not_summed:
    """The gain's gradient is the mean over the rows, not the sum."""

    at = {"x": (3, 4), "g": (4,)}
    says = ("too small by a factor of 3", "x: right")

    def f(x, g):
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * g

    def vjp(d, x, g):
        s = np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6)
        dg = d * g
        return dg / s - x * (dg * x).mean(-1, keepdims=True) / s**3, (d * x / s).mean(0)

    def right(d, x, g):
        s = np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6)
        dg = d * g
        return dg / s - x * (dg * x).mean(-1, keepdims=True) / s**3, (d * x / s).sum(0)


class attention_without_scale:
    """1 / sqrt(d) is missing in the backward pass."""

    at = {"q": (3, 4), "k": (5, 4), "v": (5, 2)}
    says = ("twice the derivative", "sqrt(N)", "v: right")

    def f(q, k, v):
        return softmax(q @ k.T / np.sqrt(q.shape[1])) @ v

    def vjp(g, q, k, v):
        p = softmax(q @ k.T / np.sqrt(q.shape[1]))
        dp = g @ v.T
        ds = p * (dp - (dp * p).sum(-1, keepdims=True))
        return ds @ k, ds.T @ q, p.T @ g

    def right(g, q, k, v):
        p = softmax(q @ k.T / np.sqrt(q.shape[1]))
        dp = g @ v.T
        ds = p * (dp - (dp * p).sum(-1, keepdims=True)) / np.sqrt(q.shape[1])
        return ds @ k, ds.T @ q, p.T @ g


class attention_without_softmax:
    at = {"q": (3, 2), "k": (3, 2)}
    says = ("the derivative of exp", "softmax")

    def f(q, k):
        p = np.exp(q @ k.T)
        return (p / p.sum(-1, keepdims=True) * np.arange(9.0).reshape(3, 3)).sum()

    def grad(q, k):
        s = np.arange(9.0).reshape(3, 3)
        return s @ k, s.T @ q

    def right(q, k):
        p = softmax(q @ k.T)
        w = np.arange(9.0).reshape(3, 3)
        s = p * (w - (w * p).sum(-1, keepdims=True))
        return s @ k, s.T @ q


class attention_value_transposed:
    """p @ g in place of p.T @ g."""

    at = {"q": (3, 4), "k": (3, 4), "v": (3, 2)}
    wrt = ["v"]
    says = "transpose"

    def f(q, k, v):
        return softmax(q @ k.T) @ v

    def vjp(g, q, k, v):
        return softmax(q @ k.T) @ g

    def right(g, q, k, v):
        return softmax(q @ k.T).T @ g


class rope_not_inverted:
    """The backward pass rotates by the same angle, not by its negative."""

    at = {"x": (4, 2), "t": (4,)}
    wrt = ["x"]
    says = "transpose"

    def f(x, t):
        c, s = np.cos(t), np.sin(t)
        return np.stack([c * x[:, 0] - s * x[:, 1], s * x[:, 0] + c * x[:, 1]], 1)

    def vjp(g, x, t):
        c, s = np.cos(t), np.sin(t)
        return np.stack([c * g[:, 0] - s * g[:, 1], s * g[:, 0] + c * g[:, 1]], 1)

    def right(g, x, t):
        c, s = np.cos(t), np.sin(t)
        return np.stack([c * g[:, 0] + s * g[:, 1], -s * g[:, 0] + c * g[:, 1]], 1)


class gated_linear_halves:
    """The gradients of the two halves are exchanged."""

    at = {"x": (6,)}
    says = ("permuted", "exchanged", "18 of 18", "of 18")

    def f(x):
        a, b = x[:3], x[3:]
        return a * sigmoid(b)

    def vjp(g, x):
        a, b = x[:3], x[3:]
        s = sigmoid(b)
        return np.concatenate([g * a * s * (1 - s), g * s])

    def right(g, x):
        a, b = x[:3], x[3:]
        s = sigmoid(b)
        return np.concatenate([g * s, g * a * s * (1 - s)])


class recurrent_last_step_only:
    at = {"w": (3, 3)}
    says = ("is missing", "the derivative through")

    def f(w):
        h = np.zeros(3)
        for t in range(4):
            h = np.tanh(h @ w + np.array([0.3, -0.2, 0.5]) * (t + 1))
        return (h**2).sum()

    def grad(w):
        hs = [np.zeros(3)]
        for t in range(4):
            hs.append(np.tanh(hs[-1] @ w + np.array([0.3, -0.2, 0.5]) * (t + 1)))
        return np.outer(hs[3], 2 * hs[4] * (1 - hs[4] ** 2))

    def right(w):
        hs = [np.zeros(3)]
        for t in range(4):
            hs.append(np.tanh(hs[-1] @ w + np.array([0.3, -0.2, 0.5]) * (t + 1)))
        g, total = 2 * hs[4], 0
        for t in (3, 2, 1, 0):
            d = g * (1 - hs[t + 1] ** 2)
            total, g = total + np.outer(hs[t], d), d @ w.T
        return total


class embedding_overwrites:
    """Rows that occur twice are assigned, not added."""

    at = {"e": (5, 2)}
    says = ("[1]", "[1:")

    def f(e):
        return e[np.array([0, 1, 3, 1])] * np.array([[1.0], [2], [3], [4]])

    def vjp(g, e):
        out = np.zeros_like(e)
        out[np.array([0, 1, 3, 1])] = g * np.array([[1.0], [2], [3], [4]])
        return out

    def right(g, e):
        out = np.zeros_like(e)
        np.add.at(out, np.array([0, 1, 3, 1]), g * np.array([[1.0], [2], [3], [4]]))
        return out


class embedding_overwrites_with_indices:
    """The same, with the indices as an argument."""

    def at(rng):
        return {"e": (6, 3), "words": np.array([0, 2, 2, 4, 1, 4])}

    wrt = ["e"]
    says = "wrong exactly where an index occurs more than once in words"

    def f(e, words):
        return np.sum(np.tanh(e[words]) ** 2)

    def grad(e, words):
        t, out = np.tanh(e[words]), np.zeros_like(e)
        out[words] += 2 * t * (1 - t**2)
        return out

    def right(e, words):
        t, out = np.tanh(e[words]), np.zeros_like(e)
        np.add.at(out, words, 2 * t * (1 - t**2))
        return out


class dropout_mask_not_scaled:
    def at(rng):
        return {"x": (8,), "m": np.array([1.0, 0, 1, 1, 0, 1, 1, 1])}

    wrt = ["x"]
    says = "0.8"

    def f(x, m):
        return x * m / 0.8

    def vjp(g, x, m):
        return g * m

    def right(g, x, m):
        return g * m / 0.8


class dropout_mask_forgotten:
    def at(rng):
        return {"x": (8,), "m": np.array([1.0, 0, 1, 1, 0, 1, 1, 1])}

    wrt = ["x"]
    says = ("a mask is missing", "a factor m is missing")

    def f(x, m):
        return x * m / 0.8

    def vjp(g, x, m):
        return g / 0.8

    def right(g, x, m):
        return g * m / 0.8


class maxpool_gives_all:
    """Each element of a window gets the gradient, not only the largest."""

    at = {"x": [0.3, 1.2, -0.7, 0.4, 2.1, 1.9]}
    says = ("3 of 18", "a mask is missing", "3 of 6")

    def f(x):
        return x.reshape(3, 2).max(1)

    def vjp(g, x):
        return np.repeat(g, 2)

    def right(g, x):
        w = x.reshape(3, 2)
        return ((w == w.max(1, keepdims=True)) * g[:, None]).ravel()


class avgpool_without_window:
    at = {"x": (6,)}
    says = ("twice the derivative", "3 times", "factor 3", "too large by a factor of 3")

    def f(x):
        return x.reshape(2, 3).mean(1)

    def vjp(g, x):
        return np.repeat(g, 3)

    def right(g, x):
        return np.repeat(g, 3) / 3


class residual_without_skip:
    at = {"x": (4,), "w": (4, 4)}
    says = ("w: right", "identity", "diagonal")

    def f(x, w):
        return x + np.tanh(w @ x)

    def vjp(g, x, w):
        d = g * (1 - np.tanh(w @ x) ** 2)
        return w.T @ d, np.outer(d, x)

    def right(g, x, w):
        d = g * (1 - np.tanh(w @ x) ** 2)
        return g + w.T @ d, np.outer(d, x)
