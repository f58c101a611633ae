"""`out=`: PyTorch's functions that write their result into a tensor that is given."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ..tape.inplace import update
from ..tape.modes import state
from ..tape.tensor import Tensor


def with_out(function: Any) -> Any:
    """Return a function that takes out= as well; what is no plain function, or has that argument, stays as it is."""
    if not isinstance(function, FunctionType):
        return function
    plain: Any = getattr(function, "__wrapped__", function)
    if "out" in plain.__code__.co_varnames[: plain.__code__.co_argcount + plain.__code__.co_kwonlyargcount]:
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not kwargs or "out" not in kwargs:
            return function(*args, **kwargs)
        out = kwargs.pop("out")
        return function(*args, **kwargs) if out is None else written(function, args, kwargs, out)

    return call


def written(function: Callable, args: tuple, kwargs: dict, out: Any) -> Any:
    """Write a result, or several, into given tensors. Raises RuntimeError where a gradient would be lost."""
    outs = out if isinstance(out, tuple | list) else (out,)
    if state.grad and any(isinstance(x, Tensor) and x.requires_grad for x in (*args, *kwargs.values(), *outs)):
        raise RuntimeError(
            f"{function.__name__}(): functions with out=... arguments don't support automatic differentiation, but "
            "one of the arguments requires grad."
        )
    result = function(*args, **kwargs)
    results = result if isinstance(result, tuple | list) else (result,)
    for target, value in zip(outs, results, strict=True):
        if target.numel() == 0 and value.numel():
            target.data = value.to(target.dtype)
        else:
            update(target, functools.partial(lambda x: x, value))
    return out


__all__ = ["with_out"]
