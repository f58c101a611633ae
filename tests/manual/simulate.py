"""A function for the manual that no engine can differentiate."""

import math


def drag(speed):
    return math.gamma(1.5) * speed**1.8
