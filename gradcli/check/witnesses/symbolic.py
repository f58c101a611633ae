"""The witness of formulas: sympy's derivative of what the program computes on symbols."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...results.checks import Finding
from ...tape.modes import no_grad
from ..judgement.digits import digits_of
from ..subjects.second import SecondOrder
from ..subjects.tensor_function import Traced
from .answers import ROUNDED, Witnessed


def by_formulas(subject: Traced, blocks: dict[str, np.ndarray], witnessed: Witnessed) -> None:
    """Compare the engine's derivative with sympy's."""
    import sympy

    from ...analysis.compare_formulas import compare_with_engine as compared
    from ...analysis.symbolic_run import MAX_SYMBOLS, TIMEOUT, as_expressions
    from ...analysis.symbolic_run import derive_in_time as patient
    from ...analysis.symbolic_run import drop_jumps as cleaned
    from ...exact.symbolic import symbols_for

    total = sum(np.size(x) for x in subject.at.values())
    if total > MAX_SYMBOLS:
        raise ValueError(f"the inputs have {total} elements; formulas are made for at most {MAX_SYMBOLS}")
    if not all(np.isfinite(x).all() for x in subject.at.values()):
        raise ValueError("an input holds nan or infinity")

    def work() -> Any:
        symbols = {name: symbols_for(name, np.shape(x)) for name, x in subject.at.items()}
        out = formula_of(subject, symbols)
        point = {
            s: sympy.Rational(float(x))
            for name, array in symbols.items()
            for s, x in zip(as_expressions(array).ravel().tolist(), np.ravel(subject.at[name]).tolist(), strict=True)
        }
        parts = [
            (
                name,
                out.shape + symbols[name].shape,
                [
                    cleaned(sympy.diff(e, s))
                    for e in out.ravel().tolist()
                    for s in as_expressions(symbols[name]).ravel().tolist()
                ],
            )
            for name in subject.wrt
        ]
        return compared(parts, point, blocks)

    for item in patient(TIMEOUT, work):
        block = np.abs(np.asarray(blocks[item.name]))
        largest = float(np.max(block[np.isfinite(block)], initial=0.0)) or 1.0
        error = item.error / largest
        witnessed.digits.append((f"symbolic {item.name}", digits_of(error)))
        witnessed.notes += [f"{item.name}: {note}" for note in item.notes]
        if not item.agrees and not any(note.startswith(ROUNDED) for note in witnessed.notes):
            witnessed.findings.append(Finding("symbolic", f"sympy's formula for {item.name} disagrees", item.name))


def formula_of(subject: Traced, symbols: dict[str, Any]) -> np.ndarray:
    """Return the formulas of a function's output."""
    import sympy

    from ...analysis.symbolic_run import as_expressions
    from ...exact.record import exactly
    from ...exact.symbolic import Symbolic
    from ...tape.tensor import Tensor

    if isinstance(subject, SecondOrder):
        first = formula_of(subject.first, {name: x for name, x in symbols.items() if name != subject.vector})
        vector = as_expressions(symbols[subject.vector]).ravel().tolist()
        total = sum((v * e for v, e in zip(vector, first.ravel().tolist(), strict=True)), sympy.Integer(0))
        inputs = [s for name in subject.first.wrt for s in as_expressions(symbols[name]).ravel().tolist()]
        return np.array([sympy.diff(total, s) for s in inputs], object)
    with exactly(Symbolic()), no_grad():
        return as_expressions(subject.call([Tensor._wrap(s, None) for s in symbols.values()])._data)
