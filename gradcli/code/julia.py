"""Julia, without packages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from .language import Argument, Body, Definition, Language, doc_line, split_body
from .matlab import COMPLEX_OUTSIDE, by_columns

JULIA_SAME = "cbrt exp exp2 expm1 sinh cosh tanh floor ceil trunc sign"
JULIA_RAISES = COMPLEX_OUTSIDE | dict.fromkeys(("sin", "cos", "tan"), "isinf(x)")
"""Where Julia's functions raise DomainError."""


class Julia(Language):
    """Functions of Float64 that return NaN where Julia raises DomainError."""

    title = "Julia's Base"
    operations: ClassVar = {
        **{name: f"{name}({{0}})" for name in JULIA_SAME.split()},
        **{name: f"real_{name}({{0}})" for name in "sqrt log log2 log10 log1p sin cos tan".split()},
        "absolute": "abs({0})",
        "hypot": "hypot({0}, {1})",
        "power": "real_power({0}, {1})",
        "arcsin": "real_asin({0})",
        "arccos": "real_acos({0})",
        "arctan": "atan({0})",
        "arctan2": "atan({0}, {1})",
        "arcsinh": "asinh({0})",
        "arccosh": "real_acosh({0})",
        "arctanh": "real_atanh({0})",
        "maximum": "max({0}, {1})",
        "minimum": "min({0}, {1})",
        "copysign": "copysign({0}, {1})",
        "fmod": "real_rem({0}, {1})",
        "rint": "round({0})",
        "isnan": "isnan({0})",
        "isinf": "isinf({0})",
        "isfinite": "isfinite({0})",
        "signbit": "signbit({0})",
    }
    support: ClassVar = {
        **{f"real_{name}": f"real_{name}(x) = {where} ? NaN : {name}(x)\n" for name, where in JULIA_RAISES.items()},
        "real_power": "real_power(x, y) = x < 0 && isfinite(y) && y != round(y) ? NaN : x^y\n",
        "real_rem": "real_rem(x, y) = y == 0 || isinf(x) ? NaN : rem(x, y)\n",
    }  # fmt: skip
    keywords = frozenset(
        "baremodule begin break catch const continue do else elseif end export false finally for function global if "
        "import in isa let local macro module outer quote return struct true try type using where while abstract "
        "mutable primitive NaN Inf pi im Float64".split()
    )
    infinity, not_a_number = "Inf", "NaN"
    integers = False

    def element(self, name: str, index: tuple[int, ...], shape: tuple[int, ...]) -> str:
        return f"{name}[{', '.join(str(i + 1) for i in index)}]" if index else name

    def statement(self, statement: Definition) -> str:
        return f"    {statement.name} = {statement.text}"

    def helper(self, name: str, parameters: Sequence[str], body: Body) -> str:
        lines = [f"function {name}({', '.join(parameters)})", *map(self.statement, body.statements)]
        return "\n".join([*lines, f"    return {body.results[0]}", "end", ""])

    def function(
        self, target: str, inputs: Sequence[Argument], slopes: Sequence[Argument], value: str, body: Body
    ) -> str:
        result, parts = split_body(body, slopes)
        arrays = [julia_array(words, x.shape) for x, words in zip(slopes, parts, strict=True)]
        text = doc_line(target).replace("$", "\\$")
        lines = [
            f'"""{text}"""',
            f"function value_and_gradient({', '.join(x.name for x in inputs)})",
            *map(self.statement, body.statements),
            f"    {value} = {result}",
            *(f"    {x.name} = {words}" for x, words in zip(slopes, arrays, strict=True)),
            f"    return {', '.join([value, *(x.name for x in slopes)])}",
            "end",
            "",
        ]
        return "\n".join(lines)

    def file(self, target: str, functions: Sequence[str], support: Sequence[str], called: set[str]) -> str:
        return "\n".join([*support, *functions])


def julia_array(words: list[str], shape: tuple[int, ...]) -> str:
    if not shape:
        return words[0]
    flat = f"Float64[{', '.join(by_columns(words, shape))}]"
    return flat if len(shape) == 1 else f"reshape({flat}, {', '.join(map(str, shape))})"
