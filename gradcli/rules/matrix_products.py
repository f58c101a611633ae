"""Products of vectors, matrices and higher arrays, and Einstein summation."""

from __future__ import annotations

import functools
import string
from typing import Any

import numpy as np

from .movement import moveaxis, transpose
from .shapes import (
    adjoint,
    as_int,
    as_operand_array,
    as_shape,
    count_contracted,
    count_matrix,
    count_pairs,
    count_product,
    fit_to_shape,
    negative_axis,
    rank,
    shape_of,
)
from .table import PRODUCT, A, Sample, batch_aligned, general, numpy_function, rule

PAIR = (Sample(A(3), A(3)), Sample(A(2, 3), A(2, 3)))


def batch_inner(_size, operands, flags, _params):
    """x . y for many x, many y, or both."""
    x, y = operands
    return (x[..., None, :] @ y[..., None]).reshape((-1,)) if all(flags) else x @ y if flags[0] else y @ x


def batch_mv(_size, operands, flags, _params):
    """A x; one matrix times many x is a single matrix product."""
    x, y = operands
    return y @ x.mT if not flags[0] else (x @ y[..., None]).squeeze(-1) if flags[1] else x @ y


def batch_vm(_size, operands, flags, _params):
    """x A; many x times one matrix is a single matrix product."""
    x, y = operands
    return x @ y if not flags[1] else (x[..., None, :] @ y).squeeze(-2) if flags[0] else x @ y


matrix_entry = functools.partial(general, promote=None, public=False)
inner = matrix_entry(
    "vector_dot",
    np.matmul,
    rule("g y", lambda g, _, _x, y: g[..., None] * y.conj()),
    rule("g x", lambda g, _, x, _y: g[..., None] * x.conj()),
    node="Dot",
    batch=batch_inner,
    samples=(Sample(A(3), A(3)),),
    doc="x . y",
)
mv = matrix_entry(
    "matrix_vector",
    np.matmul,
    rule("The outer product of g and y", lambda g, _, _x, y: g[..., :, None] * y.conj()),
    rule("x^H g", lambda g, _, x, _y: g @ x.conj()),
    node="Mv",
    batch=batch_mv,
    samples=(Sample(A(3, 4), A(4)),),
    pattern=PRODUCT,
    doc="A x",
)
vm = matrix_entry(
    "vector_matrix",
    np.matmul,
    rule("g y^H", lambda g, _, _x, y: g @ adjoint(y)),
    rule("The outer product of x and g", lambda g, _, x, _y: x.conj()[:, None] * g[..., None, :]),
    node="SqueezeBackward4",
    batch=batch_vm,
    samples=(Sample(A(3), A(3, 4)),),
    pattern=PRODUCT,
    doc="x A",
)
mm = matrix_entry(
    "matrix_product",
    np.matmul,
    rule(
        "g y^H, summed over broadcast batch axes",
        lambda g, out_shape, x_shape, y: fit_to_shape(g @ adjoint(y), x_shape, len(out_shape)),
    ),
    rule(
        "x^H g, summed over broadcast batch axes",
        lambda g, out_shape, x, y_shape: fit_to_shape(adjoint(x) @ g, y_shape, len(out_shape)),
    ),
    node=lambda x_shape, params: "Mm" if len(x_shape) == 2 else "Bmm",
    batch=batch_aligned,
    samples=(Sample(A(3, 4), A(4, 2)), Sample(A(2, 3, 4), A(2, 4, 2)), Sample(A(2, 1, 3, 4), A(3, 4, 2))),
    pattern=PRODUCT,
    doc="A B over the last two axes",
)


def batch_affine(_size, operands, flags, _params):
    """Batches of b, x or w: the matrix product broadcasts, but b needs an axis for the rows."""
    b, x, w = operands
    return x @ w.mT + (b[..., None, :] if flags[0] else b)


matrix_entry(
    "affine",
    lambda b, x, w: x @ w.mT + b,
    rule("g summed over the rows", lambda g, _out, _b, _x, _w: g.sum(axis=-2)),
    rule("g conj(w)", lambda g, _out, _b, _x, w: g @ w.conj()),
    rule("g^T conj(x)", lambda g, _out, _b, x, _w: g.mT @ x.conj()),
    node="Addmm",
    batch=batch_affine,
    samples=(Sample(A(2), A(4, 3), A(2, 3)),),
    pattern=PRODUCT,
    doc="x w^T + b for matrices x and w",
)
BY_RANK = {(1, 1): inner, (2, 1): mv, (1, 2): vm, (2, 2): mm}


@numpy_function(
    Sample(A(3), A(3)),
    Sample(A(3, 4), A(4)),
    Sample(A(3), A(3, 2)),
    Sample(A(3, 4), A(4, 2)),
    Sample(A(2, 3, 4), A(4, 2)),
    Sample(A(2, 3, 4), A(4)),
    Sample(A(4), A(2, 4, 3)),
    Sample(A(5, 1, 3, 4), A(2, 4, 2)),
    size=count_matrix,
)
def matmul(x, y):
    """Matrix product of vectors, matrices and stacks of matrices."""
    m, n = rank(x), rank(y)
    if not m or not n:
        raise ValueError("matmul: a scalar has no axis to sum over; use *")
    if shape_of(x)[-1] != shape_of(y)[-2:][0]:
        raise ValueError(
            f"matmul: shapes {shape_of(x)} and {shape_of(y)} do not match: "
            f"{shape_of(x)[-1]} columns and {shape_of(y)[-2:][0]} rows"
        )
    if m == 1 and n > 2:
        return mm(x[None, :], y).squeeze(-2)
    if n == 1 and m > 2:
        return mm(x, y[:, None]).squeeze(-1)
    return BY_RANK.get((m, n), mm)(x, y)


@numpy_function(
    Sample(A(2, 3, 4), A(3, 4, 2)),
    Sample(A(3, 4), A(4, 3), axes=1),
    Sample(A(2, 3), A(3, 2), axes=((0, 1), (1, 0))),
    size=count_contracted,
)
def tensordot(x, y, axes=2):
    """Sum of products over the given axes."""
    x, y = as_operand_array(x), as_operand_array(y)
    if rank(axes) == 0:
        n = as_int(axes)
        left, right = tuple(range(rank(x) - n, rank(x))), tuple(range(n))
    else:
        left, right = (as_shape(a) for a in axes)
    left = tuple(negative_axis(a, rank(x)) + rank(x) for a in left)
    right = tuple(negative_axis(a, rank(y)) + rank(y) for a in right)
    summed = tuple(shape_of(x)[a] for a in left)
    if summed != tuple(shape_of(y)[a] for a in right):
        raise ValueError(f"tensordot: shapes {shape_of(x)} and {shape_of(y)} do not match over axes {left} and {right}")
    free_x = tuple(a for a in range(rank(x)) if a not in left)
    free_y = tuple(a for a in range(rank(y)) if a not in right)
    size = int(np.prod(summed))
    x_shape, y_shape = shape_of(x), shape_of(y)
    rows, columns = tuple(x_shape[a] for a in free_x), tuple(y_shape[a] for a in free_y)
    a = transpose.function(x, free_x + left).reshape((int(np.prod(rows)), size))
    b = transpose.function(y, right + free_y).reshape((size, int(np.prod(columns))))
    return mm(a, b).reshape(rows + columns)


@numpy_function(
    Sample(A(3), A(3)),
    Sample(A(2, 3), A(3, 4)),
    Sample(A(2, 3, 4), A(4)),
    Sample(A(), A(3)),
    doc="NumPy's dot product.",
    size=lambda x, y: count_matrix(x, y) if 0 < rank(x) <= 2 and 0 < rank(y) <= 2 else count_pairs(x, y),
)
def dot(x, y):
    """NumPy's dot: inner product, matrix product, or a sum over the last axis of x and the second to last of y."""
    m, n = rank(x), rank(y)
    if not m or not n:
        return x * y
    if m <= 2 and n <= 2:
        return matmul(x, y)
    return tensordot(x, y, ((m - 1,), (max(n - 2, 0),)))


@numpy_function(
    *PAIR,
    name="inner",
    size=lambda x, y: count_contracted(x, y, ((-1,), (-1,))) if rank(x) * rank(y) else count_pairs(x, y),
)
def inner_product(x, y):
    """Sum of products over the last axes."""
    if not rank(x) or not rank(y):
        return x * y
    return tensordot(x, y, ((rank(x) - 1,), (rank(y) - 1,)))


@numpy_function(*PAIR)
def vdot(x, y):
    """Sum of conj(x) * y over all elements."""
    return inner(as_operand_array(x).reshape((-1,)).conj(), as_operand_array(y).reshape((-1,)))


@numpy_function(Sample(A(3), A(4)), Sample(A(2, 2), A(3)), size=count_pairs, torch="outer ger(input, vec2)")
def outer(x, y):
    """Outer product: all products of an element of x and one of y."""
    return as_operand_array(x).reshape((-1, 1)) * as_operand_array(y).reshape((1, -1))


@numpy_function(Sample(A(2, 3), A(2, 2)), Sample(A(2), A(3)), Sample(A(2), A(2, 2)), size=count_pairs)
def kron(x, y):
    """Kronecker product."""
    x, y = as_operand_array(x), as_operand_array(y)
    ndim = max(rank(x), rank(y))
    a = (1,) * (ndim - rank(x)) + shape_of(x)
    b = (1,) * (ndim - rank(y)) + shape_of(y)
    left = x.reshape(sum(((n, 1) for n in a), ()))
    right = y.reshape(sum(((1, n) for n in b), ()))
    return (left * right).reshape(tuple(p * q for p, q in zip(a, b, strict=True)))


@numpy_function(*PAIR, doc="Vector product of three-dimensional vectors.")
def cross(x, y, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """Vector product of three-dimensional vectors along axis (axisa of x, axisb of y, axisc of the result)."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = moveaxis(x, axisa, -1), moveaxis(y, axisb, -1)
    if shape_of(a)[-1] != 3 or shape_of(b)[-1] != 3:
        raise ValueError(f"cross needs 3 components along the axis, got shapes {shape_of(x)} and {shape_of(y)}")
    ahead, behind = np.array([1, 2, 0]), np.array([2, 0, 1])
    return moveaxis(a[..., ahead] * b[..., behind] - a[..., behind] * b[..., ahead], -1, axisc)


def einsum_vjp(g, position, out_shape, xs, *, inputs, output):
    """Contract g with the other operands to this operand's indices."""
    others = [x.conj() for i, x in enumerate(xs) if i != position]
    names = [name for i, name in enumerate(inputs) if i != position]
    target = inputs[position]
    free = (c for c in string.ascii_letters if not any(c in s for s in inputs))
    lead = "".join(c for c, _ in zip(free, range(g.ndim - len(out_shape)), strict=False))
    grad = contract(g, *others, inputs=(lead + output, *names), output=lead + target)
    return fit_to_shape(grad, shape_of(xs[position]), len(target))


def expand_subscripts(subscripts: str, ranks: list[int]) -> tuple[list[str], str]:
    """Return operand and output subscripts with ellipses written out. Raises ValueError if they do not fit."""
    text = subscripts.replace(" ", "")
    left, arrow, output = text.partition("->")
    inputs = left.split(",")
    letters = set(text.replace("...", "").replace(",", "").replace("->", ""))
    if not letters <= set(string.ascii_letters):
        raise ValueError(f"einsum: {subscripts!r} may contain only letters, commas, '...' and '->'")
    if len(inputs) != len(ranks):
        raise ValueError(f"einsum: {subscripts!r} takes {len(inputs)} operands, not {len(ranks)}")
    extra = [n - len(s.replace("...", "")) for s, n in zip(inputs, ranks, strict=True)]
    for s, n, e in zip(inputs, ranks, extra, strict=True):
        if e < 0 or (e and "..." not in s):
            raise ValueError(f"einsum: {s!r} has {n - e} indices for an operand with {n} axes")
    widest = max((e for s, e in zip(inputs, extra, strict=True) if "..." in s), default=0)
    fill = "".join([c for c in string.ascii_letters if c not in letters][:widest])
    inputs = [s.replace("...", fill[widest - e :]) for s, e in zip(inputs, extra, strict=True)]
    if arrow:
        output = output.replace("...", fill)
    else:
        output = fill + "".join(sorted(c for c in letters if left.count(c) == 1))
    if len(set(output)) != len(output) or not set(output) <= set("".join(inputs)):
        raise ValueError(f"einsum: the output indices {output!r} must be distinct and occur in an operand")
    return inputs, output


def take_diagonals(x, indices: str):
    """Return x with the diagonals of repeated indices taken, and the remaining indices."""
    for letter in dict.fromkeys(indices):
        places = [i for i, c in enumerate(indices) if c == letter]
        if len(places) > 1:
            n = shape_of(x)[places[0]]
            steps = np.arange(n)
            x = x[tuple(steps if i in places else slice(None) for i in range(rank(x)))]
            adjacent = places[-1] - places[0] == len(places) - 1
            rest = [c for c in indices if c != letter]
            rest.insert(places[0] if adjacent else 0, letter)
            indices = "".join(rest)
    return x, indices


def check_lengths(xs: tuple, inputs: list) -> None:
    """Raise ValueError if axes with the same index have different lengths, neither of them 1."""
    seen: dict[str, int] = {}
    for x, indices in zip(xs, inputs, strict=True):
        for letter, n in zip(indices, shape_of(x), strict=True):
            before = seen.get(letter, 1)
            if n != before and 1 not in (n, before):
                raise ValueError(f"einsum: the axes of index {letter} have lengths {before} and {n}")
            seen[letter] = max(n, before) if n and before else 0


def einsum_signature(subscripts, *xs, optimize=None):
    """Bind einsum. Take diagonals here, and sum over indices that occur in one operand only."""
    if not isinstance(subscripts, str):
        raise TypeError("einsum needs a subscript string first, such as 'ij,jk->ik'")
    xs = tuple(as_operand_array(x) for x in xs)
    inputs, output = expand_subscripts(subscripts, [rank(x) for x in xs])
    check_lengths(xs, inputs)
    operands, names = [], []
    for i, (x, indices) in enumerate(zip(xs, inputs, strict=True)):
        x, indices = take_diagonals(x, indices)
        elsewhere = set(output).union(*(s for j, s in enumerate(inputs) if j != i))
        alone = tuple(place for place, c in enumerate(indices) if c not in elsewhere)
        if alone:
            x = x.sum(axis=alone)
            indices = "".join(c for c in indices if c in elsewhere)
        operands.append(x)
        names.append(indices)
    return tuple(operands), {"inputs": tuple(names), "output": output}


def batch_contract(_size, operands, flags, params):
    """Add an index for the leading axis to the operands that have one."""
    names, output = params["inputs"], params["output"]
    lead = next(c for c in string.ascii_letters if c not in "".join(names) + output)
    inputs = tuple(lead + name if flag else name for name, flag in zip(names, flags, strict=True))
    return operands, {"inputs": inputs, "output": lead + output}


def count_summed(subscripts: Any, *xs: Any) -> int:
    """Return the number of elements of einsum's result."""
    inputs, output = expand_subscripts(subscripts, [rank(x) for x in xs])
    known = {c: n for s, x in zip(inputs, xs, strict=True) for c, n in zip(s, shape_of(x), strict=True)}
    return count_product(known[c] for c in output)


contract = general(
    "einsum",
    lambda *xs, inputs, output: np.einsum(",".join(inputs) + "->" + output, *xs, optimize=len(xs) > 2),
    einsum_vjp,
    batch=batch_contract,
    arity=None,
    bind=einsum_signature,
    promote=None,
    samples=(
        Sample("ij,jk->ik", A(2, 3), A(3, 4)),
        Sample("ii->i", A(3, 3)),
        Sample("ij->", A(2, 3)),
        Sample("bij,bjk", A(2, 3, 4), A(2, 4, 2)),
        Sample("...i,i->...", A(2, 3, 4), A(4)),
        Sample("i,ij,j->", A(3), A(3, 4), A(4)),
        Sample("iji->j", A(2, 3, 2)),
    ),
    size=count_summed,
    doc="Einstein summation.",
)
