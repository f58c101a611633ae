"""Find the probable mistake: hypotheses about how the claim differs from the derivative.

A hypothesis computes the claim from the derivative, at any point. It is reported only if it explains all wrong
elements to within the estimate's error, at the checked point and at other points with other numbers.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np

from ..numeric.flat import Flat, arrays_behind
from ..numeric.verdict import entries_that_count
from ..results.checks import Finding
from .input_block import LEFT_OVER, PARTS_OF_OUTPUT, Hypothesis, InputBlock

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
SLIGHT = 1e-4  # factors this close to 1 are not named: a choice
MOST_REORDERED = 4  # most axes for which all orders are tried: 4 axes have 24 orders
MOSTLY = 0.9  # fraction of wrong elements with the wrong sign, if a few others are wrong in another way: a choice


def find_convention(blocks: list[InputBlock]) -> tuple[Finding, ...]:
    """Return the conventions that claims on manifolds follow, if there are any."""
    if not any(block.flat.claim.on_manifolds for block in blocks):
        return ()
    from .conventions import find_convention

    return find_convention(blocks)


def diagnose(blocks: list[InputBlock]) -> tuple[Finding, ...]:
    swapped = swap(blocks)
    if swapped is not None:
        return (swapped,)
    findings: list[Finding] = [*find_convention(blocks)]
    named = {finding.input for finding in findings}
    for block in (block for block in blocks if block.wrong.any() and block.name not in named):
        found = observed(block) or next((h for h in hypotheses(block) if block.explains(h.expected)), None)
        found = found or right_if_symmetric(block)
        if found is not None:
            findings.append(Finding(found[0], f"{block.name}: {found[1]}", block.name))
        if found is None or block.sampled:
            findings += places_of_wrong(block)
    if all(finding.is_place for finding in findings):
        from .shortcuts import find_shortcut

        shortcut = find_shortcut(blocks)
        findings = [*([] if shortcut is None else [shortcut]), *findings]
    return tuple(dict.fromkeys(findings))


def observed(block: InputBlock) -> tuple[str, str] | None:
    """Return kind and text of a mistake that shows directly in the claimed numbers."""
    bad = ~np.isfinite(block.a) & block.wrong
    if count := int(bad.sum()):
        kind = "nan" if np.isnan(block.a[bad]).any() else "infinite"
        return kind, f"{count} element{' is' if count == 1 else 's are'} {kind} where the derivative is finite"
    if (block.a == 0).all():
        first = block.flat.claim.first
        what = "second derivative" if first is not None and block.name in first.at else "gradient"
        return "zero", f"the {what} is zero everywhere (detached?), but the function depends on this input"
    known = block.known
    if block.array.dtype.itemsize < 8 or not (known & block.wrong).any():
        return None
    signed = (block.a / block.r - 1)[known]
    relative, is_constant = np.abs(signed), signed.size > 1 and np.ptp(signed) < 0.01 * np.abs(signed).max()
    exact = (block.a.astype(np.float32).astype(float) == block.a)[known]
    if (
        relative.max() < 5e-6
        and not is_constant
        and (exact.mean() > 0.9 or relative.max() < min(3e-7, 1e3 * np.median(relative)))
    ):
        return "precision", f"precision lost to float32: relative errors up to {relative.max():.1g}"
    return None


def hypotheses(block: InputBlock) -> Iterator[Hypothesis]:
    """Yield possible mistakes, the most informative first."""
    yield from constant_factor(block, np.ones_like(block.wrong))
    yield from rearrangements(block)
    if not block.wrong.all():
        yield from constant_factor(block, block.wrong)
    if block.array.dtype.kind == "f":
        from .factors import functions_of_inputs

        yield from functions_of_inputs(block)
    minus = block.wrong & (np.abs(block.a + block.r) <= block.room(-block.r))
    if minus.sum() >= max(MOSTLY * block.wrong.sum(), 1 / (1 - MOSTLY)):
        others = place_text(block, np.flatnonzero((block.wrong & ~minus).any(axis=0)))
        text = f"the sign is wrong in {int(minus.sum())} elements; there is another mistake {others}"
        yield Hypothesis("sign", text, lambda at: np.where(minus, -at.r, at.a))


def constant_factor(block: InputBlock, where: np.ndarray) -> Iterator[Hypothesis]:
    """Yield a constant multiple of the derivative; a single number needs other points to confirm it."""
    used, whole = block.known & where, bool(where.all())
    c = float((block.a[used] / block.r[used]).mean()) if used.any() else 0.0
    if abs(c) < 1e-300 or (where.size == 1 and not block.others):
        return
    several = block.others or len(np.unique(np.round(block.r[used], 12))) > 1 if whole else used.sum() > 1
    if abs(c - 1) < SLIGHT:  # for some of the elements, their places and errors say more
        named = ("factor", f"all elements are off by the same relative error, {c - 1:.3g}") if whole else None
    else:
        room = min(2e-6 + block.typical, LEFT_OVER * abs(c - 1))
        names = (name[1:] for name in names_of_factors(block.flat, c) if abs(c - name[0]) <= room * abs(name[0]))
        unnamed = ("factor", f"constant factor {c:.9g}{' on all elements' * whole}") if several else None
        named = next(names, unnamed)
    if named is not None:
        expected = lambda at: c * at.r  # noqa: E731
        text = named[1] if whole else f"{named[1]} {where_text(block)}"
        yield Hypothesis(named[0], text, expected if whole else block.partly(expected))


def names_of_factors(flat: Flat, c: float) -> Iterator[tuple[float, str, str]]:
    """Yield factors with kind and text, the most likely first."""
    sizes = lengths(flat)
    of_two = f", or 1/N is {{}} (N = 2 is {sizes.pop(2)})" if 2 in sizes else ""
    missing, superfluous = of_two.format("missing"), of_two.format("superfluous")
    yield -1.0, "sign", "the sign is wrong: the claimed values are minus the derivative"
    yield 2.0, "factor", f"twice the derivative: accumulated twice, or 1/2 is missing{missing}"
    yield 0.5, "factor", f"half the derivative: a factor of 2 is missing{superfluous}"
    for n, what in sizes.items():
        large, small = (f"too {word} by a factor of {n}, {what}; " for word in ("large", "small"))
        yield n, "missing 1/N", f"{large}1/N is probably missing (sum instead of mean)"
        mean = "probably a mean instead of a sum (or a missing sum over a broadcast axis)"
        yield 1 / n, "factor", f"{small}{mean}"
        for value in (-n, -1 / n):
            yield value, "factor", f"constant factor {c:.6g} with the wrong sign; {n} is {what}"
    fraction = Fraction(c).limit_denominator(999)
    for n, what in sizes.items():
        named = {n / (n - 1): "N / (N - 1)", (n - 1) / n: "(N - 1) / N", 2 / n: "2/N", n / 2: "N/2"}
        for value, word in {**named, n**0.5: "sqrt(N)", n**-0.5: "1/sqrt(N)"}.items():
            yield value, "factor", f"constant factor {fraction}, which is {word} for N = {n}, {what}"
    for value, word in CONSTANTS.items():
        yield value, "factor", f"constant factor {word}"
        yield 1 / value, "factor", f"constant factor 1 / ({word})"
    simple = Fraction(c).limit_denominator(12)
    if abs(simple.numerator) <= 24 and simple:
        yield float(simple), "factor", f"constant factor {simple}"


def lengths(flat: Flat) -> dict[int, str]:
    """Return sizes that a forgotten or repeated mean or broadcast would bring in as a factor, each with a name."""
    sizes = []
    for name, x in flat.claim.at.items():
        length = f"the length of {name}" if x.ndim == 1 else f"the length of an axis of {name}"
        sizes += [*((n, length) for n in x.shape), (x.size, f"the size of {name}")]
    sizes += [(n, "a length of the output") for n in flat.out_shape]
    around = {n for x in arrays_behind(flat.claim).values() for n in (*x.shape, x.size)}
    sizes += [(n, "a length of an array that the code uses") for n in sorted(around)]
    return {n: what for n, what in reversed(sizes) if n > 1}  # the first name of each size


def rearrangements(block: InputBlock) -> Iterator[Hypothesis]:
    """Yield mistakes that only move, negate, add or drop the derivative's own values."""
    shape = block.array.shape
    if block.array.dtype.kind == "c":
        imaginary = np.zeros(len(block.r), bool)
        if block.whole:
            imaginary = np.array([block.flat.row(j)[1] == "im" for j in range(len(block.r))])
        of_output = "that of the complex conjugate: a conj is missing or superfluous"
        text = f"the gradient is {of_output if imaginary.any() else 'the complex conjugate of the derivative'}"
        # whether input and output are the same part, real or imaginary: if not, the conjugate changes the sign
        same = imaginary[:, None] == (np.arange(block.r.shape[1]) % 2 == 1)
        yield Hypothesis("conjugate", text, lambda at: np.where(same, at.r, -at.r))
    orders = [order for order in itertools.permutations(range(len(shape))) if order != tuple(range(len(shape)))]
    for order in orders if len(shape) <= MOST_REORDERED and sum(n > 1 for n in shape) > 1 else ():
        text = "the gradient is the transpose of the derivative"
        if len(shape) > 2:
            text = f"the axes of the gradient are in the order {list(order)}"
        if tuple(shape[i] for i in order) != shape:
            text = "the gradient holds the transposed derivative, reshaped"
        yield moved("transposed", text, functools.partial(np.transpose, axes=order))
    if block.r.shape[0] == block.r.shape[1] > 1:
        text = "the Jacobian is transposed (rows are outputs, columns are inputs)"
        yield Hypothesis("transposed", text, lambda at: at.r.T)
    if len(shape) > 1 and shape[-1] == shape[-2] > 1:
        text = "the claim is the symmetric part of the derivative, right only for symmetric changes"
        yield moved("symmetric part", text, lambda x: (x + np.swapaxes(x, -1, -2)) / 2)
    if block.array.size > 1:
        yield from rolled(block)
    if not block.wrong.all():
        where = where_text(block)
        yield Hypothesis("sign", f"the sign is wrong {where}", block.partly(lambda at: -at.r))
        text = f"zero {where}: this contribution is missing (detached?)"
        yield Hypothesis("zero", text, block.partly(lambda at: np.zeros_like(at.r)))


def summands(axis: int, x: np.ndarray) -> np.ndarray:
    """Return the array whose cumulative sum from the end of an axis is x."""
    return -np.diff(x, axis=axis, append=0.0)


SUMS: dict[str, Callable[[int, np.ndarray], np.ndarray]] = {
    "goes the wrong way": lambda axis, x: np.cumsum(summands(axis, x), axis),
    "is missing": summands,
    "is applied once too often": lambda axis, x: np.flip(np.cumsum(np.flip(x, axis), axis), axis),
}
"""Mistakes in a cumulative sum from the end, which is the derivative of one from the beginning."""


def rolled(block: InputBlock) -> Iterator[Hypothesis]:
    """Yield mistakes that sum up, shift or reverse elements along axes, or permute them in any way."""
    shape = block.array.shape
    axes = [axis for axis, n in enumerate(shape) if n > 1]
    for axis in (axis for axis in axes if shape[axis] > 2):
        for what, change in SUMS.items():
            text = f"a cumulative sum {what} along axis {axis}: backward must sum in the direction opposite to forward"
            yield moved("cumulative sum", text, functools.partial(change, axis))
    for axis in axes:
        for shift in [s for s in (1, -1, 2, -2) if abs(s) < shape[axis] > 2]:
            text = f"rolled index: every element is {shift:+d} places off along axis {axis}"
            yield moved("rolled", text, functools.partial(np.roll, shift=shift, axis=axis))
    for several in itertools.chain.from_iterable(itertools.combinations(axes, k + 1) for k in range(len(axes[:4]))):
        where = f"axis {several[0]}" if len(several) == 1 else f"the axes {', '.join(map(str, several))}"
        text = f"rolled index: the elements are in reverse order along {where}"
        yield moved("reversed", text, functools.partial(np.flip, axis=several))
    if block.array.size > 2 and block.array.dtype.kind == "f":
        text = "rolled index: the values are right but in a different order (permuted)"
        if int(block.wrong.sum()) == 2 and len(block.r) == 1:
            first, second = (index_of(block, int(column)) for column in np.flatnonzero(block.wrong[0]))
            text = f"rolled index: two elements are exchanged, {first} and {second}"
        yield Hypothesis("permuted", text, sorted_like_claim)


def moved(kind: str, text: str, change: Callable[[np.ndarray], np.ndarray]) -> Hypothesis:
    """Return the hypothesis that each row is changed in the input's shape, real and imaginary parts separately."""

    def expected(at: InputBlock) -> np.ndarray:
        parts = 2 if at.array.dtype.kind == "c" else 1
        rows = at.r.reshape((len(at.r), *at.array.shape, parts))
        changed = [np.stack([change(row[..., i]) for i in range(parts)], -1) for row in rows]
        return np.array(changed).reshape(at.r.shape)

    return Hypothesis(kind, text, expected)


def sorted_like_claim(at: InputBlock) -> np.ndarray:
    ranks = np.argsort(np.argsort(at.a, axis=1), axis=1)
    known = np.isfinite(at.r).all() and np.isfinite(at.a).all()
    return np.take_along_axis(np.sort(at.r, axis=1), ranks, axis=1) if known else np.full_like(at.r, np.nan)


def where_text(block: InputBlock) -> str:
    columns = np.flatnonzero(block.wrong.any(axis=0))
    rows = np.flatnonzero(block.wrong.any(axis=1))
    if len(columns) == block.wrong.shape[1] and len(rows) > 1:
        return f"in {int(block.wrong.sum())} of {block.wrong.size} elements of the Jacobian"
    if len(rows) == 1 < len(block.wrong) and block.whole:
        path, part = block.flat.row(int(rows[0]))
        out = PARTS_OF_OUTPUT[part] + f"out{list(path) or ''}"
        return f"in {out}" if len(columns) == block.wrong.shape[1] else f"{place_text(block, columns)} of {out}"
    return place_text(block, columns)


def place_text(block: InputBlock, columns: np.ndarray) -> str:
    shape = block.array.shape
    if len(columns) == 1:
        return f"at {index_of(block, int(columns[0]))}"
    places, parts = columns, ""
    if block.array.dtype.kind == "c":
        places = np.unique(columns // 2)
        parts = "" if np.ptp(columns % 2) else "in the imaginary parts " if columns[0] % 2 else "in the real parts "
        if parts and len(places) == block.array.size:
            return parts.rstrip()
    full = np.isin(np.arange(block.array.size), places).reshape(shape)
    for axis in range(full.ndim):
        others = tuple(i for i in range(full.ndim) if i != axis)
        lines = np.asarray(full.all(axis=others)) if others else full
        if lines.sum() and full.sum() == lines.sum() * (full.size // full.shape[axis]) and full.ndim > 1:
            words = ("row", "column") if full.ndim == 2 else (f"axis {axis} at place",) * full.ndim
            return f"{parts}in {words[axis]}{ranges(lines)}, right in {words[axis]}{ranges(~lines)}"
    return f"{parts}in {len(places)} of {block.array.size} elements"


def right_if_symmetric(block: InputBlock) -> tuple[str, str] | None:
    for name, x in block.at.items():
        if x.ndim != 2 or x.dtype.kind != "f" or len(x) != len(x.T) or np.array_equal(x, x.T):
            continue
        if any(other.is_right for other in block.moved_to({**block.at, name: (x + x.T) / 2})):
            return "symmetric part", f"the claim is right only where {name} is symmetric"
    return None


def ranges(chosen: np.ndarray) -> str:
    """Return places of True in words: " 3", "s 0 to 4", "s 1, 3 and more"."""
    places = np.flatnonzero(chosen).tolist()
    if len(places) == 1:
        return f" {places[0]}"
    if places[-1] - places[0] + 1 == len(places):
        return f"s {places[0]} to {places[-1]}"
    return f"s {', '.join(map(str, places[:5]))}{' and more' * (len(places) > 5)}"


def index_of(block: InputBlock, column: int) -> str:
    _, index, part = block.flat.label(int(block.flat.edges[block.k]) + column)
    where = f"index {list(index)}" if index else "its only element"
    return {"": "", "re": "the real part at ", "im": "the imaginary part at "}[part] + where


def output_of_wrong(block: InputBlock) -> str:
    """Name the output, and the part of complex numbers, that all wrong elements have in common, if any."""
    if not block.whole:
        return ""
    rows = [block.flat.row(int(j)) for j in np.flatnonzero(block.wrong.any(axis=1))]
    part, *others = {which for _, which in rows}
    depths = zip(*(path for path, _ in rows), strict=False)
    shared = [keys[0] for keys in itertools.takewhile(lambda keys: len({*keys}) == 1, depths)]
    word = PARTS_OF_OUTPUT[part] if not others else ""
    several = len(block.flat.claim.layout or block.wrong) > 1
    return f", all in {word}out{shared or ''}" if word or (several and shared) else ""


def places_of_wrong(block: InputBlock) -> list[Finding]:
    wrong = block.wrong
    count, total = int(wrong.sum()), int(entries_that_count(block.a, wrong).sum())
    columns = np.flatnonzero(wrong.any(axis=0))
    place = place_text(block, columns) if len(wrong) == 1 and len(columns) < wrong.shape[1] else ""
    kind, text = "some elements", f"{count} of {total} elements are wrong{output_of_wrong(block)}"
    if block.sampled:
        text = f"at least {count} of {wrong.size} elements are wrong; {count} of {block.sampled * len(wrong)} sampled"
    elif "right in" in place and count > 1:
        text = f"wrong {place}"
    elif total < 2 or count > max(1, total // 4, 2 if len(wrong) == 1 and total > 3 else 0):
        return []
    elif count == 2 and len(wrong) == 1 and block.array.dtype.kind == "f":
        places = " and ".join(index_of(block, int(column)) for column in columns)
        text = f"wrong at {places}; the other {total - 2} are right"
    elif count == 1:
        others = "is right" if total == 2 else f"{total - 1} are right"
        where = index_of(block, int(columns[0])) + output_of_wrong(block).replace(", all in", " in the derivative of")
        text = f"a single element is wrong: {where}{times(block)}; the other {others}"
        kind = "single element"
    return [Finding(kind, f"{block.name}: {text}", block.name)]


def times(block: InputBlock) -> str:
    """Return which multiple of the derivative the only wrong element is, to as many digits as are known and matter."""
    (row,), (column,) = np.nonzero(block.wrong)
    a, r, error = block.a[row, column], block.r[row, column], block.error[row, column]
    combined = block.rows != slice(None)  # the other outputs of the combination are right
    if combined or not np.isfinite(a / r) or not a or not error <= 1e-2 * abs(r) < np.inf:
        return ""
    digits = int(np.clip(-np.log10(error / abs(r) + 1e-300), 2, 6))
    if abs(a / r - 1) < 10.0 ** (1 - digits):
        return f" (relative error {abs(a / r - 1):.2g})"
    return f" (the claim is {float(a / r):.{digits}g} times the derivative)"


def swap(blocks: list[InputBlock]) -> Finding | None:
    """Report that an input was given the gradient of another one."""
    for x, y in itertools.permutations(blocks, 2):
        if x.r.shape == y.r.shape and x.wrong.any() and explained_by(x, y) and not explained_by(x, x):
            if explained_by(y, x):
                text = f"wrong input: the gradients of {x.name} and {y.name} are swapped"
                return Finding("swapped inputs", text, x.name)
            return Finding("wrong input", f"wrong input: {x.name} was given the gradient of {y.name}", x.name)
    return None


def explained_by(x: InputBlock, y: InputBlock) -> bool:
    """Return whether the claim for x is the derivative with respect to y, at other points as well."""

    def expected(at: InputBlock) -> np.ndarray:
        pairs = [(x, y)] if at is x else zip(x.others, y.others, strict=False)
        return next((other.r for block, other in pairs if block is at), np.full_like(at.r, np.nan))

    return x.explains(expected)
