"""Other points like a given one: nearby values, and the same inputs in other sizes.

What a formula may rely on is kept: signs, probabilities that add up to 1, labels, unit vectors, rotations, symmetric
matrices, evenly spaced grids.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from ..claims.claim import Arrays

MOVE_STEP = 0.05  # how far elements move, relative to 1 + their size: far from the point, but mostly in the same domain
FAR = 1.7  # how many times larger the elements of a far point are
SPREAD = 0.618  # fraction of the golden ratio: multiples of it, without their whole parts, differ as much as they can
VALUES_ALIKE = 1e-9  # relative error up to which values have a property such as a sum of 1
FEWEST_SPACED = 4  # least length of an evenly spaced grid: three numbers are often typed as 1, 2, 3
LONGER = 1  # how much longer an axis is in another shape


def nearby(at: Arrays, wrt: Sequence[str], sign: float) -> dict[str, np.ndarray]:
    """Return other values for all inputs of floating-point numbers, each element moved by a different fraction.

    The fractions of two inputs differ, too: otherwise x / y would be the same everywhere, and a claim that has x
    instead of y would be off by a constant factor. Inputs that are not differentiated move, too, unless they are
    labels: a forgotten factor may be one of them.
    """
    fixed = {name for name, x in at.items() if is_label(x, name in wrt)}
    if fixed.issuperset(wrt):
        fixed -= {name for name in wrt if at[name].dtype.kind in "fc"}
    starts = dict(zip(at, itertools.accumulate((x.size for x in at.values()), initial=0), strict=False))
    return {name: x if name in fixed else moved(x, sign, name in wrt, starts[name]) for name, x in at.items()}


def faraway(at: Arrays, wrt: Sequence[str]) -> dict[str, np.ndarray]:
    """Return inputs of the same signs and structure, far from the given ones: numbers of both signs are negated.

    A formula that is right in one branch only, such as a missing sign, shows there.
    """
    return {name: x if name not in wrt or is_label(x, True) else far(x) for name, x in at.items()}


def far(x: np.ndarray) -> np.ndarray:
    if x.dtype.kind != "f" or structured(x, MOVE_STEP, np.ones_like(x), True) is not None:
        return moved(x, 2.0)
    if ((x > 0) & (x < 1)).all():
        return np.asarray(1 - x, x.dtype)
    mixed = (x > 0).any() and (x < 0).any()
    return np.asarray(-FAR * x if mixed else FAR * x, x.dtype)


def is_label(x: np.ndarray, differentiated: bool) -> bool:
    """Report whether an input holds whole numbers, truth values or one-hot rows that another value would spoil."""
    if x.dtype.kind not in "fc":
        return True
    whole = x.size > 1 and x.dtype.kind == "f" and bool((x == np.round(x)).all())
    return whole and (not differentiated or bool(np.isin(x, (0.0, 1.0)).all() and x.any()))


def moved(x: np.ndarray, sign: float, differentiated: bool = True, start: int = 0) -> np.ndarray:
    """Return an input moved some distance away, within its signs and structure. start: number of its first element."""
    fractions = 1 + np.modf(SPREAD * np.arange(start, start + x.size))[0].reshape(x.shape)
    with np.errstate(all="ignore"):
        if x.dtype.kind == "c":
            return np.asarray(x + sign * MOVE_STEP * (1 + np.abs(x)) * fractions, x.dtype)
        kept = structured(x, sign * MOVE_STEP, fractions, differentiated)
        if kept is not None:
            return np.asarray(kept, x.dtype)
        if ((x > 0) & (x < 1)).all():
            return np.asarray(x + sign * MOVE_STEP * fractions * x * (1 - x), x.dtype)
        if (x > 0).all() or (x < 0).all():
            return np.asarray(x * np.exp(sign * MOVE_STEP * fractions), x.dtype)
        return np.asarray(x + sign * MOVE_STEP * (1 + np.abs(x)) * fractions, x.dtype)


def structured(x: np.ndarray, step: float, fractions: np.ndarray, differentiated: bool) -> np.ndarray | None:
    """Return a moved input that keeps what its rows or columns have in common; None if they have nothing."""
    if x.ndim and x.shape[-1] > 1:
        total, norm = x.sum(axis=-1, keepdims=True), np.sqrt((x**2).sum(axis=-1, keepdims=True))
        if is_rotation(x):
            return rotated(x, step)
        inside = ((x > 0) & (x < 1)).any()  # one-hot rows would not move
        if inside and (x >= 0).all() and all_near(total, 1):
            wider = x * np.exp(4 * step * fractions)
            return wider / wider.sum(axis=-1, keepdims=True)
        if all_near(norm, 1):
            turned = x + 2 * step * fractions
            return turned / np.sqrt((turned**2).sum(axis=-1, keepdims=True))
    if is_symmetric_input(x):
        n = x.shape[-1]
        mixing = np.eye(n) + step * np.cos(np.arange(n * n)).reshape(n, n)
        both = mixing @ x @ mixing.T
        return (both + np.swapaxes(both, -1, -2)) / 2
    if x.ndim == 1 and len(x) >= FEWEST_SPACED and not differentiated and all_near(np.diff(x), x[1] - x[0]):
        return x * (1 + step)
    return None


def all_near(x: np.ndarray, value: float) -> bool:
    return bool((np.abs(x - value) <= VALUES_ALIKE * abs(value)).all())


def is_symmetric_input(x: np.ndarray) -> bool:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2] or x.shape[-1] < 2 or x.dtype.kind != "f":
        return False
    return bool((np.abs(x - np.swapaxes(x, -1, -2)) <= VALUES_ALIKE * np.abs(x).max(initial=0.0)).all())


def is_rotation(x: np.ndarray) -> bool:
    """Report whether the last two axes are orthogonal matrices."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2] or x.shape[-1] < 2 or not np.isfinite(x).all():
        return False
    return bool((np.abs(x @ np.swapaxes(x, -1, -2) - np.eye(x.shape[-1])) <= 1e2 * VALUES_ALIKE).all())


def rotated(x: np.ndarray, step: float) -> np.ndarray:
    """Multiply orthogonal matrices by a small rotation, by Cayley's formula."""
    n = x.shape[-1]
    upper = np.triu(np.cos(np.arange(n * n)).reshape(n, n), 1) * step
    skew = upper - upper.T
    return x @ np.linalg.solve(np.eye(n) + skew, np.eye(n) - skew)


def resized(at: Arrays, wrt: Sequence[str]) -> Iterator[dict[str, np.ndarray]]:
    """Yield the inputs in other sizes: all lengths longer, then one length at a time.

    Axes of the same length stay of the same length. Lengths of rotations and lengths of 1 stay.
    """
    fixed = {n for x in at.values() if is_rotation(x) for n in x.shape[-2:]}
    lengths = sorted({n for x in at.values() for n in x.shape if n > 1} - fixed)
    attempts = [lengths, *([n] for n in lengths)] if len(lengths) > 1 else [lengths]
    for chosen in attempts if lengths else ():
        yield {name: in_longer_shape(x, chosen, name in wrt) for name, x in at.items()}


def in_longer_shape(x: np.ndarray, lengths: Sequence[int], differentiated: bool) -> np.ndarray:
    """Return an input with longer axes, filled with its own values, moved so that none occurs twice."""
    longer = x
    for axis, n in enumerate(x.shape):
        if n in lengths:
            longer = np.take(longer, np.arange(n + LONGER) % n, axis=axis)
    if longer.shape == x.shape:
        return x
    if is_label(x, differentiated):
        return without_copies(longer, x)
    if x.ndim == 1 and len(x) >= FEWEST_SPACED and not differentiated and all_near(np.diff(x), x[1] - x[0]):
        return np.asarray(x[0] + (x[1] - x[0]) * np.arange(len(longer)), x.dtype)
    if is_symmetric_input(x):
        n = longer.shape[-1]
        added = np.abs(np.trace(x, axis1=-2, axis2=-1)).max() / x.shape[-1] * np.eye(n)
        return np.asarray(moved(longer + added, 1.0), x.dtype)
    rows = x.reshape(-1, x.shape[-1])
    if (x >= 0).all() and all_near(rows.sum(axis=1), 1) and x.shape[-1] > 1:
        longer = longer / longer.sum(axis=-1, keepdims=True)
    elif x.shape[-1] > 1 and all_near(np.sqrt((rows**2).sum(axis=1)), 1):
        longer = longer / np.sqrt((longer**2).sum(axis=-1, keepdims=True))
    return moved(longer, 1.0, differentiated)


def without_copies(longer: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return labels in a longer shape: a new column of one-hot rows holds zeros, other labels repeat."""
    one_hot = x.ndim > 1 and np.isin(x, (0, 1)).all() and (x.sum(axis=-1) == 1).all()
    if one_hot and longer.shape[-1] > x.shape[-1]:
        longer = longer.copy()
        longer[..., x.shape[-1] :] = 0
    return longer


def fresh(at: Arrays, wrt: Sequence[str], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return new numbers of the same signs, sizes and structure for the inputs that are differentiated."""
    return {name: x if name not in wrt or is_label(x, True) else redrawn(x, rng) for name, x in at.items()}


def redrawn(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if x.dtype.kind != "f":
        return np.asarray(x * np.exp(0.3 * rng.standard_normal(x.shape)), x.dtype)
    if structured(x, MOVE_STEP, np.ones_like(x), True) is not None:
        return moved(x, float(rng.uniform(1.0, 3.0)))
    if ((x > 0) & (x < 1)).all():
        return np.asarray(rng.uniform(0.05, 0.95, x.shape), x.dtype)
    if (x > 0).all() or (x < 0).all():
        return np.asarray(x * np.exp(0.4 * rng.standard_normal(x.shape)), x.dtype)
    size = np.sqrt((x**2).mean()) or 1.0
    return np.asarray(1.5 * size * rng.standard_normal(x.shape), x.dtype)
