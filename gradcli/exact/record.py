"""Compute and record operations on exact numbers, and differentiate them."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import GradcliError
from ..rules.exact import NoTwinError, map_elements, without_field
from ..rules.shapes import fit_to_shape
from ..rules.table import Primitive
from ..tape.modes import state
from ..tape.node import AccumulateGrad, Node, Rule, Slots, new_node, to_parents
from ..tape.record import Engine, make_node, outline, record_several, recording, saved_values
from ..tape.send import run_rules
from ..tape.tensor import Tensor, track_view, views_of
from ..tape.torch_errors import as_pytorch
from .field import EXACT_COMPARISONS, ExactArray, Field, Literal, as_plain, exact, exact_numbers, settle_conditions


class Exact(Engine):
    """Computes and records operations in a field, in place of the default recorder."""

    def __init__(self, field: Field):
        self.field = field
        self.converted: list[tuple[Tensor, Any]] = []

    def record(self, primitive: Primitive, operands: tuple, params: dict) -> Any:
        raws = tuple(self.operand(x, primitive) for x in operands)
        nodes = tuple(x._node if isinstance(x, Tensor) else None for x in operands)
        try:
            out = self.compute(primitive, raws, params)
        except NoTwinError as error:
            raise GradcliError(f"{error}", hint=self.field.advice, kind="exact") from None
        if isinstance(out, ExactArray) and out.size > 1 and out.is_complex:  # then all become complex, as in NumPy
            out = exact(map_elements(self.field.as_complex, (as_plain(out),)))
        wanted = state.grad and primitive.rules and any(node is not None for node in nodes)
        if wanted and not primitive.complex and any(isinstance(x, ExactArray) and x.is_complex for x in raws):
            raise RuntimeError(f"{primitive.name} does not support automatic differentiation for complex numbers")
        if primitive.outputs > 1:
            return record_several(primitive, list(nodes), out, list(raws), params)
        node = None
        if wanted and isinstance(out, ExactArray):
            node = make_node(primitive, nodes, out, list(raws), params)
        result = Tensor._wrap(out, node)
        if primitive.view and isinstance(operands[0], Tensor):
            track_view(result, operands[0], primitive, params)
        return result

    def operand(self, x: Any, primitive: Primitive) -> Any:
        """Convert an operand to exact numbers; leave conditions and integers unchanged."""
        if isinstance(x, Tensor) and primitive.view:
            self.make_exact(x)  # so that a view shares its memory
        raw = x._data if isinstance(x, Tensor) else x
        if isinstance(raw, ExactArray):
            return raw
        kind = np.asarray(raw).dtype.kind
        if isinstance(raw, list | tuple) or kind in "fcO" or (kind in "iu" and primitive.kind == "elementwise"):
            return exact_numbers(self.field, raw)
        return raw

    def compute(self, primitive: Primitive, raws: tuple, params: dict) -> Any:
        if primitive.name in BOOLEAN and all(self.holds_conditions(x) for x in raws):
            return self.combine_conditions(primitive, raws)
        numbers = (x for x in map(np.asarray, raws) if x.dtype == object and not self.holds_conditions(x))
        if primitive.name in BITWISE and any(x.size for x in numbers):
            raise TypeError(f"ufunc '{primitive.name}' not supported for the input types")
        if primitive.kind == "linear" and primitive.name in COUNTING and self.holds_conditions(raws[0]):
            raws = (exact(map_elements(self.field.as_number, (as_plain(raws[0]),))),)
        if primitive.exact is not None:
            return exact(primitive.exact(self.field, *raws, **params))
        if primitive.kind == "elementwise":
            function, more = self.field.twin(primitive, params)
            return exact(map_elements(function, (*(as_plain(x) for x in raws), *more)))
        if primitive.kind == "constant" and primitive.name in EXACT_COMPARISONS.values():
            compare = self.field.compare(primitive.name)
            if compare is not None:
                return exact(settle_conditions(map_elements(compare, tuple(as_plain(x) for x in raws))))
        try:
            out = exact(primitive.forward(*raws, **params))
        except (TypeError, AttributeError, ValueError, SystemError) as error:
            if "truth value" in str(error) or isinstance(error, SystemError):  # NumPy's argmax ignores the first error
                what = name_for_users(primitive)
                raise NoTwinError(f"{what} compares values, but symbols have no values") from None
            if isinstance(error, ValueError):  # shapes that do not match
                raise as_pytorch(error, raws) from None
            raise NoTwinError(f"{name_for_users(primitive)} has no formula") from None
        if not isinstance(out, np.ndarray | tuple):
            out = np.asarray(out)  # a single truth value, or the result for an empty array
        if primitive.kind == "constant" or isinstance(out, tuple):
            return out
        if out.dtype.kind in "iub" and not any(isinstance(x, ExactArray) and x.dtype.kind == "O" for x in raws):
            return out.view(np.ndarray)  # indices and masks stay unchanged
        return out if out.dtype == object else exact_numbers(self.field, out)  # an empty array reduces to a number

    def combine_conditions(self, primitive: Primitive, raws: tuple) -> Any:
        """Add or multiply conditions; the result is a condition, as in NumPy. Raises TypeError for other operations."""
        compare = self.field.compare(BOOLEAN[primitive.name])
        if compare is None or not BOOLEAN[primitive.name]:
            return primitive.forward(*(np.asarray(x, bool) if x.dtype == bool else np.bool_(True) for x in raws))
        return exact(settle_conditions(map_elements(compare, tuple(as_plain(x) for x in raws))))

    def holds_conditions(self, x: Any) -> bool:
        return isinstance(x, np.ndarray | np.generic) and (x.dtype == bool or (x.size > 0 and self.is_condition(x)))

    def make_node(self, primitive: Primitive, nodes: tuple, out: Any, raws: list, params: dict) -> Node:
        is_partial = primitive.kind == "elementwise"
        shape = np.shape(raws[0]) if raws else ()
        name = primitive.node if is_partial else primitive.node_name(shape, params)
        real = tuple(isinstance(x, ExactArray) and not x.is_complex for x in raws)
        apply = functools.partial(self.apply if is_partial else self.apply_rule, real)
        saved = (out, *raws) if is_partial else saved_values(primitive, nodes, out, raws)
        rule = Rule(name, to_parents(apply), True, primitive, params)
        return new_node(rule, nodes, tuple(copy_exact(x) for x in saved), outline(out))

    def apply(self, real: tuple[bool, ...], node: Node, g: Any) -> tuple:
        """Multiply by the partial derivatives of an elementwise operation. real: whether each operand is real."""
        out, *operands = node.kept
        primitive, params = node.rule.primitive, node.rule.params
        grads: list[Any] = [None] * len(node.parents)
        for i, parent in enumerate(node.parents):
            if parent is not None:
                factor = self.field.partial(primitive, i, tuple(operands), params)
                grad = exact(fit_to_shape(self.array(g) * factor, np.shape(operands[i]), np.ndim(out)))
                grads[i] = grad.real if real[i] else grad
        return tuple(grads)

    def apply_rule(self, real: tuple[bool, ...], node: Node, g: Any) -> tuple:
        slots = Slots({i: self.array(part) for i, part in g.items()}) if isinstance(g, Slots) else self.array(g)
        grads = run_rules(node, slots)
        arrays = [None if grad is None else self.array(grad) for grad in grads]
        return tuple(x.real if x is not None and i else x for x, i in zip(arrays, real, strict=True))

    def array(self, g: Any) -> ExactArray:
        numbers = exact(g)
        return numbers if isinstance(numbers, ExactArray) else exact_numbers(self.field, g)

    # -- what programs call -----------------------------------------------------------------------------

    def leaf(self, value: Any, name: str) -> Tensor:
        leaf = Tensor._wrap(self.field.input_array(name, value), None)
        leaf._node = AccumulateGrad(leaf)
        return leaf

    def adopt(self, leaf: Tensor, name: str, value: Any) -> None:
        """Make exact a leaf that a script has created."""
        leaf._data = self.field.input_array(name, value)
        leaf._key = None
        if leaf._node is not None:
            leaf._node.data = leaf._data

    def make_exact(self, tensor: Tensor) -> None:
        """Make a tensor, its base and all views of it exact until `exactly` ends, because they share memory."""
        base = tensor if tensor._base is None else tensor._base
        if base._data.dtype.kind not in "fc":
            return
        self.convert(base, exact_numbers(self.field, base._data))
        for view in views_of(base):
            data: Any = base._data
            for primitive, params in view._chain:
                data = primitive.forward(data, **params)
            self.convert(view, data)

    def convert(self, tensor: Tensor, data: Any) -> None:
        self.converted.append((tensor, tensor._data))
        tensor._data, tensor._key = data, None

    def lift(self, x: Any) -> Tensor:
        return Tensor._wrap(exact_numbers(self.field, x), None)

    def constant(self, x: Tensor) -> Tensor:
        held = map_elements(self.field.as_constant, (as_plain(x._data),)) if x._data.dtype == object else x._data
        return Tensor._wrap(exact(held), None)

    def literal(self, value: Any, text: str) -> Any:
        if not isinstance(value, float) or not (DECIMAL.fullmatch(text) or text in self.field.constants):
            return value
        return Literal(value, text.replace("_", ""))

    def whole_number(self, x: Tensor) -> Any:
        if x._data.ndim or x._node is not None or x._data.dtype != object:
            return x
        element = x._data.item()
        rounded = self.field.as_float(element)
        return int(rounded) if rounded is not None and rounded.is_integer() and element - int(rounded) == 0 else x

    def whole_numbers(self, x: Tensor) -> Any:
        """Convert a computed index to integers or a mask. Raises GradcliError for numbers that are not integers."""
        elements = without_field(x._data).ravel().tolist()
        if elements and self.is_condition(x._data):
            return np.array([self.field.decide(e) for e in elements], bool).reshape(x._data.shape)
        numbers = [self.field.as_float(e) for e in elements]
        if not all(e is not None and e.is_integer() and abs(e) < 2**62 for e in numbers):
            raise GradcliError("an index must consist of integers within the array's range", kind="shape")
        integers = np.array(numbers, np.intp).reshape(x._data.shape)
        return integers if integers.ndim else int(integers)

    def is_condition(self, x: Any) -> bool:
        return x.dtype == object and all(map(self.field.is_condition, without_field(x).ravel().tolist()))


BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor", "invert")
BOOLEAN = {"add": "logical_or", "multiply": "logical_and", "subtract": "", "negative": ""}
"""Operations on booleans and the logical operation that NumPy uses for each; "" if NumPy rejects it."""
COUNTING = ("sum", "cumsum_along", "mean")  # operations that count a true condition as 1
DECIMAL = re.compile(r"[\d_]*\.?[\d_]*(?:[eE][+-]?\d+)?")


def copy_exact(x: Any) -> Any:
    """Copy an exact array, so that in-place changes of the tensor do not reach it."""
    if isinstance(x, tuple):
        return tuple(copy_exact(part) for part in x)
    return x.copy() if isinstance(x, ExactArray) else x


def name_for_users(primitive: Primitive) -> str:
    return re.sub(r"_(outputs?|along|columns|axis)$", "", primitive.name)


@contextlib.contextmanager
def exactly(field: Field, engine: type[Exact] = Exact) -> Iterator[Exact]:
    arithmetic = engine(field)
    with recording(arithmetic):
        try:
            yield arithmetic
        finally:
            for tensor, data in reversed(arithmetic.converted):
                tensor._data, tensor._key = data, None
