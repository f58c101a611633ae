"""Elementwise functions with PyTorch's arguments, and complex numbers."""

import numpy as np
import pytest

import gradcli as gc

from .slopes import check

X = np.array([[0.3, -1.2, 2.5], [1.7, 0.6, -0.4]])
Y = np.array([0.9, 1.4, 2.2])
P = np.array([0.35, 1.2, 2.6])

VALUES = [
    ("addcmul", lambda x, y: x.addcmul(y, y, value=2), (X, Y), X + 2 * Y * Y),
    ("addcdiv", lambda x, y: x.addcdiv(x, y, value=0.5), (X, Y), X + 0.5 * X / Y),
    ("logit with eps", lambda x: (x / 3).logit(eps=0.2), (P,), np.log([0.2 / 0.8, 0.4 / 0.6, 0.8 / 0.2])),
    ("rpow", lambda x: 2.5**x, (X,), 2.5**X),
    ("rmod", lambda x: 5.3 % x, (P + 2,), 5.3 % (P + 2)),
    ("round decimals", lambda x: x + x.round(decimals=1), (X + 0.02,), X + 0.02 + X),
    ("div floor", lambda x, y: x * gc.div(x, y, rounding_mode="floor"), (X, Y), X * np.floor(X / Y)),
    ("div trunc", lambda x, y: x * gc.div(x, y, rounding_mode="trunc"), (X, Y), X * np.trunc(X / Y)),
    ("clamp by tensors", lambda x, y: x.clamp(min=-y, max=y / 2), (X, Y), np.clip(X, -Y, Y / 2)),
    ("polygamma", lambda x: x.polygamma(1), (P,), None),
    ("angle", lambda x, y: gc.complex(x, y).angle(), (P, Y), np.arctan2(Y, P)),
    ("view_as_real", lambda x, y: gc.view_as_real(gc.complex(x, y)), (P, Y), np.stack([P, Y], -1)),
]


@pytest.mark.parametrize(("call", "arrays", "expected"), [row[1:] for row in VALUES], ids=[row[0] for row in VALUES])
def test_values_and_gradients(call, arrays, expected):
    check(call, arrays, expected)


Z = X[0] + 1j * Y

COMPLEX = [
    ("abs", np.abs),
    ("sgn", lambda z: z / abs(z)),
    ("square", np.square),
    ("sigmoid", lambda z: 1 / (1 + np.exp(-z))),
    ("sinc", lambda z: np.sin(np.pi * z) / (np.pi * z)),
    ("prod", np.prod),
    ("rsqrt", lambda z: 1 / np.sqrt(z)),
    ("conj_physical", np.conj),
]
ALONG = [
    ("cumprod", np.cumprod),
    ("logsumexp", lambda z: np.log(np.exp(z).sum())),
    ("logcumsumexp", lambda z: np.log(np.cumsum(np.exp(z)))),
    ("cumsum", np.cumsum),
]


@pytest.mark.parametrize(("name", "numpy"), COMPLEX + ALONG)
def test_complex(name, numpy):
    """Check the derivatives of the real and imaginary parts of f(x + i y) with respect to x and y."""
    arguments = (0,) if (name, numpy) in ALONG else ()

    def parts(x, y):
        out = getattr(gc, name)(gc.complex(x, y), *arguments)
        return gc.view_as_real(out) if out.is_complex() else out

    expected = numpy(Z)
    check(parts, (Z.real, Z.imag), np.stack([expected.real, expected.imag], -1) if name != "abs" else expected)


def test_logaddexp_of_complex_numbers():
    def parts(x, y):
        return gc.view_as_real(gc.logaddexp(gc.complex(x, y), gc.complex(y, x)))

    expected = np.log(np.exp(Z) + np.exp(1j * Z.conj()))
    check(parts, (Z.real, Z.imag), np.stack([expected.real, expected.imag], -1))


@pytest.mark.parametrize("mode", ["floor", "trunc"])
def test_division_of_integers_is_exact(mode):
    x = 2**62 + 1
    signs = gc.tensor([x, -x])
    expected = [x // 3, -(x // 3) - (mode == "floor" and x % 3 != 0)]
    assert gc.div(signs, 3, rounding_mode=mode).tolist() == expected
