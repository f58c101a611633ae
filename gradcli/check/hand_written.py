"""Derivatives by hand, or given by functions that run elsewhere, as what is claimed."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ENDINGS, EXIT_TARGET, GradcliError
from ..program.arguments import OutputPart
from ..program.elsewhere.base import Elsewhere, ElsewhereError, GoneError, unit_arrays
from .subject import (
    CheckError,
    Subject,
    WrongShapeError,
    as_check_error,
    as_kind_of_input,
    callable_name,
    copied,
    plain_array,
)


class HandWritten(Subject):
    """A plain function of arrays, called positionally in the order of `at`, and a gradient or a vjp beside it.

    grad(*arrays): an array for one input, else a tuple in order or a dict by name; vjp(cotangent, *arrays)
    likewise; jvp(tangents, *arrays): the product with a tuple of tangents, one per array in order, as an array like
    the output.
    """

    def __init__(
        self,
        f: Callable,
        at: Mapping[str, Any],
        *,
        grad: Callable | None = None,
        vjp: Callable | None = None,
        jvp: Callable | None = None,
        wrt: Sequence[str] | None = None,
    ):
        super().__init__(at, wrt)
        self.f, self.grad, self.vjp, self.jvp = f, grad, vjp, jvp
        self.shape: tuple[int, ...] | None = None
        if grad is None and vjp is None:
            self.claims = "jvp"

    def call(self, function: Callable, arrays: Mapping[str, np.ndarray], what: str, *before: Any) -> Any:
        """Call on copies of the arrays. Raises CheckError when it raises, or changes one of them."""
        copies = [x.copy() if x.ndim else x[()] for x in arrays.values()]
        given = [np.asarray(x) for x in copies]
        try:
            with np.errstate(all="ignore"):
                result = function(*before, *copies)
        except (CheckError, *ENDINGS):
            raise
        except BaseException as error:
            raise as_check_error(what, error) from error
        finally:
            copied.end()
        for (name, x), copy in zip(arrays.items(), given, strict=True):
            if (x.shape != copy.shape or not (x == copy).all()) and not np.array_equal(x, copy, equal_nan=True):
                raise CheckError(f"{what} changes its argument '{name}' in place; it must work on a copy")
        return result

    def value(self, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        self.count()
        out = np.array(plain_array(self.call(self.f, arrays, callable_name(self.f)), callable_name(self.f)))
        self.shape = out.shape
        return out

    def jacobian(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        out = self.output(arrays)
        if self.vjp is not None:
            return self.rows(arrays, out)
        if self.grad is None:
            return self.columns(arrays, out)
        parts = self.parts(self.call(self.grad, arrays, callable_name(self.grad)), callable_name(self.grad))
        return {name: self.fit_shape(parts[name], out, name) for name in self.wrt}

    def fit_shape(self, part: Any, out: np.ndarray, name: str) -> np.ndarray:
        """Return a gradient in the shape output.shape + input.shape; of complex outputs, real and imaginary parts.

        Raises WrongShapeError, and CheckError for complex outputs of complex inputs, which have no single derivative.
        """
        raw, is_complex = plain_array(part, f"{callable_name(self.grad)} for '{name}'"), out.dtype.kind == "c"
        self.note_type(raw, name)
        if is_complex and self.at[name].dtype.kind == "c":
            raise CheckError(
                f"{callable_name(self.f)} returns complex numbers for the complex input '{name}': a backward by hand "
                "can be checked (vjp), or a gradient of its real part and of its imaginary part, one by one"
            )
        if not is_complex:
            raw = as_kind_of_input(raw, self.at[name], name)
        wanted = out.shape + self.at[name].shape
        if raw.shape != wanted:
            one_number = raw.ndim == 0 and math.prod(wanted) == 1
            if not one_number and (out.size != 1 or raw.shape != self.at[name].shape):
                raise WrongShapeError(f"the gradient of '{name}' has shape {raw.shape}; it must have shape {wanted}")
            raw = raw.reshape(wanted)
        return np.stack([raw.real, raw.imag], out.ndim) if is_complex else raw

    def note_type(self, raw: np.ndarray, name: str) -> None:
        """Note a derivative that comes in a type of fewer digits than its input has: it is judged by these."""
        given = self.at[name].dtype
        if raw.dtype.kind not in "fc" or raw.real.dtype.itemsize >= given.type(0).real.dtype.itemsize:
            return
        self.claim_unit = max(self.claim_unit or 0.0, float(np.finfo(raw.dtype).eps) / 2)
        note = f"the claimed derivative comes in {raw.dtype}, and is judged by its digits"
        if note not in self.notes:
            self.notes = (*self.notes, note)

    def columns(self, arrays: Mapping[str, np.ndarray], out: np.ndarray) -> dict[str, np.ndarray]:
        """Return the Jacobian that a jvp gives, one call per input element; complex outputs in two parts.

        For complex inputs the tangents 1 and i give the derivatives by real and by imaginary part.
        """
        blocks, count, total = {}, 0, sum(self.at[name].size for name in self.wrt)
        for name in self.wrt:
            x = self.at[name]
            units = (1, 1j) if x.dtype.kind == "c" else (1,)
            parts = (*out.shape, 2) if out.dtype.kind == "c" else out.shape
            block = np.zeros((*parts, *x.shape), x.dtype)
            for index in np.ndindex(x.shape):
                count += 1
                self.tell("tangent", count, total)
                for unit in units:
                    tangent = np.zeros(x.shape, x.dtype)
                    tangent[index] = unit
                    pushed = self.push(arrays, {name: tangent})
                    pairs = np.stack([pushed.real, pushed.imag], -1) if out.dtype.kind == "c" else pushed.real
                    block[(..., *index)] += unit * pairs
            blocks[name] = block
        return blocks

    def push(self, arrays: Mapping[str, np.ndarray], tangents: Mapping[str, np.ndarray]) -> np.ndarray:
        assert self.jvp is not None
        what = callable_name(self.jvp)
        ordered = tuple(
            tangents.get(name, np.zeros_like(x, dtype=(x.dtype if x.dtype.kind in "fc" else np.float64)))
            for name, x in arrays.items()
        )
        given = tuple(x[()] if x.ndim == 0 else x.copy() for x in ordered)
        raw = plain_array(self.call(self.jvp, arrays, what, given), what)
        shape = self.value(arrays).shape if self.shape is None else self.shape
        if raw.shape != shape:
            raise WrongShapeError(
                f"{what} gives shape {raw.shape}; it must have the output's shape {shape} (its first argument is a "
                "tuple of tangents, one per argument)"
            )
        return raw

    @property
    def has_push(self) -> bool:
        return self.jvp is not None

    def rows(self, arrays: Mapping[str, np.ndarray], out: np.ndarray) -> dict[str, np.ndarray]:
        """Return the Jacobian that a vjp gives, one call per output element; per part of a complex one.

        The cotangents 1 and i give the derivatives of real and imaginary part (PyTorch's convention).
        """
        is_complex = out.dtype.kind == "c"
        units = (1, 1j) if is_complex else (1,)
        shape = (*out.shape, len(units))
        blocks = {name: np.zeros((*shape, *self.at[name].shape), self.at[name].dtype) for name in self.wrt}
        for count, (*index, unit) in enumerate(np.ndindex(shape)):
            place = tuple(index)
            self.tell("cotangent", count, math.prod(shape))
            cotangent = np.zeros(out.shape, out.dtype)
            cotangent[place] = units[unit]
            for name, part in self.pull(arrays, cotangent).items():
                blocks[name][(*place, unit)] = part
        return blocks if is_complex else {name: block.squeeze(out.ndim) for name, block in blocks.items()}

    def pull(self, arrays: Mapping[str, np.ndarray], cotangent: np.ndarray) -> dict[str, np.ndarray]:
        assert self.vjp is not None
        what, products = callable_name(self.vjp), {}
        parts = self.parts(self.call(self.vjp, arrays, what, cotangent if cotangent.ndim else cotangent[()]), what)
        for name in self.wrt:
            x = self.at[name]
            raw = plain_array(parts[name], f"{what} for '{name}'")
            self.note_type(raw, name)
            if cotangent.dtype.kind == "c" and x.dtype.kind != "c":
                raw = raw.real
            raw = as_kind_of_input(raw, x, name)
            if raw.shape != x.shape and not (raw.ndim == 0 and x.size == 1):
                raise WrongShapeError(
                    f"{what} gives '{name}' a gradient of shape {raw.shape}; it must have shape {x.shape}"
                )
            products[name] = raw.reshape(x.shape)
        return products

    @property
    def has_pull(self) -> bool:
        return self.vjp is not None

    def parts(self, result: Any, what: str) -> dict[str, Any]:
        """Return a result as one gradient per input, by name."""
        if result is None:
            raise CheckError(f"{what} returned None")
        if isinstance(result, Mapping):
            missing = [name for name in self.wrt if name not in result]
            if missing:
                raise CheckError(f"{what} gives no gradient for '{missing[0]}'")
            return dict(result)
        if len(self.wrt) == 1 and not (isinstance(result, tuple) and len(result) == 1):
            only = self.wrt[0]
            if len(self.at) == 1 and self.at[only].shape == np.shape(result):  # its elements, one by one
                return {only: np.array(result)}
            if isinstance(result, tuple) and len(result) == len(self.at):
                return dict(zip(self.at, result, strict=True))
            if isinstance(result, tuple):
                raise CheckError(f"{what} returned a tuple of {len(result)} gradients for 1 input")
            return {only: result}
        if not isinstance(result, tuple | list):
            raise CheckError(
                f"{what} returned {type(result).__name__}; a tuple of {len(self.wrt)} gradients is needed",
                f"--wrt {self.wrt[0]} (wrt= in a declaration) checks that input alone",
            )
        for names in (self.wrt, list(self.at)):
            if len(result) == len(names):
                return dict(zip(names, result, strict=True))
        some = ",".join(list(self.at)[: len(result)])
        hint = f"--wrt {some} (wrt= in a declaration) checks these inputs alone" if len(result) < len(self.at) else None
        raise CheckError(f"{what} returned {len(result)} gradients for {len(self.wrt)} inputs", hint)


class Claimed(Subject):
    """A function that runs somewhere else; its Jacobian by whichever of its products needs fewer calls."""

    def __init__(self, program: Elsewhere, wrt: Sequence[str] | None = None):
        super().__init__(program.inputs, wrt)
        self.program = program
        self.claim_unit, self.costly = program.claim_unit, program.costly
        self.value_unit = program.value_unit
        self.claim_calls = program.runs_for_products
        self.shape: tuple[int, ...] | None = None
        self.calls_before = 0

    @property
    def layout(self) -> tuple[OutputPart, ...]:  # type: ignore[override]
        """The arrays that the output is joined of."""
        return self.program.layout

    @property
    def calls(self) -> int:  # type: ignore[override]
        """How often the function was called; in a framework its products call it, too."""
        return self.program.calls - self.calls_before

    @calls.setter
    def calls(self, count: int) -> None:
        self.calls_before = self.program.calls - count

    def count(self, calls: int = 1) -> None:
        self.require(calls)

    @property
    def has_pull(self) -> bool:
        return self.program.has_vjp

    @property
    def has_push(self) -> bool:
        if self.most_calls is not None and self.program.runs_for_products and self.program.has_vjp:
            return False
        return self.program.has_jvp

    def value(self, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        self.count()
        with calling():
            out = np.array(plain_array(self.program.value(arrays), self.program.title))
        self.shape = out.shape
        return out

    def pull(self, arrays: Mapping[str, np.ndarray], cotangent: np.ndarray) -> dict[str, np.ndarray]:
        return self.pulls(arrays, [cotangent])[0]

    def pulls(self, arrays: Mapping[str, np.ndarray], cotangents: Sequence[np.ndarray]) -> list[dict[str, np.ndarray]]:
        self.count(self.program.runs_for_products)
        with calling():
            rows = self.program.vjps(arrays, cotangents)
        return [
            {name: self.in_shape(row[name], self.at[name].shape, f"the gradient of '{name}'") for name in self.wrt}
            for row in rows
        ]

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """What there is to say of how the function is run."""
        return self.program.notes

    @property
    def recorded(self) -> np.ndarray | None:  # type: ignore[override]
        """The output as the last backward pass had it."""
        return self.program.recorded

    def pull_of(
        self, arrays: Mapping[str, np.ndarray], cotangent: np.ndarray, names: Sequence[str]
    ) -> dict[str, np.ndarray] | None:
        with calling():
            return self.program.vjp_of(arrays, cotangent, names)

    def late_pull(
        self, arrays: Mapping[str, np.ndarray], cotangent: np.ndarray, between: Mapping[str, np.ndarray]
    ) -> dict[str, np.ndarray] | None:
        with calling():
            rows = self.program.late_vjps(arrays, [cotangent], between)
        return None if rows is None else rows[0]

    def push(self, arrays: Mapping[str, np.ndarray], tangents: Mapping[str, np.ndarray]) -> np.ndarray:
        self.count(self.program.runs_for_products)
        with calling():
            product = self.program.jvp(arrays, tangents)
        shape = self.output(arrays).shape if self.shape is None else self.shape
        return self.in_shape(product, shape, "the derivative along a direction")

    def in_shape(self, x: object, shape: tuple[int, ...], what: str) -> np.ndarray:
        raw = plain_array(x, what)
        if raw.shape != shape:
            raise WrongShapeError(f"{what} has shape {raw.shape}; it must have shape {shape}")
        return raw

    def jacobian(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        out = self.output(arrays)
        columns = sum(self.at[name].size for name in self.wrt)
        if self.program.has_vjp and (self.program.reverse or out.size <= columns or not self.program.has_jvp):
            self.claims = "vjp"
            rows = self.pulls(arrays, unit_arrays(out))
            return {
                name: np.reshape([row[name] for row in rows], (*out.shape, *self.at[name].shape)) for name in self.wrt
            }
        blocks = {}
        self.claims = "jvp"
        for name in self.wrt:
            pushed = [self.push(arrays, {name: unit}) for unit in unit_arrays(self.at[name])]
            whole = np.stack(pushed, -1) if pushed else np.zeros((*out.shape, 0))
            blocks[name] = whole.reshape((*out.shape, *self.at[name].shape))
        return blocks

    def blame(self, is_wrong: Callable[[Subject], bool]) -> str | None:
        for part, place in self.program.parts():
            if is_wrong(Claimed(part)):
                return f"the first wrong part is {part.title}: {place}"
        return None


@contextlib.contextmanager
def calling() -> Iterator[None]:
    """Turn an ElsewhereError inside the block into what ends a check."""
    try:
        yield
    except ElsewhereError as error:
        raise what_ends(error) from error.__cause__


def what_ends(error: ElsewhereError) -> Exception:
    """Return a failed call as what ends a check, or, where something still answers, as a point without a value."""
    if isinstance(error, GoneError):
        return GradcliError(str(error), kind="target", exit_code=EXIT_TARGET)
    return CheckError(str(error))


def value_and_gradient(f: Callable) -> tuple[Callable, Callable]:
    """Return the two functions that one is which returns (value, gradient)."""

    def part(which: int) -> Callable:
        @functools.wraps(f)
        def call(*arguments: Any, **named: Any) -> Any:
            pair = f(*arguments, **named)
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                what = f"{len(pair)} things" if isinstance(pair, tuple | list) else type(pair).__name__
                raise CheckError(f"{callable_name(f)} returned {what}, not (value, gradient)")
            return pair[which]

        return call

    return part(0), part(1)
