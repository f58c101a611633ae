"""Parts of complex numbers. Cotangents follow PyTorch: dL/dRe + i dL/dIm."""

from __future__ import annotations

import numpy as np

from .exact import exact_angle, exact_part
from .shapes import dtype_of, is_complex, shape_of
from .table import A, Sample, constant, general, linear, numpy_function


def real_vjp(g, _, _x):
    """g is the cotangent of the real part alone."""
    return g


def imag_vjp(g, _, _x):
    """i g."""
    return g * 1j


def conj_vjp(g, _, _x):
    """conj(g)."""
    return g.conj()


def angle_vjp(g, _, x):
    """i g z / |z|^2 for complex z, 0 for real ones, 0 at the origin."""
    if not is_complex(x):
        return g * 0.0
    size = abs(x)
    safe = np.where(size == 0, 1.0, size)
    return g * 1j * np.where(size == 0, 0.0, x / safe / safe)


real_part = linear(
    "real_part",
    np.real,
    real_vjp,
    node="Real",
    view=True,
    samples=(),
    public=False,
    exact=exact_part(0),
    doc="Real part of a complex array.",
)
imag_part = linear(
    "imag_part",
    np.imag,
    imag_vjp,
    node="Imag",
    view=True,
    samples=(),
    public=False,
    exact=exact_part(1),
    doc="Imaginary part of a complex array.",
)


@numpy_function(Sample(A(3, 4)))
def real(x):
    """Real part."""
    return real_part(x) if is_complex(x) else x


@numpy_function(Sample(A(3, 4)))
def imag(x):
    """Imaginary part; 0 for real arrays."""
    return imag_part(x) if is_complex(x) else x * 0


linear(
    "conj",
    np.conjugate,
    conj_vjp,
    aliases=("conjugate", "conj_physical"),
    numpy=(np.conjugate,),
    doc="Complex conjugate.",
)
general(
    "angle",
    lambda x: np.angle(x if x.dtype.kind == "c" else x + 0.0),  # -0.0 counts as positive, as in PyTorch
    angle_vjp,
    numpy=(np.angle,),
    exact=exact_angle,
    doc="Argument of a complex number.",
    subgradient="0 at 0",
)
constant(np.iscomplex, name="iscomplex", numpy=(np.iscomplex,), doc="True where the imaginary part is not 0.")


def view_as_complex(x):
    """Complex numbers that share the memory of pairs of real ones. Raises RuntimeError for pairs that lie apart."""
    if x.size and x.strides[-1] != x.itemsize:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    return x.view(np.result_type(x, np.complex64))[..., 0]


def complex_signature(x):
    """Bind view_as_real. Raises RuntimeError for real numbers."""
    if x.dtype.kind != "c":
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return (x,), {}


def pairs_signature(x):
    """Bind view_as_complex. Raises RuntimeError for anything but pairs of real numbers."""
    if dtype_of(x).char not in "fd" or shape_of(x)[-1:] != (2,):
        raise RuntimeError("view_as_complex needs real numbers and a last axis of length 2")
    return (x,), {}


def pairs_vjp(g, _, _x):
    """The pairs as complex numbers."""
    return pairs_as_complex(np.ascontiguousarray(g) if isinstance(g, np.ndarray) else g)


def complex_vjp(g, _, _x):
    """Real and imaginary parts as pairs; the cotangent of something complex may be real."""
    return complex_as_pairs(g if g.dtype.kind == "c" else g + 0j)


complex_as_pairs = linear(
    "view_as_real",
    lambda x: np.asarray(x)[..., None].view(x.real.dtype),
    pairs_vjp,
    bind=complex_signature,
    view=True,
    samples=(),
    public=False,
    doc="Real and imaginary parts as a last axis of length 2.",
)
pairs_as_complex = linear(
    "view_as_complex",
    view_as_complex,
    complex_vjp,
    bind=pairs_signature,
    view=True,
    samples=(),
    public=False,
    doc="Complex numbers from a last axis of length 2.",
)
