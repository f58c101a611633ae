"""Rewritings of a program, and how many digits each keeps."""

from __future__ import annotations

import functools

import numpy as np

from ...errors import GradcliError
from ...lang.parse import parse
from ...program.base import Program
from ...program.expression import ExpressionProgram
from ...results.precision import Rewriting
from ..float_error import Exactness
from .identities import ways_to_write
from .taylor_branch import centre_of, series_branches, taylor

SHOWN = 6
"""The most rewritings of one kind that are reported."""
BRANCHES = 3
GAIN = 0.5
"""Digits that a rewriting must win, of the value or of the gradient."""


def find_rewritings(program: Program, right: Exactness) -> tuple[Rewriting, ...]:
    """Return a program and the ways to write it that keep more digits, the best first after the program.

    Raises GradcliError for a program that is no expression.
    """
    if not isinstance(program, ExpressionProgram):
        raise GradcliError(
            "--repair rewrites expressions; a script or a function is not rewritten",
            hint="give the formula itself: gradcli precision 'expm1(x)/x' x=1e-12:1 --repair",
            kind="usage",
        )
    source = program.parsed.source.strip()
    search = RewriteSearch(program, right)
    own = search.measure((), source)
    assert own is not None
    rewritings: list[Rewriting] = []
    for names, text in ways_to_write(source, search.runs):
        measured = search.measure(names, text)
        if measured is not None and gains(measured, own):
            rewritings.append(measured)
    rewritings.sort(key=score, reverse=True)
    kept = [own, *rewritings[:SHOWN]]
    for base in (own, *rewritings[:1]):  # a branch where the formula as it is, or the best way to write it, is bad
        kept += [item for item in search.branches(base) if gains(item, base)]
    return own, *sorted(kept[1:], key=score, reverse=True)


def score(item: Rewriting) -> tuple[float, float, int]:
    """Return what makes one rewriting better than another: its worst digits, all of them, its brevity."""
    return round(min(item.value, item.gradient), 1), round(item.value + item.gradient, 1), -len(item.program)


def gains(item: Rewriting, own: Rewriting) -> bool:
    """Return whether a rewriting keeps more digits of the value or of the gradient."""
    return item.value > own.value + GAIN or item.gradient > own.gradient + GAIN


class RewriteSearch:
    """Measures other ways to write a program, against the program's own right values."""

    def __init__(self, program: ExpressionProgram, right: Exactness):
        self.program = program
        self.right = right
        self.measured: dict[str, Rewriting | None] = {}

    def measure(self, names: tuple[str, ...], text: str) -> Rewriting | None:
        """Return a program with the fewest digits of its value and of its gradients; None where it does not run."""
        if text not in self.measured:
            self.measured[text] = self.try_out(names, text)
        return self.measured[text]

    def try_out(self, names: tuple[str, ...], text: str) -> Rewriting | None:
        known = np.array([right is not None for right in self.right.found])
        try:
            other = ExpressionProgram(parse(text), text, self.program.settings, self.program.dtype)
            value, gradients = self.right.count_digits(other)
        except GradcliError:
            return None
        columns = [np.nan_to_num(column[known], nan=0.0) for column in (value, *gradients.values())]
        digits = [float(column.min(initial=self.right.full)) for column in columns]
        return Rewriting(names, text, digits[0], min(digits[1:], default=self.right.full))

    def runs(self, text: str) -> bool:
        """Return whether a program runs and gives the value somewhere: what does not is not rewritten further."""
        return self.measure((), text) is not None

    @functools.cached_property
    def expansion(self) -> tuple[float, list | None]:
        """The point near which most digits are lost, and the program's Taylor coefficients there, if it has any."""
        centre = centre_of(self.right, self.worst_point())
        return centre, taylor(self.program, self.right, centre)

    def branches(self, base: Rewriting) -> list[Rewriting]:
        """Return branches for a series in one way to write a formula, each shorter than any better one."""
        if min(base.value, base.gradient) > self.right.full - 2 * GAIN or self.right.request.out:
            return []
        centre, coefficients = self.expansion
        if coefficients is None:
            return []
        branches = []
        for name, text, terms in series_branches(base.program, self.right, centre, coefficients):
            measured = self.measure((*base.names, name), text)
            if measured is not None:
                branches.append((measured, terms))
        branches.sort(key=lambda item: score(item[0]), reverse=True)
        better = [
            min((terms for _, terms in branches[:i]), default=terms + 1) for i, (_, terms) in enumerate(branches)
        ]
        return [item for (item, terms), fewest in zip(branches, better, strict=True) if terms < fewest][:BRANCHES]

    def worst_point(self) -> float:
        value, gradients = self.right.count_digits(self.program)
        fewest = np.fmin.reduce([value, *gradients.values()])
        return float(self.right.x[np.nanargmin(fewest)])
