"""Values and derivatives of a program in many digits, of which only those that are right are printed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import GradcliError, TimeIsUp
from ..exact.array import exact
from ..exact.multiprecision import Multiprecision
from ..exact.record import exactly
from ..lang.time_limits import any_length, time_left, within
from ..program.base import Program, Run, silence_prints
from ..results.exact import LongNumbers
from ..rules.exact import map_elements, without_field
from .gradient import Request, run_backward, run_for

TIMEOUT = 20.0
MORE = 400
"""Digits that are tried besides, where some were lost: as many as double precision's smallest numbers need."""
MORE_SECONDS = 2.0
"""Seconds that this may take."""
ROUNDING = 1e-15
"""A number that gets so much smaller with more digits is zero."""
Read = Callable[[], Mapping[str, Any]]
"""Reads the values of the inputs; called where exact arithmetic is in force, so that no digit is lost."""
Numbers = dict[str, np.ndarray]
Work = Callable[[int], tuple[np.ndarray, Numbers, str | None]]
"""Computes with so many digits: the value, the derivatives by input or pair of inputs, and the output's name."""


def gradients_of(run: Run, field: Multiprecision) -> Numbers:
    """Return the gradients that backward left in the inputs, zeros where it left none."""
    return {
        name: map_elements(field.number, (without_field(exact(np.asarray(leaf._grad._data))),))
        if leaf._grad is not None
        else np.full(np.shape(leaf._data), field.number(0), object)
        for name, leaf in run.leaves.items()
    }


def gradient_at(program: Program, values: Mapping[str, Any], request: Request, field: Multiprecision) -> tuple:
    """Return the value of the output and the gradients of all inputs."""
    with silence_prints(program):
        run = run_for(program, values, request)
    if run.output is not None:
        run_backward(run.output, request)
        value = without_field(run.output._data)
    else:
        value = np.full((), field.context.nan, object)
    return value, gradients_of(run, field), run


def compute_twice(program: Program, work: Work, digits: int) -> LongNumbers:
    """Return numbers as text with the digits that two precisions agree on, at most `digits`.

    Where digits were lost, or all of them (zero may be what was left of a small number beside a large one), both
    precisions are raised, if that does not take long.
    """

    def twice(more: int) -> tuple:
        return *work(digits + 12 + more), *work(digits + 12 + more + max(20, digits // 2, more // 2))

    value, parts, output, again, parts_again, _ = twice(0)
    pairs = [(value, again), *((x, parts_again[name]) for name, x in parts.items())]
    if not all(is_settled(a, b, digits) for x, better in pairs for a, b in zip(x.flat, better.flat, strict=True)):
        with contextlib.suppress(TimeIsUp), within(time_left(MORE_SECONDS)):
            value, parts, output, again, parts_again, _ = twice(MORE)
    texts = {name: write_digits(x, parts_again[name], digits) for name, x in parts.items()}
    return LongNumbers(program.title, digits, write_digits(value, again, digits), texts, output)


def is_settled(x: Any, better: Any, digits: int) -> bool:
    """Return whether a number, or its real and imaginary part, has all digits that are asked for, and is not zero."""
    parts = ((x.real, better.real), (x.imag, better.imag)) if hasattr(x, "imag") else ((x, better),)
    return all(a != 0 and right_digits(a, b, digits) == digits for a, b in parts[: 1 + (parts[-1][1] != 0)])


def write_digits(x: np.ndarray, better: np.ndarray, digits: int) -> np.ndarray:
    """Return numbers as text: the digits that agree with the better ones."""
    out = np.empty(np.shape(x), object)
    for index in np.ndindex(np.shape(x)):
        right = right_digits(x[index], better[index], digits)
        fallen = abs(better[index]) < abs(x[index]) * ROUNDING  # with the precision: this is rounding alone
        written = better[index] * 0 if fallen else better[index]
        out[index] = digits_text(written, right, short=bool(fallen or x[index] == written))
    return out


def right_digits(x: Any, better: Any, digits: int) -> int:
    """Return how many digits of a number are the same in a better one."""
    context = better.context if hasattr(better, "context") else None
    if x == better or context is None or not context.isfinite(better) or not context.isfinite(x):
        return digits
    error = abs((x - better) / better) if better != 0 else abs(x)
    return max(1, min(digits, int(-context.log10(error)))) if error else digits


def digits_text(x: Any, digits: int, short: bool) -> str:
    """Return a number with so many significant digits; short: without zeros at its end."""
    context = getattr(x, "context", None)
    if context is None:
        return str(x)
    if hasattr(x, "imag") and isinstance(x, context.mpc):
        imag = digits_text(x.imag, digits, short)
        return f"{digits_text(x.real, digits, short)}{'' if imag.startswith('-') else '+'}{imag}j"
    if not context.isfinite(x):
        return "nan" if context.isnan(x) else "inf" if x > 0 else "-inf"
    with any_length():
        return context.nstr(x, digits, strip_zeros=short)


def in_time(work: Callable[[], LongNumbers], digits: int, seconds: float) -> LongNumbers:
    """Return what work returns. Raises GradcliError when it takes longer than that."""
    try:
        with within(time_left(seconds)):
            return work()
    except TimeIsUp:
        raise GradcliError(
            f"so many digits ({digits}) take longer than {seconds:g} s",
            hint="wait longer with --timeout, or ask for fewer digits",
            kind="limit",
        ) from None


def gradient_in_digits(program: Program, read: Read, request: Request, digits: int) -> LongNumbers:
    unreached: set[str] = set()

    def work(precision: int) -> tuple[np.ndarray, Numbers, str | None]:
        field = Multiprecision(precision)
        with exactly(field):
            value, grads, run = gradient_at(program, read(), request, field)
        unreached.update(n for n, leaf in run.leaves.items() if program.is_script and leaf._grad is None)
        return value, grads, run.output_name

    numbers = compute_twice(program, work, digits)
    return numbers._replace(parts={**numbers.parts, **dict.fromkeys(unreached)}, with_value=request.with_value)
