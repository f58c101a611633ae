"""The derivative along random directions: what agrees there needs no look at single elements.

Every element takes part in a direction with at least half its scale, so that one which is wrong by itself is seen in
each, and several together would have to cancel in both. What twelve calls do not settle is looked at with more, and
what disagrees is searched for its wrong elements (`wrong_elements`). A budget of calls ends this wherever it is.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..show.check_results import Element, Evidence, Finding, InputCheck, Taylor, TaylorRow
from .flat import Flat
from .jacobian import AVERAGED_FITS, LIMIT, MARGIN, PAIRS, PER_FIT, REACH, WIDTHS, SampledLine, Slope
from .verdict import COARSE, ROUNDING, SMALL_EFFECT, digits_of, floor_of, room

MOST_ROWS = 8  # outputs up to which every row is asked for; of more, random combinations
COMBINATIONS = 2


class ClaimedRows:
    """Rows of a claimed Jacobian, or combinations of them.

    weights: (R, m), the combinations of outputs; single: they are the outputs. rows: (R, n), what is claimed for
    them, None where only products with tangents are given. whole, again: the Jacobian, and what a second call gave,
    where there is no backward pass whose linearity tells.
    """

    def __init__(self, flat: Flat, rng: np.random.Generator, sizes: np.ndarray):
        self.flat, claim, m = flat, flat.claim, len(flat.f0)
        self.unit = flat.claim_unit
        self.rows: np.ndarray | None = None
        self.whole: np.ndarray | None = None
        self.again: np.ndarray | None = None
        self.single = m <= MOST_ROWS
        self.weights = np.eye(m) if self.single else combinations(rng, sizes)
        if claim.capabilities.pull:
            claim.claims = "vjp"
            self.rows = flat.pull(self.weights)
        elif claim.capabilities.push:
            claim.claims = "jvp"
        else:
            self.whole, self.again = (flat.matrix() for _ in range(2))
            self.rows = self.weights @ self.whole

    def column(self, i: int) -> np.ndarray | None:
        """Return what is claimed for all outputs along element i; None where only rows are given."""
        if self.whole is not None:
            return self.whole[:, i]
        return self.flat.push(np.eye(1, self.flat.size, i))[0] if self.rows is None else None

    def row(self, j: int) -> np.ndarray | None:
        """Return what is claimed for output j; None where only products with tangents are given."""
        if self.rows is None or self.single:
            return None if self.rows is None else self.rows[j]
        return self.whole[j] if self.whole is not None else self.flat.pull(np.eye(1, len(self.flat.f0), j))[0]

    def along(self, direction: np.ndarray) -> np.ndarray:
        if self.rows is not None:
            return self.rows @ direction
        return self.weights @ self.flat.push([direction])[0]

    def size(self, direction: np.ndarray, claimed: np.ndarray) -> np.ndarray:
        """Return how large the sum of so many parts is that may have any sign: (R,)."""
        if self.rows is None:
            return np.abs(claimed)
        return np.maximum(np.abs(claimed), 3 * np.sqrt(((self.rows * direction) ** 2).sum(axis=1)))

    def room(self, direction: np.ndarray, claimed: np.ndarray, error: np.ndarray, noise: float) -> np.ndarray:
        """Return how far products may be off. noise: of the values, relative, of which the claim may have as much."""
        size = self.size(direction, claimed)
        return room(error, ROUNDING * max(self.unit, noise) * size, floor_of(self.unit) * size)

    def effects(self, claimed: np.ndarray) -> np.ndarray:
        """Return how much each element changes combinations over its scale: (R, n); (R, 1) where only typical."""
        if self.rows is None:
            return np.abs(claimed)[:, None] / np.sqrt(self.flat.size)
        return np.abs(self.rows * self.flat.scales)


def combinations(rng: np.random.Generator, sizes: np.ndarray) -> np.ndarray:
    """Return random weights of outputs, to which each output contributes about as much: no weight is small."""
    weights = draw_signs(rng, (COMBINATIONS, len(sizes)))
    return weights / (sizes + 1e-9 * sizes.max(initial=0.0) + np.finfo(float).tiny)


def draw_signs(rng: np.random.Generator, shape: tuple[int, ...] | int) -> np.ndarray:
    """Return numbers of random sign and of a size between 1/2 and 3/2: nothing hides behind a small one."""
    return rng.choice([-1.0, 1.0], shape) * rng.uniform(0.5, 1.5, shape)


PLAN = 12
"""Calls of a function whose derivative agrees: twice at the point, six along one direction and four along another."""
CHEAP_DIRECTIONS = 3  # directions where calls cost little
MOST_ELEMENTS = 16  # elements up to which each is looked at by itself when something is suspicious
PATIENCE = 0.2  # seconds that calling a function once per element may take for that
LEAST_MOVE = 0.5  # the smallest part of its scale that an element moves in a direction
DRIFT = 1e-5  # two calls at one point that differ by more, relative, show no noise, but another function
TINY = float(np.finfo(float).tiny)


class Outcome(NamedTuple):
    """What directions tell. needed: the calls that would decide what was not decided."""

    verdict: str
    inputs: tuple[InputCheck, ...] = ()
    products: tuple[tuple[float, float, float], ...] = ()
    message: str = ""
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    closely: int = 0
    needed: int | None = None

    def evidence(self, flat: Flat) -> Evidence:
        elements = len(flat.f0) * flat.size
        return Evidence(elements, self.closely, flat.claim.budget.made, self.products, self.needed)


class Directions:
    """Directions in which a claim is compared with values: lines, and the slopes along them.

    drift: how much two calls at the point differ, by output. axes: the directions are the elements, of which there
    are no more than directions. along: the claimed products with each.
    """

    def __init__(self, flat: Flat, seed: int, steps: np.ndarray | None):
        """steps: along a single direction, instead of those that are usual."""
        self.seed, self.own_steps = seed, steps
        self.begin(flat)

    def begin(self, flat: Flat) -> None:
        """Begin with a function, or anew with the same one on a part of the space."""
        self.flat, self.rng = flat, np.random.default_rng(self.seed)
        self.drift = np.zeros(len(flat.f0))
        self.lines: list[SampledLine] = []
        self.slopes: list[Slope] = []
        self.searched = False
        can = flat.claim.capabilities
        products = 2 if can.push and not can.pull else 1  # one for each direction, or all at once
        self.claim_calls = products * flat.claim.budget.claim_calls
        self.axes = flat.size == 1 or (self.own_steps is None and (flat.size == 2 and self.left >= PLAN - 2))
        self.plan = PLAN + flat.claim.budget.made - 1 + self.claim_calls

    @property
    def left(self) -> float:
        """How many calls there may still be, those for the claim put aside."""
        claim = self.flat.claim
        if claim.budget.allowed is None:
            return math.inf
        return claim.budget.allowed - claim.budget.made - (0 if self.slopes else self.claim_calls)

    def draw(self, k: int) -> SampledLine:
        signs = np.eye(self.flat.size)[k] if self.axes else draw_signs(self.rng, self.flat.size)
        return SampledLine(self.flat, signs * self.flat.scales, np.zeros((0, len(self.flat.f0))), self.drift)

    def first_look(self) -> None:
        """Take the calls that are enough for a derivative that agrees. Raises OutOfCallsError."""
        flat = self.flat
        if self.own_steps is None and self.left >= PLAN - 1:
            self.drift = np.abs(flat.f0 - flat.value_again())
        steps = [PAIRS * REACH if self.left >= 6 else PAIRS[1:] * REACH / 10]
        if self.own_steps is not None:
            steps = [self.own_steps]
        elif not flat.claim.capabilities.costly and self.left == math.inf:
            steps *= CHEAP_DIRECTIONS
        elif self.left >= PLAN - 2:
            steps.append(PAIRS[1:] * REACH)
        steps = steps[: flat.size] if self.axes else steps
        self.lines = [self.draw(k) for k in range(len(steps))]
        values = [line.pairs(h) for line, h in zip(self.lines, steps, strict=True)]
        up, down = values[0]
        self.claimed = ClaimedRows(flat, self.rng, np.abs(up[0] - down[0]) + 1e6 * self.rounding())
        self.along = [self.claimed.along(line.direction) for line in self.lines]
        for line in self.lines:
            line.weights = self.claimed.weights
        for k, (line, h) in enumerate(zip(self.lines, steps, strict=True)):
            trusted = None if len(h) != 2 else self.trust() if k else 1.0
            self.slopes.append(line.best(h) if len(h) > 3 else line.romberg(h, trusted))

    def trust(self) -> np.ndarray:
        """Return the part of its last change that two steps are to be feared to be off by.

        The first direction, of the same function over the same steps, tells how much a third step changes.
        """
        three, two = self.lines[0].romberg(PAIRS * REACH), self.lines[0].romberg(PAIRS[1:] * REACH, 1.0)
        return 10 * np.abs(three.value - two.value) / np.maximum(two.error, TINY)

    def rounding(self) -> np.ndarray:
        return np.maximum(self.flat.unit * np.abs(self.flat.f0), self.drift)

    def noise(self) -> float:
        size = np.abs(self.claimed.weights) @ np.abs(self.flat.f0)
        return max(float((slope.noise / np.maximum(size, TINY)).max(initial=0.0)) for slope in self.slopes)

    def compare(self, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return claimed products along direction k, how far they are off, and how far they may be."""
        claimed, slope = self.along[k], self.slopes[k]
        room = self.claimed.room(self.lines[k].direction, claimed, slope.error, min(self.noise(), 1e-6))
        return claimed, np.abs(claimed - slope.value), room

    def excess(self, k: int) -> np.ndarray:
        """Return how far products along direction k are off, in units of what they may be."""
        _, gap, room = self.compare(k)
        return np.nan_to_num(gap / np.maximum(room, TINY), nan=np.inf)

    def agrees(self, k: int) -> bool:
        claimed, gap, most = self.compare(k)
        return bool(np.isfinite(claimed).all() and (gap <= most).all() and not self.slopes[k].kinked.any())

    @property
    def agree(self) -> bool:
        return all(map(self.agrees, range(len(self.lines))))

    def hideable(self) -> np.ndarray:
        """Return the largest change over an element's scale that could hide from every direction: (R,)."""
        compared = map(self.compare, range(len(self.lines)))
        hidden = [(gap + room) / (1 if self.axes else LEAST_MOVE) for _, gap, room in compared]
        return np.max(hidden, axis=0) if self.axes else np.min(hidden, axis=0)

    def effects(self) -> np.ndarray:
        return self.claimed.effects(self.along[0])

    def tolerable(self) -> np.ndarray:
        """Return the largest change that may hide: 2 % of every element that matters beside the largest: (R,)."""
        effects = self.effects()
        matter = effects > SMALL_EFFECT * effects.max(axis=1, keepdims=True, initial=0.0)
        least = COARSE * np.where(matter, effects, np.inf).min(axis=1, initial=np.inf)
        changes = np.max([line.change() for line in self.lines], axis=0)
        beside_zeros = np.maximum(1e4 * self.rounding(), SMALL_EFFECT * changes)
        return np.where(np.isfinite(least), least, np.abs(self.claimed.weights) @ beside_zeros)

    @property
    def settled(self) -> bool:
        """Whether the claim is right: it agrees, and nothing that matters could hide."""
        return self.agree and bool((self.hideable() <= self.tolerable()).all())

    def look_longer(self) -> None:
        """Look with more calls along the directions that do not settle it. Raises OutOfCallsError."""
        enough = self.tolerable() * LEAST_MOVE / (4 * MARGIN)
        for k, line in enumerate(self.lines):
            if self.agrees(k) and (self.hideable() <= self.tolerable()).all():
                continue
            self.searched = True
            slope = line.search(enough if self.agrees(k) else np.maximum(enough, self.compare(k)[1] / 100))
            use = (slope.error < self.slopes[k].error) | (slope.resolved & (not self.agrees(k)))
            merged = Slope(*(np.where(use, b, a) for a, b in zip(self.slopes[k], slope, strict=True)))
            self.slopes[k] = merged._replace(kinked=self.slopes[k].kinked & ~(slope.resolved & line.is_straight()))

    def calls_for_noise(self) -> int | None:
        """Return how many calls would average noise as far as is needed; None where no number would.

        Fits, before they were made, are taken to know eight times as much as the first look.
        """
        wanted = float((self.hideable() / np.maximum(self.tolerable(), TINY)).max()) / (1 if self.searched else 8)
        made = self.flat.claim.budget.made
        calls = max(self.plan, made) + PER_FIT * (4 + AVERAGED_FITS + 3 * min(wanted, LIMIT) ** 2)
        return int(float(f"{calls:.1e}")) if calls < LIMIT else None

    def calls_for_search(self) -> int:
        """Return how many calls are enough to find a wrong element."""
        rounds = math.ceil(math.log2(max(self.flat.size, 2)))
        return self.plan + PER_FIT * (len(self.lines) * (len(WIDTHS) + 3) + 2 * rounds + len(WIDTHS) + 4)

    def products(self) -> tuple[tuple[float, float, float], ...]:
        """Return claimed and numeric product and numeric error along each direction, at the furthest apart."""
        rows = []
        for k, slope in enumerate(self.slopes):
            worst = int(np.argmax(self.excess(k)))
            rows.append((float(self.along[k][worst]), float(slope.value[worst]), float(slope.error[worst])))
        return tuple(rows)

    def inputs(self, verdict: str) -> tuple[InputCheck, ...]:
        flat, hidden, effects, digits, most = self.flat, self.hideable(), self.effects(), 17.0, 0.0
        for k, line in enumerate(self.lines):
            claimed, gap, _ = self.compare(k)
            relative = gap / np.maximum(self.claimed.size(line.direction, claimed), TINY)
            digits, most = min(digits, digits_of(float(relative.max()))), max(most, float(gap.max()))
        checks = []
        for k, name in enumerate(flat.claim.wrt):
            columns = flat.columns(k)
            by_element, scales = self.claimed.rows is not None, flat.scales[columns]
            mine = effects[:, columns] if by_element else effects
            largest = (mine / (scales if by_element else scales.max(initial=0.0))).max(axis=1, initial=0.0)
            known = largest > 0
            least = scales.min(initial=np.inf)  # an element with a small scale hides the largest error
            resolution = float((hidden[known] / least / largest[known]).max()) if known.any() else None
            counted = verdict == "pass" and self.claimed.single
            small = int(((mine > 0) & (COARSE * mine < hidden[:, None])).sum()) if counted else 0
            below = float(hidden.max() / least) if small else 0.0
            shape, error = flat.arrays[k].shape, resolution or 0.0
            elements = filter(None, map(self.element, range(columns.start, columns.stop)))
            worst = max(elements, default=None, key=lambda w: abs(w.analytic - w.numeric) / max(w.numeric_error, TINY))
            checks.append(InputCheck(name, shape, verdict, most, error, digits, resolution, worst, small, below))
        return tuple(checks)

    def element(self, i: int) -> Element | None:
        """Return what is known of one element, where a direction is along it."""
        if not self.axes or i >= len(self.lines):
            return None
        j, scale, slope = int(np.argmax(self.excess(i))), float(self.flat.scales[i]), self.slopes[i]
        values = float(self.along[i][j]) / scale, float(slope.value[j]) / scale, MARGIN * float(slope.error[j]) / scale
        return self.flat.worst(j if self.claimed.single else None, i, *values)

    def report_partial(self, begin: int, end: int) -> None:
        """Report whether directions agreed so far, and of which inputs elements took part in those that did not."""
        claim, edges = self.flat.claim, self.flat.edges
        names = [n for n, b, e in zip(claim.wrt, edges, edges[1:], strict=False) if b < end and begin < e]
        agreed = "agreed so far" if self.agree else f"disagreed so far in {' or '.join(names)}"
        claim.progress.report_partial(f"directions {agreed}")

    def outcome(self, verdict: str, message: str = "", needed: int | None = None) -> Outcome:
        return Outcome(verdict, self.inputs(verdict), self.products(), message, needed=needed)


def is_cheap(flat: Flat) -> bool:
    """Return whether every element is to be looked at by itself where something is suspicious."""
    return flat.size <= MOST_ELEMENTS or (not flat.claim.capabilities.costly and flat.size * flat.seconds < PATIENCE)


def too_few(flat: Flat, needed: int | None, bought: str = "") -> str:
    """Return that a budget does not decide, what it bought, and which one would decide."""
    most = flat.claim.budget.allowed
    text = "1 call (--calls) does not decide" if most == 1 else f"{most} calls (--calls) do not decide"
    return f"{text}{bought}; " + (f"{needed} would" if needed else "no number would")


def could_hide(look: Directions) -> str:
    hidden, largest = look.hideable(), look.effects().max(axis=1)
    if not largest.all():
        return f"an element that changes values by {hidden.max():.2g} could hide"
    return f"an element off by {(hidden / largest).max():.2g} of the largest could hide"


def short_of_calls(look: Directions) -> Outcome:
    most = look.flat.claim.budget.allowed or 0
    needed: int | None = look.plan if look.plan > most else look.calls_for_search()
    if not look.agree and most >= look.calls_for_search():  # what that takes was had: averages took it
        needed = None
    elif look.agree:
        needed = look.calls_for_noise()
        if most < look.plan:  # of noise nothing is known yet
            needed = max(look.plan, min(needed or LIMIT, look.calls_for_search()))
    needed = needed if needed is None else max(needed, most + PLAN)
    digits = min((item.digits for item in look.inputs("inconclusive")), default=0.0)
    bought = f": directions agree to {digits:.1f} digits, {could_hide(look)}"
    return look.outcome("inconclusive", too_few(look.flat, needed, bought if look.agree else ""), needed)


def too_noisy(look: Directions) -> Outcome:
    """Return that noise hides what matters, and how many calls would average it."""
    needed = look.calls_for_noise()
    more = f"; averaged over about {needed} calls (--calls) it would" if needed else ""
    noise = f"values scatter by about {look.noise():.1g} relative"
    text = f"{noise}: {could_hide(look)}, so that it does not decide{more}"
    return look.outcome("inconclusive", text, needed)


TAYLOR_STEPS = 2.0 ** -np.arange(3, 19, 2)  # eight steps, each a quarter of the one before, in units of the scale of x
RATE_STEPS = 4  # the smallest steps that are not spoilt, from which the rate is taken
BEYOND_NOISE = 10.0  # how many times the noise of the values a remainder is beyond doubt


def taylor_of(look: Directions) -> Taylor:
    """Return the remainders along the first direction, and the rate of those that noise does not spoil."""
    line, flat, claimed = look.lines[0], look.flat, look.along[0]
    up, down = (values @ line.weights.T for values in line.pairs(TAYLOR_STEPS))
    base = line.weights @ flat.f0
    remainders = np.linalg.norm(up - base - TAYLOR_STEPS[:, None] * claimed, axis=1)
    even = up + down - 2 * base  # falls by 16 from step to step, but for noise
    measured = np.abs(even[1:] - even[:-1] / 16)[-3:].max(axis=0)
    noise = np.linalg.norm(np.maximum(line.floor(*line.pairs(TAYLOR_STEPS)), measured / 2))
    own = ROUNDING * look.claimed.unit * np.linalg.norm(look.claimed.size(line.direction, claimed))
    clear = np.isfinite(remainders) & (remainders > BEYOND_NOISE * noise + own * TAYLOR_STEPS)
    rows: list[TaylorRow] = []
    before: tuple[float, float] | None = None
    for step, remainder, good in zip(TAYLOR_STEPS.tolist(), remainders.tolist(), clear.tolist(), strict=True):
        steeper = before is not None and good and (before[1] / remainder, before[0] / step)
        rate = float(np.log(steeper[0]) / np.log(steeper[1])) if steeper else None
        rows.append(TaylorRow(step, remainder, rate, not good))
        before = (step, remainder) if good else None
    if clear.sum() < 2:
        return Taylor(tuple(rows), None)
    last = np.flatnonzero(clear)[-RATE_STEPS:]
    return Taylor(tuple(rows), float(np.polyfit(np.log(TAYLOR_STEPS[last]), np.log(remainders[last]), 1)[0]))
