"""JavaScript: an ECMAScript module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from .language import Argument, Body, Definition, Language, doc_line, split_body
from .names import nest_lists

MATH = "sqrt cbrt exp expm1 log log2 log10 log1p sin cos tan sinh cosh tanh floor ceil trunc"


class JavaScript(Language):
    """Functions of numbers; arrays are nested."""

    title = "JavaScript"
    operations: ClassVar = {
        **{name: f"Math.{name}({{0}})" for name in MATH.split()},
        "absolute": "Math.abs({0})",
        "sign": "Math.sign({0})",
        "hypot": "Math.hypot({0}, {1})",
        "power": "Math.pow({0}, {1})",
        "arcsin": "Math.asin({0})",
        "arccos": "Math.acos({0})",
        "arctan": "Math.atan({0})",
        "arctan2": "Math.atan2({0}, {1})",
        "arcsinh": "Math.asinh({0})",
        "arccosh": "Math.acosh({0})",
        "arctanh": "Math.atanh({0})",
        "maximum": "Math.max({0}, {1})",
        "minimum": "Math.min({0}, {1})",
        "fmod": "modulo({0}, {1})",
        "isnan": "Number.isNaN({0})",
        "isfinite": "Number.isFinite({0})",
        "isinf": "isInfinite({0})",
    }
    support: ClassVar = {
        "isInfinite": "function isInfinite(x) {\n  return Math.abs(x) === Infinity;\n}\n",
        "modulo": "function modulo(x, y) {\n  return x % y;\n}\n",
    }
    symbols: ClassVar = {"equal": " === ", "not_equal": " !== "}
    keywords = frozenset(
        "abstract arguments await boolean break byte case catch char class const continue debugger default delete do "
        "double else enum eval export extends false final finally float for function goto if implements import in "
        "instanceof int interface let long native new null package private protected public return short static super "
        "switch synchronized this throw throws transient true try typeof undefined var void volatile while with yield "
        "Math Number Infinity NaN".split()
    )
    infinity, not_a_number = "Infinity", "NaN"

    def statement(self, statement: Definition) -> str:
        return f"  const {statement.name} = {statement.text};"

    def helper(self, name: str, parameters: Sequence[str], body: Body) -> str:
        lines = [f"function {name}({', '.join(parameters)}) {{", *map(self.statement, body.statements)]
        return "\n".join([*lines, f"  return {body.results[0]};", "}", ""])

    def function(
        self, target: str, inputs: Sequence[Argument], slopes: Sequence[Argument], value: str, body: Body
    ) -> str:
        result, parts = split_body(body, slopes)
        lines = [
            f"/** {doc_line(target)} */",
            f"export function value_and_gradient({', '.join(x.name for x in inputs)}) {{",
            *map(self.statement, body.statements),
            f"  const {value} = {result};",
            *(f"  const {x.name} = {nest_lists(words, x.shape)};" for x, words in zip(slopes, parts, strict=True)),
            f"  return [{', '.join([value, *(x.name for x in slopes)])}];",
            "}",
            "",
        ]
        return "\n".join(lines)

    def file(self, target: str, functions: Sequence[str], support: Sequence[str], called: set[str]) -> str:
        return "\n".join([*support, *functions])
