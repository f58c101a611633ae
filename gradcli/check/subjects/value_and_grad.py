"""Functions that return value and gradient together, as scipy.optimize.minimize(jac=True) takes them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .subject import CheckError, callable_name


def value_and_gradient(f: Callable) -> tuple[Callable, Callable]:
    """Return the two functions that one is which returns (value, gradient)."""

    def part(which: int) -> Callable:
        @functools.wraps(f)
        def call(*arguments: Any, **named: Any) -> Any:
            pair = f(*arguments, **named)
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                what = f"{len(pair)} things" if isinstance(pair, tuple | list) else type(pair).__name__
                raise CheckError(f"{callable_name(f)} returned {what}, not (value, gradient)")
            return pair[which]

        return call

    return part(0), part(1)
