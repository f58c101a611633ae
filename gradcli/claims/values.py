"""Open a target for its values alone: whatever runs has them, also where nothing differentiates it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import GradcliError, check_known
from ..program.arguments import arguments_of, by_path, free_inputs, is_under, named_parameters
from ..program.base import Program
from ..program.script import ScriptProgram
from ..program.target import Target, load_named, load_source
from ..request import Request
from ..user.frameworks import engine_of
from ..user.loading import check_callable
from ..user.tracebacks import script_error
from .claim import CallError, Claim
from .hand_written import claim_by_hand
from .open import load_function, open_address
from .recorded import ScriptClaim, Traced

MakeClaim = Callable[[Mapping[str, Any], str | None, Sequence[str] | None], Claim]
"""Makes the claim of a target from values of its inputs, the name of its output, and the names to differentiate."""


def open_values(target: Target) -> tuple[MakeClaim, Program | None, list[str] | None]:
    """Return a function that makes the claim whose values are those of a target, and its program if it has one.

    The claimed derivative is not used. Also returns the names of the inputs, None if they are not known. Raises
    GradcliError.
    """
    request = target.request
    if target.is_address:
        return lambda given, out, wrt: open_address(target.text, request._replace(out=out, wrt=wrt))(given), None, None
    if target.name is None:
        program = load_source(target)
        return lambda given, out, wrt: claim_of_program(program, given, out, wrt), program, None
    function = load_named(target)
    if needs_engine(function, request):
        program = load_function(function, target.text, target.path, request)
        program.constants = request.constants
        make = getattr(program, "make", None)
        return make or (lambda given, out, wrt: claim_of_program(program, given, out, wrt)), program, None
    plain = check_callable(function, target.text)
    return (
        lambda given, out, wrt: plain_claim(plain, target, given, out, wrt),
        None,
        signature_names(plain, target.text),
    )


def signature_names(function: Callable, title: str) -> list[str] | None:
    """Return the names of a function's parameters; None if it has no known signature."""
    try:
        return [p.name for p in named_parameters(function, title)]
    except (TypeError, ValueError):
        return None


def needs_engine(function: Any, request: Request) -> bool:
    """Return whether a framework, or gradcli's engine, must run a function: it takes no plain arrays."""
    if engine_of(function, request.engine) is not None or request.engine is not None:
        return True
    return isinstance(function, type) or hasattr(function, "named_parameters")


def claim_of_program(program: Program, given: Mapping[str, Any], out: str | None, wrt: Sequence[str] | None) -> Traced:
    """Return the claim of a program that gradcli's engine runs."""
    if isinstance(program, ScriptProgram):
        run = program.run(given, wrt=wrt, out=out)
        at = {name: np.array(leaf._data) for name, leaf in run.leaves.items()}
        return ScriptClaim(program, at, out=out)
    call, at = program.as_function(given, out)
    check_known(wrt or (), at, "--wrt")
    free = [name for name in at if name not in program.constants]
    return Traced(call, at, wrt=free if wrt is None else list(wrt), title=program.title)


def plain_claim(
    function: Callable, target: Target, given: Mapping[str, Any], out: str | None, wrt: Sequence[str] | None
) -> Claim:
    """Return the claim of a function of plain arrays; of Tensors, if it cannot be called on plain arrays."""
    if out is not None:
        raise GradcliError("--out names a variable of a program; a function has one output")
    request, title = target.request, target.text
    at = arguments_of(function, by_path(given), title, wrt or ())
    check_known([name for name in wrt or () if not any(is_under(name, head) for head in at)], at, "--wrt")
    names = free_inputs(at, request.constants) if wrt is None else list(wrt)
    claim = claim_by_hand(function, at, {}, names)
    claim.title = title
    try:
        claim.value_here()
    except CallError as error:
        with contextlib.suppress(GradcliError):
            program = load_function(function, title, target.path, request)
            recorded = claim_of_program(program, given, out, names)
            recorded.value_here()
            return recorded
        if error.__cause__ is not None:
            raise script_error(error.__cause__, target.path) from None
        raise
    return claim
