"""What is known about a wrong claim: its blocks at the checked point, at other points, and in another shape.

A hypothesis is confirmed only by blocks that refute the claim itself. One estimate along a random direction compares
all elements of an input with the function, so a point costs few calls whatever its size.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from ..claims.claim import CallError, OutOfCallsError
from ..numeric.chain import FEW, FIRST, RATIO
from ..numeric.compare import MARGIN
from ..numeric.estimate import estimate
from ..numeric.fit import QUICK, fit
from ..numeric.flat import Flat
from ..numeric.locate import FAIL_CALLS
from ..numeric.rows import ClaimedRows, draw_signs
from ..numeric.sampler import Line, Sampler
from ..numeric.verdict import FAIL, OPEN, UNDECIDED, Entries
from .block import RELATIVE, InputBlock, Slope
from .points import faraway, nearby, resized

WIDTHS = (FIRST, FIRST / RATIO, FIRST / RATIO**2)  # of the fits along a direction, in turn
PRECISE = 1e-9  # relative error at which a narrower fit is not tried: a choice
PER_SLOPE = FEW + 1  # calls for a fit
OWN_CALLS = 300  # calls for the explanation of a fail with several outputs, whatever the check took: a choice
MOST_POINTS = 2  # other points in the same shape, if the budget of calls allows
FACTORS = (-1.0, 0.125)  # of an input of equal elements, for other points at which a statement must hold: a choice
SIGNS = (1.0, -1.0, 0.3, -0.3)  # where other points are tried, in order

Corrected = Callable[[InputBlock], np.ndarray]


class Hypothesis(NamedTuple):
    """A possible mistake. corrected: the claim without it, from the claim and what a block knows: (R, elements).

    general: whether it must hold in other shapes, too. fitted: how many numbers the correction was fitted to, if few.
    by_value: whether it depends on a condition on values, so that it must hold for elements in another order, too.
    both_signs: whether it must hold for the other sign of the input, too.
    """

    kind: str
    text: str
    corrected: Corrected
    general: bool = True
    fitted: int = 0
    by_value: bool = False
    both_signs: bool = False


class DiagnosisStatement(NamedTuple):
    """What is wrong, without a correction. holds: whether it is true of a block in which every element is known."""

    kind: str
    text: str
    holds: Callable[[InputBlock], bool]


class EvidencePlace:
    """The function and its claimed rows at one point, with the numeric derivative along a direction of each input.

    diagonal: the inputs for which the function is elementwise, by number.
    """

    def __init__(self, flat: Flat, rows: ClaimedRows, claimed: np.ndarray, diagonal: frozenset[int] = frozenset()):
        self.flat, self.rows, self.claimed, self.diagonal = flat, rows, claimed, diagonal
        self.sampler = Sampler(flat)
        self.blocks: dict[int, InputBlock | None] = {}

    def block(self, k: int, rows: slice = slice(None)) -> InputBlock | None:
        """Return the block of an input; None if the call budget is used up."""
        if k not in self.blocks:
            try:
                self.blocks[k] = self.diagonal_block(k) if k in self.diagonal else self.whole_block(k, rows)
            except OutOfCallsError:
                self.blocks[k] = None
        return self.blocks[k]

    def whole_block(self, k: int, rows: slice) -> InputBlock:
        claimed = self.claimed[rows, self.flat.columns(k)]
        unknown = np.full(claimed.shape, np.nan), np.full(claimed.shape, np.inf)
        slope = self.slope(k, random_direction(self.flat, k), rows)
        if claimed.shape[1] == 1:  # the direction gives the only element
            unknown = slope.value[:, None] / slope.direction, slope.error[:, None] / np.abs(slope.direction)
        return InputBlock(self.flat, k, claimed, unknown, place=self, rows=rows, slope=slope)

    def diagonal_block(self, k: int) -> InputBlock:
        value, error = diagonal_slopes(self.sampler, k)
        claimed = diagonal_of(self.flat, self.rows, self.claimed, k)
        return InputBlock(self.flat, k, claimed[None], (value[None], error[None]), place=self, diagonal=True)

    def known_block(self, k: int, rows: slice) -> InputBlock | None:
        """Return the block of an input with every element estimated; None if that takes too many calls."""
        if k in self.diagonal:
            return self.block(k)
        columns, weights = self.flat.columns(k), self.rows.weights
        claimed = self.claimed[rows, columns]
        value, error = (np.full(claimed.shape, fill) for fill in (np.nan, np.inf))
        for place, i in enumerate(range(columns.start, columns.stop)):
            if self.flat.fixed[i]:
                continue
            try:
                found = fit(self.sampler.element(i, weights), FIRST, QUICK)
            except OutOfCallsError:
                return None
            if found is not None:
                value[:, place], error[:, place] = found.value[rows], found.error[rows]
        scales = self.flat.scales[columns]
        value = np.where(np.isfinite(error), value, np.nan)
        return InputBlock(self.flat, k, claimed, (value / scales, error / scales), place=self, rows=rows)

    def slope(self, k: int, direction: np.ndarray, rows: slice = slice(None)) -> Slope:
        """Return the derivative of the rows along a direction of input k; nan where it is not known."""
        value, error = slopes_along(self.sampler.line(in_whole(self.flat, k, direction), self.rows.weights))
        return Slope(direction, value[rows], error[rows])

    def claimed_at(self, block: InputBlock, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the claim of a block at other inputs of the same shapes; nan if it raises."""
        try:
            claimed = self.rows.at({**self.flat.claim.at, **arrays})
        except (CallError, OutOfCallsError):
            return np.full_like(block.a, np.nan)
        if block.diagonal:
            return diagonal_of(self.flat, self.rows, claimed, block.k)[None]
        return claimed[block.rows, self.flat.columns(block.k)]


def multiplied_input(x: np.ndarray, factor: float) -> np.ndarray:
    """Return an array times a factor. Zeros become the factor times the largest element or, without one, the factor."""
    size = np.abs(x).max(initial=0.0) or 1.0
    return np.where(x == 0, factor * size, x * factor).astype(x.dtype)


def random_direction(flat: Flat, k: int, seed: int = 0) -> np.ndarray:
    """Return a direction in which each element of an input moves by about its size."""
    columns = flat.columns(k)
    draw = draw_signs(np.random.default_rng([k, seed]), columns.stop - columns.start)
    return np.where(flat.fixed[columns], 0.0, draw * flat.scales[columns])


def in_whole(flat: Flat, k: int, direction: np.ndarray) -> np.ndarray:
    whole = np.zeros(flat.size)
    whole[flat.columns(k)] = direction
    return whole


def diagonal_of(flat: Flat, rows: ClaimedRows, claimed: np.ndarray, k: int) -> np.ndarray:
    """Return the claimed derivative of each output by the element of the same index: (n,)."""
    part = claimed[:, flat.columns(k)]
    return np.diagonal(part).copy() if rows.weights is None else part[0] / rows.weights[0]


def diagonal_slopes(sampler: Sampler, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the derivatives, with errors, of an elementwise function along all elements at once: (n,) each."""
    direction = random_direction(sampler.flat, k, seed)
    value, error = slopes_along(sampler.line(in_whole(sampler.flat, k, direction)))
    with np.errstate(divide="ignore", invalid="ignore"):
        return value / direction, error / np.abs(direction)


def slopes_along(line: Line) -> tuple[np.ndarray, np.ndarray]:
    """Return slopes along a line, with errors, (R,) each; nan if unknown. Narrower fits follow only where needed."""
    best, least = np.full(len(line.base), np.nan), np.full(len(line.base), np.inf)
    for width in WIDTHS:
        found = fit(line, width, FEW)
        if found is None:
            break
        better = found.error < least
        best, least = np.where(better, found.value, best), np.where(better, found.error, least)
        if (least <= PRECISE * np.abs(best)).all():
            break
    return best, least


def claims_diagonal(flat: Flat, rows: ClaimedRows, claimed: np.ndarray, k: int) -> bool:
    """Report whether a claim says that each output depends on the input's element of the same index only."""
    x, part = flat.arrays[k], claimed[:, flat.columns(k)]
    if x.shape != flat.out_shape or x.size < 2 or x.dtype.kind != "f" or flat.out_dtype.kind != "f" or not rows.known:
        return False
    if rows.weights is None:
        return not part[~np.eye(x.size, dtype=bool)].any()
    ratios = part / rows.weights
    return bool(np.allclose(ratios, ratios[:1], rtol=1e-9, atol=0, equal_nan=True))


class DiagnosisEvidence:
    """Blocks of all inputs at the checked point (here), and what is known of them elsewhere.

    elsewhere: blocks at other points by input, if they do not come from values of the function.
    """

    def __init__(
        self,
        here: list[InputBlock],
        place: EvidencePlace | None,
        elsewhere: Mapping[int, list[InputBlock]] | None = None,
    ):
        self.here, self.place, self.elsewhere = here, place, elsewhere
        made = 0 if place is None else place.flat.claim.budget.made
        several = place is not None and len(place.flat.f0) > 1
        self.limit = max(FAIL_CALLS, made + OWN_CALLS) if several else FAIL_CALLS
        self.reordered: dict[tuple[int, bool], InputBlock | None] = {}
        self.mirrored: dict[int, InputBlock | None] = {}
        self.narrowed: dict[tuple[int, bool, float, float], tuple[float, float] | None] = {}

    @classmethod
    def of(cls, entries: Entries, diagonal: frozenset[int]) -> DiagnosisEvidence:
        """Return the evidence of a failed check. If outputs are combined, a block has the worst combination only."""
        flat, rows = entries.flat, entries.rows
        place, blocks = EvidencePlace(flat, rows, entries.claimed, diagonal), []
        for k in range(len(flat.claim.wrt)):
            blocks.append(diagonal_here(entries, k, place) if k in diagonal else block_here(entries, k, place))
        return cls(blocks, place)

    def left(self) -> int:
        """Return the number of calls left for optional steps of a failed check."""
        assert self.place is not None
        budget = self.place.flat.claim.budget
        return int(min(self.limit - budget.made, budget.left))

    @property
    def cost(self) -> int:
        """The number of calls for a point."""
        return 2 + PER_SLOPE * sum(bool(block.wrong.any()) for block in self.here)

    @functools.cached_property
    def places(self) -> list[EvidencePlace]:
        """Other points in the same shape."""
        if self.place is None or not self.place.rows.known:
            return []
        claim = self.place.flat.claim
        found: list[EvidencePlace] = []
        wanted = 1 if claim.capabilities.costly else MOST_POINTS
        for sign in SIGNS:
            if len(found) == wanted or self.left() < self.cost:
                break
            found += self.place_at(self.free(nearby(claim.at, claim.wrt, sign)), in_same_shape=True)
        if found and wanted > 1 and self.left() >= self.cost:
            found += self.place_at(self.free(faraway(claim.at, claim.wrt)), in_same_shape=True)
        return found

    def free(self, at: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        """Return the inputs that may move. A strain, say, stays 0: its derivative is the stress only there."""
        assert self.place is not None
        moving = self.place.flat.claim.jitter
        return {name: x for name, x in at.items() if not moving or name in moving}

    @functools.cached_property
    def shapes(self) -> list[EvidencePlace]:
        """The first other shape in which function and claim have values."""
        if self.place is None or not self.place.rows.known or self.place.flat.claim.capabilities.costly:
            return []
        claim = self.place.flat.claim
        for at in resized(claim.at, claim.wrt):
            if self.left() < self.cost:
                break
            if found := self.place_at(at, in_same_shape=False):
                return found
        return []

    def place_at(self, at: Mapping[str, np.ndarray], in_same_shape: bool) -> list[EvidencePlace]:
        """Return the function and its claim at other inputs, in a list; empty if they are unusable there."""
        assert self.place is not None
        here = self.place
        claim = here.flat.claim.moved(dict(at))
        if not in_same_shape:
            claim.shape = None
        try:
            flat = Flat(claim)
            if in_same_shape and flat.out_shape != here.flat.out_shape:
                return []
            rows = here.rows if in_same_shape else ClaimedRows(flat, np.random.default_rng(0))
            claimed = here.rows.at(flat.claim.at) if in_same_shape else rows.claimed
        except (CallError, OutOfCallsError):
            return []
        except Exception:  # user code may raise anything in shapes that it does not expect
            return []
        usable = np.isfinite(flat.f0).all() and np.isfinite(claimed).any()
        diagonal = frozenset(k for k in here.diagonal if flat.arrays[k].shape == flat.out_shape)
        return [EvidencePlace(flat, rows, claimed, diagonal)] if usable and diagonal == here.diagonal else []

    def slope(self, block: InputBlock, direction: np.ndarray) -> Slope | None:
        """Return the derivative along a direction of a block's input here; None if no calls are left."""
        if self.place is None or self.left() < PER_SLOPE:
            return None
        try:
            return self.place.slope(block.k, direction, block.rows)
        except OutOfCallsError:
            return None

    def shuffled(self, block: InputBlock, every: bool = False) -> InputBlock | None:
        """Return a block with the elements of its input, and of all of that shape, in another order.

        every: with each element known, and with other numbers.
        """
        if (block.k, every) not in self.reordered:
            self.reordered[block.k, every] = self.shuffled_block(block, every and not block.diagonal)
        return self.reordered[block.k, every]

    def shuffled_block(self, block: InputBlock, every: bool) -> InputBlock | None:
        if self.place is None or block.x.size < 2 or not self.affords(block, every):
            return None
        shape = block.array.shape
        others = self.free({name: x for name, x in block.at.items() if np.shape(x) == shape})
        moved = {name: np.roll(x, 1) for name, x in {**others, block.name: block.array}.items()}
        if np.array_equal(moved[block.name], block.array):  # in another order, this is the same point
            moved[block.name] = multiplied_input(block.array, FACTORS[-1])
        elif every:  # a claim may be right at a few numbers only, such as 0 and 1
            moved = dict(self.free(nearby(moved, self.place.flat.claim.wrt, 1.0)))
        return self.block_at(block, moved, every)

    def affords(self, block: InputBlock, every: bool) -> bool:
        """Report whether calls are left for a block at another point. every: with each element known."""
        calls = QUICK * block.x.size if every else PER_SLOPE
        return self.left() >= calls + 2

    def block_at(self, block: InputBlock, moved: Mapping[str, np.ndarray], every: bool) -> InputBlock | None:
        """Return a block where inputs have other numbers; None if it is unknown. every: with each element known."""
        places = self.place_at({**block.at, **moved}, in_same_shape=True)
        if not places:
            return None
        return places[0].known_block(block.k, block.rows) if every else places[0].block(block.k, block.rows)

    def multiples(self, block: InputBlock) -> list[InputBlock | None]:
        """Return blocks where the input is multiplied by factors: beyond the limits of most masks and clamps."""
        if self.place is None or self.left() < len(FACTORS) * (PER_SLOPE + 2):
            return []
        moved = [{**block.at, block.name: multiplied_input(block.array, factor)} for factor in FACTORS]
        places = [place for at in moved for place in self.place_at(at, in_same_shape=True)]
        return [place.block(block.k, block.rows) for place in places] if len(places) == len(FACTORS) else []

    def holds_for_other_sign(self, block: InputBlock, hypothesis: Hypothesis) -> bool:
        """Report whether a hypothesis is not refuted where an input of one sign, an array of numbers, has the other."""
        if block.k not in self.mirrored:
            one_sign = block.array.dtype.kind == "f" and ((block.x > 0).all() or (block.x < 0).all())
            usable = one_sign and self.place is not None and self.left() >= PER_SLOPE + 2
            places = self.place_at({**block.at, block.name: -block.array}, in_same_shape=True) if usable else []
            self.mirrored[block.k] = places[0].block(block.k, block.rows) if places else None
        other = self.mirrored[block.k]
        if other is None or not hypothesis.general:
            return True
        with np.errstate(all="ignore"):
            corrected = hypothesis.corrected(other)
            return bool(np.isfinite(corrected).all()) and other.accepts(corrected) is not False

    def others(self, block: InputBlock) -> list[InputBlock]:
        if self.elsewhere is not None:
            return self.elsewhere.get(block.k, [])
        rows = block.rows
        return [other for place in self.places if (other := place.block(block.k, rows)) is not None]

    def claimed_nearby(self, block: InputBlock) -> np.ndarray:
        """Return the claim of a block at another point, which takes no calls of the function; nan if it raises."""
        if self.place is None:
            return next((other.a for other in self.others(block)), block.a)
        claim = self.place.flat.claim
        return self.place.claimed_at(block, self.free(nearby(claim.at, claim.wrt, 1.0)))

    def in_shapes(self, block: InputBlock) -> list[InputBlock]:
        return [other for place in self.shapes if (other := place.block(block.k)) is not None]

    def confirms(self, block: InputBlock, hypothesis: Hypothesis | DiagnosisStatement) -> bool:
        """Report whether the corrected claim passes here, at other points and, if shapes are free, in another shape.

        A statement must hold here, and where the input's elements are in another order or, if they are equal, at other
        points.
        """
        if isinstance(hypothesis, DiagnosisStatement):
            if not hypothesis.holds(block):
                return False
            others = self.multiples(block) if block.x.size == 1 else [self.shuffled(block, every=True)]
            return bool(others) and all(other is not None and hypothesis.holds(other) for other in others)
        corrected = hypothesis.corrected
        if block.accepts(corrected(block)) is not True:
            return False
        answers = [other.accepts(corrected(other)) for other in self.others(block)]
        if False in answers or True not in answers:
            return False
        if hypothesis.general:
            answers += [other.accepts(corrected(other)) for other in self.in_shapes(block)]
        if hypothesis.by_value:
            other = self.shuffled(block)
            if other is None or other.accepts(corrected(other)) is not True:
                return False
        enough = not hypothesis.fitted or hypothesis.fitted + answers.count(True) > 2
        return False not in answers and enough


def block_here(entries: Entries, k: int, place: EvidencePlace) -> InputBlock:
    """Return the block of an input at the checked point."""
    flat, columns, rows = entries.flat, entries.flat.columns(k), slice(None)
    if not entries.rows.single:  # one combination shows the same as the others
        worst = int((entries.state[:, columns] == FAIL).sum(axis=1).argmax())
        rows = slice(worst, worst + 1)
    value = entries.value_if_smooth
    state, a, r, error = (x[rows, columns] for x in (entries.state, entries.claimed, value, entries.error))
    r = np.where(np.isfinite(error), r, np.nan)
    error = np.where(np.isnan(r), np.inf, error)  # entries that pass by their integral have no numeric derivative
    block = InputBlock(flat, k, a, (r, error), state == FAIL, place=place, rows=rows)
    block.complete = not np.isin(state, (OPEN, UNDECIDED)).any()
    if block.wrong.any() and np.isnan(r).any() and place.flat.claim.budget.left > len(WIDTHS) * PER_SLOPE:
        try:
            block.slope = place.slope(k, random_direction(flat, k), rows)
        except OutOfCallsError:
            block.slope = None
    return block


def diagonal_here(entries: Entries, k: int, place: EvidencePlace) -> InputBlock:
    """Return the diagonal of the block of an input for which the function is elementwise."""
    flat, columns = entries.flat, entries.flat.columns(k)
    undecided = np.isin(entries.state, (OPEN, UNDECIDED))
    parts = [x[:, columns] for x in (entries.value_if_smooth, entries.error, entries.state == FAIL, undecided)]
    claimed = diagonal_of(flat, entries.rows, entries.claimed, k)
    if entries.rows.weights is None:
        value, error, wrong, left = (np.diagonal(x).copy() for x in parts)
    else:
        weights = entries.rows.weights[0]
        value, error = parts[0][0] / weights, parts[1][0] / np.abs(weights)
        wrong, left = (np.asarray(x.any(axis=0)) for x in parts[2:])
    value = np.where(np.isfinite(error), value, np.nan)
    error = np.where(np.isnan(value), np.inf, error)
    block = InputBlock(flat, k, claimed[None], (value[None], error[None]), wrong[None], place=place, diagonal=True)
    block.complete = not left.any()
    return block


def is_elementwise(entries: Entries, k: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the derivatives of an elementwise function and their errors, (n,) each; None for other functions.

    Along two random directions, the slopes of each output must then be the same multiple of its element's move.
    """
    (value, error), (again, error_again) = (diagonal_slopes(entries.sampler, k, seed) for seed in (0, 1))
    known = np.isfinite(value) & np.isfinite(again)
    with np.errstate(invalid="ignore"):
        alike = np.abs(again - value) <= MARGIN * (error + error_again) + RELATIVE * np.abs(value)
    return (value, error) if known.any() and alike[known].all() else None


def estimated_columns(
    sampler: Sampler, elements: Iterable[int], weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the numeric derivative by some elements, and its errors: (rows, elements) each; nan if unknown."""
    count, elements = len(sampler.flat.f0) if weights is None else len(weights), list(elements)
    value, error = (np.full((count, len(elements)), np.nan) for _ in range(2))
    with contextlib.suppress(OutOfCallsError):
        for place, i in enumerate(elements):
            if sampler.flat.fixed[i]:
                continue
            slopes, scale = estimate(sampler.element(i, weights)), sampler.flat.scales[i]
            value[:, place] = np.where(slopes.known, slopes.value, np.nan) / scale
            error[:, place] = slopes.error / scale
    return value, error
