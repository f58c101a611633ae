"""gradcli.fft and the short-time transforms, against SciPy and identities."""

import numpy as np
import pytest
import scipy.fft
from numpy.lib.stride_tricks import sliding_window_view
from numpy.testing import assert_allclose

import gradcli as gc
from gradcli import fft
from gradcli.autograd import grad
from tests.rules import test_table as net
from tests.rules.calls import Given

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
    """SciPy's function, which has its own words."""
    words = {"norm": norm, **({"n": n} if name[-1] not in "2n" else {"s": s})}
    if dim is not None:
        words["axis" if name[-1] not in "2n" else "axes"] = dim
    return getattr(scipy.fft, name)(x, **words)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_value_type_and_slope(name, options):
    x = REAL if name.startswith(("rfft", "ihfft")) else COMPLEX
    function = getattr(fft, name)
    out = function(gc.tensor(x), **options)
    assert_allclose(out.numpy(), by_scipy(name, x, **options), rtol=1e-11, atol=1e-13)
    single = function(gc.tensor(x).to(gc.complex64 if x is COMPLEX else gc.float32), **options)
    assert single.dtype.itemsize * 2 == out.dtype.itemsize

    def on_parts(*parts):
        out = function(gc.complex(*parts) if x is COMPLEX else parts[0], **options)
        return gc.view_as_real(out) if out.is_complex() else out

    net.test_the_gradient_is_the_slope(Given(on_parts, [x.real, x.imag] if x is COMPLEX else [x]))


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


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: fft.fft(x, n=0), RuntimeError, "at least one data point"),
        (lambda x: fft.fft(x, dim=4), IndexError, "out of bounds"),
        (lambda x: fft.fft(x, norm="x"), RuntimeError, "norm must be"),
        (lambda x: fft.rfft(x + 1j), RuntimeError, "real input"),
        (lambda x: fft.fft(x[0, 0]), IndexError, "none to transform"),
        (lambda x: fft.fftn(x, s=(1, 2), dim=(0,)), RuntimeError, "2 lengths are given for 1 axes"),
        (lambda x: fft.fftn(x, dim=(0, 0)), RuntimeError, "not all different"),
        (lambda x: gc.stft(x[0], 4), RuntimeError, "return_complex"),
        (lambda x: gc.stft(x[0], 9, return_complex=True), RuntimeError, "reflecting"),
        (lambda x: gc.stft(x[0], 2, 1, window=gc.ones(1), return_complex=True), RuntimeError, "window of size 2"),
    ],
)
def test_wrong_arguments(call, error, text):
    with pytest.raises(error, match=text):
        call(gc.ones(2, 3))


SIGNAL = rng.normal(size=(2, 20))


@pytest.mark.parametrize(
    ("mode", "theirs"), [("reflect", "reflect"), ("constant", "constant"), ("replicate", "edge")]
)
def test_stft(mode, theirs):
    window = np.hanning(7)[1:-1]
    padded = np.concatenate([np.zeros(1), window, np.zeros(2)])

    def ours(x):
        return gc.stft(x, 8, 3, 5, gc.tensor(window), pad_mode=mode, normalized=True, return_complex=True)

    pieces = sliding_window_view(np.pad(SIGNAL, ((0, 0), (4, 4)), mode=theirs), 8, 1)[:, ::3]
    expected = np.fft.rfft(pieces * padded, norm="ortho").swapaxes(1, 2)
    assert_allclose(ours(gc.tensor(SIGNAL)).numpy(), expected, atol=1e-13)
    net.test_the_gradient_is_the_slope(Given(lambda x: gc.view_as_real(ours(x)), [SIGNAL]))


def test_the_inverse_gives_the_signal_back():
    window = gc.tensor(np.hanning(10)[1:-1])
    for options in ({}, {"normalized": True}, {"onesided": False}):
        leaf = gc.tensor(SIGNAL, requires_grad=True)
        spectrum = gc.stft(leaf, 8, window=window, return_complex=True, **options)
        signal = gc.istft(spectrum, 8, window=window, **options)
        assert_allclose(signal.detach().numpy(), SIGNAL, atol=1e-13)
        weights = rng.normal(size=signal.shape)
        assert_allclose(grad(signal, leaf, gc.tensor(weights))[0].numpy(), weights, atol=1e-12)
    assert tuple(gc.istft(spectrum, 8, window=window, onesided=False, length=13).shape) == (2, 13)
    with pytest.raises(RuntimeError, match="overlap to 0"):
        gc.istft(spectrum, 8, window=gc.zeros(8), onesided=False)
    pair = gc.stft(leaf, 8, return_complex=False)
    assert tuple(pair.shape) == (2, 5, 11, 2)
