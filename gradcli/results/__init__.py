"""What commands find out, as immutable data. Renderers turn it into text and know nothing else.
Modules beside this one hold what other commands find out.

Arrays are plain ndarrays. Named tuples rather than dataclasses: they cost nothing to import. A result may have,
beside what its renderers read: `arrays`, the numbers in which nan is looked for; `exit_code`; and what is said on
standard error, `notes`, `unused`, `detached`, `anomaly`, `symbolic` and `witnesses`. Tables whose numbers are never
cut are those of `Output.numbers_of`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..errors import EXIT_FAIL, EXIT_INCONCLUSIVE, EXIT_OK, EXIT_TARGET, Span
from .labels import Part, label, value_part

VERDICT_CODES = {"pass": EXIT_OK, "fail": EXIT_FAIL, "error": EXIT_TARGET, "inconclusive": EXIT_INCONCLUSIVE}


def comparison_code(result: Any) -> int:
    """Return the exit code of what formulas, or else a check, say of a result, where that was asked for."""
    if not all(item.agrees for item in getattr(result, "symbolic", ())):
        return EXIT_FAIL
    return next((VERDICT_CODES[report.verdict] for report in getattr(result, "witnesses", ())), EXIT_OK)


class InputGradient(NamedTuple):
    """One input: its value, and the gradient of the output with respect to it, of the same shape.

    grad: None for a leaf of a script that backward never reached, or whose `.grad` the script cleared.
    """

    name: str
    value: np.ndarray
    grad: np.ndarray | None

    @property
    def slope(self) -> np.ndarray:
        return np.zeros_like(self.value) if self.grad is None else self.grad


class Gradients(NamedTuple):
    """The value of an output (None when a script ran backward itself) and its gradients.

    retained: the gradients of intermediate results by name. output: the output's name, where it has one. symbolic
    and witnesses: what formulas and other independent answers say, input by input, where that was asked for.
    anomaly: which operation made a nan, and where, once that was looked for.
    detached: whether the output depends on no input at all. with_value: whether formats that leave the value out are
    to have it. summary: whether the arrays are too many to be shown.
    """

    target: str
    value: np.ndarray | None
    inputs: tuple[InputGradient, ...]
    retained: dict[str, np.ndarray | None]
    output: str | None = None
    symbolic: tuple[Any, ...] = ()
    witnesses: tuple[Any, ...] = ()
    detached: bool = False
    with_value: bool = False
    summary: bool = False
    anomaly: tuple[str, Span | None] | None = None

    @property
    def arrays(self) -> Iterator[Part]:
        yield from value_part(self)
        for item in self.inputs:
            yield f"the gradient of {item.name}", item.slope, partial(label, item.name)

    @property
    def notes(self) -> tuple[str, ...]:
        """What there is to say of a script that leaves no gradient behind."""
        if self.value is not None or any(item.grad is not None for item in self.inputs):
            return ()
        return ("every .grad is none at the end of the script; 'gradcli trace --pass last' shows its last backward",)

    @property
    def exit_code(self) -> int:
        return comparison_code(self)


class Value(NamedTuple):
    """The value of an output, and the output's name, where it has one."""

    target: str
    value: np.ndarray
    output: str | None = None

    @property
    def arrays(self) -> Iterator[Part]:
        return value_part(self)
