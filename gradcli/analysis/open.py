"""Open a target for commands that differentiate it: by an engine, or with --numeric from its values."""

from __future__ import annotations

from ..claims.open import load_program
from ..program.base import Program
from ..program.target import Target


def open_program(target: Target) -> Program:
    """Return the program of a target. Raises GradcliError."""
    if target.request.numeric:
        from .numeric_program import NumericProgram

        return NumericProgram(target)
    return load_program(target)
