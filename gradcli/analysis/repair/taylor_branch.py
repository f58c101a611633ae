"""A branch for a series: a Taylor polynomial near a point where a formula loses digits, the formula elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from ...errors import TimeIsUp
from ...exact.multiprecision import Multiprecision
from ...exact.record import exactly
from ...lang.parse import parse
from ...lang.time_limits import within
from ...program.base import Program
from ..digits import gradient_at
from ..float_error import Exactness
from ..gradient import Request

TERMS = 24
"""Coefficients that are looked for."""
STEP = 12
"""Digits of the distance between the points that they are computed from."""
SURE = 60
"""Digits to which coefficients are known: what is smaller beside the largest is zero."""
SECONDS = 20.0
"""Seconds that the coefficients may take."""
RADII = (1.0, 0.1, 0.01, 1e-3, 1e-4)
"""Where a branch may begin: the farther, the more terms it takes."""


def taylor(program: Program, right: Exactness, centre: float) -> list[Any] | None:
    """Return Taylor coefficients of a program along an input, from its values around a point in many digits.

    The point itself is left out: there the formula may be 0/0. None for a program that is not smooth there.
    """
    count = TERMS + 6
    field = Multiprecision(STEP * count + 2 * SURE, decimal=False)
    mp = field.context
    places = [k for k in range(-(count // 2), count // 2 + 1) if k]
    step = mp.mpf(10) ** -STEP
    values = []
    try:
        with within(SECONDS), exactly(field):
            for k in places:
                at = {**right.given, right.name: mp.mpf(centre) + k * step}
                value = gradient_at(program, at, Request(wrt=[], out=right.request.out), field)[0]
                values.append(value.ravel()[0])
    except TimeIsUp:
        return None
    if not all(map(mp.isfinite, values)):
        return None
    powers = mp.matrix([[mp.mpf(k) ** j for j in range(count)] for k in places])
    scaled = mp.lu_solve(powers, mp.matrix(values))
    small = mp.mpf(10) ** -SURE
    if abs(scaled[count - 1]) > small * max(map(abs, scaled)):  # the differences do not become smaller: a singularity
        return None
    coefficients = [c / step**j for j, c in enumerate(scaled)][:TERMS]
    largest = max(map(abs, coefficients))
    return [c if abs(c) > small * largest else mp.zero for c in coefficients] if largest else None


def centre_of(right: Exactness, at: float) -> float:
    """Return the point near which digits are lost: a whole number close by, else the nearer end of the range."""
    low, high = float(right.x[0]), float(right.x[-1])
    whole = float(round(at))
    return whole if abs(at - whole) <= 0.05 * (high - low) else min(low, high, key=lambda end: abs(end - at))


def series_branches(
    source: str, right: Exactness, centre: float, coefficients: list[Any]
) -> Iterator[tuple[str, str, int]]:
    """Yield programs with a series near a point, farthest branch first: what they are called, text, terms."""
    for radius in RADII:
        terms = terms_for(coefficients, radius, 10.0**-right.full)
        text = None if terms is None else with_branch(source, right.name, centre, radius, coefficients[:terms])
        if text is not None:
            yield f"series within {radius:g} of {centre:g}", text, sum(map(bool, coefficients[:terms]))


def terms_for(coefficients: list[Any], radius: float, unit: float) -> int | None:
    """Return how many coefficients a polynomial needs for value and derivative to be right up to a distance.

    None where those that are known do not suffice.
    """
    sizes = [float(abs(c)) * radius**j for j, c in enumerate(coefficients)]
    slopes = [j * s for j, s in enumerate(sizes)]
    for count in range(1, len(sizes) - 2):
        if sum(sizes[count:]) <= unit / 2 * max(sizes) and sum(slopes[count:]) <= unit / 2 * max(slopes):
            return count
    return None


def with_branch(source: str, name: str, centre: float, radius: float, coefficients: list[Any]) -> str | None:
    """Return a program that takes the polynomial near the centre, and the formula elsewhere.

    The formula gets a harmless input where it is not used: else its infinite derivative times 0 would be nan. None
    where the program's last statement is no plain one.
    """
    program = parse(source)
    last = program.statements[-1]
    if last.index is not None or any(s.target == name for s in program.statements):
        return None
    names = set(re.findall(r"\w+", source))
    near, apart, offset = (unused_name(word, names) for word in ("near", "far", "h"))
    elsewhere = re.sub(rf"(?<![\w.]){re.escape(name)}(?!\w)", apart, source)
    moved = parse(elsewhere).statements[-1].value
    variable = name if not centre else offset
    polynomial = write_polynomial(coefficients, variable)
    lines = [f"{offset} = {name} {'-' if centre > 0 else '+'} {abs(centre)!r}"] if centre else []
    lines += [f"{near} = abs({variable}) < {radius:g}", f"{apart} = where({near}, {centre + radius!r}, {name})"]
    first, formula, rest = elsewhere[: moved.start], elsewhere[moved.start : moved.end], elsewhere[moved.end :]
    body = f"{first}where({near}, {polynomial}, {formula}){rest}"
    return ("\n" if "\n" in source else "; ").join([*lines, body])


def unused_name(word: str, names: set[str]) -> str:
    return word if word not in names else unused_name(word + "_", names)


def write_polynomial(coefficients: list[Any], variable: str) -> str:
    """Return a polynomial as text of the language, with fractions where coefficients are simple ones."""
    text = ""
    for j, c in enumerate(coefficients):
        if not c:
            continue
        fraction = as_fraction(c)
        power = "" if j == 0 else variable if j == 1 else f"{variable}**{j}"
        if fraction is None:
            term = f"{abs(float(c))!r}{'*' + power if power else ''}"
        else:
            p, q = abs(fraction.numerator), fraction.denominator
            head = power if p == 1 and power else f"{p}*{power}" if power else f"{p}"
            term = head if q == 1 else f"{head}/{q}"
        text += f" {'-' if c < 0 else '+'} {term}" if text else f"{'-' if c < 0 else ''}{term}"
    return text or "0"


def as_fraction(x: Any) -> Fraction | None:
    """Return a number of many digits as a fraction of whole numbers, where 60 digits of it say so."""
    mp = x.context
    fraction = Fraction(int(mp.nint(x * mp.mpf(10) ** 100)), 10**100).limit_denominator(10**25)
    right = fraction and abs(mp.mpf(fraction.numerator) / fraction.denominator - x) < abs(x) * mp.mpf(10) ** -60
    return fraction if right else None
