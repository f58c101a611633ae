"""Claim, the interface of all adapters: a function of named arrays and its claimed derivative."""

from __future__ import annotations

import contextlib
import copy
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ..errors import ENDINGS, GradcliError, NotBatchableError, TargetError, describe_error, text_of
from ..program.arguments import OutputPart
from ..user.forks import end_fork

Arrays = Mapping[str, np.ndarray]
ProgressCallback = Callable[..., None]
"""Called with (what is counted, number done, total or 0 if unknown), or ("", 0, 0, text) for a partial result."""


class CallError(TargetError):
    """A function or its derivative could not be called, raised, or returned something unusable."""


class GoneError(TargetError):
    """The process died or hangs, or the server is gone, so trying another point is useless."""


class NoForwardError(CallError):
    """Forward mode does not support an operation of the function."""


class WrongShapeError(CallError):
    """The shape of the derivative does not fit the function."""


class NotElementwiseError(CallError):
    """The function does not work element by element, although it was claimed to."""


class ComplexError(CallError):
    """The derivative for a real input has an imaginary part."""


CHANGED = 1e-4  # differences between calls up to this part of the largest element count as rounding: a choice


class Difference(NamedTuple):
    """How the results of two ways of calling a rule differ. rule: the name of the finding."""

    rule: str
    text: str


class OutOfCallsError(Exception):
    """The call budget is used up. needed: how many more calls were needed."""

    def __init__(self, needed: int):
        super().__init__(f"{needed} more calls were needed")
        self.needed = needed


@dataclass(frozen=True)
class Capabilities:
    """Which products a claim's derivative provides, what a call costs, and how results are rounded.

    vjp, jvp: whether `Claim.vjps` and `Claim.jvp` provide products. An adapter that can only find out by running the
    function passes a callable that tries it; it is called when `pull` or `push` is read.
    """

    vjp: bool | Callable[[], bool] = False
    jvp: bool | Callable[[], bool] = False
    second: bool = False  # whether a backward pass can be differentiated: `Claim.pull_function`
    pulls_first: bool = False  # whether to check backward passes even if forward ones need fewer calls
    pulls_apart: bool = True  # whether products with cotangents, if any, make up the claimed Jacobian
    traced: bool = False  # whether gradcli's engine records and differentiates the function
    costly: bool = False  # a call may take seconds, so make few unless something is suspicious
    value_unit: float = 0.0  # the rounding unit of a narrower type that values pass through; 0 if none
    claim_unit: float | None = None  # the rounding unit of a claim computed in a narrower type than the inputs

    @property
    def pull(self) -> bool:
        """Whether a backward pass takes cotangents."""
        return self.vjp() if callable(self.vjp) else self.vjp

    @property
    def push(self) -> bool:
        """Whether a forward derivative takes tangents."""
        return self.jvp() if callable(self.jvp) else self.jvp


@dataclass
class CallBudget:
    made: int = 0
    allowed: int | None = None  # None: no limit
    claim_calls: int = 0  # calls of the function itself in one claimed product

    @property
    def left(self) -> float:
        return math.inf if self.allowed is None else self.allowed - self.made

    def require(self, calls: int) -> None:
        """Raise OutOfCallsError unless this many calls are left."""
        if calls > self.left:
            raise OutOfCallsError(calls)


@dataclass
class Progress:
    """Reports the progress of a long check to a callback, if there is one."""

    callback: ProgressCallback | None = None

    def report_progress(self, what: str, done: int, total: int) -> None:
        """Report how many of `what` are done. total: 0 if unknown."""
        if self.callback is not None:
            self.callback(what, done, total)

    def report_partial(self, text: str) -> None:
        """Report what was found so far, in case the check is interrupted."""
        if self.callback is not None:
            self.callback("", 0, 0, text)


class Claim:
    """A function of named arrays and its claimed derivative, wherever they run.

    An adapter defines `capabilities`, `evaluate`, and the methods for these capabilities: `vjp` or `vjps`, and `jvp`;
    or `whole`. Callers use `value`, `pulls` and `push`, which check shapes. title: the name in reports. at: the point,
    by name. wrt: the names to differentiate [all]. budget, progress: shared with claims made from this one. All
    methods may raise CallError or GoneError.
    """

    capabilities = Capabilities()
    claims = "vjp"  # which product the claimed Jacobian came from, if there are both
    notes: tuple[str, ...] = ()
    functions: tuple[Callable, ...] = ()  # its Python functions
    constants: Mapping[str, Any] = MappingProxyType({})  # other arguments of its functions, by name
    jitter: Mapping[str, float] = MappingProxyType({})  # how far a check moves each input at random
    restriction = ""  # the subspace that a pass is limited to, in words; "" for the whole space
    layout: tuple[OutputPart, ...] = ()  # the arrays that are joined into the output, if known
    recorded: np.ndarray | None = None  # the output, if the last backward pass recomputed it
    seen: tuple[Mapping[str, Any], Sequence[Any]] | None = None  # arguments and cotangents from the user's run
    first: Claim | None = None  # the function's own claim, if this is the product of a vector with its derivative
    doubt: tuple[str, str] | None = None  # a reason known in advance why the check is inconclusive: finding and text
    tangents: Mapping[str, tuple[int, ...]] = MappingProxyType({})  # shapes of the tangents of inputs on manifolds
    out_tangent: tuple[int, ...] | None = None  # the shape of the output's tangent, if it is on a manifold
    by_tangent = False  # whether derivatives on manifolds are given by the tangent, and not by the entries
    manifolds: Mapping[str, Any] = MappingProxyType({})  # of inputs, by name: see `OnManifolds`
    on_manifolds = False  # whether inputs or the output are moves on manifolds
    left_out: Mapping[str, float] = MappingProxyType({})  # part of an input's largest effect that a claim may leave out
    spread = 0.0  # distance at which the claim's rounding is measured, if that is more than a few rounding units
    trouble: str | None = None  # what the function raised near the point
    connection: Any = None  # the server or process, closed at the end

    def __init__(self, title: str, at: Mapping[str, Any], wrt: Sequence[str] | None = None):
        self.title = title
        self.at = {name: as_point(name, x) for name, x in at.items()}
        self.wrt = list(self.at) if wrt is None else list(wrt)
        self.here: np.ndarray | None = None
        self.shape: tuple[int, ...] | None = None
        self.budget, self.progress = CallBudget(), Progress()

    @property
    def inputs(self) -> Arrays:
        """The inputs as the user gives them; `at` may have other coordinates in their place."""
        return self.at

    def moved(self, at: Arrays) -> Claim:
        """Return the same claim at other inputs of the same shapes; those left out keep their values."""
        other = copy.copy(self)
        other.at = {**self.at, **at}
        other.trouble, other.here = None, None
        return other

    def check_wrt(self) -> None:
        for name in self.wrt:
            if name not in self.at:
                raise CallError(f"wrt names '{name}', which is not an input; the inputs are {', '.join(self.at)}")
            if self.at[name].dtype.kind not in "fc":
                hint = "write 3.0 instead of 3" if self.at[name].dtype.kind in "iu" else None
                raise CallError(f"'{name}' holds {self.at[name].dtype}, which has no derivative", hint)

    def evaluate(self, arrays: Arrays) -> Any:
        """Return the output for inputs by name; count the call in `budget.made`."""
        raise NotImplementedError

    def vjp(self, arrays: Arrays, cotangent: np.ndarray) -> dict[str, Any]:
        """Return the product of a cotangent (in the output's shape) with the derivative, by input name."""
        raise NotImplementedError

    def vjps(self, arrays: Arrays, cotangents: Sequence[np.ndarray]) -> list[dict[str, Any]]:
        """Return the products of several cotangents with the derivative at one point."""
        return [self.vjp(arrays, cotangent) for cotangent in cotangents]

    def jvp(self, arrays: Arrays, tangents: Arrays) -> Any:
        """Return the product of the derivative with tangents by input name (those left out are 0)."""
        raise NotImplementedError

    def whole(self, arrays: Arrays) -> dict[str, np.ndarray] | None:
        """Return the derivative by input name, with shape output.shape + input.shape; None if there are only products.

        For a complex input, a block holds dL/dRe + i dL/dIm of every real output; complex outputs are pairs of reals.
        """
        return None

    def value(self, arrays: Arrays) -> np.ndarray:
        self.budget.require(1)
        out = np.array(plain_array(self.evaluate(arrays), self.title))
        self.shape = out.shape
        return out

    def value_here(self) -> np.ndarray:
        """Return f at the point, calling f only once."""
        if self.here is None:
            self.here = self.value(self.at)
        return self.here

    def output(self, arrays: Arrays) -> np.ndarray:
        """Return f at `arrays`; call it only if these are not the point itself."""
        return self.value_here() if arrays is self.at else self.value(arrays)

    def values(self, stacks: Arrays, count: int, like: np.ndarray) -> np.ndarray:
        """Return f at `count` points, shape (count, *like.shape). stacks: inputs with one more leading axis.

        like: f at the point. Rows are nan where f raises or returns a different shape; `trouble` says why.
        """
        self.budget.require(count)
        rows = np.full((count, *like.shape), np.nan, like.dtype)
        for i in range(count):
            try:
                row = self.value({**self.at, **{name: x[i] for name, x in stacks.items()}})
            except CallError as error:
                self.trouble = str(error)
                continue
            if row.shape != like.shape or (row.dtype.kind == "c" and like.dtype.kind != "c"):
                self.trouble = f"the function returns shape {like.shape} here and {row.dtype} {row.shape} nearby"
            else:
                rows[i] = row
        return rows

    def rounding(self, points: Sequence[Arrays], values: np.ndarray) -> np.ndarray | None:
        """Return how far `values` of f at some points are off by rounding, in the shape of `values`.

        To measure this, f is computed once more in a type with more digits. None if that is not possible.
        """
        rows = []
        for at, value in zip(points, values, strict=True):
            wide = {name: more for name in self.wrt if (more := wider(at[name])) is not None}
            like = wider(value)
            if len(wide) < len(self.wrt) or like is None:
                return None
            self.budget.require(1)
            try:
                row = np.asarray(self.evaluate_wider({**at, **wide}))
            except CallError:
                return None
            if row.dtype != like.dtype or row.shape != like.shape:
                return None
            rows.append(np.abs(row - like))
        return np.array(rows).astype(float)

    def evaluate_wider(self, arrays: Arrays) -> Any:
        """Return the output for inputs in a type with more digits; None if f cannot take them. Count the call."""
        return None

    def whole_wider(self) -> dict[str, np.ndarray] | None:
        """Return `whole` at the point, computed in a type with more digits; None if it cannot be, or if it is given.

        A derivative that is given is wrong if rounding spoils it; one that gradcli computes is then unknown.
        """
        return None

    def pulls(self, arrays: Arrays, cotangents: Sequence[np.ndarray]) -> list[dict[str, np.ndarray]]:
        """Return the claimed products with several cotangents at one point, by input."""
        self.budget.require(self.budget.claim_calls)
        rows, at = self.vjps(arrays, cotangents), self.at
        return [{n: in_shape(row[n], at[n].shape, f"the gradient of '{n}'") for n in self.wrt} for row in rows]

    def pull(self, arrays: Arrays, cotangent: np.ndarray) -> dict[str, np.ndarray]:
        """Return the claimed product of a cotangent with the derivative, by input."""
        return self.pulls(arrays, [cotangent])[0]

    def pullback(self, arrays: Arrays) -> Callable[[np.ndarray], dict[str, np.ndarray]]:
        """Return the claimed products at one point as a function of the cotangent; f is called now, if at all."""
        return lambda cotangent: self.pull(arrays, cotangent)

    def push(self, arrays: Arrays, tangents: Arrays) -> np.ndarray:
        """Return the claimed product of the derivative with tangents by input name."""
        self.budget.require(self.budget.claim_calls)
        product = self.jvp(arrays, tangents)
        shape = self.output(arrays).shape if self.shape is None else self.shape
        return in_shape(product, shape, "the derivative along a direction")

    def late_pull(self, arrays: Arrays, cotangent: np.ndarray, between: Arrays) -> dict[str, np.ndarray] | None:
        """Return the product, calling f elsewhere between forward and backward; None if they are a single call."""
        return None

    def pull_of(self, arrays: Arrays, cotangent: np.ndarray, names: Sequence[str]) -> dict[str, np.ndarray] | None:
        """Return the product if only these inputs require a gradient; None if that makes no difference."""
        return None

    def as_called(self) -> Iterator[Difference]:
        """Yield the ways in which the rule's results depend on how it is called."""
        yield from ()

    def pull_function(self, cotangent: np.ndarray) -> Claim:
        """Return the product with a cotangent, as a function of the same inputs followed by the cotangent."""
        raise NotImplementedError

    def parts(self) -> Iterator[tuple[Claim, Callable[[], str]]]:
        """Yield the parts that can be checked separately, innermost and earliest first, each with its description."""
        yield from ()

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()


def in_shape(x: object, shape: tuple[int, ...], what: str) -> np.ndarray:
    raw = plain_array(x, what)
    if raw.shape != shape:
        raise WrongShapeError(f"{what} has shape {raw.shape}; it must have shape {shape}")
    return raw


def as_point(name: str, x: Any) -> np.ndarray:
    """Return an input as an array: integers stay, numbers become 0-d arrays. Raises CallError."""
    try:
        raw = np.array(x.detach() if hasattr(x, "detach") else x)
    except Exception as error:
        why = text_of(error).partition(".")[0]
        raise CallError(f"the value of '{name}' is not an array of numbers: {why}") from None
    if raw.dtype.kind not in "biufc":
        raise CallError(f"the value of '{name}' is not an array of numbers ({raw.dtype})")
    return raw


def plain_array(x: Any, what: str) -> np.ndarray:
    """Return a result as an array of floating-point or complex numbers. Raises CallError for anything else."""
    if x is None:
        raise CallError(f"{what} returned None")
    try:
        dense = x.toarray() if hasattr(x, "toarray") else x  # a sparse matrix of SciPy
        raw = np.asarray(dense.detach() if hasattr(dense, "detach") else dense)  # a tensor
    except Exception as error:
        raise CallError(f"{what} returned {type(x).__name__}, which is not an array: {text_of(error)}") from None
    if raw.dtype.kind in "biuO":
        with contextlib.suppress(Exception):
            raw = raw.astype(float)
    if raw.dtype.kind not in "fc":
        raise CallError(f"{what} returned {type(x).__name__} of type {raw.dtype}, not numbers")
    return raw


WIDER: dict[str, dict[int, Any]] = {
    "f": {2: np.float64, 4: np.float64, 8: np.longdouble},
    "c": {8: np.complex128, 16: np.clongdouble},
}
"""A type with more digits, by the kind and the size of a type."""


def wider(x: np.ndarray) -> np.ndarray | None:
    """Return an array in a type with more digits; None if there is none."""
    kind = WIDER.get(x.dtype.kind, {}).get(x.dtype.itemsize)
    more = kind is not None and np.finfo(kind).eps < np.finfo(x.dtype).eps
    return x.astype(kind) if more else None


def as_kind_of_input(raw: np.ndarray, like: np.ndarray, name: str) -> np.ndarray:
    """Return a gradient, real if the input is real. Raises ComplexError if imaginary parts exceed rounding."""
    if raw.dtype.kind != "c" or like.dtype.kind == "c":
        return raw
    size, imaginary = np.abs(raw).max(initial=0.0), np.abs(raw.imag).max(initial=0.0)
    if not imaginary <= (1e-9 if raw.dtype == np.complex128 else 1e-5) * size:
        parts = f"imaginary parts (up to {imaginary:.3g})"
        raise ComplexError(f"the gradient of '{name}' has {parts}, but '{name}' is real")
    return raw.real


def call_failed(what: str, error: BaseException) -> CallError:
    if isinstance(error, SystemExit):
        return CallError(f"{what} exited with status {text_of(error.code)}")
    return CallError(f"{what} raised {describe_error(error)}")


class failing_as:  # noqa: N801 - reads as a verb; a generator would be as slow as many functions are
    """Turn exceptions in the block into CallError, and end processes forked in it when it ends."""

    def __init__(self, what: str):
        self.what = what

    def __enter__(self) -> None:
        self.process = os.getpid()

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if os.getpid() != self.process:
            end_fork(self.process, error, quiet=True)
        if error is None or isinstance(error, (CallError, NotBatchableError, GeneratorExit, *ENDINGS)):
            return
        failure = CallError(error.message) if isinstance(error, GradcliError) else call_failed(self.what, error)
        raise failure from error


def call_user(what: str, function: Callable, *args: Any) -> Any:
    """Call the user's code. what: what it is, for errors. Raises CallError."""
    with failing_as(what):
        return function(*args)


def callable_name(function: Any) -> str:
    return getattr(function, "__name__", None) or type(function).__name__


def note_on_type(name: str, unit: float) -> str:
    """Return the note that a function computes in a type with few digits. unit: its rounding unit."""
    return f"it computes in {name}, which has {-np.log10(unit):.1f} digits"


def nearby_point(at: Arrays) -> dict[str, np.ndarray]:
    return {name: x + np.asarray(0.05 * (1 + np.abs(x)), x.dtype) for name, x in at.items()}


def free_name(name: str, taken: Iterable[str]) -> str:
    while name in set(taken):
        name += "_"
    return name


def second_order(first: Claim, seed: int) -> Claim:
    """Return the product of a random vector with a function's derivative, for second derivatives. Raises CallError.

    The vector is the last input.
    """
    if not (first.capabilities.second and first.capabilities.pull):
        raise CallError("second derivatives need reverse mode, which does not work through the function")
    rng, out = np.random.default_rng(seed + 1), first.value_here()
    vector = rng.standard_normal(out.shape) + (1j * rng.standard_normal(out.shape) if out.dtype.kind == "c" else 0)
    return first.pull_function(np.asarray(vector, out.dtype))
