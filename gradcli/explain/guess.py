"""What a wrong claim on a manifold may be: the derivative, multiplied by known matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..numeric.verdict import MARGIN

PLAIN_FACTORS = (-1.0, 0.5, 2.0, -0.5, -2.0)  # which are simpler than a transpose
CONVENTION_RELATIVE = 1e-6  # by how much a claim may differ from a convention's Jacobian, as in RELATIVE of block.py


class KnownPoint(NamedTuple):
    """The derivative r by the coordinates of one point of a batch, with its error, and the claim a there: (R, n).

    maps: K of each convention of the input, by number. out_maps: the same for the output, inverted. others: adjoints of
    the other inputs of the same kind, by name. between: those of the moves that lead from the point to them.
    """

    a: np.ndarray
    r: np.ndarray
    error: np.ndarray
    maps: list[np.ndarray]
    out_maps: list[np.ndarray]
    others: dict[str, np.ndarray]
    between: dict[str, np.ndarray]
    output: np.ndarray | None  # the output, if every row is known
    value: np.ndarray | None  # the input, if it is on no manifold

    def agrees(self, values: np.ndarray, expected: np.ndarray, error: np.ndarray) -> bool:
        size = float(np.abs(expected).max(initial=0.0))
        return bool(np.all(np.abs(values - expected) <= CONVENTION_RELATIVE * size + MARGIN * error + 1e-300))


Map = Callable[[KnownPoint], np.ndarray]


@dataclass(frozen=True)
class Guess:
    """A claim that would be rows @ r @ columns, times a factor, and transposed. simple: how unlikely it is."""

    kind: str
    text: str
    fix: str
    simple: int
    rows: Map | None = None
    columns: Map | None = None
    factor: float = 1.0
    transposed: bool = False

    def explains(self, known: KnownPoint) -> bool:
        """Return whether the claim is what the guess says, and that is not what is declared."""
        expected, error = known.r, known.error
        if self.rows is not None:
            rows = self.rows(known)
            expected, error = rows @ expected, np.abs(rows) @ error
        if self.columns is not None:
            columns = self.columns(known)
            expected, error = expected @ columns, error @ np.abs(columns)
        expected, error = self.factor * expected, abs(self.factor) * error
        if self.transposed:
            # a factor alone is simpler
            if any(known.agrees(known.a, c * known.r, known.error) for c in PLAIN_FACTORS):
                return False
            changed = self.rows is not None or self.columns is not None or self.factor != 1
            if changed and known.agrees(known.r, expected, error + known.error):  # a transpose alone, in other words
                return False
            expected, error = expected.T, error.T
        return known.agrees(known.a, expected, error) and not known.agrees(known.r, expected, error)

    def within(self, word: str) -> str:
        """Return the text for a claim that is a multiple or the transpose of this one. word: such as "half of "."""
        if self.text.startswith("the claim is "):
            return f"the claim is {word}{self.says}"
        return f"the claim is {word}what it should be, and {self.text.removeprefix('the claim ')}"

    @property
    def says(self) -> str:
        """What the claim is, without "the claim is"."""
        return self.text.removeprefix("the claim is ")
