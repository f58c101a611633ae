"""What is reported of a judgement, input by input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...results.checks import Elements, InputCheck, Line
from ..subjects.flatten import Flat
from .digits import CAP, digits_of
from .verdict import FAIL, HIDDEN, UNSURE, Judgement

LINE = 81
"""Points of the function along the worst element."""
VERDICTS = np.array(["pass", "fail", "inconclusive", "hidden"])


def input_checks(flat: Flat, judgement: Judgement, every: bool = False) -> tuple[InputCheck, ...]:
    """Return what was found, input by input; where every element is wanted, with all of them."""
    checks = tuple(one_input(flat, judgement, k) for k in range(len(flat.subject.wrt)))
    if not every:
        return checks
    return tuple(with_elements(flat, judgement, k, item) for k, item in enumerate(checks))


def with_elements(flat: Flat, judgement: Judgement, k: int, item: InputCheck) -> InputCheck:
    """Return what was found for input k with all its elements, its value, and the function along the worst."""
    every = elements_of(flat, judgement, k)
    line = None
    if item.worst is not None:
        row = every.rows.index((item.worst.output, item.worst.output_part))
        line = line_along(flat, row, int(flat.edges[k]) + every.columns.index((item.worst.place, item.worst.part)))
    return replace(item, elements=every, point=np.array(flat.arrays[k]), line=line)


def line_along(flat: Flat, row: int, column: int) -> Line:
    """Return an output element along an element of x, as far as that is large to either side; nan where it raises."""
    x = float(flat.coordinate(column))
    offsets = np.linspace(-1, 1, LINE) * float(flat.scales[column])
    with np.errstate(all="ignore"):
        value = flat.along(np.full(LINE, column), offsets)[:, row]
    return Line(x + offsets, value, (x, float(flat.f0[row])))


def elements_of(flat: Flat, judgement: Judgement, k: int) -> Elements:
    """Return all elements of input k."""
    columns = range(int(flat.edges[k]), int(flat.edges[k + 1]))
    block = np.s_[:, columns.start : columns.stop]
    return Elements(
        tuple(flat.row(j) for j in range(len(flat.f0))),
        tuple(flat.label(i)[1:] for i in columns),
        judgement.analytic[block],
        judgement.value[block],
        judgement.margin * judgement.error[block],
        VERDICTS[judgement.state[block]],
    )


def one_input(flat: Flat, judgement: Judgement, k: int) -> InputCheck:
    """Return what was found for one input."""
    columns = slice(int(flat.edges[k]), int(flat.edges[k + 1]))
    name, shape = flat.subject.wrt[k], flat.arrays[k].shape
    state, a = judgement.state[:, columns], judgement.analytic[:, columns]
    value, error = judgement.value[:, columns], judgement.error[:, columns]
    if not a.size:
        return InputCheck(name, shape, "pass", 0.0, 0.0, CAP, None, None)
    wrong, hidden = state == FAIL, state == HIDDEN
    verdict = "fail" if wrong.any() else "inconclusive" if (state == UNSURE).any() else "pass"
    at_kink = np.zeros(state.shape, bool)
    for row, places in judgement.kinks.items():
        at_kink[row, [c - columns.start for c in places if columns.start <= c < columns.stop]] = True
    with np.errstate(all="ignore"):
        gap = np.where(np.isfinite(a) | ~np.isfinite(value), np.abs(a - value), np.inf)
        relative = gap / np.abs(value)
        room = judgement.room(error, (slice(None), columns))
        known = np.isfinite(gap) & (np.abs(value) > judgement.margin * error) & ~hidden & ~at_kink
        excess = gap / (error + judgement.slack[:, columns] + np.finfo(float).tiny)
        excess = np.where(hidden, 0.0, excess)
    if wrong.any():
        excess = np.where(wrong, np.where(np.isnan(excess), np.inf, excess), -1.0)
        ties = np.isclose(excess, excess.max()) if np.isfinite(excess.max()) else np.isinf(excess)
        excess = np.where(ties, np.where(np.isnan(relative), np.inf, relative), -1.0)
    j, i = np.unravel_index(int(np.argmax(np.where(np.isnan(excess), -1.0, excess))), a.shape)
    counted = known | (wrong & ~np.isnan(gap))
    most = float(relative[counted].max()) if counted.any() else 0.0
    column = int(flat.edges[k]) + int(i)
    sides = judgement.reference.sides(int(j), column)
    worst = flat.worst(int(j), column, a[j, i], value[j, i], float(judgement.margin * error[j, i]), sides)
    return InputCheck(
        name,
        shape,
        verdict,
        float(gap[counted].max()) if counted.any() else 0.0,
        most,
        digits_of(most),
        float((room[known] / np.abs(value[known])).max()) if known.any() else None,
        worst,
        hidden=int(hidden.sum()),
        hidden_below=float((np.abs(value) + room)[hidden].max()) if hidden.any() else 0.0,
    )
