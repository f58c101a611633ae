"""Formulas as a function in Python or C: its names never clash, whatever the inputs are called."""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np
import sympy
from sympy.printing.c import C99CodePrinter
from sympy.printing.codeprinter import PrintMethodNotImplementedError
from sympy.printing.pycode import PythonCodePrinter

from ..results.labels import label

Inputs = Sequence[tuple[str, tuple[int, ...]]]
Derivatives = Sequence[tuple[str, tuple, list]]
EXACT = 1 << 53
"""Whole numbers from here on are written as floats."""
C_NAMES = frozenset(
    # keywords
    "alignas alignof asm auto bool break case char const constexpr continue default do double else enum extern false "
    "float for goto if inline int long nullptr register restrict return short signed sizeof static static_assert "
    "struct switch thread_local true typedef typeof typeof_unqual union unsigned void volatile while "
    # functions of math.h
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma "
    "fmax fmin fmod fpclassify frexp hypot ilogb isfinite isinf isnan isnormal ldexp lgamma llrint llround log log10 "
    "log1p log2 logb lrint lround modf nan nearbyint nextafter pow remainder remquo rint round scalbln scalbn "
    "signbit sin sinh sqrt tan tanh tgamma trunc "
    # macros: of math.h, and those that compilers define on some systems
    "HUGE_VAL HUGE_VALF HUGE_VALL INFINITY MAXFLOAT M_1_PI M_2_PI M_2_SQRTPI M_E M_LN10 M_LN2 M_LOG10E M_LOG2E M_PI "
    "M_PI_2 M_PI_4 M_SQRT1_2 M_SQRT2 NAN i386 linux unix".split()
)


class UniqueNames:
    """The names of a function that is written: none twice, none that the language has."""

    def __init__(self, inputs: Inputs, kept: Iterable[str]):
        """Give every input its parameter. kept: words that no name may be."""
        self.taken = set(kept)
        self.parameters: dict[str, str] = {}
        legal = [name for name, _ in inputs if identifier(name) == name and name not in self.taken]
        for name in (*legal, *(n for n, _ in inputs if n not in legal)):  # first those that stay as they are
            self.parameters[name] = self.free(identifier(name))
        self.elements = {
            label(name, index): (self.parameters[name], index, shape)
            for name, shape in inputs
            for index in np.ndindex(*shape)
        }

    def free(self, name: str) -> str:
        """Take a name, with underscores behind it where it is taken."""
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    def share_parts(self, exprs: Sequence[Any]) -> tuple[list[tuple[str, Any]], list[Any]]:
        """Return common parts with their names, and the expressions in terms of them."""
        symbols = sympy.numbered_symbols("t", exclude=[sympy.Symbol(name) for name in self.taken])
        parts, rest = sympy.cse(list(exprs), symbols=symbols, optimizations="basic")
        self.taken.update(symbol.name for symbol, _ in parts)
        return [(symbol.name, part) for symbol, part in parts], rest


def print_all(
    names: UniqueNames, printer: Any, value: Any, derivatives: Derivatives
) -> tuple[list[tuple[str, str]], str, list[list[str]]]:
    """Return common parts with their names, the value in terms of these, and the elements of each derivative."""
    parts, rest = names.share_parts([value, *(e for _, _, elements in derivatives for e in elements)])
    body = [(name, printer.doprint(part)) for name, part in parts]
    words = iter([printer.doprint(e) for e in rest])
    return body, next(words), [list(islice(words, len(elements))) for _, _, elements in derivatives]


def identifier(name: str) -> str:
    """Return a name that programming languages take: net.0.weight becomes net_0_weight."""
    word = re.sub(r"\W", "_", name)
    return f"_{word}" if word[:1].isdigit() else word


def doc(target: str) -> str:
    """Return a target as it may stand in a docstring or comment."""
    return " ".join(target.split()).replace("\\", "\\\\").replace('"""', "'''").replace("*/", "* /")


def nest_lists(words: list[str], shape: tuple[int, ...], left: str = "[") -> str:
    """Return texts as nested lists of a shape. left: what a list begins with."""
    if not shape:
        return words[0]
    step = len(words) // shape[0] if shape[0] else 0
    rows = (words[i * step : (i + 1) * step] for i in range(shape[0]))
    return left + ", ".join(nest_lists(row, shape[1:], left) for row in rows) + "]"


def float_text(printer: Any, number: Any) -> str:
    """Return a number rounded, as a printer of code writes it."""
    rounded = float(number)
    return repr(rounded) if math.isfinite(rounded) else printer.doprint(sympy.oo if rounded > 0 else -sympy.oo)


class _Python(PythonCodePrinter):
    """Python with the functions of the math module by their bare names, or by others where an input has those."""

    def __init__(self, names: UniqueNames):
        super().__init__({"fully_qualified_modules": False, "strict": True})
        self.names = names
        self.called: dict[tuple[str, str], str] = {}

    def _module_format(self, fqn: str, register: bool = True) -> str:
        module, _, name = fqn.rpartition(".")
        key = (module or "builtins", name)
        if key not in self.called:
            self.called[key] = self.names.free(name)
        return self.called[key]

    def _print_Symbol(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        parameter, index, _ = self.names.elements.get(expr.name, (expr.name, (), ()))
        return label(parameter, index)

    def _print_Integer(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        return float_text(self, expr) if abs(expr) > EXACT else super()._print_Integer(expr)

    def _print_NaN(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        return self._module_format("math.nan")

    _print_ComplexInfinity = _print_NaN  # noqa: N815

    def imports(self) -> str:
        lines = []
        for module in sorted({module for module, _ in self.called}):
            words = [
                name if name == used else f"{name} as {used}"
                for (home, name), used in sorted(self.called.items())
                if home == module and (module != "builtins" or name != used)
            ]
            if words:
                lines.append(f"from {module} import {', '.join(words)}\n")
        return "".join(lines) + "\n\n" if lines else ""


def python_code(target: str, inputs: Inputs, value: Any, derivatives: Derivatives) -> str:
    """Return a Python function of the inputs that returns the value and the derivatives.

    derivatives: label, shape and expressions of each.
    """
    names = UniqueNames(inputs, keyword.kwlist)
    printer = _Python(names)
    parts, word, slopes = print_all(names, printer, value, derivatives)
    returned = [names.free("value")]
    body = [f"    {name} = {part}" for name, part in (*parts, (returned[0], word))]
    for (derivative, shape, _), words in zip(derivatives, slopes, strict=True):
        returned.append(names.free(f"d_{identifier(derivative)}"))
        body.append(f"    {returned[-1]} = {nest_lists(words, shape)}")
    arguments = ", ".join(names.parameters[name] for name, _ in inputs)
    lines = [f"def value_and_gradient({arguments}):", f'    """Value and derivatives of {doc(target)}."""', *body]
    return printer.imports() + "\n".join([*lines, f"    return {', '.join(returned)}", ""])


class _C(C99CodePrinter):
    """C99 whose array elements are indexed."""

    def __init__(self, names: UniqueNames):
        super().__init__({"strict": True, "user_functions": {"Abs": "fabs"}})  # sympy takes abs for whole numbers
        self.names = names

    def _print_Symbol(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        parameter, index, shape = self.names.elements.get(expr.name, (expr.name, (), ()))
        return f"{parameter}[{int(np.ravel_multi_index(index, shape))}]" if index else parameter

    def _print_Integer(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        return float_text(self, expr) if abs(expr) > EXACT else super()._print_Integer(expr)

    def _print_Rational(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        return float_text(self, expr) if max(abs(expr.p), expr.q) > EXACT else super()._print_Rational(expr)

    def _print_ImaginaryUnit(self, expr: Any) -> str:  # noqa: N802 - sympy looks for this name
        raise PrintMethodNotImplementedError(">: complex numbers")


def c_code(target: str, inputs: Inputs, value: Any, derivatives: Derivatives) -> str:
    """Return a C function that returns the value and stores the derivatives; arrays are flat, rows first."""
    names = UniqueNames(inputs, C_NAMES)
    printer = _C(names)
    wanted = [f"d_{identifier(label)}" for label, _, _ in derivatives]
    pointers = [names.free(name) for name in wanted]
    renamed = [p for name, p in names.parameters.items() if p != identifier(name)]
    renamed += [pointer for pointer, name in zip(pointers, wanted, strict=True) if pointer != name]
    parts, word, slopes = print_all(names, printer, value, derivatives)
    body = [f"    const double {name} = {part};" for name, part in parts]
    for pointer, (_, shape, _), words in zip(pointers, derivatives, slopes, strict=True):
        places = (f"{pointer}[{k}]" if shape else f"*{pointer}" for k in range(len(words)))
        body += [f"    {place} = {word};" for place, word in zip(places, words, strict=True)]
    arguments = [f"const double *{names.parameters[n]}" if s else f"double {names.parameters[n]}" for n, s in inputs]
    arguments += [f"double *{pointer}" for pointer in pointers]
    head = f"/* Value and derivatives of {doc(target)}. */\n"
    if renamed:
        head += f"/* An underscore ends names that were taken, by C or by others: {', '.join(renamed)}. */\n"
    head += f"double value_and_gradient({', '.join(arguments)})\n{{\n"
    return "#include <math.h>\n\n" + head + "\n".join([*body, f"    return {word};", "}", ""])
