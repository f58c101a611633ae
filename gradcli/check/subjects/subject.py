"""What is checked: a function of named arrays, and the derivative claimed for it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import ENDINGS, describe_error, text_of
from ...program.outputs import OutputPart
from ...results.checks import InputCheck


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
    """Return what the user's code raised as a CheckError."""
    if isinstance(error, SystemExit):
        return CheckError(f"{what} exited with status {text_of(error.code)}")
    return CheckError(f"{what} raised {describe_error(error)}")


def plain_array(x: Any, what: str) -> np.ndarray:
    """Return a result as an array of floating-point or complex numbers. Raises CheckError for anything else."""
    if x is None:
        raise CheckError(f"{what} returned None")
    try:
        raw = np.asarray(x.detach() if hasattr(x, "detach") else x)  # a tensor has that
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

    def pulls(
        self, arrays: Mapping[str, np.ndarray], cotangents: Sequence[np.ndarray]
    ) -> list[dict[str, np.ndarray]]:
        """Return the claimed products with several cotangents at one point. Raises CheckError."""
        return [self.pull(arrays, cotangent) for cotangent in cotangents]

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
        """Tell who watches how far it is."""
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
    """Return a callable's name, as messages call it."""
    return getattr(function, "__name__", None) or type(function).__name__
