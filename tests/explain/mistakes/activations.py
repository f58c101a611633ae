"""Elementwise functions: activations and their slopes."""

import math

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def erf(x):
    return np.vectorize(math.erf)(x)


class sigmoid_of_its_output:
    """The slope is taken at sigmoid(x) as if that were x."""

    at = {"x": (5,)}
    says = "sigmoid at sigmoid(x) in place of that at x"

    def f(x):
        return sigmoid(x)

    def vjp(g, x):
        s = sigmoid(x)
        return g * sigmoid(s) * (1 - sigmoid(s))

    def right(g, x):
        s = sigmoid(x)
        return g * s * (1 - s)


class sigmoid_slope_of_the_input:
    """x (1 - x), which is right for an argument that is the output already."""

    at = {"x": (6,)}
    says = "the claim has x (1 - x) in place of s (1 - s), where s = sigmoid(x)"

    def f(x):
        return sigmoid(x).sum()

    def grad(x):
        return x * (1 - x)

    def right(x):
        return sigmoid(x) * (1 - sigmoid(x))


class sigmoid_not_squared:
    at = {"x": (5,)}
    says = "the claim has sigmoid(x) in place of its derivative"

    def f(x):
        return sigmoid(x)

    def vjp(g, x):
        return g * sigmoid(x)

    def right(g, x):
        s = sigmoid(x)
        return g * s * (1 - s)


class sigmoid_plus:
    """s (1 + s)."""

    at = {"x": (5,)}
    says = "the claim minus 2 * f**2, where f is the value of the function"

    def f(x):
        return sigmoid(x)

    def vjp(g, x):
        s = sigmoid(x)
        return g * s * (1 + s)

    def right(g, x):
        s = sigmoid(x)
        return g * s * (1 - s)


class tanh_not_squared:
    at = {"x": (6,)}
    says = "1 - tanh(x) in place of 1 - tanh(x)**2"

    def f(x):
        return np.tanh(x)

    def vjp(g, x):
        t = np.tanh(x)
        return g * (1 - t)

    def right(g, x):
        t = np.tanh(x)
        return g * (1 - t**2)


class tanh_of_the_input:
    at = {"x": (3, 2)}
    says = "the claim has 1 - x**2 in place of 1 - tanh(x)**2"

    def f(x):
        return np.tanh(x)

    def vjp(g, x):
        return g * (1 - x**2)

    def right(g, x):
        return g * (1 - np.tanh(x) ** 2)


class tanh_with_sech:
    """1 / cosh(x) without its square."""

    at = {"x": (5,)}
    says = "the claim is cosh(x) times the derivative"

    def f(x):
        return np.tanh(x)

    def vjp(g, x):
        return g / np.cosh(x)

    def right(g, x):
        return g / np.cosh(x) ** 2


class tanh_loss_without_slope:
    at = {"x": (5,)}
    says = "the derivative of tanh"

    def f(x):
        return (np.tanh(x) ** 2).sum()

    def grad(x):
        return 2 * np.tanh(x)

    def right(x):
        return 2 * np.tanh(x) * (1 - np.tanh(x) ** 2)


class relu_without_mask:
    at = {"x": (8,)}
    says = "a mask is missing"

    def f(x):
        return np.maximum(x, 0)

    def vjp(g, x):
        return g

    def right(g, x):
        return g * (x > 0)


class relu_wrong_side:
    """The mask is that of the negative side."""

    at = {"x": (7,)}
    says = ("wrong where x", "opposite", "x < 0")

    def f(x):
        return np.maximum(x, 0)

    def vjp(g, x):
        return g * (x < 0)

    def right(g, x):
        return g * (x > 0)


class relu_mask_of_gradient:
    """Guided: also the gradient is clipped at 0."""

    at = {"x": (6,)}
    says = ("not linear", "nonlinear")

    def f(x):
        return np.maximum(x, 0)

    def vjp(g, x):
        return np.maximum(g, 0) * (x > 0)

    def right(g, x):
        return g * (x > 0)


class leaky_relu_without_slope:
    at = {"x": (9,)}
    says = "the claim is right where x > 0, but wrong where x < 0; there, the claim is 0, but the derivative is not"

    def f(x):
        return np.where(x > 0, x, 0.01 * x)

    def vjp(g, x):
        return g * (x > 0)

    def right(g, x):
        return g * np.where(x > 0, 1, 0.01)


class leaky_relu_alpha_on_both_sides:
    at = {"x": (9,)}
    says = ("where x > 0", "where x >= 0", "0.1")

    def f(x):
        return np.where(x > 0, x, 0.1 * x)

    def vjp(g, x):
        return 0.1 * g

    def right(g, x):
        return g * np.where(x > 0, 1, 0.1)


class elu_without_alpha:
    at = {"x": (9,)}
    says = "the claim is 2/3 times the derivative where x < 0"

    def f(x):
        return np.where(x > 0, x, 1.5 * (np.exp(x) - 1))

    def vjp(g, x):
        return g * np.where(x > 0, 1, np.exp(x))

    def right(g, x):
        return g * np.where(x > 0, 1, 1.5 * np.exp(x))


class elu_from_the_output:
    """y in place of y + alpha."""

    at = {"x": (9,)}
    says = ("where x < 0", "where x <= 0")

    def f(x):
        return np.where(x > 0, x, np.exp(x) - 1)

    def vjp(g, x):
        y = np.where(x > 0, x, np.exp(x) - 1)
        return g * np.where(x > 0, 1, y)

    def right(g, x):
        y = np.where(x > 0, x, np.exp(x) - 1)
        return g * np.where(x > 0, 1, y + 1)


class softplus_not_sigmoid:
    """exp(x) / (1 + exp(x)) without the numerator."""

    at = {"x": (6,)}
    says = ("exp(x) is missing", "exp(x)")

    def f(x):
        return np.log1p(np.exp(x))

    def vjp(g, x):
        return g / (1 + np.exp(x))

    def right(g, x):
        return g * np.exp(x) / (1 + np.exp(x))


class softplus_with_beta:
    at = {"x": (6,)}
    says = ("factor 3", "3 times", "by a factor")

    def f(x):
        return np.log1p(np.exp(3 * x)) / 3

    def vjp(g, x):
        return 3 * g * sigmoid(3 * x)

    def right(g, x):
        return g * sigmoid(3 * x)


class silu_without_x:
    at = {"x": (7,)}
    says = ("a factor x is missing in", "(1 - x)")

    def f(x):
        return x * sigmoid(x)

    def vjp(g, x):
        s = sigmoid(x)
        return g * (s + s * (1 - s))

    def right(g, x):
        s = sigmoid(x)
        return g * (s + x * s * (1 - s))


class silu_without_one_minus:
    at = {"x": (9,)}
    says = ("sigmoid(x)**2", "s**2", "1 - s", "1 - sigmoid(x)")

    def f(x):
        return x / (1 + np.exp(-x))

    def vjp(g, x):
        s = 1 / (1 + np.exp(-x))
        return g * (s + x * s)

    def right(g, x):
        s = 1 / (1 + np.exp(-x))
        return g * (s + x * s * (1 - s))


class silu_first_term_only:
    at = {"x": (6,)}
    says = "the claim plus x * sigmoid(x) * (1 - sigmoid(x))"

    def f(x):
        return x * sigmoid(x)

    def vjp(g, x):
        return g * sigmoid(x)

    def right(g, x):
        s = sigmoid(x)
        return g * (s + x * s * (1 - s))


class gelu_without_density:
    at = {"x": (6,)}
    says = ("x * the normal density at x", "is missing")

    def f(x):
        return x * 0.5 * (1 + erf(x / np.sqrt(2)))

    def vjp(g, x):
        return g * 0.5 * (1 + erf(x / np.sqrt(2)))

    def right(g, x):
        return g * (0.5 * (1 + erf(x / np.sqrt(2))) + x * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi))


class gelu_density_not_scaled:
    """The density lacks 1 / sqrt(2 pi)."""

    at = {"x": (6,)}
    says = ("x * exp(-x**2 / 2)", "x * the normal density")

    def f(x):
        return x * 0.5 * (1 + erf(x / np.sqrt(2)))

    def vjp(g, x):
        return g * (0.5 * (1 + erf(x / np.sqrt(2))) + x * np.exp(-(x**2) / 2))

    def right(g, x):
        return g * (0.5 * (1 + erf(x / np.sqrt(2))) + x * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi))


class gelu_tanh_cubic:
    """0.044715 x**2 without the 3 of the inner derivative."""

    at = {"x": (6,)}
    says = "6 of 6"

    def f(x):
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))

    def vjp(g, x):
        t = np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))
        return g * (0.5 * (1 + t) + 0.5 * x * (1 - t**2) * np.sqrt(2 / np.pi) * (1 + 0.044715 * x**2))

    def right(g, x):
        t = np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))
        return g * (0.5 * (1 + t) + 0.5 * x * (1 - t**2) * np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x**2))


class softsign_not_squared:
    at = {"x": (6,)}
    says = ("1 + abs(x)", "1 + |x|")

    def f(x):
        return x / (1 + np.abs(x))

    def vjp(g, x):
        return g / (1 + np.abs(x))

    def right(g, x):
        return g / (1 + np.abs(x)) ** 2


class mish_without_tanh:
    """The term tanh(softplus(x)) is forgotten."""

    at = {"x": (6,)}
    says = ("is missing", "6 of 6")

    def f(x):
        return x * np.tanh(np.log1p(np.exp(x)))

    def vjp(g, x):
        t = np.tanh(np.log1p(np.exp(x)))
        return g * (x * (1 - t**2) * sigmoid(x))

    def right(g, x):
        t = np.tanh(np.log1p(np.exp(x)))
        return g * (t + x * (1 - t**2) * sigmoid(x))


class clip_limits_ignored:
    at = {"x": [-2.1, -0.4, 0.3, 0.8, 1.6, 2.2, -1.3]}
    says = "a mask is missing"

    def f(x):
        return np.clip(x, -1, 1)

    def vjp(g, x):
        return g

    def right(g, x):
        return g * (np.abs(x) < 1)


class clip_mask_on_one_side:
    at = {"x": [-2.1, -0.4, 0.3, 0.8, 1.6, 2.2, -1.3]}
    says = ("a mask is missing", "where x <")

    def f(x):
        return np.clip(x, -1, 1)

    def vjp(g, x):
        return g * (x < 1)

    def right(g, x):
        return g * (np.abs(x) < 1)


class hardsigmoid_without_sixth:
    at = {"x": [-4.1, -1.4, 0.3, 1.8, 3.6, -2.2, 2.5]}
    says = "the claim is 6 times the derivative"

    def f(x):
        return np.clip(x / 6 + 0.5, 0, 1)

    def vjp(g, x):
        return g * (np.abs(x) < 3)

    def right(g, x):
        return g * (np.abs(x) < 3) / 6


class square_by_half:
    """1.5 x**2 for x**3, in an elementwise derivative of 100 elements."""

    at = {"x": (100,)}
    elementwise = True
    says = "half the derivative"

    def f(x):
        return x**3

    def grad(x):
        return 1.5 * x**2

    def right(x):
        return 3 * x**2


class power_without_decrement:
    at = {"x": [0.5, 1.2, 0.9, 1.7]}
    says = "the claim is x times the derivative"

    def f(x):
        return (x**3).sum()

    def grad(x):
        return 3 * x**3

    def right(x):
        return 3 * x**2


class cube_with_linear_slope:
    """3 x for x**3."""

    at = {"x": [0.5, 1.2, 0.9, 1.7, -0.8, 0.3, 2.1, -1.4, 0.7, 1.1]}
    says = "a factor x is missing"

    def f(x):
        return (x**3).mean()

    def grad(x):
        return 3 * x / len(x)

    def right(x):
        return 3 * x**2 / len(x)


class reciprocal_sign:
    at = {"x": [0.5, 1.2, 0.9, -1.7]}
    says = "the sign is wrong"

    def f(x):
        return 1 / x

    def vjp(g, x):
        return g / x**2

    def right(g, x):
        return -g / x**2


class reciprocal_power:
    at = {"x": [0.5, 1.2, 0.9, -1.7]}
    says = ("a factor x is missing", "the claim is x times the derivative")

    def f(x):
        return 1 / x

    def vjp(g, x):
        return -g / x

    def right(g, x):
        return -g / x**2


class log_base:
    at = {"x": [0.5, 1.2, 0.9, 1.7]}
    says = "log 10"

    def f(x):
        return np.log10(x)

    def vjp(g, x):
        return g / x

    def right(g, x):
        return g / (x * np.log(10))


class sqrt_without_half:
    at = {"x": [0.5, 1.2, 0.9, 1.7]}
    says = "twice the derivative"

    def f(x):
        return np.sqrt(x)

    def vjp(g, x):
        return g / np.sqrt(x)

    def right(g, x):
        return g / (2 * np.sqrt(x))


class exp_of_square:
    """The inner derivative of exp(-x**2) is forgotten."""

    at = {"x": (5,)}
    says = "a factor x is missing"

    def f(x):
        return np.exp(-(x**2))

    def vjp(g, x):
        return -2 * g * np.exp(-(x**2))

    def right(g, x):
        return -2 * g * x * np.exp(-(x**2))


class arctan_without_square:
    at = {"x": (6,)}
    says = "6 of 6"

    def f(x):
        return np.arctan(x)

    def vjp(g, x):
        return g / (1 + x)

    def right(g, x):
        return g / (1 + x**2)


class sin_for_cos:
    at = {"x": (5, 5)}
    says = "sin(x) in place of cos(x)"

    def f(x):
        return np.sin(x)

    def vjp(g, x):
        return g * np.sin(x)

    def right(g, x):
        return g * np.cos(x)


class cos_squared:
    at = {"x": (5, 5)}
    says = ("the claim is cos(x) times the derivative", "cos(x)")

    def f(x):
        return np.sin(x)

    def vjp(g, x):
        return g * np.cos(x) ** 2

    def right(g, x):
        return g * np.cos(x)


class product_rule_of_x_sin_x:
    at = {"x": (7,)}
    says = "the claim plus x * cos(x)"

    def f(x):
        return x * np.sin(x)

    def vjp(g, x):
        return g * np.sin(x)

    def right(g, x):
        return g * (np.sin(x) + x * np.cos(x))


class rounding_straight_through:
    at = {"x": (6,)}
    says = "--reference"
    fixable = False

    def f(x):
        return np.round(x)

    def vjp(g, x):
        return g

    def right(g, x):
        return 0 * g


class clip_mask_above_only:
    at = {"x": [0.4, 1.3, -1.7, 0.9]}
    says = "a mask is missing: the derivative is 0 where x < -1"

    def f(x):
        return np.clip(x, -1, 1)

    def vjp(g, x):
        return g * (x < 1)

    def right(g, x):
        return g * (np.abs(x) < 1)


class logit_upside_down:
    at = {"p": [0.4, 0.3, 0.7]}
    says = "the claim is 1 divided by the derivative"

    def f(p):
        return np.log(p / (1 - p))

    def vjp(g, p):
        return g * p * (1 - p)

    def right(g, p):
        return g / (p * (1 - p))
