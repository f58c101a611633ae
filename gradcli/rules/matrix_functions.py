"""Functions of whole matrices: norms, pseudo-inverse, exponential, powers, products of many, least squares."""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from .exact import NoTwinError
from .matrix_products import matmul
from .movement import moveaxis
from .reduce import vector_norm_entry
from .shapes import adjoint, as_int, negative_axis, rank, shape_of
from .solve import SQUARE, inv, matrix_signature, square_signature
from .spectral import from_triangle, svdvals
from .table import A, Sample, composition, constant, general, internal, numpy_function

NORM_ORDERS = {"fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf}


def extreme(x, largest):
    """The largest or smallest element along the last axis; 0 for an empty axis."""
    return (np.max if largest else np.min)(x, axis=-1) if shape_of(x)[-1] else x.sum(axis=-1)


def matrix_norm(x, order, axes, keepdims=False):
    """Norm of the matrices over two axes: fro, nuc (sum of singular values), or the largest or smallest singular
    value (2 or -2), column sum of |x| (1 or -1) or row sum of |x| (inf or -inf).
    """
    if order not in NORM_ORDERS:
        raise ValueError(f"norm: unknown matrix norm {order!r}; use 'fro', 'nuc', 1, -1, 2, -2, inf or -inf")
    rows, columns = (negative_axis(i, rank(x)) for i in axes)
    if rows == columns:
        raise ValueError(f"norm: the axes of a matrix must differ, got {tuple(axes)}")
    if order == "fro":
        return vector_norm_entry.function(x, 2, (rows, columns), keepdims)
    if order in ("nuc", 2, -2):
        values = svdvals(moveaxis(x, (rows, columns), (-2, -1)))
        out = values.sum(axis=-1) if order == "nuc" else extreme(values, order == 2)
    else:
        summed, left = (rows, columns) if abs(order) == 1 else (columns, rows)
        sums = abs(x).sum(axis=summed, keepdims=True)
        out = extreme(moveaxis(sums, (summed, left), (-2, -1)), order > 0)[..., 0]
    return np.expand_dims(out, tuple(sorted(i + rank(x) for i in (rows, columns)))) if keepdims else out


@numpy_function(
    Sample(A(3, 4)),
    Sample(A(5), 3),
    Sample(A(2, 3, 4), axis=1),
    Sample(A(3, 4), "nuc"),
    Sample(A(3, 4), 1),
    Sample(A(3, 4), -math.inf, keepdims=True),
    Sample(A(2, 3, 4), 2, axis=(0, 2)),
    Sample(A(2, 3, 4), -2, axis=(-1, 0), keepdims=True),
    name="linalg.norm",
    public=False,
)
def norm(x, ord=None, axis=None, keepdims=False):
    """NumPy's norm: of vectors over one axis, of matrices over two, or of all elements without axis and ord."""
    if axis is None and (ord is None or (ord == 2 and rank(x) == 1)):
        return vector_norm_entry.function(x, 2, None, keepdims)
    axes = tuple(range(rank(x))) if axis is None else tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    if len(axes) == 1:
        return vector_norm_entry.function(x, 2 if ord is None else ord, axes, keepdims)
    if len(axes) != 2:
        raise ValueError(f"norm: axis must be one or two axes, got {len(axes)}")
    return matrix_norm(x, "fro" if ord is None else ord, axes, keepdims)


@numpy_function(
    Sample(A(3, 3)),
    Sample(A(4, 4), 1),
    Sample(A(3, 2), -2),
    torch="linalg.cond(A: matrix, p=None)",
    doc="Condition number of matrices.",
)
def cond(x, p=None):
    """The condition number |x| |x^-1| in the norm p, by default the 2-norm, from the singular values."""
    if p in (None, 2, -2):
        values = svdvals(x)
        if not shape_of(values)[-1]:
            return values.sum(axis=-1)
        return values[..., -1] / values[..., 0] if p == -2 else values[..., 0] / values[..., -1]
    if shape_of(x)[-1] != shape_of(x)[-2]:
        raise ValueError(f"cond: the norm {p!r} needs a square matrix, got shape {shape_of(x)}")
    return matrix_norm(x, p, (-2, -1)) * matrix_norm(inv(x), p, (-2, -1))


composition(
    lambda x, /, *, ord="fro", keepdims=False: matrix_norm(x, ord, (-2, -1), keepdims),
    name="matrix_norm",
    numpy=(np.linalg.matrix_norm,),
    samples=(Sample(A(3, 4)), Sample(A(2, 3, 4), ord=math.inf), Sample(A(3, 3), ord=2)),
    doc="Norm of matrices over the last two axes: ord is 'fro', 'nuc', 1, -1, 2, -2, inf or -inf.",
)
composition(
    lambda x, /, *, axis=None, keepdims=False, ord=2: vector_norm_entry.function(x, ord, axis, keepdims),
    name="linalg.vector_norm",
    numpy=(np.linalg.vector_norm,),
    samples=(Sample(A(3, 4)), Sample(A(3, 4), axis=0, ord=3)),
    public=False,
)


def default_tolerance(x):
    """The larger dimension of the matrix times the machine epsilon."""
    kind = np.dtype(float if x.dtype.kind == "O" else x.dtype)
    return max(shape_of(x)[-2:]) * float(np.finfo(kind).eps)


def pinv_forward(x, *, absolute, relative):
    """V S^-1 U^H over the singular values above max(absolute, relative * largest)."""
    u, s, vh = np.linalg.svd(x, False)
    cutoff = np.maximum(np.asarray(absolute, s.dtype), np.asarray(relative, s.dtype) * np.max(s, axis=-1, initial=0))
    large = s > cutoff[..., None]
    inverse = np.where(large, 1 / np.where(large, s, 1), 0).astype(s.dtype)
    return adjoint(vh) @ (inverse[..., :, None] * adjoint(u))


def pinv_vjp(g, out, x, *, absolute, relative):
    """-P^H g P^H + (1 - A P) g^H P P^H + P^H P g^H (1 - P A), for constant rank.

    Golub and Pereyra 1973, "The differentiation of pseudo-inverses and nonlinear least squares problems".
    """
    p, ph, gh = out, adjoint(out), adjoint(g)
    rows, columns = gh @ p @ ph, ph @ p @ gh
    return rows - x @ (p @ rows) + columns - (columns @ p) @ x - ph @ g @ ph


pinv_outputs = internal.general("pinv_output", pinv_forward, pinv_vjp, node="LinalgPinv", doc="Pseudo-inverse.")


def pinv_with(x, absolute, relative, hermitian=False):
    """The pseudo-inverse; singular values up to max(absolute, relative * largest) count as 0."""
    matrix_signature(x)
    x = from_triangle(x) if hermitian else x
    return pinv_outputs(x, absolute=absolute, relative=relative)


@numpy_function(
    Sample(A(3, 3)),
    Sample(A(4, 2)),
    Sample(A(2, 2, 4)),
    torch="pinverse(input: matrix, rcond=1e-15)",
    doc="Moore-Penrose pseudo-inverse.",
)
def pinv(a, rcond=None, hermitian=False, *, rtol=1e-15):
    relative = rcond if rcond is not None else default_tolerance(a) if rtol is None else rtol
    return pinv_with(a, 0.0, relative, hermitian)


LstsqResult = namedtuple("LstsqResult", ["solution", "residuals", "rank", "singular_values"])


@numpy_function(public=False, doc="Least squares (four results).")
def lstsq(a, b, rcond=None):
    """The x that minimises |b - a x|, the squared residuals, the rank and the singular values of a."""
    (a,), _ = matrix_signature(a)
    m, n = shape_of(a)[-2:]
    relative = default_tolerance(a) if rcond is None else max(rcond, 0.0)
    right = b[..., :, None] if rank(b) == 1 else b
    solution = pinv_with(a, 0.0, relative) @ right
    singular = svdvals(a)
    count = (singular > relative * singular[..., :1]).sum()
    residual = abs(right - a @ solution)
    left_over = (residual * residual).sum(axis=-2) if m > n == int(count) else (residual[..., 0, :] * 0)[:0]
    return LstsqResult(solution[..., 0] if rank(b) == 1 else solution, left_over, int(count), singular)


constant(
    lambda x, **params: np.asarray(np.linalg.matrix_rank(x, **params)),
    name="matrix_rank",
    bind=lambda A, tol=None, hermitian=False, *, rtol=None: (  # noqa: N803 - NumPy's name
        (A,),
        {"tol": tol, "hermitian": hermitian, "rtol": rtol},
    ),
    numpy=(np.linalg.matrix_rank,),
    samples=(),
    doc="Number of singular values that are not 0.",
)


def exp_forward(x):
    if x.size == 0:
        return x.copy()
    from scipy.linalg import expm

    return expm(x).astype(x.dtype, copy=False)


def exact_exp(*_):
    raise NoTwinError("matrix_exp has no formula")


def exp_vjp(g, _, x):
    """The upper right block of exp([[A^H, g], [0, A^H]]): the adjoint of the Fréchet derivative.

    Al-Mohy and Higham 2009, "Computing the Fréchet derivative of the matrix exponential", theorem 2.1.
    """
    size = x.shape[-1]
    transposed = adjoint(x) + np.zeros(g.shape, x.dtype)
    top = np.concatenate([transposed, g], axis=-1)
    bottom = np.concatenate([np.zeros(g.shape, x.dtype), transposed], axis=-1)
    return matrix_exp(np.concatenate([top, bottom], axis=-2))[..., :size, size:]


matrix_exp = general(
    "matrix_exp",
    exp_forward,
    exp_vjp,
    bind=square_signature,
    aliases=("expm",),
    torch="matrix_exp linalg.matrix_exp(input: square)",
    node="LinalgMatrixExp",
    domain=((-1.0, 1.0),),
    samples=SQUARE,
    exact=exact_exp,
    doc="Exponential of a square matrix.",
)


@numpy_function(
    *(Sample(A(3, 3), n) for n in (-2, 0, 1, 3, 6)),
    Sample(A(2, 3, 3), 2),
    torch="matrix_power linalg.matrix_power(input: square, n)",
    doc="A square matrix to the power n.",
)
def matrix_power(a, n):
    (a,), _ = square_signature(a)
    n = as_int(n)
    if n < 0:
        return matrix_power(inv(a), -n)
    if n == 0:
        return np.where(True, np.eye(a.shape[-1], dtype=a.dtype), a)
    result, square = None, a
    while n:
        if n & 1:
            result = square if result is None else result @ square
        n >>= 1
        if n:
            square = square @ square
    return result


def cheapest_order(sizes):
    """Return where to split each chain of matrices (of shapes sizes[i] x sizes[i + 1]) for the cheapest product.

    Cormen et al., "Introduction to Algorithms", matrix-chain multiplication.
    """
    count = len(sizes) - 1
    cost = [[0] * count for _ in range(count)]
    split = [[0] * count for _ in range(count)]
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i][j], split[i][j] = min(
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )
    return split


@numpy_function(Sample([A(2, 3), A(3, 4), A(4, 2)]), Sample([A(3), A(3, 4), A(4, 2), A(2)]))
def multi_dot(arrays):
    """Product of several matrices in the cheapest order."""
    xs = list(arrays)
    if len(xs) < 2:
        raise ValueError("multi_dot needs at least two arrays")
    first, last = rank(xs[0]) == 1, rank(xs[-1]) == 1
    if first:
        xs[0] = xs[0][None, :]
    if last:
        xs[-1] = xs[-1][:, None]
    if any(rank(x) != 2 for x in xs):
        raise ValueError("multi_dot needs matrices (only the first and the last may be vectors)")
    split = cheapest_order([shape_of(x)[0] for x in xs] + [shape_of(xs[-1])[1]])

    def product(i, j):
        return xs[i] if i == j else matmul(product(i, split[i][j]), product(split[i][j] + 1, j))

    result = product(0, len(xs) - 1)
    result = result[0] if first else result
    return result[..., 0] if last else result


def vecdot(x1, x2, /, *, axis=-1):
    """Sum of conj(x1) * x2 along axis."""
    return (x1.conj() * x2).sum(axis=axis)


composition(
    vecdot,
    numpy=(np.vecdot, np.linalg.vecdot),
    torch="linalg.vecdot(x, y, *, dim=-1)",
    samples=(Sample(A(3), A(3)), Sample(A(2, 3), A(3)), Sample(A(3, 2), A(3, 2), axis=0)),
)
