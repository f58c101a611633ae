"""Cross-check the engine's derivative with high-precision arithmetic and with sympy's formulas.

Neither uses the engine's own derivative rules, so that a relative error of 1e-13 in a derivative is noticed.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..claims.claim import CallError
from ..claims.recorded import Traced
from ..errors import GradcliError, TimeIsUp
from ..lang.limits import LONGEST_TIME, time_left, within
from ..numeric.verdict import digits_of
from ..request import Request
from ..results.base import label
from ..results.checks import CheckReport, Finding
from ..results.inputs import InputCheck
from ..tape.modes import no_grad
from .claim_check import observe

ROUNDING_NOTE = "rounding leaves"  # the beginning of a note that explains a disagreement by rounding


class CrossChecks:
    """Results: the number of digits to which each cross-check agrees, findings against the derivative, and notes."""

    def __init__(self) -> None:
        self.digits: list[tuple[str, float]] = []
        self.findings: list[Finding] = []
        self.notes: list[str] = []


def compare_with_formulas(claim: Traced, blocks: dict[str, np.ndarray], checks: CrossChecks) -> None:
    from ..analysis.compare_formulas import compare_with_engine, numbers_for
    from ..analysis.symbolic import MAX_SYMBOLS, TIMEOUT, as_expressions, derive_in_time, differentiate
    from ..exact.symbolic import symbols_for

    total = sum(np.size(x) for x in claim.at.values())
    if total > MAX_SYMBOLS:
        raise ValueError(f"the inputs have {total} elements; formulas can be derived for at most {MAX_SYMBOLS}")
    if not all(np.isfinite(x).all() for x in claim.at.values()):
        raise ValueError("an input contains nan or infinity")

    def derive() -> Any:
        symbols = {name: symbols_for(name, np.shape(x)) for name, x in claim.at.items()}
        out = claimed_formula(claim, symbols)
        parts = [
            (name, out.shape + symbols[name].shape, differentiate(out.flat, as_expressions(symbols[name])))
            for name in claim.wrt
        ]
        return compare_with_engine(parts, numbers_for(symbols, claim.at), blocks)

    for item in derive_in_time(TIMEOUT, derive):
        block = np.abs(np.asarray(blocks[item.name]))
        largest = float(np.max(block[np.isfinite(block)], initial=0.0)) or 1.0
        checks.digits.append((f"symbolic {item.name}", digits_of(item.error / largest)))
        checks.notes += [f"{item.name}: {note}" for note in item.notes]
        if not item.agrees and not any(note.startswith(ROUNDING_NOTE) for note in checks.notes):
            checks.findings.append(Finding("symbolic", f"SymPy's formula for {item.name} disagrees", item.name))


def claimed_formula(claim: Traced, symbols: dict[str, Any]) -> np.ndarray:
    import sympy

    from ..analysis.symbolic import as_expressions
    from ..exact.record import exactly
    from ..exact.symbolic import Symbolic
    from ..tape.tensor import Tensor

    if claim.first is not None:
        first = claimed_formula(claim.first, {name: x for name, x in symbols.items() if name != claim.vector})
        vector = as_expressions(symbols[claim.vector]).ravel().tolist()
        total = sum((v * e for v, e in zip(vector, first.ravel().tolist(), strict=True)), sympy.Integer(0))
        inputs = [s for name in claim.first.wrt for s in as_expressions(symbols[name]).ravel().tolist()]
        return np.array([sympy.diff(total, s) for s in inputs], object)
    with exactly(Symbolic()), no_grad():
        return as_expressions(claim.call([Tensor._wrap(s, None) for s in symbols.values()])._data)


MOST_SINGLE = 64  # most input elements that are moved one at a time; beyond it, random directions: a choice
DIRECTIONS = 16  # number of random directions along which all elements move: a choice
ENGINE_UNITS = 64  # ulps by which a derivative may be off without a finding: a choice
NEARBY_POINTS = 4  # nearby points; the standard deviation of the errors there measures the rounding noise: a choice
NEARBY = 1e-3  # relative distance of the points that distinguish rounding from a wrong rule: a choice
LEAST_DIGITS = 10.0  # a float64 derivative with fewer correct digits gets a note: a choice


class HighPrecision:
    """A traced function in high precision: its value, and its directional derivatives by finite differences."""

    def __init__(self, claim: Traced, digits: int):
        from ..exact.multiprecision import Multiprecision

        self.claim = claim
        self.field = Multiprecision(3 * digits + 20, decimal=False)
        self.mp = self.field.context
        self.step = self.mp.mpf(10) ** (-digits - 5)

    def value(self, arrays: dict[str, np.ndarray]) -> np.ndarray:
        if self.claim.first is not None:
            return self.products(self.claim.first, arrays)
        return self.value_of(self.claim, arrays)

    def value_of(self, claim: Traced, arrays: dict[str, np.ndarray]) -> np.ndarray:
        """Return the value of the claim's function, or of the function whose second derivatives are checked."""
        from ..exact.field import as_plain, exact
        from ..exact.record import exactly
        from ..tape.tensor import Tensor

        with exactly(self.field), no_grad():
            leaves = [Tensor._wrap(self.field.input_array(name, x), None) for name, x in arrays.items()]
            return np.asarray(as_plain(exact(np.asarray(claim.call(leaves)._data)))).ravel()

    def products(self, first: Traced, arrays: dict[str, np.ndarray]) -> np.ndarray:
        """Return the vector's products with the first derivative, by finite differences, too. Raises ValueError."""
        vector = self.claim.vector
        at = {name: x for name, x in arrays.items() if name != vector}
        total = sum(np.size(at[name]) for name in first.wrt)
        if total > MOST_SINGLE:
            many = f"the inputs have {total} elements"
            raise ValueError(f"{many}; second derivatives are computed for at most {MOST_SINGLE}")
        weights = self.convert(vector, arrays[vector]).ravel()
        products = []
        for direction in directions_of(first, 0):
            up, down = (self.value_of(first, self.move(at, direction, sign)) for sign in (1, -1))
            products.append(sum(v * (a - c) / (2 * self.step) for v, a, c in zip(weights, up, down, strict=True)))
        return np.array(products, object)

    def convert(self, name: str, x: np.ndarray) -> np.ndarray:
        return np.asarray(self.field.input_array(name, x)).view(np.ndarray)

    def move(self, at: dict[str, np.ndarray], direction: dict[str, np.ndarray], sign: int) -> dict[str, np.ndarray]:
        arrays = {name: self.convert(name, x) for name, x in at.items()}
        for name, unit in direction.items():
            arrays[name] = arrays[name] + sign * self.step * unit.astype(object)
        return arrays

    def along(self, at: dict[str, np.ndarray], direction: dict[str, np.ndarray], middle: np.ndarray) -> np.ndarray:
        """Return the derivative of every output along a direction; nan at kinks."""
        up, down = (self.value(self.move(at, direction, sign)) for sign in (1, -1))
        out = np.empty(len(middle), object)
        for k, (a, b, c) in enumerate(zip(up, middle, down, strict=True)):
            right, left = (a - b) / self.step, (b - c) / self.step
            tolerance = (abs(right) + abs(left) + 1) * self.mp.sqrt(self.step)
            smooth = self.mp.isfinite(right) and self.mp.isfinite(left) and abs(right - left) <= tolerance
            out[k] = (a - c) / (2 * self.step) if smooth else self.mp.nan
        return out


def directions_of(claim: Traced, seed: int) -> list[dict[str, np.ndarray]]:
    """Return the unit vectors of all input elements, or random sign vectors if there are many elements."""
    sizes = {name: np.size(claim.at[name]) for name in claim.wrt}
    if sum(sizes.values()) <= MOST_SINGLE:
        units = ((name, unit) for name in claim.wrt for unit in np.eye(sizes[name]))
        return [{name: unit.reshape(np.shape(claim.at[name]))} for name, unit in units]
    rng = np.random.default_rng(seed)
    return [{name: rng.choice([-1.0, 1.0], np.shape(claim.at[name])) for name in claim.wrt} for _ in range(DIRECTIONS)]


def moved_nearby(at: Mapping[str, np.ndarray], wrt: Sequence[str], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return a point about NEARBY away, where rounding differs but a wrong rule is just as wrong."""
    near = dict(at)
    for name in wrt:
        x = np.asarray(at[name])
        size = np.where(x == 0, np.max(np.abs(x), initial=0.0) or 1.0, np.abs(x))
        near[name] = np.asarray(x + NEARBY * size * rng.uniform(-1, 1, x.shape), x.dtype)
    return near


def compare_with_digits(
    claim: Traced, blocks: dict[str, np.ndarray], digits: int, seed: int, checks: CrossChecks
) -> None:
    """Compare the derivative with high-precision differences, here and nearby: equal errors are not rounding."""
    precise = HighPrecision(claim, digits)
    directions = directions_of(claim, seed)
    rng = np.random.default_rng(seed)
    points = [dict(claim.at), *(moved_nearby(claim.at, claim.wrt, rng) for _ in range(NEARBY_POINTS))]
    errors, exact_values = [], []
    for k, at in enumerate(points):
        engine = claim.whole(at) if k else blocks
        value = precise.value(at)
        for direction in directions:
            claimed = sum(engine[name].reshape((-1, v.size)) @ v.ravel() for name, v in direction.items())
            truth = precise.along(at, direction, value)
            errors.append([float(precise.mp.mpf(float(c)) - t) for c, t in zip(np.ravel(claimed), truth, strict=True)])
            exact_values.append(truth.astype(float))
    shape = (len(points), len(directions), len(value))
    compare_digits(np.reshape(errors, shape), np.reshape(exact_values, shape), directions, digits, checks)


def compare_digits(
    errors: np.ndarray, truth: np.ndarray, directions: list[dict[str, np.ndarray]], digits: int, checks: CrossChecks
) -> None:
    """Record the number of digits to which the engine agrees, and report an error beyond its rounding."""
    size = np.maximum(np.abs(truth), 1e-3 * np.nanmax(np.abs(truth), axis=(1, 2), keepdims=True, initial=0.0))
    relative = errors / np.where(size == 0, 1.0, size)
    right = digits_of(float(np.nanmax(np.abs(relative[0]), initial=0.0)))
    checks.digits.append((f"{digits}-digit", right))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        mean, noise = np.nanmean(relative, axis=0), np.nanstd(relative, axis=0)
    own_rounding = ENGINE_UNITS * np.finfo(float).eps
    wrong = (np.abs(mean) > 2 * noise + own_rounding) & (np.abs(relative[0]) > own_rounding)
    if not wrong.any():
        if right < LEAST_DIGITS:
            checks.notes.append(f"{ROUNDING_NOTE} the engine's derivative only {right:.1f} right digits here")
        return
    place = np.unravel_index(int(np.nanargmax(np.where(wrong, np.abs(relative[0]), -1.0))), wrong.shape)
    exact_value, error = truth[0][place], abs(relative[0][place])
    claimed = f"claimed {exact_value + errors[0][place]:.17g}, exact {exact_value:.17g} (relative error {error:.2g})"
    text = f"{digits}-digit arithmetic gives another derivative: {name_element(directions[place[0]])} {claimed}"
    checks.findings.append(Finding("exact", text))


def name_element(direction: dict[str, np.ndarray]) -> str:
    if len(direction) > 1 or np.count_nonzero(next(iter(direction.values()))) != 1:
        return "along a random direction"
    ((name, unit),) = direction.items()
    return label(name, [int(i) for i in np.argwhere(unit)[0]])


def with_cross_checks(report: CheckReport, claim: Any, request: Request) -> CheckReport:
    """Add the results of --digits and --symbolic to a report. A derivative that they refute fails."""
    if report.verdict == "error":
        return report
    checks, digits = CrossChecks(), request.digits
    if report.inputs:
        checks.digits.append(("numeric", min(numeric_digits(item) for item in report.inputs)))
    if not claim.capabilities.traced:
        checks.notes.append("exact cross-checks need a function of Tensors; this one is called with plain arrays")
    else:
        try:
            blocks = claim.whole(claim.at)
            if digits is not None:
                work = lambda: compare_with_digits(claim, blocks, digits, request.seed, checks)  # noqa: E731
                add_cross_check(checks, f"{digits}-digit", work)
            if request.symbolic:
                add_cross_check(checks, "symbolic", lambda: compare_with_formulas(claim, blocks, checks))
        except CallError as error:
            checks.notes.append(str(error))
    refuted = checks.findings and report.verdict != "fail"
    return observe(
        report,
        {"exact": "contradicts"} if checks.findings else {},
        message=checks.findings[0].text if refuted else report.message,
        cross_checks=(*report.cross_checks, *checks.digits),
        diagnosis=(*report.diagnosis, *checks.findings),
        notes=(*report.notes, *checks.notes),
    )


def add_cross_check(checks: CrossChecks, name: str, work: Any) -> None:
    """Run a comparison; if it gives no result, note why."""
    try:
        with within(time_left(LONGEST_TIME)):
            work()
    except TimeIsUp:
        checks.notes.append(f"no {name} cross-check: it takes too long")
    except (GradcliError, CallError, TypeError, AttributeError, ValueError) as error:
        checks.notes.append(f"no {name} cross-check: {str(error).splitlines()[0]}")


def numeric_digits(item: InputCheck) -> float:
    """Return the number of digits to which the numeric derivative, given its own error, confirms the claim."""
    if item.resolution is not None or item.worst is None or not item.worst.numeric_error:
        return item.digits
    size = max(abs(item.worst.claimed), abs(item.worst.numeric))
    off = max(item.worst.numeric_error, abs(item.worst.claimed - item.worst.numeric))
    return float(np.clip(np.log10(size / off), 0, item.digits)) if size else item.digits
