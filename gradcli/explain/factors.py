"""Find factors and terms that a wrong derivative lacks or should not have: functions of inputs and of the output.

A factor of the chain rule varies with the element, or with the output. Its constant is fitted, so it must explain
several numbers, at the checked point and at others.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..numeric.flat import arrays_behind
from .input_block import Expected, Hypothesis, InputBlock

SEVERAL = 3  # least number of wrong numbers that a fitted constant must explain: one fits it, the others confirm it
MOST_FITTED = 256  # most elements of a row that constants are fitted to: a choice
MOST_MEAN_AXES = 4  # number of an input's last axes that a mean may be taken over: a choice
MOST_ARRAYS = 6  # most arrays used by the code that are tried: a choice
GELU_SCALE, GELU_CUBIC = math.sqrt(2 / math.pi), 0.044715  # Hendrycks and Gimpel, arXiv:1606.08415
TERM_CONSTANTS = np.array([1, 2, 3, 4, 6, 0.5, 1 / 3, 0.25])  # constants of terms that are products

Function = Callable[[np.ndarray], np.ndarray]


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def normal(x: np.ndarray) -> np.ndarray:
    """Return the distribution function of the normal distribution."""
    return np.array([math.erfc(-v / math.sqrt(2)) / 2 for v in x.reshape(-1).tolist()]).reshape(x.shape)


def gelu_slope(x: np.ndarray) -> np.ndarray:
    return normal(x) + x * np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)


def tanh_gelu_slope(x: np.ndarray) -> np.ndarray:
    t = np.tanh(GELU_SCALE * (x + GELU_CUBIC * x**3))
    return (1 + t) / 2 + x * (1 - t**2) * GELU_SCALE * (1 + 3 * GELU_CUBIC * x**2) / 2


def tanh_slope(x: np.ndarray) -> np.ndarray:
    return 1 - np.tanh(x) ** 2


def sigmoid_slope(x: np.ndarray) -> np.ndarray:
    return sigmoid(x) * (1 - sigmoid(x))


FUNCTIONS: dict[str, Function] = {
    "{}": lambda x: x,
    "{}**2": np.square,
    "sqrt({})": np.sqrt,
    "exp({})": np.exp,
    "exp(-{})": lambda x: np.exp(-x),
    "sin({})": np.sin,
    "cos({})": np.cos,
    "log({})": np.log,
    "tanh({})": np.tanh,
    "sign({})": np.sign,
    "1 - {}": lambda x: 1 - x,
    "1 + {}**2": lambda x: 1 + x**2,
}
SLOPES: dict[str, Function] = {
    "the derivative of tanh, 1 - tanh({})**2,": tanh_slope,
    "the derivative of sigmoid, s (1 - s) where s = sigmoid({}),": sigmoid_slope,
    "the derivative of softplus, sigmoid({}),": sigmoid,
    "the derivative of gelu at {}": gelu_slope,
    "the derivative of gelu (tanh) at {}": tanh_gelu_slope,
    "the derivative of silu at {}": lambda x: sigmoid(x) * (1 + x * (1 - sigmoid(x))),
    "the derivative of elu at {}": lambda x: np.where(x > 0, 1.0, np.exp(np.minimum(x, 0.0))),
    "the derivative of arctan, 1 / (1 + {}**2),": lambda x: 1 / (1 + x**2),
}
"""Derivatives of activations, as functions of the activation's argument."""
SLOPES_BY_RESULT: dict[str, Function] = {
    "the derivative of tanh, 1 - {}**2,": lambda y: 1 - y**2,
    "the derivative of sigmoid, {0} (1 - {0}),": lambda y: y * (1 - y),
    "the derivative of softplus, 1 - exp(-{}),": lambda y: 1 - np.exp(-y),
    "the derivative of sqrt, 1 / (2 {}),": lambda y: 0.5 / y,
    "the derivative of log, exp(-{}),": lambda y: np.exp(-y),
    "the derivative of elu, 1 + {} below 0,": lambda y: np.where(y > 0, 1.0, 1 + y),
}
INNER: dict[str, Function] = {
    **FUNCTIONS,
    "(1 - tanh({})**2)": tanh_slope,
    "s (1 - s), s = sigmoid({})": sigmoid_slope,
    "the normal density at {}": lambda x: np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi),
}
"""Functions that a term of the product or quotient rule may contain."""
POWERS = {"{}": 1.0, "{}**2": 2.0, "1/{}": -1.0, "1/{}**2": -2.0}
IN_PLACE: dict[str, Function] = {
    "sigmoid's s (1 - s) was computed from {0} itself, not from sigmoid({0})": lambda x: x * (1 - x) / sigmoid_slope(x),
    "sigmoid's derivative was taken at sigmoid({0}), not at {0}": lambda x: (
        sigmoid_slope(sigmoid(x)) / sigmoid_slope(x)
    ),
    "tanh's 1 - t**2 was computed from {0} itself, not from tanh({0})": lambda x: (1 - x**2) / tanh_slope(x),
    "tanh's derivative was taken at tanh({0}), not at {0}": lambda x: tanh_slope(np.tanh(x)) / tanh_slope(x),
    "sin({0}) in place of cos({0})": np.tan,
    "cos({0}) in place of sin({0})": lambda x: 1 / np.tan(x),
    "tanh({0}) in place of 1 - tanh({0})**2": lambda x: np.tanh(x) / tanh_slope(x),
    "sigmoid({0}) in place of its derivative": lambda x: 1 / (1 - sigmoid(x)),
    "1 - tanh({0}) in place of 1 - tanh({0})**2": lambda x: 1 / (1 + np.tanh(x)),
    "{0} in place of exp({0})": lambda x: x * np.exp(-x),
    "log({0}) in place of 1/{0}": lambda x: x * np.log(x),
}
"""Mistaken substitutions, each with the claim divided by the derivative."""


class Quantity(NamedTuple):
    """A possible factor or term. of: its values for a block, which broadcast to (rows, elements)."""

    name: str
    of: Expected
    kind: str = "chain factor"
    place: bool = False  # whether the name describes a substitution


def sources(block: InputBlock) -> Iterator[tuple[str, Expected]]:
    """Yield arrays that vary with the element or with the output: inputs, the output, arrays that the code uses."""
    flat = block.flat
    yield block.name, lambda at: at.x
    for name, other in flat.claim.at.items():
        if other.dtype.kind != "f" or not other.size:
            continue
        if name != block.name:
            yield from ((name, by) for by in (by_element(block, name), by_output(block, name)) if by is not None)
        elif (of := by_output(block, name)) is not None and flat.out_shape != block.array.shape:
            yield name, of
        if other.size > 1:
            for word, reduce in (("norm", np.linalg.norm), ("sum", np.sum)):
                yield f"{word}({name})", functools.partial(InputBlock.reduced, name=name, reduce=reduce)
    if block.whole and flat.out_dtype.kind == "f":
        yield "the value" if len(block.f0) == 1 else "the output", lambda at: at.f0[:, None]
        held = [(name, x) for name, x in arrays_behind(flat.claim).items() if x.dtype.kind == "f" and x.size > 1]
        for name, x in held[:MOST_ARRAYS]:
            if fits(x.shape, flat.out_shape):
                yield name, functools.partial(constant_of_outputs, np.broadcast_to(x, flat.out_shape))
            if fits(x.shape, block.array.shape):
                yield name, functools.partial(constant_of_elements, np.broadcast_to(x, block.array.shape))


def constant_of_outputs(x: np.ndarray, at: InputBlock) -> np.ndarray:
    return x.reshape(-1, 1).astype(float)


def constant_of_elements(x: np.ndarray, at: InputBlock) -> np.ndarray:
    return x.reshape(-1)[at.columns].astype(float)


def by_element(block: InputBlock, name: str) -> Expected | None:
    shape = block.array.shape
    if not fits(block.at[name].shape, shape):
        return None
    return lambda at: np.broadcast_to(at.at[name], shape).reshape(-1)[at.columns].astype(float)


def by_output(block: InputBlock, name: str) -> Expected | None:
    shape = block.flat.out_shape
    if not block.whole or block.flat.out_dtype.kind != "f" or not shape or not fits(block.at[name].shape, shape):
        return None
    return lambda at: np.broadcast_to(at.at[name], shape).reshape(-1, 1).astype(float)


def fits(shape: tuple[int, ...], into: tuple[int, ...]) -> bool:
    """Return whether an array can be broadcast into a shape."""
    return len(shape) <= len(into) and all(n in (1, m) for n, m in zip(shape[::-1], into[::-1], strict=False))


def quantities(block: InputBlock) -> Iterator[Quantity]:
    for source, of in sources(block):
        for text, function in IN_PLACE.items() if source == block.name else ():
            yield Quantity(text.format(source), after(function, of), "chain factor", True)
        for text, function in SLOPES_BY_RESULT.items() if source == "the output" else SLOPES.items():
            yield Quantity(text.format(source), after(function, of), "activation derivative")
        for text, function in FUNCTIONS.items():
            yield Quantity(f"a factor {text.format(source)}", after(function, of))
    if block.array.ndim == 2 and block.array.shape[0] == block.array.shape[1]:
        yield Quantity(f"a factor inv({block.name}).T", lambda at: inverse(at.at[block.name])[at.columns])


def inverse(x: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.inv(x).T.reshape(-1).astype(float)
    except np.linalg.LinAlgError:
        return np.full(x.size, np.nan)


def after(function: Function, of: Expected) -> Expected:
    return lambda at: function(of(at))


class StackedBlocks:
    """Numbers of a block here and at other points, in one array, for fitting the constants of hypotheses."""

    def __init__(self, block: InputBlock):
        self.block, blocks = block, [block, *block.others]
        wrong = np.flatnonzero((block.wrong & block.known).any(axis=0))
        columns = [np.flatnonzero(np.isfinite(at.r).any(axis=0))[:MOST_FITTED] for at in blocks]
        columns[0] = np.union1d(wrong[:MOST_FITTED], columns[0])
        self.blocks = [at.thin(chosen) for at, chosen in zip(blocks, columns, strict=True)]
        self.a, self.r = self.join(lambda at: at.a), self.join(lambda at: at.r)
        self.known, self.wrong = self.join(lambda at: at.known), self.join(lambda at: at.wrong)
        self.wrong = self.wrong & self.known
        self.count = int(self.wrong.sum())

    def join(self, of: Expected) -> np.ndarray:
        return np.concatenate([np.broadcast_to(of(at), at.r.shape).reshape(-1) for at in self.blocks])

    def constant(self, ratio: np.ndarray) -> float | None:
        """Return the value of a ratio if it is the same at all wrong places; None if it varies or few are known."""
        ratio = ratio[self.wrong & np.isfinite(ratio)]
        if len(ratio) < SEVERAL or not ratio[0]:
            return None
        return float(ratio[0]) if (np.abs(ratio - ratio[0]) <= 1e-3 * abs(ratio[0])).all() else None

    def varies(self, q: np.ndarray, least: float = 1e-6) -> bool:
        q = np.abs(q[self.wrong & np.isfinite(q)])
        return bool(len(q) >= 2 and np.ptp(q) > least * q.max() > 0)


def functions_of_inputs(block: InputBlock) -> Iterator[Hypothesis]:
    """Yield factors and terms that are missing or superfluous, missing masks and missing paths."""
    yield from unmasked(block)
    fit = StackedBlocks(block)
    if fit.count >= SEVERAL:
        yield from factors(fit)
        yield from terms(fit)
        yield from missing_paths(block)
    yield from centred(block)


def unmasked(block: InputBlock) -> Iterator[Hypothesis]:
    """Yield a missing mask: the claim is right where the derivative is not 0, and wrong where it is 0."""

    def expected(at: InputBlock) -> np.ndarray:
        flat = np.abs(at.r) <= 1e-6 * np.abs(at.a)
        seen = ~flat & (at.r != 0)
        return np.where(flat, at.a, at.r) if seen.any() else np.full_like(at.r, np.nan)

    if int(block.wrong.sum()) > 1:
        text = "wrong where the derivative is 0, otherwise right: a mask is missing, such as x > 0 in relu or the"
        yield Hypothesis("activation derivative", f"{text} limits of a clamp", expected)


def factors(fit: StackedBlocks) -> Iterator[Hypothesis]:
    """Yield factors that are missing or superfluous; those that need no other constant come first."""
    found: list[tuple[bool, Hypothesis]] = []
    for quantity in itertools.chain(quantities(fit.block), powers(fit, fit.a / fit.r)):
        q = fit.join(quantity.of)
        for power, word in ((1.0, "superfluous"), (-1.0, "missing"))[: 1 if quantity.place else 2]:
            c = fit.constant(fit.a / (fit.r * q**power)) if fit.varies(q) else None
            if c is None:
                continue
            c = 1.0 if abs(c - 1) < 1e-4 else c
            text = quantity.name if quantity.place else f"{quantity.name} is {word} (chain rule)"
            text = text if c == 1 else f"{text} (and a constant {c:.6g})"
            expected = lambda at, c=c, power=power, of=quantity.of: c * at.r * of(at) ** power  # noqa: E731
            whole = Hypothesis(quantity.kind, text, expected)
            found += [(c != 1, whole), (c != 1, whole._replace(expected=fit.block.partly(expected)))]
    yield from (hypothesis for _, hypothesis in sorted(found, key=lambda item: item[0]))


def terms(fit: StackedBlocks) -> Iterator[Hypothesis]:
    """Yield terms that were dropped or are superfluous: the difference is proportional to them."""
    plain, block = Quantity("1", lambda at: np.ones_like(at.r)), fit.block
    simple = (q for q in quantities(block) if not q.place)
    for quantity in itertools.chain([plain], simple, powers(fit, fit.a - fit.r), products(block)):
        q = fit.join(quantity.of)
        c = fit.constant((fit.a - fit.r) / q)
        if c is None or (quantity.kind == "product" and not np.isclose(abs(c), TERM_CONSTANTS, rtol=1e-4).any()):
            continue
        name = quantity.name.removeprefix("a factor ")
        name = f"{name} (a log-determinant)" if name.startswith("inv(") else name
        action = "dropped or has the wrong sign" if c < 0 else "superfluous"
        text = f"a term {abs(c):.6g} * {name} is {action}: the difference is proportional to {name}"
        if quantity is plain:
            text = f"the difference is the same everywhere, {c:.6g}: a term is dropped or added"
        expected = lambda at, c=c, of=quantity.of: at.r + c * of(at)  # noqa: E731
        yield Hypothesis("dropped term", text, expected)
        if fit.varies(q, 0.01):
            yield Hypothesis("dropped term", text, block.partly(expected))


def to_power(p: float, x: np.ndarray) -> np.ndarray:
    return x**p


def powers(fit: StackedBlocks, followed: np.ndarray) -> Iterator[Quantity]:
    """Yield the power of an input that a ratio or a difference is proportional to, if any."""
    for name, source in itertools.islice(sources(fit.block), 4):
        x, y = np.log(np.abs(fit.join(source))), np.log(np.abs(followed))
        used = fit.wrong & np.isfinite(x) & np.isfinite(y)
        if int(used.sum()) < SEVERAL or np.ptp(x[used]) < 1e-3:
            continue
        slope = float(np.polyfit(x[used], y[used], 1)[0])
        p = round(2 * slope) / 2
        if abs(slope - p) < 1e-3 and p:
            yield Quantity(f"a factor {name}**{p:g}", after(functools.partial(to_power, p), source))


def products(block: InputBlock) -> Iterator[Quantity]:
    """Yield products of an input's power and a function of an input, as in the product and quotient rules."""
    few = list(itertools.islice(sources(block), 4))
    for (name, of), (other, by), (text, function) in itertools.product(few, few, INNER.items()):
        for power, p in POWERS.items():
            whole = lambda at, of=of, by=by, function=function, p=p: of(at) ** p * function(by(at))  # noqa: E731
            yield Quantity(f"{power.format(name)} * {text.format(other)}", whole, "product")


def mean(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return x.mean(axes, keepdims=True)


def total(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return x.sum(axes, keepdims=True)


def projected(x: np.ndarray, a: np.ndarray, axes: tuple[int, ...]) -> tuple[Any, ...]:
    """Return 0, the multiple of x nearest to a (along axes), and the sum of the squares of x."""
    size = total(x**2, axes)
    return 0.0, x * total(a * x, axes) / size, size


def softmax(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    p = np.exp(x - x.max(axes, keepdims=True))
    return p / total(p, axes)


def of_others(p: np.ndarray, a: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Return a = p (1 - p) g minus the product of g with the derivative of softmax."""
    pg = a / (1 - p)
    return a - pg + p * total(pg, axes)


Missing = Callable[[np.ndarray, np.ndarray, tuple[int, ...]], tuple[Any, ...]]
MISSING: dict[str, Missing] = {
    "the path through the mean of {} is missing, or wrong": lambda x, a, axes: (mean(a, axes),),
    "the path through the variance of {} is missing, or wrong": lambda x, a, axes: projected(
        x - mean(x, axes), a, axes
    ),
    "the paths through the mean and the variance of {} are missing, or wrong": lambda x, a, axes: (
        mean(a, axes),
        *projected(x - mean(x, axes), a, axes)[1:],
    ),
    "the path through the norm (or mean square) of {} is missing, or wrong": projected,
    "the path through the sum in softmax (or logsumexp) of {} is missing, or wrong": lambda x, a, axes: (
        softmax(x, axes) * total(a, axes),
    ),
    "only p (1 - p) is claimed for softmax p of {}: -p p', for other elements, is missing": lambda x, a, axes: (
        of_others(softmax(x, axes), a, axes),
    ),
}
"""The claim minus the derivative, from the input, the claim and the axes: a fixed part, a part that shrinks if an
epsilon is added to its size, and that size."""


def missing_paths(block: InputBlock) -> Iterator[Hypothesis]:
    """Yield a mean, a variance, a norm or the sum of a softmax along axes of the input that was held constant.

    The claim's excess then follows from the claim, except for the epsilon added to a variance, which is fitted.
    """
    shape = block.array.shape
    long = [axis for axis, n in enumerate(shape) if n > 1][-MOST_MEAN_AXES:]
    several = (axes for count in range(len(long)) for axes in itertools.combinations(long, count + 1))
    for axes, (name, missing) in itertools.product(several, MISSING.items()):

        def parts(at: InputBlock, axes: tuple[int, ...] = axes, missing: Missing = missing) -> tuple[np.ndarray, ...]:
            found = missing(at.x.reshape(shape), at.a.reshape((-1, *shape)), tuple(axis - len(shape) for axis in axes))
            whole = (*found, 0.0, 1.0)[:3]
            return tuple(np.broadcast_to(part, (len(at.a), *shape)).reshape(at.a.shape) for part in whole)

        plain, spread, size = parts(block)
        epsilon = (size * (spread / (block.a - block.r - plain) - 1))[block.wrong & block.known]
        epsilon = float(np.median(epsilon)) if spread.any() and np.isfinite(epsilon).all() else 0.0

        def expected(at: InputBlock, parts: Callable = parts, epsilon: float = epsilon) -> np.ndarray:
            plain, spread, size = parts(at)
            return at.r + plain + spread * size / (size + epsilon)

        along = "" if len(axes) == len(shape) else f" along {'axis' if len(axes) == 1 else 'the axes'} "
        of = block.name + along + ", ".join(map(str, axes)) * bool(along)
        yield Hypothesis("missing path", name.format(of), expected)


def centred(block: InputBlock) -> Iterator[Hypothesis]:
    """Yield a difference that is the same in all elements, or along an axis, but differs at other points."""
    shape = block.array.shape
    axes = [tuple(range(len(shape))), *((axis,) for axis in range(len(shape)) if len(shape) > 1)]
    for several in axes if block.whole else ():
        if math.prod(shape[i] for i in several) >= SEVERAL:
            where = "all elements" if len(several) == len(shape) else f"the elements along axis {several[0]}"
            text = f"the difference is the same in {where}: the derivative through a mean or a sum is dropped or added"
            yield Hypothesis("dropped term", text, functools.partial(with_mean_added, several))


def with_mean_added(axes: tuple[int, ...], at: InputBlock) -> np.ndarray:
    """Add the mean known difference along axes of the input to the derivative."""
    gap = (at.a - at.r).reshape((len(at.r), *at.array.shape))
    known = np.isfinite(gap)
    several = tuple(axis + 1 for axis in axes)
    total = np.where(known, gap, 0.0).sum(axis=several, keepdims=True) / known.sum(axis=several, keepdims=True)
    return at.r + np.broadcast_to(total, gap.shape).reshape(at.r.shape)
