"""What the mean of a biased estimator is: a multiple of the derivative, another gradient, or one without a part.

A hypothesis must agree with the mean of every element within its error. With a single element, only multiples that have
a usual cause are named, because the mean is known to a few digits and many other numbers would agree with it.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..results.base import label
from ..results.checks import Finding
from ..user.frameworks import constants_in_code, names_in, reachable_from

MEAN_SIGMAS = 5.0  # standard errors that a mean may be off what explains it: a choice
SLACK = 1e-3  # part of the largest derivative that it may be off in addition: a choice
LARGEST_NAMED_N = 12  # largest n of a factor if no size in the file suggests n: a choice
APART = 4.0  # the next factor must be this many uncertainties away: a choice
LEAST_KNOWN = 10.0  # a derivative that is this many errors large says something about a factor: a choice
FEW_NAMED = 4  # elements that a finding lists by name: a choice

GradientSource = Callable[[], tuple[np.ndarray, np.ndarray] | None]
"""Computes a gradient and its error; returns None if there is none."""


class Means(NamedTuple):
    """Means of an estimator and true derivatives: arrays of shape (d,).

    error: standard error of the two together; doubt: half-width of what is not random. wrong: mask of biased elements.
    """

    mean: np.ndarray
    truth: np.ndarray
    error: np.ndarray
    doubt: np.ndarray
    wrong: np.ndarray

    @property
    def tolerance(self) -> np.ndarray:
        return MEAN_SIGMAS * self.error + self.doubt + SLACK * np.abs(self.truth).max(initial=0.0)

    def equal(self, expected: np.ndarray, more: np.ndarray | float = 0.0) -> bool:
        """Report whether the means equal expected numbers, whose error is `more`."""
        return bool((np.abs(self.mean - expected) <= self.tolerance + more).all())

    def part(self, chosen: np.ndarray) -> Means:
        return Means(*(x[chosen] for x in self))


class MeanFactor(NamedTuple):
    """A multiple of the derivative, and its cause in words."""

    value: float
    words: str = ""


def explain_mean(
    means: Means,
    inputs: Sequence[tuple[str, tuple[int, ...], slice]],
    sizes: Mapping[int, str],
    others: Iterable[tuple[str, GradientSource]],
) -> list[Finding]:
    """Return what the mean is, if that is clear.

    inputs: name, shape and elements of each. sizes: lengths and whole numbers in the file, with what they are. others:
    gradients of other functions, with words for them.
    """
    if not np.isfinite(means.truth).all():
        return []
    multiple, several = usual_multiple(means, sizes), len(means.mean) > 1
    found = None
    if multiple is None and several:
        found = part_of_inputs(means, inputs, sizes) or other_gradient(means, others)
    if multiple is None and found is None:
        multiple = multiple_by(means, any_sizes())
    if multiple is not None:
        found = Finding(multiple[0], f"the mean is {multiple[1]}")
    elif found is None and several:
        found = any_factor(means)
    return [] if found is None else [found]


def usual_multiple(means: Means, sizes: Mapping[int, str]) -> tuple[str, str] | None:
    """Return kind and text of a multiple of the derivative with a usual cause."""
    if means.equal(np.zeros_like(means.mean)):
        return "zero", "0: no gradient reaches this input, or it averages out"
    if means.equal(-means.truth):
        return "sign", "minus the derivative"
    own = [
        MeanFactor(x, f", {word} for n = {n}, {words}") for n, words in sizes.items() for x, word in named_factors(n)
    ]
    return multiple_by(means, [*own, *(MeanFactor(x) for x in (2.0, 0.5, -2.0, -0.5))])


def multiple_by(means: Means, factors: Sequence[MeanFactor]) -> tuple[str, str] | None:
    """Return kind and text of the only multiple that agrees, if the others are far away."""
    c, error = fitted_factor(means)
    if not means.equal(c * means.truth):
        return None
    distances = {round(x.value, 9): abs(c - x.value) for x in factors}
    near = [value for value, distance in distances.items() if distance <= MEAN_SIGMAS * error + SLACK * abs(value)]
    next_one = min((x for value, x in distances.items() if value not in near), default=math.inf)
    if len(near) != 1 or next_one < APART * (MEAN_SIGMAS * error + SLACK * abs(c)):
        return None
    best = next(x for x in factors if round(x.value, 9) == near[0])
    return "factor", f"{times_in_words(best.value)} the derivative{best.words}"


def times_in_words(c: float) -> str:
    named = {2.0: "twice", 0.5: "half", -2.0: "minus twice", -0.5: "minus half"}
    return named.get(c, f"{c:.4g} times")


def fitted_factor(means: Means) -> tuple[float, float]:
    """Return the multiple of the derivative that is closest to the means, and its standard error."""
    least = 1e-9 * float(np.abs(means.truth).max(initial=0.0)) + 1e-300
    weight = 1 / (means.error**2 + means.doubt**2 + least**2)
    total = max(float((weight * means.truth**2).sum()), 1e-300)
    return float((weight * means.truth * means.mean).sum()) / total, 1 / math.sqrt(total)


def named_factors(n: int) -> Iterator[tuple[float, str]]:
    for value, word in ((n, "n"), (1 / n, "1/n"), (n / (n - 1), "n/(n-1)"), ((n - 1) / n, "(n-1)/n")):
        yield float(value), word
        yield -float(value), f"-{word}"


def any_sizes() -> list[MeanFactor]:
    """Return the factors of small n, which need not be in the file."""
    small = range(3, LARGEST_NAMED_N + 1)
    return [MeanFactor(value, f", {word} for n = {n}") for n in small for value, word in named_factors(n)]


def other_gradient(means: Means, others: Iterable[tuple[str, GradientSource]]) -> Finding | None:
    """Report that the mean is the gradient of another function."""
    for words, gradient in others:
        found = gradient()
        if found is None:
            continue
        value, error = found
        known = np.isfinite(value).all() and not np.allclose(value, means.truth, rtol=SLACK, atol=0)
        if known and means.equal(value, error):
            return Finding("other function", f"the mean is the gradient of {words}")
    return None


def any_factor(means: Means) -> Finding | None:
    """Report a factor that several elements share, without a cause."""
    known = np.abs(means.truth) > LEAST_KNOWN * (means.error + means.doubt)
    c, error = fitted_factor(means)
    if known.sum() < 2 or not means.equal(c * means.truth):
        return None
    return Finding("factor", f"the mean is {c:.4g} ± {error:.1g} times the derivative")


def part_of_inputs(
    means: Means, inputs: Sequence[tuple[str, tuple[int, ...], slice]], sizes: Mapping[int, str]
) -> Finding | None:
    """Report that the elements of some inputs, or some elements, have another multiple of the derivative than 1."""
    places = np.zeros(len(means.mean), int)
    for k, (_, _, own) in enumerate(inputs):
        places[own] = k
    whole = np.isin(places, np.unique(places[means.wrong]))
    for chosen in (whole, means.wrong):
        right = means.part(~chosen)
        if chosen.all() or not right.equal(right.truth):
            continue
        some = means.part(chosen)
        if (np.abs(some.mean) <= means.tolerance[chosen]).all():
            where = where_chosen(chosen, inputs)
            return Finding("zero", f"the mean is 0 {where}: this part of the gradient is missing")
        multiple = usual_multiple(some, sizes)
        if multiple is not None:
            return Finding(
                multiple[0], f"the mean is {multiple[1]} {where_chosen(chosen, inputs)}, and right elsewhere"
            )
    return None


def where_chosen(chosen: np.ndarray, inputs: Sequence[tuple[str, tuple[int, ...], slice]]) -> str:
    """Name the chosen elements: `for phi`, `at theta[1], theta[2]`, `in 7 of 20 elements of theta`."""
    whole = [name for name, _, own in inputs if chosen[own].all()]
    if whole and sum(chosen[own].sum() for name, _, own in inputs if name in whole) == chosen.sum():
        return f"for {' and '.join(whole)}"
    names = []
    for name, shape, own in inputs:
        index = np.unravel_index(np.flatnonzero(chosen[own]), shape) if shape else ()
        names += [label(name, place) for place in zip(*(x.tolist() for x in index), strict=True)]
        names += [name] if not shape and chosen[own].any() else []
    if len(names) <= FEW_NAMED:
        return f"at {', '.join(names)}"
    return f"in {len(names)} of {len(chosen)} elements"


LARGEST_SIZE = 1_000  # whole numbers in code up to which they may be a number of samples: a choice


def own_functions(function: Any) -> list[Any]:
    """Return a function and those of its file that it calls, directly or not."""
    file = getattr(getattr(function, "__code__", None), "co_filename", None)
    found = [f for f in reachable_from(function) if inspect.isfunction(f) and f.__code__.co_filename == file]
    return list(dict.fromkeys(found))


def named_constants(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield names and values of the globals and defaults that a function and those that it calls use."""
    for f in own_functions(function):
        yield from ((name, f.__globals__[name]) for name in names_in(f.__code__) if name in f.__globals__)
        for name, parameter in inspect.signature(f).parameters.items():
            if parameter.default is not parameter.empty:
                yield name, parameter.default
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
            try:
                yield name, cell.cell_contents
            except ValueError:  # not yet filled
                continue


def sizes_in(function: Any, at: Mapping[str, np.ndarray]) -> dict[int, str]:
    """Return whole numbers above 2 that may be a number of samples or elements, with what they are."""
    sizes: dict[int, str] = {}
    for name, x in named_constants(function):
        if isinstance(x, int) and not isinstance(x, bool):
            sizes.setdefault(x, f"which is {name}")
    arrays = [*named_constants(function), *at.items()]
    for name, x in ((name, x) for name, x in arrays if isinstance(x, np.ndarray | list | tuple)):
        for length in np.shape(x) if isinstance(x, np.ndarray) else (len(x),):
            sizes.setdefault(length, f"the length of {name}")
    for f in own_functions(function):
        for x in constants_in_code(f.__code__):
            if isinstance(x, int) and not isinstance(x, bool):
                sizes.setdefault(x, f"a number in {f.__name__}")
    return {n: words for n, words in sizes.items() if 2 < n <= LARGEST_SIZE}


def numbers_in_code(function: Any) -> list[Any]:
    """Return numbers and arrays of numbers that a function and those that it calls use."""
    found = []
    for _, x in named_constants(function):
        try:
            raw = np.asarray(x, float) if isinstance(x, float | int | list | tuple | np.ndarray) else None
        except (ValueError, TypeError):
            continue
        if raw is not None and raw.size and not isinstance(x, bool):
            found.append(raw)
    return found
