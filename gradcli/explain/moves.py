"""Values that are right but in the wrong place: transposed, permuted, rolled, reversed, summed up; and conjugates."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator

import numpy as np

from ..numeric.compare import MARGIN
from ..results.base import label
from .block import RELATIVE, InputBlock
from .constants import common_ratio
from .evidence import Hypothesis

MOST_REORDERED = 4  # most axes for which all orders are tried: 4 axes have 24 orders
MOST_SHIFT = 2  # largest shift along an axis: a choice
MOST_MATCHED = 4096  # most rows or columns whose order is compared: a choice

WRONG_SUM = "probably a sum over the wrong axis, or a transpose"

ArrayChange = Callable[[np.ndarray], np.ndarray]


def moves(block: InputBlock) -> Iterator[Hypothesis]:
    """Yield changes of places, each alone and with the wrong sign or another constant."""
    for hypothesis in itertools.chain(whole_moves(block), permutations_of(block)):
        yield hypothesis
        if hypothesis.kind == "symmetric part":
            continue
        with np.errstate(all="ignore"):
            claim = np.broadcast_to(hypothesis.corrected(block), block.a.shape)
        ratio = common_ratio(block, block.known, claim)
        if ratio is not None and int(block.known.sum()) > 2 and abs((c := ratio.value) - 1) > 1e-3:
            text = (
                f"{hypothesis.text}; in addition, the sign is wrong"
                if ratio.is_near(-1)
                else (f"{hypothesis.text}; in addition, the claim is multiplied by {c:.6g}")
            )
            fixed = lambda at, h=hypothesis, c=c: h.corrected(at) / c  # noqa: E731
            yield hypothesis._replace(text=text, corrected=fixed)


def whole_moves(block: InputBlock) -> Iterator[Hypothesis]:
    if block.array.dtype.kind == "c":
        yield conjugated(block)
    if not block.diagonal:
        yield from transposed_inputs(block)
        yield from cumulative_sums(block)
        yield from transposed_jacobians(block)
        yield from outputs_reordered(block)
        yield from other_orders(block)
    if block.array.size > 1:
        yield from along_axes(block)
    if block.array.ndim == 1 and block.array.size > 2 and block.array.dtype.kind == "f":
        text = f"the values are in the order of the sorted {block.name}; put them back into the order of {block.name}"
        yield Hypothesis("permuted", text, lambda at: at.a[:, np.argsort(np.argsort(at.x))])
        text = (
            f"the values were in the order of {block.name} already, but the claim reorders them as if they were sorted"
        )
        yield Hypothesis("permuted", text, lambda at: at.a[:, np.argsort(at.x)])


def conjugated(block: InputBlock) -> Hypothesis:
    imaginary = np.zeros(len(block.a), bool)
    if block.whole:
        imaginary = np.array([block.flat.row(j)[1] == "im" for j in range(len(block.a))])
    of_output = "that of the complex conjugate: a conj is missing or superfluous"
    text = f"the gradient is {of_output if imaginary.any() else 'the complex conjugate of the derivative'}"
    # whether input and output are the same part, real or imaginary: if not, the conjugate changes the sign
    same = imaginary[:, None] == (np.arange(block.a.shape[1]) % 2 == 1)
    return Hypothesis("conjugate", text, lambda at: np.where(same, at.a, -at.a), general=False)


def transposed_inputs(block: InputBlock) -> Iterator[Hypothesis]:
    """Yield other orders of the input's axes."""
    shape = block.array.shape
    orders = [order for order in itertools.permutations(range(len(shape))) if order != tuple(range(len(shape)))]
    for order in orders if len(shape) <= MOST_REORDERED and sum(n > 1 for n in shape) > 1 else ():
        text = "the gradient is the transpose of the derivative"
        if len(shape) > 2:
            text = f"the axes of the gradient are in the order {list(order)}"
        if tuple(shape[i] for i in order) != shape:
            text = "the gradient holds the transposed derivative, reshaped"
        back = functools.partial(in_order_of_axes, order=order)
        yield moved_rows("transposed", text, back)


def in_order_of_axes(x: np.ndarray, order: tuple[int, ...]) -> np.ndarray:
    """Return an array of the input's shape from one whose elements are in another order of the axes."""
    return np.transpose(x.reshape([x.shape[i] for i in order]), np.argsort(order))


def transposed_jacobians(block: InputBlock) -> Iterator[Hypothesis]:
    """Yield exchanges of outputs and inputs: of all axes, or other orders of the axes of both."""
    if not block.whole or block.array.dtype.kind != "f" or block.flat.out_dtype.kind != "f":
        return
    outs, ins = block.flat.out_shape, block.array.shape
    if block.a.size != np.prod((*outs, *ins)):
        return
    if block.a.shape[0] == block.a.shape[1] > 1:
        text = "the claimed Jacobian is the transpose of the right one, as if w were used in place of w.T"
        yield Hypothesis("transposed", text, lambda at: at.a.T)
    for i, j in itertools.product(range(len(outs)), range(len(ins))):
        if outs[i] == ins[j] > 1 and len(outs) + len(ins) > 2:
            order = list(range(len(outs) + len(ins)))
            order[i], order[len(outs) + j] = len(outs) + j, i
            yield moved_in_order(block, tuple(order))


def other_orders(block: InputBlock) -> Iterator[Hypothesis]:
    """Yield other orders of the axes of outputs and inputs together."""
    shape, outs = (*block.flat.out_shape, *block.array.shape), len(block.flat.out_shape)
    if not block.whole or block.flat.out_dtype.kind != "f" or block.a.size != np.prod(shape):
        return
    for order in itertools.permutations(range(len(shape))) if 3 <= len(shape) <= MOST_REORDERED else ():
        changed = [i for i, j in enumerate(order) if i != j]
        crosses = any((i < outs) != (order[i] < outs) for i in changed)
        if crosses and len(changed) > 2 and tuple(shape[i] for i in order) == shape:
            yield moved_in_order(block, order)


def moved_in_order(block: InputBlock, order: tuple[int, ...]) -> Hypothesis:
    text = words_of_axes(order, len(block.flat.out_shape), block.name)
    return Hypothesis("transposed", text, of_axes(order))


def of_axes(order: tuple[int, ...]) -> Callable[[InputBlock], np.ndarray]:
    def corrected(at: InputBlock) -> np.ndarray:
        shape = (*at.flat.out_shape, *at.array.shape)
        return np.transpose(at.a.reshape(shape), order).reshape(at.a.shape)

    return corrected


def words_of_axes(order: tuple[int, ...], outs: int, name: str) -> str:
    """Describe an order of the axes of outputs and inputs together."""
    changed = [i for i, j in enumerate(order) if i != j]
    words = [f"axis {i} of the output" if i < outs else f"axis {i - outs} of {name}" for i in range(len(order))]
    if len(changed) == 2:
        exchanged = f"{words[changed[0]]} and {words[changed[1]]}"
        return f"a matrix is transposed, such as R.T in place of R: {exchanged} are exchanged"
    claimed, right = (", ".join(words[i] for i in places) for places in (order, range(len(order))))
    return f"a factor is transposed or on the wrong side of a product: the claim's axes are {claimed}, not {right}"


def outputs_reordered(block: InputBlock) -> Iterator[Hypothesis]:
    """Yield other orders of the output's axes, and shifted or reversed outputs."""
    shape = block.flat.out_shape
    if not block.whole or block.flat.out_dtype.kind != "f" or len(block.a) < 2:
        return
    for i, j in itertools.combinations(range(len(shape)), 2):
        if shape[i] == shape[j] > 1:
            text = f"the claimed d out/d {block.name} exchanges axes {i} and {j} of out; {WRONG_SUM}"
            yield Hypothesis("transposed", text, functools.partial(with_outputs_exchanged, i, j))
            text = "the claim is right only if the incoming gradient g is symmetric: use (g + g.T) / 2 instead of g"
            yield Hypothesis("symmetric part", text, functools.partial(with_outputs_added, i, j, 0.5))
            text = "a term with the transpose of the incoming gradient g is missing: use g + g.T instead of g"
            yield Hypothesis("symmetric part", text, functools.partial(with_outputs_added, i, j, 1.0))
    for axis, n in enumerate(shape):
        for shift in shifts(n):
            text = f"rolled index: the claim for {names_rolled('out', axis, shift, 'is the derivative of')}"
            yield Hypothesis("rolled", text, functools.partial(with_outputs_rolled, shift, axis))
        if n > 1:
            text = f"the derivatives of the outputs are in reverse order along axis {axis}"
            yield Hypothesis("reversed", text, functools.partial(with_outputs_reversed, axis))


def names_rolled(name: str, axis: int, shift: int, words: str) -> str:
    """Say what holds of an element and the one that is some places away along an axis: x[i] is that of x[i+1]."""
    before = [":"] * axis
    return f"{label(name, [*before, 'i'])} {words} {label(name, [*before, f'i{shift:+d}'])}"


def with_outputs_exchanged(i: int, j: int, at: InputBlock) -> np.ndarray:
    return np.swapaxes(at.a.reshape((*at.flat.out_shape, -1)), i, j).reshape(at.a.shape)


def with_outputs_added(i: int, j: int, weight: float, at: InputBlock) -> np.ndarray:
    return weight * (at.a + with_outputs_exchanged(i, j, at))


def with_outputs_rolled(shift: int, axis: int, at: InputBlock) -> np.ndarray:
    return np.roll(at.a.reshape((*at.flat.out_shape, -1)), shift, axis).reshape(at.a.shape)


def with_outputs_reversed(axis: int, at: InputBlock) -> np.ndarray:
    return np.flip(at.a.reshape((*at.flat.out_shape, -1)), axis).reshape(at.a.shape)


def shifts(n: int) -> list[int]:
    return [s for size in range(1, MOST_SHIFT + 1) for s in (size, -size) if n > 2 and size < n and 2 * size != n]


def sum_from_end(axis: int, x: np.ndarray) -> np.ndarray:
    return np.flip(np.cumsum(np.flip(x, axis), axis), axis)


SUMS: dict[str, Callable[[int, np.ndarray], np.ndarray]] = {
    "a cumulative sum goes the wrong way along axis {}": lambda axis, x: sum_from_end(
        axis, np.diff(x, axis=axis, prepend=0.0)
    ),
    "a cumulative sum is missing along axis {}": sum_from_end,
    "the claim is the cumulative sum of the derivative from the end of axis {}: the backward of a difference is "
    "missing, or a cumulative sum is applied once too often": lambda axis, x: -np.diff(x, axis=axis, append=0.0),
    "the claim is the cumulative sum of the derivative from the beginning of axis {}: the backward of a difference is "
    "missing": lambda axis, x: np.diff(x, axis=axis, prepend=0.0),
}
"""Mistakes in a cumulative sum from the end, which is the derivative of one from the beginning, and their repair."""


def cumulative_sums(block: InputBlock) -> Iterator[Hypothesis]:
    for axis in (axis for axis, n in enumerate(block.array.shape) if n > 2):
        for what, change in SUMS.items():
            text = what.format(axis)
            text += ": backward must sum in the direction opposite to forward" * text.startswith("a cumulative")
            yield moved_rows("cumulative sum", text, functools.partial(change, axis))


def along_axes(block: InputBlock) -> Iterator[Hypothesis]:
    """Yield mistakes that shift or reverse elements along axes of the input."""
    shape = block.array.shape
    axes = [axis for axis, n in enumerate(shape) if n > 1]
    for axis in axes:
        for shift in shifts(shape[axis]):
            text = f"rolled index: the claim for {names_rolled(block.name, axis, -shift, 'is the derivative for')}"
            yield moved_rows("rolled", text, functools.partial(np.roll, shift=-shift, axis=axis))
    for several in itertools.chain.from_iterable(itertools.combinations(axes, k + 1) for k in range(len(axes[:4]))):
        where = f"axis {several[0]}" if len(several) == 1 else f"the axes {', '.join(map(str, several))}"
        text = f"the elements are in reverse order along {where}"
        yield moved_rows("reversed", text, functools.partial(np.flip, axis=several))


def moved_rows(kind: str, text: str, change: ArrayChange) -> Hypothesis:
    """Return the hypothesis that each row is repaired in the input's shape, real and imaginary parts separately."""

    def corrected(at: InputBlock) -> np.ndarray:
        parts = 2 if at.array.dtype.kind == "c" else 1
        rows = at.a.reshape((len(at.a), *at.array.shape, parts))
        changed = [np.stack([change(row[..., i]) for i in range(parts)], -1) for row in rows]
        return np.array(changed).reshape(at.a.shape)

    return Hypothesis(kind, text, corrected)


def permutations_of(block: InputBlock) -> Iterator[Hypothesis]:
    """Yield the order of rows, or of columns, in which the claim has the derivative's values, if there is one."""
    if not np.isfinite(block.r).all() or block.array.dtype.kind != "f" or not np.isfinite(block.a).all():
        return
    minus = np.abs(block.a + block.r) <= MARGIN * block.error + RELATIVE * np.abs(block.a)
    if minus[block.wrong].all():  # a wrong sign is the simpler explanation
        return
    if len(block.a) > 1 and block.whole and not block.diagonal:
        order = order_of(block.a, block.r, block.error)
        if order is not None:
            text = f"the rows of the Jacobian are in the wrong order: {words_of_order(order, 'rows')}"
            yield Hypothesis("permuted", text, lambda at: at.a[order], general=False)
    if block.a.shape[1] > 1:
        order = order_of(block.a.T, block.r.T, block.error.T)
        if order is not None:
            text = f"the values are right, but permuted: {elements_in_order(block, order)}"
            yield Hypothesis("permuted", text, lambda at: at.a[:, order], general=False)


def order_of(claimed: np.ndarray, known: np.ndarray, error: np.ndarray) -> np.ndarray | None:
    """Return the place of a claimed row for each known row; None unless these are the same rows in another order."""
    count = len(claimed)
    if count > MOST_MATCHED or np.abs(known).max(initial=0.0) == 0:
        return None
    order = np.full(count, -1)
    tolerance = MARGIN * error + RELATIVE * np.abs(known)
    moved: dict[int, list[int]] = {}
    for i in range(count):
        alike = np.flatnonzero((np.abs(claimed - known[i]) <= tolerance[i]).all(axis=1)).tolist()
        if not alike:
            return None
        if i in alike:
            order[i] = i
        else:
            moved[i] = alike
    for i, alike in moved.items():  # after the rows that stay, whose places are taken
        order[i] = next((j for j in alike if j not in order), alike[0])
    return order if moved and len(np.unique(order)) == count else None


def words_of_order(order: np.ndarray, noun: str) -> str:
    """Describe an order: two exchanged places, two exchanged blocks, or the list of places."""
    changed = np.flatnonzero(order != np.arange(len(order)))
    if len(changed) == 2:
        return f"{noun} {changed[0]} and {changed[1]} are exchanged"
    first, last = int(changed[0]), int(changed[-1])
    split = int(np.flatnonzero(order == first)[0])
    blocks = np.concatenate([np.arange(first + last + 1 - split, last + 1), np.arange(first, first + last + 1 - split)])
    if len(changed) == last - first + 1 and np.array_equal(order[first : last + 1], blocks):
        return f"{noun} {span(first, split - 1)} and {span(split, last)} are exchanged"
    if len(order) <= 12:
        return f"in the claim, the order is {', '.join(map(str, np.argsort(order)))}"
    return f"{len(changed)} of {len(order)} are in another place"


def span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first} to {last}"


def elements_in_order(block: InputBlock, order: np.ndarray) -> str:
    """Describe an order of an input's elements."""
    if block.array.ndim == 1:
        return words_of_order(order, "elements")
    changed = np.flatnonzero(order != np.arange(len(order)))
    if len(changed) == 2:
        places = (list(map(int, np.unravel_index(int(i), block.array.shape))) for i in changed)
        return "elements {} and {} are exchanged".format(*places)
    return f"{len(changed)} of {len(order)} are in another place"
