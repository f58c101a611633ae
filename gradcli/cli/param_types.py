"""What options and arguments accept: numbers, names, and what a shell may offer for them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container
from typing import Any

import click

from ..errors import GradcliError
from ..lang.limits import MOST_AXES, as_written


def import_completion(what: str) -> Callable:
    """Return the completion of that name (in complete.py), to be imported when a shell asks."""

    def call(ctx: click.Context, param: click.Parameter, incomplete: str) -> Any:
        from .complete import offer

        return offer(what, ctx, param, incomplete)

    return call


MOST_COUNTED = 10**30
"""More than any machine counts: the bound of limits that only the machine has."""


class Count(click.IntRange):
    """A whole number, also as 1e6, with a bound on either side, so that no count makes a command hang."""

    def __init__(self, most: int, *, least: int = 1):
        super().__init__(least, most)

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        short = re.fullmatch(r"(\d+)[eE]\+?(\d{1,2})", str(value))
        value = value if short is None else str(int(short[1]) * 10 ** int(short[2]))
        return super().convert(value, param, ctx)


class Finite(click.ParamType):
    """A finite number, zero or more (more than zero if positive)."""

    name = "number"

    def __init__(self, positive: bool = False):
        self.positive = positive

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or number < 0 or (self.positive and not number):
            self.fail(f"'{value}' is no finite number {'above 0' if self.positive else 'from 0 on'}", param, ctx)
        return number


class PassNumber(click.ParamType):
    """The number of a run of backward, from 1, or `last`, which is 0."""

    name = "pass"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        if value == "last":
            return 0
        if not (str(value).isascii() and str(value).isdecimal() and int(value)):
            self.fail(f"'{value}' is neither last nor a number from 1 on", param, ctx)
        return int(value)


def as_name(ctx: Any, param: Any, given: Any) -> Any:
    """Return the name that an option gives, or the names of a repeatable one, as a program's names are read."""
    if given is None:
        return None
    return as_written(given) if isinstance(given, str) else tuple(as_written(name) for name in given)


def once(ctx: Any, param: Any, values: tuple[str, ...]) -> str | None:
    """Return the value of an option that may be given once."""
    if len(values) > 1:
        raise click.BadParameter("it is given twice", ctx, param)
    return values[0] if values else None


def as_names(ctx: Any, param: Any, values: tuple[str, ...]) -> list[str] | None:
    """Return comma-separated names, from one option or several; None where there is none."""
    if any(not text.strip(", ") for text in values):
        raise click.BadParameter("it names nothing", ctx, param)
    return [name.strip() for name in as_written(",".join(values)).split(",") if name.strip()] if values else None


def as_share(ctx: Any, param: Any, text: str) -> tuple[int, int]:
    """Return K and N of K/N: one of N equal shares, counted from 1."""
    first, _, second = text.partition("/")
    if not (first.isdecimal() and second.isdecimal() and 1 <= int(first) <= int(second)):
        raise click.BadParameter(f"'{text}' is no K/N with K from 1 to N, such as 3/16", ctx, param)
    return int(first), int(second)


def shapes_of(texts: tuple[str, ...], limit: int, values: Container[str]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of --shape x=3,4 (x= for a single number) by name. Raises GradcliError, also for values."""
    shapes: dict[str, tuple[int, ...]] = {}
    for text in texts:
        name, sign, lengths = text.partition("=")
        name = as_written(name)
        parts = lengths.strip().removesuffix(",").split(",") if lengths.strip() else []
        if not sign or not name or not all(p.strip().isdecimal() and p.strip().isascii() for p in parts):
            raise GradcliError(f"--shape {text}: write NAME=LENGTHS", hint="for example --shape x=3,4")
        if name in shapes:
            raise GradcliError(f"--shape: '{name}' is given twice")
        if len(parts) > MOST_AXES:
            raise GradcliError(f"--shape {name}: {len(parts)} axes are too many; NumPy has {MOST_AXES}", kind="limit")
        shapes[name] = tuple(int(p) for p in parts)
        if math.prod(shapes[name]) > limit:
            raise GradcliError(
                f"--shape {text}: it would have {math.prod(shapes[name])} elements; the limit is {limit}",
                hint="raise it with --max-elements if there is memory for it",
                kind="limit",
            )
    if both := [name for name in shapes if name in values]:
        raise GradcliError(f"'{both[0]}' is given a value and a shape", hint="give one of them")
    return shapes
