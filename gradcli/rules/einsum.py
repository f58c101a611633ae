"""Einstein summation over explicit indices; every product of arrays is one of these."""

from __future__ import annotations

import string
from typing import Any

import numpy as np

from .shapes import as_array, fit, rank, shape_of
from .size_limits import count_product
from .table import A, Sample, general


def einsum_forward(*xs, inputs, output):
    """Contract; an ellipsis in front lets every array carry leading axes."""
    return np.einsum(",".join(inputs) + "->" + output, *xs, optimize=len(xs) > 2)


def einsum_vjp(g, position, out_shape, xs, *, inputs, output):
    """Contract g with the other operands to this operand's indices."""
    others = [x.conj() for i, x in enumerate(xs) if i != position]
    names = [name for i, name in enumerate(inputs) if i != position]
    target = inputs[position]
    free = (c for c in string.ascii_letters if not any(c in s for s in inputs))
    lead = "".join(c for c, _ in zip(free, range(g.ndim - len(out_shape)), strict=False))
    grad = contract(g, *others, inputs=(lead + output, *names), output=lead + target)
    return fit(grad, shape_of(xs[position]), len(target))


def expand_subscripts(subscripts: str, ranks: list[int]) -> tuple[list[str], str]:
    """Return operand and output subscripts with ellipses replaced by letters and the output written out.

    Raises ValueError for a subscript string that does not fit the operands.
    """
    text = subscripts.replace(" ", "")
    left, arrow, output = text.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(ranks):
        amount = "more" if len(inputs) < len(ranks) else "fewer"
        raise ValueError(f"einsum(): {amount} operands were provided than specified in the equation")
    letters = {c for c in text if c.isalpha()}
    if any(not (c.isascii() and c.isalpha()) for c in text.replace("...", "").replace(",", "").replace("->", "")):
        raise ValueError(f"einsum: {subscripts!r} may hold only letters, commas, '...' and '->'")
    free = [c for c in string.ascii_letters if c not in letters]
    extra = [n - len(s.replace("...", "")) if "..." in s else 0 for s, n in zip(inputs, ranks, strict=True)]
    for s, n, e in zip(inputs, ranks, extra, strict=True):
        if e < 0 or ("..." not in s and len(s) != n):
            count = f"the number of subscripts in the equation ({len(s.replace('...', ''))})"
            dots = "" if "..." in s else " and no ellipsis was given"
            misfit = "is more than" if "..." in s else "does not match"
            place = inputs.index(s)
            raise ValueError(f"einsum(): {count} {misfit} the number of dimensions ({n}) for operand {place}{dots}")
    widest = max(extra, default=0)
    fill = "".join(free[:widest])
    inputs = [s.replace("...", fill[widest - e :]) for s, e in zip(inputs, extra, strict=True)]
    if arrow:
        output = output.replace("...", fill)
    else:
        joined = "".join(inputs)
        output = fill + "".join(sorted(c for c in letters if joined.count(c) == 1))
    absent = [c for c in output if c not in "".join(inputs)]
    if absent:
        raise ValueError(
            f"einsum(): output subscript {absent[0]} does not appear in the equation for any input operand"
        )
    if len(set(output)) != len(output):
        raise ValueError(f"einsum: the output indices {output!r} must each occur once, and in an operand")
    return inputs, output


def take_diagonals(x, indices: str):
    """Return x with repeated indices replaced by their diagonal, and the remaining indices."""
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


def write_subscripts(arguments: tuple) -> tuple[str, list]:
    """Return einsum(x, [0, 1], y, [1, 2], [0, 2]) as a subscript string and its operands."""
    xs, lists = list(arguments[0::2]), list(arguments[1::2])
    output = xs.pop() if len(xs) > len(lists) else None
    if any(not isinstance(s, list | tuple) for s in [*lists, *([] if output is None else [output])]):
        raise TypeError(
            "einsum needs a subscript string first, such as 'ij,jk->ik', or a list of numbers per operand"
        )
    letters = string.ascii_uppercase + string.ascii_lowercase

    def text(numbers: list) -> str:
        if any(n is not Ellipsis and not 0 <= n < len(letters) for n in numbers):
            raise ValueError(f"einsum: indices must be between 0 and {len(letters) - 1}, got {list(numbers)}")
        return "".join("..." if n is Ellipsis else letters[n] for n in numbers)

    return ",".join(map(text, lists)) + ("" if output is None else "->" + text(output)), xs


def check_lengths(xs: tuple, inputs: list) -> None:
    """Raise ValueError for an index that stands for axes of different lengths, none of them 1."""
    seen: dict[str, int] = {}
    for place, (x, indices) in enumerate(zip(xs, inputs, strict=True)):
        for letter, n in zip(indices, shape_of(x), strict=True):
            before = seen.get(letter, 1)
            if n != before and 1 not in (n, before):
                raise ValueError(
                    f"einsum(): subscript {letter} has size {n} for operand {place} which does not broadcast with "
                    f"previously seen size {before}"
                )
            seen[letter] = max(n, before) if n and before else 0


def einsum_signature(subscripts, *xs, optimize=None):
    """Bind einsum: diagonals and indices of one operand only are dealt with first."""
    if not isinstance(subscripts, str):
        subscripts, listed = write_subscripts((subscripts, *xs))
        xs = tuple(listed)
    xs = tuple(as_array(x) for x in xs)
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
    """One more index, of the leading axis, for the operands that have one."""
    names, output = params["inputs"], params["output"]
    lead = next(c for c in string.ascii_letters if c not in "".join(names) + output)
    inputs = tuple(lead + name if flag else name for name, flag in zip(names, flags, strict=True))
    return operands, {"inputs": inputs, "output": lead + output}


def count_summed(subscripts: Any, *xs: Any) -> int:
    """Return how many elements einsum's result has."""
    inputs, output = expand_subscripts(subscripts, [rank(x) for x in xs])
    known = {c: n for s, x in zip(inputs, xs, strict=True) for c, n in zip(s, shape_of(x), strict=True)}
    return count_product(known[c] for c in output)


contract = general(
    "einsum",
    einsum_forward,
    einsum_vjp,
    batch=batch_contract,
    arity=None,
    bind=einsum_signature,
    numpy=(np.einsum,),
    promote=None,
    samples=(
        Sample("ij,jk->ik", A(2, 3), A(3, 4)),
        Sample("ii->i", A(3, 3)),
        Sample("ij->", A(2, 3)),
        Sample("bij,bjk", A(2, 3, 4), A(2, 4, 2)),
        Sample("...i,i->...", A(2, 3, 4), A(4)),
        Sample("i,ij,j->", A(3), A(3, 4), A(4)),
        Sample("iji->j", A(2, 3, 2)),
        Sample(A(2, 3), [0, 1], A(3, 2), [1, 2], [0, 2]),
    ),
    size=count_summed,
    doc="Einstein summation.",
)
