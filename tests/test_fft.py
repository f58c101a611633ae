"""gradcli.fft against SciPy and identities; tests/rules/test_matrices.py tests its derivatives."""

import numpy as np
import pytest
import scipy.fft
from numpy.testing import assert_allclose

import gradcli as gc
from gradcli import fft

rng = np.random.default_rng(0)
REAL = rng.normal(size=(2, 3, 4))
COMPLEX = REAL + 1j * rng.normal(size=(2, 3, 4))
ONE = [{}, {"n": 3, "dim": 0}, {"n": 5, "norm": "ortho"}, {"dim": 1, "norm": "forward"}]
MANY = [{}, {"s": (2, 5), "dim": (1, 0)}, {"dim": (0, -1), "norm": "ortho"}]
CASES = [
    (name, options)
    for kind in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    for name, several in ((kind, ONE), (f"{kind}2", MANY), (f"{kind}n", MANY))
    for options in several
]


def by_scipy(name, x, n=None, s=None, dim=None, norm=None):
    """Call SciPy's function, whose arguments have other names."""
    words = {"norm": norm, **({"n": n} if name[-1] not in "2n" else {"s": s})}
    if dim is not None:
        words["axis" if name[-1] not in "2n" else "axes"] = dim
    return getattr(scipy.fft, name)(x, **words)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_value_and_type(name, options):
    x = REAL if name.startswith(("rfft", "ihfft")) else COMPLEX
    function = getattr(fft, name)
    out = function(gc.tensor(x), **options)
    assert_allclose(out.numpy(), by_scipy(name, x, **options), rtol=1e-11, atol=1e-13)
    single = function(gc.tensor(x).to(gc.complex64 if x is COMPLEX else gc.float32), **options)
    assert single.dtype.itemsize * 2 == out.dtype.itemsize


def test_frequencies_and_shifts():
    assert fft.fftfreq(5, 0.5).tolist() == np.fft.fftfreq(5, 0.5).tolist()
    assert fft.rfftfreq(4, dtype=gc.float32).tolist() == [0, 0.25, 0.5]
    x = gc.arange(5)
    assert fft.fftshift(x).tolist() == [3, 4, 0, 1, 2]
    assert fft.ifftshift(fft.fftshift(x)).tolist() == x.tolist()
    assert fft.fftshift(gc.tensor([[1, 2], [3, 4]]), dim=(1,)).tolist() == [[2, 1], [4, 3]]


def test_integers_and_scalars():
    assert fft.fft(gc.arange(3)).dtype == gc.complex128
    assert fft.rfft(gc.arange(3)).tolist()[0] == 3
    assert fft.fftn(gc.tensor(2.0)).item() == 2
    assert tuple(fft.irfft(gc.ones(2), n=3).shape) == (3,)
