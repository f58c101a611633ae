"""numdifftools: Gradient, which estimates its own error."""

import numdifftools

from . import agrees


def judge(f, x, claimed):
    slope, error = numdifftools.Gradient(f, full_output=True)(x)[:2]
    return "pass" if agrees(claimed, slope, error) else "fail"
