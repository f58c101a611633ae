"""Values and derivatives in many digits, and the operations in which floating point loses digits."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import mpmath
import numpy as np

from ..errors import GradcliError, TimeIsUp
from ..exact.field import exact
from ..exact.multiprecision import Multiprecision
from ..exact.record import exactly
from ..lang.limits import any_length, time_left, within
from ..program.base import Program, Run, Values, silence_prints
from ..request import Request
from ..results.studies import DigitLoss, LongNumbers, Precision
from ..rules.exact import map_elements, without_field
from ..tape.anomaly import RecordedOrigin, observation_of
from . import graph
from .gradient import Read, compute_gradient, gradient_at, value_of
from .graph import Labels
from .plot import check_plotted_output, refuse_values
from .trace import BackwardRecorder, StepEvent

DIGITS_TIMEOUT = 20.0  # time limit in seconds for numbers of many digits, unless --timeout is given
MORE = 400  # digits to add if some were lost: enough for the smallest numbers of double precision
MORE_SECONDS = 2.0
VANISHES = 1e-15  # a number that shrinks by this factor with more digits is zero
DigitArrays = dict[str, np.ndarray]


def compute_in_time(program: Program, work: Callable[[int], tuple], request: Request, digits: int) -> LongNumbers:
    seconds = request.timeout or DIGITS_TIMEOUT
    try:
        with within(time_left(seconds)):
            return compute_twice(program, work, digits)
    except TimeIsUp:
        message = f"computing {digits} digits takes longer than {seconds:g} s"
        raise GradcliError(message, hint="wait longer with --timeout, or ask for fewer digits", kind="limit") from None


def compute_twice(program: Program, work: Callable[[int], tuple], digits: int) -> LongNumbers:
    """Compute in two precisions, and write the digits that agree; if digits were lost, retry with more."""

    def twice(more: int) -> tuple:
        return *work(digits + 12 + more), *work(digits + 12 + more + max(20, digits // 2, more // 2))

    value, parts, output, again, parts_again, _ = twice(0)
    pairs = [(x, parts_again[name]) for name, x in parts.items()]
    if value is not None:
        pairs.append((value, again))
    if not all(is_settled(a, b, digits) for x, better in pairs for a, b in zip(x.flat, better.flat, strict=True)):
        with contextlib.suppress(TimeIsUp), within(time_left(MORE_SECONDS)):
            value, parts, output, again, parts_again, _ = twice(MORE)
    texts = {name: write_digits(x, parts_again[name], digits) for name, x in parts.items()}
    written = None if value is None else write_digits(value, again, digits)
    return LongNumbers(program.title, digits, written, texts, output)


def is_settled(x: Any, better: Any, digits: int) -> bool:
    """Return whether a number is nonzero and all its digits agree; for a complex number, both parts."""
    parts = ((x.real, better.real), (x.imag, better.imag)) if hasattr(x, "imag") else ((x, better),)
    return all(a != 0 and right_digits(a, b, digits) == digits for a, b in parts[: 1 + (parts[-1][1] != 0)])


def write_digits(x: np.ndarray, better: np.ndarray, digits: int) -> np.ndarray:
    out = np.empty(np.shape(x), object)
    for index in np.ndindex(np.shape(x)):
        right = right_digits(x[index], better[index], digits)
        is_zero = abs(better[index]) < abs(x[index]) * VANISHES  # all of it was rounding error
        written = better[index] * 0 if is_zero else better[index]
        out[index] = digits_text(written, right, short=bool(is_zero or x[index] == written))
    return out


def right_digits(x: Any, better: Any, digits: int) -> int:
    context = better.context if hasattr(better, "context") else None
    if x == better or context is None or not context.isfinite(better) or not context.isfinite(x):
        return digits
    error = abs((x - better) / better) if better != 0 else abs(x)
    return max(1, min(digits, int(-context.log10(error)))) if error else digits


def digits_text(x: Any, digits: int, short: bool) -> str:
    """Write a number with some significant digits. short: without trailing zeros."""
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


def gradient_in_digits(program: Program, read: Read, request: Request, digits: int) -> LongNumbers:
    """Compute value and gradients in many digits; in a script, inputs that backward does not reach give None."""
    unreached: set[str] = set()

    def work(precision: int) -> tuple[np.ndarray | None, DigitArrays, str | None]:
        field = Multiprecision(precision)
        with exactly(field):
            value, grads, run = gradient_at(program, read(), request, field)
        unreached.update(n for n, leaf in run.leaves.items() if program.is_script and leaf._grad is None)
        return value, grads, run.output_name

    numbers = compute_in_time(program, work, request, digits)
    return numbers._replace(parts={**numbers.parts, **dict.fromkeys(unreached)}, with_value=request.with_value)


def value_in_digits(program: Program, read: Read, request: Request, digits: int) -> LongNumbers:
    def work(precision: int) -> tuple[np.ndarray | None, DigitArrays, str | None]:
        field = Multiprecision(precision)
        with exactly(field), silence_prints(program):
            run = program.run(read(), wrt=request.wrt, out=request.out)
            return map_elements(field.number, (without_field(exact(value_of(run))),)), {}, run.output_name

    return compute_in_time(program, work, request, digits)._replace(with_value=True)


DIGITS_TRIED = (50, 80, 160, 320, 640, 1280)  # tried in turn, until two results in a row agree to 25 digits
ENOUGH_DIGITS = 640  # with fewer digits, a 0 may be a number that cancellation of large numbers lost
WIDE_RATIO = 100.0  # in a range whose ends have at least this ratio, points have constant ratios
NEAREST = 1e-12  # distance of the points closest to a zero inside a range, as a share of its longer side


class Exactness:
    """The exact values and gradients of a program at points along one input, for comparison."""

    def __init__(self, program: Program, given: Mapping[str, Any], name: str, x: np.ndarray, request: Request):
        self.given, self.name, self.x, self.request = given, name, x, request
        info = np.finfo(x.dtype)
        self.full = float(-np.log10(info.eps / 2))
        self.smallest, self.largest = float(info.smallest_subnormal), float(info.max)
        self.found = [self.find_right(program, float(at)) for at in x]

    def values(self, at: float) -> dict[str, Any]:
        return {**self.given, self.name: np.asarray(at, self.x.dtype)}

    def find_right(self, program: Program, at: float) -> tuple[np.ndarray, DigitArrays] | None:
        """Return value and gradients at a point, to 25 digits; None if no two precisions agree."""
        before: list[Any] | None = None
        for digits in DIGITS_TRIED:
            field = Multiprecision(digits, decimal=False)
            with exactly(field):
                now = gradient_at(program, self.values(at), self.request, field)[:2]
            numbers = [x for part in (now[0], *now[1].values()) for x in np.ravel(part).tolist()]
            agree = before is not None and all(map(same_digits, before, numbers))
            if agree and (digits >= ENOUGH_DIGITS or all(numbers)):
                return now
            before = numbers
        return None

    def count_digits(self, program: Program) -> tuple[np.ndarray, DigitArrays]:
        value = np.full(len(self.x), np.nan)
        gradients: DigitArrays = {}
        for i, (at, right) in enumerate(zip(self.x, self.found, strict=True)):
            if right is None:
                continue
            computed = compute_gradient(program, self.values(float(at)), self.request)
            value[i] = self.digits(computed.value, right[0])
            for item in computed.inputs:
                column = gradients.setdefault(item.name, np.full(len(self.x), np.nan))
                column[i] = self.digits(item.grad, right[1][item.name])
        return value, gradients

    def digits(self, computed: Any, right: Any) -> float:
        """Return the number of right digits of the worst element of an array; nan without a right value."""
        pairs = zip(np.ravel(computed).tolist(), np.ravel(right).tolist(), strict=True)
        return float(min((self.digits_of_one(a, b) for a, b in pairs), default=self.full))

    def digits_of_one(self, computed: complex, right: Any) -> float:
        """Return the number of right digits. inf is right beyond the largest float, 0 below the smallest."""
        mp = getattr(right, "context", mpmath.mp)  # rules may put plain zeros among exact numbers
        right = mp.mpmathify(right)
        if not mp.isfinite(right):
            return np.nan
        if not np.isfinite(computed):
            return self.full if abs(right) > self.largest and np.sign(computed) == int(mp.sign(right)) else 0.0
        error = abs(mp.mpmathify(computed) - right)
        if 2 * error <= self.smallest:
            return self.full
        return min(max(float(-mp.log10(error / abs(right))), 0.0), self.full) if right else 0.0


def same_digits(x: Any, better: Any) -> bool:
    """Return whether two numbers agree to 25 digits."""
    mp = getattr(better, "context", mpmath.mp)
    if not (mp.isfinite(x) and mp.isfinite(better)):
        return bool(mp.isnan(x) and mp.isnan(better)) or x == better
    return abs(x - better) <= abs(better) * mp.mpf(10) ** -25


def points_between(low: float, high: float, count: int, dtype: Any) -> np.ndarray:
    """Return points from low to high: evenly spaced, or at constant ratios in a wide range and around a zero inside."""
    if low == high:
        x = np.array([low])
    elif low <= 0 <= high:
        ends = [end for end in (low, high) if end]
        near = max(2 * count // 3 // len(ends), 1)
        parts = [np.sign(end) * np.geomspace(abs(end), NEAREST * max(-low, high), near) for end in ends]
        zero = [0.0][: count - near * len(ends)]
        x = np.concatenate([*parts, zero, np.linspace(low, high, count - near * len(ends) + 1)[1:-1]])
    elif max(low / high, high / low) >= WIDE_RATIO:
        x = np.geomspace(low, high, count)
    else:
        x = np.linspace(low, high, count)
    return np.unique(x.astype(dtype))


LEAST_LOSS = 1.0  # operations that lose no more digits than this are not reported


def observe_backward(program: Program, right: Exactness, at: float) -> tuple[Run, graph.ObservedPass, list[StepEvent]]:
    recorder = BackwardRecorder()
    run = graph.watch_program(program, right.values(at), right.request, recorder.on_start)
    return run, *recorder.passes[-1]


def find_lossy_operation(program: Program, right: Exactness, of: str, at: float) -> DigitLoss | None:
    """Return the operation that loses the most digits of the value or of a gradient; None if none can be named."""
    run, last, events = observe_backward(program, right, at)
    with exactly(Multiprecision(DIGITS_TRIED[-2], decimal=False)):
        _, _, better = observe_backward(program, right, at)
    if [outline_of_event(event) for event in events] != [outline_of_event(event) for event in better]:
        return None
    pairs = list(zip(events, better, strict=True))
    comparison = StepComparison(right, of, at, Labels(run, graph.public_nodes(last.roots)))
    for mine, exacts in pairs:
        if not mine.node.leaf:
            comparison.forward(mine.node, observation_of(mine.node), observation_of(exacts.node))
    if of != "value":
        origin, comparison.losses = comparison.largest(), []
        comparison.backward(pairs, origin)
    return comparison.largest()


def outline_of_event(event: StepEvent) -> tuple[bool, ...]:
    """Return which operands have a gradient. Two runs that took the same branches have equal outlines."""
    return () if event.node.leaf else tuple(parent is not None for parent in event.node.parents)


class StepComparison:
    """Compares steps in floating point with the same steps in many digits, and collects the losses."""

    def __init__(self, right: Exactness, of: str, at: float, labels: Labels):
        self.right, self.of, self.at, self.labels = right, of, at, labels
        self.losses: list[DigitLoss] = []
        self.known: dict[Any, float] = {}

    def largest(self) -> DigitLoss | None:
        worth = [loss for loss in self.losses if loss.before - loss.after > LEAST_LOSS]
        return max(worth, key=lambda loss: loss.before - loss.after, default=None)

    def note(self, node: Any, kind: str, before: float, after: float, parts: list, computed: Any, right: Any) -> None:
        """Record a step; numbers only if it is a step of scalars."""
        single = np.size(computed) == 1 and all(np.size(x) == 1 for x in parts)
        span = self.labels.run.where(node)
        numbers = [float(np.real(np.ravel(x)[0])) for x in (*parts, computed, right)] if single else [np.nan] * 2
        line = None if span is None or graph.is_only_line(span) else span.line
        computed, right = numbers[-2:]
        self.losses.append(
            DigitLoss(
                self.of, self.at, kind, self.formula(node), line, before, after, tuple(numbers[:-2]), computed, right
            )
        )

    def formula(self, node: Any) -> str:
        span = self.labels.run.where(node)
        text = "" if span is None else " ".join(span.source[span.start : span.end].split())
        return text or self.labels.formula(node) or self.labels.label(node)

    def digits(self, computed: Any, right: Any) -> float:
        """Return the number of right digits: all if `right` is not exact, 0 after overflow or underflow."""
        if right is None or np.shape(computed) != np.shape(right) or np.asarray(right).dtype != object:
            return self.right.full
        exacts = np.asarray(right).view(np.ndarray)
        lost = (np.asarray(computed) == 0) | np.isinf(computed)
        if (lost & (exacts != 0)).any():
            return 0.0
        return float(np.nan_to_num(self.right.digits(computed, exacts), nan=self.right.full))

    def forward(self, node: Any, mine: RecordedOrigin | None, exacts: RecordedOrigin | None) -> None:
        if mine is None or exacts is None or isinstance(mine.result, tuple):
            return
        operands = list(zip(mine.operands, exacts.operands, strict=True))
        numeric = [pair for pair in operands if np.asarray(pair[0]).dtype.kind in "iufc"]
        before = min((self.digits(*pair) for pair in numeric), default=self.right.full)
        after = self.digits(mine.result, exacts.result)
        self.known[node] = min(before, after)  # the local rule uses both
        parts = [x for x, _ in numeric]
        self.note(node, "forward", before, after, parts, mine.result, exacts.result)

    def backward(self, pairs: list[tuple[StepEvent, StepEvent]], origin: DigitLoss | None) -> None:
        """Compare the gradients that operations send, and their sums. origin: the largest loss of the forward run."""
        received: dict[Any, list[tuple[Any, Any]]] = {}
        senders: dict[Any, list[str]] = {}
        for mine, exacts in pairs:
            ways = received.get(mine.node, [])
            arrived = self.digits(mine.incoming, exacts.incoming)
            if len(ways) > 1:
                before = min(self.digits(*way) for way in ways)
                self.note(mine.node, "sum", before, arrived, [x for x, _ in ways], mine.incoming, exacts.incoming)
                self.losses[-1] = self.losses[-1]._replace(ways=tuple(senders[mine.node]))
            for parent, computed, right in zip(mine.node.parents, mine.sent, exacts.sent, strict=False):
                if parent is None or computed is None or right is None:
                    continue
                received.setdefault(parent, []).append((computed, right))
                senders.setdefault(parent, []).append(self.formula(mine.node))
                after = self.digits(computed, right)
                if origin is None or self.known.get(mine.node, self.right.full) > after + LEAST_LOSS:
                    self.note(mine.node, "backward", arrived, after, [mine.incoming], computed, right)
                elif arrived - after > LEAST_LOSS:
                    self.losses.append(origin)


def measure_precision(
    program: Program, given: Values, over: tuple[str, float, float], request: Request, points: int
) -> Precision:
    """Count the right digits of value and gradients over a range of one input."""
    name, low, high = over
    refuse_values([name], given)
    x = points_between(low, high, points, request.input_dtype)
    output = check_plotted_output(program, {**given, name: x[-1]}, [name], request.out, "measured")
    with silence_prints(program):
        right = Exactness(program, given, name, x, request)
        value, gradients = right.count_digits(program)
        worst = {
            of: float(x[np.nanargmin(digits)])
            for of, digits in {"value": value, **gradients}.items()
            if np.isfinite(digits).any() and np.nanmin(digits) < 0.75 * right.full
        }
        found = (find_lossy_operation(program, right, of, at) for of, at in worst.items())
        losses = tuple(loss for loss in found if loss is not None)
    return Precision(program.title, name, x, right.full, value, gradients, losses, output)
