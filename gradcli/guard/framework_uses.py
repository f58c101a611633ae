"""Claims for uses of custom derivatives in frameworks: at the arguments of a call, or at random ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..check.formula_points import positive_definite
from ..claims.adapters.framework import framework_call
from ..claims.claim import Claim
from ..program.arguments import as_array
from ..request import SHORT_TYPES
from .solver_uses import describe_change, is_close, signature_parameters


def call_arguments(use: Any) -> dict[str, Any]:
    if hasattr(use.function, "_schema"):  # an operator of torch.library
        names = [argument.name for argument in use.function._schema.arguments]
    else:
        parameters = signature_parameters(getattr(use.claim, "forward", use.claim))
        names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        if use.kind == "torch":
            from ..claims.adapters.torch import has_torch_setup

            names = names if has_torch_setup(use.claim) else names[1:]  # without the context
    names += [f"argument {i}" for i in range(len(names), len(use.args))]
    return dict(zip(names, use.args, strict=False))


DRAWS: dict[str, Callable[[np.random.Generator, Sequence[int]], np.ndarray]] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "between 0 and 1": lambda rng, shape: rng.random(shape),
    "positive definite": lambda rng, shape: positive_definite(1 + rng.random(shape)),
}
"""Kinds of random points: most functions have values at one of them, such as at probabilities or covariances."""


def drawn_uses(use: Any) -> list[Any]:
    """Return a use whose arguments had no values in the run at a random point of each kind; any other use as it is."""
    if not use.drawn:
        return [use]
    return [use._replace(args=draw_arguments(use.args, draw), drawn=kind) for kind, draw in DRAWS.items()]


DRAWN = "checked at random points of the same shapes, because torch.compile passed no values in the run"


def draw_arguments(args: Sequence[Any], draw: Callable[[np.random.Generator, Sequence[int]], np.ndarray]) -> list[Any]:
    rng = np.random.default_rng(0)

    def value(x: Any) -> Any:
        if type(x).__name__ != "Drawn":
            return x
        dtype = np.dtype("float32" if x.dtype == "bfloat16" else x.dtype)
        return np.asarray(draw(rng, x.shape) if dtype.kind in "fc" else np.ones(x.shape), dtype)

    return list(map(value, args))


def framework_claim(use: Any, title: str) -> Claim:
    """Return a function with a custom derivative, at the arguments of a call, as its framework runs it."""
    given = call_arguments(use)
    wrt = [name for name, wanted in zip(given, use.wrt, strict=False) if wanted]
    claim = framework_call(use.kind, use.function, given, title, wrt=wrt)
    claim.seen = given, use.seen or ()
    claim.notes = (*claim.notes, *([DRAWN] if use.drawn else ()))
    claim.doubt = doubt_of_value(claim, use.value or ())
    return claim


MOST_ROOM = 0.1  # relative difference between values in a short type, such as bfloat16, and in float64: a choice


def doubt_of_value(claim: Claim, then: Sequence[Any]) -> tuple[str, str] | None:
    """Describe how the function's value differs from that in the run; None if not at all.

    then: arrays or numbers of the run.
    """
    arrays = [x for x in map(as_array, then) if x is not None and x.dtype.kind in "fc"]
    if not arrays or any(x.dtype.kind == "c" for x in arrays):
        return None
    value = np.concatenate([x.reshape(-1).astype(float) for x in arrays])
    short = any(str(getattr(x, "dtype", "")).rpartition(".")[2] in SHORT_TYPES for x in then)
    unit = max(np.finfo(x.dtype).eps for x in arrays)
    now = claim.value_here().reshape(-1)
    if now.shape != value.shape or is_close(value, now, MOST_ROOM if short else 1e3 * unit):
        return None
    again = claim.value(claim.at).reshape(-1)
    return describe_change("function", list(claim.at.values()), value, now, again)
