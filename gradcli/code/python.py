"""Python, with its math module."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from .language import CHOSEN_BINDS, Argument, Body, Definition, Language, Text, enclose, split_body
from .names import doc, nest_lists
from .nodes import CodeNode

GUARDED: dict[str, str] = {
    "exp": "math.inf",
    "exp2": "math.inf",
    "expm1": "math.inf",
    "cosh": "math.inf",
    "sinh": "math.copysign(math.inf, x)",
}
"""What functions return where Python's math raises OverflowError."""
OVERFLOW = """\
def {0}(x):
    try:
        return math.{0}(x)
    except OverflowError:
        return {1}
"""
RAISES_OUTSIDE = {
    **dict.fromkeys(("sin", "cos", "tan"), ("math.isfinite(x)", "math.nan")),
    "sqrt": ("x >= 0", "math.nan"),
    "asin": ("abs(x) <= 1", "math.nan"),
    "acos": ("abs(x) <= 1", "math.nan"),
    "acosh": ("x >= 1", "math.nan"),
    "atanh": ("abs(x) < 1", "math.copysign(math.inf, x) if abs(x) == 1 else math.nan"),
    "log": ("x > 0", "math.nan if x else -math.inf"),
    "log2": ("x > 0", "math.nan if x else -math.inf"),
    "log10": ("x > 0", "math.nan if x else -math.inf"),
    "log1p": ("x > -1", "-math.inf if x == -1 else math.nan"),
    "floor": ("math.isfinite(x)", "x"),
    "ceil": ("math.isfinite(x)", "x"),
    "trunc": ("math.isfinite(x)", "x"),
}
"""Where functions have a value in Python's math, and what they return elsewhere instead of raising ValueError."""
DOMAIN = """\
def {0}(x):
    return math.{0}(x) if {1} else {2}
"""
ROUNDING_HELPER = """\
def {0}(x):
    return math.copysign(math.{0}(x), x) if {1} else {2}
"""


class Python(Language):
    """Functions of floats that return infinity and nan where Python raises; arrays are nested sequences."""

    title = "Python's math module"
    operations: ClassVar = {
        **{name: f"{name}({{0}})" for name in "cbrt exp2 sin cos tan tanh erf erfc exp expm1 sinh cosh sqrt".split()},
        **{name: f"{name}({{0}})" for name in "log log2 log10 log1p floor ceil trunc gamma".split()},
        "absolute": "abs({0})",
        "hypot": "hypot({0}, {1})",
        "power": "power({0}, {1})",
        "arcsin": "asin({0})",
        "arccos": "acos({0})",
        "arctan": "atan({0})",
        "arctan2": "atan2({0}, {1})",
        "arcsinh": "asinh({0})",
        "arccosh": "acosh({0})",
        "arctanh": "atanh({0})",
        "fmod": "fmod({0}, {1})",
        "copysign": "copysign({0}, {1})",
        "remainder": "remainder({0}, {1})",
        "rint": "rint({0})",
        "isnan": "isnan({0})",
        "isinf": "isinf({0})",
        "isfinite": "isfinite({0})",
    }
    support: ClassVar = {
        **{name: OVERFLOW.format(name, result) for name, result in GUARDED.items()},
        **{name: (ROUNDING_HELPER if name in ("floor", "ceil", "trunc") else DOMAIN).format(name, *rule)
           for name, rule in RAISES_OUTSIDE.items()},
        "divide": '''\
def divide(x, y):
    if y != 0:
        return x / y
    return math.copysign(math.inf, x) * math.copysign(1, y) if x and x == x else math.nan
''',
        "power": '''\
def power(x, y):
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0 and y % 2 == 1 else math.inf
    except ValueError:
        return math.nan if x else math.copysign(math.inf, x) if y % 2 == 1 else math.inf
''',
        "fmod": '''\
def fmod(x, y):
    return math.fmod(x, y) if y and math.isfinite(x) else math.nan
''',
        "remainder": '''\
def remainder(x, y):
    rest = math.fmod(x, y) if y and math.isfinite(x) else math.nan
    return rest + y if rest * y < 0 else rest
''',
        "rint": '''\
def rint(x):
    return math.copysign(round(x), x) if math.isfinite(x) else x
''',
        "gamma": '''\
def gamma(x):
    try:
        return math.gamma(x)
    except OverflowError:
        return math.inf
    except ValueError:
        return math.nan if x else math.copysign(math.inf, x)
''',
    }  # fmt: skip
    symbols: ClassVar = {"logical_and": " and ", "logical_or": " or "}
    keywords = frozenset({*keyword.kwlist, "math", "abs", "round"})
    negation = "not {0}"
    infinity, not_a_number = "math.inf", "math.nan"

    def quotient(self, left: Text, right: Text, divisor: float | None) -> Text:
        if divisor:
            return self.infix("divide", left, right)
        return self.call("divide({0}, {1})", [left, right])

    def called_for(self, nodes: Sequence[CodeNode]) -> set[str]:
        divisors = [node.args[1] for node in nodes if node.op == "divide"]
        return {"divide"} if any(x.op != "constant" or not x.value for x in divisors) else set()

    def choice(self, condition: Text, x: Text, y: Text) -> Text:
        words = (
            enclose(x, CHOSEN_BINDS + 1),
            "if",
            enclose(condition, CHOSEN_BINDS + 1),
            "else",
            enclose(y, CHOSEN_BINDS),
        )
        return Text(" ".join(words), CHOSEN_BINDS)

    def statement(self, statement: Definition) -> str:
        return f"    {statement.name} = {statement.text}"

    def helper(self, name: str, parameters: Sequence[str], body: Body) -> str:
        lines = [f"def {name}({', '.join(parameters)}):", *map(self.statement, body.statements)]
        return "\n".join([*lines, f"    return {body.results[0]}", ""])

    def function(
        self, target: str, inputs: Sequence[Argument], slopes: Sequence[Argument], value: str, body: Body
    ) -> str:
        result, parts = split_body(body, slopes)
        texts = {name: nest_lists(words, shape) for (name, shape), words in zip(slopes, parts, strict=True)}
        return python_function([x.name for x in inputs], target, body.statements, {value: result, **texts})

    def file(self, target: str, functions: Sequence[str], support: Sequence[str], called: set[str]) -> str:
        names = sorted(called - self.support.keys() - {"abs", "round"})
        parts = [*support, *functions]
        lines = ["import math\n"] if any("math." in part for part in parts) else []
        lines += [f"from math import {', '.join(names)}\n"] if names else []
        return "\n\n".join([*(["".join(lines)] if lines else []), *parts])


def python_function(arguments: Iterable[str], target: str, parts: Iterable[tuple], returned: Mapping[str, str]) -> str:
    """Write the function value_and_gradient. parts: name and text of each intermediate result. returned: texts of the
    value and the derivatives, by their names."""
    lines = [
        f"def value_and_gradient({', '.join(arguments)}):",
        f'    """Value and derivatives of {doc(target)}."""',
        *(f"    {name} = {text}" for name, text, *_ in parts),
        *(f"    {name} = {text}" for name, text in returned.items()),
        f"    return {', '.join(returned)}",
        "",
    ]
    return "\n".join(lines)
