"""Claims of derivatives written by hand, as functions of plain arrays or with the user's own engine."""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import count_of
from ..program.arguments import (
    Arguments,
    Path,
    as_array,
    call_with,
    expand_paths,
    is_branch,
    is_number,
    is_under,
    map_leaves,
)
from ..results.base import label
from ..user.frameworks import FRAMEWORKS, LIBRARIES, engine_of
from .claim import (
    Arrays,
    CallError,
    Capabilities,
    Claim,
    Difference,
    NotElementwiseError,
    WrongShapeError,
    as_kind_of_input,
    call_user,
    callable_name,
    nearby_point,
    plain_array,
)

MOST_ELEMENTS = 2_000  # most elements of an elementwise function, whose Jacobian has the square of this
ELEMENTWISE_HINT = "if the function works element by element, add --elementwise (elementwise=True in a declaration)"
UNCHANGED_UNITS = 1000  # changes of an output by up to this many rounding units count as zero


class HandWritten(Claim):
    """A function of arrays and its grad, vjp or jvp, all called positionally in the order of `at`.

    grad(*arrays) returns an array for one input, else a tuple in order or a dict by name, as does vjp(cotangent,
    *arrays). jvp(tangents, *arrays) takes one tangent per array and returns an array like the output. elementwise: f
    works element by element on numbers and inputs of one shape, and grad returns one derivative per output element.
    """

    written = ""  # says which argument a function changed, if any
    by_tangent = True

    def __init__(
        self,
        f: Callable,
        at: Mapping[str, Any],
        *,
        grad: Callable | None = None,
        vjp: Callable | None = None,
        jvp: Callable | None = None,
        wrt: Sequence[str] | None = None,
        elementwise: bool = False,
    ):
        super().__init__(callable_name(f), at, wrt)
        self.check_wrt()
        self.elementwise, self.seen_apart = elementwise, False
        self.f, self.grad, self.vjp_fn, self.jvp_fn = f, grad, vjp, jvp
        self.functions = tuple(function for function in (f, grad, vjp, jvp) if function is not None)
        self.capabilities = Capabilities(vjp=vjp is not None, jvp=jvp is not None)
        if grad is None and vjp is None:
            self.claims = "jvp"

    def call(
        self, function: Callable, arrays: Arrays, what: str, *before: Any, cotangent: np.ndarray | None = None
    ) -> Any:
        """Call on copies of the cotangent and the arrays; note which of them change. Raises CallError if it raises."""
        given = [*([] if cotangent is None else [cotangent]), *arrays.values()]
        copies = [x.copy() if x.ndim else x[()] for x in given]
        with np.errstate(all="ignore"):
            result = call_user(what, function, *before, *copies)
        for place, (x, copy) in enumerate(zip(given, copies, strict=True), len(arrays) - len(given)):
            same = not x.ndim or (x.shape == copy.shape and not np.count_nonzero(x != copy))
            if not same and not np.array_equal(x, copy, equal_nan=True):
                name = "cotangent" if place < 0 else f"argument '{list(arrays)[place]}'"
                self.written = self.written or f"{what} changes its {name} in place; it must work on a copy"
        return result

    def as_called(self) -> Iterator[Difference]:
        """Yield a difference if the functions change their arguments, or if the type of a cotangent matters."""
        if self.written:
            yield Difference("writes-into", self.written)
        if self.vjp_fn is not None and self.value_here().dtype.kind == "f":
            from .as_called import in_short_types

            yield from in_short_types(self)

    def evaluate(self, arrays: Arrays) -> Any:
        self.budget.made += 1
        return self.call(self.f, arrays, self.title)

    def evaluate_wider(self, arrays: Arrays) -> Any:
        return self.evaluate(arrays)

    def whole(self, arrays: Arrays) -> dict[str, np.ndarray] | None:
        if self.grad is None or self.vjp_fn is not None:
            return None
        out, what = self.output(arrays), callable_name(self.grad)
        if self.elementwise:
            self.refuse_mixing(arrays, out)
        parts = self.parts_of(self.call(self.grad, arrays, what), what)
        fit = self.diagonal if self.elementwise else self.fit_shape
        return {name: fit(parts[name], out, name) for name in self.wrt}

    def diagonal(self, part: Any, out: np.ndarray, name: str) -> np.ndarray:
        """Return the Jacobian with one derivative per element on its diagonal. Raises WrongShapeError."""
        raw, x = plain_array(part, f"{callable_name(self.grad)} for '{name}'"), self.at[name]
        if raw.shape not in ((), out.shape):  # a number is the derivative of every element
            wanted = f"with elementwise it must have the output's shape {out.shape}"
            raise WrongShapeError(f"the derivative of '{name}' has shape {raw.shape}; {wanted}")
        if x.ndim == 0:
            return self.fit_shape(np.broadcast_to(raw, out.shape), out, name)
        whole = np.zeros((out.size, out.size), raw.dtype)
        np.fill_diagonal(whole, raw)
        return self.fit_shape(whole.reshape(out.shape + x.shape), out, name)

    def refuse_mixing(self, arrays: Arrays, out: np.ndarray) -> None:
        """Raise NotElementwiseError if an input's shape is not the output's, or an element affects other outputs.

        For each bit, move the elements whose index has it, then the others: any two indices differ in some bit.
        """
        for name in self.wrt:
            if self.at[name].ndim and self.at[name].shape != out.shape:
                shapes = f"'{name}' has shape {self.at[name].shape}, but the output has shape {out.shape}"
                raise NotElementwiseError(f"{self.title} is not elementwise: {shapes}")
        if out.size > MOST_ELEMENTS:
            raise CallError(f"{self.title} has {out.size} elements; elementwise allows at most {MOST_ELEMENTS}")
        if self.budget.allowed is not None or self.seen_apart:
            return
        nearby, numbers = nearby_point(arrays), np.arange(out.size).reshape(out.shape)
        tolerance = 10 * np.abs(self.value(arrays) - out) + UNCHANGED_UNITS * np.finfo(out.dtype).eps * np.abs(out)
        for bit, moves in itertools.product(range((out.size - 1).bit_length()), (0, 1)):
            moved = (numbers >> bit) & 1 == moves
            mixed = {n: np.where(moved, nearby[n], x) if x.shape == out.shape else x for n, x in arrays.items()}
            try:
                there = self.value(mixed)
            except CallError:  # f may be undefined there
                continue
            changed = ~moved & (np.abs(there - out) > tolerance) if there.shape == out.shape else ~moved
            if changed.any():
                place = label("out", np.argwhere(changed)[0].tolist())
                text = f"{place} depends on input elements other than its own"
                raise NotElementwiseError(f"{self.title} is not elementwise: {text}")
        self.seen_apart = True

    def fit_shape(self, part: Any, out: np.ndarray, name: str) -> np.ndarray:
        """Return a gradient with shape output.shape + input.shape; for complex outputs, real and imaginary parts.

        Raises WrongShapeError, and CallError for complex outputs of complex inputs, which have no single derivative.
        """
        raw, is_complex = plain_array(part, f"{callable_name(self.grad)} for '{name}'"), out.dtype.kind == "c"
        self.note_type(raw, name)
        if is_complex and self.at[name].dtype.kind == "c":
            advice = "or the gradients of its real and imaginary parts, separately"
            what = f"{self.title} returns complex numbers for the complex input '{name}'"
            raise CallError(f"{what}: check a backward written by hand (vjp), {advice}")
        if not is_complex:
            raw = as_kind_of_input(raw, self.at[name], name)
        shape = out.shape if self.out_tangent is None else self.out_tangent
        wanted = shape + self.shape_by(name)
        if raw.shape != wanted and (self.tangents or self.out_tangent is not None):
            raw = self.fit_tangent(raw, shape, name)
        if raw.shape != wanted:
            one_number = raw.ndim == 0 and math.prod(wanted) == 1
            if not one_number and (out.size != 1 or raw.shape != self.at[name].shape):
                hint = ELEMENTWISE_HINT if raw.shape == out.shape == self.at[name].shape else None
                what = f"the gradient of '{name}' has shape {raw.shape}; it must have shape {wanted}"
                raise WrongShapeError(what, hint)
            raw = raw.reshape(wanted)
        return np.stack([raw.real, raw.imag], out.ndim) if is_complex else raw

    def shape_by(self, name: str) -> tuple[int, ...]:
        """Return the shape of the changes of an input: its own, or that of its tangents on a manifold."""
        return self.tangents.get(name, self.at[name].shape)

    def fit_tangent(self, raw: np.ndarray, out: tuple[int, ...], name: str) -> np.ndarray:
        """Return a Jacobian of two axes in the shape of the output followed by that of a tangent.

        Raises WrongShapeError for one by the entries of a matrix or quaternion.
        """
        shape = self.shape_by(name)
        if raw.shape in ((math.prod(out), math.prod(shape)), (1, *shape)) and raw.size == math.prod(out + shape):
            return raw.reshape(out + shape)
        if shape != self.at[name].shape and raw.size == math.prod(out) * self.at[name].size:
            what = f"the claim for '{name}' has shape {raw.shape}: it is with respect to the entries of the array"
            hint = "multiply it by the derivative of the entries with respect to the tangent, or check it without --on"
            raise WrongShapeError(f"{what}; with respect to the tangent, its shape must be {out + shape}", hint)
        return raw

    def note_type(self, raw: np.ndarray, name: str) -> None:
        """Note a derivative in a type with fewer digits than its input; the tolerance follows that type."""
        given = self.at[name].dtype
        if raw.dtype.kind not in "fc" or raw.real.dtype.itemsize >= given.type(0).real.dtype.itemsize:
            return
        unit = max(self.capabilities.claim_unit or 0.0, float(np.finfo(raw.dtype).eps) / 2)
        self.capabilities = replace(self.capabilities, claim_unit=unit)
        note = f"the claimed derivative is {raw.dtype}, so that type sets the tolerance"
        if note not in self.notes:
            self.notes = (*self.notes, note)

    def jvp(self, arrays: Arrays, tangents: Arrays) -> np.ndarray:
        assert self.jvp_fn is not None
        what = callable_name(self.jvp_fn)
        zeros = {n: np.zeros_like(x, dtype=x.dtype if x.dtype.kind in "fc" else np.float64) for n, x in arrays.items()}
        given = tuple(x.copy() if x.ndim else x[()] for x in (tangents.get(name, zeros[name]) for name in arrays))
        raw = plain_array(self.call(self.jvp_fn, arrays, what, given), what)
        shape = self.value(arrays).shape if self.shape is None else self.shape
        shape = shape if self.out_tangent is None else self.out_tangent
        if raw.shape != shape:
            advice = f"note that the first argument of {what} is a tuple of tangents, one per argument"
            raise WrongShapeError(f"{what} returns shape {raw.shape}, not the output's shape {shape}", advice)
        return raw

    def vjp(self, arrays: Arrays, cotangent: np.ndarray) -> dict[str, np.ndarray]:
        assert self.vjp_fn is not None
        what, products = callable_name(self.vjp_fn), {}
        parts = self.parts_of(self.call(self.vjp_fn, arrays, what, cotangent=cotangent), what)
        for name in self.wrt:
            x = self.at[name]
            raw = plain_array(parts[name], f"{what} for '{name}'")
            self.note_type(raw, name)
            if cotangent.dtype.kind == "c" and x.dtype.kind != "c":
                raw = raw.real
            raw = as_kind_of_input(raw, x, name)
            shape = self.shape_by(name)
            if raw.shape != shape and not (raw.ndim == 0 and x.size == 1):
                shapes = f"shape {raw.shape}; it must have shape {shape}"
                raise WrongShapeError(f"{what} returns a gradient for '{name}' of {shapes}")
            products[name] = np.array(raw).reshape(shape)  # rules may return the same buffer each time
        return products

    def parts_of(self, result: Any, what: str) -> dict[str, Any]:
        if result is None:
            raise CallError(f"{what} returned None")
        if isinstance(result, Mapping):
            result = {**{key[1:]: x for key, x in result.items() if str(key)[:1] == "d"}, **result}  # dW is for W
            missing = [name for name in self.wrt if name not in result]
            if missing:
                raise CallError(f"{what} returns no gradient for '{missing[0]}'")
            return dict(result)
        if len(self.wrt) == 1:
            only = self.wrt[0]
            whole = as_array(result) if len(self.at) == 1 else None  # a tuple may hold the elements of one array
            is_one = whole is not None and whole.shape in (self.at[only].shape, self.shape_by(only))
            if is_one or not isinstance(result, tuple):
                return {only: result}
        if not isinstance(result, tuple | list):
            message = f"{what} returned {type(result).__name__}; a tuple of {len(self.wrt)} gradients is needed"
            advice = f"--wrt {self.wrt[0]} (wrt= in a declaration) checks that input alone"
            number = next((name for name in self.wrt[1:] if not self.at[name].ndim), None)
            raise CallError(message, f"{advice}; --arg {number}=VALUE holds that constant" if number else advice)
        for names in (self.wrt, list(self.at)):
            if len(result) == len(names):
                return dict(zip(names, result, strict=True))
        if len(self.wrt) == 1:
            raise CallError(f"{what} returned a tuple of {len(result)} gradients for 1 input")
        some = ",".join(list(self.at)[: len(result)])
        hint = f"--wrt {some} (wrt= in a declaration) checks these inputs alone" if len(result) < len(self.at) else None
        raise CallError(f"{what} returned {count_of(len(result), 'gradient')} for {len(self.wrt)} inputs", hint)


def value_and_gradient(f: Callable) -> tuple[Callable, Callable]:
    def part(which: int) -> Callable:
        @functools.wraps(f)
        def call(*arguments: Any, **named: Any) -> Any:
            pair = f(*arguments, **named)
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                what = f"{len(pair)} things" if isinstance(pair, tuple | list) else type(pair).__name__
                raise CallError(f"{callable_name(f)} returned {what}, not (value, gradient)")
            return pair[which]

        return call

    return part(0), part(1)


def with_cache(forward: Callable, backward: Callable, names: Sequence[str]) -> tuple[Callable, Callable]:
    """Return f and its vjp from forward(*inputs), which may return (out, cache), and backward(cotangent, cache).

    Backward takes a cache if it has exactly one other parameter and this is not the only input. It takes the cotangent
    last, as in backward(x, g), if the others have the names of the inputs, in order.
    """
    try:
        parameters = list(inspect.signature(backward).parameters)
    except (TypeError, ValueError):
        parameters = ["", *names]
    if parameters[:-1] == list(names):

        @functools.wraps(backward)
        def from_inputs(cotangent: Any, *inputs: Any) -> Any:
            return backward(*inputs, cotangent)

        return forward, from_inputs
    if len(parameters) != 2 or parameters[1:] == list(names):
        return forward, backward

    def cache_in(result: Any) -> bool:
        return isinstance(result, tuple) and len(result) == 2 and not all(map(is_number, result))

    @functools.wraps(forward)
    def value(*arguments: Any) -> Any:
        result = forward(*arguments)
        return result[0] if cache_in(result) else result

    @functools.wraps(backward)
    def pull(cotangent: Any, *arguments: Any) -> Any:
        result = forward(*arguments)
        return backward(cotangent, result[1]) if cache_in(result) else backward(cotangent, *arguments)

    return value, pull


def claim_by_hand(
    f: Callable,
    at: Mapping[str, Any],
    claims: Mapping[str, Callable | None],
    wrt: Sequence[str] | None,
    elementwise: bool = False,
) -> HandWritten:
    """Return the claim of derivatives written by hand; nested and framework arguments become plain arrays."""
    if (backward := claims.get("vjp")) is not None:
        f, pull = with_cache(f, backward, list(at))
        claims = {**claims, "vjp": pull}
    functions = (f, *claims.values())
    if not any(engine_of(x, None) for x in functions if x is not None) and not any(
        is_branch(x) or (as_array(x) is None and not is_number(x)) for x in at.values()
    ):
        return HandWritten(f, at, wrt=wrt, elementwise=elementwise, **claims)
    arguments = Arguments(at)
    if not arguments.arrays:
        hint = "for a sparse matrix, pass its data and build the matrix inside the function"
        is_sparse = any(hasattr(x, "toarray") for x in at.values())
        message = f"no input is an array of floating-point numbers: {', '.join(at)}"
        raise CallError(message, hint if is_sparse else None)
    wrapped = {key: Flattened(x, arguments, key) for key, x in claims.items() if x is not None}
    names = expand_paths(wrt, list(arguments.arrays))
    flat = Flattened(f, arguments, "f")
    return HandWritten(flat, arguments.arrays, wrt=names, elementwise=elementwise, **wrapped)


class Flattened:
    """Calls a function of nested or framework arguments on plain arrays. role: f, grad, vjp or jvp."""

    def __init__(self, function: Callable, arguments: Arguments, role: str):
        self.function, self.arguments, self.role = function, arguments, role
        self.__name__ = callable_name(function)
        self.engine = engine_of(function, None)
        self.converts = False

    def __call__(self, *values: Any) -> Any:
        count = 1 if self.role in ("vjp", "jvp") else 0
        paths = list(self.arguments.arrays)
        before, leaves = values[:count], dict(zip(paths, values[count:], strict=True))
        if self.role == "jvp":
            tangents = dict(zip(paths, before[0], strict=True))
            before = (tuple(self.arguments.fill_in(tangents, np.zeros_like).values()),)
        return self.flat(self.run(before, leaves))

    def run(self, before: tuple, leaves: dict[str, Any]) -> Any:
        """Call the function on plain arrays, or on the framework's arrays if it rejects plain ones."""
        if self.engine is None:
            return self.attempt(before, leaves, lambda x: x)
        from .adapters.framework import adapter_of

        adapter = adapter_of(self.engine)
        with adapter.in_double():
            if self.converts:
                return self.attempt(before, leaves, adapter.array)
            try:
                return self.attempt(before, leaves, lambda x: x)
            except (TypeError, AttributeError):
                with contextlib.suppress(Exception):
                    result = self.attempt(before, leaves, adapter.array)
                    self.converts = True
                    return result
                raise

    def attempt(self, before: tuple, leaves: dict[str, Any], convert: Callable) -> Any:
        filled = self.arguments.fill_in({path: convert(x) for path, x in leaves.items()}, convert)
        if not before:
            return call_with(self.function, filled)
        first = before[0]
        first = tuple(map(convert, first)) if isinstance(first, tuple) else convert(first)
        return self.function(first, *filled.values())

    def flat(self, result: Any) -> Any:
        """Return a result with NumPy arrays; gradients of nested arguments as a dict by path."""
        if self.role in ("f", "jvp"):
            array = as_array(result)
            return result if array is None else array
        names = list(self.arguments.tree)
        nested = list(self.arguments.arrays) != names
        if nested:
            whole = result if isinstance(result, tuple) and len(result) <= len(names) else (result,)
            if len(whole) < len(names):  # there may be gradients only for arguments with floating-point numbers
                holding = [name for name in names if any(is_under(p, name) for p in self.arguments.arrays)]
                names = holding if len(whole) == len(holding) else names
            if isinstance(result, dict) and result.keys() <= set(names):
                whole, names = tuple(result.values()), list(result)
            return Arguments(dict(zip(names, whole, strict=False))).arrays
        return map_leaves(plain_part, result)


def plain_part(_: Path, x: Any) -> Any:
    array = as_array(x) if hasattr(x, "shape") else None
    return x if array is None else array


def own_engine(function: Any) -> type | None:
    """Return the class in a function's file whose objects have data, grad and backward(), if there is one."""
    if not inspect.isfunction(function):
        return None
    function = inspect.unwrap(function)
    for kind in function.__globals__.values():
        if isinstance(kind, type) and hasattr(kind, "backward") and is_of_user(kind, function.__module__):
            code = getattr(inspect.getattr_static(kind, "__init__"), "__code__", None)
            if code is not None and {"data", "grad"} <= {*code.co_names} and not hasattr(kind, "forward"):
                return kind
    return None


def is_of_user(kind: type, module: str) -> bool:
    """Report whether a class is from a module, or from another one that is not of a framework or a known library."""
    return kind.__module__ == module or kind.__module__.partition(".")[0] not in FRAMEWORKS.keys() | LIBRARIES
