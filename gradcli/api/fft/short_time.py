"""The short-time Fourier transform and its inverse."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...rules import entry
from ...rules.fourier import fit_lengths, transform
from ...rules.index import Index, put
from ...tape.tensor import Tensor, as_raw
from ..wrap import operand, public

PAD_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def pad_signal(x: Tensor, width: int, mode: str) -> Tensor:
    """Return x with `width` more elements at both ends of its last axis."""
    length = x.shape[-1]
    if mode == "constant":
        zeros = operand(np.zeros((*x.shape[:-1], width), x.dtype))
        return entry("concatenate").function([zeros, x, zeros], -1)
    if mode not in PAD_MODES:
        raise RuntimeError(f"stft: unknown pad_mode {mode!r}; use 'constant', 'reflect', 'replicate' or 'circular'")
    if mode == "reflect" and width >= length:
        raise RuntimeError(f"stft: reflecting {width} elements needs more than {length}; use a smaller n_fft")
    places: Any = np.pad(np.arange(length), width, mode=PAD_MODES[mode])  # type: ignore[call-overload]
    return x[..., places]


def center_window(window: Any, win_length: int, n_fft: int, dtype: Any) -> Any:
    """Return the window, ones unless given, in the middle of n_fft elements."""
    if not 0 < win_length <= n_fft:
        raise RuntimeError(f"stft: expected 0 < win_length <= n_fft={n_fft}, but got {win_length}")
    window = operand(np.ones(win_length, np.zeros(0, dtype).real.dtype)) if window is None else operand(window)
    if tuple(window.shape) != (win_length,):
        raise RuntimeError(f"stft: expected a 1D window of size {win_length}, got shape {list(window.shape)}")
    before = (n_fft - win_length) // 2
    if win_length == n_fft:
        return window
    return entry("roll").function(fit_lengths(window, {-1: n_fft}), before)


@public
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
) -> Tensor:
    """Fourier transforms of overlapping windowed pieces: shape (..., frequencies, pieces).

    Pieces of n_fft elements start every hop_length (n_fft / 4), in the middle of a padded signal if center;
    one-sided for real signals. With return_complex=False real and imaginary parts are a last axis. Raises
    RuntimeError for sizes that do not fit.
    """
    x = operand(input)
    hop, width = hop_length or n_fft // 4, win_length or n_fft
    is_complex = x.dtype.kind == "c" or (window is not None and as_raw(window).dtype.kind == "c")
    if return_complex is None and not is_complex:
        raise RuntimeError("stft requires the return_complex parameter be given for real inputs")
    if x.ndim not in (1, 2):
        raise RuntimeError(f"stft: expected a tensor with shape (L) or (B, L), got {list(x.shape)}")
    x = pad_signal(x, n_fft // 2, pad_mode) if center else x
    if not 0 < n_fft <= x.shape[-1]:
        raise RuntimeError(f"stft: expected 0 < n_fft <= {x.shape[-1]}, but got n_fft={n_fft}")
    if hop <= 0:
        raise RuntimeError(f"stft: expected hop_length > 0, but got {hop}")
    starts = np.arange(0, x.shape[-1] - n_fft + 1, hop)
    pieces = x[..., starts[:, None] + np.arange(n_fft)]
    if window is not None or width < n_fft:
        pieces = pieces * center_window(window, width, n_fft, x.dtype)
    half = not is_complex if onesided is None else onesided
    if half and is_complex:
        raise RuntimeError("stft: cannot have onesided output if window or input is complex")
    out = transform(pieces, "rfft" if half else "fft", None, -1, "ortho" if normalized else None).mT
    if return_complex is False:
        return entry("stack").function([np.real(out), np.imag(out)], -1)
    return out


@public
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal, of `length` if given, whose short-time Fourier transform is closest to input.

    Griffin and Lim 1984, "Signal estimation from modified short-time Fourier transform". Raises RuntimeError
    for sizes that do not fit, and where the windows leave a gap.
    """
    x = operand(input)
    hop, width = hop_length or n_fft // 4, win_length or n_fft
    half = (not return_complex and x.shape[-2] != n_fft) if onesided is None else onesided
    if x.dtype.kind != "c" or x.ndim not in (2, 3) or x.shape[-2] != (n_fft // 2 + 1 if half else n_fft):
        raise RuntimeError(
            f"istft: expected a complex tensor of {n_fft // 2 + 1 if half else n_fft} frequencies by pieces, "
            f"got shape {list(x.shape)} of {x.dtype.name}"
        )
    weights = center_window(window, width, n_fft, x.dtype)
    pieces = transform(x.mT, "irfft" if half else "ifft", (n_fft,), -1, "ortho" if normalized else None)
    if not half and not return_complex:
        pieces = np.real(pieces)
    count, whole = x.shape[-1], n_fft + hop * (x.shape[-1] - 1)
    index = Index(np.arange(count)[:, None] * hop + np.arange(n_fft), (whole,))
    signal = put(pieces * weights, index=index, lead=tuple(x.shape[:-2]))
    squares = np.broadcast_to(weights * weights, (count, n_fft))
    start = n_fft // 2 if center else 0
    stop = start + length if length is not None else whole - start
    total = put(squares, index=index, lead=())[start:stop]
    if not total.shape[0] or abs(as_raw(total)).min() < 1e-11:
        raise RuntimeError("istft: the windows overlap to 0 somewhere; choose another window or hop_length")
    return fit_lengths(signal[..., start:stop] / total, {-1: stop - start})
