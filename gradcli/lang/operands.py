"""What names mean in the language, what its functions take, and how large a value may become."""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
from typing import Any

import numpy as np

from ..errors import GradcliError, did_you_mean
from ..rules import entry, full_table, lookup
from ..rules.shapes import count_product, count_shape, shape_of
from ..rules.table import NAMES, Primitive
from ..tape.dtypes import defaults
from ..tape.operators import recorder_for
from ..tape.record import recorder
from ..tape.tensor import Tensor

CONSTRUCTORS = frozenset("zeros ones full eye identity arange linspace logspace rand randn array".split())
NEEDS_STRINGS = {"einsum"}
SPECIAL = {"array", "const", "rand", "randn", "where"}
SYNONYMS = {"dim": "axis", "keepdim": "keepdims"}


def function_names() -> list[str]:
    full_table()
    return sorted(({name for name, primitive in NAMES.items() if primitive.public} | SPECIAL) - NEEDS_STRINGS)


def find_function(name: str) -> Primitive | None:
    """Return the table's entry for a function of the language, or None."""
    primitive = lookup(name)
    return primitive if primitive is not None and primitive.public and name not in NEEDS_STRINGS else None


def not_called(name: str, span: Any) -> GradcliError:
    return GradcliError(
        f"'{name}' is a value, not a function",
        span=span,
        hint=f"multiply with *: {name}*(...); an element is {name}[0]",
        kind="name",
    )


def advice_for(name: str) -> str:
    near = did_you_mean(name, function_names())
    if name in NEEDS_STRINGS:
        return "the expression language has no strings; write it with @, outer, sum and transpose"
    if name in ("print", "eval", "exec", "open", "input", "range", "len", "import"):
        return "the expression language has mathematical functions only; see 'gradcli ops'"
    if near and not near.endswith("?"):
        return near
    return f"{near} see 'gradcli ops'" if near else "see 'gradcli ops' for all functions"


MOST_ROUNDS = 10_000


RANDOM = {"rand": count_shape, "randn": count_shape}
WORKING = ("convolve", "correlate")
"""Calls whose estimate is the space that they work in, not their result."""


def check_call(name: str, args: tuple, named: dict, limit: int) -> None:
    """Raise GradcliError when a call would make a value of more than `limit` elements, or repeat something too often.

    Where an estimate raises, the call itself will say what is wrong.
    """
    primitive = lookup(name)
    if primitive is not None and primitive.rounds is not None:
        rounds = 0.0
        with contextlib.suppress(Exception):
            rounds = float(primitive.rounds(*args, **named))
        if rounds > MOST_ROUNDS:
            raise GradcliError(
                f"{primitive.name} would take {rounds:g} steps; the limit is {MOST_ROUNDS}",
                hint="write a smaller number",
                kind="limit",
            )
    estimate = RANDOM.get(name) if primitive is None else primitive.size
    if estimate is None and math.prod([getattr(getattr(x, "_data", x), "size", 1) for x in args]) <= limit:
        return  # broadcasting makes no more
    try:
        count = estimate(*args, **named) if estimate else count_product(np.broadcast_shapes(*map(shape_of, args)))
    except Exception:
        return
    if count > limit:
        what = "computing this would take" if name in WORKING else "this value would have"
        raise GradcliError(
            f"{what} {count} elements; the limit is {limit}",
            hint="raise it with --max-elements if there is memory for it",
            kind="limit",
        )


def lift_number(x: Any) -> Tensor:
    """Return a number as a Tensor of the default type; Tensors as they are. Raises GradcliError for the rest."""
    if isinstance(x, Tensor):
        return x
    if recorder().field is not None and isinstance(x, int | float | complex) and not isinstance(x, bool):
        return recorder().lift(x)
    if x is None or x is Ellipsis or isinstance(x, tuple | slice):
        what = {tuple: "a tuple", slice: "a slice"}.get(type(x), "..." if x is Ellipsis else "None")
        raise GradcliError(f"{what} is no number and no array", kind="value")
    if isinstance(x, bool | np.bool_):
        return Tensor._wrap(np.bool_(x), None)
    if isinstance(x, complex):
        return Tensor._wrap(np.complex128(x), None)
    return Tensor._wrap(defaults.float.type(x), None)


MOST_INTEGER = 1 << 63
"""Numbers from here on are no lengths and places."""


def as_argument(x: Any) -> Any:
    """Return an integral number as an int, for axes, lengths and the like; inside tuples too."""
    if isinstance(x, tuple):
        return tuple(as_argument(item) for item in x)
    if isinstance(x, Tensor):
        return recorder().whole_number(x)
    return int(x) if isinstance(x, float) and x.is_integer() and abs(x) < MOST_INTEGER else x


def as_index(x: Any) -> Any:
    """Return one item of an index: whole numbers and arrays of whole numbers become integers."""
    if isinstance(x, slice):
        return slice(*(as_index(part) for part in (x.start, x.stop, x.step)))
    if isinstance(x, tuple):
        return tuple(as_index(item) for item in x)
    if isinstance(x, Tensor):
        if x._data.dtype == object:
            return recorder().whole_numbers(x)
        data = x._data
        if data.dtype.kind == "f" and bool((data == np.floor(data)).all()) and bool(np.isfinite(data).all()):
            return int(data) if data.ndim == 0 else data.astype(np.intp)
        return data if data.ndim else data.item()
    return int(x) if isinstance(x, float) and x.is_integer() else as_argument(x)


def call_entry(primitive: Primitive, args: tuple, named: dict) -> Any:
    """Call an entry of the table; a raw result becomes a Tensor."""
    quick = None if named or len(args) != primitive.arity else recorder_for(primitive)
    result = primitive.function(*args, **named) if quick is None else quick(*args)
    if isinstance(result, tuple):
        return tuple(x if isinstance(x, Tensor) else Tensor._wrap(np.asarray(x), None) for x in result)
    if isinstance(result, Tensor):
        return result
    raw = np.asarray(result)
    return Tensor._wrap(raw.astype(defaults.float) if raw.dtype.kind in "iuf" else raw, None)


def has_nan(x: Any) -> bool:
    raw = x._data if isinstance(x, Tensor) else x
    return isinstance(raw, float | complex | np.ndarray | np.generic) and bool(np.isnan(raw).any())


def on_numbers(name: str, operands: tuple) -> Any:
    """Apply an operator to Python numbers, in floating point: no big integers, no ZeroDivisionError."""
    if any(isinstance(x, tuple) or x is None or x is Ellipsis for x in operands):
        raise TypeError(f"{name} needs numbers or arrays")
    if name == "matmul":
        raise ValueError("matmul: a scalar has no axis to sum over; use *")
    is_boolean = all(isinstance(x, bool) for x in operands)
    values: tuple[Any, ...] = operands
    if name in ("logical_not", "logical_and", "logical_or"):
        values = tuple(bool(x) for x in operands)
    elif not is_boolean or name.startswith(("divide", "floor", "remainder", "power")):
        values = tuple(np.complex128(x) if isinstance(x, complex) else np.float64(x) for x in operands)
    with np.errstate(all="ignore"):
        return entry(name).forward(*values).item()


def flatten_arguments(args: tuple) -> tuple:
    """Return what a guarded call computes with: the operands in a tuple among its arguments count."""
    return tuple(y for x in args for y in (x if isinstance(x, tuple) else (x,)))


def stack_items(items: tuple) -> Tensor:
    """Return a list as an array; numbers and Tensors may be mixed if all rows have one shape."""
    if not any(isinstance(x, Tensor) for x in items) and (recorder().field is None or not items):
        if any(isinstance(x, tuple | slice) or x is None or x is Ellipsis for x in items):
            raise ValueError("a list may hold numbers, arrays and lists only")
        raw = np.array(items)
        return Tensor._wrap(raw.astype(defaults.float) if raw.dtype.kind in "iuf" else raw, None)
    tensors = [lift_number(x) for x in items]
    shapes = {x._data.shape for x in tensors}
    if len(shapes) > 1:
        raise ValueError(f"the rows of a list must have one shape, not {' and '.join(map(str, sorted(shapes)))}")
    return entry("stack").function(tensors)


def special_form(name: str, args: tuple, named: dict) -> Tensor:
    """Evaluate array(x) and const(x)."""
    if len(args) != 1 or named or isinstance(args[0], tuple):
        raise TypeError(f"{name}(x) takes one array or number")
    x = lift_number(args[0])
    return recorder().constant(x) if name == "const" else x


LISTS = frozenset({"xs", "arrays", "choices", "condlist", "choicelist"})
"""Parameters, by the names that entries give them, that take arrays in a list: of several shapes, if they like."""
NESTED = "arrays"
"""The one whose lists may hold lists."""
PLACES = frozenset({"condition", "indices", "index", "indices_or_sections", "kth", "obj", "pad_width", "repeats"})
"""Parameters that take whole numbers or a mask: places and lengths in other arrays."""


@functools.cache
def parameters(primitive: Primitive) -> tuple[str, ...]:
    """Return the names of the parameters that take one positional argument each."""
    given = inspect.signature(primitive.signature_model()).parameters.values()
    return tuple(p.name if p.kind is p.POSITIONAL_OR_KEYWORD else "" for p in given)


def parameter(primitive: Primitive | None, place: int) -> str:
    """Return the name of the parameter that takes the argument at a place; empty where there is none."""
    names = () if primitive is None else parameters(primitive)
    return names[place] if place < len(names) else ""


def as_parameter(name: str, x: Any) -> Any:
    if name in LISTS and isinstance(x, tuple | list):
        return list_arrays(x)
    return as_index(x) if name in PLACES else x


def list_arrays(x: Any) -> Any:
    """Return a list or a tuple with arrays in it; numbers become arrays."""
    return type(x)(list_arrays(item) for item in x) if isinstance(x, tuple | list) else lift_number(x)
