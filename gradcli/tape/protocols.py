"""NumPy's protocols, by which `np.sin(t)`, `np.concatenate([t, x])` and `ndarray * t` are recorded as well.

A function is found in the table by its object, or by its name, because public entries have NumPy's meaning.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..rules import by_fold, by_numpy, by_scipy, entry, lookup
from ..rules.shapes import as_shape
from ..rules.table import Primitive
from .dtypes import as_numpy
from .record import cast, dispatch
from .tensor import Tensor, as_operand, matrix_product


def array_ufunc(self: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Record a call of a NumPy ufunc. Raises TypeError if the graph would be lost."""
    if ufunc is np.matmul and method == "__call__" and not kwargs:
        return matrix_product(*inputs)
    refuse_out(ufunc.__name__, kwargs)
    dtype = kwargs.pop("dtype", None)
    result = NotImplemented
    if method == "__call__":
        result = call_ufunc(ufunc, inputs, kwargs)
    elif method == "outer" and not kwargs:
        x, y = (x if isinstance(x, Tensor) else np.asarray(x) for x in inputs)
        result = call_ufunc(ufunc, (x[(..., *(None,) * y.ndim)], y), {})
    elif (primitive := by_fold(getattr(ufunc, method))) is not None:
        named = {"axis": 0, **without_defaults(REDUCE_DEFAULTS, kwargs)}
        result = reduce_with_where(primitive, inputs, named)
    if result is NotImplemented:
        what = f"np.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
        raise TypeError(f"gradcli cannot record {what}{' with ' + ', '.join(kwargs) + '=' if kwargs else ''}")
    return cast_to(result, dtype)


REDUCE_DEFAULTS = {"keepdims": False, "initial": np._NoValue, "where": True}


def call_ufunc(ufunc: np.ufunc, inputs: tuple, kwargs: dict) -> Any:
    """Call a ufunc's entry. Returns NotImplemented if there is none, or if it does not take these arguments."""
    primitive = entry_of(ufunc)
    if primitive is None:
        return NotImplemented
    if primitive.kind == "composition" or primitive.bind is not None:
        return primitive.function(*inputs, **kwargs)
    return dispatch(primitive, tuple(as_operand(x) for x in inputs)) if not kwargs else NotImplemented


@functools.cache
def entry_of(function: Any) -> Primitive | None:
    """Return the entry for a NumPy function, or a ufunc of scipy.special, or None."""
    primitive = by_numpy(function)
    name = function.__name__
    if primitive is not None:
        return primitive
    if getattr(np, name, None) is function:
        primitive = lookup(name)
    elif getattr(sys.modules.get("scipy.special"), name, None) is function:
        primitive = by_scipy(name)
    return primitive if primitive is not None and primitive.public else None


def array_function(self: Tensor, function: Any, types: Any, args: tuple, kwargs: dict) -> Any:
    """Record a call of a NumPy function. Raises TypeError for functions that are not in the table."""
    if any(not issubclass(t, Tensor | np.ndarray) for t in types):
        return NotImplemented
    plain = PLAIN_FUNCTIONS.get(function)
    if plain is None:
        args, kwargs = by_names(function, args, kwargs)
    if kwargs:
        refuse_out(function.__name__, kwargs)
        kwargs = without_defaults(defaults_of(function), kwargs)
    if plain is not None:
        return plain(*args, **kwargs)
    if function in UNTRACKED:
        return wrap_arrays(function(*map(raw_data, args), **{k: raw_data(v) for k, v in kwargs.items()}))
    primitive = entry_of(function)
    if primitive is None:
        from ..errors import did_you_mean
        from ..rules import full_table

        advice = did_you_mean(function.__name__, full_table()) or "use detach() to compute it outside the graph"
        module = function.__module__.replace("numpy", "np", 1)
        raise TypeError(f"gradcli has no derivative of {module}.{function.__name__}; {advice}")
    kwargs = {k: v for k, v in kwargs.items() if k not in MEMORY}
    dtype = kwargs.pop("dtype", None)
    if dtype is not None and args and isinstance(args[0], Tensor):
        args = (cast_to(args[0], dtype), *args[1:])
    if "where" in kwargs or "initial" in kwargs:
        return cast_to(reduce_with_where(primitive, args, kwargs), dtype)
    return cast_to(wrap_arrays(primitive.function(*args, **kwargs)), dtype)


def refuse_out(name: str, kwargs: dict) -> None:
    """Raise TypeError for out=, which would write into an ndarray."""
    out = kwargs.pop("out", None)
    if out is not None and out is not np._NoValue:
        how = "(out= or an in-place operator on an ndarray): write `a = a + t` instead of `a += t`"
        raise TypeError(f"np.{name} cannot write the result of a Tensor operation into an ndarray {how}")


@functools.cache
def parameters_in_numpy(function: Any) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(function).parameters)
    except ValueError:
        return {}


@functools.cache
def defaults_of(function: Any) -> dict:
    parameters = parameters_in_numpy(function).values()
    known = {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}
    return {"dtype": None, "casting": "same_kind", "order": None, "like": None, **known}


@functools.cache
def shared_places(function: Any) -> int | None:
    """Return how many positional arguments have the same places in NumPy and in the entry; None if all have."""
    theirs, primitive = parameters_in_numpy(function), entry_of(function)
    if primitive is None or any(p.kind is p.VAR_POSITIONAL for p in theirs.values()):
        return None
    code = primitive.signature_model().__code__
    ours = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    for place, name in enumerate(theirs):
        if place >= code.co_argcount:
            return place + bool(code.co_flags & inspect.CO_VARARGS)  # these are one argument in NumPy: a shape
        if name != ours[place] and (name in ours or ours[place] in theirs):
            return place
    return None


def by_names(function: Any, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Return the arguments with NumPy's names, from the first that has another place in the entry."""
    shared = shared_places(function)
    if shared is None or len(args) <= shared:
        return args, kwargs
    names = [*parameters_in_numpy(function)][shared:]
    return args[:shared], {**dict(zip(names, args[shared:], strict=False)), **kwargs}


def without_defaults(defaults: dict, kwargs: dict) -> dict:
    """Drop arguments that equal the function's defaults."""
    usual = {**dict.fromkeys(kwargs, np._NoValue), **defaults}
    given = {k: v for k, v in kwargs.items() if v is not np._NoValue}
    return {k: v for k, v in given.items() if not (v is usual[k] or (type(v) is str and v == usual[k]))}


MEMORY = {"order", "kind", "stable", "casting", "subok"}
"""Arguments that change memory, checks or the way to sort, but no values. (reshape and ravel take their order.)"""
NEUTRAL: dict[str, Any] = {"sum": 0, "prod": 1, "max": -np.inf, "min": np.inf, "all": True, "any": False}
JOIN: dict[str, Callable] = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


def reduce_with_where(primitive: Primitive, args: tuple, kwargs: dict) -> Any:
    """Reduce with NumPy's where= (the elements that take part) and initial= (a starting value)."""
    chosen, initial = kwargs.pop("where", None), kwargs.pop("initial", None)
    name = primitive.name
    if (chosen is not None and name not in NEUTRAL) or (initial is not None and name not in JOIN):
        raise TypeError(f"gradcli cannot record np.{name} with where= or initial=")
    if chosen is None:
        reduced = primitive.function(*args, **kwargs)
    else:
        x = np.where(raw_data(chosen), args[0], np.asarray(NEUTRAL[name], args[0].dtype.dtype))
        reduced = primitive.function(x, *args[1:], **kwargs)
    return reduced if initial is None else JOIN[name](reduced, initial)


def raw_data(x: Any) -> Any:
    """Return a Tensor's data, also inside a list or a tuple; return anything else unchanged."""
    if type(x) in (list, tuple):
        return type(x)(map(raw_data, x))
    return x._data if isinstance(x, Tensor) else x


def wrap_arrays(x: Any) -> Any:
    """Return arrays as Tensors outside the graph, also inside a tuple."""
    if type(x) is tuple:
        return tuple(map(wrap_arrays, x))
    return Tensor._wrap(x, None) if isinstance(x, np.ndarray | np.integer | np.bool_) else x


def cast_to(x: Any, dtype: Any) -> Any:
    return x if dtype is None or not isinstance(x, Tensor) else cast(x, as_numpy(dtype))


def where_function(condition: Any, *choices: Any) -> Any:
    """Record np.where; for a condition alone, return the positions where it is true."""
    return dispatch(entry("where"), (condition, *choices)) if choices else wrap_arrays(np.nonzero(raw_data(condition)))


def reshape_function(x: Tensor, shape: Any, order: str = "C") -> Tensor:
    """Record np.reshape, which takes the elements row by row, or with order="F" column by column."""
    reshape: Any = entry("reshape")
    if order == "C":
        return reshape.function(x, shape)
    if order != "F":
        raise TypeError(f"gradcli cannot record np.reshape with order={order!r}, which depends on the memory")
    return reshape.function(x.T, as_shape(shape)[::-1]).T


PLAIN_FUNCTIONS: dict[Any, Any] = {
    np.where: where_function,
    np.reshape: reshape_function,
    np.ravel: lambda x, order="C": reshape_function(x, -1, order),
    np.shape: lambda x: tuple(x.shape),
    np.ndim: lambda x: x.ndim,
    np.size: lambda x, axis=None: x._data.size if axis is None else x._data.shape[axis],
    np.iscomplexobj: lambda x: x._data.dtype.kind == "c",
    np.isrealobj: lambda x: x._data.dtype.kind != "c",
    np.astype: lambda x, dtype, **_: cast_to(x, dtype),
}
"""NumPy functions that ask about an array rather than compute with it, or have arguments that their entry lacks."""

UNTRACKED = {
    getattr(np, name)
    for name in """
        allclose argpartition argwhere array_equal array_equiv common_type diag_indices_from digitize empty_like
        flatnonzero histogram isclose isin lexsort may_share_memory nanargmax nanargmin nonzero ravel_multi_index
        result_type searchsorted shares_memory tril_indices_from triu_indices_from unravel_index
    """.split()
}
"""NumPy functions that return positions, counts, types or truth values: they are computed outside the graph."""
