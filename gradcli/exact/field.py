"""Fields of exact numbers, and object arrays of them that work with NumPy's functions."""

from __future__ import annotations

import ast
import contextlib
import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..rules.exact import NoTwinError, box, map_elements
from ..rules.table import BY_NUMPY, Primitive
from ..tape.record import recorder

OPERANDS = ("x", "y", "z")


class Literal(float):
    """A number in a program, with its source text or the name of the constant."""

    text: str

    def __new__(cls, value: float, text: str) -> Literal:
        self = super().__new__(cls, value)
        self.text = text
        return self


class Field:
    """A kind of exact number. functions: names that twins may use. constants: names that programs may use."""

    advice = ""  # what to do if an operation has no formula
    functions: Mapping[str, Any]
    constants: Mapping[str, Any]
    lazy_pieces = True  # whether Piecewise in a twin becomes Python's `a if c else b`
    sorts_rows = False  # whether elimination chooses pivots with `choose`, because no size is known
    # Subclasses define these:
    number: Callable[[Any], Any]  # converts a number to an element, a Literal from its text
    input_array: Callable[[str, Any], Any]  # the exact array for an input: its value, or symbols
    as_float: Callable[[Any], float | None]  # rounds an element to a float; None if it is not a real number
    is_element: Callable[[Any], bool]
    is_complex: Callable[[Any], bool]  # whether an element has the complex type, even if its imaginary part is 0
    parts: Callable[[Any], tuple[Any, Any]]
    compare: Callable[[str], Callable | None]  # a comparison or logical operation; None to use NumPy's
    partial: Callable[[Primitive, int, tuple, dict], Any]  # the derivative of an elementwise operation

    def is_condition(self, x: Any) -> bool:
        return isinstance(x, bool | np.bool_)

    def as_number(self, x: Any) -> Any:
        """Convert a condition to 1 or 0; return a number unchanged."""
        return self.number(x)

    def as_constant(self, x: Any) -> Any:
        return x

    def ufunc(self, function: Any) -> Callable | None:
        """Return a function of elements that replaces a function of NumPy or scipy.special, or None."""
        return None

    def decide(self, condition: Any) -> bool:
        """Report whether a condition holds. Raises GradcliError if that cannot be decided."""
        return bool(condition)

    def as_complex(self, x: Any) -> Any:
        """Convert an element of an array that contains a complex number."""
        return x

    def choose(self, condition: Any, x: Any, y: Any) -> Any:
        """Return x if a condition (True, False, or a relation of this field) holds, else y."""
        return x if condition else y

    def guard(self, function: Callable, primitive: Primitive, params: dict) -> Callable:
        """Wrap a twin to handle poles and branches."""
        return function

    def twin(self, primitive: Primitive, params: dict) -> tuple[Callable, tuple]:
        """Return the twin of an elementwise entry as a function of elements, and its extra arguments.

        The extra arguments follow the operands. They are parameters, and may be arrays. Raises NoTwinError.
        """
        text = primitive.twin if primitive.twin_of is None else primitive.twin_of(params) or primitive.twin
        if text is None:
            raise NoTwinError(f"{primitive.name} has no formula")
        operands = OPERANDS[: primitive.arity]
        code, names = compile_twin(text, operands, self.function_names, self.lazy_pieces)
        given = {**params, **dict(zip(sorted(names), params.get("order", ()), strict=False))}
        function = eval(code, {"__builtins__": {"abs": abs}, **self.functions})
        return self.guard(function, primitive, params), tuple(np.asarray(given[n]) for n in names)

    @functools.cached_property
    def function_names(self) -> frozenset[str]:
        return frozenset(self.functions)


class _Lazy(ast.NodeTransformer):
    """Turns Piecewise((a, c), (b, True)) into `a if c else b`."""

    def visit_Call(self, node: ast.Call) -> Any:
        node = self.generic_visit(node)  # type: ignore[assignment]
        if not (isinstance(node.func, ast.Name) and node.func.id == "Piecewise"):
            return node
        pieces = [piece.elts for piece in node.args if isinstance(piece, ast.Tuple)]
        result = pieces[-1][0]
        for value, condition in reversed(pieces[:-1]):
            result = ast.IfExp(condition, value, result)
        return result


@functools.cache
def compile_twin(text: str, operands: tuple[str, ...], functions: frozenset[str], lazy: bool) -> tuple[Any, tuple]:
    """Compile a twin (from the table, never from a user) to a lambda. Return it and its extra arguments."""
    tree = ast.parse(text, mode="eval")
    body = _Lazy().visit(tree.body) if lazy else tree.body
    read = (n.id for n in ast.walk(body) if isinstance(n, ast.Name))
    names = tuple(dict.fromkeys(n for n in read if n not in operands and n not in functions and n != "abs"))
    head: Any = ast.parse(f"lambda {', '.join(operands + names)}: 0", mode="eval")
    head.body.body = body
    return compile(ast.fix_missing_locations(head), f"<twin {text}>", "eval"), names


CONDITIONS = "less less_equal greater greater_equal equal not_equal logical_and logical_or logical_not"
EXACT_COMPARISONS = {
    **{getattr(np, name): name for name in [*CONDITIONS.split(), "isnan", "isinf", "isfinite", "signbit"]},
    np.bitwise_and: "logical_and", np.bitwise_or: "logical_or", np.invert: "logical_not",
}  # fmt: skip
EXACT_REDUCTIONS = {np.maximum: "maximum", np.minimum: "minimum", np.fmax: "maximum", np.fmin: "minimum"}


class ExactArray(np.ndarray):
    """An object array whose elements belong to the current field.

    NumPy's elementwise functions use the twins of their table entries. The rest of NumPy works as on any object array;
    its results are converted to ExactArray again.
    """

    record_level = 0

    @staticmethod
    def __record__(primitive: Primitive, operands: tuple, params: dict) -> Any:
        return recorder().compute(primitive, operands, params)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        field: Field = recorder().field
        plain = tuple(as_plain(x) for x in inputs)
        if method == "__call__":
            result = self._call(field, ufunc, plain, options)
        else:
            combine = None
            if ufunc in EXACT_REDUCTIONS and not field.lazy_pieces:
                combine = np.frompyfunc(field.functions[EXACT_REDUCTIONS[ufunc]], 2, 1, identity=None)
                options.pop("initial", None)
            elif ufunc in (np.logical_and, np.logical_or) and not field.lazy_pieces:
                combine = np.frompyfunc(field.compare(ufunc.__name__), 2, 1, identity=None)  # type: ignore[arg-type]
            result = getattr(combine or ufunc, method)(*plain, **options)
        if out is not None:
            as_plain(out[0])[...] = as_plain(result)
            return out[0]
        return exact(result)

    def _call(self, field: Field, ufunc: Any, plain: tuple, options: dict) -> Any:
        own = field.ufunc(ufunc)
        if own is not None:
            return map_elements(own, plain)
        if ufunc in EXACT_COMPARISONS:
            function = field.compare(EXACT_COMPARISONS[ufunc])
            if function is not None:
                return settle_conditions(map_elements(function, plain))
        elif ufunc in BY_NUMPY and BY_NUMPY[ufunc].kind == "elementwise":
            function, _ = field.twin(BY_NUMPY[ufunc], {})
            return map_elements(function, plain)
        return ufunc(*plain, **options)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is np.where and len(args) == 3:
            return exact(map_elements(recorder().field.choose, tuple(as_plain(x) for x in args)))
        if function is np.clip and len(args) == 3:
            return np.minimum(np.maximum(args[0], args[1]), args[2])
        args, kwargs = as_plain(args), {k: as_plain(v) for k, v in kwargs.items()}
        if function is np.argsort:  # sort nan last, which Python's comparisons do not do
            infinite = recorder().field.number(np.inf)
            args = (map_elements(lambda e: infinite if e != e else e, args[:1]), *args[1:])
        if function is np.argpartition:  # which valid order it returns depends on type and processor
            with contextlib.suppress(TypeError):  # not convertible: the comparison raises a clear error
                args = (map_elements(float, args[:1]).astype(float), *args[1:])
        return exact(function(*args, **kwargs))

    @property
    def is_complex(self) -> bool:
        is_complex = recorder().field.is_complex
        return any(is_complex(e) for e in as_plain(self).ravel().tolist())

    @property  # type: ignore[misc]
    def real(self) -> ExactArray:  # type: ignore[override]
        """Real parts; NumPy would treat all objects as real."""
        if not self.is_complex:
            return self
        parts = recorder().field.parts
        return exact(map_elements(lambda e: parts(e)[0], (as_plain(self),)))

    @property  # type: ignore[misc]
    def imag(self) -> ExactArray:  # type: ignore[override]
        parts = recorder().field.parts
        return exact(map_elements(lambda e: parts(e)[1], (as_plain(self),)))

    def __getitem__(self, key: Any) -> Any:
        return exact(np.ndarray.__getitem__(self, key))

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, np.ndarray) and value.dtype == object and not value.ndim:
            value = value.item()  # else NumPy would store the array itself as an element
        np.ndarray.__setitem__(self, key, value)


def as_plain(x: Any) -> Any:
    """Convert an ExactArray to a plain object array, also inside tuples and lists."""
    if isinstance(x, ExactArray):
        return x.view(np.ndarray)
    if type(x) in (tuple, list):
        return type(x)(as_plain(part) for part in x)
    return x


def exact(x: Any) -> Any:
    """Convert object arrays and elements to ExactArray, also inside tuples and lists; leave the rest unchanged."""
    if isinstance(x, ExactArray):
        return x
    if isinstance(x, np.ndarray):
        return unbox(x).view(ExactArray) if x.dtype == object else x
    if type(x) in (tuple, list):
        return type(x)(exact(part) for part in x)
    if isinstance(x, tuple):
        return type(x)(*(exact(part) for part in x))
    field = recorder().field
    return box(x).view(ExactArray) if field is not None and field.is_element(x) else x


def unbox(x: np.ndarray) -> np.ndarray:
    """Replace 0-d arrays, which NumPy may store as elements, with the numbers in them."""
    flat = x.ravel().tolist()
    if not any(isinstance(e, np.ndarray) for e in flat):
        return x
    out = np.empty(x.shape, object)
    for i, e in zip(np.ndindex(x.shape), flat, strict=True):
        out[i] = e.item() if isinstance(e, np.ndarray) else e
    return out


def settle_conditions(conditions: np.ndarray) -> np.ndarray:
    decided = all(isinstance(c, bool | np.bool_) for c in conditions.ravel().tolist())
    return conditions.astype(bool) if decided else conditions


def exact_numbers(field: Field, values: Any) -> ExactArray:
    if isinstance(values, Literal):
        return box(field.number(values)).view(ExactArray)
    raw = np.asarray(values)
    if raw.dtype == object:
        return exact(map_elements(lambda x: x if field.is_element(x) else field.number(x), (unbox(as_plain(raw)),)))
    return exact(map_elements(field.number, (raw.astype(object),)))
