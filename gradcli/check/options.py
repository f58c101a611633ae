"""How a check is to be made, and the points that it draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..lang.limits import DEFAULT_MAX_ELEMENTS, Bound
from ..program.claim import CallError
from ..program.detect_framework import ADAPTED


class Options(NamedTuple):
    """How a check is to be made.

    order: 2 for second derivatives. samples: points drawn at random, from `seed` on. fast: random directions first,
    elements only on suspicion. calls: how often the function may be called. taylor: begin with the rate of the Taylor
    remainder. tolerances: (eps, atol, rtol) for PyTorch's rule. digits, symbolic: further answers, of so many digits
    and of formulas. search: at how many more points to look for a wrong derivative. engine: what differentiates, None
    for the one that the code leads to. elements: report every element. blame: look for the guilty part after a fail.
    bound: how long it may take. watch: told how far it is, see Claim.
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


MOST_AXES = 64


def is_whole(x: Any, least: int) -> bool:
    """Return whether something is a whole number and not below another."""
    return isinstance(x, int | np.integer) and not isinstance(x, bool) and bool(x >= least)


def is_tolerance(x: Any, positive: bool) -> bool:
    if not isinstance(x, int | float | np.integer | np.floating) or isinstance(x, bool):
        return False
    return bool(math.isfinite(x) and (x > 0 or (x == 0 and not positive)))


def is_shape(x: Any) -> bool:
    """Return whether a value of `at` is a shape: a tuple of whole numbers."""
    return isinstance(x, tuple) and all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in x)


def complaints(check: Any) -> Iterator[str]:
    """Yield what is wrong with the arguments of a check."""
    options = check.options
    given = {name: x for name, x in (("grad", check.grad), ("vjp", check.vjp), ("jvp", check.jvp)) if x is not None}
    if check.value_and_grad and check.grad is not None:
        yield "value_and_grad says that the function returns its gradient, so grad has no use"
    for name, x in {"what is checked": check.f, **given}.items():
        if not callable(x):
            yield f"{name} is {type(x).__name__}, not a function"
    if options.engine is not None and options.engine not in (*ADAPTED, "gradcli"):
        yield f"engine must be torch, jax, autograd or gradcli, got {options.engine!r}"
    wrt = check.wrt
    if wrt is not None and not (wrt and isinstance(wrt, list | tuple) and all(isinstance(n, str) for n in wrt)):
        yield f"wrt must be a name or a list of names, got {wrt!r}"
    if check.given_name is not None and not isinstance(check.given_name, str):
        yield f"name must be a string, got {check.given_name!r}"
    if not is_whole(options.order, 1) or options.order > 2:
        yield f"order must be 1 or 2, got {options.order!r}"
    if not is_whole(options.samples, 1):
        yield f"samples must be a whole number above 0, got {options.samples!r}"
    if not is_whole(options.search, 0):
        yield f"search must be a whole number, not negative, got {options.search!r}"
    if not is_whole(options.seed, 0):
        yield f"seed must be a whole number, not negative, got {options.seed!r}"
    if options.calls is not None and not is_whole(options.calls, 1):
        yield f"calls must be a whole number above 0, got {options.calls!r}"
    if options.calls is not None and options.search:
        yield "search looks at many points, and calls is a budget for one: leave one of them out"
    for name, x in zip(("eps", "atol", "rtol"), options.tolerances or (), strict=False):
        if x is not None and not is_tolerance(x, positive=name == "eps"):
            yield f"{name} must be a {'positive' if name == 'eps' else 'nonnegative'} finite number, got {x!r}"


def point_of(at: Any, rng: np.random.Generator, limit: int) -> dict[str, Any]:
    """Return the arrays of a point, shapes replaced by random numbers. Raises CallError."""
    if at is None:
        at = {}
    if not isinstance(at, Mapping):
        raise CallError(f"at must be a dict of arrays by name, got {type(at).__name__}")
    if not at:
        raise CallError("no inputs: at names no array")
    for name, x in at.items():
        if not isinstance(name, str):
            raise CallError(f"at must be a dict of arrays by name; {name!r} is no name")
        if is_shape(x):
            refuse_shape(name, x, limit)
    return {name: rng.standard_normal(x) if is_shape(x) else x for name, x in at.items()}


def refuse_shape(name: str, shape: tuple[int, ...], limit: int) -> None:
    """Raise CallError for a shape that cannot be, or whose array would be too large."""
    if any(n < 0 for n in shape):
        raise CallError(f"at: '{name}' has the shape {shape}, with a negative length")
    if len(shape) > MOST_AXES:
        raise CallError(f"at: '{name}' has {len(shape)} axes; NumPy has {MOST_AXES}")
    size = math.prod(map(int, shape))
    if size > limit:
        raise CallError(
            f"at: '{name}' of shape {shape} would have {size} elements; the limit is {limit} (see --max-elements)"
        )
