"""Functions of calculus and of optimization."""

import numpy as np


class rosenbrock_sign:
    at = {"x": [0.7, -0.4, 1.2, 0.3]}
    says = ("of 4",)

    def f(x):
        return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    def grad(x):
        g = np.zeros_like(x)
        r = x[1:] - x[:-1] ** 2
        g[1:] += 200 * r
        g[:-1] += 400 * x[:-1] * r - 2 * (1 - x[:-1])
        return g

    def right(x):
        g = np.zeros_like(x)
        r = x[1:] - x[:-1] ** 2
        g[1:] += 200 * r
        g[:-1] += -400 * x[:-1] * r - 2 * (1 - x[:-1])
        return g


class himmelblau_factor:
    at = {"x": 0.7, "y": -0.4}
    says = ("y: right", "x")

    def f(x, y):
        return (x**2 + y - 11) ** 2 + (x + y**2 - 7) ** 2

    def grad(x, y):
        a, b = x**2 + y - 11, x + y**2 - 7
        return 2 * a * x + 2 * b, 2 * a + 4 * b * y

    def right(x, y):
        a, b = x**2 + y - 11, x + y**2 - 7
        return 4 * a * x + 2 * b, 2 * a + 4 * b * y


class quotient_rule_sign:
    at = {"x": [0.4, 1.3, -0.7]}
    says = ("3 of 3", "the derivative is the claim plus")

    def f(x):
        return np.sin(x) / (1 + x**2)

    def vjp(g, x):
        return g * (np.cos(x) / (1 + x**2) + 2 * x * np.sin(x) / (1 + x**2) ** 2)

    def right(g, x):
        return g * (np.cos(x) / (1 + x**2) - 2 * x * np.sin(x) / (1 + x**2) ** 2)


class product_of_two:
    at = {"x": (4,), "y": (4,)}
    says = "swapped"

    def f(x, y):
        return x * y

    def vjp(g, x, y):
        return g * x, g * y

    def right(g, x, y):
        return g * y, g * x


class power_of_two_arguments:
    """The derivative of x**y by y lacks log(x)."""

    def at(rng):
        return {"x": rng.uniform(0.5, 2, 4), "y": rng.uniform(0.5, 2, 4)}

    says = ("log(x)", "x: right")

    def f(x, y):
        return x**y

    def vjp(g, x, y):
        return g * y * x ** (y - 1), g * x**y

    def right(g, x, y):
        return g * y * x ** (y - 1), g * x**y * np.log(x)


class power_exponent_off:
    def at(rng):
        return {"x": rng.uniform(0.5, 2, 4), "y": rng.uniform(0.5, 2, 4)}

    wrt = ["x"]
    says = "the claim is x times the derivative"

    def f(x, y):
        return x**y

    def vjp(g, x, y):
        return g * y * x**y

    def right(g, x, y):
        return g * y * x ** (y - 1)


class division_by_denominator:
    at = {"x": (4,), "y": [0.5, 1.2, -0.8, 2.0]}
    says = ("the sign is wrong", "x: right")

    def f(x, y):
        return x / y

    def vjp(g, x, y):
        return g / y, g * x / y**2

    def right(g, x, y):
        return g / y, -g * x / y**2


class log_ratio_argument:
    """log(z) in place of log1p(z): a formula that lacks a term."""

    at = {"z": [2.0, 0.7, 1.4], "y": [1.0, 0.4, 2.2]}
    wrt = ["z"]
    says = "3 of 3"

    def f(z, y):
        return np.sum((np.log1p(z) - np.log1p(y)) ** 2 / 2)

    def grad(z, y):
        return (np.log(z) - np.log(y)) / (z + 1)

    def right(z, y):
        return (np.log1p(z) - np.log1p(y)) / (z + 1)


class logistic_map_chain:
    """The chain through three steps stops after the last."""

    at = {"r": 2.9}
    says = ("r: claimed", "is missing", "is left out")

    def f(r):
        x = 0.3
        for _ in range(3):
            x = r * x * (1 - x)
        return x

    def grad(r):
        x = 0.3
        for _ in range(2):
            x = r * x * (1 - x)
        return x * (1 - x)

    def right(r):
        x, d = 0.3, 0.0
        for _ in range(3):
            x, d = r * x * (1 - x), x * (1 - x) + r * (1 - 2 * x) * d
        return d


class newton_step_implicit:
    """The implicit function theorem without its minus."""

    at = {"a": [1.4, 2.2, 3.1]}
    says = "the sign is wrong"

    def f(a):
        x = np.ones_like(a)
        for _ in range(60):
            x = x - (x**3 + x - a) / (3 * x**2 + 1)
        return x

    def vjp(g, a):
        x = np.ones_like(a)
        for _ in range(60):
            x = x - (x**3 + x - a) / (3 * x**2 + 1)
        return -g / (3 * x**2 + 1)

    def right(g, a):
        x = np.ones_like(a)
        for _ in range(60):
            x = x - (x**3 + x - a) / (3 * x**2 + 1)
        return g / (3 * x**2 + 1)


class softmin_temperature:
    at = {"x": (5,)}
    says = "twice the derivative"

    def f(x):
        return -0.5 * np.log(np.sum(np.exp(-x / 0.5)))

    def grad(x):
        e = np.exp(-x / 0.5)
        return e / e.sum() / 0.5

    def right(x):
        e = np.exp(-x / 0.5)
        return e / e.sum()


class elementwise_minimum:
    at = {"x": (6,), "y": (6,)}
    says = ("swapped", "where")

    def f(x, y):
        return np.minimum(x, y)

    def vjp(g, x, y):
        return g * (x > y), g * (y > x)

    def right(g, x, y):
        return g * (x < y), g * (y < x)


class detached_input:
    at = {"x": (3,), "y": (3,)}
    says = ("elements of the gradient are zero", "x: right")

    def f(x, y):
        return np.sum(x**2 * y)

    def grad(x, y):
        return 2 * x * y, np.zeros_like(y)

    def right(x, y):
        return 2 * x * y, x**2


class nan_at_zero:
    at = {"x": [0.0, 1.2, -0.4]}
    says = "nan"

    def f(x):
        return np.sum(np.where(x == 0, 1.0, 1.0) * x**2)

    def grad(x):
        return 2 * x**2 / x

    def right(x):
        return 2 * x


class scalar_sign:
    at = {"x": 1.3}
    says = "the sign is wrong"

    def f(x):
        return np.cos(x)

    def grad(x):
        return np.sin(x)

    def right(x):
        return -np.sin(x)


class scalar_constant_kept:
    at = {"x": 1.3}
    says = ("x: claimed",)

    def f(x):
        return np.exp(2 * x) * np.sin(x)

    def grad(x):
        return 2 * np.exp(2 * x) * np.sin(x)

    def right(x):
        return np.exp(2 * x) * (2 * np.sin(x) + np.cos(x))


class jvp_without_second_term:
    at = {"x": (4,), "y": (4,)}
    says = ("x: right", "y: ")

    def f(x, y):
        return x * np.sin(y)

    def jvp(tangents, x, y):
        dx, dy = tangents
        return dx * np.sin(y)

    def right(tangents, x, y):
        dx, dy = tangents
        return dx * np.sin(y) + x * np.cos(y) * dy


class jvp_sign:
    at = {"x": (4,)}
    says = "the sign is wrong"

    def f(x):
        return np.cos(x)

    def jvp(tangents, x):
        (dx,) = tangents
        return np.sin(x) * dx

    def right(tangents, x):
        (dx,) = tangents
        return -np.sin(x) * dx


class absolute_value_of_sum:
    """The sign of the branch is missing."""

    local = True
    at = {"x": (5,)}
    says = ("5 of 5", "sign")

    def f(x):
        return np.abs(x.sum() - 4)

    def grad(x):
        return np.ones_like(x)

    def right(x):
        return np.sign(x.sum() - 4) * np.ones_like(x)


class wrong_arguments_exchanged:
    """The arguments of a function that is not symmetric are exchanged."""

    at = {"x": (4,), "y": (4,)}
    wrt = ["x"]
    says = ("exchanged", "x: 4 of 4", "4 of 4")

    def f(x, y):
        return np.sum(np.sin(x) * y**2)

    def grad(x, y):
        return np.cos(y) * x**2

    def right(x, y):
        return np.cos(x) * y**2


class huge_scale_dropped:
    at = {"x": (4,)}
    says = "1 / 1000000"

    def f(x):
        return 1e6 * np.sum(np.sin(x))

    def grad(x):
        return np.cos(x)

    def right(x):
        return 1e6 * np.cos(x)


class softsign_of_positive_numbers:
    """1 + x and 1 + abs(x) are the same here, and only one of them is right for negative numbers."""

    at = {"x": [0.4, 1.3, 0.7]}
    elementwise = True
    says = "the claim is (1 + abs(x)) times the derivative"

    def f(x):
        return x / (1 + np.abs(x))

    def grad(x):
        return 1 / (1 + np.abs(x))

    def right(x):
        return 1 / (1 + np.abs(x)) ** 2


class square_above_zero_twice:
    """The factor of 2 is there for positive numbers only."""

    at = {"x": [0.4, 1.3, 0.7]}
    local = True
    says = "probably accumulated twice, or 1/2 is missing; this holds near this point, but not at -x"

    def f(x):
        return np.sum(np.where(x > 0, x**2, np.sin(x)))

    def grad(x):
        return np.where(x > 0, 4 * x, np.cos(x))

    def right(x):
        return np.where(x > 0, 2 * x, np.cos(x))


class area_with_a_short_pi:
    at = {"r": [0.4, 1.3, 0.7]}
    says = "3.14 in place of pi"

    def f(r):
        return np.sum(np.pi * r**2)

    def grad(r):
        return 2 * 3.14 * r

    def right(r):
        return 2 * np.pi * r


class logarithm_with_a_short_constant:
    at = {"x": [0.4, 1.3, 0.7]}
    says = "2.303 in place of log 10, as a divisor"

    def f(x):
        return np.sum(np.log10(x))

    def grad(x):
        return 1 / (2.303 * x)

    def right(x):
        return 1 / (np.log(10) * x)
