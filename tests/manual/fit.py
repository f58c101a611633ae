import numpy as np
from scipy.optimize import curve_fit

t = np.linspace(0, 4, 30)


def decay(t, a, b):
    return a * np.exp(-b * t)


def decay_jacobian(t, a, b):
    return np.stack([np.exp(-b * t), -a * t * np.exp(-b * t)], axis=1)


print(curve_fit(decay, t, decay(t, 2.5, 1.3), p0=[1, 1], jac=decay_jacobian)[0])
