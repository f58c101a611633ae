"""What is checked: a function of named arrays and its claimed derivative, as one between real vectors."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ENDINGS, describe_error, text_of
from ..program.arguments import OutputPart, Path, element_at
from ..program.detect_framework import reachable_from
from ..show.check_results import InputCheck, WorstElement


class CheckError(Exception):
    """The function or its derivative could not be called, or returned something that cannot be checked.

    hint: what to do.
    """

    def __init__(self, message: str, hint: str | None = None):
        super().__init__(message)
        self.hint = hint


class OutOfCallsError(Exception):
    """The function was called as often as it may be. needed: so many more calls were wanted at once."""

    def __init__(self, needed: int):
        super().__init__(f"{needed} more calls were wanted")
        self.needed = needed


class NoForwardError(CheckError):
    """Forward mode lacks an operation of the function."""


class WrongShapeError(CheckError):
    """The derivative has another shape than the derivative of this function has."""


def as_check_error(what: str, error: BaseException) -> CheckError:
    if isinstance(error, SystemExit):
        return CheckError(f"{what} exited with status {text_of(error.code)}")
    return CheckError(f"{what} raised {describe_error(error)}")


def plain_array(x: Any, what: str) -> np.ndarray:
    """Return a result as an array of floating-point or complex numbers. Raises CheckError for anything else."""
    if x is None:
        raise CheckError(f"{what} returned None")
    try:
        dense = x.toarray() if hasattr(x, "toarray") else x  # a sparse matrix of SciPy has that
        raw = np.asarray(dense.detach() if hasattr(dense, "detach") else dense)  # a tensor has that
    except ENDINGS:
        raise
    except BaseException as error:
        message = f"{what} returned {type(x).__name__}, which is no array: {text_of(error)}"
        raise CheckError(message) from None
    if raw.dtype.kind in "biuO":
        try:
            raw = raw.astype(float)
        except ENDINGS:
            raise
        except BaseException:
            raise CheckError(f"{what} returned {type(x).__name__} of type {raw.dtype}, not numbers") from None
    if raw.dtype.kind not in "fc":
        raise CheckError(f"{what} returned {type(x).__name__} of type {raw.dtype}, not numbers")
    return raw


class ComplexError(CheckError):
    """The derivative for a real input has an imaginary part."""


def as_kind_of_input(raw: np.ndarray, like: np.ndarray, name: str) -> np.ndarray:
    """Return a gradient as the input's kind of number.

    An imaginary part for a real input is dropped where it is no more than rounding. Raises ComplexError.
    """
    if raw.dtype.kind != "c" or like.dtype.kind == "c":
        return raw
    size, imaginary = np.abs(raw).max(initial=0.0), np.abs(raw.imag).max(initial=0.0)
    if not imaginary <= (1e-9 if raw.dtype == np.complex128 else 1e-5) * size:
        raise ComplexError(
            f"the gradient of '{name}' has imaginary parts (up to {imaginary:.3g}), but '{name}' is real"
        )
    return raw.real


class copied:  # noqa: N801 - a namespace
    """Whether this process is a copy of the one that checks, which the checked function forked and let go on."""

    here = False

    @classmethod
    def end(cls) -> None:
        """End such a copy: only one process goes on with the check."""
        if cls.here:
            os._exit(0)


class Subject:
    """A function f of named arrays with a claimed derivative.

    at: the arrays by name. wrt: the names to differentiate. Both views of an array count complex elements
    twice, as real and imaginary parts.
    """

    traced = False
    by_pulls = True  # whether its Jacobian is made of products with cotangents, where it gives these
    notes: tuple[str, ...] = ()
    restriction = ""
    """On which part of the space alone a pass says something, in words; "" for all of it."""
    claims = "vjp"
    """Which product the claimed Jacobian came from, where there are both."""
    claim_unit: float | None = None
    """The rounding unit of the claim, where that is computed in a narrower type than the inputs have."""
    value_unit = 0.0
    """The rounding unit of a type of few digits that values go through; 0 where they go through none."""
    watch: Callable[[str, int, int], None] | None = None
    """Told how far a long check is: what is counted, how many were done, of how many."""
    layout: tuple[OutputPart, ...] = ()
    """The arrays that the output is joined of, where it tells them."""
    trouble: str | None = None
    """What the function raised beside the point."""
    costly = False
    """Whether a call may take seconds, so that few are made unless something is suspicious."""
    calls = 0
    """How often the function was called."""
    most_calls: int | None = None
    """How often it may be called."""
    claim_calls = 0
    """How often the claim itself calls the function."""

    def __init__(self, at: Mapping[str, Any], wrt: Sequence[str] | None = None):
        self.at = {name: as_point(name, x) for name, x in at.items()}
        self.wrt = list(self.at) if wrt is None else list(wrt)
        for name in self.wrt:
            if name not in self.at:
                raise CheckError(f"wrt names '{name}', which is no input; the inputs are {', '.join(self.at)}")
            if self.at[name].dtype.kind not in "fc":
                raise CheckError(f"'{name}' holds {self.at[name].dtype}, which has no derivative")
        self.here: np.ndarray | None = None

    def count(self, calls: int = 1) -> None:
        """Note calls that are about to be made. Raises OutOfCallsError where that is more than there may be."""
        self.require(calls)
        self.calls += calls

    def require(self, calls: int) -> None:
        """Raise OutOfCallsError where so many more calls are not to be had."""
        if self.most_calls is not None and self.calls + calls > self.most_calls:
            raise OutOfCallsError(calls)

    def value_here(self) -> np.ndarray:
        """Return f at the point itself, from one call for all who ask. Raises CheckError."""
        if self.here is None:
            self.here = self.value(self.at)
        return self.here

    def output(self, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return f at arrays, for its shape. Raises CheckError."""
        return self.value_here() if arrays is self.at else self.value(arrays)

    def value(self, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return f at arrays by name. Raises CheckError."""
        raise NotImplementedError

    def values(self, stacks: Mapping[str, np.ndarray], count: int, like: np.ndarray) -> np.ndarray:
        """Return f at `count` points: arrays with one more leading axis for those in `stacks`.

        like: f at the point itself. Where f raises, or returns another shape, it is nan, and `trouble` says why.
        """
        self.require(count)
        rows = np.full((count, *like.shape), np.nan, like.dtype)
        for i in range(count):
            try:
                row = self.value({**self.at, **{name: x[i] for name, x in stacks.items()}})
            except CheckError as error:
                self.trouble = str(error)
                continue
            if row.shape != like.shape or (row.dtype.kind == "c" and like.dtype.kind != "c"):
                self.trouble = f"the function returns shape {like.shape} here and {row.dtype} {row.shape} beside it"
            else:
                rows[i] = row
        return rows

    def jacobian(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the claimed derivative by input name: output.shape + input.shape each. Raises CheckError."""
        raise NotImplementedError

    def pull(self, arrays: Mapping[str, np.ndarray], cotangent: np.ndarray) -> dict[str, np.ndarray]:
        """Return the claimed product of a cotangent with the derivative, by input name. Raises CheckError."""
        raise NotImplementedError

    def pulls(self, arrays: Mapping[str, np.ndarray], cotangents: Sequence[np.ndarray]) -> list[dict[str, np.ndarray]]:
        """Return the claimed products with several cotangents at one point. Raises CheckError."""
        return [self.pull(arrays, cotangent) for cotangent in cotangents]

    recorded: np.ndarray | None = None
    """The output as the last backward pass had it, where it is computed for that anew."""

    def pull_of(
        self, arrays: Mapping[str, np.ndarray], cotangent: np.ndarray, names: Sequence[str]
    ) -> dict[str, np.ndarray] | None:
        """Return the claimed product for some inputs, where the others require no gradient.

        None where that makes no difference. Raises CheckError.
        """
        return None

    def late_pull(
        self, arrays: Mapping[str, np.ndarray], cotangent: np.ndarray, between: Mapping[str, np.ndarray]
    ) -> dict[str, np.ndarray] | None:
        """Return the claimed product, where the function is called at another point between forward and backward.

        None where these are one call. Raises CheckError.
        """
        return None

    def push(self, arrays: Mapping[str, np.ndarray], tangents: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the claimed product of the derivative with tangents by input name. Raises CheckError."""
        raise NotImplementedError

    @property
    def has_pull(self) -> bool:
        """Whether there is a backward pass to give cotangents to."""
        return False

    @property
    def has_push(self) -> bool:
        """Whether there is a forward derivative to give tangents to, beside or instead of a backward pass."""
        return False

    def tell(self, what: str, done: int, total: int) -> None:
        """Tell who watches how far it is; total: 0 where that is not known."""
        if self.watch is not None:
            self.watch(what, done, total)

    def blame(self, is_wrong: Callable[[Any], bool]) -> str | None:
        """Return which part of the function is wrong by itself, where parts can be checked."""
        return None

    def all_right(self, flat: Any) -> tuple[InputCheck, ...] | None:
        """Return what was found for each input where one look settles all elements; None where it does not."""
        return None


def as_point(name: str, x: Any) -> np.ndarray:
    """Return an input as an array: integers stay, numbers become 0-d arrays. Raises CheckError."""
    try:
        raw = np.array(x.detach() if hasattr(x, "detach") else x)
    except ENDINGS:
        raise
    except BaseException as error:
        why = text_of(error).partition(".")[0]
        raise CheckError(f"the value of '{name}' is no array of numbers: {why}") from None
    if raw.dtype.kind not in "biufc":
        raise CheckError(f"the value of '{name}' is no array of numbers ({raw.dtype})")
    return raw


def callable_name(function: Any) -> str:
    return getattr(function, "__name__", None) or type(function).__name__


MOST_BYTES = 1 << 28
"""How much memory the points of one batch may take."""


def real_view(x: np.ndarray) -> np.ndarray:
    """Return an array as a vector of real numbers: for complex elements real part, imaginary part."""
    flat = np.ascontiguousarray(x).reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


class Flat:
    """The real vector x of the inputs to differentiate, and f as a function of it.

    f0: f at x as a real vector of length m; seconds: what that took. unit: the rounding unit of f's values. scales:
    the size of each element of x, for zeros that of their neighbours.
    """

    def __init__(self, subject: Subject):
        self.subject = subject
        self.arrays = [subject.at[name] for name in subject.wrt]
        self.parts = [real_view(x) for x in self.arrays]
        self.edges = np.cumsum([0, *(len(p) for p in self.parts)])
        self.size = int(self.edges[-1])
        out = subject.value_here()
        self.out, self.out_shape, self.out_dtype = out, out.shape, out.dtype
        self.f0 = real_view(out).astype(float)
        if out.dtype.kind not in "fc":
            raise CheckError(f"the output has type {out.dtype}, which has no derivative")
        self.unit = max(float(np.finfo(out.dtype).eps) / 2, subject.value_unit)
        self.scales = np.concatenate([scales_of(p) for p in self.parts]) if self.size else np.zeros(0)
        self.calls = 1
        self.second: np.ndarray | None = None
        self.seconds = 0.0

    def value_again(self) -> np.ndarray:
        """Return f at x from a second call, as a real vector; note how long that took."""
        if self.second is None:
            start = time.perf_counter()
            self.second = real_view(self.subject.value(self.subject.at)).astype(float)
            self.seconds = time.perf_counter() - start
            self.calls += 1
        return self.second

    @functools.cached_property
    def x(self) -> np.ndarray:
        """The point as a vector of double precision."""
        return np.concatenate([part.astype(float) for part in self.parts]) if self.parts else np.zeros(0)

    def input_of(self, i: int) -> int:
        return int(np.searchsorted(self.edges, i, side="right")) - 1

    def coordinate(self, i: int) -> np.floating:
        """Return element i of x, in its own type."""
        k = self.input_of(i)
        return self.parts[k][i - self.edges[k]]

    def label(self, i: int) -> tuple[str, tuple[int, ...], str]:
        """Return the input, the index, and the part ("", "re" or "im") of element i."""
        k = self.input_of(i)
        place, x = i - int(self.edges[k]), self.arrays[k]
        part = ""
        if x.dtype.kind == "c":
            place, part = place // 2, "im" if place % 2 else "re"
        return self.subject.wrt[k], tuple(int(j) for j in np.unravel_index(place, x.shape)), part

    def row(self, j: int) -> tuple[Path, str]:
        """Return the index, and the part ("", "re" or "im"), of the output element that row j belongs to.

        Of an output of several arrays, the index begins with what leads to the array.
        """
        whole = OutputPart((), self.out_shape, self.out_dtype.kind == "c")
        return element_at(self.subject.layout or (whole,), j)

    def row_of(self, output: Path, which: str) -> int:
        """Return the row of an output's element and part: what `row` was given for them."""
        return next(j for j in range(len(self.f0)) if self.row(j) == (output, which))

    def worst(self, j: int | None, i: int, claimed: Any, numeric: Any, error: float, sides: Any = None) -> WorstElement:
        """Return what is known of entry (j, i) as a part of a report; j is None where rows were combined."""
        output, output_part = ((), "") if j is None else self.row(j)
        _, place, part = self.label(i)
        return WorstElement(output, place, claimed, numeric, error, sides, output_part, part)

    def along(self, elements: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return f where element elements[k] of x is changed by offsets[k]: shape (points, m)."""
        rows = []
        per_point = 8 * (sum(p.nbytes for p in self.parts) // 8 + 4 * len(self.f0)) + 64
        step = max(1, MOST_BYTES // per_point)
        for start in range(0, len(elements), step):
            rows.append(self._points(elements[start : start + step], offsets[start : start + step]))
        return np.concatenate(rows)

    def _points(self, elements: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        inputs = np.searchsorted(self.edges, elements, side="right") - 1
        count = len(elements)
        stacks = {}
        for k in sorted(set(inputs.tolist())):
            mine = np.flatnonzero(inputs == k)
            part = self.parts[k]
            stack = np.repeat(part[None], count, axis=0)
            places = elements[mine] - self.edges[k]
            stack[mine, places] = part[places] + offsets[mine].astype(part.dtype)
            x = self.arrays[k]
            stacks[self.subject.wrt[k]] = stack.view(x.dtype).reshape((count, *x.shape))
        return self.evaluate(stacks, count)

    def points(self, xs: np.ndarray, moved: Sequence[int] | None = None) -> np.ndarray:
        """Return f at real vectors: xs of shape (points, n), the result (points, m).

        moved: the numbers of consecutive inputs, of whose elements alone xs consists; all unless given.
        """
        stacks = {}
        chosen = range(len(self.arrays)) if moved is None else moved
        begin = self.edges[chosen[0]] if len(chosen) else 0
        for k in chosen:
            x = self.arrays[k]
            part = xs[:, self.edges[k] - begin : self.edges[k + 1] - begin].astype(self.parts[k].dtype, copy=False)
            stacks[self.subject.wrt[k]] = np.ascontiguousarray(part).view(x.dtype).reshape((len(xs), *x.shape))
        return self.evaluate(stacks, len(xs))

    def pull(self, cotangents: Sequence[np.ndarray] | np.ndarray, at: Any = None) -> np.ndarray:
        """Return the claimed products of real cotangents (of length m) with the derivative, one row each.

        at: inputs by name, the point unless given.
        """
        raw = [np.asarray(u, self.out.real.dtype).view(self.out_dtype).reshape(self.out_shape) for u in cotangents]
        rows = self.subject.pulls(self.subject.at if at is None else at, raw)
        return np.array([np.concatenate([real_view(row[n]).astype(float) for n in self.subject.wrt]) for row in rows])

    def push(self, tangents: Sequence[np.ndarray], at: Any = None) -> np.ndarray:
        """Return the claimed products of the derivative with real tangents (of length n), one row each."""
        subject = self.subject
        at = subject.at if at is None else at
        return np.array([real_view(subject.push(at, self.arrays_at(u))).astype(float) for u in tangents])

    def arrays_at(self, x: np.ndarray) -> dict[str, np.ndarray]:
        arrays = {}
        for k, name in enumerate(self.subject.wrt):
            part = x[self.edges[k] : self.edges[k + 1]].astype(self.parts[k].dtype)
            arrays[name] = part.view(self.arrays[k].dtype).reshape(self.arrays[k].shape)
        return arrays

    def evaluate(self, stacks: dict[str, np.ndarray], count: int) -> np.ndarray:
        """Return f at stacked inputs as real vectors."""
        self.calls += count
        self.subject.tell("call", self.calls, 0)
        out = self.subject.values(stacks, count, self.out)
        return real_view(out.astype(self.out_dtype)).astype(float).reshape((count, -1))

    def jacobian(self, blocks: dict[str, np.ndarray]) -> np.ndarray:
        """Return claimed blocks as one real matrix (m, n).

        For complex inputs a block holds dL/dRe + i dL/dIm of every real output; for complex outputs it has the
        cotangents 1 and i as two rows.
        """
        m = len(self.f0)
        columns = []
        for k, name in enumerate(self.subject.wrt):
            block = np.asarray(blocks[name])
            width = int(np.prod(self.arrays[k].shape))
            flat = block.reshape((m, width) if block.size == m * width else (-1, width))
            if self.arrays[k].dtype.kind == "c":
                pairs = np.stack([flat.real, flat.imag], -1)
                columns.append(pairs.reshape((len(flat), 2 * width)))
            else:
                columns.append(flat.real)
        return np.concatenate([c.astype(float) for c in columns], axis=1)


def scales_of(x: np.ndarray) -> np.ndarray:
    """Return the size of each element; zeros take the median size of the others, or 1.

    Numbers so small that steps beside them would be cut off count as zeros.
    """
    size = np.abs(x.astype(float))
    least = float(np.finfo(x.dtype).tiny / np.finfo(x.dtype).eps)
    known = size[(size > least) & np.isfinite(size)]
    if not known.size:
        return np.where(size > least, size, 1.0)
    middle = np.sort(known)[(known.size - 1) // 2 : known.size // 2 + 1].mean()  # np.median would load numpy.ma
    return np.where(size > least, size, middle)


def arrays_behind(subject: Subject) -> list[np.ndarray]:
    """Return the arrays that code of a subject's functions leads to, by name or in closures."""
    functions = filter(callable, vars(subject).values())
    arrays = (x for function in functions for x in reachable_from(function) if isinstance(x, np.ndarray))
    return list({id(x): x for x in arrays}.values())
