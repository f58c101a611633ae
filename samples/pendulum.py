"""The period of a pendulum, by numeric integration: gradcli grad samples/pendulum.py:period length=1.5 --numeric."""

import numpy as np
from scipy.integrate import quad


def period(length, swing=1.2, gravity=9.81):
    """Return the period in seconds. swing: the largest angle, in radians."""
    k = np.sin(swing / 2)
    integral, _ = quad(lambda angle: 1 / np.sqrt(1 - (k * np.sin(angle)) ** 2), 0, np.pi / 2)
    return 4 * np.sqrt(length / gravity) * integral
