"""What mistake was probably made: patterns of the claimed derivative against its reference, and what it lacks.

Every pattern must explain all wrong elements to within the reference's error, and more of them than chance would;
otherwise nothing is said.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from ..program.claim import CallError, point_beside
from ..show.check_results import Finding
from .flat import Flat, arrays_behind, real_view
from .verdict import FAIL, MARGIN, Judgement

CONSTANTS = {
    np.pi: "pi",
    2 * np.pi: "2 pi",
    np.log(2): "log 2",
    np.log(10): "log 10",
    np.sqrt(2): "sqrt 2",
    np.sqrt(np.pi): "sqrt pi",
    2 / np.sqrt(np.pi): "2 / sqrt pi",
    np.sqrt(2 * np.pi): "sqrt(2 pi)",
    180 / np.pi: "180 / pi (degrees)",
}
PARTS_OF_OUTPUT = {"": "", "re": "the real part of ", "im": "the imaginary part of "}
LEFT_OVER = 0.1  # the part of a wrong element's difference that a pattern may leave
ELSEWHERE = 1e-2
"""How far, relative, a factor may be from that at another point: a central difference has half the digits."""
SLIGHT = 1e-4  # factors so near to 1 have no name


class Case:
    """One input's block: claimed a and reference r, as (rows, elements), with the room that r's error leaves."""

    def __init__(self, judgement: Judgement, k: int):
        self.flat = flat = judgement.flat
        columns = flat.columns(k)
        self.first = columns.start
        self.name, self.array = flat.claim.wrt[k], flat.arrays[k]
        rows = slice(None)
        if not judgement.rows.single:  # one combination of outputs shows what the others do
            worst = int((judgement.state[:, columns] == FAIL).sum(axis=1).argmax())
            rows = slice(worst, worst + 1)
        self.a = judgement.claimed[rows, columns]
        self.r = judgement.value[rows, columns]
        self.error = judgement.error[rows, columns]
        self.wrong = judgement.state[rows, columns] == FAIL
        self.sampled = 0  # how many elements of a large input were estimated, where these are a sample
        if (
            judgement.sampled is not None
            and (
                here := judgement.sampled[(judgement.sampled >= columns.start) & (judgement.sampled < columns.stop)]
            ).size
            < columns.stop - columns.start
        ):
            self.sampled = here.size
        self.x = flat.parts[k].astype(float)
        self.out_size = len(flat.f0)

    def index_of(self, column: int) -> str:
        _, index, part = self.flat.label(self.first + int(column))
        where = f"index {list(index)}" if index else "its only element"
        return {"": "", "re": "the real part at ", "im": "the imaginary part at "}[part] + where

    def output_of_wrong(self) -> str:
        """Return in which output, and in which part of complex numbers, all wrong elements are, if in one."""
        if len(self.wrong) != self.out_size or not self.flat.claim.layout:
            return ""
        rows = [self.flat.row(int(j)) for j in np.flatnonzero(self.wrong.any(axis=1))]
        part, *others = {which for _, which in rows}
        depths = zip(*(path for path, _ in rows), strict=False)
        shared = [keys[0] for keys in itertools.takewhile(lambda keys: len({*keys}) == 1, depths)]
        word = PARTS_OF_OUTPUT[part] if not others else ""
        several = len(self.flat.claim.layout) > 1
        return f", all in {word}out{shared or ''}" if word or (several and shared) else ""

    @functools.cached_property
    def swapped(self) -> np.ndarray | None:
        """The reference with the last two axes of the input exchanged; None where that is no real matrix."""
        shape = self.array.shape
        if len(shape) < 2 or min(shape[-2:]) < 2 or self.array.dtype.kind != "f":
            return None
        return np.swapaxes(self.r.reshape((len(self.r), *shape)), -1, -2).reshape(self.r.shape)

    @functools.cached_property
    def typical(self) -> float:
        """The relative error of most reference values, with room."""
        relative = self.error[self.known] / np.abs(self.r[self.known])
        return 3 * MARGIN * float(np.quantile(relative, 0.9)) if relative.size else 0.0

    def room(self, expected: np.ndarray) -> np.ndarray:
        """Return how far claimed values may be from expected ones that were made of reference values.

        What is left of a wrong element's difference is small beside it.
        """
        own = np.where(np.isfinite(self.error), self.error, 0.0)
        relative = np.abs(expected) * (3e-6 + self.typical)
        left = np.where(self.wrong, LEFT_OVER * np.abs(self.a - self.r), np.inf)
        return np.fmin(relative, left) + MARGIN * own + 1e-300

    def explains(self, expected: np.ndarray, where: np.ndarray | None = None) -> bool:
        """Return whether the claimed values equal the expected ones, at known places.

        Nothing explains a wrong element that is not held against one value: at a kink, or where there is none.
        """
        if self.unexplainable:
            return False
        known = np.isfinite(self.r) & np.isfinite(expected)
        if where is not None:
            known &= where
        if not known.any() or not np.isfinite(self.a[known]).all():
            return False
        return bool((np.abs(self.a - expected) <= self.room(expected))[known].all())

    @functools.cached_property
    def unexplainable(self) -> bool:
        """Whether an element is wrong within its reference's interval, or without one."""
        held = np.isfinite(self.r) & (np.abs(self.a - self.r) > MARGIN * self.error)
        return bool((self.wrong & ~held & np.isfinite(self.a)).any())

    @property
    def known(self) -> np.ndarray:
        """Where the reference is there and not lost in its error."""
        return np.isfinite(self.r) & np.isfinite(self.a) & (np.abs(self.r) > 10 * MARGIN * self.error)


def not_finite(case: Case) -> tuple[str, str] | None:
    """nan or an infinity where the derivative is finite."""
    bad = ~np.isfinite(case.a) & case.wrong
    if not bad.any():
        return None
    kind = "nan" if np.isnan(case.a[bad]).any() else "infinite"
    count = int(bad.sum())
    return kind, f"{count} element{' is' if count == 1 else 's are'} {kind} where the derivative is finite"


def zero(case: Case) -> tuple[str, str] | None:
    if not (case.a == 0).all() or not case.wrong.any():
        return None
    return "zero", "the gradient is zero everywhere (detached?), but the function depends on this input"


def float32(case: Case) -> tuple[str, str] | None:
    """Values that float32 holds exactly, off by no more than its rounding."""
    if case.array.dtype.itemsize < 8 or not (case.known & case.wrong).any():
        return None
    relative = np.abs(case.a - case.r)[case.known] / np.abs(case.r[case.known])
    exact = (case.a.astype(np.float32).astype(float) == case.a)[case.known]
    if relative.max() < 5e-6 and (exact.mean() > 0.9 or relative.max() < 3e-7):
        return "precision", f"precision lost to float32: relative errors up to {relative.max():.1g}"
    return None


def ratio_name(flat: Flat, typical: float, c: float) -> tuple[str, str] | None:
    """Return kind and words for a constant factor, known to a typical error; None for a number that means nothing."""
    if abs(c - 1) < SLIGHT:
        return "factor", f"all elements are off by the same relative error, {c - 1:.3g}"
    near = lambda value: abs(c - value) <= min(2e-6 + typical, LEFT_OVER * abs(c - 1)) * abs(value)  # noqa: E731
    if near(-1.0):
        return "sign", "the sign is wrong: the claimed values are minus the derivative"
    if near(2.0):
        return "factor", "twice the derivative: a constant factor 2 too many (accumulated twice, or a missing 1/2)"
    if near(0.5):
        return "factor", "half the derivative: a constant factor 1/2 (a missing factor 2)"
    for n, what in lengths(flat).items():
        if near(float(n)):
            return "missing 1/N", f"constant factor {n}, {what}: a missing 1/N (sum instead of mean)"
        if near(1.0 / n):
            text = f"constant factor 1/{n}, {what}: 1/N too many (mean instead of sum, or a missing broadcast sum)"
            return "factor", text
        if near(-float(n)) or near(-1.0 / n):
            return "factor", f"constant factor {c:.6g}, with the sign wrong; {n} is {what}"
    for value, word in CONSTANTS.items():
        for signed in (value, 1 / value):
            if near(signed):
                return "factor", f"constant factor {word if signed == value else '1 / (' + word + ')'}"
    fraction = Fraction(c).limit_denominator(12)
    if near(float(fraction)) and abs(fraction.numerator) <= 24 and fraction not in (0, 1):
        return "factor", f"constant factor {fraction}"
    return None


def lengths(flat: Flat) -> dict[int, str]:
    """Return sizes that a forgotten or doubled mean or broadcast would bring in as a factor, and what each is of."""
    sizes = []
    for name, x in flat.claim.at.items():
        sizes += [*((n, f"a length of {name}") for n in x.shape), (x.size, f"the size of {name}")]
    sizes += [(n, "a length of the output") for n in flat.out_shape]
    around = {n for x in arrays_behind(flat.claim) for n in (*x.shape, x.size)}
    sizes += [(n, "a length of an array that the code uses") for n in sorted(around)]
    return {n: what for n, what in reversed(sizes) if n > 2}  # of equal ones the first


def common_factor(case: Case, where: np.ndarray) -> float | None:
    known = case.known & where
    if not known.any():
        return None
    c = float((case.a[known] / case.r[known]).mean())
    return c if case.explains(c * case.r, where) else None


def whole_factor(case: Case) -> tuple[str, str] | None:
    """The whole block is a multiple of the derivative."""
    c = common_factor(case, np.ones_like(case.wrong))
    if c is None or abs(c) < 1e-300 or (case.wrong.size == 1 and not holds_elsewhere(case, c)):
        return None
    named = ratio_name(case.flat, case.typical, c)
    if named is not None:
        return named
    if int(case.known.sum()) >= 2 and len(np.unique(np.round(case.r[case.known], 12))) >= 2:
        return "factor", f"constant factor {c:.9g} on all elements"
    return None


def holds_elsewhere(case: Case, c: float) -> bool:
    """Return whether the claim is c times a central difference at another point, too: one number shows no factor.

    Inputs that are not differentiated move as well, because a forgotten factor may be one of them.
    """
    claim, here = case.flat.claim, point_beside(case.flat.claim.at)
    x = here[case.name]
    step = np.asarray(np.cbrt(np.finfo(x.dtype).eps) * (1 + np.abs(x)), x.dtype)
    try:
        sides = [real_view(claim.value({**here, case.name: x + sign * step})) for sign in (1, -1)]
        claimed = case.flat.matrix(here)[0, case.first]
    except CallError:
        return False
    numeric = float(sides[0][0] - sides[1][0]) / (2 * float(step.reshape(-1)[0]))
    return bool(abs(claimed - c * numeric) <= ELSEWHERE * abs(c * numeric))


def rearrangements(case: Case) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield kind, words and the claim of mistakes that leave nothing but the derivative's own values, and zeros."""
    shape, r, swapped = case.array.shape, case.r, case.swapped
    if case.array.dtype.kind == "c":
        imaginary = np.zeros(len(r), bool)
        if len(r) == case.out_size:
            imaginary = np.array([case.flat.row(j)[1] == "im" for j in range(case.out_size)])
        of_output = "that of the complex conjugate: a conj is missing, or one too many"
        text = f"the gradient is {of_output if imaginary.any() else 'the complex conjugate of the derivative'}"
        # one part of an output, real or imaginary, with respect to the other
        yield "conjugate", text, np.where(imaginary[:, None] == (np.arange(r.shape[1]) % 2 == 1), r, -r)
    square = swapped is not None and shape[-1] == shape[-2]
    if square:
        yield "transposed", "the gradient is the transpose of the derivative", swapped  # type: ignore[misc]
    if r.shape[0] == r.shape[1] > 1:
        yield "transposed", "the Jacobian is transposed (rows are outputs, columns are inputs)", r.T
    if swapped is not None and len(shape) == 2 and not square:
        yield "transposed", "the gradient holds the transposed derivative, reshaped", swapped
    if square:
        text = "the claim is the symmetric part of the derivative, right along symmetric changes alone"
        yield "symmetric part", text, (r + swapped) / 2
    if case.array.dtype.kind == "f" and case.array.size > 1:
        yield from rolled(case)
    if not case.wrong.all():
        yield "sign", f"the sign is wrong {where_text(case)}", np.where(case.wrong, -r, r)
        text = f"zero {where_text(case)}: this contribution is missing (detached?)"
        yield "zero", text, np.where(case.wrong, 0.0, r)


def rearranged(case: Case) -> tuple[str, str] | None:
    return next((found[:2] for found in rearrangements(case) if case.explains(found[2])), None)


def rolled(case: Case) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield what elements are in each other's places along an axis, or in any."""
    r = case.r.reshape((len(case.r), *case.array.shape))
    for axis in range(1, r.ndim):
        n = r.shape[axis]
        for shift in [s for s in (1, -1, 2, -2) if abs(s) < n > 2]:
            text = f"rolled index: every element is {shift:+d} places off along axis {axis - 1}"
            yield "rolled", text, np.roll(r, shift, axis).reshape(case.r.shape)
        if n > 1:
            text = f"rolled index: the elements are in reverse order along axis {axis - 1}"
            yield "reversed", text, np.flip(r, axis).reshape(case.r.shape)
    if case.array.size > 3 and np.isfinite(case.r).all() and np.isfinite(case.a).all():
        text = "rolled index: the values are right but in a different order (permuted)"
        if int(case.wrong.sum()) == 2 and len(case.r) == 1:
            first, second = (case.index_of(int(column)) for column in np.flatnonzero(case.wrong[0]))
            text = f"rolled index: two elements are exchanged, {first} and {second}"
        ranks = np.argsort(np.argsort(case.a, axis=1), axis=1)
        yield "permuted", text, np.take_along_axis(np.sort(case.r, axis=1), ranks, axis=1)


MOSTLY = 0.9  # the part of wrong elements that a pattern explains where a few are wrong in another way, too


def mostly_sign(case: Case) -> tuple[str, str] | None:
    """Nearly all wrong elements have the wrong sign; what the others are is another mistake."""
    minus = case.wrong & (np.abs(case.a + case.r) <= case.room(-case.r))
    if minus.sum() < MOSTLY * case.wrong.sum() or minus.sum() < 1 / (1 - MOSTLY):
        return None
    others = np.flatnonzero((case.wrong & ~minus).any(axis=0))
    return "sign", f"the sign is wrong in {int(minus.sum())} elements; wrong in another way {place_text(case, others)}"


def part_factor(case: Case) -> tuple[str, str] | None:
    """Some elements off by one constant factor, the others right."""
    if case.wrong.all():
        return None
    c = common_factor(case, case.wrong)
    if c is None or abs(c - 1) < SLIGHT:  # the places and by how much they are off say all
        return None
    named = ratio_name(case.flat, case.typical, c)
    if named is None and int((case.wrong & case.known).sum()) < 2:
        return None
    kind, text = named or ("factor", f"constant factor {c:.9g}")
    return kind, f"{text} {where_text(case)}"


def where_text(case: Case) -> str:
    columns = np.flatnonzero(case.wrong.any(axis=0))
    rows = np.flatnonzero(case.wrong.any(axis=1))
    if len(columns) == case.wrong.shape[1] and case.wrong.sum() < len(rows) * len(columns):
        return f"in {int(case.wrong.sum())} of {case.wrong.size} elements of the Jacobian"
    if len(rows) == 1 < len(case.wrong) == case.out_size:
        path, part = case.flat.row(int(rows[0]))
        out = PARTS_OF_OUTPUT[part] + f"out{list(path) or ''}"
        return f"in {out}" if len(columns) == case.wrong.shape[1] else f"{place_text(case, columns)} of {out}"
    return place_text(case, columns)


def place_text(case: Case, columns: np.ndarray) -> str:
    shape = case.array.shape
    if len(columns) == 1:
        return f"at {case.index_of(int(columns[0]))}"
    places, parts = columns, ""
    if case.array.dtype.kind == "c":
        places = np.unique(columns // 2)
        parts = "" if np.ptp(columns % 2) else "in the imaginary parts " if columns[0] % 2 else "in the real parts "
        if parts and len(places) == case.array.size:
            return parts.rstrip()
    full = np.isin(np.arange(case.array.size), places).reshape(shape)
    for axis in range(full.ndim):
        others = tuple(i for i in range(full.ndim) if i != axis)
        lines = full.all(axis=others) if others else full
        if lines.sum() and full.sum() == lines.sum() * (full.size // full.shape[axis]) and full.ndim > 1:
            word = "row" if axis == 0 and full.ndim == 2 else "column" if full.ndim == 2 else f"axis {axis}, place"
            return f"{parts}in {word} {', '.join(str(int(i)) for i in np.flatnonzero(lines)[:5])}"
    return f"{parts}in {len(places)} of {case.array.size} elements"


def forgotten_quantities(case: Case) -> Iterator[tuple[str, np.ndarray]]:
    """Yield quantities that a forgotten factor or term is often made of, one value per element."""
    x = case.x
    yield from {case.name: x, f"{case.name}**2": x**2, f"1/{case.name}": 1 / x, f"1/{case.name}**2": x**-2.0}.items()
    for function in (np.exp, np.sin, np.cos, np.log, np.tanh, np.sqrt, np.sign):
        yield f"{function.__name__}({case.name})", function(x)
    yield f"exp(-{case.name})", np.exp(-x)
    if case.array.ndim == 2 and len({*case.array.shape}) == 1 and np.isfinite(x).all():
        with contextlib.suppress(np.linalg.LinAlgError):
            yield f"inv({case.name}).T (a log-determinant)", np.linalg.inv(case.array).T.reshape(-1).astype(float)
    for name, other in case.flat.claim.at.items():
        if name != case.name and other.dtype.kind == "f":
            try:
                wide = np.broadcast_to(other, case.array.shape).reshape(-1).astype(float)
            except ValueError:
                continue
            yield name, wide
            yield f"1/{name}", 1 / wide
    if len(case.flat.f0) == 1:
        yield "the value", np.full(len(x), case.flat.f0[0])


def chain_factor(case: Case) -> tuple[str, str] | None:
    """A factor that varies with the element is missing, or too many."""
    for name, q in forgotten_quantities(case):
        if not np.isfinite(q).all() or np.ptp(np.abs(q)) < 1e-9 * np.abs(q).max():
            continue
        product, quotient = case.r * q, case.r / q
        for expected, word in ((quotient, "missing"), (product, "too many")):
            known = case.known & np.isfinite(expected) & (expected != 0) & case.wrong
            if int(known.sum()) < SEVERAL:
                continue
            c = float(np.median(case.a[known] / expected[known]))
            wanted = np.where(case.wrong, c * expected, case.r)
            if np.isfinite(c) and c and case.explains(wanted):
                times = "" if abs(c - 1) < 1e-5 else f" (and a constant {c:.6g})"
                return "chain factor", f"a factor {name} is {word} (chain rule){times}"
    return None


def term(case: Case) -> tuple[str, str] | None:
    """The difference is proportional to a known quantity: a term was dropped, or is one too many."""
    for name, q in itertools.chain([("1", np.ones(len(case.x)))], forgotten_quantities(case)):
        wide = np.broadcast_to(q, case.r.shape)
        known = case.known & (wide != 0)
        if not np.isfinite(q).all() or int(known.sum()) < SEVERAL:
            continue
        c = float(np.median((case.a - case.r)[known] / wide[known]))
        if not c or not case.explains(case.r + c * wide):
            continue
        if name == "1":
            return "dropped term", f"the difference is the same everywhere, {c:.6g}: a term is dropped or added"
        action = "dropped, or of the wrong sign" if c < 0 else "too many"
        return "dropped term", f"a term {abs(c):.6g} * {name} is {action}: the difference is proportional to {name}"
    return None


FITTED = (chain_factor, term)
"""Patterns that fit a constant, which means something where several elements are wrong and known."""
SEVERAL = 3
BEFORE_FITTED = (not_finite, zero, float32, whole_factor, rearranged)
PATTERNS = (*BEFORE_FITTED, part_factor, *FITTED, mostly_sign)  # what may have been mistaken, the most telling first


def cases_of(judgement: Judgement) -> list[Case]:
    return [Case(judgement, k) for k in range(len(judgement.flat.claim.wrt))]


def diagnose(judgement: Judgement) -> tuple[Finding, ...]:
    cases = cases_of(judgement)
    swapped = swap(cases)
    if swapped is not None:
        return (swapped,)
    findings: list[Finding] = []
    for case in (case for case in cases if case.wrong.any()):
        several = int((case.known & case.wrong).sum()) >= SEVERAL and case.array.dtype.kind != "c"
        matches = (pattern(case) for pattern in PATTERNS if several or pattern not in FITTED)
        match = next((match for match in matches if match is not None), None)
        if match is not None:
            kind, text = match
            findings.append(Finding(kind, f"{case.name}: {text}", case.name))
        findings += places_of_wrong(case)
    return tuple(dict.fromkeys(findings))


def place_in(judgement: Judgement) -> tuple[Finding, ...]:
    cases = (case for case in cases_of(judgement) if case.wrong.any())
    return tuple(finding for case in cases for finding in places_of_wrong(case))


def places_of_wrong(case: Case) -> list[Finding]:
    count, total = int(case.wrong.sum()), case.wrong.size
    if case.sampled:
        text = f"at least {count} of {total} elements are wrong; {count} of {case.sampled} sampled"
        return [Finding("some elements", f"{case.name}: {text}", case.name)]
    if total < 2 or count > max(1, total // 4):
        return []
    if count == 1:
        (column,) = np.nonzero(case.wrong)[1]
        others = "is right" if total == 2 else f"{total - 1} are right"
        text = f"a single element is wrong, at {case.index_of(int(column))}{times(case)}"
        text += f"{case.output_of_wrong().replace(' all', '')}; the other {others}"
        return [Finding("single element", f"{case.name}: {text}", case.name)]
    text = f"{count} of {total} elements are wrong{case.output_of_wrong()}"
    return [Finding("some elements", f"{case.name}: {text}", case.name)]


def times(case: Case) -> str:
    """Return which multiple of the derivative the only wrong element is, to the digits that are known and tell."""
    (row,), (column,) = np.nonzero(case.wrong)
    a, r, error = case.a[row, column], case.r[row, column], case.error[row, column]
    if not np.isfinite(a / r) or not a or not error <= 1e-2 * abs(r) < np.inf:
        return ""
    digits = int(np.clip(-np.log10(error / abs(r) + 1e-300), 2, 6))
    if abs(a / r - 1) < 10.0 ** (1 - digits):
        return f", off by {abs(a / r - 1):.2g} relative"
    return f", {float(a / r):.{digits}g} times the derivative"


def swap(cases: list[Case]) -> Finding | None:
    """Two inputs' gradients in each other's place."""
    for x, y in itertools.combinations(cases, 2):
        alike = x.r.shape == y.r.shape and (x.wrong.any() or y.wrong.any())
        if alike and x.explains(y.r) and y.explains(x.r) and not x.explains(x.r):
            text = f"wrong input: the gradients of {x.name} and {y.name} are swapped"
            return Finding("swapped inputs", text, x.name)
    for x, y in itertools.permutations(cases, 2):
        if x.r.shape == y.r.shape and x.wrong.any() and x.explains(y.r) and not x.explains(x.r):
            return Finding("wrong input", f"wrong input: {x.name} was given the gradient of {y.name}", x.name)
    return None
