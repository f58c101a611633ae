"""How a check is to be made."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..lang.settings import DEFAULT_MAX_ELEMENTS
from ..lang.time_limits import Bound


class Options(NamedTuple):
    """How a check is to be made.

    order: 2 for second derivatives. samples: points drawn at random, from `seed` on. fast: random directions first,
    elements only on suspicion. calls: how often the function may be called. taylor: begin with the rate of the Taylor
    remainder. tolerances: (eps, atol, rtol) for PyTorch's rule. digits, symbolic: further answers, of so many digits
    and of formulas. search: at how many more points to look for a wrong derivative. engine: what differentiates, None
    for the one that the code leads to. elements: report every element. blame: look for the guilty part after a fail.
    bound: how long it may take. watch: told how far it is, see Subject.
    """

    order: int = 1
    samples: int = 1
    seed: int = 0
    fast: bool = False
    calls: int | None = None
    taylor: bool = False
    tolerances: tuple[float | None, ...] | None = None
    digits: int | None = None
    symbolic: bool = False
    search: int = 0
    engine: str | None = None
    max_elements: int = DEFAULT_MAX_ELEMENTS
    elements: bool = False
    blame: bool = True
    bound: Bound | None = None
    watch: Callable[[str, int, int], None] | None = None

    @property
    def forced(self) -> bool:
        """Whether to begin with directions, however cheap elements are."""
        return bool(self.fast or self.calls or self.taylor)


def tolerances_of(eps: float | None, atol: float | None, rtol: float | None) -> tuple[float | None, ...] | None:
    """Return the tolerances for PyTorch's rule; None where none is given."""
    return None if eps is None and atol is None and rtol is None else (eps, atol, rtol)
