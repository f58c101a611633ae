"""Log-likelihoods, moments and distances between distributions."""

import math

import numpy as np


class gaussian_without_log_sigma:
    at = {"x": (6,), "m": 0.3, "s": 1.4}
    wrt = ["m", "s"]
    says = ("1/s", "6 * 1/s", "m: right")

    def f(x, m, s):
        return np.sum(0.5 * ((x - m) / s) ** 2 + np.log(s))

    def grad(x, m, s):
        r = x - m
        return -r.sum() / s**2, -(r**2).sum() / s**3

    def right(x, m, s):
        r = x - m
        return -r.sum() / s**2, -(r**2).sum() / s**3 + len(x) / s


class gaussian_one_for_reciprocal:
    """1 in place of 1 / s."""

    at = {"x": (6,), "m": 0.3, "s": 1.4}
    wrt = ["m", "s"]
    says = ("m: right", "s")

    def f(x, m, s):
        return np.sum(0.5 * ((x - m) / s) ** 2 + np.log(s))

    def grad(x, m, s):
        r = x - m
        return -r.sum() / s**2, -(r**2).sum() / s**3 + len(x)

    def right(x, m, s):
        r = x - m
        return -r.sum() / s**2, -(r**2).sum() / s**3 + len(x) / s


class gaussian_sigma_power:
    at = {"x": (5,), "m": (5,), "s": 1.7}
    wrt = ["m"]
    says = ("the claim is s times the derivative", "a factor s")

    def f(x, m, s):
        return np.sum((x - m) ** 2) / (2 * s**2)

    def grad(x, m, s):
        return -(x - m) / s

    def right(x, m, s):
        return -(x - m) / s**2


class gaussian_variance_parameter:
    """The derivative by sigma is given where the parameter is the variance."""

    at = {"x": (6,), "v": 1.7}
    wrt = ["v"]
    says = ("sqrt(v)", "v**0.5", "v: wrong", "v: claimed")

    def f(x, v):
        return np.sum(0.5 * x**2 / v + 0.5 * np.log(v))

    def grad(x, v):
        s = np.sqrt(v)
        return -np.sum(x**2) / s**3 + len(x) / s

    def right(x, v):
        s = np.sqrt(v)
        return (-np.sum(x**2) / s**3 + len(x) / s) / (2 * s)


class log_sigma_without_chain:
    """The parameter is log sigma, the derivative is that by sigma."""

    at = {"x": (5,), "l": 0.4}
    wrt = ["l"]
    says = ("exp(l)", "l: claimed")

    def f(x, l):  # noqa: E741
        return np.sum(0.5 * x**2 * np.exp(-2 * l) + l)

    def grad(x, l):  # noqa: E741
        s = np.exp(l)
        return np.sum(-(x**2) / s**3 + 1 / s)

    def right(x, l):  # noqa: E741
        s = np.exp(l)
        return np.sum(-(x**2) / s**2 + 1)


class poisson_without_count:
    def at(rng):
        return {"w": (3,), "x": rng.standard_normal((6, 3)), "y": rng.poisson(2, 6).astype(float)}

    wrt = ["w"]
    says = ("x.T @ y", "y")

    def f(w, x, y):
        return np.sum(np.exp(x @ w) - y * (x @ w))

    def grad(w, x, y):
        return x.T @ np.exp(x @ w)

    def right(w, x, y):
        return x.T @ (np.exp(x @ w) - y)


class gamma_shape_without_digamma:
    def at(rng):
        return {"k": [1.5, 2.2, 0.8]}

    says = ("3 of 3",)

    def f(k):
        return np.sum(np.vectorize(math.lgamma)(k) - k * 0.3)

    def grad(k):
        return np.log(k) - 0.3

    def right(k):
        h = 1e-5
        lg = np.vectorize(math.lgamma)
        return (8 * (lg(k + h) - lg(k - h)) - (lg(k + 2 * h) - lg(k - 2 * h))) / (12 * h) - 0.3

    fixable = False


class variance_without_mean_path:
    """Right: the path through the mean is zero. Wrong: 1 / (n - 1) for 1 / n."""

    at = {"x": (5,)}
    says = "N / (N - 1)"

    def f(x):
        return x.var()

    def grad(x):
        return 2 * (x - x.mean()) / (len(x) - 1)

    def right(x):
        return 2 * (x - x.mean()) / len(x)


class std_without_root:
    at = {"x": (5,)}
    says = ("the value", "is missing")

    def f(x):
        return x.std()

    def grad(x):
        return (x - x.mean()) / len(x)

    def right(x):
        return (x - x.mean()) / len(x) / x.std()


class skew_without_mean:
    """The mean is treated as a constant."""

    at = {"x": (6,)}
    says = ("the path through the mean", "the same in all elements")

    def f(x):
        return ((x - x.mean()) ** 3).mean()

    def grad(x):
        return 3 * (x - x.mean()) ** 2 / len(x)

    def right(x):
        d = (x - x.mean()) ** 2
        return 3 * (d - d.mean()) / len(x)


class centred_square_of_raw:
    """x in place of x - mean."""

    at = {"x": (6,)}
    says = ("2 * mean(x) is superfluous", "sum(x)")

    def f(x):
        return ((x - x.mean()) ** 2).sum()

    def grad(x):
        return 2 * x

    def right(x):
        return 2 * (x - x.mean())


class mean_without_count:
    at = {"x": (6,)}
    says = "too large by a factor of 6"

    def f(x):
        return x.mean()

    def grad(x):
        return np.ones_like(x)

    def right(x):
        return np.ones_like(x) / x.size


class geometric_mean:
    def at(rng):
        return {"x": rng.uniform(0.5, 2, 4)}

    says = ("the value", "the output")

    def f(x):
        return np.exp(np.log(x).mean())

    def grad(x):
        return 1 / x / x.size

    def right(x):
        return np.exp(np.log(x).mean()) / x / x.size


class product_with_own_factor:
    def at(rng):
        return {"x": rng.uniform(0.5, 2, 4)}

    says = "the claim is x times the derivative"

    def f(x):
        return np.prod(x)

    def grad(x):
        return np.prod(x) * np.ones_like(x)

    def right(x):
        return np.prod(x) / x


class correlation_numerator_only:
    at = {"x": (6,), "y": (6,)}
    wrt = ["x"]
    says = ("the path through", "6 of 6")

    def f(x, y):
        a, b = x - x.mean(), y - y.mean()
        return a @ b / np.sqrt((a @ a) * (b @ b))

    def grad(x, y):
        a, b = x - x.mean(), y - y.mean()
        return b / np.sqrt((a @ a) * (b @ b))

    def right(x, y):
        a, b = x - x.mean(), y - y.mean()
        n = np.sqrt((a @ a) * (b @ b))
        return b / n - a * (a @ b) / n / (a @ a)


class entropy_without_one:
    def at(rng):
        return {"p": rng.uniform(0.1, 0.9, 5)}

    says = "the claim minus 1"

    def f(p):
        return -np.sum(p * np.log(p))

    def grad(p):
        return -np.log(p)

    def right(p):
        return -np.log(p) - 1


class mixture_without_weight:
    at = {"m": [0.3, -0.8], "x": (7,)}
    wrt = ["m"]
    says = ("2 of 2",)

    def f(m, x):
        e = 0.3 * np.exp(-0.5 * (x - m[0]) ** 2) + 0.7 * np.exp(-0.5 * (x - m[1]) ** 2)
        return -np.log(e).sum()

    def grad(m, x):
        a, b = np.exp(-0.5 * (x - m[0]) ** 2), np.exp(-0.5 * (x - m[1]) ** 2)
        e = 0.3 * a + 0.7 * b
        return -np.array([(a * (x - m[0]) / e).sum(), (b * (x - m[1]) / e).sum()])

    def right(m, x):
        a, b = np.exp(-0.5 * (x - m[0]) ** 2), np.exp(-0.5 * (x - m[1]) ** 2)
        e = 0.3 * a + 0.7 * b
        return -np.array([(0.3 * a * (x - m[0]) / e).sum(), (0.7 * b * (x - m[1]) / e).sum()])


class gumbel_term:
    at = {"x": (5,)}
    says = ("the same everywhere", "5 of 5")

    def f(x):
        return np.sum(x + np.exp(-x))

    def grad(x):
        return -np.exp(-x)

    def right(x):
        return 1 - np.exp(-x)


class rbf_kernel_length_scale:
    at = {"x": (4,), "y": (4,), "s": 0.7}
    wrt = ["x"]
    says = "the claim is s times the derivative"

    def f(x, y, s):
        return np.exp(-np.sum((x - y) ** 2) / (2 * s**2))

    def grad(x, y, s):
        return -(x - y) / s * np.exp(-np.sum((x - y) ** 2) / (2 * s**2))

    def right(x, y, s):
        return -(x - y) / s**2 * np.exp(-np.sum((x - y) ** 2) / (2 * s**2))


class rbf_kernel_without_value:
    at = {"x": (4,), "y": (4,)}
    wrt = ["x"]
    says = ("the value", "the output")

    def f(x, y):
        return np.exp(-0.5 * np.sum((x - y) ** 2))

    def grad(x, y):
        return -(x - y)

    def right(x, y):
        return -(x - y) * np.exp(-0.5 * np.sum((x - y) ** 2))


class printed_to_six_digits:
    """Gradients read from a text with six significant digits."""

    at = {"x": (6,)}
    says = ("6 significant digits", "rounded to 6")
    fixable = False

    def f(x):
        return np.sum(np.exp(x) * np.sin(x))

    def grad(x):
        return np.array([float(f"{v:.6g}") for v in np.exp(x) * (np.sin(x) + np.cos(x))])

    def right(x):
        return np.exp(x) * (np.sin(x) + np.cos(x))
