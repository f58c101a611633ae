"""What a language defines for generated code: its operations, numbers, statements and functions."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from .names import doc, identifier
from .nodes import CodeNode

LARGEST_EXACT = 1 << 53  # larger integers are written as floats
CALLED = re.compile(r"(?<![\w.:])[A-Za-z_]\w*(?=\()")  # not the names of a module or type


class Text(NamedTuple):
    """An expression, and how strongly its outermost operator binds."""

    text: str
    level: int


ATOM_BINDS, POWER_BINDS, PRODUCT_BINDS, SUM_BINDS = 100, 90, 70, 60
COMPARED_BINDS, NEGATED_BINDS, JOINED_BINDS, CHOSEN_BINDS = 50, 45, 35, 20
"""How strongly operators bind: names, numbers and calls most, choices least."""
INFIX_LEVELS = {
    "add": (" + ", SUM_BINDS, SUM_BINDS, SUM_BINDS + 1),
    "subtract": (" - ", SUM_BINDS, SUM_BINDS, SUM_BINDS + 1),
    "multiply": ("*", PRODUCT_BINDS, PRODUCT_BINDS, PRODUCT_BINDS + 1),
    "divide": ("/", PRODUCT_BINDS, PRODUCT_BINDS, PRODUCT_BINDS + 1),
    "less": (" < ", COMPARED_BINDS, COMPARED_BINDS + 1, COMPARED_BINDS + 1),
    "less_equal": (" <= ", COMPARED_BINDS, COMPARED_BINDS + 1, COMPARED_BINDS + 1),
    "greater": (" > ", COMPARED_BINDS, COMPARED_BINDS + 1, COMPARED_BINDS + 1),
    "greater_equal": (" >= ", COMPARED_BINDS, COMPARED_BINDS + 1, COMPARED_BINDS + 1),
    "equal": (" == ", COMPARED_BINDS, COMPARED_BINDS + 1, COMPARED_BINDS + 1),
    "not_equal": (" != ", COMPARED_BINDS, COMPARED_BINDS + 1, COMPARED_BINDS + 1),
    "logical_and": (" && ", JOINED_BINDS, JOINED_BINDS + 1, JOINED_BINDS + 1),
    "logical_or": (" || ", JOINED_BINDS, JOINED_BINDS + 1, JOINED_BINDS + 1),
}
"""Symbol, level, and the least levels of the operands that need no parentheses."""


class Definition(NamedTuple):
    """The definition of an intermediate result. truth: whether it is a truth value."""

    name: str
    text: str
    truth: bool = False


class Body(NamedTuple):
    """What a function computes: intermediate results in order, and the texts of its results."""

    statements: Sequence[Definition]
    results: Sequence[str]


class Argument(NamedTuple):
    """An input or a derivative: its name in the code, and its shape."""

    name: str
    shape: tuple[int, ...]


class Language:
    """How to write expressions and functions. The defaults are those of C and its relatives.

    title: what the error names if an operation is missing. operations: templates of calls. support: source text of the
    functions that templates call and that the language lacks or that raise, by name. symbols: infix symbols that differ
    from C's. keywords: names that may not be used.
    """

    title = ""
    operations: ClassVar[Mapping[str, str]] = {}
    support: ClassVar[Mapping[str, str]] = {}
    symbols: ClassVar[Mapping[str, str]] = {}
    keywords: ClassVar[frozenset[str]] = frozenset()
    fold_case = False
    negation = "!{0}"
    infinity, not_a_number = "INFINITY", "NAN"
    integers = True  # whether 2 may stand for 2.0 next to other numbers
    spelling = staticmethod(identifier)

    # -- expressions -------------------------------------------------------------------------------------

    def number(self, x: float, alone: bool = False) -> Text:
        """Write a constant. alone: it is not an operand, so that it must have the type of a float."""
        if not math.isfinite(x):
            text = self.not_a_number if x != x else f"-{self.infinity}" if x < 0 else self.infinity
        elif self.integers and not alone and x.is_integer() and abs(x) < LARGEST_EXACT:
            text = str(int(x))
        else:
            text = self.float_text(x)
        return Text(text, SUM_BINDS if text.startswith("-") else ATOM_BINDS)

    def float_text(self, x: float) -> str:
        return repr(x)

    def element(self, name: str, index: tuple[int, ...], shape: tuple[int, ...]) -> str:
        return name + "".join(f"[{i}]" for i in index)

    def infix(self, op: str, left: Text, right: Text) -> Text:
        if op in ("add", "subtract") and right.level == PRODUCT_BINDS and right.text.startswith("-"):
            op, right = ("subtract", "add")[op == "subtract"], Text(right.text[1:], PRODUCT_BINDS)
        symbol, level, least, least_right = INFIX_LEVELS[op]
        negative = (
            left.text.startswith("-") and left.level == SUM_BINDS and level == PRODUCT_BINDS and is_simple(left.text)
        )
        first = left.text if negative else enclose(left, least)
        return Text(f"{first}{self.symbols.get(op, symbol)}{enclose(right, least_right)}", level)

    def quotient(self, left: Text, right: Text, divisor: float | None) -> Text:
        """divisor: the value of the right operand, if it is a constant."""
        return self.infix("divide", left, right)

    def negative(self, x: Text) -> Text:
        if x.level == PRODUCT_BINDS and x.text.startswith("-"):
            return Text(x.text[1:], PRODUCT_BINDS)
        return Text(f"-{enclose(x, PRODUCT_BINDS)}", SUM_BINDS)

    def opposite(self, x: Text) -> Text:
        return Text(self.negation.format(enclose(x, ATOM_BINDS)), NEGATED_BINDS)

    def choice(self, condition: Text, x: Text, y: Text) -> Text:
        return Text(" ".join((enclose(condition, CHOSEN_BINDS + 1), "?", *self.branches(x, y))), CHOSEN_BINDS)

    def branches(self, x: Text, y: Text) -> tuple[str, str, str]:
        return enclose(x, CHOSEN_BINDS + 1), ":", enclose(y, CHOSEN_BINDS)

    def call(self, template: str, operands: Sequence[Text]) -> Text:
        return Text(template.format(*(x.text for x in operands)), ATOM_BINDS)

    def called_for(self, nodes: Sequence[CodeNode]) -> set[str]:
        """Return the names of the functions that operators and choices call, rather than templates."""
        return set()

    # -- functions ---------------------------------------------------------------------------------------

    def reserved(self, functions: set[str]) -> set[str]:
        """Return the names that inputs and intermediate results may not have. functions: those that the code calls."""
        return {*self.keywords, *functions, "value_and_gradient"}

    def statement(self, statement: Definition) -> str:
        raise NotImplementedError

    def helper(self, name: str, parameters: Sequence[str], body: Body) -> str:
        """Write a function of numbers."""
        raise NotImplementedError

    def function(
        self, target: str, inputs: Sequence[Argument], slopes: Sequence[Argument], value: str, body: Body
    ) -> str:
        """Write value_and_gradient. value: the name of the value. body: its results are the value and the elements of
        every derivative."""
        raise NotImplementedError

    def file(self, target: str, functions: Sequence[str], support: Sequence[str], called: set[str]) -> str:
        """Put functions together: the last one is value_and_gradient. called: the names that the code calls."""
        return "\n\n".join([*support, *functions])


def enclose(x: Text, least: int) -> str:
    return x.text if x.level >= least else f"({x.text})"


def is_simple(text: str) -> bool:
    """Report whether a negative operand is a minus and a name, number or call."""
    return not re.search(r"[-+*/ ]", text[1:].partition("(")[0]) and text.count("(") <= 1


def doc_line(target: str) -> str:
    return f"Value and derivatives of {doc(target)}."


def split_body(body: Body, slopes: Sequence[Argument]) -> tuple[str, list[list[str]]]:
    """Return the text of the value, and the texts of the elements of each derivative."""
    value, *rest = body.results
    parts, start = [], 0
    for _, shape in slopes:
        size = math.prod(shape)
        parts.append(rest[start : start + size])
        start += size
    return value, parts
