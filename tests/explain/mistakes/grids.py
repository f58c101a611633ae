"""Fields on grids, stencils, convolutions, sums along axes, sequences."""

import numpy as np


class laplacian_without_spacing:
    at = {"u": (7,)}
    says = "the claim is 0.1 times the derivative"

    def f(u):
        dx = 0.1
        return (u[2:] - 2 * u[1:-1] + u[:-2]) / dx**2

    def vjp(g, u):
        dx = 0.1
        out = np.zeros_like(u)
        out[2:] += g
        out[1:-1] -= 2 * g
        out[:-2] += g
        return out / dx

    def right(g, u):
        dx = 0.1
        out = np.zeros_like(u)
        out[2:] += g
        out[1:-1] -= 2 * g
        out[:-2] += g
        return out / dx**2


class burgers_without_product_rule:
    """The term with the derivative of u itself is missing."""

    at = {"u": (6,)}
    says = ("of 36", "diagonal")

    def f(u):
        return u * (np.roll(u, -1) - np.roll(u, 1)) / 2

    def vjp(g, u):
        return (np.roll(g * u, 1) - np.roll(g * u, -1)) / 2

    def right(g, u):
        return g * (np.roll(u, -1) - np.roll(u, 1)) / 2 + (np.roll(g * u, 1) - np.roll(g * u, -1)) / 2


class difference_not_adjoint:
    """The adjoint of a central difference is applied with the sign of the forward one."""

    at = {"u": (7,)}
    says = "the sign is wrong"

    def f(u):
        return (np.roll(u, -1) - np.roll(u, 1)) / 2

    def vjp(g, u):
        return (np.roll(g, -1) - np.roll(g, 1)) / 2

    def right(g, u):
        return (np.roll(g, 1) - np.roll(g, -1)) / 2


class forward_difference_not_adjoint:
    at = {"u": (6,)}
    says = "transpose"

    def f(u):
        return np.roll(u, -1) - u

    def vjp(g, u):
        return np.roll(g, -1) - g

    def right(g, u):
        return np.roll(g, 1) - g


class dirichlet_edges_forgotten:
    """Central differences inside; the ends keep zeros."""

    at = {"x": (8,)}
    says = ("[0]", "first", "ends")

    def f(x):
        return np.sum(np.diff(x) ** 2)

    def grad(x):
        g = np.zeros_like(x)
        g[1:-1] = 4 * x[1:-1] - 2 * x[2:] - 2 * x[:-2]
        return g

    def right(x):
        g = np.zeros_like(x)
        g[1:] += 2 * np.diff(x)
        g[:-1] -= 2 * np.diff(x)
        return g


class field_edges_forgotten:
    """All four edges of a field are wrong."""

    at = {"u": (5, 6)}
    says = "edges"

    def f(u):
        return 0.5 * np.sum(np.diff(u, axis=0) ** 2) + 0.5 * np.sum(np.diff(u, axis=1) ** 2)

    def grad(u):
        p = np.pad(u, 1)
        return 4 * u - p[2:, 1:-1] - p[:-2, 1:-1] - p[1:-1, 2:] - p[1:-1, :-2]

    def right(u):
        p = np.pad(u, 1, mode="edge")
        return 4 * u - p[2:, 1:-1] - p[:-2, 1:-1] - p[1:-1, 2:] - p[1:-1, :-2]


class field_left_columns:
    at = {"u": (4, 6)}
    says = "[:,0:2]"

    def f(u):
        return np.sum(np.sin(u[:, 2:])) + np.sum(u[:, :2] ** 2)

    def grad(u):
        return np.cos(u)

    def right(u):
        g = np.cos(u)
        g[:, :2] = 2 * u[:, :2]
        return g


class total_variation_without_neighbour:
    at = {"u": (5, 4)}
    says = "of 20"

    def f(u):
        return np.sum(np.diff(u, axis=1) ** 2)

    def grad(u):
        g = np.zeros_like(u)
        g[:, 1:] = 2 * np.diff(u, axis=1)
        return g

    def right(u):
        g = np.zeros_like(u)
        g[:, 1:] += 2 * np.diff(u, axis=1)
        g[:, :-1] -= 2 * np.diff(u, axis=1)
        return g


class convolution_kernel_not_flipped:
    at = {"x": (6,), "k": (3,)}
    wrt = ["x"]
    says = ("reverse", "flip")

    def f(x, k):
        return np.convolve(x, k, mode="full")

    def vjp(g, x, k):
        return np.convolve(g, k, mode="valid")

    def right(g, x, k):
        return np.correlate(g, k, mode="valid")


class correlation_gradient_reversed:
    at = {"x": (6,), "k": (3,)}
    wrt = ["k"]
    says = "in reverse order"

    def f(x, k):
        return np.array([x[i : i + 3] @ k for i in range(4)])

    def vjp(g, x, k):
        return np.array([g @ x[j : j + 4] for j in range(3)])[::-1]

    def right(g, x, k):
        return np.array([g @ x[j : j + 4] for j in range(3)])


class cumsum_wrong_way:
    at = {"x": (6,), "w": (6,)}
    wrt = ["x"]
    says = "a cumulative sum goes the wrong way along axis 0"

    def f(x, w):
        return (np.cumsum(x) * w).sum()

    def grad(x, w):
        return np.cumsum(w)

    def right(x, w):
        return np.cumsum(w[::-1])[::-1]


class cumsum_vjp_wrong_way:
    at = {"x": (5,)}
    says = ("transpose", "cumulative sum")

    def f(x):
        return np.cumsum(x)

    def vjp(g, x):
        return np.cumsum(g)

    def right(g, x):
        return np.cumsum(g[::-1])[::-1]


class cumsum_forgotten:
    at = {"x": (5, 3)}
    says = "a cumulative sum is missing along axis 0"

    def f(x):
        return (np.sin(np.cumsum(x, 0)) * np.arange(15.0).reshape(5, 3)).sum()

    def grad(x):
        return np.cos(np.cumsum(x, 0)) * np.arange(15.0).reshape(5, 3)

    def right(x):
        return np.cumsum((np.cos(np.cumsum(x, 0)) * np.arange(15.0).reshape(5, 3))[::-1], 0)[::-1]


class sum_over_wrong_axis:
    at = {"x": (4, 4), "b": (4,)}
    wrt = ["b"]
    says = "wrong axis"

    def f(x, b):
        return np.sum(np.tanh(x + b) ** 2)

    def grad(x, b):
        t = np.tanh(x + b)
        return (2 * t * (1 - t**2)).sum(1)

    def right(x, b):
        t = np.tanh(x + b)
        return (2 * t * (1 - t**2)).sum(0)


class mean_over_one_axis:
    """1 / 4 in place of 1 / (3 * 4)."""

    at = {"x": (3, 4)}
    says = "too large by a factor of 3"

    def f(x):
        return (x**2).mean()

    def grad(x):
        return 2 * x / x.shape[1]

    def right(x):
        return 2 * x / x.size


class off_by_one_index:
    at = {"x": (7,), "w": (7,)}
    wrt = ["x"]
    says = "i-1"

    def f(x, w):
        return (w * x**2).sum()

    def grad(x, w):
        return np.roll(2 * w * x, 1)

    def right(x, w):
        return 2 * w * x


class shifted_neighbour:
    """x[1:] in place of x[:-1]."""

    at = {"x": (6,)}
    says = ("of 6",)

    def f(x):
        return np.sum(x[1:] * x[:-1])

    def grad(x):
        g = np.zeros_like(x)
        g[1:] += x[1:]
        g[:-1] += x[1:]
        return g

    def right(x):
        g = np.zeros_like(x)
        g[1:] += x[:-1]
        g[:-1] += x[1:]
        return g


class sorted_order:
    """The gradient of weights on sorted values is not put back."""

    at = {"x": [0.3, -1.2, 2.0, 0.9, -0.4]}
    says = "in the order of the sorted x"

    def f(x):
        return np.sort(x) @ np.array([1.0, 10, 100, 1000, 10000])

    def grad(x):
        return np.array([1.0, 10, 100, 1000, 10000])

    def right(x):
        g = np.empty(5)
        g[np.argsort(x)] = np.array([1.0, 10, 100, 1000, 10000])
        return g


class interpolation_weights_exchanged:
    at = {"u": (5,)}
    says = ("of 20", "of 4", "of 5", "index")

    def f(u):
        t = np.array([0.2, 0.5, 0.7, 0.9])
        return (1 - t) * u[:-1] + t * u[1:]

    def vjp(g, u):
        t = np.array([0.2, 0.5, 0.7, 0.9])
        out = np.zeros_like(u)
        out[:-1] += t * g
        out[1:] += (1 - t) * g
        return out

    def right(g, u):
        t = np.array([0.2, 0.5, 0.7, 0.9])
        out = np.zeros_like(u)
        out[:-1] += (1 - t) * g
        out[1:] += t * g
        return out


class trapezoid_ends:
    """The end points of the trapezoidal rule have the weight of the others."""

    at = {"y": (6,)}
    says = ("[0]", "ends", "twice")

    def f(y):
        return np.sum((y[1:] + y[:-1]) / 2) * 0.25

    def grad(y):
        return np.full_like(y, 0.25)

    def right(y):
        g = np.full_like(y, 0.25)
        g[[0, -1]] = 0.125
        return g


class fft_power_without_two:
    at = {"x": (8,)}
    says = ("half the derivative", "factor")

    def f(x):
        return np.sum(np.abs(np.fft.fft(x)) ** 2)

    def grad(x):
        return np.fft.ifft(np.fft.fft(x)).real * len(x)

    def right(x):
        return 2 * np.fft.ifft(np.fft.fft(x)).real * len(x)


class fft_without_length:
    at = {"x": (8,)}
    says = "too small by a factor of 8"

    def f(x):
        return np.sum(np.abs(np.fft.fft(x)) ** 2)

    def grad(x):
        return 2 * np.fft.ifft(np.fft.fft(x)).real

    def right(x):
        return 2 * np.fft.ifft(np.fft.fft(x)).real * len(x)


class heat_step_time_step:
    at = {"u": (6,)}
    says = "the derivative of `0.1 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))` ("

    def f(u):
        return u + 0.1 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))

    def vjp(g, u):
        return g + (np.roll(g, 1) - 2 * g + np.roll(g, -1))

    def right(g, u):
        return g + 0.1 * (np.roll(g, 1) - 2 * g + np.roll(g, -1))


class upwind_wrong_side:
    at = {"u": (6,)}
    says = ("transpose", "of 36")

    def f(u):
        return u - 0.3 * (u - np.roll(u, 1))

    def vjp(g, u):
        return g - 0.3 * (g - np.roll(g, 1))

    def right(g, u):
        return g - 0.3 * (g - np.roll(g, -1))


class bilinear_field_transposed:
    at = {"u": (4, 4)}
    says = "the transpose of the derivative"

    def f(u):
        return np.sum(u**2 * np.arange(16.0).reshape(4, 4))

    def grad(u):
        return (2 * u * np.arange(16.0).reshape(4, 4)).T

    def right(u):
        return 2 * u * np.arange(16.0).reshape(4, 4)


class cubes_wrong_in_one_row:
    at = {"u": (4, 5)}
    says = "a factor u is missing in u[2]"

    def f(u):
        return np.sum(u**3)

    def grad(u):
        g = 3 * u**2
        g[2] = 3 * u[2]
        return g

    def right(u):
        return 3 * u**2


class stride_forgotten:
    """The differences are 3 and -3: a pattern of signs, which must not be named as a product of signs."""

    at = {"x": (6,)}
    says = "in the claim, the order is 0, 2, 4, 3, 1, 5"

    def f(x):
        return x[::2] * 3

    def vjp(g, x):
        out = np.zeros_like(x)
        out[: len(g)] = 3 * g
        return out

    def right(g, x):
        out = np.zeros_like(x)
        out[::2] = 3 * g
        return out
