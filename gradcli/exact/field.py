"""What an exact kind of number has to offer, and the table's twins compiled for it."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..rules.exact import NoTwinError
from ..rules.table import Primitive

OPERANDS = ("x", "y", "z")


class Literal(float):
    """A number of a program with the text that it was written as, or the name of a constant."""

    text: str

    def __new__(cls, value: float, text: str) -> Literal:
        self = super().__new__(cls, value)
        self.text = text
        return self


class Field:
    """Exact numbers. Derived classes fill `functions` and `constants`, the names in twins and in programs."""

    name = ""
    functions: Mapping[str, Any]
    constants: Mapping[str, Any]
    lazy_pieces = True
    """Whether Piecewise in a twin becomes Python's `a if c else b`."""

    def number(self, x: Any) -> Any:
        """Return a number (a Literal by its text) as an element."""
        raise NotImplementedError

    def input_array(self, name: str, value: Any) -> Any:
        """Return the exact array that an input has: its value, or symbols of its shape."""
        raise NotImplementedError

    def as_float(self, x: Any) -> float | None:
        """Return an element rounded to a float; None where it is not known."""
        raise NotImplementedError

    def is_condition(self, x: Any) -> bool:
        """Return whether an element is a relation, or true or false."""
        return isinstance(x, bool | np.bool_)

    def as_number(self, x: Any) -> Any:
        """Return a condition as a number, 1 where it holds; numbers as they are."""
        return self.number(x)

    def as_constant(self, x: Any) -> Any:
        """Return an element that is not differentiated."""
        return x

    def decide(self, condition: Any) -> bool:
        """Return whether a condition holds. Raises GradcliError where that is open."""
        return bool(condition)

    def is_element(self, x: Any) -> bool:
        """Return whether x is an element of this kind."""
        raise NotImplementedError

    def is_complex(self, x: Any) -> bool:
        """Return whether an element counts as complex, whatever its imaginary part is."""
        raise NotImplementedError

    def parts(self, x: Any) -> tuple[Any, Any]:
        raise NotImplementedError

    def compare(self, name: str) -> Callable | None:
        """Return the element function of a comparison or logical operation; None to leave it to NumPy."""
        raise NotImplementedError

    def choose(self, condition: Any, x: Any, y: Any) -> Any:
        """Return x where a condition (True, False, or a relation of this field) holds, else y."""
        return x if condition else y

    def partial(self, primitive: Primitive, place: int, operands: tuple, params: dict) -> Any:
        """Return the partial derivatives of an elementwise operation, element by element."""
        raise NotImplementedError

    def guard(self, function: Callable, primitive: Primitive, params: dict) -> Callable:
        """Return a twin as a function of elements that deals with poles and branches."""
        return function

    def twin(self, primitive: Primitive, params: dict) -> tuple[Callable, tuple]:
        """Return an elementwise entry as a function of elements, and what to call it with after the operands.

        Parameters are such arguments, for they may be arrays. Raises NoTwinError.
        """
        body = tree_of(twin_text(primitive, params), self.lazy_pieces)
        operands = OPERANDS[: primitive.arity]
        read = (n.id for n in ast.walk(body) if isinstance(n, ast.Name))
        names = tuple(dict.fromkeys(n for n in read if n not in operands and n not in self.functions and n != "abs"))
        given = {**params, **dict(zip(sorted(names), params.get("order", ()), strict=False))}
        space = {"__builtins__": {"abs": abs}, **self.functions}
        function = eval(compile(lambda_of(body, operands + names), f"<twin of {primitive.name}>", "eval"), space)
        return self.guard(function, primitive, params), tuple(np.asarray(given[n]) for n in names)


def twin_text(primitive: Primitive, params: dict) -> str:
    """Return the twin's formula for these parameters. Raises NoTwinError where there is none."""
    text = primitive.twin if primitive.twin_of is None else primitive.twin_of(params) or primitive.twin
    if text is None:
        raise NoTwinError(f"{primitive.name} has no exact twin")
    return text


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
def tree_of(text: str, lazy: bool) -> ast.expr:
    """Return a twin's formula as a tree. The text is the table's own, never a user's."""
    body = ast.parse(text, mode="eval").body
    return _Lazy().visit(body) if lazy else body


def lambda_of(body: ast.expr, names: tuple[str, ...]) -> ast.Expression:
    arguments = ast.arguments(
        posonlyargs=[], args=[ast.arg(n) for n in names], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
    return ast.fix_missing_locations(ast.Expression(ast.Lambda(arguments, body)))
