"""Minimize Rosenbrock's function by Newton's method: the gradient is right, but the Hessian has a small mistake.

gradcli watch -- python samples/fit.py
"""

import numpy as np
from scipy.optimize import minimize


def valley(x):
    return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2


def slope(x):
    return np.array([-400 * x[0] * (x[1] - x[0] ** 2) - 2 * (1 - x[0]), 200 * (x[1] - x[0] ** 2)])


def curvature(x):
    # d^2/dx0^2 = 1200 x0^2 - 400 x1 + 2: the last term was forgotten
    return np.array([[1200 * x[0] ** 2 - 400 * x[1], -400 * x[0]], [-400 * x[0], 200.0]])


result = minimize(valley, [-1.2, 1.0], jac=slope, hess=curvature, method="trust-exact")
print(f"minimum at {result.x.round(3)}")
