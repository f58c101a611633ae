"""MATLAB and Octave."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from .language import ATOM_BINDS, Argument, Body, Definition, Language, Text, doc_line, split_body
from .names import plain_identifier
from .nodes import CodeNode

MATLAB_SAME = "exp expm1 sin cos tan sinh cosh tanh floor ceil sign erf erfc erfcx gammaln"
COMPLEX_OUTSIDE = {
    "sqrt": "x < 0",
    "log": "x < 0",
    "log2": "x < 0",
    "log10": "x < 0",
    "log1p": "x < -1",
    "asin": "abs(x) > 1",
    "acos": "abs(x) > 1",
    "acosh": "x < 1",
    "atanh": "abs(x) > 1",
}
"""Where MATLAB's functions are complex."""
UNDEFINED = COMPLEX_OUTSIDE | {"gamma": "x < 0 && x == floor(x)"}
"""Where they are complex, or infinite although the limits from both sides differ."""


def local_function(name: str, arguments: str, condition: str, yes: str, no: str) -> str:
    return f"function y = {name}({arguments})\n  if {condition}\n    y = {yes};\n  else\n    y = {no};\n  end\nend\n"


POWER_HELPER = """\
function y = real_power(x, p)
  if x < 0 && isinf(p)
    y = abs(x)^p;
  elseif x < 0 && p ~= floor(p)
    y = NaN;
  else
    y = x^p;
  end
end
"""
REMAINDER = """\
function y = real_rem(x, p)
  if p == 0 || isinf(x)
    y = NaN;
  elseif isinf(p)
    y = x;
  else
    y = rem(x, p);
  end
end
"""


class Matlab(Language):
    """Functions of doubles that return NaN where MATLAB's are complex; the file has the name of its first function."""

    title = "MATLAB"
    operations: ClassVar = {
        **{name: f"{name}({{0}})" for name in MATLAB_SAME.split()},
        **{name: f"real_{name}({{0}})" for name in "sqrt log log2 log10 log1p gamma".split()},
        "absolute": "abs({0})",
        "hypot": "hypot({0}, {1})",
        "cbrt": "nthroot({0}, 3)",
        "power": "real_power({0}, {1})",
        "arcsin": "real_asin({0})",
        "arccos": "real_acos({0})",
        "arctan": "atan({0})",
        "arctan2": "atan2({0}, {1})",
        "arcsinh": "asinh({0})",
        "arccosh": "real_acosh({0})",
        "arctanh": "real_atanh({0})",
        "fmax": "max({0}, {1})",
        "fmin": "min({0}, {1})",
        "fmod": "real_rem({0}, {1})",
        "trunc": "fix({0})",
        "isnan": "isnan({0})",
        "isinf": "isinf({0})",
        "isfinite": "isfinite({0})",
    }
    support: ClassVar = {
        "choose": local_function("choose", "condition, yes, no", "condition", "yes", "no"),
        **{f"real_{name}": local_function(f"real_{name}", "x", outside, "NaN", f"{name}(x)")
           for name, outside in UNDEFINED.items()},
        "real_power": POWER_HELPER,
        "real_rem": REMAINDER,
    }  # fmt: skip
    symbols: ClassVar = {"not_equal": " ~= "}
    keywords = frozenset(
        "break case catch classdef continue else elseif end for function global if otherwise parfor persistent return "
        "spmd switch try while NaN Inf pi i j reshape size unwind_protect do until endif endfor endfunction".split()
    )
    negation = "~{0}"
    infinity, not_a_number = "Inf", "NaN"
    spelling = staticmethod(plain_identifier)

    def element(self, name: str, index: tuple[int, ...], shape: tuple[int, ...]) -> str:
        return f"{name}({', '.join(str(i + 1) for i in index)})" if index else name

    def choice(self, condition: Text, x: Text, y: Text) -> Text:
        return Text(f"choose({condition.text}, {x.text}, {y.text})", ATOM_BINDS)

    def called_for(self, nodes: Sequence[CodeNode]) -> set[str]:
        return {"choose"} if any(node.op == "select" for node in nodes) else set()

    def statement(self, statement: Definition) -> str:
        return f"  {statement.name} = {statement.text};"

    def helper(self, name: str, parameters: Sequence[str], body: Body) -> str:
        result = f"{name}_result"
        lines = [f"function {result} = {name}({', '.join(parameters)})", *map(self.statement, body.statements)]
        return "\n".join([*lines, f"  {result} = {body.results[0]};", "end", ""])

    def function(
        self, target: str, inputs: Sequence[Argument], slopes: Sequence[Argument], value: str, body: Body
    ) -> str:
        result, parts = split_body(body, slopes)
        returned = ", ".join([value, *(x.name for x in slopes)])
        lines = [
            f"function [{returned}] = value_and_gradient({', '.join(x.name for x in inputs)})",
            f"% {doc_line(target)}",
            *map(self.statement, body.statements),
            f"  {value} = {result};",
            *(f"  {x.name} = {matlab_array(words, x.shape)};" for x, words in zip(slopes, parts, strict=True)),
            "end",
            "",
        ]
        return "\n".join(lines)

    def file(self, target: str, functions: Sequence[str], support: Sequence[str], called: set[str]) -> str:
        *helpers, main = functions
        return "\n".join([main, *helpers, *support])


def by_columns(words: list[str], shape: tuple[int, ...]) -> list[str]:
    """Return the elements of an array with the first index running fastest."""
    return [words[k] for k in np.arange(math.prod(shape)).reshape(shape).ravel(order="F")]


def matlab_array(words: list[str], shape: tuple[int, ...]) -> str:
    """A vector is a row, and has the direction of a column only if it is assigned to one."""
    if not shape:
        return words[0]
    flat = f"[{', '.join(by_columns(words, shape))}]"
    return flat if len(shape) == 1 else f"reshape({flat}, {', '.join(map(str, shape))})"
