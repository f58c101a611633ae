"""Keep gradients in a file with their errors, and compare later gradients with it."""

from __future__ import annotations

import contextlib
import itertools
import platform
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import __version__
from ..claims.claim import Arrays, CallError, Claim
from ..errors import EXIT_TARGET, GradcliError
from ..lang.limits import enforce
from ..numeric.flat import Flat, arrays_behind
from ..numeric.rows import ON_LINE, neighbours, noise_differences, points_on_line
from ..results.checks import CheckReport
from ..results.studies import Lock, LockComparison, LockDifference, Verification
from .check import Check, as_in_signature, settings_kept
from .search import array_of, plain_of, read_document

ASKED_AGAIN = 5  # points a few rounding units away at which value and gradient are computed again: a choice
SPREAD_FACTOR = 5.0  # the error is this many times the largest change at those points: a choice
SPACINGS = ((1e-3, 1.0), (1e-4, 10.0))  # of nearby points, relative to the inputs, and the weight of each spacing
LOCK_UNITS, LARGEST_UNITS = 32.0, 4.0  # rounding units of a number, and of the largest in its array, as error: a choice
MOST_MOVED = 1_000_000  # elements; larger arrays that a function uses are not moved: a choice
LOCKED_LIBRARIES = ("scipy", "torch", "jax", "autograd", "sklearn", "statsmodels")

NumbersByInput = dict[str | None, np.ndarray]


class LockedNumbers(NamedTuple):
    """Value (under None) and gradients (by input) of a check at a point, and their errors."""

    at: Arrays
    numbers: NumbersByInput
    errors: NumbersByInput


def numbers_of_claim(claim: Claim) -> LockedNumbers:
    flat = Flat(claim)
    numbers = numbers_of(flat, claim.at)
    return LockedNumbers(claim.inputs, numbers, errors_of(flat, numbers))


def numbers_of(flat: Flat, arrays: Mapping[str, np.ndarray]) -> NumbersByInput:
    numbers: NumbersByInput = dict(flat.blocks(flat.matrix(arrays)).items())
    return numbers | {None: np.asarray(flat.claim.value(arrays))}


def errors_of(flat: Flat, numbers: NumbersByInput) -> NumbersByInput:
    """Estimate the errors of the value and the gradients that rounding causes.

    The inputs, and the arrays that the functions use, are moved by up to two of their rounding units, because another
    way to solve a system computes the solution of one that is as close. The error is SPREAD_FACTOR times the largest
    change (or the noise from `scatter_along_line` if larger) plus rounding units of the numbers themselves. The first
    call is at the point itself, so that the error includes differences between repeated calls.
    """
    claim, rng = flat.claim, np.random.default_rng(1)
    most = {name: np.zeros(x.shape) for name, x in numbers.items()}
    constants = [
        x for _, x in arrays_behind(claim) if x.dtype.kind in "fc" and x.flags.writeable and x.size <= MOST_MOVED
    ]
    nearby = ((near, constants) for near in neighbours(claim, ASKED_AGAIN, rng))
    for near, changed in itertools.chain([(claim.at, [])], nearby):
        with contextlib.suppress(CallError), moved_by_rounding(changed, rng):
            for name, x in numbers_of(flat, near).items():
                if x.shape == most[name].shape:
                    change = np.abs(x - numbers[name])
                    most[name] = np.fmax(most[name], np.where(np.isfinite(change), change, 0.0))
    inside = scatter_along_line(flat, numbers)
    own = {}
    for name, x in numbers.items():
        dtype = x.dtype if name is None else claim.at[name].dtype
        unit = max(float(np.finfo(dtype).eps) / 2, claim.capabilities.claim_unit or 0.0)
        size = np.where(np.isfinite(x), np.abs(x), 0.0)
        own[name] = unit * (LOCK_UNITS * size + LARGEST_UNITS * size.max(initial=0.0))
    return {name: SPREAD_FACTOR * np.fmax(most[name], inside[name]) + own[name] for name in numbers}


@contextlib.contextmanager
def moved_by_rounding(arrays: Sequence[np.ndarray], rng: np.random.Generator) -> Iterator[None]:
    """Move arrays by up to two of their rounding units inside the block."""
    kept = [x.copy() for x in arrays]
    try:
        for x in arrays:
            x *= (1 + np.finfo(x.dtype).eps * rng.integers(-2, 3, x.shape)).astype(x.dtype)
        yield
    finally:
        for x, before in zip(arrays, kept, strict=True):
            x[...] = before


def scatter_along_line(flat: Flat, numbers: NumbersByInput) -> NumbersByInput:
    """Return the noise of the numbers along a line, from cancellation inside that moving the inputs does not show.

    Sixth differences of a smooth curve shrink with the spacing; those of noise stay the same.
    """
    least = {name: np.full(x.shape, np.inf) for name, x in numbers.items()}
    for spacing, weight in SPACINGS:
        rows: list[NumbersByInput] = []
        for near in points_on_line(flat.claim, spacing, seed=2):
            with contextlib.suppress(CallError):
                rows.append(numbers_of(flat, near))
        for name, x in numbers.items():
            stack, noise = [row[name] for row in rows if row[name].shape == x.shape], np.zeros(x.shape)
            if len(stack) == len(ON_LINE):
                noise = np.nan_to_num(np.sqrt((noise_differences(np.stack(stack), 6) ** 2).mean(axis=0)), posinf=0.0)
            least[name] = np.fmin(least[name], weight * noise)
    return least


def compute_at(check: Check, at: Mapping[str, Any] | None = None) -> LockedNumbers:
    with check.surroundings, settings_kept(), enforce(check.bound):
        point = check.point(np.random.default_rng(check.request.seed)) if at is None else at
        claim = check.claim(point)
        if check.request.stochastic is None:
            return numbers_of_claim(claim)
        from .stochastic import mean_of

        return LockedNumbers(claim.at, *mean_of(claim, check.request, check.estimator, as_in_signature(check.f, point)))


def by_key(checks: Sequence[Check | CheckReport]) -> list[tuple[tuple[str, str], Check]]:
    """Return checks sorted by file and name; repeated names get a number. Raises GradcliError."""
    seen: Counter[tuple[str, str]] = Counter()
    rows = []
    for check in checks:
        if isinstance(check, CheckReport):
            message = f"{check.file} is skipped: {check.message}" if check.verdict == "skipped" else check.message
            raise GradcliError(message, kind="target", exit_code=EXIT_TARGET)
        key = (check.file or "", check.name)
        seen[key] += 1
        rows.append((key if seen[key] == 1 else (key[0], f"{key[1]}-{seen[key]}"), check))
    return sorted(rows, key=lambda row: row[0])


def write_lock(target: str, checks: Sequence[Check | CheckReport], settings: Mapping[str, Any]) -> Lock:
    entries = []
    for (file, name), check in by_key(checks):
        try:
            known = compute_at(check)
        except CallError as error:
            raise GradcliError(f"{name}: {error}", kind="target", exit_code=EXIT_TARGET) from error
        grads = {key: x for key, x in known.numbers.items() if key is not None}
        entries.append(
            {
                "file": file,
                "check": name,
                "at": {key: plain_of(x) for key, x in known.at.items()},
                "value": plain_of(known.numbers[None]),
                "value_error": plain_of(round_up(known.errors[None])),
                "grad": {key: plain_of(x) for key, x in grads.items()},
                "error": {key: plain_of(round_up(known.errors[key])) for key in grads},
            }
        )
    return Lock(target, settings, library_versions(), tuple(entries))


def round_up(x: np.ndarray) -> np.ndarray:
    """Round errors up to two digits, so that small changes in them do not change the lines of a file."""
    with np.errstate(all="ignore"):
        unit = 10.0 ** (np.floor(np.log10(x)) - 1)
        rounded = np.where(x > 0, np.ceil(x / unit) * unit, 0.0)
    return np.vectorize(lambda e: float(f"{e:.2g}"), otypes=[float])(rounded) if x.size else rounded


def library_versions() -> dict[str, str]:
    """Return the versions of gradcli, Python, NumPy and the libraries in LIBRARIES that are loaded."""
    versions = {"gradcli": __version__, "python": platform.python_version(), "numpy": np.__version__}
    loaded = {name: getattr(sys.modules.get(name), "__version__", None) for name in LOCKED_LIBRARIES}
    return {**versions, **{name: str(version) for name, version in loaded.items() if version is not None}}


def read_lock(path: str) -> Lock:
    hint = "name a file that 'gradcli lock -o' wrote"
    document = read_document(path, "checks", "locked gradients", hint)
    settings, versions, entries = document.get("settings") or {}, document.get("libraries") or {}, document["checks"]
    keys = {"file", "check", "at", "value", "value_error", "grad", "error"}
    try:
        texts = [*settings.get("words", []), *settings.get("shapes", [])]
        texts += [entry[key] for entry in entries for key in ("file", "check")]
        sound = isinstance(versions, dict) and all(keys <= entry.keys() for entry in entries)
    except (AttributeError, TypeError, LookupError):
        texts, sound = [], False
    if not sound or not all(isinstance(text, str) for text in texts):
        raise GradcliError(f"{path} is not a file of locked gradients", hint=hint, kind="file")
    return Lock(str(document.get("target", path)), settings, versions, tuple(entries))


def verify(path: str, locked: Lock, checks: Sequence[Check | CheckReport]) -> Verification:
    present = dict(by_key(checks))
    comparisons = []
    for entry in locked.entries:
        check = present.pop((entry["file"], entry["check"]), None)
        gone = LockComparison(entry["check"], entry["file"] or None, "gone")
        comparisons.append(gone if check is None else compare_with_lock(path, entry, check))
    comparisons += [LockComparison(name, file or None, "new") for file, name in present]
    now = library_versions()
    versions = tuple((n, v, now[n]) for n, v in locked.libraries.items() if n in now and now[n] != v)
    return Verification(path, tuple(sorted(comparisons, key=lambda c: (c.file or "", c.name))), versions)


def compare_with_lock(path: str, entry: Mapping[str, Any], check: Check) -> LockComparison:
    """Compare a check with its entry in the lock. Raises GradcliError if the entry's numbers are not valid."""
    name, file = entry["check"], entry["file"] or None
    try:
        at = {key: array_of(x) for key, x in entry["at"].items()}
        old: NumbersByInput = {None: array_of(entry["value"]), **{key: array_of(x) for key, x in entry["grad"].items()}}
        given = {None: entry["value_error"], **entry["error"]}
        errors = {key: np.broadcast_to(array_of(given[key]), x.shape) for key, x in old.items()}
    except (ValueError, TypeError, AttributeError, KeyError):
        raise GradcliError(f"{path}: the line for {name} does not contain valid numbers", kind="file") from None
    try:
        now = compute_at(check, at)
    except CallError as error:
        return LockComparison(name, file, "error", message=str(error))
    keys = [None, *(key for key in now.numbers if key is not None)]
    shapes = {key or "the value": x.shape for key, x in old.items()}
    present = {key or "the value": now.numbers[key].shape for key in keys}
    if shapes != present:
        return LockComparison(name, file, "changed", message=f"the shapes were {shapes}, and are now {present}")
    outside, worst = furthest(old, errors, now)
    return LockComparison(name, file, "changed" if outside else "same", worst)


def furthest(old: NumbersByInput, errors: NumbersByInput, now: LockedNumbers) -> tuple[bool, LockDifference | None]:
    """Return whether any number is off by more than both errors together, and the one that is furthest off."""
    most, worst = -1.0, None
    for name, x in old.items():
        y, error, new_error = now.numbers[name], errors[name], now.errors[name]
        with np.errstate(all="ignore"):
            gap = np.abs(y - x)
            equal = (x == y) | (np.isnan(x) & np.isnan(y))
            ratio = np.where(equal, 0.0, np.where(np.isnan(gap), np.inf, gap / (error + new_error)))
        if ratio.size and float(ratio.max()) > most:
            place = tuple(int(k) for k in np.unravel_index(int(ratio.argmax()), ratio.shape))
            most = float(ratio[place])
            worst = LockDifference(name, place, x[place], float(error[place]), y[place], float(new_error[place]))
    return most > 1, worst
