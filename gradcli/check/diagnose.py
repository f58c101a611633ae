"""What mistake was probably made: patterns of the claimed derivative against its reference, and what it lacks.

A pattern is a hypothesis: what is claimed, made of the derivative, at any point. It must explain all wrong elements to
within the reference's error, at the point and at others with other numbers; otherwise nothing is said.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np

from ..show.check_results import Finding
from .case import LEFT_OVER, PARTS_OF_OUTPUT, Case, Expected, cases_of
from .flat import Flat, arrays_behind
from .verdict import Judgement, entries_that_count

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
SLIGHT = 1e-4  # factors so near to 1 have no name
MOST_REORDERED = 4  # axes of which all orders are tried
Mistake = tuple[str, str]  # kind and words


def not_finite(case: Case) -> Mistake | None:
    """nan or an infinity where the derivative is finite."""
    bad = ~np.isfinite(case.a) & case.wrong
    if not bad.any():
        return None
    kind = "nan" if np.isnan(case.a[bad]).any() else "infinite"
    count = int(bad.sum())
    return kind, f"{count} element{' is' if count == 1 else 's are'} {kind} where the derivative is finite"


def zero(case: Case) -> Mistake | None:
    if not (case.a == 0).all() or not case.wrong.any():
        return None
    return "zero", "the gradient is zero everywhere (detached?), but the function depends on this input"


def float32(case: Case) -> Mistake | None:
    """Values that float32 holds exactly, off by no more than its rounding."""
    if case.array.dtype.itemsize < 8 or not (case.known & case.wrong).any():
        return None
    relative = np.abs(case.a - case.r)[case.known] / np.abs(case.r[case.known])
    exact = (case.a.astype(np.float32).astype(float) == case.a)[case.known]
    if relative.max() < 5e-6 and (exact.mean() > 0.9 or relative.max() < min(3e-7, 1e3 * np.median(relative))):
        return "precision", f"precision lost to float32: relative errors up to {relative.max():.1g}"
    return None


def ratio_name(case: Case, c: float) -> Mistake | None:
    """Return kind and words for a constant factor; None for a number that means nothing."""
    typical = case.typical
    if abs(c - 1) < SLIGHT:
        return "factor", f"all elements are off by the same relative error, {c - 1:.3g}"
    near = lambda value: abs(c - value) <= min(2e-6 + typical, LEFT_OVER * abs(c - 1)) * abs(value)  # noqa: E731
    if near(-1.0):
        return "sign", "the sign is wrong: the claimed values are minus the derivative"
    sizes = lengths(case.flat)
    of_two = f", or a missing 1/N: 2 is {sizes[2]}" if 2 in sizes else ""
    if near(2.0):
        return (
            "factor",
            f"twice the derivative: a constant factor 2 too many (accumulated twice, or a missing 1/2{of_two})",
        )
    if near(0.5):
        of_two = of_two.replace("a missing 1/N", "1/N too many")
        return "factor", f"half the derivative: a constant factor 1/2 (a missing factor 2{of_two})"
    sizes.pop(2, None)
    for n, what in sizes.items():
        if near(float(n)):
            return "missing 1/N", f"constant factor {n}, {what}: a missing 1/N (sum instead of mean)"
        if near(1.0 / n):
            text = f"constant factor 1/{n}, {what}: 1/N too many (mean instead of sum, or a missing broadcast sum)"
            return "factor", text
        if near(-float(n)) or near(-1.0 / n):
            return "factor", f"constant factor {c:.6g}, with the sign wrong; {n} is {what}"
    for n, what in sizes.items():
        named = {n / (n - 1): "N / (N - 1)", (n - 1) / n: "(N - 1) / N", 2 / n: "2/N", n / 2: "N/2"}
        for value, word in {**named, n**0.5: "sqrt(N)", n**-0.5: "1/sqrt(N)"}.items():
            if near(value):
                return "factor", f"constant factor {Fraction(c).limit_denominator(999)}, {word} where N = {n} is {what}"
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
    around = {n for x in arrays_behind(flat.claim).values() for n in (*x.shape, x.size)}
    sizes += [(n, "a length of an array that the code uses") for n in sorted(around)]
    return {n: what for n, what in reversed(sizes) if n > 1}  # of equal ones the first


def common_factor(case: Case, where: np.ndarray) -> float | None:
    known = case.known & where
    if not known.any():
        return None
    c = float((case.a[known] / case.r[known]).mean())
    return c if case.explains(lambda at: c * at.r, where) else None


def whole_factor(case: Case) -> Mistake | None:
    """The whole block is a multiple of the derivative: one number alone shows none."""
    c = common_factor(case, np.ones_like(case.wrong))
    if c is None or abs(c) < 1e-300 or (case.wrong.size == 1 and not case.others):
        return None
    named = ratio_name(case, c)
    if named is not None:
        return named
    if case.others or len(np.unique(np.round(case.r[case.known], 12))) >= 2:
        return "factor", f"constant factor {c:.9g} on all elements"
    return None


def rearrangements(case: Case) -> Iterator[tuple[str, str, Expected]]:
    """Yield kind, words and the claim of mistakes that leave nothing but the derivative's own values, and zeros."""
    shape = case.array.shape
    if case.array.dtype.kind == "c":
        imaginary = np.zeros(len(case.r), bool)
        if case.whole:
            imaginary = np.array([case.flat.row(j)[1] == "im" for j in range(len(case.r))])
        of_output = "that of the complex conjugate: a conj is missing, or one too many"
        text = f"the gradient is {of_output if imaginary.any() else 'the complex conjugate of the derivative'}"
        # one part of an output, real or imaginary, with respect to the other
        same = imaginary[:, None] == (np.arange(case.r.shape[1]) % 2 == 1)
        yield "conjugate", text, lambda at: np.where(same, at.r, -at.r)
    orders = [order for order in itertools.permutations(range(len(shape))) if order != tuple(range(len(shape)))]
    for order in orders if len(shape) <= MOST_REORDERED and sum(n > 1 for n in shape) > 1 else ():
        text = "the gradient is the transpose of the derivative"
        if len(shape) > 2:
            text = f"the axes of the gradient are in the order {list(order)}"
        if tuple(shape[i] for i in order) != shape:
            text = "the gradient holds the transposed derivative, reshaped"
        yield "transposed", text, functools.partial(rearrange, change=functools.partial(np.transpose, axes=order))
    if case.r.shape[0] == case.r.shape[1] > 1:
        yield "transposed", "the Jacobian is transposed (rows are outputs, columns are inputs)", lambda at: at.r.T
    if len(shape) > 1 and shape[-1] == shape[-2] > 1:
        text = "the claim is the symmetric part of the derivative, right along symmetric changes alone"
        half = functools.partial(rearrange, change=lambda x: (x + np.swapaxes(x, -1, -2)) / 2)
        yield "symmetric part", text, half
    if case.array.size > 1:
        yield from rolled(case)
    if not case.wrong.all():
        yield "sign", f"the sign is wrong {where_text(case)}", lambda at: np.where(case.wrong, -at.r, at.r)
        text = f"zero {where_text(case)}: this contribution is missing (detached?)"
        yield "zero", text, lambda at: np.where(case.wrong, 0.0, at.r)


def rearranged(case: Case) -> Mistake | None:
    return next((found[:2] for found in rearrangements(case) if case.explains(found[2])), None)


def rearrange(at: Case, change: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return the derivative with each row changed as an array in the input's shape."""
    parts = 2 if at.array.dtype.kind == "c" else 1
    rows = at.r.reshape((len(at.r), *at.array.shape, parts))
    moved = [np.stack([change(row[..., i]) for i in range(parts)], -1) for row in rows]
    return np.array(moved).reshape(at.r.shape)


def rolled(case: Case) -> Iterator[tuple[str, str, Expected]]:
    """Yield what elements are in each other's places along an axis, or in any."""
    shape = case.array.shape
    axes = [axis for axis, n in enumerate(shape) if n > 1]
    for axis in axes:
        for shift in [s for s in (1, -1, 2, -2) if abs(s) < shape[axis] > 2]:
            text = f"rolled index: every element is {shift:+d} places off along axis {axis}"
            change = functools.partial(np.roll, shift=shift, axis=axis)
            yield "rolled", text, functools.partial(rearrange, change=change)
    for several in itertools.chain.from_iterable(itertools.combinations(axes, k + 1) for k in range(len(axes[:4]))):
        where = f"axis {several[0]}" if len(several) == 1 else f"the axes {', '.join(map(str, several))}"
        text = f"rolled index: the elements are in reverse order along {where}"
        yield "reversed", text, functools.partial(rearrange, change=functools.partial(np.flip, axis=several))
    if case.array.size > 2 and case.array.dtype.kind == "f":
        text = "rolled index: the values are right but in a different order (permuted)"
        if int(case.wrong.sum()) == 2 and len(case.r) == 1:
            first, second = (index_of(case, int(column)) for column in np.flatnonzero(case.wrong[0]))
            text = f"rolled index: two elements are exchanged, {first} and {second}"
        yield "permuted", text, sorted_like_claim


def sorted_like_claim(at: Case) -> np.ndarray:
    ranks = np.argsort(np.argsort(at.a, axis=1), axis=1)
    known = np.isfinite(at.r).all() and np.isfinite(at.a).all()
    return np.take_along_axis(np.sort(at.r, axis=1), ranks, axis=1) if known else np.full_like(at.r, np.nan)


MOSTLY = 0.9  # the part of wrong elements that a pattern explains where a few are wrong in another way, too


def mostly_sign(case: Case) -> Mistake | None:
    """Nearly all wrong elements have the wrong sign; what the others are is another mistake."""
    minus = case.wrong & (np.abs(case.a + case.r) <= case.room(-case.r))
    if minus.sum() < MOSTLY * case.wrong.sum() or minus.sum() < 1 / (1 - MOSTLY):
        return None
    others = np.flatnonzero((case.wrong & ~minus).any(axis=0))
    return "sign", f"the sign is wrong in {int(minus.sum())} elements; wrong in another way {place_text(case, others)}"


def part_factor(case: Case) -> Mistake | None:
    """Some elements off by one constant factor, the others right."""
    if case.wrong.all():
        return None
    c = common_factor(case, case.wrong)
    if c is None or abs(c - 1) < SLIGHT:  # the places and by how much they are off say all
        return None
    named = ratio_name(case, c)
    if named is None and int((case.wrong & case.known).sum()) < 2:
        return None
    kind, text = named or ("factor", f"constant factor {c:.9g}")
    return kind, f"{text} {where_text(case)}"


def where_text(case: Case) -> str:
    columns = np.flatnonzero(case.wrong.any(axis=0))
    rows = np.flatnonzero(case.wrong.any(axis=1))
    if len(columns) == case.wrong.shape[1] and case.wrong.sum() < len(rows) * len(columns):
        return f"in {int(case.wrong.sum())} of {case.wrong.size} elements of the Jacobian"
    if len(rows) == 1 < len(case.wrong) and case.whole:
        path, part = case.flat.row(int(rows[0]))
        out = PARTS_OF_OUTPUT[part] + f"out{list(path) or ''}"
        return f"in {out}" if len(columns) == case.wrong.shape[1] else f"{place_text(case, columns)} of {out}"
    return place_text(case, columns)


def place_text(case: Case, columns: np.ndarray) -> str:
    shape = case.array.shape
    if len(columns) == 1:
        return f"at {index_of(case, int(columns[0]))}"
    places, parts = columns, ""
    if case.array.dtype.kind == "c":
        places = np.unique(columns // 2)
        parts = "" if np.ptp(columns % 2) else "in the imaginary parts " if columns[0] % 2 else "in the real parts "
        if parts and len(places) == case.array.size:
            return parts.rstrip()
    full = np.isin(np.arange(case.array.size), places).reshape(shape)
    for axis in range(full.ndim):
        others = tuple(i for i in range(full.ndim) if i != axis)
        lines = np.asarray(full.all(axis=others)) if others else full
        if lines.sum() and full.sum() == lines.sum() * (full.size // full.shape[axis]) and full.ndim > 1:
            words = ("row", "column") if full.ndim == 2 else (f"axis {axis} at place",) * full.ndim
            return f"{parts}in {words[axis]}{ranges(lines)}, right in {words[axis]}{ranges(~lines)}"
    return f"{parts}in {len(places)} of {case.array.size} elements"


def right_if_symmetric(case: Case) -> Mistake | None:
    """Where an input is a square matrix: the claim is right once that is symmetric."""
    for name, x in case.at.items() if case.elsewhere is not None else ():
        if x.ndim != 2 or x.dtype.kind != "f" or len(x) != len(x.T) or np.array_equal(x, x.T):
            continue
        points = case.elsewhere.at_point({**case.at, name: (x + x.T) / 2})  # type: ignore[union-attr]
        found = case.elsewhere.cases(case, points)  # type: ignore[union-attr]
        if found and found[0].is_right:
            return "symmetric part", f"the claim is right only where {name} is symmetric"
    return None


FIRST = (not_finite, zero, float32, whole_factor, rearranged, part_factor)
LAST = (mostly_sign, right_if_symmetric)
"""What may have been mistaken, the most telling first; between both, functions of the input are fitted."""


def patterns_for(case: Case) -> Iterator[Callable[[Case], Mistake | None]]:
    yield from FIRST
    if case.array.dtype.kind == "f":
        from . import factors

        yield from (factors.unmasked, factors.chain_factor, factors.term, factors.centred)
    yield from LAST


def diagnose(judgement: Judgement) -> tuple[Finding, ...]:
    cases = cases_of(judgement)
    swapped = swap(cases)
    if swapped is not None:
        return (swapped,)
    findings: list[Finding] = []
    for case in (case for case in cases if case.wrong.any()):
        found = (pattern(case) for pattern in patterns_for(case))
        match = next((match for match in found if match is not None), None)
        if match is not None:
            kind, text = match
            findings.append(Finding(kind, f"{case.name}: {text}", case.name))
        if match is None or case.sampled:
            findings += places_of_wrong(case)
    if not any(finding.kind not in PLACES for finding in findings):
        from .shortcuts import find_shortcut

        shortcut = find_shortcut(cases)
        findings = [*([] if shortcut is None else [shortcut]), *findings]
    return tuple(dict.fromkeys(findings))


PLACES = ("single element", "some elements")  # findings that say where a mistake is, and not which


def ranges(chosen: np.ndarray) -> str:
    """Return places of True in words: " 3", "s 0 to 4", "s 1, 3 and more"."""
    places = np.flatnonzero(chosen).tolist()
    if len(places) == 1:
        return f" {places[0]}"
    if places[-1] - places[0] + 1 == len(places):
        return f"s {places[0]} to {places[-1]}"
    return f"s {', '.join(map(str, places[:5]))}{' and more' * (len(places) > 5)}"


def index_of(case: Case, column: int) -> str:
    _, index, part = case.flat.label(int(case.flat.edges[case.k]) + column)
    where = f"index {list(index)}" if index else "its only element"
    return {"": "", "re": "the real part at ", "im": "the imaginary part at "}[part] + where


def output_of_wrong(case: Case) -> str:
    """Return in which output, and in which part of complex numbers, all wrong elements are, if in one."""
    if not case.whole or not case.flat.claim.layout:
        return ""
    rows = [case.flat.row(int(j)) for j in np.flatnonzero(case.wrong.any(axis=1))]
    part, *others = {which for _, which in rows}
    depths = zip(*(path for path, _ in rows), strict=False)
    shared = [keys[0] for keys in itertools.takewhile(lambda keys: len({*keys}) == 1, depths)]
    word = PARTS_OF_OUTPUT[part] if not others else ""
    several = len(case.flat.claim.layout) > 1
    return f", all in {word}out{shared or ''}" if word or (several and shared) else ""


def places_of_wrong(case: Case) -> list[Finding]:
    wrong = case.wrong
    count, total = int(wrong.sum()), int(entries_that_count(case.a, wrong).sum())
    if case.sampled:
        text = f"at least {count} of {wrong.size} elements are wrong; {count} of {case.sampled} sampled"
        return [Finding("some elements", f"{case.name}: {text}", case.name)]
    columns = np.flatnonzero(wrong.any(axis=0))
    place = place_text(case, columns) if len(wrong) == 1 and len(columns) < wrong.shape[1] else ""
    if "right in" in place and count > 1:
        return [Finding("some elements", f"{case.name}: wrong {place}", case.name)]
    if total < 2 or count > max(1, total // 4, 2 if len(wrong) == 1 and total > 3 else 0):
        return []
    if count == 2 and len(wrong) == 1 and case.array.dtype.kind == "f":
        places = " and ".join(index_of(case, int(column)) for column in columns)
        return [Finding("some elements", f"{case.name}: wrong at {places}; the other {total - 2} are right", case.name)]
    if count == 1:
        (column,) = np.nonzero(wrong)[1]
        others = "is right" if total == 2 else f"{total - 1} are right"
        text = f"a single element is wrong, at {index_of(case, int(column))}{times(case)}"
        text += f"{output_of_wrong(case).replace(' all', '')}; the other {others}"
        return [Finding("single element", f"{case.name}: {text}", case.name)]
    text = f"{count} of {total} elements are wrong{output_of_wrong(case)}"
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
        if alike and explained_by(x, y) and explained_by(y, x) and not explained_by(x, x):
            text = f"wrong input: the gradients of {x.name} and {y.name} are swapped"
            return Finding("swapped inputs", text, x.name)
    for x, y in itertools.permutations(cases, 2):
        if x.r.shape == y.r.shape and x.wrong.any() and explained_by(x, y) and not explained_by(x, x):
            return Finding("wrong input", f"wrong input: {x.name} was given the gradient of {y.name}", x.name)
    return None


def explained_by(x: Case, y: Case) -> bool:
    """Return whether the claim for x is the derivative by y, at other points as well."""
    if not x.agrees(lambda _: y.r):
        return False
    pairs = dict(zip(map(id, x.others), y.others, strict=False))
    return x.explains(lambda at: y.r if at is x else pairs[id(at)].r if id(at) in pairs else np.full_like(at.r, np.nan))
