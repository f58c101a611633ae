"""Energies, forces and equations of motion."""

import numpy as np


class lennard_jones_exponent:
    at = {"r": [1.1, 1.3, 1.6]}
    says = ("r**-7", "is missing or has", "factor r", "3 of 3")

    def f(r):
        return 4 * (r**-12 - r**-6)

    def vjp(g, r):
        return g * 4 * (-12 * r**-13 + 6 * r**-6)

    def right(g, r):
        return g * 4 * (-12 * r**-13 + 6 * r**-7)


class lennard_jones_sign:
    at = {"r": [1.1, 1.3, 1.6]}
    says = "r**-7"

    def f(r):
        return np.sum(4 * (r**-12 - r**-6))

    def grad(r):
        return 4 * (-12 * r**-13 - 6 * r**-7)

    def right(r):
        return 4 * (-12 * r**-13 + 6 * r**-7)


class force_for_gradient:
    at = {"r": [1.1, 1.3, 1.6]}
    says = "the sign is wrong"

    def f(r):
        return np.sum(0.5 * 3.0 * (r - 1) ** 2)

    def grad(r):
        return -3.0 * (r - 1)

    def right(r):
        return 3.0 * (r - 1)


class pair_counted_twice:
    at = {"x": (4, 3)}
    says = "twice the derivative"

    def f(x):
        d = x[:, None] - x[None]
        return 0.25 * np.sum(d**2)

    def grad(x):
        return 2 * (len(x) * x - x.sum(0))

    def right(x):
        return len(x) * x - x.sum(0)


class newton_third_law:
    """Only the first atom of each pair gets a force."""

    at = {"x": (4, 3)}
    says = ("12 of 12", "in x[0:3]")

    def f(x):
        return sum(np.sum((x[i] - x[j]) ** 2) for i in range(4) for j in range(i))

    def grad(x):
        g = np.zeros_like(x)
        for i in range(4):
            for j in range(i):
                g[i] += 2 * (x[i] - x[j])
        return g

    def right(x):
        g = np.zeros_like(x)
        for i in range(4):
            for j in range(i):
                g[i] += 2 * (x[i] - x[j])
                g[j] -= 2 * (x[i] - x[j])
        return g


class coulomb_power:
    at = {"r": (3,)}
    says = ("norm(r)",)

    def f(r):
        return 1 / np.linalg.norm(r)

    def grad(r):
        return -r / np.linalg.norm(r) ** 2

    def right(r):
        return -r / np.linalg.norm(r) ** 3


class distance_not_normalized:
    at = {"a": (3,), "b": (3,)}
    says = ("the value", "b: 3 of 3")

    def f(a, b):
        return np.linalg.norm(a - b)

    def grad(a, b):
        return a - b, b - a

    def right(a, b):
        n = np.linalg.norm(a - b)
        return (a - b) / n, (b - a) / n


class pendulum_rows:
    at = {"s": (2,)}
    says = ("rows", "exchanged", "4 of 4", "permuted", "out[")

    def f(s):
        return np.array([s[1], -9.81 * np.sin(s[0])])

    def grad(s):
        return np.array([[-9.81 * np.cos(s[0]), 0], [0, 1.0]])

    def right(s):
        return np.array([[0, 1.0], [-9.81 * np.cos(s[0]), 0]])


class pendulum_sin_kept:
    at = {"s": (2,)}
    says = ("sin", "d out[1]/d s[0]", "s[0]")

    def f(s):
        return np.array([s[1], -9.81 * np.sin(s[0])])

    def grad(s):
        return np.array([[0, 1.0], [-9.81 * np.sin(s[0]), 0]])

    def right(s):
        return np.array([[0, 1.0], [-9.81 * np.cos(s[0]), 0]])


class damped_spring_missing_damping:
    at = {"s": (2,)}
    says = ("zero", "[1]")

    def f(s):
        return np.array([s[1], -4.0 * s[0] - 0.3 * s[1]])

    def grad(s):
        return np.array([[0, 1.0], [-4.0, 0.0]])

    def right(s):
        return np.array([[0, 1.0], [-4.0, -0.3]])


class lotka_volterra_term:
    at = {"s": [1.2, 0.7]}
    says = ("d out[0]/d s[0]", "out[0]")

    def f(s):
        return np.array([1.1 * s[0] - 0.4 * s[0] * s[1], 0.1 * s[0] * s[1] - 0.4 * s[1]])

    def grad(s):
        return np.array([[1.1, -0.4 * s[0]], [0.1 * s[1], 0.1 * s[0] - 0.4]])

    def right(s):
        return np.array([[1.1 - 0.4 * s[1], -0.4 * s[0]], [0.1 * s[1], 0.1 * s[0] - 0.4]])


class lorenz_row:
    at = {"s": [1.0, 2.0, 3.0]}
    says = ("in out[1]", "out[1]")

    def f(s):
        x, y, z = s
        return np.array([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])

    def grad(s):
        x, y, z = s
        return np.array([[-10, 10, 0], [28 - z, -1, x], [y, x, -8 / 3]])

    def right(s):
        x, y, z = s
        return np.array([[-10, 10, 0], [28 - z, -1, -x], [y, x, -8 / 3]])


class kinetic_energy_mass:
    def at(rng):
        return {"v": (4, 2), "m": rng.uniform(0.5, 2, 4)}

    wrt = ["v"]
    says = ("a factor m is missing", "axis 0")

    def f(v, m):
        return 0.5 * np.sum(m[:, None] * v**2)

    def grad(v, m):
        return v

    def right(v, m):
        return m[:, None] * v


class morse_inner_derivative:
    at = {"r": [0.9, 1.2, 1.7]}
    says = "the claim is 2/3 times the derivative"

    def f(r):
        return np.sum((1 - np.exp(-1.5 * (r - 1))) ** 2)

    def grad(r):
        e = np.exp(-1.5 * (r - 1))
        return 2 * (1 - e) * e

    def right(r):
        e = np.exp(-1.5 * (r - 1))
        return 2 * 1.5 * (1 - e) * e


class harmonic_angle_sign:
    """The slope of arccos lacks its minus."""

    at = {"c": [0.2, -0.5, 0.7]}
    says = "the sign is wrong"

    def f(c):
        return np.sum((np.arccos(c) - 1.2) ** 2)

    def grad(c):
        return 2 * (np.arccos(c) - 1.2) / np.sqrt(1 - c**2)

    def right(c):
        return -2 * (np.arccos(c) - 1.2) / np.sqrt(1 - c**2)


class planck_quotient_rule:
    at = {"x": [0.5, 1.2, 2.3]}
    says = ("is missing", "3 of 3")

    def f(x):
        return x**3 / (np.exp(x) - 1)

    def vjp(g, x):
        return g * 3 * x**2 / (np.exp(x) - 1)

    def right(g, x):
        return g * (3 * x**2 / (np.exp(x) - 1) - x**3 * np.exp(x) / (np.exp(x) - 1) ** 2)


class residual_without_sigma:
    def at(rng):
        return {"p": [1.3, 0.6], "t": np.linspace(0, 2, 6), "s": rng.uniform(0.5, 2, 6)}

    wrt = ["p"]
    says = ("the claim is s times the derivative", "a factor s")

    def f(p, t, s):
        return (p[0] * np.exp(-p[1] * t) - 1) / s

    def grad(p, t, s):
        e = np.exp(-p[1] * t)
        return np.stack([e, -p[0] * t * e], 1)

    def right(p, t, s):
        e = np.exp(-p[1] * t)
        return np.stack([e, -p[0] * t * e], 1) / s[:, None]


class chi_square_without_sigma:
    """The weights of the residuals are forgotten in a sum of squares."""

    def at(rng):
        return {"p": [1.3, 0.6], "t": np.linspace(0, 2, 6), "s": rng.uniform(0.5, 2, 6)}

    wrt = ["p"]
    says = ("2 of 2", "divide")

    def f(p, t, s):
        return np.sum(((p[0] * np.exp(-p[1] * t) - 1) / s) ** 2)

    def grad(p, t, s):
        e = np.exp(-p[1] * t)
        r = p[0] * e - 1
        return 2 * np.array([np.sum(r * e), np.sum(-r * p[0] * t * e)])

    def right(p, t, s):
        e = np.exp(-p[1] * t)
        r = (p[0] * e - 1) / s**2
        return 2 * np.array([np.sum(r * e), np.sum(-r * p[0] * t * e)])


class decay_without_time:
    at = {"a": 2.0, "b": 0.7, "t": np.linspace(0.5, 3, 7)}
    wrt = ["a", "b"]
    says = ("a factor t is missing", "a: right")

    def f(a, b, t):
        return a * np.exp(-b * t)

    def grad(a, b, t):
        e = np.exp(-b * t)
        return e, -a * e

    def right(a, b, t):
        e = np.exp(-b * t)
        return e, -a * t * e


class degrees_not_converted:
    at = {"t": [31.0, 67.0, 12.0]}
    says = "180 / pi"

    def f(t):
        return np.sin(np.radians(t))

    def vjp(g, t):
        return g * np.cos(np.radians(t))

    def right(g, t):
        return g * np.radians(1) * np.cos(np.radians(t))


class ideal_gas_denominator:
    """v in place of v**2 in the derivative by the volume."""

    at = {"t": 300.0, "v": 2.5}
    says = ("the claim is v times the derivative", "a factor v", "t: right")

    def f(t, v):
        return 8.314 * t / v

    def grad(t, v):
        return 8.314 / v, -8.314 * t / v

    def right(t, v):
        return 8.314 / v, -8.314 * t / v**2


class orbit_two_terms:
    """The second term of the gradient of a potential lacks its factor."""

    at = {"x": 0.7, "y": -0.4}
    says = ("y: right", "x")

    def f(x, y):
        return 0.5 * (x**2 + y**2) + x**2 * y - y**3 / 3

    def grad(x, y):
        return x + x * y, y + x**2 - y**2

    def right(x, y):
        return x + 2 * x * y, y + x**2 - y**2
