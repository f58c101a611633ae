"""The values that options accept: counts, numbers, names, lists and shapes."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Container, Iterator, Mapping
from functools import partial
from typing import Any

import click

from ..errors import GradcliError
from ..lang.limits import MOST_AXES, as_written

SMALLEST_STEP = sys.float_info.min
MOST_COUNTED = 10**30
"""The bound for counts that only the machine limits."""


class Count(click.types.IntParamType):
    """A whole number, which may be written as 1e6. It has bounds, so that no count makes a command hang."""

    def __init__(self, most: int, *, least: int = 1):
        self.min, self.max = least, most

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        try:
            count = int(value)
        except ValueError:
            short = re.fullmatch(r"(\d+)[eE]\+?(\d{1,2})", str(value))
            if short is None:
                self.fail(f"{value!r} is not a whole number", param, ctx)
            count = int(short[1]) * 10 ** int(short[2])
        if not self.min <= count <= self.max:
            bounds = f"between {self.min} and {self.max}" if self.max < MOST_COUNTED else f"{self.min} or more"
            self.fail(f"{value} is not {bounds}", param, ctx)
        return count


def as_finite(ctx: Any, param: Any, value: Any, positive: bool = False) -> float | None:
    """Return a finite number of at least 0 (above 0 if positive), or None."""
    if value is None:
        return None
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number < 0 or (positive and not number):
        message = f"'{value}' is not a finite number {'above 0' if positive else 'of at least 0'}"
        raise click.BadParameter(message, ctx, param)
    return number


as_positive = partial(as_finite, positive=True)


def as_step(ctx: Any, param: Any, value: Any) -> float | None:
    """Return a step of finite differences, or None. Steps below the smallest normal number have too few digits."""
    step = as_positive(ctx, param, value)
    if step is not None and step < SMALLEST_STEP:
        raise click.BadParameter(f"'{value}' is below {SMALLEST_STEP:.2g}, the smallest step", ctx, param)
    return step


def as_level(ctx: Any, param: Any, value: Any) -> float | None:
    """Return a probability above 0 and below 1, or None."""
    level = as_positive(ctx, param, value)
    if level is not None and level >= 1:
        raise click.BadParameter(f"'{value}' is not a probability below 1, such as 1e-6", ctx, param)
    return level


def as_pass(ctx: Any, param: Any, text: str | None) -> int | None:
    """Return the number of a run of backward, counted from 1; 0 for `last`; None without the option."""
    if text is None:
        return None
    if text == "last":
        return 0
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise click.BadParameter(f"'{text}' is neither 'last' nor a number of at least 1", ctx, param)
    return int(text)


def as_steps(ctx: Any, param: Any, text: str | None) -> tuple[int, ...] | None:
    """Return the numbers of a list such as 1,2,100 in rising order; None without the option."""
    if text is None:
        return None
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdecimal() and int(word) for word in words):
        raise click.BadParameter(f"'{text}' is not a list of numbers of at least 1, such as 1,2,100", ctx, param)
    return tuple(sorted(set(map(int, words))))


def as_name(ctx: Any, param: Any, given: Any) -> Any:
    """Return the name or names of an option, normalized like the names of a program."""
    if given is None:
        return None
    return as_written(given) if isinstance(given, str) else tuple(as_written(name) for name in given)


def once(ctx: Any, param: Any, values: tuple[str, ...]) -> str | None:
    if len(values) > 1:
        raise click.BadParameter("given more than once", ctx, param)
    return values[0] if values else None


def one_or_all(ctx: Any, param: Any, values: tuple[str, ...]) -> Any:
    """Return None, the value, or the tuple of several values of a repeatable option."""
    return values if len(values) > 1 else next(iter(values), None)


def as_names(ctx: Any, param: Any, values: tuple[str, ...]) -> list[str] | None:
    """Return comma-separated names of one option or several; None without the option."""
    if any(not text.strip(", ") for text in values):
        raise click.BadParameter("no names given", ctx, param)
    return [name.strip() for name in as_written(",".join(values)).split(",") if name.strip()] if values else None


def as_share(ctx: Any, param: Any, text: str) -> tuple[int, int]:
    first, _, second = text.partition("/")
    if not (first.isdecimal() and second.isdecimal() and 1 <= int(first) <= int(second)):
        raise click.BadParameter(f"'{text}' is not K/N with K from 1 to N, such as 3/16", ctx, param)
    return int(first), int(second)


def as_delimiter(ctx: Any, param: Any, text: str | None) -> str | None:
    """Return the character that separates cells; a tab may be written \\t."""
    character = "\t" if text == "\\t" else text
    if character is not None and (len(character) != 1 or character.isalnum() or character in "+-._\"'\r\n"):
        raise click.BadParameter(f"'{text}' cannot separate cells; use one character, such as ';'", ctx, param)
    return character


def split_shapes(
    texts: tuple[str, ...], values: Container[str], symbolic: bool
) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the text, name and lengths of each --shape. symbolic: lengths may be names. Raises GradcliError."""
    known: set[str] = set()
    for text in texts:
        name, sign, lengths = text.partition("=")
        name = as_written(name.strip() if symbolic else name)
        parts = [p.strip() for p in lengths.strip().removesuffix(",").split(",")] if lengths.strip() else []
        if symbolic:
            right = all(p.isidentifier() or (p.isdecimal() and int(p)) for p in parts)
        else:
            right = all(p.isdecimal() and p.isascii() for p in parts)
        if not sign or not name or not right:
            example = "--shape A=m,n --shape x=n" if symbolic else "--shape x=3,4"
            raise GradcliError(f"--shape {text}: write NAME=LENGTHS", hint=f"for example {example}")
        if name in known:
            raise GradcliError(f"--shape: '{name}' is given twice")
        if name in values:
            raise GradcliError(f"'{name}' is given a value and a shape", hint="give one of them")
        known.add(name)
        yield text, name, parts


def shapes_of(texts: tuple[str, ...], limit: int, values: Container[str]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of --shape x=3,4 (x= for a number) by name. Raises GradcliError, also for names with values."""
    shapes: dict[str, tuple[int, ...]] = {}
    for text, name, parts in split_shapes(texts, values, symbolic=False):
        if len(parts) > MOST_AXES:
            raise GradcliError(f"--shape {name}: {len(parts)} axes, but NumPy allows only {MOST_AXES}", kind="limit")
        shapes[name] = tuple(map(int, parts))
        if math.prod(shapes[name]) > limit:
            raise GradcliError(
                f"--shape {text}: it would have {math.prod(shapes[name])} elements; the limit is {limit}",
                hint="raise it with --max-elements if there is enough memory",
                kind="limit",
            )
    return shapes


def dimensions_of(texts: tuple[str, ...], values: Mapping[str, Any]) -> dict[str, tuple[int | str, ...]]:
    """Return the shapes of --shape A=m,n and of values by name; lengths are numbers or names. Raises GradcliError."""
    shapes: dict[str, tuple[int | str, ...]] = {}
    for text, name, parts in split_shapes(texts, values, symbolic=True):
        if len(parts) > 2:
            message = f"--shape {text}: --matrix supports only numbers, vectors and matrices"
            raise GradcliError(message, hint="give at most two lengths", kind="shape")
        shapes[name] = tuple(int(p) if p.isdecimal() else as_written(p) for p in parts)
    given = {name: tuple(value.shape) for name, value in values.items()}
    if deep := [name for name, shape in given.items() if len(shape) > 2]:
        raise GradcliError(f"'{deep[0]}' has {len(given[deep[0]])} axes; --matrix supports at most two", kind="shape")
    return shapes | given
