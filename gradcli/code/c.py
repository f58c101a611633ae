"""C99, with math.h."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from .language import Argument, Body, Definition, Language, doc_line, split_body

KEYWORDS = frozenset(
    # keywords
    "alignas alignof asm auto bool break case char const constexpr continue default do double else enum extern false "
    "float for goto if inline int long nullptr register restrict return short signed sizeof static static_assert "
    "struct switch thread_local true typedef typeof typeof_unqual union unsigned void volatile while _Alignas _Alignof "
    "_Atomic _BitInt _Bool _Complex _Decimal32 _Decimal64 _Decimal128 _Generic _Imaginary _Noreturn _Static_assert "
    "_Thread_local "
    # functions of math.h
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma "
    "fmax fmin fmod fpclassify frexp hypot ilogb isfinite isinf isnan isnormal ldexp lgamma llrint llround log log10 "
    "log1p log2 logb lrint lround modf nan nearbyint nextafter pow remainder remquo rint round scalbln scalbn "
    "signbit sin sinh sqrt tan tanh tgamma trunc "
    # macros of math.h, and macros that some compilers predefine
    "HUGE_VAL HUGE_VALF HUGE_VALL INFINITY MAXFLOAT M_1_PI M_2_PI M_2_SQRTPI M_E M_LN10 M_LN2 M_LOG10E M_LOG2E M_PI "
    "M_PI_2 M_PI_4 M_SQRT1_2 M_SQRT2 NAN i386 linux unix".split()
)
C_SAME = "sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh hypot floor ceil trunc rint erf erfc"


class C(Language):
    """Functions of doubles; arrays are flat, in row-major order."""

    title = "C's math library"
    operations: ClassVar = {
        **{name: f"{name}({{0}})" for name in C_SAME.split()},
        "hypot": "hypot({0}, {1})",
        "absolute": "fabs({0})",
        "power": "pow({0}, {1})",
        "arcsin": "asin({0})",
        "arccos": "acos({0})",
        "arctan": "atan({0})",
        "arctan2": "atan2({0}, {1})",
        "arcsinh": "asinh({0})",
        "arccosh": "acosh({0})",
        "arctanh": "atanh({0})",
        "fmod": "fmod({0}, {1})",
        "copysign": "copysign({0}, {1})",
        "fmax": "fmax({0}, {1})",
        "fmin": "fmin({0}, {1})",
        "gamma": "tgamma({0})",
        "gammaln": "lgamma({0})",
        "remainder": "modulo({0}, {1})",
        "isnan": "isnan({0})",
        "isinf": "isinf({0})",
        "isfinite": "isfinite({0})",
        "signbit": "signbit({0})",
    }
    keywords = KEYWORDS
    support: ClassVar = {
        "modulo": """\
static double modulo(double x, double y)
{
    const double rest = fmod(x, y);
    return rest*y < 0 ? rest + y : rest;
}
"""
    }

    def element(self, name: str, index: tuple[int, ...], shape: tuple[int, ...]) -> str:
        return f"{name}[{int(np.ravel_multi_index(index, shape))}]" if index else name

    def statement(self, statement: Definition) -> str:
        return f"    const {'int' if statement.truth else 'double'} {statement.name} = {statement.text};"

    def helper(self, name: str, parameters: Sequence[str], body: Body) -> str:
        head = f"static double {name}({', '.join(f'double {p}' for p in parameters)})"
        (result,) = body.results
        return "\n".join([head, "{", *map(self.statement, body.statements), f"    return {result};", "}", ""])

    def function(
        self, target: str, inputs: Sequence[Argument], slopes: Sequence[Argument], value: str, body: Body
    ) -> str:
        result, parts = split_body(body, slopes)
        lines = [f"/* {doc_line(target)} */"]
        arguments = [f"const double *{name}" if shape else f"double {name}" for name, shape in inputs]
        arguments += [f"double *{name}" for name, _ in slopes]
        lines += [f"double value_and_gradient({', '.join(arguments)})", "{", *map(self.statement, body.statements)]
        for (name, shape), texts in zip(slopes, parts, strict=True):
            places = (f"{name}[{k}]" if shape else f"*{name}" for k in range(math.prod(shape)))
            lines += [f"    {place} = {text};" for place, text in zip(places, texts, strict=True)]
        return "\n".join([*lines, f"    return {result};", "}", ""])

    def file(self, target: str, functions: Sequence[str], support: Sequence[str], called: set[str]) -> str:
        return "\n".join(["#include <math.h>", "", *support, *functions])
