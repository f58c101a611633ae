"""Run a parsed program on Tensors. A program can call only functions of the table, and nothing else in Python."""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import EXIT_TARGET, GradcliError, NotBatchableError, did_you_mean
from ..request import Request
from ..rules import entry, full_table, lookup
from ..rules.shapes import as_shape, count_product, count_shape, shape_of
from ..rules.table import NAMES, Primitive, rename_keywords
from ..tape.dtypes import defaults
from ..tape.modes import state
from ..tape.operators import recorder_for, recorders
from ..tape.record import recorder
from ..tape.tensor import Tensor
from . import tree
from .limits import CONSTANTS, out_of_memory

CONSTRUCTORS = frozenset("zeros ones full eye identity arange linspace logspace rand randn array".split())
NEEDS_STRINGS = {"einsum"}
SPECIAL_FORMS = {"array", "const", "rand", "randn", "where"}
SYNONYMS = {"dim": "axis", "keepdim": "keepdims"}


def function_names() -> list[str]:
    full_table()
    return sorted(({name for name, primitive in NAMES.items() if primitive.public} | SPECIAL_FORMS) - NEEDS_STRINGS)


def find_function(name: str) -> Primitive | None:
    primitive = lookup(name)
    return primitive if primitive is not None and primitive.public and name not in NEEDS_STRINGS else None


def not_called(name: str, span: Any) -> GradcliError:
    message = f"'{name}' is a value, not a function"
    return GradcliError(message, span=span, hint=f"multiply with *: {name}*(...); index with {name}[0]", kind="name")


def advice_for(name: str) -> str:
    from .reword import written_instead

    if instead := written_instead(name):
        return instead
    near = did_you_mean(name, function_names())
    if name in NEEDS_STRINGS:
        return "the expression language has no strings; write it with @, outer, sum and transpose"
    if name in ("print", "eval", "exec", "open", "input", "import"):  # rather than suggest a similar name
        return "the expression language has only mathematical functions; see 'gradcli ops'"
    return f"{near} see 'gradcli ops'" if near else "see 'gradcli ops' for all functions"


MOST_ROUNDS = 10_000
WORKING = ("convolve", "correlate")  # their size estimates working space, not the result


def check_call(name: str, args: tuple, named: dict, limit: int) -> None:
    """Raise GradcliError if a call would create more than `limit` elements, or take more than MOST_ROUNDS steps.

    If an estimate raises, the call itself will report what is wrong.
    """
    primitive = lookup(name)
    if primitive is not None and primitive.rounds is not None:
        rounds = 0.0
        with contextlib.suppress(Exception):
            rounds = float(primitive.rounds(*args, **named))
        if rounds > MOST_ROUNDS:
            message = f"{primitive.name} would take {rounds:g} steps; the limit is {MOST_ROUNDS}"
            raise GradcliError(message, hint="use a smaller number", kind="limit")
    estimate = primitive.size if primitive is not None else count_shape if name in ("rand", "randn") else None
    if estimate is None and math.prod([getattr(getattr(x, "_data", x), "size", 1) for x in args]) <= limit:
        return  # broadcasting does not create more
    try:
        count = estimate(*args, **named) if estimate else count_product(np.broadcast_shapes(*map(shape_of, args)))
    except Exception:
        return
    if count > limit:
        what = "computing this would take" if name in WORKING else "this value would have"
        message = f"{what} {count} elements; the limit is {limit}"
        raise GradcliError(message, hint="raise it with --max-elements if there is enough memory", kind="limit")


def lift_number(x: Any) -> Tensor:
    """Convert a number to a Tensor of the default type; return a Tensor unchanged. Raises GradcliError for others."""
    if isinstance(x, Tensor):
        return x
    if recorder().field is not None and isinstance(x, int | float | complex) and not isinstance(x, bool):
        return recorder().lift(x)
    if x is None or x is Ellipsis or isinstance(x, tuple | slice):
        what = {tuple: "a tuple", slice: "a slice"}.get(type(x), "..." if x is Ellipsis else "None")
        raise GradcliError(f"{what} is not a number or an array", kind="value")
    if isinstance(x, bool | np.bool_):
        return Tensor._wrap(np.bool_(x), None)
    if isinstance(x, complex):
        return Tensor._wrap(np.complex128(x), None)
    return Tensor._wrap(defaults.float.type(x), None)


MOST_INTEGER = 1 << 63  # larger numbers cannot be lengths or indices


def as_argument(x: Any) -> Any:
    """Return a whole number as an int, for axes, lengths and similar arguments; inside tuples too."""
    if isinstance(x, tuple):
        return tuple(as_argument(item) for item in x)
    if isinstance(x, Tensor):
        return recorder().whole_number(x)
    return int(x) if isinstance(x, float) and x.is_integer() and abs(x) < MOST_INTEGER else x


def as_index(x: Any) -> Any:
    """Convert an index, or an item of one: whole numbers and arrays of whole numbers become integers."""
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
    """Apply an operator to Python numbers in floating point, without big integers or ZeroDivisionError."""
    if any(isinstance(x, tuple) or x is None or x is Ellipsis for x in operands):
        raise TypeError(f"{name} needs numbers or arrays")
    is_boolean = all(isinstance(x, bool) for x in operands)
    values: tuple[Any, ...] = operands
    if name in ("logical_not", "logical_and", "logical_or"):
        values = tuple(bool(x) for x in operands)
    elif not is_boolean or name.startswith(("divide", "floor", "remainder", "power")):
        values = tuple(np.complex128(x) if isinstance(x, complex) else np.float64(x) for x in operands)
    with np.errstate(all="ignore"):
        return entry(name).forward(*values).item()


def stack_items(items: tuple) -> Tensor:
    """Return a list as an array. Numbers and Tensors may be mixed. Raises ValueError for rows of different shapes."""
    if not any(isinstance(x, Tensor) for x in items) and (recorder().field is None or not items):
        if any(isinstance(x, tuple | slice) or x is None or x is Ellipsis for x in items):
            raise ValueError("a list can contain only numbers, arrays and lists")
        raw = np.array(items)
        return Tensor._wrap(raw.astype(defaults.float) if raw.dtype.kind in "iuf" else raw, None)
    tensors = [lift_number(x) for x in items]
    shapes = {x._data.shape for x in tensors}
    if len(shapes) > 1:
        raise ValueError(f"the rows of a list must have the same shape, not {' and '.join(map(str, sorted(shapes)))}")
    return entry("stack").function(tensors)


LISTS = frozenset({"xs", "arrays", "choices", "condlist", "choicelist"})  # parameters that take a list of arrays
NESTED = "arrays"  # the parameter whose lists may contain lists
PLACES = frozenset({"condition", "indices", "index", "indices_or_sections", "kth", "obj", "pad_width", "repeats"})
"""Names of parameters that take whole numbers or a mask: positions and lengths in other arrays."""


@functools.cache
def parameters(primitive: Primitive) -> tuple[str, ...]:
    """Return the names of an entry's parameters, empty for *args and keyword-only ones."""
    given = inspect.signature(primitive.signature_model()).parameters.values()
    return tuple(p.name if p.kind is p.POSITIONAL_OR_KEYWORD else "" for p in given)


def parameter(primitive: Primitive | None, place: int) -> str:
    """Return the name of the parameter at a position; empty if it does not exist."""
    names = () if primitive is None else parameters(primitive)
    return names[place] if place < len(names) else ""


def as_parameter(name: str, x: Any) -> Any:
    if name in LISTS and isinstance(x, tuple | list):
        return list_arrays(x)
    return as_index(x) if name in PLACES else x


def list_arrays(x: Any) -> Any:
    return type(x)(list_arrays(item) for item in x) if isinstance(x, tuple | list) else lift_number(x)


@functools.cache
def evaluator_method(kind: Any) -> Callable[[Evaluator, Any], Any]:
    return getattr(Evaluator, f"_{kind.__name__.lower()}")


class Evaluator:
    """Runs the statements of a program, one after another, in an environment of names."""

    def __init__(self, program: tree.ParsedProgram, request: Request | None = None):
        self.program = program
        self.request = request or Request()
        self.rng: Any = None
        self.names: dict[str, Any] = {}
        self.given: set[int] = set()
        self.places: dict[Any, Any] = {}
        self.first_nan: tuple[str, Any] | None = None

    def run(self, given: Mapping[str, Any], out: str | None = None) -> Any:
        """Run all statements; return the value of the last expression or assignment, or of the name `out`.

        given: values of the inputs; they replace values that the program assigns to these names before it reads them.
        """
        self.names = dict(given)
        self.given = {id(x) for x in given.values()}
        result: Any = None
        has_expression = any(statement.target is None for statement in self.program.statements)
        for statement in self.program.statements:
            name = statement.target
            if name is None:
                result = self.value(statement.value)
                continue
            if statement.index is not None:
                self.assign_item(statement)
            elif name not in given or name in self.program.free:
                self.names[name] = self.value(statement.value)
            if not has_expression:
                result = self.names[name]
        if out is not None:
            if out not in self.names:
                hint = did_you_mean(out, self.names)
                raise GradcliError(f"--out: the program does not define '{out}'", hint=hint, kind="name")
            result = self.names[out]
        return result

    def assign_item(self, statement: tree.Statement) -> None:
        name = str(statement.target)
        target = self.names.get(name)
        assert statement.index is not None
        span = self.program.span((statement.target_span[0], statement.value.end))
        if target is None:
            hint = f"create the array first: {name} = zeros(2, 3)"
            raise self.error(f"'{name}' has no value yet", statement.target_span, hint, "name")
        index, value = as_index(self.value(statement.index)), lift_number(self.value(statement.value))
        target = lift_number(target)
        if value._data.dtype.kind == "c" and target._data.dtype.kind != "c":
            target = self.call_entry("multiply", (target, 1 + 0j), span)
        origin = target if target._base is None else target._base
        if id(origin) in self.given:
            target = self.guard(span, target.clone)  # never write into the inputs themselves
        self.names[name] = target
        self.guard(span, target.__setitem__, index, value)

    def value(self, node: tree.Expr) -> Any:
        """Evaluate an expression: a Tensor, a Python number, or a tuple of them."""
        chain: list[tree.Binary] = []
        while isinstance(node, tree.Binary):
            chain.append(node)
            node = node.x
        kind: Any = type(node)
        result = evaluator_method(kind)(self, node)
        for link in reversed(chain):
            result = self.call_entry(link.op, (result, self.value(link.y)), link)
        return result

    def note_place(self, name: str, operands: tuple, result: Any, place: Any) -> Any:
        """Remember the place where a result was computed, and the first nan that did not come from an operand."""
        if state.recorder is not None and isinstance(result, Tensor):
            span = self.program.span(place)
            if result._node is not None:
                self.places.setdefault(result._node, span)
            if state.anomaly and self.first_nan is None and has_nan(result) and not any(has_nan(x) for x in operands):
                self.first_nan = (name, span)
        return result

    def guard(self, place: Any, function: Callable, *args: Any, **named: Any) -> Any:
        """Call a function; turn its exceptions into errors that point at a place."""
        try:
            return function(*args, **named)
        except GradcliError as error:
            error.span = error.span or self.program.span(place)
            raise
        except NotBatchableError:
            raise
        except np.linalg.LinAlgError as error:
            span = self.program.span(place)
            raise GradcliError(str(error), span=span, kind="target", exit_code=EXIT_TARGET) from None
        except MemoryError:
            raise out_of_memory("this value", self.program.span(place)) from None
        except (ValueError, TypeError, IndexError, RuntimeError, ArithmeticError, AttributeError) as error:
            kind = "shape" if isinstance(error, ValueError | IndexError | RuntimeError) else "value"
            from .reword import call_hint, readable_message

            # include operands inside a tuple
            operands = tuple(y for x in args for y in (x if isinstance(x, tuple) else (x,)))
            raise self.error(readable_message(error, operands), place, call_hint(place), kind) from None

    def error(self, message: str, place: Any, hint: str | None = None, kind: str = "value") -> GradcliError:
        return GradcliError(message, span=self.program.span(place), hint=hint, kind=kind)

    def call_entry(self, name: str, operands: tuple, place: Any) -> Any:
        """Apply an operator. place: an expression, or a span."""
        tensors = [x for x in operands if isinstance(x, Tensor)]
        if not tensors or name == "matmul":
            is_plain = recorder().field is None or any(isinstance(x, bool | tuple) or x is None for x in operands)
            if not tensors and is_plain and name != "matmul":
                return self.guard(place, on_numbers, name, operands)
            operands = tuple(self.guard(place, lift_number, x) for x in operands)
        self.guard(place, check_call, name, operands, {}, self.request.max_elements)
        if len(tensors) < len(operands) and any(isinstance(x, tuple) for x in operands):
            raise self.error("a tuple is not an array; write a list: [1, 2]", place)
        function = recorders.get(name)
        if function is None or not isinstance(operands[0], Tensor):
            function = entry(name).function
        return self.note_place(name, operands, self.guard(place, function, *operands), place)

    # -- one method per type of expression ---------------------------------------------------------------

    def _number(self, node: tree.Number) -> Any:
        return recorder().literal(node.value, self.program.source[node.start : node.end])

    def _constant(self, node: tree.Constant) -> Any:
        return node.value

    def _name(self, node: tree.Name) -> Any:
        if node.name in self.names:
            return self.names[node.name]
        if node.name in CONSTANTS:
            return recorder().literal(CONSTANTS[node.name], node.name)
        if find_function(node.name):
            hint = f"'{node.name}' is a function: call it, as in {node.name}(x)"
        else:
            hint = did_you_mean(node.name, [*self.names, *CONSTANTS]) or f"pass {node.name}=VALUE"
        raise self.error(f"'{node.name}' has no value", node, hint, "name")

    def _unary(self, node: tree.Unary) -> Any:
        return self.call_entry(node.op, (self.value(node.x),), node)

    def _choice(self, node: tree.Choice) -> Any:
        condition, x, y = (self.value(part) for part in (node.condition, node.x, node.y))
        if isinstance(condition, bool):
            return x if condition else y
        return self.choose(node, condition, x, y)

    def choose(self, place: Any, condition: Any, x: Any, y: Any) -> Any:
        """Evaluate where(condition, x, y); a number other than 0 counts as true."""
        test: Any = lift_number(condition)
        if recorder().field is not None:
            test = test._data
        if test.dtype.kind != "b" and not recorder().is_condition(test):
            test = test != 0
        operands = (test, lift_number(x), lift_number(y))
        self.guard(place, check_call, "where", operands, {}, self.request.max_elements)
        return self.note_place("where", operands[1:], self.guard(place, entry("where"), *operands), place)

    def _sequence(self, node: tree.Sequence) -> Any:
        items = tuple(self.value(item) for item in node.items)
        return self.guard(node, stack_items, items) if node.is_list else items

    def _property(self, node: tree.Property) -> Any:
        x = lift_number(self.value(node.x))
        if node.name == "shape":
            return tuple(float(n) for n in x._data.shape)
        if node.name in ("ndim", "size"):
            return float(getattr(x._data, node.name))
        if node.name in ("real", "imag"):  # as in NumPy, real numbers have them too
            return self.guard(node, entry(node.name).function, x)
        return self.guard(node, getattr, x, node.name)

    def _slice(self, node: tree.Slice) -> slice:
        return slice(*(None if part is None else self.value(part) for part in (node.first, node.last, node.step)))

    def _item(self, node: tree.Item) -> Any:
        x, index = self.value(node.x), as_index(self.value(node.index))
        return self.guard(node, lambda: (x if isinstance(x, tuple) else lift_number(x))[index])

    def _call(self, node: tree.Call) -> Any:
        name = node.function
        primitive = None if name in SPECIAL_FORMS else find_function(name)
        args = tuple(self.argument(parameter(primitive, i), x) for i, x in enumerate(node.args))
        named = {k: self.argument(k, x) for k, x in zip(node.keywords, node.values, strict=True)}
        if primitive is None and name not in SPECIAL_FORMS:
            if name in self.names:
                raise not_called(name, self.program.span(node))
            raise self.error(f"unknown function '{name}'", node.place, advice_for(name), "name")
        named = {k: as_argument(v) for k, v in self.guard(node, rename_keywords, named, SYNONYMS).items()}
        args = tuple(as_argument(x) for x in args)
        if name in ("rand", "randn"):
            return self.random(name, args, node)
        if name == "where":
            if len(args) != 3 or named:
                raise self.error("where(condition, x, y) takes three arguments", node)
            return self.choose(node, *args)
        if name in ("array", "const"):
            if len(args) != 1 or named or isinstance(args[0], tuple):
                raise self.error(f"{name}(x) takes one array or number", node)
            x = self.guard(node, lift_number, args[0])
            return recorder().constant(x) if name == "const" else x
        assert primitive is not None
        if primitive.arity != 0 and args and not isinstance(args[0], tuple | list) and primitive.name != "polygamma":
            args = (lift_number(args[0]), *args[1:])
        args = tuple(self.guard(node, as_parameter, parameter(primitive, i), x) for i, x in enumerate(args))
        named = {k: self.guard(node, as_parameter, k, x) for k, x in named.items()}
        self.guard(node, check_call, primitive.name, args, named, self.request.max_elements)
        return self.note_place(name, args, self.guard(node, call_entry, primitive, args, named), node)

    def argument(self, name: str, node: tree.Expr) -> Any:
        """Evaluate an argument; keep it a list if the parameter takes a list of arrays."""
        if name not in LISTS or not isinstance(node, tree.Sequence):
            return self.value(node)
        if name == NESTED:
            return [self.argument(name, item) for item in node.items]
        return tuple(self.value(item) for item in node.items)

    def random(self, name: str, shape: tuple, place: Any) -> Tensor:
        """Return random numbers; the same seed gives the same numbers in every run."""
        self.guard(place, check_call, name, shape, {}, self.request.max_elements)
        if self.rng is None:
            self.rng = np.random.default_rng(self.request.seed)
        lengths = self.guard(place, as_shape, shape[0] if len(shape) == 1 else shape)
        draw = self.rng.random if name == "rand" else self.rng.standard_normal
        return Tensor._wrap(np.asarray(self.guard(place, draw, lengths)).astype(defaults.float), None)
