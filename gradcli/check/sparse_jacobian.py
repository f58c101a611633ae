"""Large sparse Jacobians of traced functions, all elements at once through few directions.

Inputs that no output shares are moved together, and outputs that no input reaches together are pulled back together:
one number is one element of the Jacobian still (Curtis, Powell and Reid, 1974). Only the good news is decided here:
whatever is open goes to the element by element check.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..errors import GradcliError
from ..func.sparse import color_by_input, color_greedily, grouped_products, lines_and_members, sparsity
from ..show.check_results import InputCheck
from .flat import Flat
from .jacobian import MARGIN, NARROW, compare_pairs
from .noise import scatter_of_values
from .verdict import CAP, FLOOR, ROUNDING, digits_of, room

SHARE = 0.25  # the share of elements that may be non-zero
REACHES = (0.04, 0.012, 0.004)
PAIRS = np.cos(np.pi * np.array([1, 3, 5, 7]) / 18)
RESOLVED = 1e-4  # the relative error up to which an element that agrees is taken as right
SMALL_BESIDE_LARGEST = 1e-3
"""Elements so small beside the largest are right when they agree as far as rounding lets one see."""


def all_right(flat: Flat) -> tuple[InputCheck, ...] | None:
    """Return what was found for each input when every element is right; None when that is not clear."""
    if any(x.dtype != np.float64 for x in flat.arrays) or flat.out_dtype != np.float64:
        return None
    record = flat.claim.record_call(flat.claim.at)  # type: ignore[attr-defined]
    try:
        (pattern,) = sparsity(record.outputs, record.inputs)
    except GradcliError:
        return None
    m, n = len(flat.f0), flat.size
    if pattern is None:
        return None
    matrix = pattern.as_matrix()
    rows, columns = lines_and_members(matrix)
    if not 0 < len(rows) <= SHARE * m * n:
        return None
    by_row, count = color_greedily(matrix.T.tocsr())
    claimed = grouped_products(record, by_row, count, forward=False)[by_row[rows], columns]
    look = GroupedLook(flat, rows, columns, color_by_input(flat.edges, matrix), claimed)
    for reach in REACHES:
        look.take(reach)
        if look.right.all():
            return tuple(look.summary(k) for k in range(len(flat.arrays)))
    return None


class GroupedLook:
    """Differences along groups of inputs, for pairs of row and column: value, error, and which are right."""

    def __init__(self, flat: Flat, rows: np.ndarray, columns: np.ndarray, colours: np.ndarray, claimed: np.ndarray):
        self.flat, self.rows, self.columns, self.colours, self.claimed = flat, rows, columns, colours, claimed
        self.noise = scatter_of_values(flat).max(axis=0)
        self.largest = float(np.abs(claimed).max(initial=0.0))
        self.value, self.error = np.full(len(rows), np.nan), np.full(len(rows), np.inf)
        self.right = np.zeros(len(rows), bool)

    def by_input(self, chosen: np.ndarray) -> list[tuple[list[int], np.ndarray]]:
        """Return which inputs each group of colours moves: colours that move one input each go together."""
        edges = self.flat.edges
        parts = [np.isin(chosen, self.colours[a:b]) for a, b in pairwise(edges)]
        if np.sum(parts, axis=0).max() > 1:
            return [(list(range(len(parts))), np.arange(len(chosen)))]
        return [([k], np.flatnonzero(part)) for k, part in enumerate(parts) if part.any()]

    def take(self, reach: float) -> None:
        flat, open_ = self.flat, np.flatnonzero(~self.right)
        rows, columns, claimed = self.rows[open_], self.columns[open_], self.claimed[open_]
        chosen, k = np.unique(self.colours[columns], return_inverse=True)
        steps = np.concatenate([PAIRS * reach, NARROW])
        x = flat.x
        h = np.abs((x + np.where(x < 0, -1.0, 1.0) * (steps[:, None] * flat.scales)) - x)
        values = np.empty((2, len(steps), len(chosen), len(flat.f0)))
        for inputs, mine in self.by_input(chosen):
            first, last = flat.edges[inputs[0]], flat.edges[inputs[-1] + 1]
            moves = (self.colours[first:last] == chosen[mine][:, None]) * h[:, None, first:last]
            points = np.empty((2, *moves.shape))
            np.add(x[first:last], moves, out=points[0])
            np.subtract(x[first:last], moves, out=points[1])
            outputs = flat.points(points.reshape((-1, last - first)), inputs)
            values[:, :, mine] = outputs.reshape((2, len(steps), len(mine), -1))
        up, down = values.reshape((2, len(steps), -1)).take(k * len(flat.f0) + rows, axis=2)
        base, size = flat.f0[rows], np.abs(claimed)
        slopes = compare_pairs(PAIRS, h[:, columns], up, down, base, flat.unit, self.noise[rows])
        value, error = slopes.value, slopes.error
        agree = slopes.agree | (np.abs(value - self.value[open_]) <= MARGIN * (error + self.error[open_]))
        near = np.abs(claimed - value) <= self.room(error, size)
        small = size + MARGIN * error <= SMALL_BESIDE_LARGEST * self.largest
        seen = (error <= RESOLVED * np.abs(value)) | ((error <= 2 * slopes.rounding) & small)
        still = ((up == base) & (down == base)).all(axis=0) & (claimed == 0)
        good = still | (near & agree & slopes.smooth & seen)
        self.value[open_], self.error[open_], self.right[open_] = value, error, good

    def room(self, error: np.ndarray, size: np.ndarray) -> np.ndarray:
        return room(error, ROUNDING * self.flat.unit * size, FLOOR[8] * size)

    def summary(self, k: int) -> InputCheck:
        flat, columns = self.flat, self.flat.columns(k)
        mine = np.flatnonzero((self.columns >= columns.start) & (self.columns < columns.stop))
        name, shape = flat.claim.wrt[k], flat.arrays[k].shape
        if not len(mine):
            return InputCheck(name, shape, "pass", 0.0, 0.0, CAP, None, None)
        claimed, value, error = self.claimed[mine], self.value[mine], self.error[mine]
        gap, size = np.abs(claimed - value), np.abs(value)
        known = size > MARGIN * error
        relative = np.where(known, gap / np.maximum(size, np.finfo(float).tiny), 0.0)
        i, most = int(np.argmax(relative)), float(relative.max())
        entry = int(self.rows[mine[i]]), int(self.columns[mine[i]])
        worst = flat.worst(*entry, claimed[i], value[i], float(MARGIN * error[i]))
        blind = float((self.room(error, size)[known] / size[known]).max()) if known.any() else None
        return InputCheck(name, shape, "pass", float(gap[known].max(initial=0)), most, digits_of(most), blind, worst)
