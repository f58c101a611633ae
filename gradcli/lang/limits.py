"""How large a value may become: asked before it is computed, so that nothing is allocated in vain."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import GradcliError
from ..rules import lookup
from ..rules.shapes import as_int, as_shape, dtype_of, rank, shape_of

DEFAULT_MAX_ELEMENTS = 100_000_000


def count_product(shape: Any) -> int:
    """Return the number of elements of a shape, as an exact integer."""
    total = 1
    for n in shape:
        total *= int(n)
    return total


def size(x: Any) -> int:
    """Return the number of elements of a value."""
    return count_product(shape_of(x))


def steps(start: Any, stop: Any = None, step: Any = 1) -> int:
    """Return how many elements arange has."""
    start, stop = (0, start) if stop is None else (start, stop)
    span = (float(stop) - float(start)) / float(step) if float(step) else 0.0
    return max(math.ceil(span), 0) if math.isfinite(span) else 1 << 62


def lengths(*shape: Any) -> int:
    """Return how many elements zeros(2, 3) or zeros((2, 3)) has."""
    return count_product(as_shape(shape[0] if len(shape) == 1 else shape))


def square(n: Any, m: Any = None) -> int:
    """Return how many elements eye(n, m) has."""
    return as_int(n) * as_int(n if m is None else m)


def count_repeated(x: Any, repeats: Any, axis: Any = None) -> int:
    """Return an upper bound for repeat."""
    count = as_int(repeats) if rank(repeats) == 0 else int(np.max(getattr(repeats, "_data", repeats), initial=0))
    return size(x) * count


def matrix(x: Any, y: Any) -> int:
    """Return how many elements a matrix product has."""
    a, b = shape_of(x), shape_of(y)
    rows, columns = a[-2:-1], b[-1:] if len(b) > 1 else ()
    return count_product(np.broadcast_shapes(a[:-2], b[:-2])) * count_product(rows) * count_product(columns)


def all_pairs(x: Any, y: Any, *_: Any, **__: Any) -> int:
    """Return how many pairs of elements there are."""
    return size(x) * size(y)


def sliding(x: Any, y: Any, *_: Any, **__: Any) -> int:
    """Return how many elements the windows have that convolve and correlate multiply, or their transforms."""
    from ..rules.differences import DIRECT

    direct = size(x) * size(y) <= DIRECT or "c" in (dtype_of(x).kind, dtype_of(y).kind)
    return (size(x) + size(y)) * (min(size(x), size(y)) if direct else 2)


def grid(*xs: Any, indexing: str = "xy", sparse: Any = False, copy: Any = True) -> int:
    """Return how many elements meshgrid's results have together."""
    return sum(map(size, xs)) if sparse else count_product(map(size, xs)) * len(xs)


def count_contracted(x: Any, y: Any, axes: Any = 2) -> int:
    """Return how many elements tensordot has."""
    a = shape_of(x)
    left = a[len(a) - as_int(axes) :] if rank(axes) == 0 else [a[i] for i in as_shape(axes[0])]
    common = max(count_product(left), 1)
    return (size(x) // common) * (size(y) // common)


def count_summed(subscripts: Any, *xs: Any) -> int:
    """Return how many elements einsum's result has."""
    from ..rules.einsum import expanded

    inputs, output = expanded(subscripts, [rank(x) for x in xs])
    known = {c: n for s, x in zip(inputs, xs, strict=True) for c, n in zip(s, shape_of(x), strict=True)}
    return count_product(known[c] for c in output)


ESTIMATES: dict[str, Any] = {
    "zeros": lengths,
    "ones": lengths,
    "rand": lengths,
    "randn": lengths,
    "full": lambda shape, value=0: lengths(shape),
    "eye": square,
    "arange": steps,
    "linspace": lambda start, stop, num=50: as_int(num),
    "logspace": lambda start, stop, num=50, base=10: as_int(num),
    "broadcast_to": lambda x, *shape: lengths(*shape),
    "tile": lambda x, *reps: size(x) * lengths(*reps),
    "repeat": count_repeated,
    "matmul": matrix,
    "dot": lambda x, y: all_pairs(x, y) if rank(x) > 2 or rank(y) > 2 or not rank(x) * rank(y) else matrix(x, y),
    "outer": all_pairs,
    "kron": all_pairs,
    "einsum": count_summed,
    "pad": lambda x, width, *_, **__: count_product(n + int(np.max(width)) * 2 for n in shape_of(x)),
    "resize": lambda x, new_shape: lengths(new_shape),
    "vander": lambda x, N=None, increasing=False: size(x) * as_int(size(x) if N is None else N),  # noqa: N803
    "diagflat": lambda x, k=0: (size(x) + abs(as_int(k))) ** 2,
    "convolve": sliding,
    "correlate": sliding,
    "meshgrid": grid,
    "tensordot": count_contracted,
    "inner": lambda x, y: count_contracted(x, y, ((-1,), (-1,))) if rank(x) * rank(y) else all_pairs(x, y),
    "diag": lambda x, k=0: (size(x) + abs(as_int(k))) ** 2 if rank(x) == 1 else size(x),
}


ROUNDS: dict[str, Any] = {
    "diff": lambda x, n=1, *_, **__: n,
    "split": lambda x, sections, axis=0: sections,
    "array_split": lambda x, sections, axis=0: sections,
    "mvlgamma": lambda x, p: p,
    "unstack": lambda x, axis=0: shape_of(x)[as_int(axis)],
}
"""Calls that repeat something as often as an argument says."""
MOST_ROUNDS = 10_000


WORKING = ("convolve", "correlate")
"""Calls whose estimate is the space that they work in, not their result."""


def check_call(name: str, args: tuple, named: dict, limit: int) -> None:
    """Raise GradcliError when a call would make a value of more than `limit` elements."""
    check_rounds(name, args, named)
    primitive = lookup(name)
    estimate = ESTIMATES.get(name, primitive and primitive.size)
    if estimate is None and math.prod([getattr(getattr(x, "_data", x), "size", 1) for x in args]) <= limit:
        return  # broadcasting makes no more
    try:
        count = estimate(*args, **named) if estimate else count_product(np.broadcast_shapes(*map(shape_of, args)))
    except Exception:
        return  # the call itself will say what is wrong
    check_count(count, limit, "computing this would take" if name in WORKING else "this value would have")


def check_rounds(name: str, args: tuple, named: dict) -> None:
    """Raise GradcliError for a call that would repeat something too often."""
    if name not in ROUNDS:
        return
    try:
        rounds = float(ROUNDS[name](*args, **named))
    except Exception:
        return  # the call itself will say what is wrong
    if rounds > MOST_ROUNDS:
        raise GradcliError(
            f"{name} would take {rounds:g} steps; the limit is {MOST_ROUNDS}",
            hint="write a smaller number",
            kind="limit",
        )


def check_count(count: int, limit: int, what: str = "this value would have") -> None:
    """Raise GradcliError when a value has more than `limit` elements."""
    if count > limit:
        raise GradcliError(
            f"{what} {count} elements; the limit is {limit}",
            hint="raise it with --max-elements if there is memory for it",
            kind="limit",
        )
