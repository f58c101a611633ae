"""The common part of the adapters for PyTorch, JAX and HIPS autograd, and the choice among them."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from ...errors import GradcliError, check_known, describe_error
from ...program.arguments import (
    WHOLE_ANNOTATIONS,
    Arguments,
    Path,
    annotation_name,
    as_array,
    as_whole,
    bind,
    by_path,
    call_with,
    default_arrays,
    expand_paths,
    is_named,
    is_under,
    is_whole_number,
    layout_of,
    named_parameters,
    takes_only_rest,
)
from ...request import ADAPTED, ENGINES, SHORT_TYPES
from ...user.frameworks import FRAMEWORKS
from ..claim import Arrays, CallError, Capabilities, Claim, call_user, failing_as, free_name, nearby_point, note_on_type

SINGLE_UNIT, DOUBLE_UNIT = 2.0**-24, 2.0**-53  # rounding units of float32 and float64
LOST = 0.5  # relative error in float32 from which on it may have saturated instead of rounding: a choice


class FrameworkCall(Claim):
    """A call of a function of a framework.

    Values are computed in double precision, the claimed derivative in `dtype`. With one of SHORT_TYPES, values are in
    this type, too. Several outputs are flattened and joined; complex numbers become pairs along a last axis.
    """

    engine = ""

    def __init__(self, function: Callable, arguments: Arguments, title: str, *, dtype: str | None = None):
        self.function, self.functions, self.arguments = function, (function,), arguments
        others = (item for item in arguments.tree.items() if item[0] not in arguments.arrays)
        self.constants = {name: x for name, x in others if isinstance(x, np.ndarray)}
        self.dtype, self.short = dtype, dtype if dtype in SHORT_TYPES else None
        single = dtype is not None or any(
            x.dtype in (np.float32, np.complex64, np.float16) for x in arguments.arrays.values()
        )
        inputs = {path: to_double(x, single) for path, x in arguments.arrays.items()}
        super().__init__(title, inputs)
        heads = list(arguments.tree)
        unknown = (n for n in arguments.wrt or () if not any(is_under(n, head) or is_under(head, n) for head in heads))
        check_known(unknown, heads, "--wrt")
        if not inputs:
            raise CallError(f"{title} has no inputs of floating-point numbers, so there is nothing to check")
        self.single = single
        self.budget.claim_calls = 1
        self.forward_mode: bool | None = None
        how = ": derivative in float32, values in float64" if single else " in float64"
        how = how if self.short is None else f" in {self.short}"
        self.notes = (f"{FRAMEWORKS[self.engine]}{how}",)
        unit = SINGLE_UNIT if self.settle() and single else None
        short, name = 0.0, ""
        with contextlib.suppress(Exception), self.running(self.is_narrow(self.at)):
            short, name = max(self.short_types(), default=(0.0, ""))
        if name and self.short is None:
            unit = max(unit or 0.0, short)
            self.notes = (*self.notes, note_on_type(name, short))
        self.capabilities = Capabilities(
            self.goes_backward, self.goes_forward, second=True, pulls_first=True, value_unit=short, claim_unit=unit
        )

    def short_types(self) -> Iterator[tuple[float, str]]:
        """Yield rounding unit and name of each type of at most two bytes that the function computes in."""
        yield from ()

    def surrogates_at(self, at: Arrays) -> Iterator[Any]:
        """Yield the function with steps, or detached values, replaced by what they are at a point.

        These are claims without a derivative, in a fixed order; None where there is nothing to replace.
        """
        yield from ()

    def settle(self) -> bool:
        """Report whether the function takes double precision; if not, use single precision. Raises CallError."""
        try:
            with contextlib.suppress(CallError):  # at another point, so that caching of the first call shows up
                self.value(nearby_point(self.at))
                return True
            self.value(self.at)
            return True
        except CallError as error:
            inputs = self.at
            try:
                self.use_single("the function does not accept float64")
            except CallError:
                self.at = inputs
                raise error from error.__cause__
            return False

    def use_single(self, reason: str) -> None:
        """Compute values in single precision. Raises CallError."""
        self.at = {path: to_single(x) for path, x in self.at.items()}
        self.value(self.at)
        self.notes = (f"{FRAMEWORKS[self.engine]} in float32: {reason}",)

    def goes_backward(self) -> bool:
        return True

    def goes_forward(self) -> bool:
        """Report whether the framework's forward mode supports the function; with a call budget, it is not tried."""
        if self.budget.allowed is not None and self.goes_backward():
            return False
        if self.forward_mode is None:
            self.budget.made += 1
            try:
                self.along(self.claimed(self.at), {n: np.zeros_like(x) for n, x in self.at.items()})
                self.forward_mode = True
            except Exception as error:
                self.forward_mode = False
                if not self.lacks_forward(error):
                    note = f"forward mode is not checked: it raised {describe_error(error.__cause__ or error)}"
                    self.notes = (*self.notes, note)
        return self.forward_mode

    def claimed(self, arrays: Arrays) -> dict[str, np.ndarray]:
        return {name: to_single(x) if self.single else np.asarray(x) for name, x in arrays.items()}

    def evaluate(self, arrays: Arrays) -> np.ndarray | None:
        self.budget.made += 1
        at = {name: np.asarray(x) for name, x in arrays.items()} if self.short is None else self.claimed(arrays)
        return call_user(self.title, self.compute_in, at, self.is_narrow(at))

    def compute_in(self, at: Arrays, narrow: bool) -> np.ndarray | None:
        with np.errstate(all="ignore"), self.precision(narrow):
            return as_array(self.compute(at))

    def rounding(self, points: Sequence[Arrays], values: np.ndarray) -> np.ndarray | None:
        """Measure rounding in float32 at close points; that of float64 is smaller by the ratio of the units.

        Values that lose all digits in float32 tell nothing. With a call budget, it is not measured.
        """
        if self.single or self.capabilities.value_unit or self.budget.allowed is not None:
            return None
        rows = []
        for k in range(1, len(points) + 1):
            narrow = {name: to_single(x * (1 + 2 * k * SINGLE_UNIT)) for name, x in points[0].items()}
            try:
                wide = self.value({name: to_double(x) for name, x in narrow.items()})
                self.budget.made += 1
                rounded = call_user(self.title, self.compute_in, narrow, True)
            except CallError:
                return None
            off = np.abs(rounded - wide)
            if not (off <= LOST * np.abs(wide)).all():
                return None
            rows.append(off * DOUBLE_UNIT / SINGLE_UNIT)
        return np.array(rows)

    def late_pull(self, arrays: Arrays, cotangent: np.ndarray, between: Arrays) -> dict[str, np.ndarray]:
        return self.vjps(arrays, [cotangent], between)[0]

    def vjps(
        self, arrays: Arrays, cotangents: Sequence[np.ndarray], between: Arrays | None = None
    ) -> list[dict[str, np.ndarray]]:
        at = self.claimed(arrays)
        self.budget.made += 1
        with self.running(self.is_narrow(at)):
            self.recorded, back = self.linearize(at)
            if between is not None:
                self.budget.made += 1
                self.compute(self.claimed(between))
            with self.failing_backward():
                return [{name: to_double(x) for name, x in back(cotangent).items()} for cotangent in cotangents]

    def pullback(self, arrays: Arrays) -> Callable[[np.ndarray], dict[str, np.ndarray]]:
        at = self.claimed(arrays)
        narrow = self.is_narrow(at)
        self.budget.made += 1
        with self.running(narrow):
            self.recorded, back = self.linearize_as_written(at)

        def pull(cotangent: np.ndarray) -> dict[str, np.ndarray]:
            with self.running(narrow), self.failing_backward():
                return {name: to_double(x) for name, x in back(cotangent).items()}

        return pull

    def jvp(self, arrays: Arrays, tangents: Arrays) -> np.ndarray:
        at = self.claimed(arrays)
        self.budget.made += 1
        whole = {name: np.asarray(tangents.get(name, np.zeros_like(x)), x.dtype) for name, x in at.items()}
        with self.running(self.is_narrow(at), "forward mode of "):
            return to_double(self.along(at, whole))

    def is_narrow(self, at: Arrays) -> bool:
        return any(x.dtype.itemsize < 8 for x in at.values())

    @classmethod
    def of(
        cls, function: Any, given: Mapping[str, Any], title: str, dtype: str | None, wrt: Sequence[str] | None = None
    ) -> FrameworkCall:
        return cls(function, Arguments(given, wrt), title, dtype=dtype)

    @contextlib.contextmanager
    def running(self, narrow: bool, what: str = "") -> Iterator[None]:
        with failing_as(f"{what}{self.title}"), np.errstate(all="ignore"), self.precision(narrow):
            yield

    def failing_backward(self) -> failing_as:
        return failing_as(f"the backward pass of {self.title}")

    def result(self, leaves: Mapping[str, Any]) -> Any:
        """Call the function on the framework's arrays by path."""
        return call_with(self.function, self.filled(leaves))

    def filled(self, leaves: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments with leaves in place of inputs, floating-point numbers in the short type, if any."""
        if self.short is None:
            return self.arguments.fill_in(leaves, self.array)
        short = {name: self.shortened(x) for name, x in leaves.items()}
        return self.arguments.fill_in(short, lambda x: self.shortened(self.array(x)))

    def shortened(self, x: Any) -> Any:
        """Convert an array of floating-point numbers to the short type by a differentiable operation."""
        return x

    def note_layout(
        self, result: Any, arrays: Sequence[tuple[Path, Any]], is_complex: Callable[[Any], bool], word: str = "array"
    ) -> list[Any]:
        """Note the layout of the arrays in an output, and return them. Raises CallError if there are none."""
        if not arrays:
            raise CallError(f"{self.title} returned {type(result).__name__}, which contains no {word} of real numbers")
        self.layout = layout_of(arrays, is_complex)
        return [x for _, x in arrays]

    def precision(self, narrow: bool) -> contextlib.AbstractContextManager:
        """Return a context in which the framework's default precision is single (narrow) or double."""
        return contextlib.nullcontext()

    @classmethod
    def signature(cls, function: Any, title: str) -> tuple[list[inspect.Parameter], list[str]] | None:
        """Return a function's named parameters, and the names of its other inputs; None if they are unknown.

        Values for *args may have any names, in the order of the command line.
        """
        try:
            if takes_only_rest(function):
                return None
            return named_parameters(function, title), []
        except (TypeError, ValueError):
            return None

    @classmethod
    def on_device(cls, device: str) -> contextlib.AbstractContextManager:
        """Return a context in which arrays are created on a device. Raises GradcliError if there is none."""
        raise GradcliError("--device is for functions of PyTorch and JAX")

    @classmethod
    def in_double(cls) -> contextlib.AbstractContextManager:
        return contextlib.nullcontext()

    @staticmethod
    def array(x: np.ndarray) -> Any:
        return x

    def compute(self, at: Arrays) -> Any:
        """Return the joined output, without a graph."""
        raise NotImplementedError

    def linearize(self, at: Arrays) -> tuple[np.ndarray, Callable[[np.ndarray], dict[str, np.ndarray]]]:
        """Return the output, and products by reverse mode: dL/dRe + i dL/dIm for complex inputs."""
        raise NotImplementedError

    def linearize_as_written(self, at: Arrays) -> tuple[np.ndarray, Callable[[np.ndarray], dict[str, np.ndarray]]]:
        """Return the same without compiling anything, so that the rules run in each product."""
        return self.linearize(at)

    def along(self, at: Arrays, tangents: Arrays) -> np.ndarray:
        """Return a product by forward mode."""
        raise NotImplementedError

    def product(self, *given: Any) -> tuple:
        """Return differentiable products for each input in order. given: the inputs, and then the cotangent."""
        raise NotImplementedError

    def pull_function(self, cotangent: np.ndarray) -> FrameworkCall:
        given = {**self.at, free_name("gradient", self.at): cotangent}
        claim = adapter_of(self.engine)(self.product, Arguments(given), f"the derivative of {self.title}")
        claim.first = self
        return claim

    def lacks_forward(self, error: BaseException) -> bool:
        return isinstance(error, NotImplementedError)


def join_real(parts: Sequence[Any], xp: Any) -> Any:
    """Join arrays to one real array; complex numbers become pairs. xp: a module with NumPy's names."""
    pairs = [xp.stack([xp.real(x), xp.imag(x)], -1) if xp.iscomplexobj(x) else x for x in parts]
    return pairs[0] if len(pairs) == 1 else xp.concatenate([xp.reshape(x, (-1,)) for x in pairs])


def to_double(x: Any, rounded: bool = False) -> np.ndarray:
    raw = to_single(x) if rounded else np.asarray(x)
    return raw.astype(np.complex128 if raw.dtype.kind == "c" else np.float64)


def to_single(x: Any) -> np.ndarray:
    raw = np.asarray(x)
    return raw.astype(np.complex64 if raw.dtype.kind == "c" else np.float32)


def adapter_of(engine: str) -> Any:
    if engine not in ADAPTED:
        raise GradcliError(f"no engine '{engine}'", hint=f"the engines are {', '.join(ENGINES)}")
    try:
        return import_module(f"{__package__}.{engine}").Adapter
    except Exception as error:  # a broken installation can raise anything
        missing = isinstance(error, ModuleNotFoundError) and error.name == engine
        hint = (
            f"pip install {engine}"
            if missing
            else f"python -c 'import {engine}' fails, too: reinstall {FRAMEWORKS[engine]}"
        )
        raise GradcliError(f"--engine {engine}: {describe_error(error)}", hint=hint) from error


def framework_call(
    engine: str,
    function: Any,
    given: Mapping[str, Any],
    title: str,
    *,
    wrt: Sequence[str] | None = None,
    dtype: str | None = None,
) -> FrameworkCall:
    """Return the call of a framework's function with arguments by name; numbers outside `wrt` stay fixed.

    If the call fails, try whole numbers as integers, one argument after another and then all.
    """
    adapter = adapter_of(engine)

    def made(whole: Sequence[str]) -> FrameworkCall:
        values = {name: as_whole(x) if name in whole else x for name, x in given.items()}
        call = adapter.of(function, values, title, dtype, wrt)
        call.wrt = expand_paths(wrt, call.wrt)
        return call

    try:
        return made(())
    except CallError as error:
        whole = [name for name, x in given.items() if is_whole_number(x) and (wrt is None or not is_named(name, wrt))]
        for names in [*([name] for name in whole), *([whole] if len(whole) > 1 else [])]:
            with contextlib.suppress(CallError):
                call = made(names)
                call.notes = (*call.notes, f"{', '.join(names)} passed as integers, and not differentiated")
                return call
        raise error from error.__cause__


def framework_arguments(engine: str, function: Any, given: Mapping[str, Any], title: str) -> dict[str, Any]:
    """Return arguments in the order of parameters, as integers if declared so. Raises GradcliError."""
    signature = adapter_of(engine).signature(function, title)
    if signature is None:
        return by_path(given)
    parameters, others = signature
    weights = {name: x for name, x in given.items() if name in others}  # their names may have dots
    given = {**by_path({name: x for name, x in given.items() if name not in others}), **weights}
    check_known(given, [*(p.name for p in parameters), *others], "value")
    whole = {p.name for p in parameters if annotation_name(p.annotation) in WHOLE_ANNOTATIONS or type(p.default) is int}
    return bind(function, parameters, {**default_arrays(parameters, given), **given}, title, whole, others)
