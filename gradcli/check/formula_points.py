"""Points at which formulas are compared: random ones, points of small numbers, and points around their constants."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..claims.formula import Formula, FormulaProgram
from ..errors import EXIT_TARGET, GradcliError
from ..lang import tree
from .candidates import MOST_CONSTANTS, Point, is_input_number, joined_inputs, split_point

ATTEMPTS = 200  # random points tried before giving up on one where the function is finite: a choice
DOMAINS = (
    lambda rng, shape: rng.standard_normal(shape),
    lambda rng, shape: np.abs(rng.standard_normal(shape)),
    lambda rng, shape: rng.uniform(-1, 1, shape),
    lambda rng, shape: 1 + np.abs(rng.standard_normal(shape)),
    lambda rng, shape: positive_definite(rng.standard_normal(shape)),
    lambda rng, shape: rng.uniform(0, 10.0 ** rng.integers(1, 5), shape),
    lambda rng, shape: -rng.uniform(0, 10.0 ** rng.integers(0, 5), shape),
)
"""Distributions of random inputs. Later ones are used once the earlier ones gave no finite value."""
SMALL_NUMBERS = (2.0, 3.0, 0.5, 4.0, 1.5, 5.0, 1.0, -2.0, -3.0, -0.5, -4.0, -1.0)
"""Numbers that counterexamples consist of, with those first that hide the least."""
SMALL_POINTS = 60  # points of small numbers at which formulas are compared: a choice
RANDOM_POINTS = 5  # random points used instead if the function is finite at none of those: a choice
MOST_AROUND = 40  # most points around the constants of the formulas: a choice
BEYOND_CONSTANTS = (3.0, 100.0)
"""How many times larger than the largest constant some points are, as a threshold may be a multiple of it: a choice."""
COVERED = (0.1, 1.5)  # sizes of 79% of normally distributed numbers, so that no further points are needed there
APART_NEARBY = 0.02  # relative spread of the numbers near a constant, so that no two are equal: a choice


def positive_definite(x: np.ndarray) -> np.ndarray:
    """Return a positive definite matrix made from a square one; any other array unchanged."""
    return x @ x.T + np.eye(len(x)) if x.ndim == 2 and len(x) == len(x.T) else x


def hides(point: Mapping[str, np.ndarray]) -> tuple[bool, bool]:
    """Return whether a point has negative numbers, and whether it has equal ones or 1: a key to sort points by.

    Many formulas are meant for positive numbers only. At 1, a power or a logarithm does not show, and a mistake that
    puts one input in place of another one does not show if both are equal.
    """
    numbers = joined_inputs(point)
    sizes = np.abs(numbers)
    return bool((numbers.real < 0).any()), bool((sizes == 1).any() or len(np.unique(sizes)) < len(sizes))


def numbers_between(constants: Sequence[float]) -> list[float]:
    """Return numbers between any two neighbours of the constants, their inverses and 0, and numbers beyond, with signs.

    A function that switches branches at one of the constants takes all of its branches at some of these numbers.
    """
    sizes = sorted({size for c in constants for size in (abs(c), 1 / abs(c))})
    if not sizes:
        return []
    between = [float(np.sqrt(a * b)) for a, b in itertools.pairwise(sizes)]
    around = [sizes[0] / BEYOND_CONSTANTS[0], *between, *(sizes[-1] * factor for factor in BEYOND_CONSTANTS)]
    low, high = COVERED
    return [sign * x for x in around if not low < x < high for sign in (1.0, -1.0)]


def with_few_digits(x: np.ndarray) -> np.ndarray:
    return np.array([float(f"{number:.3g}") for number in x.ravel()]).reshape(x.shape)


@dataclass(frozen=True)
class Domain:
    """The points at which formulas are compared. shapes: of the inputs without values, which are random."""

    formulas: FormulaProgram
    claimed: Sequence[Formula]
    shapes: Mapping[str, tuple[int, ...]]

    def draw(self, rng: np.random.Generator) -> Point:
        for attempt in range(ATTEMPTS):
            kinds = {name: DOMAINS[rng.integers(min(attempt + 1, len(DOMAINS)))] for name in self.shapes}
            drawn = {name: kinds[name](rng, shape) for name, shape in self.shapes.items()}
            if self.formulas.request.input_dtype.kind == "c" and 2 * attempt < ATTEMPTS:  # real ones for cholesky
                drawn = {name: x + 1j * rng.standard_normal(x.shape) for name, x in drawn.items()}
            at = self.point_of(drawn)
            if at is not None:
                return at
        hint = "give a point: " + " ".join(f"{name}=1" for name in self.shapes)
        raise GradcliError("no random point was found where the function is finite", hint=hint)

    def point_of(self, drawn: Mapping[str, np.ndarray]) -> Point | None:
        """Return all inputs, with `drawn` for those without values; None if the function is not finite there."""
        try:
            with np.errstate(all="ignore"):
                request = self.formulas.request
                run = self.formulas.program.run({**request.values, **drawn}, out=request.out)
        except GradcliError as error:
            if drawn and error.exit_code == EXIT_TARGET:  # a matrix that is singular, or not positive definite
                return None
            scalars = [name for name, x in drawn.items() if not np.ndim(x)]
            if scalars and error.kind == "shape" and error.hint is None:
                error.hint = f"'{scalars[0]}' has no value, so it is a scalar; for a vector: --shape {scalars[0]}=3"
            raise
        assert run.output is not None
        finite = not drawn or bool(np.isfinite(run.output._data).all())
        return {name: np.array(leaf._data) for name, leaf in run.leaves.items()} if finite else None

    def small_points(self, rng: np.random.Generator) -> list[Point]:
        """Return points of small numbers, those first that hide the least; some may be outside of the domain."""
        like = {name: np.zeros(shape) for name, shape in self.shapes.items()}
        total, points = sum(x.size for x in like.values()), []
        for k in range(SMALL_POINTS if like else 1):
            few = k < len(SMALL_NUMBERS)
            numbers = np.resize(np.roll(SMALL_NUMBERS, -k), total) if few else rng.choice(SMALL_NUMBERS, total)
            points.append(split_point(numbers, like))
        return sorted(points, key=hides) if total else points

    def points(self, seed: int) -> list[Point]:
        """Return points of small numbers where the function is finite, or else random ones with few digits."""
        points = [at for at in map(self.point_of, self.small_points(np.random.default_rng(seed))) if at is not None]
        if points:
            return points
        drawn = [self.draw(np.random.default_rng(seed + k)) for k in range(RANDOM_POINTS)]
        return [self.point_of({name: np.round(at[name], 1) for name in self.shapes}) or at for at in drawn]

    def constants(self) -> list[float]:
        """Return the numbers in the program and in the formulas, and the inputs with values; without 0."""
        trees = (self.formulas.program.parsed, *(formula.parsed for formula in self.claimed))
        statements = (statement.value for parsed in trees for statement in parsed.statements)
        nodes = itertools.chain.from_iterable(value.walk() for value in statements)
        numbers = [node.value for node in nodes if isinstance(node, tree.Number)]
        for x in self.formulas.request.values.values():
            numbers += np.ravel(x).tolist()
        sizes = (abs(float(x)) for x in numbers if is_input_number(x) and x)
        return [*itertools.islice(dict.fromkeys(sizes), MOST_CONSTANTS)]

    def points_around(self, seed: int) -> list[Point]:
        """Return points on both sides of the constants, for all inputs and for one of them, where there is a value."""
        rng, names = np.random.default_rng(seed), [*self.shapes]
        chosen = [names, *([name] for name in names if len(names) > 1)]
        plans = [(moved, number) for number in numbers_between(self.constants()) for moved in chosen]
        if len(plans) > MOST_AROUND:
            plans = [plans[k] for k in sorted(rng.choice(len(plans), MOST_AROUND, replace=False))]
        points = (self.point_of(self.around(moved, number, rng)) for moved, number in plans)
        return sorted((at for at in points if at is not None), key=hides)

    def around(self, moved: Sequence[str], number: float, rng: np.random.Generator) -> Point:
        """Return random inputs without values, of which `moved` are close to a number."""
        point = self.draw(rng) if len(moved) < len(self.shapes) else {}
        point.update({name: number * (1 + APART_NEARBY * rng.standard_normal(self.shapes[name])) for name in moved})
        return {name: with_few_digits(point[name]) for name in self.shapes}
