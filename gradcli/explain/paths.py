"""Missing paths through a mean, a norm or a softmax, and claims that are right for other arguments."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .block import InputBlock
from .evidence import Hypothesis
from .quantities import sigmoid_value, softmax_over

MOST_MEAN_AXES = 4  # number of an input's last axes that a mean may be taken over: a choice
MOST_ARGUMENTS = 6  # most inputs whose exchange, transposition or reversal is tried: a choice


def mean_over(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return x.mean(axes, keepdims=True)


def total_over(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return x.sum(axes, keepdims=True)


def projection_on(x: np.ndarray, a: np.ndarray, axes: tuple[int, ...]) -> tuple[Any, ...]:
    """Return 0, the multiple of x nearest to a (along axes), and the mean square of x."""
    size = mean_over(x**2, axes)
    return 0.0, x * mean_over(a * x, axes) / size, size


def of_others(p: np.ndarray, a: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Return a = p (1 - p) g minus the product of g with the derivative of softmax."""
    pg = a / (1 - p)
    return a - pg + p * total_over(pg, axes)


def without_softmax(p: np.ndarray, a: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Return a minus the product of a with the derivative of softmax."""
    return a - p * (a - total_over(p * a, axes))


Missing = Callable[[np.ndarray, np.ndarray, tuple[int, ...]], tuple[Any, ...]]
ONLY_DIAGONAL = "only the diagonal p (1 - p) is claimed, where p is the softmax of {}; the terms -p_i p_j are missing"
NO_SOFTMAX = "the derivative of softmax p of {} is missing: from the claim g, compute p * (g - (p * g).sum())"
MISSING: dict[str, Missing] = {
    "the path through the mean of {} is missing, or wrong": lambda x, a, axes: (mean_over(a, axes),),
    "the path through the variance of {} is missing, or wrong": lambda x, a, axes: projection_on(
        x - mean_over(x, axes), a, axes
    ),
    "the paths through the mean and the variance of {} are missing, or wrong": lambda x, a, axes: (
        mean_over(a, axes),
        *projection_on(x - mean_over(x, axes), a, axes)[1:],
    ),
    "the path through the norm (or mean square) of {} is missing, or wrong": projection_on,
    "the path through the sum in softmax (or logsumexp) of {} is missing, or wrong": lambda x, a, axes: (
        softmax_over(x, axes) * total_over(a, axes),
    ),
    ONLY_DIAGONAL: lambda x, a, axes: (of_others(softmax_over(x, axes), a, axes),),
    NO_SOFTMAX: lambda x, a, axes: (without_softmax(softmax_over(x, axes), a, axes),),
}
"""The claim minus the derivative, from the input, the claim and the axes: a fixed part, a part that shrinks if an
epsilon is added to its size, and that size."""


def missing_paths(block: InputBlock) -> Iterator[Hypothesis]:
    """Yield a mean, a variance, a norm or the sum of a softmax along axes of the input that was taken as constant.

    The claim's excess then follows from the claim, except for the epsilon added to a variance, which is fitted.
    """
    shape = block.array.shape
    if block.array.dtype.kind != "f" or block.diagonal:
        return
    long = [axis - len(shape) for axis, n in enumerate(shape) if n > 1][-MOST_MEAN_AXES:]
    several = (axes for count in range(len(long)) for axes in itertools.combinations(long, count + 1))
    for axes, (name, missing) in itertools.product(several, MISSING.items()):
        with np.errstate(all="ignore"):
            plain, spread, size = excess(axes, missing, block)
            fitted = (size * (spread / (block.a - block.r - plain) - 1))[block.wrong & block.known]
        epsilons = [0.0]
        if np.ndim(spread) and np.any(spread) and fitted.size and np.isfinite(fitted).all():
            epsilons.append(float(np.median(fitted)))
        places = [axis + len(shape) for axis in axes]
        along = "" if len(axes) == len(shape) else f" along {'axis' if len(axes) == 1 else 'the axes'} "
        of = block.name + along + ", ".join(map(str, places)) * bool(along)
        for epsilon in epsilons:
            yield Hypothesis("missing path", name.format(of), functools.partial(without_excess, axes, missing, epsilon))


def excess(axes: tuple[int, ...], missing: Missing, at: InputBlock) -> tuple[np.ndarray, ...]:
    shape = at.array.shape
    found = missing(at.x.reshape(shape), at.a.reshape((-1, *shape)), axes)
    parts = (*found, 0.0, 1.0)[:3]
    return tuple(np.broadcast_to(part, (len(at.a), *shape)).reshape(at.a.shape) for part in parts)


def without_excess(axes: tuple[int, ...], missing: Missing, epsilon: float, at: InputBlock) -> np.ndarray:
    with np.errstate(all="ignore"):
        plain, spread, size = excess(axes, missing, at)
        return at.a - plain - spread * size / (size + epsilon)


def other_arguments(block: InputBlock) -> Iterator[Hypothesis]:
    """Yield changes of arguments for which the claim is right, or with which it adds up to the derivative."""
    at = {name: x for name, x in list(block.at.items())[:MOST_ARGUMENTS] if x.dtype.kind == "f"}
    for name, x in at.items():
        if x.ndim == 2 and x.shape[0] == x.shape[1] > 1 and not np.array_equal(x, x.T):
            yield from transposed_argument(block, name)
        if x.size > 1 and name == block.name:
            yield from normalized_argument(name, x.ndim)
        if x.ndim == 1 and x.size > 1 and name != block.name:
            text = f"flip {name}, as in a convolution: the claim is right for the reversed {name}"
            yield Hypothesis("wrong argument", text, functools.partial(claim_with, {name: flipped}))
    names = [name for name, x in at.items() if x.ndim == 0 or x.size > 1]
    for first, second in itertools.combinations(names, 2):
        if at[first].shape == at[second].shape:
            text = f"the arguments {first} and {second} are exchanged: the claim is right for the other order"
            exchanged = functools.partial(with_exchanged, first, second)
            yield Hypothesis("wrong argument", text, exchanged, both_signs=True)


def flipped(x: np.ndarray) -> np.ndarray:
    return x[::-1].copy()


def transposed_copy(x: np.ndarray) -> np.ndarray:
    return x.T.copy()


def claim_with(changes: dict[str, Callable], at: InputBlock) -> np.ndarray:
    return at.claimed_at(**{name: change(at.at[name]) for name, change in changes.items()})


def with_exchanged(first: str, second: str, at: InputBlock) -> np.ndarray:
    return at.claimed_at(**{first: at.at[second], second: at.at[first]})


def normalized_argument(name: str, ndim: int) -> Iterator[Hypothesis]:
    """Yield a forgotten softmax along one axis, the last one first, and a forgotten sigmoid."""
    for axis in dict.fromkeys((ndim - 1, 0)):
        along = f" along axis {axis}" if ndim > 1 else ""
        text = (
            f"a softmax of {name}{along} is missing: the claim is right if you pass softmax({name}) instead of {name}"
        )
        change = functools.partial(softmax_over, axes=(axis,))
        yield Hypothesis("wrong argument", text, functools.partial(claim_with, {name: change}), both_signs=True)
    text = f"a sigmoid of {name} is missing: the claim is right if you pass sigmoid({name}) instead of {name}"
    yield Hypothesis("wrong argument", text, functools.partial(claim_with, {name: sigmoid_value}), both_signs=True)


def transposed_argument(block: InputBlock, name: str) -> Iterator[Hypothesis]:
    of = functools.partial(claim_with, {name: transposed_copy})
    if name != block.name:
        text = f"the claim is right only if {name} is symmetric: use ({name} + {name}.T) / 2 instead of {name}"
        yield Hypothesis("symmetric part", text, lambda at: (at.a + of(at)) / 2)
        text = f"a term with the transpose of {name} is missing: add the claim for {name}.T"
        yield Hypothesis("symmetric part", text, lambda at: at.a + of(at))
    text = f"the claim is right for the transpose of {name}: use {name}.T instead of {name}"
    yield Hypothesis("transposed", text, of)
