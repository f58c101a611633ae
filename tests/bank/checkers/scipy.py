"""SciPy: scipy.optimize.check_grad, which returns the norm of the difference; up to 1e-5 of the claim's passes."""

import numpy as np
from scipy.optimize import check_grad


def judge(f, x, claimed):
    within = np.isfinite(claimed).all() and check_grad(f, lambda x: claimed, x) <= 1e-5 * np.linalg.norm(claimed)
    return "pass" if within else "fail"
