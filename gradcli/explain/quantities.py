"""Numbers that a factor or a term of a derivative may be: functions of inputs, of the output, of arrays in the code."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ..numeric.flat import arrays_behind
from .block import InputBlock

MOST_ARRAYS = 6  # most arrays used by the code that are tried: a choice
MOST_SOFTMAX_AXES = 3  # most axes of an input whose softmaxes are tried: a choice
MOST_SOURCES = 6  # most inputs and arrays from which products are made: a choice
TANH_GELU_SCALE, TANH_GELU_CUBIC = math.sqrt(2 / math.pi), 0.044715  # Hendrycks and Gimpel, arXiv:1606.08415

ArrayFunction = Callable[[np.ndarray], np.ndarray]
BlockValues = Callable[[InputBlock], np.ndarray]


class Quantity(NamedTuple):
    """A possible factor or term. of: its values for a block, which broadcast to (rows, elements).

    place: whether the name describes a substitution, and not a factor. lacks: for a product with a factor 1 - q, q and
    the rest of the product.
    """

    name: str
    of: BlockValues
    kind: str = "chain factor"
    place: bool = False
    lacks: tuple[str, str] | None = None


def sigmoid_value(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def normal_probability(x: np.ndarray) -> np.ndarray:
    """Return the distribution function of the normal distribution."""
    return np.array([math.erfc(-v / math.sqrt(2)) / 2 for v in x.reshape(-1).tolist()]).reshape(x.shape)


def density(x: np.ndarray) -> np.ndarray:
    return np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)


def gelu_slope(x: np.ndarray) -> np.ndarray:
    return normal_probability(x) + x * density(x)


def tanh_gelu_slope(x: np.ndarray) -> np.ndarray:
    t = np.tanh(TANH_GELU_SCALE * (x + TANH_GELU_CUBIC * x**3))
    return (1 + t) / 2 + x * (1 - t**2) * TANH_GELU_SCALE * (1 + 3 * TANH_GELU_CUBIC * x**2) / 2


def tanh_slope_value(x: np.ndarray) -> np.ndarray:
    return 1 - np.tanh(x) ** 2


def sigmoid_slope_value(x: np.ndarray) -> np.ndarray:
    return sigmoid_value(x) * (1 - sigmoid_value(x))


VALUE_FUNCTIONS: dict[str, ArrayFunction] = {
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
    "cosh({})": np.cosh,
    "(1 - {})": lambda x: 1 - x,
    "(1 - 1/{})": lambda x: 1 - 1 / x,
    "(1 + {})": lambda x: 1 + x,
    "(1 + {}**2)": lambda x: 1 + x**2,
    "(1 + abs({}))": lambda x: 1 + np.abs(x),
    "exp(-{}**2)": lambda x: np.exp(-(x**2)),
    "exp(-{}**2 / 2)": lambda x: np.exp(-(x**2) / 2),
}
ACTIVATION_SLOPES: dict[str, ArrayFunction] = {
    "the derivative of tanh, 1 - tanh({})**2,": tanh_slope_value,
    "the derivative of sigmoid, sigmoid({0}) * (1 - sigmoid({0})),": sigmoid_slope_value,
    "the derivative of softplus, sigmoid({}),": sigmoid_value,
    "the derivative of gelu at {}": gelu_slope,
    "the derivative of gelu (tanh) at {}": tanh_gelu_slope,
    "the derivative of silu at {}": lambda x: sigmoid_value(x) * (1 + x * (1 - sigmoid_value(x))),
    "the derivative of elu at {}": lambda x: np.where(x > 0, 1.0, np.exp(np.minimum(x, 0.0))),
    "the derivative of arctan, 1 / (1 + {}**2),": lambda x: 1 / (1 + x**2),
}
"""Derivatives of activations, as functions of the activation's argument."""
SLOPES_BY_RESULT: dict[str, ArrayFunction] = {
    "the derivative of tanh, 1 - {}**2,": lambda y: 1 - y**2,
    "the derivative of sigmoid, {0} * (1 - {0}),": lambda y: y * (1 - y),
    "the derivative of softplus, 1 - exp(-{}),": lambda y: 1 - np.exp(-y),
    "the derivative of sqrt, 1 / (2 * {}),": lambda y: 0.5 / y,
    "the derivative of log, exp(-{}),": lambda y: np.exp(-y),
    "the derivative of elu, 1 + {} below 0,": lambda y: np.where(y > 0, 1.0, 1 + y),
}
INNER: dict[str, ArrayFunction] = {
    **VALUE_FUNCTIONS,
    "(1 - {}**2)": lambda x: 1 - x**2,
    "sigmoid({})": sigmoid_value,
    "(1 - tanh({})**2)": tanh_slope_value,
    "sigmoid({0}) * (1 - sigmoid({0}))": sigmoid_slope_value,
    "(1 - sigmoid({}))": lambda x: 1 - sigmoid_value(x),
    "(1 - sign({}))": lambda x: 1 - np.sign(x),
    "sigmoid({})**2": lambda x: sigmoid_value(x) ** 2,
    "the normal density at {}": density,
    "the normal distribution function at {}": normal_probability,
}
"""Functions that a term of the product or quotient rule may contain."""
SUBSTITUTED: dict[str, ArrayFunction] = {
    "{0} (1 - {0}) in place of s (1 - s), where s = sigmoid({0})": lambda x: x * (1 - x) / sigmoid_slope_value(x),
    "the derivative of sigmoid at sigmoid({0}) in place of that at {0}": lambda x: (
        sigmoid_slope_value(sigmoid_value(x)) / sigmoid_slope_value(x)
    ),
    "1 - {0}**2 in place of 1 - tanh({0})**2": lambda x: (1 - x**2) / tanh_slope_value(x),
    "the derivative of tanh at tanh({0}) in place of that at {0}": lambda x: (
        tanh_slope_value(np.tanh(x)) / tanh_slope_value(x)
    ),
    "sin({0}) in place of cos({0})": np.tan,
    "cos({0}) in place of sin({0})": lambda x: 1 / np.tan(x),
    "tanh({0}) in place of 1 - tanh({0})**2": lambda x: np.tanh(x) / tanh_slope_value(x),
    "sigmoid({0}) in place of its derivative": lambda x: 1 / (1 - sigmoid_value(x)),
    "1 - tanh({0}) in place of 1 - tanh({0})**2": lambda x: 1 / (1 + np.tanh(x)),
    "1 / (1 + {0}) in place of 1 / (1 + {0}**2)": lambda x: (1 + x**2) / (1 + x),
    "{0} in place of exp({0})": lambda x: x * np.exp(-x),
    "log({0}) in place of 1/{0}": lambda x: x * np.log(x),
}
"""Mistaken substitutions, each with the claim divided by the derivative."""


QUANTITY_REDUCTIONS: dict[str, Callable] = {"norm": np.linalg.norm, "mean": np.mean, "sum": np.sum}


def sources(block: InputBlock) -> Iterator[tuple[str, BlockValues]]:
    """Yield arrays that vary with the element or with the output: inputs, the output, arrays that the code uses."""
    flat = block.flat
    yield block.name, lambda at: at.x
    for name, other in flat.claim.at.items():
        if other.dtype.kind != "f" or not other.size:
            continue
        if name != block.name:
            yield from ((words, of) for words, of in (*by_element(block, name), *by_output(block, name)))
        elif not block.diagonal and flat.out_shape != block.array.shape:
            yield from by_output(block, name)
    if block.whole and flat.out_dtype.kind == "f" and "f" not in block.at:
        yield "f", lambda at: at.output
    yield from differences_of_inputs(block)
    held = [(name, x) for name, x in arrays_behind(flat.claim) if name and x.dtype.kind == "f" and x.size > 1]
    for name, x in held[:MOST_ARRAYS] if block.whole else ():
        if fits(x.shape, flat.out_shape) and not block.diagonal:
            yield name, functools.partial(constant_of_outputs, np.broadcast_to(x, flat.out_shape))
        if fits(x.shape, block.array.shape):
            yield name, functools.partial(constant_of_elements, np.broadcast_to(x, block.array.shape))
    for name, other in flat.claim.at.items():
        if other.dtype.kind == "f" and other.size > 1:
            for word, reduce in QUANTITY_REDUCTIONS.items():
                yield f"{word}({name})", functools.partial(InputBlock.reduced, name=name, reduce=reduce)


def differences_of_inputs(block: InputBlock) -> Iterator[tuple[str, BlockValues]]:
    """Yield the differences of the input and another one of its shape, such as residuals."""
    for name, other in block.at.items():
        if name != block.name and other.dtype.kind == "f" and other.size > 1 and other.shape == block.array.shape:
            yield f"({block.name} - {name})", functools.partial(difference, name)


def difference(name: str, at: InputBlock) -> np.ndarray:
    return at.x - at.numbers_of(at.at[name])


def constant_of_outputs(x: np.ndarray, at: InputBlock) -> np.ndarray:
    return x.reshape(-1, 1).astype(float) if at.flat.out_shape == x.shape else np.full((len(at.a), 1), np.nan)


def constant_of_elements(x: np.ndarray, at: InputBlock) -> np.ndarray:
    return at.numbers_of(x) if at.array.shape == x.shape else np.full(at.x.shape, np.nan)


def by_element(block: InputBlock, name: str) -> Iterator[tuple[str, BlockValues]]:
    """Yield another input as values of the elements: broadcast as NumPy does, or along another axis."""
    given, shape = block.at[name].shape, block.array.shape
    if fits(given, shape):
        yield name, functools.partial(spread_over, name, None)
    for axis, n in enumerate(shape[:-1]):
        if given == (n,) and n > 1:
            yield f"{name} (along axis {axis})", functools.partial(spread_over, name, axis)


def spread_over(name: str, axis: int | None, at: InputBlock) -> np.ndarray:
    x, shape = at.at[name], at.array.shape
    if axis is not None:
        x = x.reshape([-1 if i == axis else 1 for i in range(len(shape))])
    try:
        return at.numbers_of(np.broadcast_to(x, shape))
    except ValueError:
        return np.full(at.x.shape, np.nan)


def by_output(block: InputBlock, name: str) -> Iterator[tuple[str, BlockValues]]:
    """Yield an input as values of the outputs."""
    shape = block.flat.out_shape
    if not block.whole or block.diagonal or block.flat.out_dtype.kind != "f" or not shape:
        return
    if fits(block.at[name].shape, shape) and block.at[name].size > 1:
        yield name, lambda at: np.broadcast_to(at.at[name], at.flat.out_shape).reshape(-1, 1).astype(float)


def fits(shape: tuple[int, ...], into: tuple[int, ...]) -> bool:
    """Return whether an array can be broadcast into a shape."""
    return len(shape) <= len(into) and all(n in (1, m) for n, m in zip(shape[::-1], into[::-1], strict=False))


def softmax_over(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    p = np.exp(x - x.max(axes, keepdims=True))
    return p / p.sum(axes, keepdims=True)


def softmaxes_of_other_axes(block: InputBlock) -> Iterator[Quantity]:
    """Yield a softmax along one axis in place of another one, as a factor and as a term."""
    axes = [axis for axis, n in enumerate(block.array.shape) if n > 1]
    for claimed, right in itertools.permutations(axes, 2) if len(axes) <= MOST_SOFTMAX_AXES and block.whole else ():
        one, other = (functools.partial(softmax_by_element, (axis,)) for axis in (claimed, right))
        names = [f"softmax({block.name}, axis={axis})" for axis in (claimed, right)]
        yield Quantity(" in place of ".join(names), functools.partial(ratio_of_values, one, other), place=True)
        if claimed < right:
            yield Quantity(f"({' - '.join(names)})", functools.partial(difference_of_values, one, other))


def softmax_by_element(axes: tuple[int, ...], at: InputBlock) -> np.ndarray:
    return at.numbers_of(softmax_over(np.asarray(at.at[at.name], float), axes))


def ratio_of_values(one: BlockValues, other: BlockValues, at: InputBlock) -> np.ndarray:
    return one(at) / other(at)


def difference_of_values(one: BlockValues, other: BlockValues, at: InputBlock) -> np.ndarray:
    return one(at) - other(at)


def quantities(block: InputBlock) -> Iterator[Quantity]:
    """Yield single factors, and substitutions."""
    for source, of in sources(block):
        for text, function in SUBSTITUTED.items() if source == block.name else ():
            yield Quantity(text.format(source), after_function(function, of), "chain factor", True)
        for text, function in SLOPES_BY_RESULT.items() if source == "f" else ACTIVATION_SLOPES.items():
            yield Quantity(named_text(text, source), after_function(function, of), "activation derivative")
        for text, function in VALUE_FUNCTIONS.items():
            yield Quantity(named_text(text, source), after_function(function, of))
    yield from softmaxes_of_other_axes(block)
    if block.array.ndim == 2 and block.array.shape[0] == block.array.shape[1]:
        yield Quantity(f"inv({block.name}).T", lambda at: at.numbers_of(inverse_transposed(at.at[block.name])))


def named_text(text: str, source: str) -> str:
    """Put the name of a source into the words of a function."""
    if source.startswith("(") and source.endswith(")") and "({})" in text:
        source = source[1:-1]
    return text.format(source)


def inverse_transposed(x: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.inv(x).T
    except np.linalg.LinAlgError:
        return np.full(x.shape, np.nan)


def after_function(function: ArrayFunction, of: BlockValues) -> BlockValues:
    return lambda at: function(of(at))


EXPONENTS = (-3, -4, -6, -7, -8, -12, -13, -14, 3, 4, 5, 6)
"""Powers of an input that a product may contain: small ones, and those of a Lennard-Jones potential."""


def to_power(p: float, x: np.ndarray) -> np.ndarray:
    return x**p


def atoms(block: InputBlock) -> Iterator[Quantity]:
    """Yield the quantities of which products are made."""
    for p in EXPONENTS:
        yield Quantity(f"{block.name}**{p}", after_function(functools.partial(to_power, float(p)), lambda at: at.x))
    for source, of in itertools.islice(sources(block), MOST_SOURCES):
        for text, function in INNER.items():
            yield Quantity(named_text(text, source), after_function(function, of))


def matrix_products(block: InputBlock) -> Iterator[Quantity]:
    """Yield products of two arrays of the code or inputs that have the shape of the input, such as x.T @ y."""
    given = {name: x for name, x in block.at.items() if x.ndim in (1, 2) and x.size > 1}
    for first, second in itertools.permutations(given, 2):
        for word, factors in PRODUCTS.items():
            of = functools.partial(product_at, factors, first, second)
            if (value := of(block)) is not None and value.shape == block.x.shape:
                yield Quantity(word.format(first, second), functools.partial(or_nan, of))


Factors = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
PRODUCTS: dict[str, Factors] = {
    "{}.T @ {}": lambda a, b: (a.T, b),
    "{} @ {}": lambda a, b: (a, b),
    "{} @ {}.T": lambda a, b: (a, b.T),
    "outer({}, {})": lambda a, b: (a.reshape(-1, 1), b.reshape(1, -1)),
}
"""The arrays to multiply, from two arrays."""


def product_at(factors: Factors, first: str, second: str, at: InputBlock) -> np.ndarray | None:
    """Return a product as values of the elements if it has the shape of the input; other products may be huge."""
    a, b = factors(at.at[first], at.at[second])
    if a.shape[-1] != b.shape[0] or a.shape[:-1] + b.shape[1:] != at.array.shape or a.ndim == b.ndim == 1:
        return None
    return at.numbers_of(a @ b)


def or_nan(of: Callable[[InputBlock], np.ndarray | None], at: InputBlock) -> np.ndarray:
    value = of(at)
    return np.full(at.x.shape, np.nan) if value is None else value
