"""Expressions as C: loops over short blocks, in which every function of the mathematical library has one of its own.

So the compiler uses vector functions (libmvec), and what lies between them is arithmetic on registers. Arithmetic is
done as NumPy does it: nothing is contracted or reordered, and nan and infinity are what they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .expression import INPUT, Expression, OperationGraph, RefusedError, below
from .operations import CALLS, INLINE, Lowered

BLOCK = 512
"""Points of a block: its arrays stay in the cache."""
MOST = 2000
"""Operations of a program that is compiled: the compiler takes seconds for these."""
VECTOR = ("cos exp log pow sin", "acos acosh asin asinh atan atan2 atanh cbrt cosh erf erfc exp2 expm1 hypot "
          "log10 log1p log2 sinh tan tanh")  # fmt: skip
"""Those that libmvec has since glibc 2.22, and since 2.35."""
HEAD = """#include <stddef.h>
#if defined __x86_64__ && defined __linux__ && defined __GNUC__ && !defined __clang__
#include <features.h>
#ifdef __GLIBC_PREREQ
#if __GLIBC_PREREQ(2, 22)
#define EARLY __attribute__((simd("notinbranch")))
#endif
#if __GLIBC_PREREQ(2, 35)
#define LATE __attribute__((simd("notinbranch")))
#endif
#endif
#endif
#ifndef EARLY
#define EARLY
#endif
#ifndef LATE
#define LATE
#endif
"""


class Writer:
    """Writes expressions as loops, level by level: a call belongs behind the arithmetic that its operands need."""

    def __init__(self, outputs: list[Any], places: dict[int, int]):
        self.outputs, self.places = outputs, places
        self.order = [x for x in below(outputs) if x.name != INPUT]
        self.level: dict[int, int] = {}
        for x in self.order:
            inner = [y for y in x.operands if isinstance(y, Expression) and y.name != INPUT]
            self.level[x.place] = max((self.level[y.place] + (y.name in CALLS) for y in inner), default=0)
        self.last = self.last_uses()
        self.buffers: dict[int, int] = {}
        self.free: list[int] = []
        self.count = 0

    def last_uses(self) -> dict[int, int]:
        """Return the last level at which each result is read from memory; those read in their own loop have none."""
        uses: dict[int, int] = {}
        for x in self.order:
            for y in self.numbers_in(x):
                if y.name in CALLS or x.name in CALLS or self.level[x.place] > self.level[y.place]:
                    uses[y.place] = max(uses.get(y.place, 0), self.level[x.place])
        end = max(self.level.values(), default=0) + 1
        for x in self.outputs:
            if isinstance(x, Expression) and x.name in CALLS:
                uses[x.place] = end
        return uses

    def numbers_in(self, x: Expression) -> list[Expression]:
        """Return the operands of an operation that are results, also those of conditions, written in place."""
        operands = []
        for y in x.operands:
            if isinstance(y, Expression) and y.is_condition:
                operands += self.numbers_in(y)
            elif isinstance(y, Expression) and y.name != INPUT:
                operands.append(y)
        return operands

    def text(self, x: Any, level: int, name: str = "") -> str:
        """Return how a result is read in a loop of a level."""
        if not isinstance(x, Expression):
            return c_constant(x)
        if x.name == INPUT:
            return f"x{self.places[x.place]}[i]"
        if x.is_condition:
            return INLINE[x.name].format(*(self.text(y, level, name) for y in x.operands))
        in_loop = self.level[x.place] == level and x.name not in CALLS and not name
        return f"v{x.place}" if in_loop else f"b{self.buffers[x.place]}[i]"

    def reserve(self, x: Expression) -> str:
        if not self.free:
            self.free.append(self.count)
            self.count += 1
        self.buffers[x.place] = self.free.pop()
        return f"b{self.buffers[x.place]}[i]"

    def body(self) -> list[str]:
        lines: list[str] = []
        for level in range(max(self.level.values(), default=0) + 2):
            here = [x for x in self.order if self.level[x.place] == level and not x.is_condition]
            lines += loop(self.arithmetic([x for x in here if x.name not in CALLS], level))
            for x in here:
                if x.name in CALLS:
                    words = ", ".join(self.text(y, level, "call") for y in x.operands)
                    lines += loop([f"{self.reserve(x)} = {CALLS[x.name]}({words});"])
            for place in [p for p, last in self.last.items() if last == level and p in self.buffers]:
                self.free.append(self.buffers[place])
        for k, x in enumerate(self.outputs):
            if not isinstance(x, Expression) or x.name == INPUT:
                lines += loop([f"y{k}[i] = {self.text(x, 0)};"])
        return lines

    def arithmetic(self, here: list[Expression], level: int) -> list[str]:
        lines = []
        for x in here:
            words = INLINE[x.name].format(*(self.text(y, level) for y in x.operands))
            lines.append(f"const double v{x.place} = {words};")
        for x in here:
            if x.place in self.last:
                lines.append(f"{self.reserve(x)} = v{x.place};")
        end = max(self.level.values(), default=0) + 1
        for k, x in enumerate(self.outputs):
            made = self.level.get(x.place) if isinstance(x, Expression) else None
            if made is not None and level == (end if x.name in CALLS else made):
                lines.append(f"y{k}[i] = {self.text(x, level)};")
        return lines


def loop(lines: list[str]) -> list[str]:
    """Return statements in a loop over the points of a block."""
    return (
        ["        for (size_t i = 0; i < n; i++) {", *(f"            {s}" for s in lines), "        }"]
        if lines
        else []
    )


def c_constant(x: Any) -> str:
    """Return a number as C has it, with all its bits."""
    if isinstance(x, bool | np.bool_):
        return str(int(x))
    if np.isnan(x):
        return '__builtin_nan("")'
    if np.isinf(x):
        return "__builtin_inf()" if x > 0 else "(-__builtin_inf())"
    return f"({float(x).hex()})" if x < 0 or np.signbit(x) else float(x).hex()


def write_source(graph: OperationGraph, inputs: list[Expression], outputs: list[Any]) -> str:
    """Return the C of a function of columns: void evaluate(size_t rows, const double *const *x, double *const *y).

    Raises RefusedError, naming what is not compiled.
    """
    lowered = Lowered(graph)
    outputs = [lowered.lower(x) for x in outputs]
    places = {x.place: k for k, x in enumerate(inputs)}
    writer = Writer(outputs, places)
    if len(writer.order) > MOST:
        raise RefusedError(f"a program of {len(writer.order)} operations (the most is {MOST})")
    body = writer.body()
    called = {CALLS[x.name] for x in writer.order if x.name in CALLS}
    lines = [HEAD]
    for word, names in zip(("EARLY", "LATE", ""), (*map(str.split, VECTOR), ["fmod"]), strict=True):
        for name in sorted(called.intersection(names)):
            two = name in ("atan2", "fmod", "hypot", "pow")
            lines.append(f"{word} __attribute__((const)) double {name}(double{', double' * two});".strip())
    used = sorted({places[x.place] for x in below(outputs) if x.name == INPUT})
    lines += ["", "void evaluate(size_t rows, const double *const *x, double *const *y)", "{"]
    lines += [f"    double b{k}[{BLOCK}] __attribute__((aligned(64)));" for k in range(writer.count)]
    lines += [f"    for (size_t start = 0; start < rows; start += {BLOCK}) {{"]
    lines += [f"        const size_t n = rows - start < {BLOCK} ? rows - start : {BLOCK};"]
    lines += [f"        const double *restrict x{k} = x[{k}] + start;" for k in used]
    lines += [f"        double *restrict y{k} = y[{k}] + start;" for k in range(len(outputs))]
    return "\n".join([*lines, *body, "    }", "}", ""])
