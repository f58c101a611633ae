"""Claims for uses of custom derivatives in frameworks: at the arguments of a call, or at random ones."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..claims.adapters.framework import framework_call
from ..claims.claim import CallError, Claim
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


def drawn_claim(use: Any, title: str) -> Claim:
    """Return a function at random arguments of the shapes in the run, between 0 and 1 if normal ones give no value."""
    rng = np.random.default_rng(0)

    def at_point(draw: Callable[[Any], Any]) -> Claim:
        claim = framework_claim(use._replace(args=draw_arguments(use, draw)), title)
        claim.notes = (*claim.notes, DRAWN)
        return claim

    with contextlib.suppress(CallError):
        claim = at_point(rng.standard_normal)
        if np.isfinite(claim.value_here()).all():
            return claim
    return at_point(rng.random)


DRAWN = (
    "checked at a random point of the same shapes, because jit, vmap, scan or torch.compile passed no values in the run"
)


def draw_arguments(use: Any, draw: Callable[[Any], Any]) -> Any:
    def value(x: Any) -> Any:
        if type(x).__name__ != "Drawn":
            return x
        dtype = np.dtype("float32" if x.dtype == "bfloat16" else x.dtype)
        return np.asarray(draw(x.shape) if dtype.kind in "fc" else np.ones(x.shape), dtype)

    if use.kind == "jax":
        import jax

        return jax.tree_util.tree_map(value, use.args)
    return list(map(value, use.args))


def framework_claim(use: Any, title: str) -> Claim:
    """Return a function with a custom derivative, at the arguments of a call, as its framework runs it."""
    given = call_arguments(use)
    wrt = [name for name, wanted in zip(given, use.wrt, strict=False) if wanted]
    claim = framework_call(use.kind, use.function, given, title, wrt=wrt)
    claim.seen = given, use.seen or ()
    claim.doubt = change_of_value(claim, use.value or ())
    return claim


MOST_ROOM = 0.1  # relative difference between values in a short type, such as bfloat16, and in float64: a choice


def change_of_value(claim: Claim, then: Sequence[Any]) -> str:
    """Describe how the function's value differs from that in the run; "" if not at all.

    then: arrays or numbers of the run.
    """
    arrays = [x for x in map(as_array, then) if x is not None and x.dtype.kind in "fc"]
    if not arrays or any(x.dtype.kind == "c" for x in arrays):
        return ""
    value = np.concatenate([x.reshape(-1).astype(float) for x in arrays])
    short = any(str(getattr(x, "dtype", "")).rpartition(".")[2] in SHORT_TYPES for x in then)
    unit = max(np.finfo(x.dtype).eps for x in arrays)
    now = claim.value_here().reshape(-1)
    if now.shape != value.shape or is_close(value, now, MOST_ROOM if short else 1e3 * unit):
        return ""
    return describe_change("function", list(claim.at.values()), value, now)
