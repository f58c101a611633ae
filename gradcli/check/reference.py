"""Compare a claimed derivative with that of a reference function, in float64 or in a type with fewer digits.

The expected derivative is the reference's in float64, at inputs that the type represents exactly. The reference's own
backward in that type has an error, too. Three questions are asked for each input: is the claim about as accurate as the
reference's own backward, is it right on average (rounding errors do not follow the derivative), and do its errors have
structure (along an axis, do they follow the derivative, the input, the output or a constant)?
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..claims.claim import Arrays, CallError, Claim
from ..explain.block import InputBlock
from ..explain.diagnose import diagnose
from ..explain.evidence import DiagnosisEvidence, estimated_columns
from ..explain.points import nearby
from ..numeric.flat import Flat, real_view
from ..numeric.rows import draw_signs
from ..numeric.sampler import TINY, Sampler
from ..numeric.verdict import FAIL, PASS, UNDECIDED, VERDICTS, digits_of
from ..program.arguments import is_branch, map_leaves
from ..request import Request
from ..results.checks import CheckReport, Finding
from ..results.inputs import Accuracy, ElementCounts, InputCheck
from .input_checks import element_of

TYPE_UNITS = {"bfloat16": 2.0**-8, "float16": 2.0**-11, "float32": 2.0**-24, "float64": 2.0**-53}
"""Half the distance between neighbouring numbers of a type, relative to their size: the largest rounding error."""
PASSING_ERROR = 2.0  # a claim passes if its error is at most this many times the reference's own (calibrated)
FAILS = {"bfloat16": 4.0, "float16": 8.0, "float32": 16.0, "float64": 64.0}
"""A claim fails above this many times what rounding explains (calibrated); with more digits no mistake is so small."""
MOST_ERROR = 0.04  # a larger error, relative to the derivative's size, never passes: 10 roundings of bfloat16
GROUP_SIGMAS = 8.0  # standard errors by which one of the many slopes of many groups must differ from 0 (calibrated)
SHARED = 2.0  # bfloat16 units that all elements may be off by, from a rounded factor (calibrated; others as FAILS)
SHARED_BY_GROUP = 3.0  # the same for the elements of a row or column (calibrated)
LEAST_PART = 0.1  # least size of a group's derivative in comparisons, as a part of the average size: a choice
OUTLIER = 2.0  # a single element is wrong if off by more than OUTLIER * FAILS * the largest rounding error (calibrated)
LEAST_ROUNDING = 1e-12  # a larger relative difference shows that the computation was not in float64, with 1e-16
FEWEST_IN_GROUP, LEAST_IN_GROUP = 4, 16
"""Least elements of a group for a slope on the derivative, and on anything else: a choice."""
WANTED_PRODUCTS = 8_192  # elements of products to compare; small gradients need more cotangents for it: a choice
DIFFERENT_UNITS = 16.0  # values differ if by more than this many rounding units of the largest one (calibrated)
NEARLY, NEARLY_ON_AVERAGE = 2 / 3, 1 / 2  # from this part of the limit on, a slope is undecided (calibrated)
INACCURATE, ON_AVERAGE = "inaccurate", "the claim's average relative error is"
MOST_ESTIMATED = 2_000  # elements up to which a reference's derivative is estimated from its values: a choice


def rounded_to(x: Any, dtype: str | None) -> Any:
    """Round floating-point arrays, also nested ones, to a type of TYPE_UNITS (bfloat16 in float32) or float64."""
    if is_branch(x):
        return map_leaves(lambda _, part: rounded_to(part, dtype), x)
    if not isinstance(x, np.ndarray | float) or np.asarray(x).dtype.kind != "f":
        return x
    if dtype != "bfloat16":
        return np.asarray(x).astype(dtype if dtype in TYPE_UNITS else "float64")
    bits = np.asarray(x, np.float32).view(np.uint32)
    bits = bits + (0x7FFF + ((bits >> 16) & 1)).astype(np.uint32)  # round to nearest, ties to even
    return (bits & np.uint32(0xFFFF0000)).view(np.float32)


def check_by_reference(
    claim: Claim, request: Request, report: Callable[..., CheckReport], opens: Callable[[str | None], Claim]
) -> CheckReport:
    """Compare the claimed derivative with that of a reference. opens: returns the reference in a type, or in float64.

    Raises CallError.
    """
    dtype, rng = request.dtype if request.dtype in TYPE_UNITS else None, np.random.default_rng(request.seed)
    flat, reference = Flat(claim), opens(None)
    names = match_inputs(claim, reference)
    reference.wrt = [names[name] for name in claim.wrt]
    right, point = Flat(reference), {name: rounded_to(x, dtype) for name, x in claim.at.items()}
    exact = {name: rounded_to(rounded_to(x, dtype), None) for name, x in reference.at.items()}
    exact |= {names[name]: rounded_to(x, None) for name, x in point.items()}
    value, known = (real_view(c.value(at)).astype(float) for c, at in ((claim, point), (reference, exact)))
    if len(value) != len(known):
        shapes = f"of shape {flat.out_shape}, but {reference.title} one of shape {right.out_shape}"
        raise CallError(f"{claim.title} returns an output {shapes}")
    if not np.isfinite(known).all():
        text = f"{reference.title} is not finite at this point"
        return report({"point": "is not finite"}, text, diagnosis=(Finding("not finite", text),))
    count = 2 if len(value) == 1 else min(16, len(value), max(2, math.ceil(WANTED_PRODUCTS / max(flat.size, 1))))
    cotangents = rounded_to(draw_signs(rng, (count, len(value))), dtype).astype(float)
    estimated = not (reference.capabilities.pull or reference.capabilities.push or getattr(reference, "grad", None))
    expected, off = estimated_rows(right, cotangents) if estimated else (products_at(right, cotangents, exact), 0.0)
    claimed, own, near, notes = products_at(flat, cotangents, point), expected, expected + off, list(claim.notes)
    least = TYPE_UNITS["float32" if estimated else "float64"]  # estimates have fewer digits than float64
    kind = dtype if dtype not in (None, "float64") else kind_inside(claimed, expected, least, claim, reference)
    if not estimated:
        draws = {n: 1 + TYPE_UNITS[kind] * rng.uniform(-1, 1, exact[n].shape) for n in reference.wrt}
        near = products_at(
            right,
            cotangents * (1 + TYPE_UNITS[kind] * rng.uniform(-1, 1, cotangents.shape)),
            exact | {n: exact[n] * draws[n] for n in draws},
        )
    if dtype is not None and not estimated:
        try:
            plain = opens(dtype)
            plain.wrt = reference.wrt
            own = products_at(Flat(plain), cotangents, {name: rounded_to(x, dtype) for name, x in exact.items()})
        except CallError as error:
            notes.append(f"the reference does not run in {dtype} ({error}); its error is taken as half a rounding unit")
    gap, most = np.abs(value - known).max(initial=0.0), np.abs(known).max(initial=0.0)
    differs = gap > DIFFERENT_UNITS * TYPE_UNITS[kind] * most
    if differs:
        notes.append(
            f"values differ from those of {reference.title} by up to {gap / (most + TINY):.2g} times the largest"
        )
    floor = TYPE_UNITS[kind] * np.sqrt((np.nan_to_num(expected) ** 2).mean(axis=1, keepdims=True))
    rows = (claimed, expected, own, near)
    blocks = [
        ReferenceBlock(flat, k, [part[:, flat.columns(k)] for part in rows], floor, kind) for k in range(len(claim.wrt))
    ]
    blame = "" if differs else None  # no search for a wrong part if values differ: parts are checked by their values
    compared = f"(compared with '{reference.title}', in float64)"
    other = partial(blocks_elsewhere, flat, right, names, cotangents, dtype)
    return report_on_blocks(blocks, flat, compared, notes, partial(report, blame=blame), other)


def blocks_elsewhere(
    flat: Flat, right: Flat, names: dict[str, str], cotangents: np.ndarray, dtype: str | None, here: list[InputBlock]
) -> dict[int, list[InputBlock]]:
    """Return the claim and the reference's derivative at a point nearby, by input; {} if one of them raises there."""
    can = right.claim.capabilities
    if not (can.pull or can.push or getattr(right.claim, "grad", None)):
        return {}
    at = {name: rounded_to(x, dtype) for name, x in nearby(flat.claim.at, flat.claim.wrt, 1.0).items()}
    try:
        there = Flat(flat.claim.moved(at))
        exact = {**right.claim.at, **{names[name]: rounded_to(x, None) for name, x in at.items()}}
        claimed, expected = products_at(there, cotangents, there.claim.at), products_at(right, cotangents, exact)
    except CallError:
        return {}
    found = {}
    for block in here:
        columns = flat.columns(block.k)
        known = expected[block.rows, columns], block.error
        found[block.k] = [InputBlock(there, block.k, claimed[block.rows, columns], known, rows=block.rows)]
    return found


def match_inputs(claim: Claim, reference: Claim) -> dict[str, str]:
    """Return the reference's name for each input: the same one, else the one at its position. Raises CallError."""
    names = dict(zip(claim.at, claim.at if set(claim.at) <= set(reference.at) else reference.at, strict=False))
    if len(names) < len(claim.at) or any(claim.at[a].shape != reference.at[b].shape for a, b in names.items()):
        ours, theirs = (", ".join(f"{name} {x.shape}" for name, x in c.at.items()) for c in (claim, reference))
        raise CallError(f"{claim.title} has the inputs {ours}, but {reference.title} has {theirs}")
    return names


def kind_inside(claimed: np.ndarray, expected: np.ndarray, least: float, *claims: Claim) -> str:
    """Return the type in which float64 functions compute internally, as far as they or their products show it."""
    unit = max(least, *(max(c.capabilities.value_unit, c.capabilities.claim_unit or 0.0) for c in claims))
    off = rms(np.nan_to_num(claimed - expected)) / (rms(np.nan_to_num(expected)) + TINY)
    if LEAST_ROUNDING < off < FAILS["float32"] * TYPE_UNITS["float32"]:
        unit = max(unit, TYPE_UNITS["float32"])
    return next((kind for kind, least in TYPE_UNITS.items() if least <= unit), "float64")


def products_at(flat: Flat, cotangents: np.ndarray, at: Arrays) -> np.ndarray:
    """Return the products of cotangents with a derivative: (K, n)."""
    return flat.pull(cotangents, at) if flat.claim.capabilities.pull else cotangents @ flat.matrix(at)


def estimated_rows(flat: Flat, cotangents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return products with a numeric derivative (nan if unknown) and their errors. Raises CallError for large ones."""
    if flat.size > MOST_ESTIMATED:
        hint = f"it can be estimated for at most {MOST_ESTIMATED} elements; declare it with @gradcli.check(grad=...)"
        raise CallError(f"{flat.claim.title} has no derivative", hint)
    return estimated_columns(Sampler(flat), range(flat.size), cotangents)


class GroupSlope(NamedTuple):
    """How strongly errors follow a quantity: the slope of the group where it is clearest, with its standard error.

    explained: root mean square of the errors that all slopes explain. most: the same for the worst group, relative to
    the derivative there. Both are 0 if chance explains as much.
    """

    value: float
    error: float
    explained: float
    most: float


def slopes_of_groups(errors: np.ndarray, along: np.ndarray, expected: np.ndarray) -> GroupSlope:
    """Regress errors on `along`, with a slope for each group. errors, along, expected: (groups, elements, products)."""
    parts, sizes = (errors * along).sum(axis=2), (along**2).sum(axis=2)
    (groups, count), total = sizes.shape, sizes.sum(axis=1) + TINY
    value = parts.sum(axis=1) / total
    left = (parts - value[:, None] * sizes) / np.maximum(1 - sizes / total[:, None], 1e-6)  # HC3: none decides alone
    variance = (left**2).sum(axis=1) / total**2 + TINY
    squares = np.minimum(value**2 / variance, 1e6)
    explained = math.sqrt(max(float(((value**2 - variance) * total).sum()) / along.size, 0.0))
    explained *= bool(squares.sum() > groups + GROUP_SIGMAS * math.sqrt(2 * groups) + GROUP_SIGMAS**2)
    size = (expected**2).mean(axis=(1, 2))
    most = abs(value) * np.sqrt(total / expected[0].size / np.maximum(size, LEAST_PART**2 * size.mean() + TINY))
    most *= min(1.0, math.sqrt(count / LEAST_IN_GROUP)) * (squares > GROUP_SIGMAS**2 + 2 * math.log(groups))
    worst = int(most.argmax() if most.any() else squares.argmax())
    return GroupSlope(float(value[worst]), math.sqrt(variance[worst] - TINY), explained, float(most[worst]))


class ReferenceBlock:
    """The products for one input, and the result for them: state, reason, and which elements are wrong.

    rows: claimed, expected, those of the reference in the type, and expected ones near the point, (K, n) each. floor:
    the least size of each product, (K, 1).
    """

    def __init__(self, flat: Flat, k: int, rows: list[np.ndarray], floor: np.ndarray, kind: str):
        self.name, self.shape, self.kind, self.unit = flat.claim.wrt[k], flat.arrays[k].shape, kind, TYPE_UNITS[kind]
        self.claimed, self.expected = rows[:2]
        x, known = flat.parts[k].astype(float), np.isfinite(self.expected)
        expected = np.where(known, self.expected, 0.0)
        self.size = np.maximum(np.sqrt((expected**2).mean(axis=1, keepdims=True)), floor) + TINY
        self.relative = expected / self.size
        with np.errstate(invalid="ignore"):
            parts = [np.where(known, (rows[i] - expected) / self.size, 0.0) for i in (0, 2, 3)]
        finite = [np.isfinite(part) for part in parts]
        self.errors, self.own, near = (np.where(ok, part, 0.0) for ok, part in zip(finite, parts, strict=True))
        self.quantities = {"the input": x, "a constant": np.ones(len(x))}
        if flat.f0.size == len(x):
            self.quantities["the output"] = flat.f0
        self.own_error, fails = max(rms(self.own), self.unit), FAILS[kind]
        self.explained = max(self.own_error, rms(near))
        self.largest = float(abs(self.errors).max(initial=0.0))
        highest = max(float(abs(part).max(initial=0.0)) for part in (self.own, near, self.unit * self.relative))
        slopes, lost = list(self.structures(self.errors)), ~finite[0] & finite[1]
        error, off, self.bias = rms(self.errors), self.largest / max(highest, self.unit), slopes[0][1]
        units, unexplained = self.unit * fails / FAILS["bfloat16"], fails * self.explained
        # ratio to the limit for wrong, ratio from which on it is undecided, rule, text
        ratio = f"its error is {error / self.own_error:.3g} times that of the reference"
        outlier = f"an element is off by {off:.3g} times what rounding explains"
        found = [
            (error / unexplained, PASSING_ERROR * self.own_error / unexplained, INACCURATE, ratio),
            (off / (OUTLIER * fails), 0.5, INACCURATE, outlier),
            (min(error / MOST_ERROR, 1.0), 1.0, INACCURATE, "rounding leaves too few digits"),
            (1.0 - known.all(), 1.0, INACCURATE, "the reference's derivative is not finite or cannot be estimated"),
            (1.0 - (finite[0] | finite[1]).all(), 1.0, INACCURATE, "it overflows, as does the reference"),
            (math.inf if lost.any() else 0.0, 1.0, INACCURATE, "nan or infinity where the reference is finite"),
        ]
        for (where, slope), (_, plain) in zip(slopes, self.structures(self.own), strict=True):
            excess = slope.explained / max(SHARED * units, 2 * plain.explained)
            if where.startswith("the derivative"):
                excess = max(excess, slope.most / max(SHARED_BY_GROUP * units, 2 * plain.most))
            number = f"{slope.value:+.3g} ± {slope.error:.1g}"
            text = f"its errors contain {number} times {where}" if where else f"{ON_AVERAGE} {number}"
            nearly = NEARLY if where else NEARLY_ON_AVERAGE
            found.append((excess if where or excess < 1 else math.inf, nearly, "systematic", text))
        wrong = [item for item in found if item[0] > 1]
        undecided = [item for item in found if item[0] >= item[1]]
        self.state = FAIL if wrong else UNDECIDED if undecided else PASS
        self.reason: Finding | None = None
        if wrong or undecided:
            _, _, rule, text = max(wrong or undecided, key=lambda item: (item[0], item[2:]))
            self.reason = Finding(rule, f"{self.name}: {text}", self.name)
        self.tolerance = np.maximum(self.explained, self.unit * abs(self.relative)) * self.size
        self.off = np.where(lost, np.inf, abs(self.errors) * self.size / self.tolerance)
        every = self.reason is not None and (ON_AVERAGE in self.reason.text or not (self.off > fails).any())
        self.wrong = ((self.off > fails) | every) & (self.state == FAIL)

    def groups(self) -> Iterator[tuple[str, np.ndarray]]:
        """Yield a name for groups of elements that may be wrong together, and their places: (groups, elements)."""
        elements = self.relative.shape[1]
        shape = self.shape if math.prod(self.shape) == elements else (elements,)
        places = np.arange(elements).reshape(shape)
        for a, n in enumerate(shape):
            yield f"along axis {a}", np.moveaxis(places, a, 0).reshape(n, -1)
        if len(shape) > 2:
            yield "along all axes but the last", places.reshape(-1, shape[-1])

    def structures(self, errors: np.ndarray) -> Iterator[tuple[str, GroupSlope]]:
        """Yield names and slopes of the errors on the derivative ("": all of it), the input, output and a constant."""
        for where, chosen in [("", np.arange(errors.shape[1])[None]), *self.groups()]:
            rows = errors[:, chosen], self.relative[:, chosen]  # products, groups, elements
            parts = [v.transpose(1, 2, 0) for v in rows]
            if not where or chosen.shape[1] >= FEWEST_IN_GROUP:
                yield f"the derivative {where}" if where else "", slopes_of_groups(parts[0], parts[1], parts[1])
            for name, quantity in self.quantities.items() if chosen.shape[1] >= LEAST_IN_GROUP else ():
                wide = np.broadcast_to(quantity, errors.shape)[:, chosen]
                apart = [v.swapaxes(0, 1).reshape(-1, chosen.shape[1], 1) for v in (rows[0], wide, rows[1])]
                yield f"{name} {where}".rstrip(), slopes_of_groups(*apart)  # one slope for each product

    def input_block(self, flat: Flat, k: int) -> InputBlock:
        """Return the product with the most wrong elements, from which to find the mistake."""
        row = slice(worst := int(self.wrong.sum(axis=1).argmax()), worst + 1)
        return InputBlock(
            flat, k, self.claimed[row], (self.expected[row], self.tolerance[row]), self.wrong[row], rows=row
        )

    def input_check(self, flat: Flat, k: int) -> InputCheck:
        """Return the result for the input. Its worst element is the one furthest beyond rounding."""
        worst, wrong, resolution = None, self.wrong.any(axis=0), FAILS[self.kind] * self.explained
        if self.off.size:
            j, i = np.unravel_index(int(self.off.argmax()), self.off.shape)
            numbers = self.claimed[j, i], self.expected[j, i], float(self.tolerance[j, i])
            worst = element_of(flat, None, flat.columns(k).start + int(i), *numbers)
        error, own, largest = (part / (2 * self.unit) for part in (rms(self.errors), rms(self.own), self.largest))
        return InputCheck(
            self.name,
            self.shape,
            str(VERDICTS[self.state]),
            float((abs(self.errors) * self.size).max(initial=0.0)),
            self.largest,
            digits_of(rms(self.errors)),
            resolution,
            worst,
            of_largest=resolution,
            counts=ElementCounts(int(wrong.sum()), 0, wrong.size, wrong.size),
            accuracy=Accuracy(self.kind, error, own, largest, self.bias.value, self.bias.error),
        )


def rms(x: np.ndarray) -> float:
    return math.sqrt(float((x**2).mean())) if x.size else 0.0


def report_on_blocks(
    blocks: list[ReferenceBlock],
    flat: Flat,
    compared: str,
    notes: list[str],
    report: Callable[..., CheckReport],
    elsewhere: Callable[[list[InputBlock]], dict[int, list[InputBlock]]],
) -> CheckReport:
    """Return the report on all inputs, with the reason of the first of the worst ones.

    elsewhere: returns the blocks of inputs at another point.
    """
    worst = max(blocks, key=lambda block: [PASS, UNDECIDED, FAIL].index(block.state))
    inputs = tuple(block.input_check(flat, k) for k, block in enumerate(blocks))
    accuracies = [f"{item.name}: {item.accuracy.text}" for item in inputs if item.accuracy is not None]
    message, findings = accuracies[blocks.index(worst)], []
    if worst.state == UNDECIDED and worst.reason is not None:
        message = worst.reason.text
    elif worst.state == FAIL:
        findings = [block.reason for block in blocks if block.state == FAIL and block.reason is not None]
        here = [block.input_block(flat, k) for k, block in enumerate(blocks)]
        findings += diagnose(DiagnosisEvidence(here, None, elsewhere(here)))
    notes = [*dict.fromkeys([*notes, *accuracies])]
    word = {PASS: "right", UNDECIDED: "undecided", FAIL: "wrong"}[worst.state]
    return report(
        {"elements": word}, f"{message} {compared}", inputs=inputs, diagnosis=tuple(findings), notes=tuple(notes)
    )
