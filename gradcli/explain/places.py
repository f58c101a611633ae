"""Where the wrong elements lie, and how they differ: what can be said without knowing the mistake."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..numeric.compare import MARGIN
from ..numeric.verdict import entries_that_count
from ..results.base import label_slices, ranges_of
from ..results.checks import Finding
from ..results.inputs import label_part
from .block import RELATIVE, InputBlock
from .constants import (
    FEWEST_DIGITS,
    BlockNumber,
    common_ratio,
    constantly,
    constants_near,
    multiple_of_derivative,
    readable_factor,
)
from .evidence import DiagnosisEvidence, Hypothesis, random_direction

MOST_LISTED = 5  # most places that are listed one by one: a choice
MOST_PATTERNS = 3  # most patterns that are compared along a direction of their own: a choice
LARGEST_PART = 0.6  # largest part of an input that a pattern may cover: a choice
NEAR_ONE = 1e-2  # relative errors below this are printed in place of factors: a choice
MOSTLY = 0.9  # fraction of wrong elements with the wrong sign, if a few others are wrong in another way: a choice
FEWEST_LOCATED = 3  # least number of wrong elements from which a pattern is guessed: a choice


def part_hypotheses(block: InputBlock) -> Iterator[Hypothesis]:
    """Yield mistakes of the elements that are wrong here: a constant factor, a sign."""
    if block.wrong.all() or not block.complete:
        return
    where = block.wrong & block.resolved
    ratio = common_ratio(block, where)
    if ratio is None:
        return
    c = ratio.value
    if int(block.wrong.sum()) == 1 and block.wrong.size > 3 and not ratio.is_near(-1):
        text = single_text(block, int(entries_that_count(block.a, block.wrong).sum()))
        fixed = functools.partial(divided_where, block.wrong, functools.partial(constantly, c))
        yield Hypothesis("single element", text, fixed, general=False, fitted=1)
        return
    if int(where.sum()) < 2 and not ratio.is_near(-1):
        return
    for named in itertools.islice(constants_near(block, ratio), 2):
        head, comma, rest = named.text.partition(":")[0].partition(",")
        text = f"{head} {where_text(block)}{comma}{rest}"
        fixed = functools.partial(divided_where, block.wrong, named.of)
        yield Hypothesis(named.kind, text, fixed, general=False, fitted=0 if named.kind == "sign" else int(where.sum()))
    if int(where.sum()) > 2 and ratio.digits >= FEWEST_DIGITS:
        fixed = functools.partial(divided_where, block.wrong, functools.partial(constantly, c))
        number = readable_factor(c) if ratio.is_precise else f"{c:.{ratio.digits}g}"
        text = f"{multiple_of_derivative(number)} {where_text(block)}"
        yield Hypothesis("factor", text, fixed, general=False)


def divided_where(wrong: np.ndarray, factor: BlockNumber, at: InputBlock) -> np.ndarray:
    return np.where(wrong, at.a / factor(at), at.a)


def where_text(block: InputBlock) -> str:
    """Say where the wrong elements are, after what is wrong with them."""
    pattern = pattern_of(block)
    if pattern and not has_right_elements(pattern):
        return pattern
    return f"in {count_text(block)}{', ' * bool(pattern)}{pattern}"


def has_right_elements(pattern: str) -> bool:
    """Report whether a pattern may contain right elements as well."""
    return pattern.startswith(("within", "off"))


def with_place(text: str, place: str) -> str:
    """Add to a text in which elements it holds, before its reason."""
    head, colon, reason = text.partition(":")
    return f"{head} {place}{colon}{reason}"


def count_text(block: InputBlock) -> str:
    wrong = int(block.wrong.sum())
    if len(block.wrong) == 1:
        return f"{wrong} of {block.wrong.size} elements"
    return f"{wrong} of {block.wrong.size} elements of the Jacobian"


def pattern_of(block: InputBlock) -> str:
    """Return the place of the wrong elements if they have one in common, else ""."""
    columns, rows = np.asarray(block.wrong.any(axis=0)), np.asarray(block.wrong.any(axis=1))
    if len(rows) == 1:
        return wrong_place_text(block, columns)
    if not block.whole:
        return ""
    outputs = "" if rows.all() else output_text(block, rows)
    inputs = "" if columns.all() else wrong_place_text(block, columns)
    if not outputs and not inputs:
        return diagonal_text(block)
    if outputs:
        return derivative_text(outputs, inputs or f"in {block.name}")
    full = "" if (block.wrong == (rows[:, None] & columns)).all() else ", in some outputs"
    return f"{derivative_text('in out', inputs)}{full}"


def derivative_text(outputs: str, inputs: str) -> str:
    """Name the derivatives of some outputs with respect to parts of an input: in d out[1]/d x[0:3]."""
    word = "within" if "within " in outputs + inputs else "in"
    of, by = (text.removeprefix("with").removeprefix("in ") for text in (outputs, inputs))
    if len(f"{of} {by}".split()) == 2:
        return f"{word} d {of}/d {by}"
    return f"{word} the derivative of {of} with respect to {by}"


def diagonal_text(block: InputBlock) -> str:
    """Say that the wrong elements are those on the diagonal of a square Jacobian, or off it."""
    if block.wrong.shape[0] != block.wrong.shape[1] or len(block.wrong) < 3:
        return ""
    diagonal = np.eye(len(block.wrong), dtype=bool)
    if np.array_equal(block.wrong, diagonal):
        return "on the diagonal of the Jacobian"
    return "" if (block.wrong & diagonal).any() else "off the diagonal of the Jacobian"


def output_text(block: InputBlock, rows: np.ndarray) -> str:
    """Name the outputs of the rows that have wrong elements."""
    places = np.flatnonzero(rows)
    if len(places) == 1:
        return f"in {output_name(block, int(places[0]))}"
    shape = block.flat.out_shape
    is_array = len(block.flat.claim.layout or (0,)) == 1 and len(rows) == int(np.prod(shape))
    if block.flat.out_dtype.kind == "f" and is_array and (pattern := describe_places(rows.reshape(shape), "out")):
        return pattern
    shared = shared_path(block, places)
    return f"in out{shared}" if shared else f"in {len(places)} of {len(rows)} outputs"


def output_name(block: InputBlock, row: int) -> str:
    path, part = block.flat.row(row)
    return "the " * bool(part) + label_part("out", tuple(map(repr, path)), part)


def shared_path(block: InputBlock, places: np.ndarray) -> str:
    """Return the keys that the paths of several outputs begin with, as in out['loss']."""
    if len(block.flat.claim.layout or ()) < 2:
        return ""
    paths = [block.flat.row(int(j))[0] for j in places]
    shared = [keys[0] for keys in itertools.takewhile(lambda keys: len({*keys}) == 1, zip(*paths, strict=False))]
    return str(shared) if shared else ""


def wrong_place_text(block: InputBlock, columns: np.ndarray) -> str:
    """Say where elements of the input are that are wrong; "" if there is nothing to say."""
    places = np.flatnonzero(columns)
    if len(places) == 1:
        return f"in {element_name(block, int(places[0]))}"
    if len(places) == len(columns):
        return ""
    parts = ""
    if block.array.dtype.kind == "c":
        parts = "" if np.ptp(places % 2) else "imaginary parts" if places[0] % 2 else "real parts"
        columns = columns[0::2] | columns[1::2]
        if columns.all() or not parts:
            return f"in the {parts} of {block.name}" if parts else ""
    pattern = describe_places(columns.reshape(block.array.shape), block.name)
    return f"in the {parts} of {pattern.removeprefix('in ') or block.name}" if parts else pattern


def describe_places(full: np.ndarray, name: str) -> str:
    """Return where the True elements of an array are, in words; "" if they form no simple pattern."""
    if full.ndim == 1:
        return along_line(full, name)
    whole: list[tuple] = [()] * full.ndim
    box = [np.asarray(full.any(axis=tuple(i for i in range(full.ndim) if i != axis))) for axis in range(full.ndim)]
    for axis, lines in enumerate(box):
        if not lines.all() and full.sum() == lines.sum() * (full.size // full.shape[axis]):
            return f"in {label_slices(name, [*whole[:axis], ranges_of(np.flatnonzero(lines))])}"
    if full.ndim == 2:
        if (border := border_text(full)) is not None:
            return f"{border} of {name}"
        if np.array_equal(full, np.eye(*full.shape, dtype=bool)):
            return f"on the diagonal of {name}"
    inside = np.ix_(*box)
    if full.sum() > 1 and full[inside].all() and all(is_range(lines) for lines in box):
        axes = [() if lines.all() else ranges_of(np.flatnonzero(lines)) for lines in box]
        return f"in {label_slices(name, axes)}"
    for axis, lines in enumerate(box):
        if not lines.all() and is_range(lines) and lines.sum() <= LARGEST_PART * len(lines) and full.ndim == 2:
            return f"within {label_slices(name, [*whole[:axis], ranges_of(np.flatnonzero(lines))])}"
    return ""


def along_line(full: np.ndarray, name: str) -> str:
    places = np.flatnonzero(full)
    if len(full) > 3 and places.tolist() == [0, len(full) - 1]:
        return f"at both ends, {name}[0] and {name}[{len(full) - 1}]"
    if len(places) > 2 and np.array_equal(places, np.arange(places[0] % 2, len(full), 2)):
        return f"in {name}[{'1' * (places[0] % 2)}::2]"
    return f"in {label_slices(name, [ranges_of(places)])}" if is_range(full) or len(places) <= MOST_LISTED else ""


def border_text(full: np.ndarray) -> str | None:
    """Say that the elements are those along edges of a field, or in its corners."""
    if min(full.shape) < 4:
        return None
    edges: dict[str, Any] = {
        "top": (0, slice(None)),
        "bottom": (-1, slice(None)),
        "left": (slice(None), 0),
        "right": (slice(None), -1),
    }
    border = np.zeros_like(full)
    for place in edges.values():
        border[place] = True
    if (full & ~border).any():
        return None
    inner = {name: full[place][1:-1] for name, place in edges.items()}
    chosen = [name for name, line in inner.items() if line.all()]
    union = np.zeros_like(full)
    for name in chosen:
        union[edges[name]] = True
    if len(chosen) == 4:
        return "along all four edges"
    if chosen and not (full & ~union).any():
        return f"along the {' and the '.join(chosen)} edge{'s' * (len(chosen) > 1)}"
    corners = full[[0, 0, -1, -1], [0, -1, 0, -1]]
    return "in the four corners" if corners.all() and full.sum() == 4 else None


def is_range(lines: np.ndarray) -> bool:
    places = np.flatnonzero(lines)
    return bool(len(places) and places[-1] - places[0] + 1 == len(places))


def element_name(block: InputBlock, column: int) -> str:
    _, index, part = block.flat.label(int(block.flat.edges[block.k]) + column)
    return "the " * bool(part) + label_part(block.name, index, part)


def places_of_wrong(block: InputBlock, evidence: DiagnosisEvidence) -> list[Finding]:
    """Return where the wrong elements are, if that is a simple place."""
    wrong = block.wrong
    count, total = int(wrong.sum()), int(entries_that_count(block.a, wrong).sum())
    if not block.complete:
        return guessed_places(block, evidence)
    if total < 2:
        return []
    if count == 1:
        return [Finding("single element", f"{block.name}: {single_text(block, total)}", block.name)]
    if minus := mostly_negative(block):
        return [Finding("sign", f"{block.name}: {minus}", block.name)]
    zero = ": the claim is 0 there" if not block.a[wrong].any() else ""
    pattern = pattern_of(block)
    if pattern:
        others = "" if has_right_elements(pattern) or count == total else f"; {others_text(block, total - count)}"
        text = f"all wrong elements are {pattern}{zero}{others}"
        return [Finding("some elements", f"{block.name}: {text}", block.name)]
    if zero:
        text = "the claim is 0 in all wrong elements: this contribution is missing"
        return [Finding("zero", f"{block.name}: {text}", block.name)]
    return []


def mostly_negative(block: InputBlock) -> str:
    """Say that most wrong elements have the wrong sign, and where the few others are."""
    with np.errstate(invalid="ignore"):
        minus = block.wrong & (np.abs(block.a + block.r) <= MARGIN * block.error + RELATIVE * np.abs(block.r))
    others, count = block.wrong & ~minus, int(minus.sum())
    if len(block.a) > 1 or not others.any() or count < MOSTLY * block.wrong.sum():
        return ""
    place = wrong_place_text(block, others.any(axis=0)) or f"in {int(others.sum())} others"
    return f"the sign is wrong in {count} elements{of_combination(block)}; there is another mistake {place}"


def single_text(block: InputBlock, total: int) -> str:
    (row,), (column,) = np.nonzero(block.wrong)
    where = element_name(block, int(column))
    if block.diagonal or (block.whole and len(block.a) > 1):
        output = output_name(block, int(column if block.diagonal else row))
        where = derivative_text(output, where).removeprefix("in ")
    return f"a single element is wrong: {where}{times_claimed(block)}; {others_text(block, total - 1)}"


def others_text(block: InputBlock, count: int) -> str:
    right = "right" if not (block.refuted & ~block.wrong).any() else "right to within 1e-6"
    return f"the other is {right}" if count == 1 else f"the other {count} are {right}"


def times_claimed(block: InputBlock) -> str:
    """Return which multiple of the derivative the only wrong element is, to as many digits as are known and matter."""
    (row,), (column,) = np.nonzero(block.wrong)
    a, r, error = block.a[row, column], block.r[row, column], block.error[row, column]
    combined = block.rows != slice(None)  # the other outputs of the combination are right
    if not a and not combined:
        return " (the claim is 0)"
    with np.errstate(all="ignore"):
        if combined or not np.isfinite(a / r) or not a or not error <= 1e-2 * abs(r) < np.inf:
            return ""
    digits = int(np.clip(-np.log10(error / abs(r) + 1e-300), 2, 6))
    if abs(a / r - 1) < 10.0 ** (1 - digits):
        return f" (relative error {abs(a / r - 1):.2g})"
    return f" ({multiple_of_derivative(f'{float(a / r):.{digits}g}')})"


def guessed_places(block: InputBlock, evidence: DiagnosisEvidence) -> list[Finding]:
    """Return a pattern outside which the claim is right along a random direction, for an input that is not decided."""
    count = int(block.wrong.sum())
    place = block.place
    if place is None or len(block.a) > 1 or block.array.dtype.kind != "f" or count < FEWEST_LOCATED:
        return []
    patterns = [p for p in patterns_around(block.wrong[0].reshape(block.array.shape)) if p.mean() <= LARGEST_PART]
    for pattern in patterns[:MOST_PATTERNS]:
        direction = np.where(pattern.reshape(-1), 0.0, random_direction(block.flat, block.k))
        slope = evidence.slope(block, direction)
        if slope is None or not np.isfinite(slope.value).all():
            return []
        tolerance = MARGIN * slope.error + RELATIVE * np.sqrt(((block.a * direction) ** 2).sum(axis=1))
        where = describe_places(pattern, block.name)
        if where and (np.abs(block.a @ direction - slope.value) <= tolerance).all():
            text = f"all wrong elements are {where}; the others agree along a random direction"
            return [Finding("some elements", f"{block.name}: {text}", block.name)]
    return []


def patterns_around(wrong: np.ndarray) -> Iterator[np.ndarray]:
    """Yield simple patterns that contain the wrong elements, the smallest first."""
    found = []
    lines = [np.asarray(wrong.any(axis=tuple(i for i in range(wrong.ndim) if i != axis))) for axis in range(wrong.ndim)]
    spans = [span_of(line) for line in lines]
    for axis, span in enumerate(spans):
        shape = [-1 if i == axis else 1 for i in range(wrong.ndim)]
        found.append(np.broadcast_to(span.reshape(shape), wrong.shape))
        found.append(np.broadcast_to(lines[axis].reshape(shape), wrong.shape))
    box = np.zeros(wrong.shape, bool)
    box[np.ix_(*spans)] = True
    found.append(box)
    if wrong.ndim == 2 and min(wrong.shape) > 2:
        border = np.ones(wrong.shape, bool)
        border[1:-1, 1:-1] = False
        found.append(border)
    usable = [np.array(p) for p in found if not (wrong & ~p).any()]
    yield from sorted(usable, key=lambda p: int(p.sum()))


def span_of(line: np.ndarray) -> np.ndarray:
    places = np.flatnonzero(line)
    span = np.zeros_like(line)
    span[places[0] : places[-1] + 1] = True
    return span


def differences_of(block: InputBlock) -> list[Finding]:
    """Describe how wrong elements differ from the derivative, if no mistake explains them."""
    if not block.complete or int(block.wrong.sum()) < 2:
        return []
    text = missing_off_diagonal(block) or factor_by_line(block) or range_of_ratios(block) or wrong_pattern(block)
    return [Finding("some elements", f"{block.name}: {text}", block.name)] if text else []


def missing_off_diagonal(block: InputBlock) -> str:
    if block.diagonal or not block.whole or block.a.shape[0] != block.a.shape[1] or len(block.a) < 3:
        return ""
    off = ~np.eye(len(block.a), dtype=bool)
    if block.a[off].any() or not (block.wrong & off).any():
        return ""
    return (
        "the claim has only the diagonal of the Jacobian; each output also depends on other elements, for example "
        "through a sum, a mean or a norm"
    )


def factor_by_line(block: InputBlock) -> str:
    """Say that the claim is a multiple of the derivative that depends on the output only, or on the element only."""
    if not block.whole or block.diagonal or min(block.a.shape) < 2:
        return ""
    with np.errstate(all="ignore"):
        ratios = np.where(block.known, block.a / block.r, np.nan)
    for axis, what in ((1, "output"), (0, f"element of {block.name}")):
        if (np.isfinite(ratios).sum(axis=axis) < 2).any():
            continue
        middle = np.nanmedian(ratios, axis=axis)
        spread = np.nanmax(np.abs(ratios - np.expand_dims(middle, axis)), axis=axis)
        if (spread <= 1e-5 * np.abs(middle)).all() and np.ptp(middle) > 1e-3 * np.abs(middle).max():
            listed = ", ".join(f"{c:.6g}" for c in middle[:MOST_LISTED]) + ", ..." * (len(middle) > MOST_LISTED)
            return f"each {what} has a factor of its own: the claim is {listed} times the derivative"
    return ""


def wrong_pattern(block: InputBlock) -> str:
    """Count the wrong elements whose claim is not 0 but should be, or is 0 but should not be."""
    zero, unclaimed = block.wrong & block.zero, block.wrong & (block.a == 0)
    if not (zero | unclaimed).any():
        return ""
    groups = {
        "the derivative is 0 but the claim is not": zero,
        "the claim is 0 but the derivative is not": unclaimed,
        "both are nonzero but differ": block.wrong & ~zero & ~unclaimed,
    }
    counts = {what: str(where.sum()) for what, where in groups.items() if where.any()}
    wrong, words = f"the wrong elements{of_combination(block)}", list(counts)
    if len(words) == 1:
        return f"in {wrong}, {words[0]}"
    counts[words[0]] += f" of {wrong}"
    counts[words[-1]] = f"the other {counts[words[-1]]}"
    return "; ".join(f"in {count}, {what}" for what, count in counts.items())


def range_of_ratios(block: InputBlock) -> str:
    where = block.wrong & block.known
    zeros = (block.a == 0)[where]
    if where.sum() < 2 or not (block.wrong <= where).all() or (zeros.any() and not zeros.all()):
        return ""
    with np.errstate(all="ignore"):
        ratios = (block.a / block.r)[where]
    low, high = float(ratios.min()), float(ratios.max())
    if max(abs(low - 1), abs(high - 1)) < NEAR_ONE:
        off = np.abs(ratios - 1)
        return f"the wrong elements have relative errors of {off.min():.2g} to {off.max():.2g}{of_combination(block)}"
    least, most = f"{low:z.3g}", f"{high:z.3g}"
    if least == most:
        place = "" if block.wrong.all() else " in the wrong elements"
        return f"at this point, the claim is about {least} times the derivative{of_combination(block)}{place}"
    everything = "all" if block.wrong.all() else "the wrong"
    factors = multiple_of_derivative(f"{least} to {most}")
    return f"{everything} elements are off by different factors: {factors}{of_combination(block)}"


def of_combination(block: InputBlock) -> str:
    """Say that numbers do not belong to single outputs, if that is so."""
    return "" if block.whole else " of a random combination of the outputs"
