"""Discrete Fourier transforms.

All transforms are made of three primitives: complex to complex, real to half of a spectrum, and back. They are closed
under transposition: the transpose of the first is itself in the other direction, and the other two are each other's
transposes if the inner elements of a half spectrum count twice.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .index import ArrayIndex, put
from .movement import roll
from .shapes import as_int, as_shape, lay_along, negative_axis, rank, shape_of
from .table import A, Sample, composition, internal, numpy_function, rule

NORMS = {"backward": (0.0, 1.0), "ortho": (0.5, 0.5), "forward": (1.0, 0.0)}


def multiply_by(x, scale):
    return x if scale == 1 else x * scale


def dft_forward(x, *, axis, inverse, scale):
    """Sums of x exp(-+ 2 pi i j k / n) over axes, times scale."""
    if inverse:
        return multiply_by(np.fft.ifftn(x, axes=axis, norm="forward"), scale)
    return multiply_by(np.fft.fftn(x, axes=axis), scale)


dft: Any = internal.linear(
    "dft",
    dft_forward,
    rule(
        "The same sums in the other direction",
        lambda g, _, _x, *, axis, inverse, scale: dft(g, axis=axis, inverse=not inverse, scale=scale),
    ),
    node="FftC2C",
)


def weights(x, n, axis, inner):
    """1 for elements of the half spectrum of n numbers that occur once in the full one, `inner` for the others."""
    count = n // 2 + 1
    values = np.full(count, inner, np.empty(0, x.dtype).real.dtype)
    values[0] = 1
    if n % 2 == 0:
        values[-1] = 1
    return lay_along(values, axis)


def rdft_vjp(g, _, x_shape, *, axis, scale):
    """The real part of the sums in the other direction."""
    n = x_shape[axis]
    return hdft(g * weights(g, n, axis, 0.5), axis=axis, n=n, scale=scale)


def hdft_vjp(g, _, _x, *, axis, n, scale):
    """Half of the spectrum, with its inner elements doubled."""
    out = rdft(g, axis=axis, scale=scale)
    return out * weights(out, n, axis, 2.0)


rdft = internal.linear(
    "rdft",
    lambda x, *, axis, scale: multiply_by(np.fft.rfft(x, axis=axis), scale),
    rdft_vjp,
    node="FftR2C",
    doc="The first half of the spectrum of real numbers along an axis.",
)
hdft = internal.linear(
    "hdft",
    lambda x, *, axis, n, scale: multiply_by(np.fft.irfft(x, n, axis, norm="forward"), scale),
    hdft_vjp,
    node="FftC2R",
    doc="The n real numbers whose (conjugated, unscaled) half spectrum is given.",
)

TRANSFORM_KINDS = {
    "fft": "Discrete Fourier transform",
    "ifft": "Inverse discrete Fourier transform",
    "rfft": "First half of the Fourier transform of real numbers",
    "irfft": "Real numbers from the first half of their Fourier transform",
    "hfft": "Real Fourier transform of a Hermitian-symmetric sequence, given its first half",
    "ihfft": "First half of the inverse Fourier transform of real numbers",
}


def scale_of(kind, norm, count):
    """Return the factor of a transform of `count` elements. Raises ValueError for an unknown norm."""
    if norm not in (None, *NORMS):
        raise ValueError(f"{kind}: norm must be 'backward', 'ortho' or 'forward', not {norm!r}")
    if count < 1:
        raise ValueError(f"{kind}: at least one data point is needed, got {count}")
    forward, back = NORMS[norm or "backward"]
    exponent = back if kind in ("ifft", "irfft", "ihfft") else forward
    return 1.0 if exponent == 0 else 1 / count**exponent


def as_complex(x):
    return x if x.dtype.kind == "c" else x.astype(np.result_type(np.dtype(x.dtype), np.complex64))


def as_floating(x, kind):
    """Return x as floating-point numbers. Raises ValueError for complex ones."""
    if x.dtype.kind == "c":
        raise ValueError(f"{kind} expects a real input array, but got {np.dtype(x.dtype)}")
    return x if x.dtype.kind == "f" else x.astype(np.float64)


def fit_lengths(x, lengths):
    """Cut x, or pad it with zeros at the end. lengths: maps negative axes to their new lengths."""
    shape = shape_of(x)
    cut = {axis: n for axis, n in lengths.items() if n < shape[axis]}
    fill = {axis: n for axis, n in lengths.items() if n > shape[axis]}
    if cut:
        x = x[(..., *(slice(cut.get(axis)) for axis in range(-len(shape), 0)))]
    if fill:
        old, whole = shape_of(x), tuple(fill.get(axis, shape_of(x)[axis]) for axis in range(-len(shape), 0))
        x = put(x, index=ArrayIndex(tuple(slice(n) for n in old), whole), lead=())
    return x


def plan(x, sizes, axes, kind):
    """Return the negative axes of a transform and its lengths along them."""
    ndim = rank(x)
    if not ndim and axes is not None:
        raise np.exceptions.AxisError(f"{kind}: a 0-d array has no axis to transform")
    if axes is None:
        axes = range(-ndim if sizes is None else -len(as_shape(sizes)), 0)
    axes = tuple(negative_axis(a, ndim) for a in as_shape(axes))
    if not axes:
        raise ValueError(f"{kind}: at least one axis is needed")
    lengths = [shape_of(x)[a] for a in axes]
    if kind in ("irfft", "hfft"):
        lengths[-1] = 2 * (lengths[-1] - 1)
    if sizes is not None:
        given = as_shape(sizes)
        if len(given) != len(axes):
            raise ValueError(f"{kind}: got {len(given)} lengths for {len(axes)} axes")
        lengths = [old if n == -1 else n for n, old in zip(given, lengths, strict=True)]
    if len(set(axes)) != len(axes):
        raise ValueError(f"{kind}: the axes {axes} must all be different")
    return axes, lengths


def transform(x, kind, sizes=None, axes=None, norm=None):
    """Transform over axes (by default all), cut or padded to sizes; the last axis is the real one."""
    if not rank(x) and axes is None and kind in ("fft", "ifft"):
        return as_complex(x)
    axes, lengths = plan(x, sizes, axes, kind)
    scale = scale_of(kind, norm, math.prod(lengths))
    last, rest = axes[-1], axes[:-1]
    inverse = kind in ("ifft", "irfft", "ihfft")
    stored = dict(zip(axes, lengths, strict=True))
    if kind in ("fft", "ifft"):
        return dft(fit_lengths(as_complex(x), stored), axis=axes, inverse=inverse, scale=scale)
    if kind in ("rfft", "ihfft"):
        out = rdft(fit_lengths(as_floating(x, kind), stored), axis=last, scale=scale)
        out = out if kind == "rfft" else out.conj()
        return dft(out, axis=rest, inverse=inverse, scale=1.0) if rest else out
    stored[last] = lengths[-1] // 2 + 1
    x = fit_lengths(as_complex(x), stored)
    x = dft(x, axis=rest, inverse=inverse, scale=1.0) if rest else x
    return hdft(x if kind == "irfft" else x.conj(), axis=last, n=lengths[-1], scale=scale)


def one_axis(kind):

    def function(a, n=None, axis=-1, norm=None):
        return transform(a, kind, None if n is None else (as_int(n),), (axis,), norm)

    return function


def many_axes(kind, default):

    def function(a, s=None, axes=default, norm=None):
        return transform(a, kind, s, axes, norm)

    return function


for _kind, _doc in TRANSFORM_KINDS.items():
    for _name, _first, _default in ((_kind, "n", -1), (f"{_kind}2", "s", (-2, -1)), (f"{_kind}n", "s", None)):
        composition(
            one_axis(_kind) if _name == _kind else many_axes(_kind, _default),
            name=f"fft.{_name}",
            numpy=(getattr(np.fft, _name),) if hasattr(np.fft, _name) else (),
            samples=(),
            public=False,
            torch=f"fft.{_name}(input, {_first}=None, dim={_default}, norm=None)",
            doc=f"{_doc}{'' if _name == _kind else ' over axes'}.",
        )


def enter_shift(name: str, sign: int, doc: str) -> None:
    """Add an entry that rolls an array by half of each axis."""

    @numpy_function(Sample(A(3, 4)), Sample(A(5), axes=0), homes=(np.fft,), name=f"fft.{name}", public=False, doc=doc)
    def function(x, axes=None):
        axes = tuple(range(rank(x))) if axes is None else as_shape(axes)
        return roll(x, tuple(sign * (shape_of(x)[a] // 2) for a in axes), axes) if axes else x


enter_shift("fftshift", 1, "The spectrum with the zero frequency moved to the middle.")
enter_shift("ifftshift", -1, "Inverse of fftshift.")
