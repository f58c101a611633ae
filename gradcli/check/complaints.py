"""Say why a check cannot be run with its options."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..request import ENGINES, EXCLUDES, LEAST_DRAWS, SHORT_TYPES, TYPES, Request


def is_whole(x: Any, least: float = -math.inf) -> bool:
    return isinstance(x, int | np.integer) and not isinstance(x, bool) and bool(x >= least)


def complaints_on_manifolds(request: Request) -> Iterator[str]:
    if request.on and request.order != 1:
        yield "on allows only first derivatives, so order must be 1"
    for name in EXCLUDES["on"].split() if request.on else ():
        if name != "order" and getattr(request, name):
            yield f"{name} cannot be combined with on: it treats the entries of an input as independent"


def complaints_of_estimator(request: Request) -> Iterator[str]:
    if request.stochastic is not None:
        for name in EXCLUDES["stochastic"].split():
            if name != "order" and getattr(request, name) not in (None, False, 0, ()):
                yield f"stochastic checks an estimator, so {name} has no effect: leave it out"
        if request.order != 1:
            yield "stochastic checks first derivatives, so order must be 1"
    level = request.level
    if level is not None and not (isinstance(level, int | float) and 0 < level < 1):
        yield f"level must be a number between 0 and 1, got {level!r}"
    if request.draws is not None and not is_whole(request.draws, LEAST_DRAWS):
        yield f"draws must be a whole number of at least {LEAST_DRAWS}, got {request.draws!r}"
    if request.stochastic is None and (level is not None or request.draws is not None):
        yield "level and draws belong to an estimator: add stochastic"


def complaints(check: Any) -> Iterator[str]:
    request = check.request
    if request.value_and_grad and request.grad is not None:
        yield "value_and_grad means that the function returns its gradient, so grad cannot be given as well"
    if request.elementwise and (request.vjp or request.jvp or not (request.grad or request.value_and_grad)):
        yield "elementwise requires grad or value_and_grad, and cannot be combined with vjp or jvp"
    functions = {"the function to check": check.f, "reference": request.reference or check.f, **request.claims}
    functions |= {} if request.stochastic is None else {"stochastic": request.stochastic}
    for name, x in functions.items():
        if not callable(x) and not (isinstance(x, str) and check.scope and name != "reference"):
            yield f"{name} is {type(x).__name__}, not a function"
    for name, known in (("engine", ENGINES), ("dtype", TYPES)):
        if (x := getattr(request, name)) is not None and x not in known:
            yield f"{name} must be {', '.join(known[:-1])} or {known[-1]}, got {x!r}"
    wrt = request.wrt
    if check.replay and not check.declared and wrt == []:  # the command line left no argument to differentiate
        reason = "constant (--arg)" if request.constants else "whole numbers"
        yield f"all arguments are {reason}, so there is nothing to differentiate"
    if wrt is not None and not (wrt and isinstance(wrt, list | tuple) and all(isinstance(n, str) for n in wrt)):
        yield f"wrt must be a name or a list of names, got {wrt!r}"
    yield from complaints_on_manifolds(request)
    if not isinstance(check.name, str):
        yield f"name must be a string, got {check.name!r}"
    if check.reference is None and request.dtype in SHORT_TYPES:
        yield f"dtype={request.dtype!r} needs reference=, a plain function that computes the same values"
    yield from complaints_of_estimator(request)
    if check.reference is not None and request.order != 1:
        yield "reference compares first derivatives, so order must be 1"
    if not is_whole(request.order, 1) or request.order > 2:
        yield f"order must be 1 or 2, got {request.order!r}"
    for name, least in (("samples", 1), ("search", 0), ("seed", 0), ("calls", 1)):
        x = getattr(request, name)
        if not is_whole(x, least) and not (name == "calls" and x is None):
            yield f"{name} must be a whole number{' above 0' if least else ', not negative'}, got {x!r}"
    if request.calls is not None and request.search:
        yield "search checks many points, but calls is a budget for one: leave one of them out"
    for name in ("eps", "atol", "rtol", "nondet_tol"):
        x = getattr(request, name)
        number = isinstance(x, int | float | np.integer | np.floating) and not isinstance(x, bool)
        if x is not None and not (number and math.isfinite(x) and x >= 0 and (x > 0 or name != "eps")):
            yield f"{name} must be a {'positive' if name == 'eps' else 'nonnegative'} finite number, got {x!r}"
