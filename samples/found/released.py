"""Helpers of these samples: require a release of a package, and verify a formula in 30 digits."""

import unittest
from importlib import metadata

import mpmath
import numpy as np

DIGITS = 30


def require(package, version):
    """Raise SkipTest unless this release of a package is installed."""
    try:
        installed = metadata.version(package)
    except metadata.PackageNotFoundError:
        raise unittest.SkipTest(f"needs {package} {version}, which is not installed") from None
    if installed != version:
        raise unittest.SkipTest(f"needs {package} {version}, but {installed} is installed")


def prove(function, derivative, point):
    """Compare a derivative with differences of the function, both in 30 digits. Raises AssertionError.

    function: takes a list of numbers and returns a number or a list. derivative: a list, or a row for each output.
    """
    with mpmath.workdps(DIGITS):
        point = [mpmath.mpf(x) for x in point]
        claimed = derivative(point)
        for j, row in enumerate(claimed if isinstance(claimed[0], list) else [claimed]):
            for i, slope in enumerate(row):
                numeric = mpmath.diff(along(function, point, i, j), point[i])
                close = mpmath.mpf(10) ** (5 - DIGITS) * (1 + abs(numeric))
                assert abs(slope - numeric) < close, f"[{j}, {i}]: {slope} is not {numeric}"


def along(function, point, i, j):
    """Return output j as a function of input i."""

    def output(t):
        values = function([*point[:i], t, *point[i + 1 :]])
        return values[j] if isinstance(values, list) else values

    return output


def in_floats(derivative):
    """Return a derivative, computed in 30 digits, as a function of an array."""

    def rounded(x):
        with mpmath.workdps(DIGITS):
            return np.array(derivative([mpmath.mpf(float(t)) for t in x]), dtype=float)

    return rounded
